#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""transfer.py - send data both ways at once over a TCP connection, and compare it

usage: transfer.py listen|connect ADDRESS SIZE [PORT]

Each side sends SIZE bytes that the other one can compute. "listen" serves one
connection. Exit status: 1 if what came is not what was sent.
"""
import random
import socket
import sys
import threading

CHUNK = 1 << 16
SEEDS = {"listen": 17, "connect": 42}


def stream(seed, size):
    """SIZE bytes that depend on the seed, in pieces."""
    source = random.Random(seed)
    block = source.randbytes(1 << 20)
    while size > 0:
        start = source.randrange(len(block) - CHUNK)
        piece = block[start:start + min(CHUNK, size)]
        size -= len(piece)
        yield piece


def send(connection, seed, size):
    for piece in stream(seed, size):
        connection.sendall(piece)
    connection.shutdown(socket.SHUT_WR)


def receive(connection, seed, size):
    """What is wrong, or None."""
    done = 0
    for piece in stream(seed, size):
        got = bytearray()
        while len(got) < len(piece):
            more = connection.recv(len(piece) - len(got))
            if not more:
                return "the connection ended after %d bytes" % (done + len(got))
            got += more
        if got != piece:
            return "other data, between byte %d and %d" % (done, done + len(piece))
        done += len(piece)
    return "more than %d bytes came" % size if connection.recv(1) else None


def connect(role, address, port):
    if role == "connect":
        return socket.create_connection((address, port), timeout=120)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, port), family=family) as server:
        server.settimeout(120)
        connection = server.accept()[0]
        connection.settimeout(120)
        return connection


def main(role, address, size, port="5300"):
    size = int(size)
    peer = "connect" if role == "listen" else "listen"
    with connect(role, address, int(port)) as connection:
        sender = threading.Thread(target=send, args=(connection, SEEDS[role], size), daemon=True)
        sender.start()
        wrong = receive(connection, SEEDS[peer], size)
        if wrong:
            sys.exit("transfer.py: " + wrong)
        sender.join()
    print("%d bytes each way, as they were sent" % size)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in SEEDS:
        sys.exit(__doc__)
    main(*sys.argv[1:])
