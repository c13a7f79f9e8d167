#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rds.py - messages over RDS sockets, and the same back; atomics

usage: rds.py serve ADDRESS COUNT
       rds.py send ADDRESS PEER COUNT
       rds.py own ADDRESS FILE
       rds.py atomics ADDRESS PEER

The server sends each message back. The client compares, and prints how many
were as they had been.

The owner has a word in FILE, which the client changes by atomics, masked or
not. The client compares what it was before each of them, and the owner what it
is in the end. FILE is on a file system with DAX: RDS gives the right to atomics
for paged memory only, and takes it for such files only.
"""
import ctypes
import mmap
import random
import socket
import struct
import sys

# the server's port; the client, which may have the same address, has the next one
PORT = 18600
# requested; the system may allow less
BUFFER = 4 << 20
MAX = 128 << 10

# linux/rds.h
SOL_RDS = 276
GET_MR = 2
RDMA_STATUS, ATOMIC_FADD, ATOMIC_CSWP, MASKED_FADD, MASKED_CSWP = 4, 6, 7, 8, 9
READWRITE, NOTIFY_ME = 0x01, 0x20

# the offset of the word in its page, and its initial value
OFFSET = 264
FIRST = 0x00000001ffffffff
# operation, its four operands in the order of struct rds_atomic_args, and the word after it
ATOMICS = (
    (ATOMIC_FADD, (1, 0, 0, 0), 0x0000000200000000),
    (ATOMIC_FADD, (2**64 - 1, 0, 0, 0), 0x00000001ffffffff),
    # two fields of 32 bits: no carry between them
    (MASKED_FADD, (0x0000000300000002, 1 << 63 | 1 << 31, 0, 0), 0x0000000400000001),
    (ATOMIC_CSWP, (0x0000000400000001, 0x1122334455667788, 0, 0), 0x1122334455667788),
    (ATOMIC_CSWP, (0x0000000400000001, 7, 0, 0), 0x1122334455667788),
    # the lower half is compared, and one byte of the upper half is swapped
    (MASKED_CSWP, (0x55667788, 0xff << 40, 0xffffffff, 0xff << 40), 0x1122ff4455667788),
    (MASKED_CSWP, (0x55667780, 0, 0xffffffff, 2**64 - 1), 0x1122ff4455667788),
)


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


def receive_word(sock):
    """The next message of eight bytes: others, empty, come with atomics."""
    while True:
        data, peer = sock.recvfrom(MAX)
        if len(data) == 8:
            return struct.unpack("=Q", data)[0], peer


def own(address, path):
    sock = rds(address, PORT)
    with open(path, "w+b") as f:
        f.truncate(mmap.PAGESIZE)
        page = mmap.mmap(f.fileno(), mmap.PAGESIZE)
    word = ctypes.c_uint64.from_buffer(page, OFFSET)
    word.value = FIRST
    print("ready", flush=True)
    peer = receive_word(sock)[1]
    cookie = ctypes.c_uint64()
    sock.setsockopt(SOL_RDS, GET_MR, struct.pack(
        "=4Q", ctypes.addressof(word) - OFFSET, mmap.PAGESIZE, ctypes.addressof(cookie), READWRITE))
    sock.sendto(bytes(cookie), peer)
    last = receive_word(sock)[0]
    print("the word is %#x" % word.value)
    return word.value == last


def atomic(sock, peer, cookie, kind, operands):
    """Return the word as it was, or None if the status is not 0."""
    before = ctypes.c_uint64()
    sock.sendmsg([b""], [(SOL_RDS, kind, struct.pack(
        "=9Q", cookie, ctypes.addressof(before), OFFSET, *operands, NOTIFY_ME, kind))], 0, peer)
    while True:
        for _, what, data in sock.recvmsg(MAX, socket.CMSG_SPACE(64))[1]:
            if what == RDMA_STATUS:
                token, status = struct.unpack_from("=Qi", data)
                return before.value if (token, status) == (kind, 0) else None


def atomics(address, peer):
    sock, peer = rds(address, PORT + 1), (peer, PORT)
    sock.sendto(bytes(8), peer)
    cookie = receive_word(sock)[0]
    right, word = 0, FIRST
    for kind, operands, after in ATOMICS:
        before = atomic(sock, peer, cookie, kind, operands)
        print("operation %d found %s" % (kind, before if before is None else hex(before)))
        right += before == word
        word = after
    sock.sendto(struct.pack("=Q", word), peer)
    print("%d atomics" % right)
    return right == len(ATOMICS)


commands = {"serve": serve, "send": send, "own": own, "atomics": atomics}
sys.exit(commands[sys.argv[1]](*sys.argv[2:]) is False)
