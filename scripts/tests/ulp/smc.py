#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""smc.py - a stream over SMC sockets, and the same back

usage: smc.py eid
       smc.py serve ADDRESS BYTES
       smc.py send PEER BYTES

"eid" gives this host an enterprise id, without which there is no SMC-R version 2
here. The server sends all back that it gets. The client compares.
"""
import ctypes
import os
import random
import socket
import struct
import sys
import threading

AF_SMC, PORT = 43, 18610
EID = b"WEFT-TEST".ljust(32) + b"\0"
GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 16, 3, 1, 2
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
SMC_NETLINK_ADD_UEID, SMC_NLA_EID_TABLE_ENTRY = 10, 1
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def address_of(address):
    return struct.pack("=H2s4s8x", socket.AF_INET, struct.pack("!H", PORT),
                       socket.inet_aton(address))


def smc(call, address):
    """A socket on which bind or connect has been called: Python knows no addresses
    of this family."""
    fd = checked(libc.socket(AF_SMC, socket.SOCK_STREAM, 0))
    checked(getattr(libc, call)(fd, address_of(address), 16))
    return socket.socket(fileno=fd)


def attribute(kind, data):
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + bytes(-length % 4)


def ask(netlink, family, command, data):
    netlink.send(struct.pack("=IHHIIBBxx", 20 + len(data), family,
                             NLM_F_REQUEST | NLM_F_ACK, 1, 0, command, 1) + data)
    answer = netlink.recv(65536)
    length, kind = struct.unpack_from("=IH", answer)
    if kind == NLMSG_ERROR:
        error, = struct.unpack_from("=i", answer, 16)
        if error:
            raise OSError(-error, os.strerror(-error))
    return answer[20:length]


def eid():
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
    answer = ask(netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY,
                 attribute(CTRL_ATTR_FAMILY_NAME, b"SMC_GEN_NETLINK\0"))
    netlink.recv(65536)  # the acknowledge
    while answer:
        length, kind = struct.unpack_from("=HH", answer)
        if kind == CTRL_ATTR_FAMILY_ID:
            family, = struct.unpack_from("=H", answer, 4)
        answer = answer[(length + 3) & ~3:]
    ask(netlink, family, SMC_NETLINK_ADD_UEID, attribute(SMC_NLA_EID_TABLE_ENTRY, EID))


def receive(sock, count):
    data = bytearray()
    while len(data) < count:
        more = sock.recv(65536)
        if not more:
            break
        data += more
    return bytes(data)


def serve(address, count):
    sock = smc("bind", address)
    sock.listen(1)
    print("ready", flush=True)
    # not accept(): Python knows no addresses of this family
    peer = socket.socket(fileno=checked(libc.accept(sock.fileno(), None, None)))
    for _ in range(int(count) // 4096):
        peer.sendall(receive(peer, 4096))
    receive(peer, 1)  # until the peer has closed


def send(peer, count):
    count = int(count) // 4096 * 4096
    sock = smc("connect", peer)
    data = random.Random(1).randbytes(count)
    thread = threading.Thread(target=sock.sendall, args=(data,))
    thread.start()
    same = receive(sock, count) == data
    thread.join()
    print("%d bytes %s" % (count, "came back" if same else "differ"))
    return same


commands = {"eid": eid, "serve": serve, "send": send}
sys.exit(commands[sys.argv[1]](*sys.argv[2:]) is False)
