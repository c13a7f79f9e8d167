// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets of the fake link that arrive as one buffer, as from a net device with UDP's offload. */
#include "fake_bulk.h"

#include <linux/bottom_half.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <kunit/test.h>

#include "engine/rx.h"
#include "fake_link.h"
#include "link/roce_port.h"
#include "link/run.h"
#include "link/uso.h"

/* Packets of a buffer. */
#define BULK_PACKETS	24

/* An empty buffer for packets like @skb. */
static struct sk_buff *bulk_begin(struct fake_link *link, const struct sk_buff *skb)
{
	struct sk_buff *bulk = alloc_skb(sizeof(struct iphdr) + sizeof(struct udphdr), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(link->test, bulk);
	bulk->protocol = htons(ETH_P_IP);
	skb_reset_network_header(bulk);
	skb_put_data(bulk, ip_hdr(skb), sizeof(struct iphdr));
	__skb_pull(bulk, sizeof(struct iphdr));
	skb_reset_transport_header(bulk);
	skb_put_zero(bulk, sizeof(struct udphdr));
	skb_shinfo(bulk)->gso_size = skb->len;
	return bulk;
}

/*
 * Append a copy of a packet. A net device has put it into the page behind the others, or into one
 * of its own.
 */
static void bulk_add(struct fake_link *link, struct sk_buff *bulk, const struct sk_buff *skb)
{
	struct skb_shared_info *shared = skb_shinfo(bulk);
	u32 num = shared->nr_frags;
	skb_frag_t *last = num ? &shared->frags[num - 1] : NULL;
	u32 at = num ? skb_frag_off(last) + skb_frag_size(last) : FAKE_PAGE;
	struct page *page;

	if (at + skb->len <= FAKE_PAGE && (fake_random(link, 4) || num == MAX_SKB_FRAGS)) {
		page = skb_frag_page(last);
		skb_frag_size_add(last, skb->len);
		bulk->len += skb->len;
		bulk->data_len += skb->len;
	} else {
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(link->test, page);
		at = 0;
		skb_add_rx_frag(bulk, num, page, 0, skb->len, FAKE_PAGE);
	}
	skb_copy_bits(skb, 0, page_address(page) + at, skb->len);
}

/* May the next packet of the wire be in the buffer, too? */
static struct sk_buff *bulk_next(struct fake_link *link, const struct sk_buff *bulk)
{
	struct sk_buff *skb = skb_peek(&link->wire);

	if (!skb || ip_hdr(skb)->daddr != ip_hdr(bulk)->daddr ||
	    skb->len > skb_shinfo(bulk)->gso_size || skb_shinfo(bulk)->nr_frags == MAX_SKB_FRAGS)
		return NULL;
	return skb;
}

/* Make a buffer of @skb, which is freed, and of those behind it. Return: packets. */
static u32 bulk_collect(struct fake_link *link, struct sk_buff *bulk, struct sk_buff *skb)
{
	u32 length = skb->len, num = 1;

	bulk_add(link, bulk, skb);
	kfree_skb(skb);
	while (num < BULK_PACKETS && length == skb_shinfo(bulk)->gso_size) {
		skb = bulk_next(link, bulk);
		if (!skb)
			break;
		/* a shorter one is the last one */
		length = skb->len;
		bulk_add(link, bulk, skb);
		fake_link_drop(link, skb);
		num++;
	}
	return num;
}

static void bulk_decode(struct fake_node *node, struct sk_buff *skb, struct weft_pkt *pkt)
{
	weft_pkt_init(pkt, skb, &weft_port_roce, NULL, &node->dev);
	pkt->qp = node->qp;
	weft_pkt_decode(pkt);
}

static void bulk_deliver(struct fake_node *node, struct weft_pkt *pkt)
{
	weft_qp_hold(node->qp);
	weft_rx_deliver(pkt);
}

/*
 * Receive a packet, and its run, as link/udp.c does. On a wire that loses packets, another CPU may
 * receive the first packet, too, while the run is made, which is lost then.
 */
static u32 bulk_receive(struct fake_node *node, struct sk_buff *piece, struct weft_uso_cursor *at)
{
	struct fake_link *link = node->link;
	struct sk_buff *copy = NULL;
	struct weft_pkt pkt, first;
	u32 psns;

	__skb_pull(piece, sizeof(struct udphdr));
	if (link->faults.loss && !fake_random(link, 8))
		copy = skb_copy(piece, GFP_ATOMIC);
	bulk_decode(node, piece, &pkt);
	weft_run_extend(&pkt, at);
	psns = pkt.psns;
	if (copy) {
		bulk_decode(node, copy, &first);
		bulk_deliver(node, &first);
	}
	bulk_deliver(node, &pkt);
	return psns;
}

void fake_bulk_arrive(struct fake_node *node, struct sk_buff *skb, bool busy)
{
	struct sk_buff *bulk = bulk_begin(node->link, skb), *piece;
	u32 left = bulk_collect(node->link, bulk, skb);
	struct weft_uso_cursor at;
	bool send, recv;

	local_bh_disable();
	rcu_read_lock();
	send = busy && weft_turn_try(&node->qp->send.turn);
	recv = busy && weft_turn_try(&node->qp->recv.turn);
	KUNIT_EXPECT_TRUE(node->link->test, weft_uso_open(&at, bulk));
	while ((piece = weft_uso_next(&at)))
		left -= bulk_receive(node, piece, &at);
	weft_uso_end(&at);
	if (send)
		weft_turn_release(&node->qp->send.turn);
	if (recv)
		weft_turn_release(&node->qp->recv.turn);
	rcu_read_unlock();
	local_bh_enable();
	KUNIT_EXPECT_EQ(node->link->test, left, 0);
	kfree_skb(bulk);
}
