// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From the bytes of a frame to its key.
 *
 * The key ignores checksums and the lengths in headers: a frame is steered by the fields that it
 * has, as hardware steers it. A frame that has been cut short has no header from there on.
 */
#include "flow/key.h"

#include <linux/build_bug.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/string.h>
#include <linux/udp.h>
#include <net/ip.h>

#define KEY_VXLAN_PORT		4789
#define KEY_MPLS_PORT		6635	/* RFC 7510 */

/* A datagram of IPoIB begins with an EtherType and two reserved bytes (RFC 4391). */
#define KEY_IPOIB_HEADER	4

#define KEY_GRE_CSUM		0x8000
#define KEY_GRE_ROUTING		0x4000
#define KEY_GRE_KEY		0x2000
#define KEY_GRE_SEQ		0x1000
#define KEY_GRE_VERSION		0x0007

/* Bottom of the stack, in the third byte of an entry (RFC 3032). */
#define KEY_MPLS_BOTTOM		0x01

/* Tags of a frame, labels, and extension headers of a packet, that are walked. */
#define KEY_MAX_TAGS		4
#define KEY_MAX_LABELS		8
#define KEY_MAX_EXTENSIONS	8

/* The bytes that have not been looked at. */
struct key_cursor {
	const u8	*at;
	u32		left;
	/* the last IP header, or what should be one, and its EtherType */
	const u8	*ip;
	u16		ip_type;
};

static const void *key_take(struct key_cursor *cursor, u32 length)
{
	const u8 *at = cursor->at;

	if (length > cursor->left)
		return NULL;
	cursor->at += length;
	cursor->left -= length;
	return at;
}

static __be16 key_be16(const u8 *at)
{
	__be16 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static __be32 key_be32(const u8 *at)
{
	__be32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static u16 key_host16(const u8 *at)
{
	return be16_to_cpu(key_be16(at));
}

/* Returns the EtherType behind all tags, or 0. */
static u16 key_ethernet(struct weft_flow_layer *layer, struct key_cursor *cursor)
{
	const u8 *at = key_take(cursor, ETH_HLEN);
	__be16 type;
	int tags;

	if (!at)
		return 0;
	layer->has |= WEFT_FLOW_ETH;
	memcpy(layer->dst_mac, at, ETH_ALEN);
	memcpy(layer->src_mac, at + ETH_ALEN, ETH_ALEN);
	type = key_be16(at + 2 * ETH_ALEN);
	for (tags = 0; tags < KEY_MAX_TAGS && eth_type_vlan(type); tags++) {
		at = key_take(cursor, VLAN_HLEN);
		if (!at)
			return 0;
		if (!tags && type == htons(ETH_P_8021Q)) {
			layer->has |= WEFT_FLOW_VLAN;
			layer->vlan_tag = key_be16(at);
		}
		type = key_be16(at + sizeof(__be16));
	}
	layer->ether_type = type;
	return be16_to_cpu(type);
}

/*
 * Walks a label stack, whose first entry goes to @first and sets @bit. Returns the EtherType of the
 * IP packet behind it, or 0.
 */
static u16 key_mpls(struct weft_flow_layer *layer, u16 bit, __be32 *first,
		    struct key_cursor *cursor)
{
	const u8 *at;
	int i;

	for (i = 0; i < KEY_MAX_LABELS; i++) {
		at = key_take(cursor, sizeof(*first));
		if (!at)
			return 0;
		if (!i) {
			layer->has |= bit;
			*first = key_be32(at);
		}
		if (at[2] & KEY_MPLS_BOTTOM)
			break;
	}
	/* nothing says what follows but the version of IP */
	if (i == KEY_MAX_LABELS || !cursor->left)
		return 0;
	return cursor->at[0] >> 4 == 4 ? ETH_P_IP : cursor->at[0] >> 4 == 6 ? ETH_P_IPV6 : 0;
}

static bool key_is_mpls(u16 type)
{
	return type == ETH_P_MPLS_UC || type == ETH_P_MPLS_MC;
}

static bool key_ipv4(struct weft_flow_layer *layer, struct key_cursor *cursor)
{
	const u8 *at = key_take(cursor, sizeof(struct iphdr));
	u32 options;

	if (!at || at[0] >> 4 != 4 || (at[0] & 15) * 4 < sizeof(struct iphdr))
		return false;
	layer->has |= WEFT_FLOW_IPV4;
	layer->src_ip[0] = key_be32(at + offsetof(struct iphdr, saddr));
	layer->dst_ip[0] = key_be32(at + offsetof(struct iphdr, daddr));
	layer->tos = at[offsetof(struct iphdr, tos)];
	layer->protocol = at[offsetof(struct iphdr, protocol)];
	options = (at[0] & 15) * 4 - sizeof(struct iphdr);
	/* only the first fragment has the headers that follow */
	return !(key_host16(at + offsetof(struct iphdr, frag_off)) & IP_OFFSET) &&
	       key_take(cursor, options);
}

/* Returns false if no transport header follows, because the packet is a later fragment. */
static bool key_extensions(struct weft_flow_layer *layer, struct key_cursor *cursor)
{
	const u8 *at;
	u32 more;
	int i;

	for (i = 0; i < KEY_MAX_EXTENSIONS; i++) {
		if (layer->protocol != NEXTHDR_HOP && layer->protocol != NEXTHDR_ROUTING &&
		    layer->protocol != NEXTHDR_DEST && layer->protocol != NEXTHDR_FRAGMENT &&
		    layer->protocol != NEXTHDR_AUTH)
			return true;
		at = key_take(cursor, 8);
		if (!at)
			return false;
		more = layer->protocol == NEXTHDR_FRAGMENT ? 0 :
		       layer->protocol == NEXTHDR_AUTH ? at[1] * 4 : at[1] * 8;
		if (layer->protocol == NEXTHDR_FRAGMENT && key_host16(at + 2) & ~7) {
			layer->protocol = at[0];
			return false;
		}
		layer->protocol = at[0];
		if (!key_take(cursor, more))
			return false;
	}
	return false;
}

static bool key_ipv6(struct weft_flow_layer *layer, struct key_cursor *cursor)
{
	const u8 *at = key_take(cursor, sizeof(struct ipv6hdr));

	if (!at || at[0] >> 4 != 6)
		return false;
	layer->has |= WEFT_FLOW_IPV6;
	layer->flow_label = key_be32(at) & htonl(0xfffff);
	layer->tos = key_host16(at) >> 4;
	layer->protocol = at[offsetof(struct ipv6hdr, nexthdr)];
	memcpy(layer->src_ip, at + offsetof(struct ipv6hdr, saddr), sizeof(layer->src_ip));
	memcpy(layer->dst_ip, at + offsetof(struct ipv6hdr, daddr), sizeof(layer->dst_ip));
	return key_extensions(layer, cursor);
}

/* Finds the ports or the SPI, and skips the header of UDP, because a tunnel may follow. */
static void key_transport(struct weft_flow_layer *layer, struct key_cursor *cursor)
{
	const u8 *at;

	if (layer->protocol != IPPROTO_TCP && layer->protocol != IPPROTO_UDP &&
	    layer->protocol != IPPROTO_ESP)
		return;
	at = key_take(cursor, 2 * sizeof(__be16));
	if (!at)
		return;
	layer->has |= layer->protocol == IPPROTO_TCP ? WEFT_FLOW_TCP :
		      layer->protocol == IPPROTO_UDP ? WEFT_FLOW_UDP : WEFT_FLOW_ESP;
	layer->src_port = key_be16(at);
	layer->dst_port = key_be16(at + sizeof(__be16));
	key_take(cursor, sizeof(struct udphdr) - 2 * sizeof(__be16));
}

/* @type: an EtherType. Returns whether the cursor is behind the IP header. */
static bool key_ip(struct weft_flow_layer *layer, u16 type, struct key_cursor *cursor)
{
	bool found;

	if (key_is_mpls(type))
		type = key_mpls(layer, WEFT_FLOW_MPLS, &layer->mpls, cursor);
	cursor->ip = cursor->at;
	cursor->ip_type = type;
	found = (type == ETH_P_IP && key_ipv4(layer, cursor)) ||
		(type == ETH_P_IPV6 && key_ipv6(layer, cursor));
	if (found)
		key_transport(layer, cursor);
	return found;
}

static void key_inner_frame(struct weft_flow_key *key, struct key_cursor *cursor)
{
	key_ip(&key->inner, key_ethernet(&key->inner, cursor), cursor);
}

static void key_vxlan(struct weft_flow_key *key, struct key_cursor *cursor)
{
	const u8 *at = key_take(cursor, 8);

	if (!at)
		return;
	key->outer.has |= WEFT_FLOW_VXLAN;
	key->vni = cpu_to_be32(be32_to_cpu(key_be32(at + 4)) >> 8);
	key_inner_frame(key, cursor);
}

static void key_tunnel_mpls(struct weft_flow_key *key, u16 bit, struct key_cursor *cursor)
{
	key_ip(&key->inner, key_mpls(&key->outer, bit, &key->tunnel_mpls, cursor), cursor);
}

static void key_gre(struct weft_flow_key *key, struct key_cursor *cursor)
{
	const u8 *at = key_take(cursor, 4);
	u16 flags;

	if (!at)
		return;
	flags = key_host16(at);
	if (flags & (KEY_GRE_VERSION | KEY_GRE_ROUTING))
		return;
	key->outer.has |= WEFT_FLOW_GRE;
	key->gre_protocol = key_be16(at + 2);
	if (flags & KEY_GRE_CSUM && !key_take(cursor, 4))
		return;
	if (flags & KEY_GRE_KEY) {
		at = key_take(cursor, 4);
		if (!at)
			return;
		key->gre_key = key_be32(at);
	}
	if (flags & KEY_GRE_SEQ && !key_take(cursor, 4))
		return;
	if (key->gre_protocol == htons(ETH_P_TEB)) {
		key_inner_frame(key, cursor);
		return;
	}
	key->inner.ether_type = key->gre_protocol;
	if (key_is_mpls(be16_to_cpu(key->gre_protocol)))
		key_tunnel_mpls(key, WEFT_FLOW_MPLS_GRE, cursor);
	else
		key_ip(&key->inner, be16_to_cpu(key->gre_protocol), cursor);
}

static void key_frame(struct weft_flow_key *key, struct key_cursor *cursor)
{
	/* not memset(), which the compiler does not inline here */
	*key = (struct weft_flow_key){};
	if (!key_ip(&key->outer, key_ethernet(&key->outer, cursor), cursor))
		return;
	if (key->outer.has & WEFT_FLOW_UDP && key->outer.dst_port == htons(KEY_VXLAN_PORT))
		key_vxlan(key, cursor);
	else if (key->outer.has & WEFT_FLOW_UDP && key->outer.dst_port == htons(KEY_MPLS_PORT))
		key_tunnel_mpls(key, WEFT_FLOW_MPLS_UDP, cursor);
	else if (key->outer.protocol == IPPROTO_GRE)
		key_gre(key, cursor);
}

/* @frame begins with the destination MAC; a tag that was taken out has been put back. */
void weft_flow_parse(struct weft_flow_key *key, const void *frame, u32 length)
{
	struct key_cursor cursor = { .at = frame, .left = length };

	BUILD_BUG_ON(sizeof(struct weft_flow_layer) != 64);
	BUILD_BUG_ON(sizeof(*key) != 2 * sizeof(struct weft_flow_layer) + 16);
	key_frame(key, &cursor);
}
WEFT_EXPORT_FOR_TEST(weft_flow_parse);

/*
 * The offset of the IP header in a tunnel of VXLAN, GRE or MPLS, and its EtherType in @type; 0: the
 * frame has no tunnel with an IP packet.
 */
u32 weft_flow_find_inner(const void *frame, u32 length, u16 *type)
{
	struct key_cursor cursor = { .at = frame, .left = length };
	struct weft_flow_key key __uninitialized;

	key_frame(&key, &cursor);
	*type = cursor.ip_type;
	return key.inner.has & (WEFT_FLOW_IPV4 | WEFT_FLOW_IPV6) ?
	       cursor.ip - (const u8 *)frame : 0;
}

/* @payload: that of a datagram to the QP @qpn. Tunnels in it are not looked into. */
void weft_flow_parse_ipoib(struct weft_flow_key *key, u32 qpn, const void *payload, u32 length)
{
	struct key_cursor cursor = { .at = payload, .left = length };
	const u8 *at = key_take(&cursor, KEY_IPOIB_HEADER);

	*key = (struct weft_flow_key){ .qpn = cpu_to_be32(qpn) };
	if (at)
		key_ip(&key->outer, key_host16(at), &cursor);
}
WEFT_EXPORT_FOR_TEST(weft_flow_parse_ipoib);
