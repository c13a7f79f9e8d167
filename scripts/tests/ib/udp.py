#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: udp.py echo PORT | udp.py say ADDRESS PORT

echo: answer each datagram with its bytes in reverse order, and print a line for it.
say: send "weft", and print what comes back and from where; fail if nothing does.
"""
import socket
import sys


def echo(port):
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.bind(("", port))
    print("listening", flush=True)
    while True:
        data, peer = here.recvfrom(100)
        print("got it", flush=True)
        here.sendto(data[::-1], peer)


def say(address, port):
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.settimeout(10)
    peer.sendto(b"weft", (address, port))
    print(*peer.recvfrom(100))


if sys.argv[1] == "echo":
    echo(int(sys.argv[2]))
else:
    say(sys.argv[2], int(sys.argv[3]))
