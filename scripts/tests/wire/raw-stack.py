#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Usage: raw-stack.py NETNS HERE THERE [HERE THERE]...

Streams of TCP and datagrams of UDP between this network namespace and another one, in both
directions, for each pair of addresses. All bytes must arrive as they were sent.
"""
import ctypes
import os
import random
import socket
import sys
import threading

STREAM = 1 << 20
DATAGRAMS = [1, 100, 1000, 1400, 5000, 20000]


def socket_in(space, address, kind):
    """Returns a socket of the address, which belongs to the namespace in which it was made."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(space, os.O_RDONLY)
    if libc.setns(fd, 0x40000000):
        sys.exit("setns: %s" % os.strerror(ctypes.get_errno()))
    os.close(fd)
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    made.settimeout(60)
    made.bind((address, 0))
    return made


def receive(listener, got):
    connection = listener.accept()[0]
    connection.settimeout(60)
    while True:
        data = connection.recv(1 << 16)
        if not data:
            return
        got.append(data)


def stream(source, sink):
    data = random.randbytes(STREAM)
    got = []
    sink.listen()
    reader = threading.Thread(target=receive, args=(sink, got))
    reader.start()
    source.connect(sink.getsockname())
    source.sendall(data)
    source.close()
    reader.join()
    if b"".join(got) != data:
        sys.exit("a stream has %d bytes of %d, or others" % (len(b"".join(got)), len(data)))


def datagrams(source, sink):
    for length in DATAGRAMS * 4:
        data = random.randbytes(length)
        source.sendto(data, sink.getsockname())
        if sink.recv(1 << 16) != data:
            sys.exit("a datagram of %d bytes has changed" % length)


def main():
    spaces = ["/proc/self/ns/net", "/run/netns/" + sys.argv[1]]
    # setns() moves the thread: the first name must stay that of this namespace
    home = os.open(spaces[0], os.O_RDONLY)
    spaces[0] = "/proc/self/fd/%d" % home
    pairs = list(zip(sys.argv[2::2], sys.argv[3::2]))
    for here, there in pairs:
        ends = list(zip(spaces, (here, there)))
        for (from_space, from_address), (to_space, to_address) in (ends, ends[::-1]):
            for kind, send in ((socket.SOCK_STREAM, stream), (socket.SOCK_DGRAM, datagrams)):
                sink = socket_in(to_space, to_address, kind)
                source = socket_in(from_space, from_address, kind)
                send(source, sink)
                sink.close()
                source.close()
        print("%s, %s: streams and datagrams in both directions" % (here, there))


main()
