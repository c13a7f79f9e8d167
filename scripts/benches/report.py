#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""report - the table of scripts/bench, from what the parts have printed

usage: report.py LOG CSV [PICTURE]

A line of LOG with "@bench,WHAT,WHO,UNIT,VALUE" is a sample. Of several the median
counts, and the spread is shown. CSV gets them all.
"""
import csv
import itertools
import re
import shutil
import statistics
import subprocess
import sys

MOST, LEAST, INFO = "<=", ">=", ""


class Missing(Exception):
    """There is no such figure."""


class Figures:
    """The samples, by what and who."""

    def __init__(self, path):
        self.samples, self.unit = {}, {}
        with open(path, encoding="utf-8", errors="replace") as f:
            for found in re.finditer(r"@bench,([^,\n]+),([^,\n]+),([^,\n]+),([-+.e0-9]+)", f.read()):
                what, who, unit, value = found.groups()
                self.samples.setdefault((what, who), []).append(float(value))
                self.unit[what, who] = unit

    def __call__(self, what, who="weft"):
        if (what, who) not in self.samples:
            raise Missing
        return statistics.median(self.samples[what, who])

    def get(self, what, who):
        try:
            return self(what, who)
        except Missing:
            return None

    def spread(self, what, who):
        """Half of the range, in per cent of the median; None if there is one sample."""
        values = self.samples.get((what, who), [])
        middle = statistics.median(values) if len(values) > 1 else 0
        return 50 * (max(values) - min(values)) / middle if middle else None

    def write(self, path):
        with open(path, "w", encoding="utf-8", newline="") as f:
            out = csv.writer(f, lineterminator="\n")
            out.writerow(["what", "who", "unit", "samples", "median", "min", "max"])
            for (what, who), values in self.samples.items():
                out.writerow([what, who, self.unit[what, who], len(values),
                              statistics.median(values), min(values), max(values)])


class Row:
    """What, its unit, whether less or more is better, and how to get at the figures.

    weft, rxe: of the figures; limit: likewise, and why says what it is made of;
    beside: pairs of a name and of the figures.
    """

    def __init__(self, text, unit, kind, weft, rxe=None, limit=None, why="", beside=()):
        self.text, self.unit, self.kind, self.why = text, unit, kind, why
        self.weft, self.rxe, self.limit, self.beside = weft, rxe, limit, beside


def of(what, who="weft", factor=1):
    """A function that finds that figure."""
    def find(v):
        return factor * v(what, who)
    find.key = what, who
    return find


def of_two(what):
    """A function that finds weft's figure if there is rdma_rxe's."""
    def find(v):
        v(what, "rxe")
        return v(what)
    find.key = what, "weft"
    return find


def row(text, unit, kind, what, limit=None, why="", beside=(), rxe=True):
    """A row whose figures have one name."""
    if isinstance(limit, (int, float)):
        number = limit
        limit = lambda v: number
    return Row(text, unit, kind, of(what), of(what, "rxe") if rxe else None, limit, why, beside)


def copy_speed(size):
    """MiB/s of the faster of the kernel's two copies."""
    return lambda v: size / 2**20 * 1e9 / min(v("copy/pread-%d" % size, "pread"),
                                              v("copy/vmread-%d" % size, "vmread"))


def memcpy_speed(size):
    return lambda v: size / 2**20 * 1e9 / v("copy/memcpy-%d" % size, "memcpy")


def crc(v):
    """Instructions of the checksum of a MiB, at both ends; unknown is none."""
    try:
        return 2 * (v("wire/crc32-1048576", "kernel") - v("wire/digest_null-1048576", "kernel"))
    except Missing:
        return 0


def times(factor, what, who="rxe"):
    return lambda v: factor * v(what, who)


def rows_instructions():
    unit = "instructions"
    host = lambda name, size: of("instructions/%s-%d" % (name, size), "host")
    big = [("memcpy", host("memcpy", 2**20)), ("pread", host("pread", 2**20)), ("TCP", host("tcp", 2**20))]
    yield row("SEND 8 B, both completions", unit, MOST, "instructions/send-8", 2000,
              beside=[("system call", host("syscall", 0))])
    yield row("round trip 8 B", unit, MOST, "instructions/pingpong-8", 4200,
              beside=[("TCP", host("tcp", 8)), ("pipe", host("pipe", 8)), ("Unix", host("unix", 8))])
    for name in "write", "read", "fadd":
        yield row(name.upper() + " 8 B", unit, INFO, "instructions/%s-8" % name)
    yield row("WRITE 64 KiB", unit, MOST, "instructions/write-65536", 11500,
              beside=[("memcpy", host("memcpy", 65536)), ("pread", host("pread", 65536)), ("TCP", host("tcp", 65536))])
    yield row("READ 64 KiB", unit, INFO, "instructions/read-65536")
    for name in "write", "read":
        yield row(name.upper() + " 1 MiB", unit, MOST, "instructions/%s-1048576" % name, 145000, beside=big)
    for name in "send-8", "write-65536", "write-1048576":
        packets = "instructions/" + name
        yield Row("packets on lo: " + name, unit, INFO, of(packets, "packets"), of(packets, "rxe"))
    for who, words in ("weft", ""), ("packets", ", packets"):
        none = of("instructions/send-8", who)
        for name, text in ("rule", "a rule for others"), ("monitor", "a monitor"), ("strict", "strict mode"):
            yield Row("SEND 8 B beside %s%s" % (text, words), unit, INFO, of(name + "/send-8", who),
                      beside=[("nothing", none)])
        yield Row("  when these are gone" + words, unit, MOST, of("unwatched/send-8", who), None,
                  times(1.01, "instructions/send-8", who), "1.01 of before", [("before", none)])
    yield row("create and destroy a QP", unit, MOST, "instructions/qp-0", 34000)
    yield row("register and remove 4 KiB", unit, INFO, "instructions/mr-4096", beside=[("pin", host("pin", 4096))])
    for size, text in (2**30, "1 GiB"), (2**26, "64 MiB"):
        yield row("register and remove " + text, unit, MOST, "instructions/mr-%d" % size,
                  times(1.1, "instructions/pin-%d" % size, "host"), "1.1 pin", [("pin", host("pin", size))])


def rows_wire():
    unit, big = "instructions", "wire9000/write-1048576"
    tcp = of("wire9000/tcp-1048576", "tcp")
    yield row("veth 9000: WRITE 1 MiB", unit, MOST, big, lambda v: 1.3 * (tcp(v) + crc(v)), "1.3 (TCP + 2 CRC)",
              [("TCP", tcp), ("2 CRC", crc)], rxe=False)
    yield Row("  beside rxe on lo", unit, MOST, of(big), of("instructions/write-1048576", "rxe"),
              times(1 / 3, "instructions/write-1048576"), "rxe / 3")
    yield Row("  without ICRC", unit, MOST, of(big, "bare"), None, times(1.3, "wire9000/tcp-1048576", "tcp"), "1.3 TCP")
    yield row("veth 9000: READ 1 MiB", unit, INFO, "wire9000/read-1048576", rxe=False)
    for mtu in 9000, 1500:
        name = "wire%d" % mtu
        if mtu == 1500:
            yield row("veth 1500: WRITE 1 MiB", unit, INFO, name + "/write-1048576", rxe=False,
                      beside=[("TCP", of(name + "/tcp-1048576", "tcp"))])
        yield row("veth %d: round trip 8 B" % mtu, unit, MOST, name + "/pingpong-8",
                  times(1, name + "/tcp-8", "tcp"), "TCP", [("TCP", of(name + "/tcp-8", "tcp"))], rxe=False)
    yield from rows_adapters()
    for size in 40, 1040:
        udp = "flood/udp-%d" % size
        for name, words in ("noise", "no packet"), ("qpn", "no such QP"), ("icrc", "wrong ICRC"):
            yield row("dropped, %d B: %s" % (size, words), unit, INFO, "flood/%s-%d" % (name, size),
                      beside=[("UDP", of(udp, "kernel"))], rxe=False)
    for name in "send", "write", "read":
        yield row("allocations, local " + name.upper(), "a message", MOST, "allocations/local-" + name, 0.01,
                  "0", rxe=False)
    yield row("allocations, veth WRITE 1 MiB", "a packet", MOST, "allocations/wire-write", 2.05,
              "1; a socket buffer is two", rxe=False)


def rows_adapters():
    """veth with the offloads of an adapter: see shaped() of part wire."""
    unit = "instructions"
    for shape, mtu in itertools.product(("nic-tx", "nic-rx"), (1500, 9000)):
        name = "%s%d/" % (shape, mtu)
        text, tcp = "%s %d: " % (shape, mtu), ("TCP", of(name + "tcp-1048576", "tcp"))
        for who, words in ("weft", ""), ("bare", ", no ICRC"):
            for what, verb in (("write-1048576", "WRITE"), ("median/read-1048576", "READ, median"),
                               ("sender/ucwrite-1048576", "WRITE, the sender alone")):
                limit, why = None, ""
                if shape == "nic-rx" and who == "bare" and verb == "WRITE":
                    limit, why = times(1, name + "tcp-1048576", "tcp"), "TCP"
                yield Row(text + verb + " 1 MiB" + words, unit, MOST, of(name + what, who),
                          of(name + what, "rxe"), limit, why, [tcp])


def rows_raw():
    unit = "instructions"
    for size in 60, 1514:
        who = [(name, of("raw/%s-%d" % (kind, size), kind)) for name, kind in
               (("AF_PACKET", "packet"), ("AF_XDP", "xdp"), ("nobody", "none"))]
        for rules in 1, 100, 10000:
            limit, why = times(1, "raw/packet-%d" % size, "packet"), "AF_PACKET"
            yield row("frame %d B, %d rules" % (size, rules), unit, MOST, "raw-rules%d/raw-%d" % (rules, size),
                      limit, why, who if rules == 1 else (), rxe=False)
        yield Row("frame %d B, sent" % size, unit, MOST, of("raw/rawsend-%d" % size, "rawsend"), None,
                  times(1, "raw/ringsend-%d" % size, "ringsend"), "AF_PACKET",
                  [("AF_PACKET", of("raw/ringsend-%d" % size, "ringsend")),
                   ("send()", of("raw/packetsend-%d" % size, "packetsend"))])
        for rules in 1, 10000:
            yield Row("  of the host, %d rules" % rules, unit, INFO, of("raw-rules%d/none-%d" % (rules, size), "stack"),
                      beside=[("no rule", of("raw/none-%d" % size, "none"))])


def rows_host():
    ends = [(name, of("latency/%s-8" % who, who, 1e-3)) for name, who in
            (("pipe", "pipe"), ("Unix", "unix"), ("TCP", "tcp"))]
    yield row("round trip 8 B, polling", "us", MOST, "latency/polling", times(0.2, "latency/polling"), "rxe / 5", ends)
    # of which the scheduler takes nearly all, as of a pipe's
    yield row("round trip 8 B, events", "us", INFO, "latency/events", beside=ends)
    yield row("WRITE 8 B, batches of 32", "messages/s", LEAST, "rate/write-8", times(20, "rate/write-8"), "20 rxe")
    for size, text, part in (2**20, "1 MiB", 0.9), (65536, "64 KiB", 0.75):
        for name in "write", "read", "send":
            what = "bandwidth/%s-%d" % (name, size)
            beside = [("kernel copy", copy_speed(size)), ("memcpy", memcpy_speed(size))]
            yield row("%s %s" % (name.upper(), text), "MiB/s", LEAST, what,
                      lambda v, s=size, p=part: p * copy_speed(s)(v), "%g copy" % part, beside)
            if size == 2**20:
                yield row("  beside rxe", "MiB/s", LEAST, what, times(10, what), "10 rxe")
    for size in 8, 65536:
        one = "scaling/cpus1-%d" % size
        yield row("WRITE %d B, two CPUs" % size, "messages/s", LEAST, "scaling/cpus2-%d" % size,
                  times(1.4, one, "weft"), "1.4 of one", [("one", of(one))])
        one = "scaling/threads1-%d" % size
        yield row("  two threads, one context and region", "messages/s", LEAST, "scaling/threads2-%d" % size,
                  times(1.6, one, "weft"), "1.6 of one", [("one", of(one))])
    for what, text, limit in ("receive", "post_recv and poll, a message", 0.01), \
            ("post-send", "post_send, a message", 1.01), ("post-batch", "post_send, a batch of 32", 1.01):
        yield row(text, "system calls", MOST, "syscalls/" + what, limit, "%d" % limit)


def rows_many():
    yield row("connections by rdma_cm", "1/s", LEAST, "connections", times(3, "connections"), "3 rxe")
    for size, text in (2**30, "1 GiB"), (2**26, "64 MiB"):
        for who, words in ("weft", ""), ("packets", ", packets"):
            for name in "write", "read":
                yield Row("SEND 8 B beside %s %s%s" % (name.upper(), text, words), "instructions", MOST,
                          of("fairness/%s-%d" % (name, size), who), None, lambda v: 1e6, "1 ms",
                          [("beside nothing", of("fairness/nothing-0", who))])
    yield row("round trip, 100 of 10,000 QPs", "ns", MOST, "many/many", times(1.2, "many/one", "weft"),
              "1.2 of one pair", [("one pair", of("many/one"))], rxe=False)
    yield row("an idle QP of 1,000, with rings", "bytes", MOST, "many/memory-1000", 24576)
    yield row("timers, work, wakeups, 1,000 QPs", "a second", MOST, "idle/own", 0)
    yield row("  of the whole guest", "a second", INFO, "idle/all", beside=[("no QPs", of("idle/all", "nobody"))])
    yield row("  interrupts", "a second", INFO, "idle/interrupts",
              beside=[("no QPs", of("idle/interrupts", "nobody"))])


def rows_network():
    for place in "veth", "hosts":
        for mtu, part in (1500, 0.6), (9000, 0.8):
            name, tcp = "%s%d/" % (place, mtu), "%s%d/bandwidth" % (place, mtu)
            text = "%s %d: " % (place, mtu)
            beside = [("TCP", of(tcp, "tcp")), ("the cable", of(name + "cable", "kernel"))]
            for (operation, verb), (size, words) in itertools.product(
                    (("write", "WRITE"), ("write-events", "WRITE by events"), ("send", "SEND")),
                    ((65536, "64 KiB"), (2**20, "1 MiB"))):
                what = name + "%s-%d" % (operation, size)
                yield row(text + "%s %s" % (verb, words), "MiB/s", LEAST, what,
                          times(part, tcp, "tcp"), "%g TCP" % part, beside)
                yield Row("  beside rxe", "MiB/s", LEAST, of_two(what), of(what, "rxe"), times(4, what), "4 rxe")
                yield Row("  with rxe as the peer", "MiB/s", LEAST, of(what, "mixed"), of(what, "rxe"),
                          times(1, what), "rxe")
            yield Row(text + "WRITE 1 MiB without ICRC", "MiB/s", LEAST if place == "veth" else INFO,
                      of(name + "write-1048576", "bare"), None, times(1, tcp, "tcp"), "TCP", [("TCP", of(tcp, "tcp"))])
            yield from rows_round_trip(name, text)


def rows_round_trip(name, text):
    beside = [("TCP", of(name + "round-trip", "tcp"))]
    for mode in "polling", "events":
        what = name + mode
        yield row(text + "round trip 8 B, " + mode, "us", MOST, what, times(1, name + "round-trip", "tcp"), "TCP", beside)
        yield Row("  beside rxe", "us", MOST, of_two(what), of(what, "rxe"), times(0.6, what), "0.6 rxe")
        yield Row("  with rxe as the peer", "us", MOST, of(what, "mixed"), of(what, "rxe"), times(1, what), "rxe")


def rows_above():
    for part, text in ("nvme", "NVMe-oF"), ("nvme-hosts", "NVMe-oF, two hosts"):
        for name in "read-4k-1", "read-4k-32", "read-4k-32-cpus", "read-1m-4", "write-1m-4":
            what = "%s/%s" % (part, name)
            beside = [(words, of(what, who)) for words, who in
                      (("packets", "packets"), ("no ICRC", "bare"), ("TCP", "tcp"))]
            if not name.startswith("read-4k-32"):
                yield row("%s %s" % (text, name), "IO/s", INFO, what, beside=beside)
                continue
            yield row("%s %s" % (text, name), "IO/s", LEAST, what, times(3, what), "3 rxe", beside)
            yield row("  beside TCP", "IO/s", LEAST, what, times(1, what, "tcp"), "TCP")
    what = "nvme-cost/read-4k-32"
    yield row("NVMe-oF read-4k-32, one CPU", "instructions", INFO, what,
              beside=[("packets", of(what, "packets")), ("TCP", of(what, "tcp"))])
    yield Row("IPoIB, datagram with LSO", "MiB/s", LEAST, of("ipoib/bandwidth", "ipoib"), None,
              times(0.4, "ipoib/bandwidth", "tcp"), "0.4 TCP below", [("TCP below", of("ipoib/bandwidth", "tcp"))])


def rows_bad_networks():
    for name, words in (("clean-1ms", "1 ms"), ("lossy-0.1-1ms", "1 ms, 0.1 % lost"),
                        ("lossy-1-1ms", "1 ms, 1 % lost"), ("lossy-0.1-10ms", "10 ms, 0.1 % lost"),
                        ("lossy-1-10ms", "10 ms, 1 % lost"), ("reordering", "reordering")):
        what = "loss/write-" + name
        limit = (times(1, what, "tcp"), "TCP") if "lossy" in name else (None, "")
        yield row("WRITE, " + words, "MiB/s", LEAST, what, *limit, [("TCP", of(what, "tcp"))])
        yield row("  READ", "MiB/s", LEAST, "loss/read-" + name, *limit, rxe=False)
    for name, words in ("tail", "drops"), ("ecn", "marks"):
        what = "queue/incast-" + name
        yield row("16 QPs, a queue that " + words, "%", LEAST, what, 90, rxe=False)
        yield Row("  Jain's index", "1", LEAST, of(what, "jain"), None, lambda v: 0.95)
        yield Row("  ack timeouts", "1", MOST, of(what, "timeouts"), None, lambda v: 0)
    yield Row("TCP beside a QP, fq_codel", "%", LEAST, of("queue/share-fq", "tcp"), None, lambda v: 40)
    yield Row("TCP beside a QP, a short queue", "%", LEAST, of("queue/share-tail", "tcp"), None, lambda v: 30)
    yield row("SEND 8 B beside 4 QPs, fq_codel, p99", "us", MOST, "queue/latency-fq-full",
              times(3, "queue/latency-fq-idle", "weft"), "3 idle", [("idle", of("queue/latency-fq-idle"))], rxe=False)


ROWS = [rows_instructions, rows_wire, rows_raw, rows_bad_networks, rows_host, rows_many, rows_network, rows_above]


def value(find, v):
    """What it finds, or None."""
    try:
        return find(v) if find else None
    except Missing:
        return None


def number(x):
    if x is None:
        return "-"
    return "{:,.0f}".format(x) if abs(x) >= 100 or x == int(x) else "%.3g" % x


def ratio(a, b, kind):
    """How much better a is; by default less is better."""
    if not a or not b:
        return "-"
    return "%.1f" % (a / b if kind == LEAST else b / a)


def judge(line, mine, v):
    """The target and whether it is met, as text."""
    if line.kind == INFO or line.limit is None:
        return "", ""
    limit = value(line.limit, v)
    if limit is None:
        return "%s %s" % (line.kind, line.why), "not measured"
    met = mine <= limit if line.kind == MOST else mine >= limit
    text = "%s %s" % (line.kind, number(limit))
    return text + (" (%s)" % line.why if line.why else ""), "met" if met else "NOT MET"


def show(v):
    """Prints the table. Returns what the picture shows: texts and ratios."""
    bars, seen = [], 0
    layout = "%-34s %-12s %12s %6s %12s %7s  %-34s %-8s  %s"
    print(layout % ("what", "unit", "weft", "+-%", "rdma_rxe", "ratio", "target", "", "beside"))
    for line in (r for rows in ROWS for r in rows()):
        mine, rxe = value(line.weft, v), value(line.rxe, v)
        if mine is None:
            continue
        seen += 1
        spread = v.spread(*line.weft.key)
        target, verdict = judge(line, mine, v)
        beside = ", ".join("%s %s" % (name, number(x)) for name, find in line.beside
                           if (x := value(find, v)) is not None)
        kind = LEAST if line.unit.endswith("/s") else MOST
        better = ratio(mine, rxe, kind)
        print((layout % (line.text, line.unit, number(mine), "" if spread is None else "%.0f" % spread,
                         number(rxe), better, target, verdict, beside)).rstrip())
        if better != "-" and not line.text.startswith(" "):
            bars.append((line.text, better))
    print("\nThe ratio says how much better than rdma_rxe.")
    return bars, seen


def draw(bars, path):
    """Bars with a logarithmic scale, by gnuplot."""
    script = ["set terminal png noenhanced size 1000,%d" % (140 + 22 * len(bars)), "set output '%s'" % path,
              "set logscale x", "set xlabel 'times as good as rdma_rxe'", "set style fill solid 0.6",
              "set yrange [%d:-1]" % len(bars), "set grid x", "set lmargin 40", "unset key", "$bars << END"]
    script += ['%d %s "%s"' % (i, better, text) for i, (text, better) in enumerate(bars)]
    script += ["END", "plot [0.5:*] $bars using (($2 + 0.5) / 2):1:(0.5):2:($1 - 0.4):($1 + 0.4):ytic(3)"
               " with boxxyerror"]
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    figures = Figures(sys.argv[1])
    if not figures.samples:
        sys.exit("report: nothing was measured")
    figures.write(sys.argv[2])
    bars, seen = show(figures)
    if len(sys.argv) == 4:
        if not shutil.which("gnuplot"):
            sys.exit("report: there is no gnuplot for the picture")
        if bars:
            draw(bars, sys.argv[3])
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
