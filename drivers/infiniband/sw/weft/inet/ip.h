/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* UDP over IP, as RoCE and the tunnels of a fabric send it: routes, and headers. */
#ifndef WEFT_INET_IP_H
#define WEFT_INET_IP_H

#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dst.h>

struct net;

/* Source and destination of a packet; both are IPv4 addresses (mapped) or none is. */
struct weft_ip_path {
	struct in6_addr	saddr;		/* may be zero for weft_ip_route() */
	struct in6_addr	daddr;
	__be16		sport;		/* UDP */
	__be16		dport;
	u32		flow_label;	/* IPv6, 20 bits */
	u8		tclass;		/* traffic class, or type of service */
	u8		hop_limit;	/* 0: that of the route */
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

struct dst_entry *weft_ip_route(struct net *net, struct weft_ip_path *path, int oif);
void weft_ip_set_length(struct sk_buff *skb, u32 length, u16 id);
void weft_ip_push(struct sk_buff *skb, const struct weft_ip_path *path, struct dst_entry *dst,
		  u16 id);

#endif /* WEFT_INET_IP_H */
