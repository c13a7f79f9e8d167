// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "inet/ip.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/inet_dscp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>

static struct dst_entry *ip_route_ipv4(struct net *net, struct weft_ip_path *path, int oif)
{
	struct flowi4 fl4;
	struct rtable *rt;

	/* the ECN bits are no part of a route; 6.1 would take one for a flag */
	flowi4_init_output(&fl4, oif, 0, path->tclass & INET_DSCP_MASK, RT_SCOPE_UNIVERSE,
			   IPPROTO_UDP, 0, weft_ip_v4(&path->daddr), weft_ip_v4(&path->saddr),
			   path->dport, path->sport, sock_net_uid(net, NULL));
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return NULL;
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return NULL;
	}
	ipv6_addr_set_v4mapped(fl4.saddr, &path->saddr);
	return &rt->dst;
}

static struct dst_entry *ip_route_ipv6(struct net *net, struct weft_ip_path *path, int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, NULL),
		.flowlabel = ip6_make_flowinfo(path->tclass, cpu_to_be32(path->flow_label)),
		.saddr = path->saddr,
		.daddr = path->daddr,
		.fl6_dport = path->dport,
		.fl6_sport = path->sport,
	};
	struct dst_entry *dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);

	if (IS_ERR(dst))
		return NULL;
	path->saddr = fl6.saddr;
	return dst;
}

/*
 * Find a route for @path in @net; a zero @path->saddr is filled in. @oif: leave by this net device;
 * 0: by any. RCU read side, any context but hard interrupts. Returns the route, referenced; NULL:
 * there is none, or it leads to a broadcast address.
 */
struct dst_entry *weft_ip_route(struct net *net, struct weft_ip_path *path, int oif)
{
	if (path->ipv4)
		return ip_route_ipv4(net, path, oif);
	return IS_ENABLED(CONFIG_IPV6) ? ip_route_ipv6(net, path, oif) : NULL;
}

/* ip_local_out() sets the same length again, and the checksum. */
static void ip_push_ipv4(struct sk_buff *skb, const struct weft_ip_path *path,
			 struct dst_entry *dst, u16 id)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IP);
	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tos = path->tclass,
		.tot_len = htons(skb->len),
		.id = htons(id),
		.frag_off = htons(IP_DF),
		.ttl = path->hop_limit ?: ip4_dst_hoplimit(dst),
		.protocol = IPPROTO_UDP,
		.saddr = weft_ip_v4(&path->saddr),
		.daddr = weft_ip_v4(&path->daddr),
	};
}

/* ip6_local_out() sets the same length again. */
static void ip_push_ipv6(struct sk_buff *skb, const struct weft_ip_path *path,
			 struct dst_entry *dst)
{
	u32 length = skb->len;
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IPV6);
	ip6_flow_hdr(ip, path->tclass, cpu_to_be32(path->flow_label));
	ip->payload_len = htons(length);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = path->hop_limit;
	/* a kernel without IPv6 has no such function, and no such route */
	if (!ip->hop_limit && IS_ENABLED(CONFIG_IPV6))
		ip->hop_limit = ip6_dst_hoplimit(dst);
	ip->saddr = path->saddr;
	ip->daddr = path->daddr;
}

/*
 * Make the headers of weft_ip_push() those of a packet with @length bytes behind the UDP header.
 * @id is the identification of IPv4.
 */
void weft_ip_set_length(struct sk_buff *skb, u32 length, u16 id)
{
	length += sizeof(struct udphdr);
	udp_hdr(skb)->len = htons(length);
	if (skb->protocol == htons(ETH_P_IP)) {
		ip_hdr(skb)->tot_len = htons(sizeof(struct iphdr) + length);
		ip_hdr(skb)->id = htons(id);
	} else {
		ipv6_hdr(skb)->payload_len = htons(length);
	}
}

/*
 * Put UDP and IP headers in front of a packet, which has headroom for them. @dst is its route, for
 * the hop limit; @id is the identification of IPv4. The UDP checksum is 0; a tunnel over IPv6 fills
 * it in.
 */
void weft_ip_push(struct sk_buff *skb, const struct weft_ip_path *path, struct dst_entry *dst,
		  u16 id)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = path->sport;
	udp->dest = path->dport;
	udp->len = htons(skb->len);
	udp->check = 0;
	if (path->ipv4)
		ip_push_ipv4(skb, path, dst, id);
	else
		ip_push_ipv6(skb, path, dst);
}
WEFT_EXPORT_FOR_TEST(weft_ip_push);
