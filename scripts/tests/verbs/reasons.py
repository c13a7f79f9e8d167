#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""reasons.py - compare what weft-why says of many wrong programs with what each did wrong

usage: reasons.py MADE JSON

MADE has what userspace/tests/why has printed, a line for each mistake; JSON is what "weft-why --json
DEVICE" says of the device. Prints what it says of each. Exit status: 0: it names each mistake.
"""
import json
import re
import sys

RESPONDER = True  # the other end has found it, and says so

SAYS = {
    "no_credit": ("max_rd_atomic of the queue pair is 0", False),
    "short_atomic": ("is not as long as an atomic has to be", False),
    "foreign_handle": ("the address handle belongs to another protection domain", False),
    "bind_refused": ("the window cannot be bound", False),
    "no_resources": ("max_dest_rd_atomic of the responder is 0", RESPONDER),
    "foreign_window": ("the key 0x7fffff00 to be invalidated is not that of a window", RESPONDER),
    "local_domain": ("a local element: the region of key 0x[0-9a-f]+ belongs to another protection domain", False),
    "local_right": ("a local element: .* does not grant the right to local write: it grants remote read", False),
    "local_range": ("a local element: 100 bytes from 0x[0-9a-f]+ on are not within the region", False),
    "receive_key": ("an element of the receive: no region has the key 0x", RESPONDER),
    "receive_domain": ("an element of the receive: the region of .* belongs to another protection domain", RESPONDER),
    "receive_right": ("an element of the receive: .* does not grant the right to local write", RESPONDER),
    "immediate_key": ("^no region has the key 0x.*only the low byte differs", RESPONDER),
    "immediate_domain": ("^the region of key 0x.* belongs to another protection domain", RESPONDER),
    "immediate_right": ("^the region of key .* does not grant the right to remote write: it grants remote read", RESPONDER),
    "immediate_range": ("^100 bytes from 0x[0-9a-f]+ on are not within the region of key 0x", RESPONDER),
    "no_srq": ("the XRC domain has no such SRQ", RESPONDER),
    "bad_request": ("opcode or order of a packet is wrong", RESPONDER),
    "request_length": ("the length of a message, or of one of its packets, is impossible", RESPONDER),
    "dropped_message": ("no receive was posted for a message of QP 0x[0-9a-f]+, which was dropped", False),
    "dropped_datagram": ("no receive was posted for a message of QP 0x[0-9a-f]+, which was dropped", False),
}


def main():
    wrong = 0
    with open(sys.argv[2], encoding="utf-8") as file:
        parts = json.load(file)
    with open(sys.argv[1], encoding="utf-8") as file:
        made = re.findall(r"^(\w+) qp (\d+) vendor_err (\d+)$", file.read(), re.M)
    for name, qpn, fault in made:
        regex, found_by_other = SAYS[name]
        of_qp = [part for part in parts if part["record"]["qpn"] == int(qpn)]
        lines = [dict(part["lines"]) for part in of_qp if part["record"]["fault"] == int(fault)]
        said = lines[-1] if lines else {}
        if name.startswith("dropped") and of_qp and of_qp[-1]["record"]["fault"] != int(fault):
            said = {"why": "another record is newer"}
        print("%s: QP %s: %s" % (name, qpn, said.get("why", "no record")))
        if not re.search(regex, said.get("why", "")) or ("the other end" in said) != found_by_other or "try" not in said:
            print("%s: this is not right: %s" % (name, said))
            wrong += 1
    # only packets have a header that can be wrong: both of these, or neither
    missing = set(SAYS) - {name for name, _, _ in made}
    return bool(wrong) or missing not in (set(), {"bad_request", "request_length"})


if __name__ == "__main__":
    sys.exit(main())
