#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""group.py - numbered datagrams to a multicast group

usage: group.py send ADDRESS GROUP COUNT
       group.py receive ADDRESS GROUP COUNT

By the interface that has ADDRESS. "send" sends COUNT, ten a second. "receive" says when it
has joined, and takes what comes until the last one has, and a little longer. Exit status: 1 if
one has come twice, or one of the second half not at all: the first ones may be too early for
the switches to know who is a member.
"""
import socket
import struct
import sys
import time

PORT = 5400
INTERVAL, LATE, PATIENCE = 0.1, 2, 60


def send(address, group, count):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
        for number in range(count):
            s.sendto(struct.pack(">I", number), (group, PORT))
            time.sleep(INTERVAL)


def receive(address, group, count):
    came = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((group, PORT))
        s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                     socket.inet_aton(group) + socket.inet_aton(address))
        print("joined", flush=True)
        s.settimeout(PATIENCE)
        try:
            while True:
                number = struct.unpack(">I", s.recv(100))[0]
                came[number] = came.get(number, 0) + 1
                if number == count - 1:
                    s.settimeout(LATE)
        except socket.timeout:
            pass
    twice = [n for n in came if came[n] > 1]
    lost = [n for n in range(count // 2, count) if n not in came]
    print("%d of %d came, the first was %s" % (len(came), count, min(came, default=None)))
    if twice or lost:
        sys.exit("group.py: more than once: %s, not at all: %s" % (twice, lost))


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("send", "receive"):
        sys.exit(__doc__)
    {"send": send, "receive": receive}[sys.argv[1]](sys.argv[2], sys.argv[3], int(sys.argv[4]))


if __name__ == "__main__":
    main()
