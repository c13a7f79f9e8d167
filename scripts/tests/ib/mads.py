#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""mads.py - send MADs that no subnet manager would send, through a umad device

usage: mads.py answers UMAD
       mads.py routes UMAD
       mads.py fuzz UMAD COUNT SEED [LID]...
       mads.py key UMAD COUNT LID QPN PKEY-INDEX
       mads.py phys UMAD PORT STATE [HOP]...
       mads.py mtu UMAD PORT MTU [HOP]...
       mads.py route UMAD LID PORT [HOP]...
       mads.py pkey UMAD INDEX PKEY [HOP]...
       mads.py guid UMAD INDEX GUID [HOP]...

answers  ask the agent of the port itself, of the switch and of the HCA at the
         switch's second port what it does not have, and compare the status of the
         answers with what the specification says (IBA 13.4.7)
routes   directed routes that lead nowhere, with pointers that point anywhere; the
         agent answers a good request afterwards
fuzz     COUNT MADs of subnet and performance management, random but for what makes
         them arrive: along directed routes, and to these LIDs. Ports are no use
         after that.
key      COUNT MADs to a QP, with the Q_Key of QP 1, and with this P_Key of the port
phys     Set the physical state of a port (2: Polling, 3: Disabled); of the port itself,
         or of the node at the end of a directed route
mtu      the same with NeighborMTU (1: 256 bytes, 5: 4096)
route    Set by which port packets for a LID leave, in the LinearForwardingTable of the
         switch at the end of a directed route (255: by none); prints what it was before
pkey     Set an entry of the P_KeyTable, of the port itself or of the node at the end of a
         directed route
guid     the same of GUIDInfo
"""
import errno
import fcntl
import os
import random
import select
import struct
import sys
import time

ENABLE_PKEY = 0x1b03
REGISTER_AGENT = 0xc01c1b01
LID_ROUTED, DIRECTED, PERFORMANCE = 0x01, 0x81, 0x04
GET, SET, GET_RESP = 0x01, 0x02, 0x81
QP1_QKEY = 0x80010000
PERMISSIVE = 0xffff
HEADER = struct.Struct("=IIIII4s4s2sBBBBBB16s4sH6s")  # struct ib_user_mad_hdr
UNSUPPORTED_VERSION, UNSUPPORTED_METHOD, UNSUPPORTED_ATTRIBUTE, INVALID_FIELD = 0x04, 0x08, 0x0c, 0x1c
NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO = 0x10, 0x11, 0x12, 0x14, 0x15
PKEY_TABLE, SL_TO_VL, VL_ARB, LINEAR, MULTICAST, SM_INFO = 0x16, 0x17, 0x18, 0x19, 0x1b, 0x20
ATTRIBUTES = (NODE_DESC, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO, PKEY_TABLE, SL_TO_VL, VL_ARB,
              LINEAR, 0x1a, MULTICAST, SM_INFO, 0x30, 0x31, 0x02, 0xff00, 0, 0xffff)


class Umad:
    """A umad device with an agent on QP0 and one on QP1."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, ENABLE_PKEY)
        self.agents = {qpn: self.register(qpn) for qpn in (0, 1)}
        self.tid = 0

    def register(self, qpn):
        """An agent that gets answers only."""
        request = bytearray(struct.pack("=I16sBBB3sBx", 0, bytes(16), qpn, 0, 0, bytes(3), 0))
        fcntl.ioctl(self.fd, REGISTER_AGENT, request)
        return struct.unpack_from("=I", request)[0]

    def send(self, mad, qpn=0, lid=PERMISSIVE, timeout=0, pkey_index=0):
        """False: the kernel does not want to send that."""
        header = HEADER.pack(self.agents[min(qpn, 1)], 0, timeout, 0, len(mad), struct.pack(">I", qpn),
                             struct.pack(">I", QP1_QKEY if qpn else 0), struct.pack(">H", lid),
                             0, 0, 0, 0, 0, 0, bytes(16), bytes(4), pkey_index, bytes(6))
        try:
            os.write(self.fd, header + mad)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.EAGAIN, errno.ENOMEM):
                raise
            return False
        return True

    def receive(self, seconds):
        """What comes: its status for us, and the MAD. None: nothing."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return None
        data = os.read(self.fd, HEADER.size + 256)
        return HEADER.unpack_from(data)[1], data[HEADER.size:]

    def drain(self):
        while self.receive(0):
            pass

    def ask(self, mad):
        """The answer to a directed MAD, or None if there is none."""
        self.tid += 1
        mad = mad[:8] + struct.pack(">Q", self.tid) + mad[16:]
        if not self.send(mad, timeout=1000):
            return None
        end = time.monotonic() + 10
        while time.monotonic() < end:
            came = self.receive(1)
            if came and struct.unpack_from(">I", came[1], 12)[0] == self.tid:
                return None if came[0] else came[1]
        return None


def directed(path, attribute, modifier=0, method=GET, data=b"", **other):
    """A directed MAD. The path is the ports, without the 0 in front."""
    count = other.get("hop_count", len(path))
    route = bytes([0]) + bytes(path)
    return struct.pack(">BBBBHBBQHHIQHH28s64s64s64s", other.get("base", 1), DIRECTED, other.get("version", 1),
                       method, other.get("status", 0), other.get("hop_pointer", 0), count, 0, attribute, 0,
                       modifier, other.get("mkey", 0), other.get("slid", PERMISSIVE),
                       other.get("dlid", PERMISSIVE), bytes(28), data.ljust(64, b"\0")[:64],
                       route.ljust(64, b"\0")[:64], other.get("back", bytes(64)))


def port_info(umad, path, port):
    answer = umad.ask(directed(path, PORT_INFO, port))
    if not answer:
        sys.exit("mads.py: no PortInfo of %s" % path)
    return bytearray(answer[64:128])


def changed(info, offset, value, mask=0xff):
    info = bytearray(info)
    info[offset] = info[offset] & ~mask | value
    return bytes(info)


def requests(umad):
    """What is asked, of whom, and the status that is expected."""
    for path, what in (((), "port"), ((1,), "switch"), ((1, 2), "other HCA")):
        for attribute in (0x7777, 0x1d, 0xff42):
            yield what, "attribute %#x" % attribute, directed(path, attribute), UNSUPPORTED_ATTRIBUTE
        yield what, "Set of NodeInfo", directed(path, NODE_INFO, method=SET), UNSUPPORTED_ATTRIBUTE
        yield what, "method 0x0a", directed(path, NODE_INFO, method=0x0a), UNSUPPORTED_METHOD
        yield what, "class version 9", directed(path, NODE_INFO, version=9), UNSUPPORTED_VERSION
        yield what, "PortInfo of port 200", directed(path, PORT_INFO, 200), INVALID_FIELD
        yield what, "P_Key block 4000", directed(path, PKEY_TABLE, 4000), INVALID_FIELD
        if what != "switch":
            yield what, "GUIDInfo block 255", directed(path, GUID_INFO, 255), INVALID_FIELD
            yield what, "SwitchInfo", directed(path, SWITCH_INFO), UNSUPPORTED_ATTRIBUTE
            yield what, "LFT", directed(path, LINEAR), UNSUPPORTED_ATTRIBUTE
            yield what, "MFT", directed(path, MULTICAST), UNSUPPORTED_ATTRIBUTE
        else:
            yield what, "LFT block 768", directed(path, LINEAR, 768), INVALID_FIELD
            yield what, "MFT position 15", directed(path, MULTICAST, 15 << 28), INVALID_FIELD
    # PortInfo of the HCA behind port 2 of the switch: LID in bytes 16 and 17, state in
    # 32 (lower half), physical state in 33 (upper half; 0: as it is), MTU in 36 (upper half)
    info = changed(changed(port_info(umad, (1, 2), 1), 32, 0, 0xf), 33, 0, 0xf0)
    yield "other HCA", "Set of PortInfo as it is", directed((1, 2), PORT_INFO, 1, SET, info), 0
    for name, data in (("state 7", changed(info, 32, 7, 0xf)),
                       ("LID 0xffff", changed(changed(info, 16, 0xff), 17, 0xff)),
                       ("LID 0xc000", changed(changed(info, 16, 0xc0), 17, 0)),
                       ("MTU 6", changed(info, 36, 0x60, 0xf0))):
        yield "other HCA", "Set of PortInfo with " + name, directed((1, 2), PORT_INFO, 1, SET, data), INVALID_FIELD


def answers(umad):
    bad = 0
    for who, what, mad, expected in requests(umad):
        answer = umad.ask(mad)
        status = struct.unpack_from(">H", answer, 4)[0] & 0x1c if answer else None
        print("%s, %s: %s" % (who, what, "no answer" if status is None else "status %#x" % status))
        if status != expected:
            print("    expected: %#x" % expected)
            bad += 1
    if bad:
        sys.exit("mads.py: %d answers are wrong" % bad)


def routes(umad):
    source = random.Random(3)
    before = umad.ask(directed((1,), NODE_INFO))
    if not before:
        sys.exit("mads.py: the switch does not answer")
    asked = 0
    for pointer in (0, 1, 2, 3, 63, 64, 65, 255):
        for count in (0, 1, 2, 3, 63, 64, 65, 255):
            for path in ((), (1,), (1, 2), (1, 36, 255), tuple(source.randbytes(63))):
                for slid, dlid in ((PERMISSIVE, PERMISSIVE), (1, PERMISSIVE), (PERMISSIVE, 1), (0, 0xc000)):
                    mad = directed(path, NODE_INFO, hop_pointer=pointer, hop_count=count, slid=slid, dlid=dlid,
                                   method=source.choice((GET, GET_RESP, SET)), back=source.randbytes(64),
                                   status=source.choice((0, 0x8000)))
                    asked += umad.send(mad)
        umad.drain()
    print("%d of them could be sent" % asked)
    after = umad.ask(directed((1,), NODE_INFO))
    if not after or after[64:104] != before[64:104]:
        sys.exit("mads.py: the switch does not answer as before")


def fuzz(umad, count, seed, lids):
    source = random.Random(seed)
    sent = 0
    for n in range(count):
        data = source.randbytes(64) if source.random() < 0.7 else bytes(64)
        attribute = source.choice(ATTRIBUTES) if source.random() < 0.9 else source.getrandbits(16)
        modifier = source.choice((0, 1, 2, 3, 36, 37, 255, 1 << 31, 1 << 28, source.getrandbits(32)))
        method = source.choice((GET, SET, SET, source.getrandbits(7)))
        kind = source.random()
        if kind < 0.5 or not lids:
            path = source.choice(((), (1,), (1, 1), (1, 2), (1, 3), (1, source.getrandbits(8))))
            mad = bytearray(directed(path, attribute, modifier, method, data))
            qpn, lid = 0, PERMISSIVE
        else:
            qpn = int(kind >= 0.75)
            lid = source.choice(lids)
            mad = bytearray(struct.pack(">BBBBHHQHHI", 1, PERFORMANCE if qpn else LID_ROUTED, 1, method, 0, 0, 0,
                                        attribute if not qpn else source.choice((1, 0x12, 0x1d, 0x7777)), 0,
                                        modifier) + source.randbytes(232))
            if not qpn:
                mad[24:32] = bytes(8)
        if source.random() < 0.2:
            mad[source.randrange(256)] = source.getrandbits(8)
        sent += umad.send(bytes(mad), qpn, lid)
        if n % 32 == 0:
            umad.drain()
            time.sleep(0.002)
    print("seed %d: %d of %d could be sent" % (seed, sent, count))


def key(umad, count, lid, qpn, pkey_index):
    for n in range(count):
        # while a MAD is under way, umad takes an equal one for its repetition
        mad = struct.pack(">BBBBHHQHHI", 1, PERFORMANCE, 1, GET, 0, 0, n, 0x12, 0, 0).ljust(256, b"\0")
        if not umad.send(mad, qpn, lid, pkey_index=pkey_index):
            sys.exit("mads.py: it could not be sent")
        time.sleep(0.002)


def must_get(umad, path, attribute, modifier):
    answer = umad.ask(directed(path, attribute, modifier))
    if not answer or struct.unpack_from(">H", answer, 4)[0] & 0x1c:
        sys.exit("mads.py: no attribute %#x of %s" % (attribute, path))
    return bytearray(answer[64:128])


def must_set(umad, path, attribute, modifier, data):
    answer = umad.ask(directed(path, attribute, modifier, SET, bytes(data)))
    if not answer or struct.unpack_from(">H", answer, 4)[0] & 0x1c:
        sys.exit("mads.py: it was not set")


def phys(umad, port, state, path):
    info = changed(changed(port_info(umad, path, port), 32, 0, 0xf), 33, state << 4, 0xf0)
    must_set(umad, path, PORT_INFO, port, info)


def mtu(umad, port, value, path):
    info = changed(changed(port_info(umad, path, port), 32, 0, 0xf), 33, 0, 0xf0)
    must_set(umad, path, PORT_INFO, port, changed(info, 36, value << 4, 0xf0))


def route(umad, lid, port, path):
    block = must_get(umad, path, LINEAR, lid // 64)
    print(block[lid % 64])
    block[lid % 64] = port
    must_set(umad, path, LINEAR, lid // 64, block)


def pkey(umad, index, value, path):
    block = must_get(umad, path, PKEY_TABLE, index // 32)
    struct.pack_into(">H", block, index % 32 * 2, value)
    must_set(umad, path, PKEY_TABLE, index // 32, block)


def guid(umad, index, value, path):
    block = must_get(umad, path, GUID_INFO, index // 8)
    struct.pack_into(">Q", block, index % 8 * 8, value)
    must_set(umad, path, GUID_INFO, index // 8, block)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    what, umad = sys.argv[1], Umad(sys.argv[2])
    if what == "answers":
        answers(umad)
    elif what == "routes":
        routes(umad)
    elif what == "key":
        key(umad, *(int(a, 0) for a in sys.argv[3:7]))
    elif what in ("phys", "mtu", "route", "pkey", "guid"):
        {"phys": phys, "mtu": mtu, "route": route, "pkey": pkey, "guid": guid}[what](
            umad, int(sys.argv[3], 0), int(sys.argv[4], 0), tuple(int(a) for a in sys.argv[5:]))
    elif what == "fuzz":
        fuzz(umad, int(sys.argv[3]), int(sys.argv[4]), [int(a, 0) for a in sys.argv[5:]])
    else:
        sys.exit(__doc__)


main()
