#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""csum.py - IBV_SEND_IP_CSUM and IBV_WC_IP_CSUM_OK of UD QPs

usage: csum.py DEVICE LID

Sends packets as IPoIB has them from a QP to itself, by the LID of its port. Exit
status: 1 if one comes with wrong checksums, or is said to be what it is not.
"""
import struct
import sys
import time

from pyverbs.addr import AH, AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

QPT_UD, LOCAL_WRITE = 4, 1
SIGNALED, IP_CSUM = 1 << 1, 1 << 4
WC_IP_CSUM_OK, WC_RECV = 1 << 2, 1 << 7
UD_IP_CSUM = 1 << 18
QKEY = 0x1234
GRH, SIZE = 40, 2048


def checksum(data):
    """RFC 1071"""
    total = sum(struct.unpack(">%dH" % (len(data) // 2 + len(data) % 2), data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def packet(payload, udp):
    """IPoIB, IPv4, and TCP or UDP, with nonsense for checksums"""
    addresses = bytes((192, 0, 2, 1, 198, 51, 100, 7))
    if udp:
        body = struct.pack(">HHHH", 1111, 2222, 8 + len(payload), 0xdead) + payload
    else:
        body = struct.pack(">HHIIHHHH", 1111, 2222, 7, 8, 0x5010, 100, 0xdead, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 5, 0, 64, 17 if udp else 6, 0xbeef)
    return struct.pack(">HH", 0x0800, 0) + ip + addresses + body


def is_right(data):
    ip, body = data[4:24], data[24:]
    return checksum(ip) == 0 and checksum(ip[12:] + struct.pack(">HH", ip[9], len(body)) + body) == 0


class Loop:
    """A QP that sends to itself"""

    def __init__(self, device, lid):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.mr = MR(self.pd, 2 * SIZE, LOCAL_WRITE)
        init = QPInitAttr(qp_type=QPT_UD, scq=self.cq, rcq=self.cq, cap=QPCap(8, 8, 1, 1, 0))
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        self.qp = QP(self.pd, init, attr)
        self.ah = AH(self.pd, attr=AHAttr(dlid=lid, port_num=1))

    def exchange(self, data, flags):
        """What comes of it, and the flags of its completion"""
        self.mr.write(data, len(data), SIZE)
        self.qp.post_recv(RecvWR(sg=[SGE(self.mr.buf, SIZE, self.mr.lkey)], num_sge=1))
        wr = SendWR(num_sge=1, sg=[SGE(self.mr.buf + SIZE, len(data), self.mr.lkey)],
                    send_flags=SIGNALED | flags)
        wr.set_wr_ud(self.ah, self.qp.qp_num, QKEY)
        self.qp.post_send(wr)
        done, deadline = {}, time.monotonic() + 30
        while len(done) < 2 and time.monotonic() < deadline:
            for wc in self.cq.poll()[1]:
                done[wc.opcode] = wc
        if WC_RECV not in done or any(wc.status for wc in done.values()):
            sys.exit("csum.py: it did not arrive")
        wc = done[WC_RECV]
        return self.mr.read(wc.byte_len - GRH, GRH), wc.wc_flags


def main(device, lid):
    loop = Loop(device, int(lid))
    if not loop.context.query_device().device_cap_flags & UD_IP_CSUM:
        sys.exit("csum.py: no IBV_DEVICE_UD_IP_CSUM")
    for length in (0, 1, 2, 777, 1500):
        for udp in (False, True):
            data = packet(bytes(i * 7 % 251 for i in range(length)), udp)
            what = "%s with %d bytes" % ("UDP" if udp else "TCP", length)
            got, flags = loop.exchange(data, IP_CSUM)
            if not is_right(got) or not flags & WC_IP_CSUM_OK:
                sys.exit("csum.py: %s: wrong checksums, or not said to be right" % what)
            got, flags = loop.exchange(data, 0)
            if got != data or flags & WC_IP_CSUM_OK:
                sys.exit("csum.py: %s: changed, or wrong ones said to be right" % what)
    for data in (b"no packet at all", packet(b"too short", True)[:30]):
        got, flags = loop.exchange(data, IP_CSUM)
        if got != data or flags & WC_IP_CSUM_OK:
            sys.exit("csum.py: that is no packet")
    print("all checksums as they should be")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
