/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * UDP over IP, as RoCE and the tunnels of a fabric send it: routes, and headers.
 */
#ifndef WEFT_INET_IP_H
#define WEFT_INET_IP_H

#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dst.h>

struct net;

/**
 * struct weft_ip_path - from where to where
 * @saddr: source; an IPv4 address is mapped. For weft_ip_route() it may be zero: the route says.
 * @daddr: destination
 * @sport: UDP port
 * @dport: UDP port
 * @flow_label: 20 bits; IPv6
 * @tclass: traffic class, or type of service
 * @hop_limit: 0: that of the route
 * @ipv4: of both addresses
 */
struct weft_ip_path {
	struct in6_addr	saddr;
	struct in6_addr	daddr;
	__be16		sport;
	__be16		dport;
	u32		flow_label;
	u8		tclass;
	u8		hop_limit;
	bool		ipv4;
};

/* The IPv4 address that is mapped in @addr. */
static inline __be32 weft_ip_v4(const struct in6_addr *addr)
{
	return addr->s6_addr32[3];
}

/* Bytes of both headers. */
static inline u32 weft_ip_headers(bool ipv4)
{
	return sizeof(struct udphdr) + (ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
}

/**
 * weft_ip_route - find a route
 * @net: namespace
 * @path: from where to where; a zero @saddr is filled in
 * @oif: by this net device; 0: by any
 *
 * Context: any but hard interrupts, RCU read side.
 * Return: the route, referenced; NULL: there is none, or it is one to everybody.
 */
struct dst_entry *weft_ip_route(struct net *net, struct weft_ip_path *path, int oif);

/**
 * weft_ip_push - put UDP and IP headers in front of a packet
 * @skb: with headroom
 * @path: from where to where
 * @dst: its route, for the hop limit
 * @id: IPv4: the identification
 *
 * The UDP checksum is 0; a tunnel over IPv6 fills it in.
 */
void weft_ip_push(struct sk_buff *skb, const struct weft_ip_path *path, struct dst_entry *dst,
		  u16 id);

#endif /* WEFT_INET_IP_H */
