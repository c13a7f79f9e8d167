# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Is what "rdma resource show -r" has, byte by byte, what it shows without -r?

usage: raw.py DIRECTORY

There are KIND.raw, as JSON, of QPs, CQs and MRs, and without -r qp.json, and cq.text and
mr.text, in whose JSON the keys are no numbers.
"""
import json
import re
import struct
import sys

# struct weft_raw_qp up to msn, weft_raw_cq, weft_raw_mr
QP, CQ, MR = "=IIIBBBBIIIIIIIIIIII", "=IIII", "=QQIIII"
SIZES = {"qp": 96, "cq": 16, "mr": 32}
STATES = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"]


def shown(name):
    with open("%s/%s" % (sys.argv[1], name), encoding="ascii") as f:
        return f.read()


def raw(kind):
    lists = re.findall(r'"data":\s*\[([^]]*)\]', shown(kind + ".raw"))
    entries = [bytes(map(int, entry.split(","))) for entry in lists]
    for entry in entries:
        assert len(entry) == SIZES[kind], "%s: %d bytes" % (kind, len(entry))
    return entries


def check_qps():
    known = {qp["lqpn"]: qp for qp in json.loads(shown("qp.json"))}
    # rdma asks more than once
    qps = {qp[0]: qp for qp in (struct.unpack_from(QP, entry) for entry in raw("qp"))}
    assert sorted(qps) == sorted(known), "%s, not %s" % (sorted(qps), sorted(known))
    connected = 0
    for qpn, dest, src, kind, state, _, flags, _, _, mtu, *rest in qps.values():
        assert STATES[state] == known[qpn]["state"], "state of %d" % qpn
        assert src == qpn and bool(flags & 2) == (known[qpn].get("pid", 0) == 0)
        if kind != 2:
            continue
        assert dest == known[qpn]["rqpn"] and flags & 1 and mtu == 1024
        assert rest[0] and rest[1] and rest[3], "no sizes"
        connected += 1
    assert connected == 2, "%d QPs are connected" % connected


def check_cqs():
    cqs = [struct.unpack(CQ, entry) for entry in raw("cq")]
    assert len(cqs) == len(re.findall(r"\bcqe \d", shown("cq.text")))
    assert sum(1 for cq in cqs if cq[1] and not cq[2] & 4) == 2, "completions of two processes"


def check_mrs():
    mrs = [struct.unpack(MR, entry) for entry in raw("mr")]
    keys = sorted(int(key, 16) for key in re.findall(r"\blkey 0x(\w+)", shown("mr.text")))
    assert sorted(mr[2] for mr in mrs) == keys, "other keys"
    for _, length, key, access, flags, windows in mrs:
        assert (length, access & 1, flags, windows) == (4096, 1, 1, 0), "region %#x" % key


check_qps()
check_cqs()
check_mrs()
print("%d QPs, %d CQs, %d MRs" % tuple(len(raw(kind)) for kind in ("qp", "cq", "mr")))
