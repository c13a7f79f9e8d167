#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""frames.py - send frames to a fabric that no switch would send

usage: frames.py NETDEV COUNT SEED

NETDEV is the other end of the net device that has the fabric. Frames that come from
there are collected for a while; then COUNT are sent: some of them as they came, from
other addresses, most with bytes changed, cut short or made longer, and some at random.
Most have the right checksum all the same.
"""
import errno
import random
import select
import socket
import sys
import time
import zlib

PROTOCOL = 0x88b5
COLLECT = 3  # seconds
MOST = 64  # different ones


def collect(sock):
    frames = []
    end = time.monotonic() + COLLECT
    while time.monotonic() < end and len(frames) < MOST:
        if not select.select([sock], [], [], 0.1)[0]:
            continue
        frame, address = sock.recvfrom(65536)
        if address[2] != socket.PACKET_OUTGOING and frame not in frames:
            frames.append(frame)
    return frames


def sealed(frame):
    """With the checksum of its header and as many bytes as that says."""
    frame = bytearray(frame)
    if len(frame) < 14 + 28:
        return frame
    frame[14 + 24:14 + 28] = bytes(4)
    end = 14 + 28 + int.from_bytes(frame[14 + 22:14 + 24], "big")
    frame[14 + 24:14 + 28] = zlib.crc32(frame[14:end]).to_bytes(4, "little")
    return frame


def mutated(source, frame, addresses):
    frame = bytearray(frame)
    frame[6:12] = source.choice(addresses)
    kind = source.random()
    if kind < 0.05:
        return frame
    if kind < 0.2:
        return frame[:source.randrange(14, len(frame) + 1)]
    if kind < 0.3:
        return frame + source.randbytes(source.randrange(1, 1500 - len(frame))) if len(frame) < 1400 else frame
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        at = source.randrange(14, len(frame))
        frame[at] = source.choice((0, 1, 0x7f, 0x80, 0xff, frame[at] ^ 1 << source.randrange(8),
                                   source.getrandbits(8)))
    return frame


def main(netdev, count, seed):
    source = random.Random(int(seed))
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(PROTOCOL))
    sock.bind((netdev, PROTOCOL))
    with open("/sys/class/net/%s/address" % netdev, encoding="ascii") as f:
        own = bytes.fromhex(f.read().strip().replace(":", ""))
    frames = collect(sock)
    if not frames:
        sys.exit("frames.py: nothing comes from the fabric")
    # sources: a few hosts, one of which is the fabric's own host
    addresses = [own, frames[0][6:12]] + [b"\x02\0\0\0\0" + bytes([n]) for n in range(6)]
    targets = [frames[0][6:12], b"\xff" * 6, frames[0][:6]]
    sent = 0
    for n in range(int(count)):
        if source.random() < 0.1:
            frame = bytes(12) + PROTOCOL.to_bytes(2, "big") + source.randbytes(source.randrange(0, 1486))
        else:
            frame = bytes(mutated(source, source.choice(frames), addresses))
        if source.random() < 0.9:
            frame = bytes(sealed(frame))
        frame = source.choice(targets) + frame[6:]
        try:
            sent += sock.send(frame) > 0
        except OSError as e:
            if e.errno in (errno.ENXIO, errno.ENODEV, errno.ENETDOWN):
                sys.exit("frames.py: %s is gone" % netdev)
            # otherwise a queue fills up
        if n % 64 == 0:
            time.sleep(0.002)
            # its responses can be modified, too
            while select.select([sock], [], [], 0)[0]:
                frame, address = sock.recvfrom(65536)
                if address[2] != socket.PACKET_OUTGOING and len(frames) < 4 * MOST:
                    frames.append(frame)
    print("%d different frames came, %d were sent" % (len(frames), sent))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
