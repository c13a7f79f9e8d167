# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Is the trace that of the ping-pong: ten messages of 4096 bytes each way, MTU 1024?

usage: trace.py DIRECTORY

There are the outputs "server" and "client" of ibv_rc_pingpong, and "trace".
"""
import re
import sys

SEND_FIRST, SEND_LAST, ACK = 0, 2, 0x11
PSNS = 1 << 24


def read(name):
    with open("%s/%s" % (sys.argv[1], name), encoding="ascii", errors="replace") as f:
        return f.read()


def ends(name):
    """Number and first PSN of the own QP, and of the peer's."""
    text = read(name)
    both = [re.search(r"%s address:.* QPN (\w+), PSN (\w+)," % end, text) for end in ("local", "remote")]
    return [(int(end[1], 16), int(end[2], 16)) for end in both]


def events(name, *fields):
    """Of each event of that name the fields, as numbers."""
    for line in read("trace").splitlines():
        found = re.search(r" weft_%s: (.*)" % name, line)
        if found:
            words = found[1].split()
            yield [int(words[words.index(field) + 1], 0) for field in fields]


def check(name):
    (qpn, psn), (peer, peer_psn) = ends(name)
    sent = [e for e in events("send", "qp", "to", "opcode", "psn", "packets", "sent", "length")
            if e[0] == qpn and e[2] <= SEND_LAST]
    assert sent[0][1:4] == [peer, SEND_FIRST, psn], "%s: first run %s" % (name, sent[0])
    assert sum(e[5] for e in sent) >= 40, "%s: %d packets" % (name, sum(e[5] for e in sent))
    assert all(0 <= e[5] <= e[4] for e in sent)
    got = [e for e in events("request", "qp", "opcode", "psn", "expected", "payload") if e[0] == qpn]
    accepted = [e for e in got if e[2] == e[3]]
    assert [e[2] for e in accepted] == [(peer_psn + i) % PSNS for i in range(40)], "%s: PSNs" % name
    assert all(e[4] == 1024 for e in accepted), "%s: payload" % name
    assert [e[1] for e in accepted[:4]] == [SEND_FIRST, 1, 1, SEND_LAST], "%s: opcodes" % name
    answers = [e for e in events("response", "qp", "opcode", "psn", "syndrome") if e[0] == qpn]
    assert answers and all(e[1] == ACK and e[3] < 0x20 for e in answers), "%s: answers" % name
    # the last message is acknowledged, too
    assert (answers[-1][2] - psn) % PSNS == 39, "%s: last answer %s" % (name, answers[-1])
    print("%s: %d runs, %d requests, %d answers" % (name, len(sent), len(got), len(answers)))


check("server")
check("client")
