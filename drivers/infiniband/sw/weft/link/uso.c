// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * UDP segmentation offload (USO) cuts the payload of one large datagram into pieces of one length,
 * of which only the last may be shorter, and puts the headers of the large one in front of each. To
 * UDP the BTH and the ICRC are payload. So if they lie in the buffer where they will be in the
 * pieces, the pieces are packets of RoCE: consecutive packets of a message, except that a first
 * one with an RETH or AETH is longer than the next ones.
 *
 * Each piece of IPv4 gets an identification one higher than the piece before, and its ICRC covers
 * that. So count the kernel (inet_gso_segment()), and the adapters whose drivers offer USO. A
 * first piece is right in any case, so even a device that does not count makes some progress, and
 * what is sent again does not use USO.
 *
 * UDP segmentation wants a UDP checksum. The net device completes it, and the ICRC does not cover
 * it.
 */
#include "link/uso.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip6_checksum.h>
#include <net/udp.h>

#include "inet/ip.h"
#include "link/burst.h"
#include "link/packet.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/* A fragment is as long as the packets that fit, one at least: 64 KiB take less than 17. */
#define USO_FRAGMENT		SZ_8K

/*
 * Does a net device do better with USO than with a list of packets? A virtual one may pass either
 * whole, and then a list is cheaper, as its receiver need not make the packets again. Without
 * checksums the kernel would compute one over each packet.
 */
bool weft_uso_fits(const struct net_device *ndev, bool ipv4)
{
	netdev_features_t sums = NETIF_F_HW_CSUM | (ipv4 ? NETIF_F_IP_CSUM : NETIF_F_IPV6_CSUM);
	netdev_features_t features = READ_ONCE(ndev->features);

	return features & NETIF_F_GSO_UDP_L4 && features & NETIF_F_SG && features & sums &&
	       !(features & NETIF_F_GSO_FRAGLIST);
}

/* Is there room for one more packet? */
static bool uso_takes(const struct weft_uso *uso, const struct net_device *ndev, u32 size)
{
	u32 length = uso->skb->len + size;

	if (!uso->packets)
		return true;
	return !uso->ended && size <= uso->size && length <= 65535U - WEFT_BURST_HEADROOM &&
	       length < READ_ONCE(ndev->gso_max_size) &&
	       uso->packets < min_t(u32, UDP_MAX_SEGMENTS, READ_ONCE(ndev->gso_max_segs)) &&
	       (size <= uso->room || skb_shinfo(uso->skb)->nr_frags < MAX_SKB_FRAGS);
}

static bool uso_grow(struct weft_uso *uso, u32 size, u32 left)
{
	u32 length = size * clamp_t(u32, USO_FRAGMENT / size, 1, left);
	struct sk_buff *skb = uso->skb;

	uso->at = weft_packet_fragment(length);
	if (!uso->at)
		return false;
	uso->room = length;
	skb_fill_page_desc(skb, skb_shinfo(skb)->nr_frags, virt_to_page(uso->at),
			   offset_in_page(uso->at), 0);
	skb->truesize += length;
	return true;
}

/*
 * The place for one more packet of @size bytes, from the BTH to the ICRC. @left: packets that the
 * caller still has, this one included. Bottom halves are off. NULL: there is no room or no memory.
 */
void *weft_uso_add(struct weft_uso *uso, const struct net_device *ndev, u32 size, u32 left)
{
	struct sk_buff *skb = uso->skb;
	void *at;

	if (!uso_takes(uso, ndev, size) || (size > uso->room && !uso_grow(uso, size, left)))
		return NULL;
	at = uso->at;
	uso->at += size;
	uso->room -= size;
	skb_frag_size_add(&skb_shinfo(skb)->frags[skb_shinfo(skb)->nr_frags - 1], size);
	skb->len += size;
	skb->data_len += size;
	if (!uso->packets)
		uso->size = size;
	uso->ended = size < uso->size;
	uso->packets++;
	return at;
}
WEFT_EXPORT_FOR_TEST(weft_uso_add);

/* No more packets will come. @id: identification of the first one, for IPv4. */
void weft_uso_close(struct weft_uso *uso, u16 id)
{
	struct sk_buff *skb = uso->skb;
	struct udphdr *udp = udp_hdr(skb);
	u32 length = skb->len - skb_transport_offset(skb);

	udp->len = cpu_to_be16(length);
	if (skb->protocol == cpu_to_be16(ETH_P_IP))
		ip_hdr(skb)->id = cpu_to_be16(id);
	if (uso->packets == 1)
		return;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb_shinfo(skb)->gso_size = uso->size;
	skb_shinfo(skb)->gso_segs = uso->packets;
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (skb->protocol == cpu_to_be16(ETH_P_IP))
		udp->check = ~udp_v4_check(length, ip_hdr(skb)->saddr, ip_hdr(skb)->daddr, 0);
	else
		udp->check = ~udp_v6_check(length, &ipv6_hdr(skb)->saddr, &ipv6_hdr(skb)->daddr, 0);
}
WEFT_EXPORT_FOR_TEST(weft_uso_close);

/* Where the next piece is, when a received buffer is taken apart. */
struct uso_cursor {
	const struct sk_buff	*skb;
	u32			offset;		/* from the UDP header */
	u32			fragment;	/* the fragment that it is in, or will be */
	u32			start;		/* where that begins, from the UDP header */
};

/* Refer to @length bytes of the fragments from the cursor on, and advance it. */
static bool uso_refer(struct uso_cursor *at, struct sk_buff *piece, u32 length)
{
	const struct skb_shared_info *shared = skb_shinfo(at->skb);
	const skb_frag_t *frag;
	u32 from, part;

	while (length) {
		frag = &shared->frags[at->fragment];
		from = at->offset - at->start;
		if (from >= skb_frag_size(frag)) {
			at->start += skb_frag_size(frag);
			at->fragment++;
			continue;
		}
		/* the memory of a device has no pages */
		if (skb_shinfo(piece)->nr_frags == MAX_SKB_FRAGS || !skb_frag_page(frag))
			return false;
		part = min(length, skb_frag_size(frag) - from);
		get_page(skb_frag_page(frag));
		skb_add_rx_frag(piece, skb_shinfo(piece)->nr_frags, skb_frag_page(frag),
				skb_frag_off(frag) + from, part, part);
		at->offset += part;
		length -= part;
	}
	return true;
}

/* Bytes of a packet of @size bytes at @offset that have to be in one piece: all headers. */
static u32 uso_linear(const struct sk_buff *skb, u32 offset, u32 size)
{
	u32 length = sizeof(struct weft_wire_bth);
	u8 opcode;

	if (size >= length && !skb_copy_bits(skb, offset, &opcode, sizeof(opcode)))
		length = max_t(u32, length, weft_opcode(opcode)->length);
	/* the bytes outside of fragments are copied, too */
	if (skb_headlen(skb) > offset)
		length = max(length, skb_headlen(skb) - offset);
	return min(length, size);
}

/* Packet @number, with @size bytes behind its UDP header. NULL: no memory, or too many pieces. */
static struct sk_buff *uso_piece(struct uso_cursor *at, u32 size, u32 number)
{
	const struct sk_buff *skb = at->skb;
	u32 linear = uso_linear(skb, at->offset, size);
	u32 front = skb_network_header_len(skb) + sizeof(struct udphdr);
	struct sk_buff *piece = weft_packet_alloc(front + linear);

	if (!piece)
		return NULL;
	memcpy(skb_put(piece, front), skb_network_header(skb), front);
	skb_reset_network_header(piece);
	__skb_pull(piece, front - sizeof(struct udphdr));
	skb_reset_transport_header(piece);
	piece->protocol = skb->protocol;
	weft_ip_set_length(piece, size, number + (skb->protocol == htons(ETH_P_IP) ?
						  be16_to_cpu(ip_hdr(skb)->id) : 0));
	memcpy(piece->cb, skb->cb, sizeof(piece->cb));
	piece->dev = skb->dev;
	if (skb_copy_bits(skb, at->offset, skb_put(piece, linear), linear))
		goto failed;
	at->offset += linear;
	if (uso_refer(at, piece, size - linear))
		return piece;
failed:
	kfree_skb(piece);
	return NULL;
}

/*
 * Take a received buffer apart, whose data begin with the UDP header, and whose packets are those
 * that a net device would have made of it. Returns the packets as a list (&sk_buff.next), each from
 * its UDP header on, and the buffer is gone; or NULL, and nothing has changed: the kernel has to do
 * it. Bottom halves are off.
 */
struct sk_buff *weft_uso_open(struct sk_buff *skb)
{
	u32 size = skb_shinfo(skb)->gso_size, number;
	struct uso_cursor at = { .skb = skb, .offset = sizeof(struct udphdr),
				 .start = skb_headlen(skb) };
	struct sk_buff *list = NULL, **end = &list;

	if (skb_has_frag_list(skb) || skb->encapsulation || at.start < at.offset)
		return NULL;
	for (number = 0; at.offset < skb->len; number++) {
		*end = uso_piece(&at, min(size, skb->len - at.offset), number);
		if (!*end) {
			kfree_skb_list(list);
			return NULL;
		}
		end = &(*end)->next;
	}
	consume_skb(skb);
	return list;
}
WEFT_EXPORT_FOR_TEST(weft_uso_open);
