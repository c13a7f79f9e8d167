// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A list of complete packets (fraglist GSO, as GRO makes them of packets that a
 * router forwards). Routing tables, firewall and queue see one packet. Taken apart it
 * is as late as can be: by the receiver where the net device is a virtual one, such as
 * lo or veth, else on the way into the driver. That costs little: each packet has its
 * headers, of which only the identification and the length of IP are written anew. The
 * identifications are counted up from the first one's, so that the others have to have
 * those that follow.
 *
 * A socket with encap_rcv gets no list but one that says that it is of a UDP tunnel: UDP
 * takes others apart before. For who takes them apart on the way that means nothing, as
 * the packets are not marked as encapsulated.
 */
#include "link/burst.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

/* What the length of an IPv4 packet can say, of that of a tunnel, too. */
#define BURST_MAX_LENGTH	(65535U - WEFT_BURST_HEADROOM)

bool weft_burst_takes(const struct weft_burst *burst, u32 size)
{
	return !burst->head ||
	       (size <= burst->size && burst->length + size <= BURST_MAX_LENGTH);
}
WEFT_EXPORT_FOR_TEST(weft_burst_takes);

static u32 burst_headers(const struct sk_buff *skb)
{
	return skb_transport_offset(skb) + sizeof(struct udphdr);
}

void weft_burst_add(struct weft_burst *burst, struct sk_buff *skb)
{
	struct sk_buff *head = burst->head;

	burst->packets++;
	if (!head) {
		burst->head = skb;
		burst->last = skb;
		burst->length = skb->len;
		burst->size = skb->len - burst_headers(skb);
		return;
	}
	/* in a list a packet begins behind its headers */
	__skb_pull(skb, burst_headers(skb));
	burst->length += skb->len;
	if (burst->last == head)
		skb_shinfo(head)->frag_list = skb;
	else
		burst->last->next = skb;
	burst->last = skb;
	head->len += skb->len;
	head->data_len += skb->len;
	head->truesize += skb->truesize;
}
WEFT_EXPORT_FOR_TEST(weft_burst_add);

struct sk_buff *weft_burst_close(const struct weft_burst *burst,
				 const struct net_device *ndev)
{
	struct skb_shared_info *shared = skb_shinfo(burst->head);
	struct sk_buff *skb = burst->head;

	if (burst->packets == 1)
		return skb;
	shared->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	/* any other one would take it apart sooner */
	if (ndev->features & NETIF_F_GSO_UDP_TUNNEL)
		shared->gso_type |= SKB_GSO_UDP_TUNNEL;
	shared->gso_size = burst->size;
	shared->gso_segs = burst->packets;
	/*
	 * There is none, so nothing is to be done about it; nor when each tunnel on the way has
	 * taken one level away. Without any it would be none that a burst may leave with.
	 */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = SKB_MAX_CSUM_LEVEL;
	udp_hdr(skb)->len = cpu_to_be16(skb->len - skb_transport_offset(skb));
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_burst_close);

/* Nobody else has it, as who looks at all packets does. */
static bool burst_is_own(const struct sk_buff *skb)
{
	return !skb_shared(skb) && !skb_cloned(skb);
}

/* All headers are there, of one length, and may be written. */
static bool burst_opens(const struct sk_buff *head)
{
	int headers = skb_network_header_len(head) + sizeof(struct udphdr);
	const struct sk_buff *skb;

	if (head->encapsulation || !skb_has_frag_list(head) || !burst_is_own(head))
		return false;
	skb_walk_frags(head, skb)
		if (!burst_is_own(skb) || skb_network_offset(skb) != -headers)
			return false;
	return true;
}

static void burst_set_length(struct sk_buff *skb)
{
	if (ip_hdr(skb)->version == 4)
		ip_hdr(skb)->tot_len = cpu_to_be16(skb_network_header_len(skb) + skb->len);
	else
		ipv6_hdr(skb)->payload_len = cpu_to_be16(skb->len);
	udp_hdr(skb)->len = cpu_to_be16(skb->len);
}

/* What the way has made of the first one's headers, and is known of it, goes for all. */
static void burst_follow(struct sk_buff *skb, const struct sk_buff *head, u16 number)
{
	skb_push(skb, sizeof(struct udphdr));
	memcpy(skb_network_header(skb), skb_network_header(head),
	       skb_network_header_len(head) + sizeof(struct udphdr));
	if (ip_hdr(skb)->version == 4)
		be16_add_cpu(&ip_hdr(skb)->id, number);
	burst_set_length(skb);
	memcpy(skb->cb, head->cb, sizeof(skb->cb));
	skb->protocol = head->protocol;
	skb->dev = head->dev;
}

bool weft_burst_open(struct sk_buff *head)
{
	struct sk_buff *list, *skb;
	u16 number = 0;

	if (!burst_opens(head))
		return false;
	list = skb_shinfo(head)->frag_list;
	skb_shinfo(head)->frag_list = NULL;
	skb_gso_reset(head);
	for (skb = list; skb; skb = skb->next) {
		head->len -= skb->len;
		head->data_len -= skb->len;
		head->truesize -= skb->truesize;
		burst_follow(skb, head, ++number);
	}
	burst_set_length(head);
	head->next = list;
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_burst_open);
