#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rds.py - messages over RDS sockets, and the same back

usage: rds.py serve ADDRESS COUNT
       rds.py send ADDRESS PEER COUNT

The server sends each message back. The client compares, and prints how many
were as they had been.
"""
import random
import socket
import sys

# of the server; the client may have the same address, and has the next one
PORT = 18600
# asked for; the system may allow less
BUFFER = 4 << 20
MAX = 128 << 10


def rds(address, port):
    sock = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
    for option in socket.SO_SNDBUF, socket.SO_RCVBUF:
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER)
    sock.settimeout(60)
    sock.bind((address, port))
    return sock


def serve(address, count):
    sock = rds(address, PORT)
    print("ready", flush=True)
    for _ in range(int(count)):
        data, peer = sock.recvfrom(MAX)
        sock.sendto(data, peer)


def send(address, peer, count):
    sock = rds(address, PORT + 1)
    rng = random.Random(1)
    same = 0
    for i in range(int(count)):
        data = rng.randbytes(rng.choice((1, 100, 4096, 4097, 65536, MAX)))
        sock.sendto(data, (peer, PORT))
        same += sock.recvfrom(MAX)[0] == data
    print("%d messages" % same)
    return same == int(count)


commands = {"serve": serve, "send": send}
sys.exit(commands[sys.argv[1]](*sys.argv[2:]) is False)
