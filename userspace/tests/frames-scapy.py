#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Make frames-scapy.h: frames by scapy, for each spec of flow steering.

For a spec there is one frame that it matches, and one or more that differ in the field alone,
which it must not match. Run it on a machine that has python3-scapy; the output is committed.
"""
import sys

from scapy.all import ARP, Dot1Q, Ether, GRE, ICMPv6EchoRequest, IP, IPv6, IPv6ExtHdrFragment, TCP, UDP, Raw
from scapy.contrib.mpls import MPLS
from scapy.layers.vxlan import VXLAN

DATA = Raw(b"weft" * 5)


def eth(**fields):
    return Ether(**{"dst": "02:00:00:00:00:42", "src": "02:00:00:00:00:41", **fields})


def ip4(**fields):
    return IP(**{"src": "10.10.9.2", "dst": "10.10.9.1", **fields})


def ip6(**fields):
    return IPv6(**{"src": "fd00:9::2", "dst": "fd00:9::1", **fields})


def udp(**fields):
    return UDP(**{"sport": 999, "dport": 7000, **fields})


def tcp(**fields):
    return TCP(**{"sport": 999, "dport": 80, **fields})


def plain(**fields):
    return eth(**fields) / ip4() / udp() / DATA


def v4(**fields):
    return eth() / ip4(**fields) / udp() / DATA


def v6(**fields):
    return eth() / ip6(**fields) / udp() / DATA


def vlan(**fields):
    return eth() / Dot1Q(**{"vlan": 5, "prio": 3, **fields}) / ip4() / udp() / DATA


def vxlan(inner, vni=0x010203, dport=4789):
    return eth() / ip4() / udp(dport=dport) / VXLAN(vni=vni, flags="Instance") / inner


def gre(inner, key=0x01020304, **fields):
    present = {} if key is None else {"key_present": 1, "key": key}
    return eth() / ip4() / GRE(**present, **fields) / inner


def mpls(label, cos=2, s=1, ttl=64):
    return MPLS(label=label, cos=cos, s=s, ttl=ttl)


INNER4 = {"src": "192.168.1.2", "dst": "192.168.1.1"}
INNER6 = {"src": "fd00:1::2", "dst": "fd00:1::1"}


def inner4(port=80, transport=TCP, **fields):
    return ip4(**{**INNER4, **fields}) / transport(sport=1, dport=port) / DATA


def inner6(**fields):
    return ip6(**{**INNER6, **fields}) / UDP(sport=1, dport=53) / DATA


def inner_frame(dst="02:00:00:00:00:77", ip=None):
    return Ether(dst=dst, src="02:00:00:00:00:78") / (ip or inner4())


# spec: the frame that it matches, and those that it does not
FRAMES = {
    "eth_dst": [plain(), plain(dst="02:00:00:00:00:43"), plain(dst="03:00:00:00:00:42")],
    "eth_src": [plain(), plain(src="02:00:00:00:01:41")],
    "eth_type": [eth() / ARP(psrc="10.10.9.2", pdst="10.10.9.1"), plain(), v6()],
    "vlan_id": [vlan(), vlan(prio=3, vlan=6), plain()],
    "vlan_priority": [vlan(), vlan(prio=2)],
    "ipv4_src": [v4(), v4(src="10.10.9.3"), v6()],
    "ipv4_dst": [v4(), v4(dst="10.10.8.1"), vlan(type=0x88b7)],
    "ipv4_proto": [v4(), eth() / ip4() / tcp() / DATA],
    "ipv4_tos": [v4(tos=0xb8), v4(tos=0xb9), v4()],
    "ipv6_src": [v6(), v6(src="fd00:9::3"), v4()],
    "ipv6_dst": [v6(), v6(dst="fd01:9::1")],
    "ipv6_next": [eth() / ip6() / ICMPv6EchoRequest(data=b"weft"), v6()],
    "ipv6_class": [v6(tc=0xb8), v6(tc=0xa8)],
    "ipv6_label": [v6(fl=0x12345), v6(fl=0x12344), v6(fl=0x02345)],
    "tcp_port": [eth() / ip4() / tcp() / DATA, eth() / ip4() / tcp(dport=81) / DATA,
                 eth() / ip4() / udp(dport=80) / DATA],
    "tcp6_port": [eth() / ip6() / tcp() / DATA, eth() / ip6() / tcp(sport=998) / DATA,
                  eth() / ip6() / IPv6ExtHdrFragment(offset=9) / tcp() / DATA],
    "udp_port": [v4(), eth() / ip4() / udp(dport=7001) / DATA, v4(frag=7)],
    "mpls": [eth() / mpls(0x12345) / ip4() / udp() / DATA, eth() / mpls(0x12344) / ip4() / udp() / DATA,
             plain()],
    "mpls_cos": [eth() / mpls(0x12345, 5) / ip4() / udp() / DATA, eth() / mpls(0x12345, 4) / ip4() / udp() / DATA],
    "mpls_bottom": [eth() / mpls(7) / ip4() / udp() / DATA, eth() / mpls(7, s=0) / mpls(8) / ip4() / udp() / DATA],
    "mpls_ttl": [eth() / mpls(7, ttl=9) / ip4() / udp() / DATA, eth() / mpls(7, ttl=8) / ip4() / udp() / DATA],
    "mpls_inner": [eth() / ip4() / udp(dport=6635) / mpls(9) / inner4(),
                   eth() / ip4() / udp(dport=6635) / mpls(9) / inner4(dst="192.168.1.3"),
                   eth() / ip4() / udp(dport=6635) / mpls(9) / inner6(), eth() / mpls(9) / inner4()],
    "mpls_udp": [eth() / ip4() / udp(dport=6635) / mpls(9) / inner4(),
                 eth() / ip4() / udp(dport=6635) / mpls(8) / inner4(),
                 eth() / ip4() / udp(dport=6636) / mpls(9) / inner4()],
    "mpls_gre": [gre(mpls(9) / inner4(), None, proto=0x8847), gre(mpls(10) / inner4(), None, proto=0x8847),
                 eth() / ip4() / udp(dport=6635) / mpls(9) / inner4()],
    "vxlan": [vxlan(inner_frame()), vxlan(inner_frame(), vni=0x010202), vxlan(inner_frame(), vni=0x810203),
              vxlan(inner_frame(), dport=4790)],
    "vxlan_eth": [vxlan(inner_frame()), vxlan(inner_frame("02:00:00:00:00:76"))],
    "vxlan_ipv4": [vxlan(inner_frame()), vxlan(inner_frame(ip=inner4(src="192.168.1.3"))),
                   vxlan(inner_frame(ip=inner6()))],
    "vxlan_ipv6": [vxlan(inner_frame(ip=inner6())), vxlan(inner_frame(ip=inner6(dst="fd00:1::3")))],
    "vxlan_tcp": [vxlan(inner_frame()), vxlan(inner_frame(ip=inner4(81))),
                  vxlan(inner_frame(ip=inner4(80, UDP))), eth() / ip4() / tcp() / DATA],
    "vxlan_udp": [vxlan(inner_frame(ip=inner6())), vxlan(inner_frame(ip=inner4(53))),
                  vxlan(inner_frame(ip=inner4(54, UDP))), eth() / ip6() / udp(dport=53) / DATA],
    "vxlan_mpls": [vxlan(Ether(dst="02:00:00:00:00:77") / mpls(0x54321) / inner4()),
                   vxlan(Ether(dst="02:00:00:00:00:77") / mpls(0x54320) / inner4()),
                   vxlan(inner_frame()), eth() / mpls(0x54321) / inner4()],
    "gre_key": [gre(inner4()), gre(inner4(), 0x01020305), gre(inner4(), None)],
    "gre_proto": [gre(inner6()), gre(inner4())],
    "gre_csum_key": [gre(inner4(), chksum_present=1), gre(inner4(), 0x41020304, chksum_present=1)],
    "gre_inner_tcp": [gre(inner4()), gre(inner4(82)), inner_frame(ip=inner4())],
    "gre_inner_eth": [gre(inner_frame(), proto=0x6558), gre(inner_frame("02:00:00:00:00:75"), proto=0x6558)],
}


def main():
    print("/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */")
    print("/* Made by frames-scapy.py. Of each spec, the first frame matches, and the others do not. */")
    print("static const struct scapy_frame {")
    print("\tconst char *spec;\n\tuint16_t length;\n\tuint8_t byte[176];\n} scapy_frames[] = {")
    for spec, frames in FRAMES.items():
        for frame in frames:
            data = bytes(frame)
            if len(data) > 176:
                sys.exit("%s: %d bytes" % (spec, len(data)))
            print('\t{ "%s", %d, {' % (spec, len(data)))
            for at in range(0, len(data), 16):
                print("\t\t" + " ".join("0x%02x," % byte for byte in data[at:at + 16]))
            print("\t} },")
    print("};")


main()
