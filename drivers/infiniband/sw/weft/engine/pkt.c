// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/pkt.h"

#include <linux/ipv6.h>
#include <net/ip.h>

#include "engine/port.h"
#include "object/backlog.h"
#include "params.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/**
 * struct pkt_cb - the control buffer of a packet that is kept
 * @ip: IP's own control buffer, which has the net device an IPv6 packet came by
 * @net: namespace it arrived in
 * @port: the kind of port it came by
 * @psn: its PSN
 * @psns: as in &struct weft_pkt
 * @counted: as in &struct weft_pkt
 * @ce: WEFT_CE_RULE; WEFT_CE_MARKED is in its IP header
 * @refused: it is WEFT_MALFORMED_INJECTED
 * @syndrome: as in &struct weft_pkt
 */
struct pkt_cb {
	union {
		struct inet_skb_parm	v4;
		struct inet6_skb_parm	v6;
	} ip;
	const struct net		*net;
	const struct weft_port_ops	*port;
	u32				psn : 24;
	u32				psns : 8;
	bool				counted;
	u8				ce;
	bool				refused;
	u8				syndrome;
};

static struct pkt_cb *pkt_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pkt_cb) > sizeof(skb->cb));
	return (struct pkt_cb *)skb->cb;
}

/*
 * Decode the headers, and find the addresses (valid even if @malformed is set). In linear memory
 * are the network header without options, and WEFT_HDR_MAX_LENGTH bytes of data, or all there are.
 */
void weft_pkt_decode(struct weft_pkt *pkt)
{
	const struct sk_buff *skb = pkt->skb;

	pkt->port->addresses(pkt);
	/* a packet shorter than an ICRC is decoded as one without headers, which is malformed */
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

/* Find the payload. @iter is then at its first byte, and valid as long as @pkt and @spans. */
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
WEFT_EXPORT_FOR_TEST(weft_pkt_payload);

/*
 * Prepare a packet for weft_pkt_again(). By then the route that IP has cached in it may be gone.
 */
void weft_pkt_keep(struct weft_pkt *pkt)
{
	skb_dst_drop(pkt->skb);
	pkt_cb(pkt->skb)->net = pkt->net;
	pkt_cb(pkt->skb)->port = pkt->port;
	pkt_cb(pkt->skb)->psn = pkt->hdr.psn;
	pkt_cb(pkt->skb)->psns = pkt->psns;
	pkt_cb(pkt->skb)->counted = pkt->counted;
	pkt_cb(pkt->skb)->ce = pkt->ce & WEFT_CE_RULE;
	pkt_cb(pkt->skb)->refused = pkt->malformed == WEFT_MALFORMED_INJECTED;
	pkt_cb(pkt->skb)->syndrome = pkt->syndrome;
}
WEFT_EXPORT_FOR_TEST(weft_pkt_keep);

/* The PSN of a packet that weft_pkt_keep() was called for. */
u32 weft_pkt_kept_psn(struct sk_buff *skb)
{
	return pkt_cb(skb)->psn;
}

/* Is such a packet an acknowledge, that is, does it take no PSN of its own? */
bool weft_pkt_kept_is_ack(const struct sk_buff *skb)
{
	return weft_opcode(skb->data[0])->kind == WEFT_KIND_ACK;
}

/*
 * Put a packet at the end of a backlog, to be decoded again later. The backlog then owns its
 * memory. False: it has no room.
 */
bool weft_pkt_defer(struct weft_pkt *pkt, struct weft_backlog *backlog)
{
	weft_pkt_keep(pkt);
	return weft_backlog_add(backlog, pkt->skb);
}

/*
 * Put a packet that cannot be processed yet at the head of a backlog, whose turn is owned. It came
 * from weft_pkt_next(), or found the backlog empty. There is no limit, so it is never lost.
 */
void weft_pkt_undo(struct weft_pkt *pkt, struct weft_backlog *backlog)
{
	weft_pkt_keep(pkt);
	weft_backlog_push(backlog, pkt->skb);
}

/* Decode @skb, which is from weft_pkt_keep(), again. */
void weft_pkt_again(struct sk_buff *skb, struct weft_pkt *pkt)
{
	weft_pkt_init(pkt, skb, pkt_cb(skb)->port, pkt_cb(skb)->net, NULL);
	pkt->psns = pkt_cb(skb)->psns;
	pkt->counted = pkt_cb(skb)->counted;
	weft_pkt_decode(pkt);
	pkt->ce |= pkt_cb(skb)->ce;
	if (unlikely(pkt_cb(skb)->refused))
		weft_pkt_refuse(pkt, pkt_cb(skb)->syndrome);
}
WEFT_EXPORT_FOR_TEST(weft_pkt_again);

/*
 * weft_pkt_next() without taking the packet out of the backlog, which keeps the memory. The turn is
 * owned.
 */
bool weft_pkt_peek(struct weft_backlog *backlog, struct weft_pkt *pkt)
{
	struct sk_buff *skb;
	unsigned long flags;

	/*
	 * the lock is not for the pointer but for the packet's contents, which another CPU has
	 * written
	 */
	spin_lock_irqsave(&backlog->queue.lock, flags);
	skb = skb_peek(&backlog->queue);
	spin_unlock_irqrestore(&backlog->queue.lock, flags);
	if (skb)
		weft_pkt_again(skb, pkt);
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_pkt_peek);

/*
 * Take the first packet out of a backlog and decode it; its dev and qp are NULL. False: it is
 * empty.
 */
bool weft_pkt_next(struct weft_backlog *backlog, struct weft_pkt *pkt)
{
	struct sk_buff *skb;

	if (weft_backlog_is_empty(backlog))
		return false;
	skb = weft_backlog_take(backlog);
	if (skb)
		weft_pkt_again(skb, pkt);
	return skb;
}
