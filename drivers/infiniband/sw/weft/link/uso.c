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

#include "link/burst.h"
#include "link/packet.h"

/* A fragment is as long as the packets that fit, one at least: 64 KiB take less than 17. */
#define USO_FRAGMENT		(2 * PAGE_SIZE)

/*
 * Does a net device do better with USO than with a list of packets? A virtual one may pass either
 * whole, but only lists reach the receiver's UDP socket whole. Without checksums the kernel would
 * compute one over each packet.
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
