// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A buffer that a sender on this host, or in another guest, has left to segmentation offload
 * (link/uso.c) may arrive as it is: veth and tap cut nothing up. Unless it is marked as one of a
 * UDP tunnel, UDP takes it apart before it calls encap_rcv. The sender cannot mark it, as drivers
 * would look for a packet inside of it. So netfilter, which sees what is for this host just before
 * UDP does, marks it here. Without netfilter in the kernel UDP takes these buffers apart.
 */
#include "link/hook.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#ifdef CONFIG_NETFILTER
/* UDP on IP without options or extension headers, to the port of RoCEv2? */
static bool hook_wants(struct sk_buff *skb, u8 pf)
{
	u32 network = pf == NFPROTO_IPV4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u8 protocol = pf == NFPROTO_IPV4 ? ip_hdr(skb)->protocol : ipv6_hdr(skb)->nexthdr;

	return protocol == IPPROTO_UDP && skb_network_header_len(skb) == network &&
	       pskb_may_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr)) &&
	       udp_hdr(skb)->dest == htons(ROCE_V2_UDP_DPORT);
}

static unsigned int hook_local_in(void *priv, struct sk_buff *skb,
				  const struct nf_hook_state *state)
{
	if (unlikely(skb_is_gso(skb)) &&
	    (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4) && hook_wants(skb, state->pf))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL;
	return NF_ACCEPT;
}

static const struct nf_hook_ops hook_ops[] = {
	{
		.hook = hook_local_in,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP_PRI_LAST,
	},
	{
		.hook = hook_local_in,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_IN,
		.priority = NF_IP6_PRI_LAST,
	},
};

/* Returns 0 or -ENOMEM. May sleep. */
int weft_hook_open(struct net *net)
{
	return nf_register_net_hooks(net, hook_ops, ARRAY_SIZE(hook_ops));
}

/* Undo weft_hook_open(). May sleep. */
void weft_hook_close(struct net *net)
{
	nf_unregister_net_hooks(net, hook_ops, ARRAY_SIZE(hook_ops));
}
#else
int weft_hook_open(struct net *net)
{
	return 0;
}

void weft_hook_close(struct net *net)
{
}
#endif
