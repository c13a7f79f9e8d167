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

/* Go to the fragment that has the next byte; the cursor is not before the first one. */
static const skb_frag_t *uso_fragment(struct weft_uso_cursor *at)
{
	const struct skb_shared_info *shared = skb_shinfo(at->skb);

	while (at->offset - at->start >= skb_frag_size(&shared->frags[at->fragment]))
		at->start += skb_frag_size(&shared->frags[at->fragment++]);
	return &shared->frags[at->fragment];
}

/* Refer to @length bytes of the fragments from the cursor on, and advance it. */
static bool uso_refer(struct weft_uso_cursor *at, struct sk_buff *piece, u32 length)
{
	const skb_frag_t *frag;
	u32 from, part;

	for (; length; length -= part) {
		frag = uso_fragment(at);
		from = at->offset - at->start;
		/* the memory of a device has no pages */
		if (!skb_frag_page(frag))
			return false;
		part = min(length, skb_frag_size(frag) - from);
		get_page(skb_frag_page(frag));
		skb_add_rx_frag(piece, skb_shinfo(piece)->nr_frags, skb_frag_page(frag),
				skb_frag_off(frag) + from, part, part);
		at->offset += part;
	}
	return true;
}

/* Copy @length bytes, and advance the cursor. */
static bool uso_copy(struct weft_uso_cursor *at, void *to, u32 length)
{
	const skb_frag_t *frag;
	u32 from;

	if (likely(at->offset >= at->start && length)) {
		frag = uso_fragment(at);
		from = at->offset - at->start;
		if (likely(skb_frag_page(frag) && length <= skb_frag_size(frag) - from)) {
			memcpy(to, skb_frag_address(frag) + from, length);
			at->offset += length;
			return true;
		}
	}
	if (skb_copy_bits(at->skb, at->offset, to, length))
		return false;
	at->offset += length;
	return true;
}

/* Bytes of the headers of IP and UDP. */
static u32 uso_front(const struct weft_uso_cursor *at)
{
	return skb_network_header_len(at->skb) + sizeof(struct udphdr);
}

/* Bytes of the next packet that are in no fragment. */
static u32 uso_outside(const struct weft_uso_cursor *at, u32 size)
{
	return at->start > at->offset ? min(at->start - at->offset, size) : 0;
}

/* A buffer for the headers of IP and UDP, which are in it, and @linear bytes. */
static struct sk_buff *uso_alloc(struct weft_uso_cursor *at, u32 linear)
{
	struct sk_buff *piece = weft_packet_alloc(uso_front(at) + linear);

	if (!piece)
		return NULL;
	memcpy(skb_put(piece, uso_front(at)), skb_network_header(at->skb), uso_front(at));
	skb_reset_network_header(piece);
	skb_set_transport_header(piece, skb_network_header_len(at->skb));
	piece->protocol = at->skb->protocol;
	piece->dev = at->skb->dev;
	at->truesize = piece->truesize;
	return piece;
}

/*
 * The buffer of the last packet once more, as uso_alloc() returns it; NULL: it is in use, or has
 * less than @linear bytes.
 */
static struct sk_buff *uso_recycle(struct weft_uso_cursor *at, u32 linear)
{
	struct sk_buff *piece = at->piece;
	struct skb_shared_info *shared;

	if (!piece || refcount_read(&piece->users) != 1 || skb_cloned(piece))
		return NULL;
	/* as in skb_unref(): all that others have done with it is done */
	smp_rmb();
	shared = skb_shinfo(piece);
	while (shared->nr_frags)
		put_page(skb_frag_page(&shared->frags[--shared->nr_frags]));
	piece->data = skb_network_header(piece);
	piece->len = 0;
	piece->data_len = 0;
	piece->truesize = at->truesize;
	skb_reset_tail_pointer(piece);
	if (skb_tailroom(piece) < uso_front(at) + linear)
		return NULL;
	skb_put(piece, uso_front(at));
	return piece;
}

/*
 * Copy the headers of the next packet, which has @size bytes behind its UDP header. A process may
 * change them in the pages meanwhile, so that how long they are depends on the copy.
 */
static bool uso_copy_headers(struct weft_uso_cursor *at, struct sk_buff *piece, u32 size)
{
	u32 length = min_t(u32, size, sizeof(struct weft_wire_bth)), all = uso_outside(at, size);
	const u8 *bth = skb_tail_pointer(piece);

	if (!uso_copy(at, skb_put(piece, length), length))
		return false;
	if (length < size)
		all = max_t(u32, all, min_t(u32, size, weft_opcode(*bth)->length));
	return all <= length || uso_copy(at, skb_put(piece, all - length), all - length);
}

/* Make the next packet of @piece. */
static bool uso_fill(struct weft_uso_cursor *at, struct sk_buff *piece, u32 size)
{
	const struct sk_buff *skb = at->skb;
	u16 id = skb->protocol == htons(ETH_P_IP) ? be16_to_cpu(ip_hdr(skb)->id) : 0;
	u32 end = at->offset + size;

	weft_ip_set_length(piece, size, id + at->number);
	memcpy(piece->cb, skb->cb, sizeof(piece->cb));
	__skb_pull(piece, skb_network_header_len(skb));
	return uso_copy_headers(at, piece, size) && uso_refer(at, piece, end - at->offset);
}

/*
 * Begin to take a received buffer apart, whose data begin with the UDP header, and whose packets
 * are those that a net device would have made of it. Return: false: the kernel has to do it.
 */
bool weft_uso_open(struct weft_uso_cursor *at, const struct sk_buff *skb)
{
	*at = (struct weft_uso_cursor){
		.skb = skb,
		.offset = sizeof(struct udphdr),
		.start = skb_headlen(skb),
	};
	return !skb_has_frag_list(skb) && !skb->encapsulation && at->start >= at->offset;
}
WEFT_EXPORT_FOR_TEST(weft_uso_open);

/*
 * The next packet, from its UDP header on, which the caller frees; NULL: there is none, or no
 * memory, and then weft_uso_is_done() is false. Most packets are processed at once, and their
 * buffer is used again for the next one: so the cursor has a reference to it. So the packet is
 * shared, and must not be expanded; all its headers are in one piece. Soft interrupt.
 */
struct sk_buff *weft_uso_next(struct weft_uso_cursor *at)
{
	u32 size = min_t(u32, skb_shinfo(at->skb)->gso_size, at->skb->len - at->offset);
	u32 linear = max_t(u32, WEFT_HDR_MAX_LENGTH, uso_outside(at, size));
	struct sk_buff *piece;

	if (!size)
		return NULL;
	piece = uso_recycle(at, linear);
	if (!piece) {
		weft_uso_end(at);
		piece = uso_alloc(at, linear);
		at->piece = piece;
	}
	if (!piece || !uso_fill(at, piece, size))
		return NULL;
	at->number++;
	return skb_get(piece);
}
WEFT_EXPORT_FOR_TEST(weft_uso_next);

/*
 * The next packet, from its BTH on, without taking it, if it is as long as the others and in one
 * fragment; otherwise NULL.
 */
const u8 *weft_uso_peek(struct weft_uso_cursor *at, u32 *size)
{
	const struct sk_buff *skb = at->skb;
	const skb_frag_t *frag;
	u32 from;

	*size = skb_shinfo(skb)->gso_size;
	if (at->offset < at->start || skb->len - at->offset < *size)
		return NULL;
	frag = uso_fragment(at);
	from = at->offset - at->start;
	if (!skb_frag_page(frag) || *size > skb_frag_size(frag) - from)
		return NULL;
	return skb_frag_address(frag) + from;
}
WEFT_EXPORT_FOR_TEST(weft_uso_peek);

/*
 * Let the packet that weft_uso_peek() has returned continue the last one: that loses its last @cut
 * bytes, and gets what is behind the first @skip bytes of the next one. Return: false: it has no
 * room, and nothing has changed.
 */
bool weft_uso_append(struct weft_uso_cursor *at, u32 cut, u32 skip)
{
	u32 size = skb_shinfo(at->skb)->gso_size - skip;
	const skb_frag_t *frag = uso_fragment(at);
	struct sk_buff *piece = at->piece;
	u32 num = skb_shinfo(piece)->nr_frags;
	skb_frag_t *last;

	if (!num || num == MAX_SKB_FRAGS)
		return false;
	last = &skb_shinfo(piece)->frags[num - 1];
	if (skb_frag_size(last) <= cut)
		return false;
	skb_frag_size_sub(last, cut);
	piece->len -= cut;
	piece->data_len -= cut;
	get_page(skb_frag_page(frag));
	skb_add_rx_frag(piece, num, skb_frag_page(frag),
			skb_frag_off(frag) + at->offset - at->start + skip, size, size);
	at->offset += size + skip;
	at->number++;
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_uso_append);

/* No more packets are asked for. */
void weft_uso_end(struct weft_uso_cursor *at)
{
	if (at->piece)
		napi_consume_skb(at->piece, 1);
	at->piece = NULL;
}
WEFT_EXPORT_FOR_TEST(weft_uso_end);
