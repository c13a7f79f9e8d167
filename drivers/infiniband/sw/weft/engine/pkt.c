// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/pkt.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/ipv6.h>

#include "fabric/port.h"
#include "wire/headers.h"

static void pkt_ip_addresses(struct weft_pkt *pkt)
{
	const struct iphdr *ip = ip_hdr(pkt->skb);
	const struct ipv6hdr *ip6 = ipv6_hdr(pkt->skb);

	pkt->grh = true;
	if (ip->version == 4) {
		pkt->network = RDMA_NETWORK_IPV4;
		pkt->ifindex = 0;
		ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)pkt->sgid.raw);
		ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)pkt->dgid.raw);
	} else {
		pkt->network = RDMA_NETWORK_IPV6;
		pkt->ifindex = inet6_iif(pkt->skb);
		memcpy(&pkt->sgid, &ip6->saddr, sizeof(pkt->sgid));
		memcpy(&pkt->dgid, &ip6->daddr, sizeof(pkt->dgid));
	}
}

static const struct weft_wire_grh *pkt_wire_grh(const struct weft_pkt *pkt)
{
	return (const void *)skb_network_header(pkt->skb) + sizeof(struct weft_wire_lrh);
}

/* The link has looked at both headers. */
static void pkt_ib_addresses(struct weft_pkt *pkt)
{
	pkt->network = RDMA_NETWORK_IB;
	pkt->ifindex = 0;
	weft_lrh_decode(&pkt->lrh, skb_network_header(pkt->skb), WEFT_LRH_LENGTH_MAX);
	pkt->grh = pkt->lrh.lnh == WEFT_LNH_GRH;
	if (!pkt->grh) {
		pkt->sgid = zgid;
		pkt->dgid = zgid;
		return;
	}
	memcpy(&pkt->sgid, pkt_wire_grh(pkt)->sgid, sizeof(pkt->sgid));
	memcpy(&pkt->dgid, pkt_wire_grh(pkt)->dgid, sizeof(pkt->dgid));
}

void weft_pkt_addresses(struct weft_pkt *pkt)
{
	if (pkt->skb->protocol == htons(WEFT_IB_ETHERTYPE))
		pkt_ib_addresses(pkt);
	else
		pkt_ip_addresses(pkt);
}

void weft_pkt_decode(struct weft_pkt *pkt)
{
	const struct sk_buff *skb = pkt->skb;

	weft_pkt_addresses(pkt);
	/* without an ICRC it has no header, which is too short */
	pkt->malformed = weft_hdr_decode(&pkt->hdr, skb->data,
					 max_t(int, skb->len - WEFT_ICRC_LENGTH, 0));
}
WEFT_EXPORT_FOR_TEST(weft_pkt_decode);

static void pkt_add_span(struct weft_payload_spans *spans, const void *at,
			 u32 length)
{
	spans->span[spans->num++] = (struct weft_span){
		.addr = (uintptr_t)at, .length = length,
	};
}

void weft_pkt_payload(const struct weft_pkt *pkt, struct weft_payload_spans *spans,
		      struct weft_iter *iter)
{
	const struct sk_buff *skb = pkt->skb;
	u32 skip = pkt->hdr.length, left = pkt->hdr.payload, length;
	const skb_frag_t *frag;
	int i;

	spans->num = 0;
	if (skip < skb_headlen(skb)) {
		length = min(left, skb_headlen(skb) - skip);
		pkt_add_span(spans, skb->data + skip, length);
		left -= length;
		skip = skb_headlen(skb);
	}
	skip -= skb_headlen(skb);
	for (i = 0; left && i < skb_shinfo(skb)->nr_frags; i++) {
		frag = &skb_shinfo(skb)->frags[i];
		if (skip >= skb_frag_size(frag)) {
			skip -= skb_frag_size(frag);
			continue;
		}
		length = min(left, skb_frag_size(frag) - skip);
		pkt_add_span(spans, skb_frag_address(frag) + skip, length);
		left -= length;
		skip = 0;
	}
	iter->span = spans->span;
	iter->left = spans->num;
	iter->offset = 0;
}

void weft_pkt_grh(const struct weft_pkt *pkt, u8 grh[WEFT_GRH_BYTES])
{
	const struct sk_buff *skb = pkt->skb;

	if (!pkt->grh) {
		memset(grh, 0, WEFT_GRH_BYTES);
	} else if (pkt->network == RDMA_NETWORK_IB) {
		memcpy(grh, pkt_wire_grh(pkt), WEFT_GRH_BYTES);
	} else if (pkt->network == RDMA_NETWORK_IPV4) {
		memset(grh, 0, WEFT_GRH_BYTES - sizeof(struct iphdr));
		memcpy(grh + WEFT_GRH_BYTES - sizeof(struct iphdr), ip_hdr(skb),
		       sizeof(struct iphdr));
	} else {
		memcpy(grh, ipv6_hdr(skb), sizeof(struct ipv6hdr));
	}
}

void weft_pkt_defer(struct weft_pkt *pkt, struct sk_buff_head *queue)
{
	/* what IP has cached of it is not there any more when we look again */
	skb_dst_drop(pkt->skb);
	skb_queue_tail(queue, pkt->skb);
}

void weft_pkt_undo(struct weft_pkt *pkt, struct sk_buff_head *queue)
{
	skb_dst_drop(pkt->skb);
	skb_queue_head(queue, pkt->skb);
}

static bool pkt_again(struct sk_buff *skb, struct weft_pkt *pkt)
{
	if (!skb)
		return false;
	weft_pkt_init(pkt, skb, NULL, NULL);
	weft_pkt_decode(pkt);
	return true;
}

bool weft_pkt_peek(struct sk_buff_head *queue, struct weft_pkt *pkt)
{
	struct sk_buff *skb;
	unsigned long flags;

	/* for what is in the packet: its pointer could be read without */
	spin_lock_irqsave(&queue->lock, flags);
	skb = skb_peek(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	return pkt_again(skb, pkt);
}

bool weft_pkt_next(struct sk_buff_head *queue, struct weft_pkt *pkt)
{
	return !skb_queue_empty_lockless(queue) && pkt_again(skb_dequeue(queue), pkt);
}
