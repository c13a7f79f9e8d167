// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A burst is a list of complete packets (fraglist GSO). The sender makes it, or GRO at the receiver
 * (link/gro.c), or the GRO of a router. Routing, firewall and queue handle it as one packet. It is
 * taken apart as late as possible: by the receiver if the net device is a virtual one, such as lo
 * or veth, otherwise on the way into the driver. That is cheap: each packet has its headers, of
 * which only the IP identification and length are written again. The identifications then count up
 * from the first packet's; the ICRC covers them, so the packets must have been built with these
 * identifications.
 *
 * UDP takes a list apart before it calls encap_rcv of a socket, unless the list is marked as one of
 * a UDP tunnel. Code that takes it apart on the way ignores that mark, because the packets are not
 * marked as encapsulated.
 */
#include "link/burst.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>

/* May weft_burst_add() add a packet that has @size bytes from the BTH to the ICRC? */
bool weft_burst_takes(const struct weft_burst *burst, u32 size)
{
	return !burst->head ||
	       (size <= burst->size && burst->length + size <= WEFT_BURST_MAX_LENGTH);
}
WEFT_EXPORT_FOR_TEST(weft_burst_takes);

static u32 burst_headers(const struct sk_buff *skb)
{
	return skb_transport_offset(skb) + sizeof(struct udphdr);
}

/*
 * Append a complete packet, from the IP header to the ICRC, which then belongs to the burst. All
 * but the first one have WEFT_BURST_HEADROOM in front.
 */
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
	/* a packet in the list begins behind its headers */
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

/*
 * Make a burst of the first packet, whose headers are complete, and those in its list. @whole: UDP
 * will not take it apart.
 */
void weft_burst_mark(struct sk_buff *skb, u32 packets, bool whole)
{
	struct skb_shared_info *shared = skb_shinfo(skb);

	shared->gso_type = SKB_GSO_UDP_L4 | SKB_GSO_FRAGLIST;
	if (whole)
		shared->gso_type |= SKB_GSO_UDP_TUNNEL;
	shared->gso_segs = packets;
	/*
	 * The packets have no UDP checksum, or it has been verified. This tells the kernel to
	 * neither compute nor verify one, also after tunnels on the way have each taken one level
	 * off. CHECKSUM_NONE would not do: a GSO packet may not leave with it.
	 */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->csum_level = SKB_MAX_CSUM_LEVEL;
}

/*
 * No more packets will come. @burst is not empty; @ndev is the route's net device. Returns the
 * buffer for IP.
 */
struct sk_buff *weft_burst_close(const struct weft_burst *burst,
				 const struct net_device *ndev)
{
	struct sk_buff *skb = burst->head;

	if (burst->packets == 1)
		return skb;
	skb_shinfo(skb)->gso_size = burst->size;
	/* a net device without this feature would take a marked list apart earlier */
	weft_burst_mark(skb, burst->packets, ndev->features & NETIF_F_GSO_UDP_TUNNEL);
	udp_hdr(skb)->len = cpu_to_be16(skb->len - skb_transport_offset(skb));
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_burst_close);

/* Does no other context (a packet tap, for example) share the buffer? */
static bool burst_is_own(const struct sk_buff *skb)
{
	return !skb_shared(skb) && !skb_cloned(skb);
}

/* Do all packets have headers, of the same length, that may be written? */
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

/* The headers of the first packet, as hops have changed them, and its metadata apply to all. */
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

/*
 * Take a received burst apart. @head is a list of packets (SKB_GSO_FRAGLIST), and its data begin
 * with the UDP header of the first packet. Returns true: @head is the first packet of a list
 * (&sk_buff.next), each from its UDP header on. Returns false, and nothing has changed: the kernel
 * has to do it, because others share the buffer, or a hop has changed it.
 */
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
