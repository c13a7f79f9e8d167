// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The stack moves the tag of a VLAN out of the frame, makes one long packet of many frames (GRO),
 * or leaves checksums to an adapter that the packet never reaches. All that is undone here, in
 * copies: the stack may still get the original.
 */
#include "link/raw_frame.h"

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
/* has the header of __skb_gso_segment(), which has moved */
#include <net/udp.h>

#include "engine/ipcsum.h"
#include "flow/key.h"

/* Its headers are not in one piece. */
static noinline void frame_key_copied(struct weft_flow_key *key, const struct sk_buff *skb,
				      u32 mac, u32 length)
{
	u8 copy[VLAN_HLEN + WEFT_FLOW_HEADERS];
	struct vlan_hdr *tag;

	if (skb_copy_bits(skb, -(int)mac, copy + VLAN_HLEN, length))
		length = 0;
	if (!skb_vlan_tag_present(skb) || length < ETH_HLEN) {
		weft_flow_parse(key, copy + VLAN_HLEN, length);
		return;
	}
	/* the type of the tag takes the place of the EtherType, which follows the tag */
	memmove(copy, copy + VLAN_HLEN, 2 * ETH_ALEN);
	*(__be16 *)(copy + 2 * ETH_ALEN) = skb->vlan_proto;
	tag = (struct vlan_hdr *)(copy + ETH_HLEN);
	tag->h_vlan_TCI = htons(skb_vlan_tag_get(skb));
	weft_flow_parse(key, copy, length + VLAN_HLEN);
}

/* @skb has @mac bytes of header in front of its data. It is not changed. */
void weft_raw_frame_key(struct weft_flow_key *key, const struct sk_buff *skb, u32 mac)
{
	u32 length = min(skb->len + mac, WEFT_FLOW_HEADERS);

	if (!skb_vlan_tag_present(skb) && skb_headlen(skb) + mac >= length)
		weft_flow_parse(key, skb->data - mac, length);
	else
		frame_key_copied(key, skb, mac, length);
}

/*
 * The EtherType behind the tags of a frame of at least ETH_HLEN bytes, and in @offset where that
 * header begins.
 */
u16 weft_raw_frame_network(const void *frame, u32 length, u32 *offset)
{
	__be16 type = ((const struct ethhdr *)frame)->h_proto;

	*offset = ETH_HLEN;
	while (eth_type_vlan(type) && *offset + VLAN_HLEN <= length) {
		type = ((const struct vlan_hdr *)(frame + *offset))->h_vlan_encapsulated_proto;
		*offset += VLAN_HLEN;
	}
	return ntohs(type);
}

/* Are the checksums of IPv4, and of TCP or UDP, right? @skb is linear. */
static bool frame_verify(const struct sk_buff *skb)
{
	u32 offset, type = weft_raw_frame_network(skb->data, skb->len, &offset);

	return type == ETH_P_IP &&
	       weft_ipcsum_verify_linear(skb->data + offset - WEFT_IPCSUM_ENCAP, type,
					 skb->len - offset + WEFT_IPCSUM_ENCAP);
}

/*
 * The same of a frame of weft_raw_frames() for a QP that looks into tunnels: if the frame has one,
 * are the checksums of the packet in it right, and those of the headers in front of it?
 */
bool weft_raw_frame_inner_csum_ok(const struct sk_buff *skb)
{
	u32 headers = min(skb->len, WEFT_FLOW_HEADERS), outer, inner, type;
	u16 inner_type;

	inner = weft_flow_find_inner(skb->data, headers, &inner_type);
	if (!inner)
		return weft_raw_frame_csum_ok(skb);
	type = weft_raw_frame_network(skb->data, skb->len, &outer);
	return inner_type == ETH_P_IP &&
	       weft_ipcsum_verify_tunnel(skb->data + outer - WEFT_IPCSUM_ENCAP, type,
					 skb->len - outer + WEFT_IPCSUM_ENCAP) &&
	       weft_ipcsum_verify_linear(skb->data + inner - WEFT_IPCSUM_ENCAP, inner_type,
					 skb->len - inner + WEFT_IPCSUM_ENCAP);
}

/* Is that all that frame_finish() would do? */
static bool frame_is_finished(const struct sk_buff *skb)
{
	return !skb_vlan_tag_present(skb) && !skb_is_gso(skb) &&
	       skb->ip_summed != CHECKSUM_PARTIAL && !skb_is_nonlinear(skb) && !skb->next;
}

/* One frame: fill in what was left to an adapter, and make it linear. */
static bool frame_finish(struct sk_buff *skb)
{
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb))
		return false;
	if (skb_linearize(skb))
		return false;
	skb->cb[0] = frame_verify(skb);
	return true;
}

/* Frees those of a list that cannot be finished. */
static struct sk_buff *frame_finish_all(struct sk_buff *list)
{
	struct sk_buff *done = NULL, **end = &done, *skb, *next;

	skb_list_walk_safe(list, skb, next) {
		skb_mark_not_on_list(skb);
		if (!frame_finish(skb)) {
			kfree_skb(skb);
			continue;
		}
		*end = skb;
		end = &skb->next;
	}
	return done;
}

/* Takes an aggregate apart. @skb begins with its Ethernet header, and is freed. */
static struct sk_buff *frame_segment(struct sk_buff *skb)
{
	struct sk_buff *list;

	/* the segmentation writes to the headers, which the stack still has */
	if (skb_cow_head(skb, 0)) {
		kfree_skb(skb);
		return NULL;
	}
	/* others would be reported as an error of an adapter's driver */
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb_reset_mac_header(skb);
	/* no offload: each frame has its checksums and is in one piece */
	list = __skb_gso_segment(skb, 0, false);
	if (IS_ERR(list)) {
		kfree_skb(skb);
		return NULL;
	}
	if (!list)
		return skb;
	consume_skb(skb);
	return list;
}

/*
 * Make the list of frames that @skb stands for, as they are on a wire. @skb has @mac bytes of
 * header in front of its data. Returns NULL if there is no memory. Undone by
 * weft_raw_frames_free(). Or it is @skb itself, which begins with that header now; skb_pull()
 * undoes that.
 */
struct sk_buff *weft_raw_frames(struct sk_buff *skb, u32 mac)
{
	struct sk_buff *frame;

	/* only of a frame that arrives are the control block and the place in lists free */
	if (mac && frame_is_finished(skb)) {
		skb_push(skb, mac);
		skb->cb[0] = frame_verify(skb);
		return skb;
	}
	frame = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!frame)
		return NULL;
	skb_push(frame, mac);
	if (skb_vlan_tag_present(frame))
		frame = __vlan_hwaccel_push_inside(frame);
	if (frame && skb_is_gso(frame))
		frame = frame_segment(frame);
	return frame ? frame_finish_all(frame) : NULL;
}

/* consume_skb(), because tools that watch for drops must not see these. */
void weft_raw_frames_free(struct sk_buff *list)
{
	struct sk_buff *skb, *next;

	skb_list_walk_safe(list, skb, next) {
		skb_mark_not_on_list(skb);
		consume_skb(skb);
	}
}
