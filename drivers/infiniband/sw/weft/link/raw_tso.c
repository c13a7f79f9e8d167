// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The frames of a TSO are one socket buffer, as TCP itself makes it. So the net device cuts it, if
 * it can, or else the kernel does when the frames leave.
 */
#include "link/raw_tso.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mmzone.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "link/packet.h"
#include "link/raw_frame.h"
#include "object/dev.h"
#include "object/qp.h"

/* The offset of the TCP header in headers of @length bytes, or 0. @ip: offset of the IP header */
static u32 tso_tcp(const u8 *header, u32 length, u32 type, u32 ip)
{
	const struct ipv6hdr *v6 = (const void *)(header + ip);
	const struct iphdr *v4 = (const void *)(header + ip);

	switch (type) {
	case ETH_P_IP:
		if (ip + sizeof(*v4) > length || v4->version != 4 || v4->ihl < 5 ||
		    v4->protocol != IPPROTO_TCP ||
		    v4->frag_off & htons(IP_MF | IP_OFFSET))
			return 0;
		return ip + v4->ihl * 4;
	case ETH_P_IPV6:
		if (ip + sizeof(*v6) > length || v6->version != 6 || v6->nexthdr != IPPROTO_TCP)
			return 0;
		return ip + sizeof(*v6);
	default:
		return 0;
	}
}

/*
 * Are these the headers of Ethernet, perhaps VLANs, IPv4 (no fragment) or IPv6, and TCP, and
 * nothing else; and is the payload of a frame long enough for the kernel to cut?
 */
bool weft_raw_tso_valid(const struct weft_lso *lso)
{
	const struct tcphdr *th;
	u32 ip, tcp, type;

	if (lso->length < ETH_HLEN || lso->length > sizeof(lso->header) ||
	    lso->mss < WEFT_TSO_MIN_MSS)
		return false;
	type = weft_raw_frame_network(lso->header, lso->length, &ip);
	tcp = tso_tcp(lso->header, lso->length, type, ip);
	if (!tcp || tcp + sizeof(*th) > lso->length)
		return false;
	th = (const void *)(lso->header + tcp);
	return th->doff >= 5 && tcp + th->doff * 4 == lso->length;
}

/* The lengths of the whole, and the checksums as an adapter wants them that fills in the rest. */
static void tso_set_ip(struct sk_buff *skb, u32 tcp, bool v6)
{
	u32 length = skb->len - tcp;
	struct ipv6hdr *ip6 = ipv6_hdr(skb);
	struct tcphdr *th = tcp_hdr(skb);
	struct iphdr *ip = ip_hdr(skb);

	if (v6) {
		ip6->payload_len = htons(length);
		th->check = ~tcp_v6_check(length, &ip6->saddr, &ip6->daddr, 0);
	} else {
		ip->tot_len = htons(skb->len - skb_network_offset(skb));
		ip_send_check(ip);
		th->check = ~tcp_v4_check(length, ip->saddr, ip->daddr, 0);
	}
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
}

/* @skb begins with the headers of @lso, which are valid. */
static void tso_set_headers(struct sk_buff *skb, const struct weft_lso *lso)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 ip, type = weft_raw_frame_network(skb->data, lso->length, &ip);
	u32 tcp = tso_tcp(skb->data, lso->length, type, ip);
	bool v6 = type == ETH_P_IPV6;

	skb_reset_mac_header(skb);
	skb->protocol = eth_hdr(skb)->h_proto;
	skb_set_network_header(skb, ip);
	skb_set_transport_header(skb, tcp);
	tso_set_ip(skb, tcp, v6);
	if (skb->data_len <= lso->mss)
		return;
	shinfo->gso_size = lso->mss;
	shinfo->gso_segs = DIV_ROUND_UP(skb->data_len, lso->mss);
	shinfo->gso_type = v6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	/* only the first frame has CWR (RFC 3168) */
	if (tcp_hdr(skb)->cwr)
		shinfo->gso_type |= SKB_GSO_TCP_ECN;
}

/*
 * The payload is in weft_send.sgl, and has at most WEFT_TSO_MAX_LENGTH bytes; @lso is valid.
 * Returns NULL if there is no memory.
 */
struct sk_buff *weft_raw_tso_build(struct weft_qp *qp, const struct weft_lso *lso)
{
	struct net_device *ndev = qp->dev->ndev;
	u32 room = LL_RESERVED_SPACE(ndev), length = qp->send.sgl.length;
	struct weft_iter payload;
	struct sk_buff *skb;
	int i, error;

	/* without I/O, see raw_build() */
	skb = alloc_skb_with_frags(room + lso->length, length, PAGE_ALLOC_COSTLY_ORDER, &error,
				   GFP_NOIO | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_put_data(skb, lso->header, lso->length);
	skb->data_len = length;
	skb->len += length;
	weft_sgl_iter(&qp->send.sgl, &payload);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		weft_packet_copy(skb_frag_address(frag), &payload, skb_frag_size(frag));
	}
	skb->dev = ndev;
	tso_set_headers(skb, lso);
	return skb;
}
