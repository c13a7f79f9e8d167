// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/monitor_sent.h"

#include <linux/ip.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "inet/ip.h"
#include "object/monitor.h"

static u32 sent_headers(const struct sk_buff *skb)
{
	return skb_transport_offset(skb) - skb_network_offset(skb) + sizeof(struct udphdr);
}

/*
 * Make the headers of a copy those of a packet on the wire: in a buffer with several packets the
 * lengths are those of all. @length: behind the UDP header
 */
static void sent_finish(struct sk_buff *copy, u32 headers, u32 length, u16 id)
{
	skb_set_transport_header(copy, headers - sizeof(struct udphdr));
	weft_ip_set_length(copy, length, id);
	if (copy->protocol == cpu_to_be16(ETH_P_IP))
		ip_send_check(ip_hdr(copy));
}

/* Copy one packet of a burst, or one that goes alone. @length: from the IP header on */
static void sent_hold(const struct weft_dev *dev, const struct sk_buff *skb, u32 length,
		      struct sk_buff_head *held)
{
	struct sk_buff *copy = weft_monitor_copy(dev, skb, length);
	u32 headers = sent_headers(skb);

	if (!copy)
		return;
	/* the snap length is more than any headers */
	BUILD_BUG_ON(ETH_MIN_MTU < sizeof(struct ipv6hdr) + sizeof(struct udphdr));
	sent_finish(copy, headers, length - headers, be16_to_cpu(ip_hdr(skb)->id));
	__skb_queue_tail(held, copy);
}

/*
 * Copy the piece of a USO buffer that begins @from bytes behind its UDP header, with the headers
 * that it will get. The net device computes the UDP checksum, so it is 0 here.
 */
static void sent_hold_piece(const struct weft_dev *dev, const struct sk_buff *skb, u32 from,
			    u32 length, u16 number, struct sk_buff_head *held)
{
	u32 headers = sent_headers(skb);
	struct sk_buff *copy = NULL;

	if (weft_monitor_snap(dev))
		copy = weft_monitor_alloc(dev, 0, headers + length);
	if (!copy)
		return;
	copy->protocol = skb->protocol;
	skb_reset_network_header(copy);
	memcpy(skb_put(copy, headers), skb_network_header(skb), headers);
	skb_copy_bits(skb, skb_transport_offset(skb) + sizeof(struct udphdr) + from,
		      skb_put(copy, length), length);
	sent_finish(copy, headers, length, be16_to_cpu(ip_hdr(skb)->id) + number);
	udp_hdr(copy)->check = 0;
	__skb_queue_tail(held, copy);
}

static void sent_hold_pieces(const struct weft_dev *dev, const struct sk_buff *skb,
			     struct sk_buff_head *held)
{
	u32 size = skb_shinfo(skb)->gso_size;
	u32 length = skb->len - skb_transport_offset(skb) - sizeof(struct udphdr), from;
	u16 number = 0;

	for (from = 0; from < length; from += size)
		sent_hold_piece(dev, skb, from, min(size, length - from), number++, held);
}

/*
 * Copy each packet of a buffer of link/roce.c, which is about to be sent, if the device has a
 * monitor. Bottom halves are off.
 */
void weft_monitor_hold(const struct weft_dev *dev, struct sk_buff *skb, struct sk_buff_head *held)
{
	struct sk_buff *next;

	if (skb_is_gso(skb) && !(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST)) {
		sent_hold_pieces(dev, skb, held);
		return;
	}
	/* the head's own bytes, without those of the list */
	sent_hold(dev, skb, skb_pagelen(skb) - skb_network_offset(skb), held);
	/* a packet in the list begins behind its headers */
	skb_walk_frags(skb, next)
		sent_hold(dev, next, next->len - skb_network_offset(next), held);
}

/* Show the copies if the packets have been @sent. */
void weft_monitor_release(const struct weft_dev *dev, struct sk_buff_head *held, bool sent)
{
	struct sk_buff *copy;

	while ((copy = __skb_dequeue(held))) {
		if (sent)
			weft_monitor_show(dev, copy, WEFT_MONITOR_SENT);
		else
			kfree_skb(copy);
	}
}
