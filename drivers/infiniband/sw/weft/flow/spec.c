// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The errors are those of mlx5: EOPNOTSUPP for a field or spec that cannot be matched, EINVAL for
 * specs that contradict each other. A second spec of a kind is EINVAL, too, where mlx5 forgets the
 * first.
 */
#include "flow/spec.h"

#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

/* Kinds of specs, bits of weft_flow_spec.specs; those of inner headers are SPEC_INNER higher. */
enum {
	SPEC_ETH	= 1 << 0,
	SPEC_IPV4	= 1 << 1,
	SPEC_IPV6	= 1 << 2,
	SPEC_PORTS	= 1 << 3,
	SPEC_MPLS	= 1 << 4,
	SPEC_INNER	= 8,
	SPEC_VXLAN	= 1 << 16,
	SPEC_GRE	= 1 << 17,
	SPEC_TAG	= 1 << 18,
	SPEC_DROP	= 1 << 19,
	SPEC_COUNT	= 1 << 20,
};

#define SPEC_MAX_TAG	0xffffffU

/* Where a spec of outer or inner headers goes. */
struct spec_layer {
	struct weft_flow_layer	*value;
	struct weft_flow_layer	*mask;
	int			shift;		/* of its kinds: 0 or SPEC_INNER */
};

/* Copies the bits of a field that count. */
static void spec_field(void *to_value, void *to_mask, const void *value, const void *mask,
		       size_t length)
{
	const u8 *from = value, *bits = mask;
	u8 *to = to_value;
	size_t i;

	for (i = 0; i < length; i++)
		to[i] = from[i] & bits[i];
	memcpy(to_mask, mask, length);
}

static void spec_put(const struct spec_layer *layer, size_t offset, const void *value,
		     const void *mask, size_t length)
{
	spec_field((u8 *)layer->value + offset, (u8 *)layer->mask + offset, value, mask, length);
}

#define spec_set(_layer, _member, _spec, _field)				\
	spec_put(_layer, offsetof(struct weft_flow_layer, _member),		\
		 &(_spec)->val._field, &(_spec)->mask._field,			\
		 sizeof((_spec)->val._field))

static void spec_has(const struct spec_layer *layer, u16 has)
{
	layer->value->has |= has;
	layer->mask->has |= has;
}

/* A spec wants a certain protocol; another one may have said which. */
static int spec_protocol(const struct spec_layer *layer, u8 protocol, u8 mask)
{
	u8 both = layer->mask->protocol & mask;

	if ((layer->value->protocol ^ protocol) & both)
		return -EINVAL;
	layer->value->protocol |= protocol & mask;
	layer->mask->protocol |= mask;
	return 0;
}

static int spec_eth(const struct spec_layer *layer, const struct ib_flow_spec_eth *eth)
{
	spec_set(layer, dst_mac, eth, dst_mac);
	spec_set(layer, src_mac, eth, src_mac);
	spec_set(layer, ether_type, eth, ether_type);
	spec_set(layer, vlan_tag, eth, vlan_tag);
	spec_has(layer, eth->mask.vlan_tag ? WEFT_FLOW_ETH | WEFT_FLOW_VLAN : WEFT_FLOW_ETH);
	return 0;
}

static int spec_ipv4(const struct spec_layer *layer, const struct ib_flow_spec_ipv4 *ipv4)
{
	if (ipv4->mask.ttl || ipv4->mask.flags)
		return -EOPNOTSUPP;
	spec_set(layer, src_ip, ipv4, src_ip);
	spec_set(layer, dst_ip, ipv4, dst_ip);
	spec_set(layer, tos, ipv4, tos);
	spec_has(layer, WEFT_FLOW_IPV4);
	return spec_protocol(layer, ipv4->val.proto, ipv4->mask.proto);
}

static int spec_ipv6(const struct spec_layer *layer, const struct ib_flow_spec_ipv6 *ipv6)
{
	if (ipv6->mask.hop_limit)
		return -EOPNOTSUPP;
	spec_set(layer, src_ip, ipv6, src_ip);
	spec_set(layer, dst_ip, ipv6, dst_ip);
	spec_set(layer, flow_label, ipv6, flow_label);
	spec_set(layer, tos, ipv6, traffic_class);
	spec_has(layer, WEFT_FLOW_IPV6);
	return spec_protocol(layer, ipv6->val.next_hdr, ipv6->mask.next_hdr);
}

static int spec_ports(const struct spec_layer *layer, const struct ib_flow_spec_tcp_udp *ports,
		      bool tcp)
{
	spec_set(layer, src_port, ports, src_port);
	spec_set(layer, dst_port, ports, dst_port);
	spec_has(layer, tcp ? WEFT_FLOW_TCP : WEFT_FLOW_UDP);
	return spec_protocol(layer, tcp ? IPPROTO_TCP : IPPROTO_UDP, 0xff);
}

/*
 * The place of this spec among the others says where the label stack is: behind UDP or GRE, or else
 * behind Ethernet.
 */
static int spec_mpls(struct weft_flow_spec *spec, const struct spec_layer *layer,
		     const struct ib_flow_spec_mpls *mpls)
{
	u16 behind = layer->shift ? 0 : layer->value->has & (WEFT_FLOW_UDP | WEFT_FLOW_GRE);

	if (!behind) {
		spec_set(layer, mpls, mpls, tag);
		spec_has(layer, WEFT_FLOW_MPLS);
		return 0;
	}
	spec_field(&spec->value.tunnel_mpls, &spec->mask.tunnel_mpls, &mpls->val.tag,
		   &mpls->mask.tag, sizeof(spec->value.tunnel_mpls));
	spec_has(layer, behind & WEFT_FLOW_GRE ? WEFT_FLOW_MPLS_GRE : WEFT_FLOW_MPLS_UDP);
	return 0;
}

static int spec_vxlan(struct weft_flow_spec *spec, const struct ib_flow_spec_tunnel *tunnel)
{
	spec_field(&spec->value.vni, &spec->mask.vni, &tunnel->val.tunnel_id,
		   &tunnel->mask.tunnel_id, sizeof(spec->value.vni));
	spec->value.outer.has |= WEFT_FLOW_VXLAN;
	spec->mask.outer.has |= WEFT_FLOW_VXLAN;
	return 0;
}

static int spec_gre(struct weft_flow_spec *spec, const struct ib_flow_spec_gre *gre)
{
	const struct spec_layer outer = { &spec->value.outer, &spec->mask.outer, 0 };

	if (gre->mask.c_ks_res0_ver)
		return -EOPNOTSUPP;
	spec_field(&spec->value.gre_protocol, &spec->mask.gre_protocol, &gre->val.protocol,
		   &gre->mask.protocol, sizeof(spec->value.gre_protocol));
	spec_field(&spec->value.gre_key, &spec->mask.gre_key, &gre->val.key, &gre->mask.key,
		   sizeof(spec->value.gre_key));
	spec_has(&outer, WEFT_FLOW_GRE);
	return spec_protocol(&outer, IPPROTO_GRE, 0xff);
}

static int spec_tag(struct weft_flow_spec *spec, const struct ib_flow_spec_action_tag *tag)
{
	if (tag->tag_id > SPEC_MAX_TAG)
		return -EINVAL;
	spec->tag = tag->tag_id;
	spec->tagged = true;
	return 0;
}

static int spec_read_headers(struct weft_flow_spec *spec, const struct spec_layer *layer,
			     const union ib_flow_spec *from)
{
	switch ((u32)from->type & ~IB_FLOW_SPEC_INNER) {
	case IB_FLOW_SPEC_ETH:
		return spec_eth(layer, &from->eth);
	case IB_FLOW_SPEC_IPV4:
		return spec_ipv4(layer, &from->ipv4);
	case IB_FLOW_SPEC_IPV6:
		return spec_ipv6(layer, &from->ipv6);
	case IB_FLOW_SPEC_MPLS:
		return spec_mpls(spec, layer, &from->mpls);
	default:
		return spec_ports(layer, &from->tcp_udp,
				  (from->type & ~IB_FLOW_SPEC_INNER) == IB_FLOW_SPEC_TCP);
	}
}

static int spec_read_other(struct weft_flow_spec *spec, const union ib_flow_spec *from)
{
	switch ((u32)from->type) {
	case IB_FLOW_SPEC_VXLAN_TUNNEL:
		return spec_vxlan(spec, &from->tunnel);
	case IB_FLOW_SPEC_GRE:
		return spec_gre(spec, &from->gre);
	case IB_FLOW_SPEC_ACTION_TAG:
		return spec_tag(spec, &from->flow_tag);
	case IB_FLOW_SPEC_ACTION_COUNT:
		spec->counters = from->flow_count.counters;
		return 0;
	default:
		spec->drop = true;
		return 0;
	}
}

/* Returns the bit of weft_flow_spec.specs; 0: not supported. */
static u32 spec_kind(u32 type)
{
	switch (type & ~IB_FLOW_SPEC_INNER) {
	case IB_FLOW_SPEC_ETH:
		return SPEC_ETH;
	case IB_FLOW_SPEC_IPV4:
		return SPEC_IPV4;
	case IB_FLOW_SPEC_IPV6:
		return SPEC_IPV6;
	case IB_FLOW_SPEC_TCP:
	case IB_FLOW_SPEC_UDP:
		return SPEC_PORTS;
	case IB_FLOW_SPEC_MPLS:
		return SPEC_MPLS;
	default:
		break;
	}
	switch (type) {
	case IB_FLOW_SPEC_VXLAN_TUNNEL:
		return SPEC_VXLAN;
	case IB_FLOW_SPEC_GRE:
		return SPEC_GRE;
	case IB_FLOW_SPEC_ACTION_TAG:
		return SPEC_TAG;
	case IB_FLOW_SPEC_ACTION_DROP:
		return SPEC_DROP;
	case IB_FLOW_SPEC_ACTION_COUNT:
		return SPEC_COUNT;
	default:
		return 0;
	}
}

static int spec_read(struct weft_flow_spec *spec, const union ib_flow_spec *from)
{
	bool inner = from->type & IB_FLOW_SPEC_INNER;
	const struct spec_layer layer = {
		.value = inner ? &spec->value.inner : &spec->value.outer,
		.mask = inner ? &spec->mask.inner : &spec->mask.outer,
		.shift = inner ? SPEC_INNER : 0,
	};
	u32 kind = spec_kind(from->type);

	if (!kind)
		return -EOPNOTSUPP;
	if (spec->specs & kind << layer.shift)
		return -EINVAL;
	spec->specs |= kind << layer.shift;
	if (kind < SPEC_VXLAN)
		return spec_read_headers(spec, &layer, from);
	return spec_read_other(spec, from);
}

static bool spec_is_mpls(__be16 type)
{
	return type == htons(ETH_P_MPLS_UC) || type == htons(ETH_P_MPLS_MC);
}

/*
 * An IP spec wants an EtherType, which a spec of Ethernet may contradict. The packet may also be
 * behind labels.
 */
static int spec_check_layer(const struct spec_layer *layer)
{
	u16 has = layer->value->has;
	__be16 type;

	if (!(has & (WEFT_FLOW_IPV4 | WEFT_FLOW_IPV6)))
		return 0;
	if ((has & (WEFT_FLOW_IPV4 | WEFT_FLOW_IPV6)) == (WEFT_FLOW_IPV4 | WEFT_FLOW_IPV6))
		return -EINVAL;
	if (spec_is_mpls(layer->value->ether_type))
		return 0;
	type = htons(has & WEFT_FLOW_IPV4 ? ETH_P_IP : ETH_P_IPV6);
	return (layer->value->ether_type ^ type) & layer->mask->ether_type ? -EINVAL : 0;
}

/*
 * Read all specs of @attr, which the core has checked: their sizes are right, and together they are
 * as long as it says. Returns 0, -EINVAL, or -EOPNOTSUPP.
 */
int weft_flow_spec_read(struct weft_flow_spec *spec, const struct ib_flow_attr *attr)
{
	const struct spec_layer outer = { &spec->value.outer, &spec->mask.outer, 0 };
	const struct spec_layer inner = { &spec->value.inner, &spec->mask.inner, SPEC_INNER };
	const void *at = attr->flows;
	int i, ret;

	memset(spec, 0, sizeof(*spec));
	spec->tag = WEFT_FLOW_NO_TAG;
	for (i = 0; i < attr->num_of_specs; i++) {
		const union ib_flow_spec *from = at;

		ret = spec_read(spec, from);
		if (ret)
			return ret;
		at += from->size;
	}
	return spec_check_layer(&outer) ?: spec_check_layer(&inner);
}
WEFT_EXPORT_FOR_TEST(weft_flow_spec_read);

/*
 * Can only multicast frames match, by the destination address of Ethernet, or, without a spec for
 * that, of IPv4?
 */
bool weft_flow_spec_is_multicast(const struct weft_flow_spec *spec)
{
	const struct weft_flow_layer *mask = &spec->mask.outer, *value = &spec->value.outer;

	if (spec->specs & SPEC_ETH)
		return is_multicast_ether_addr(mask->dst_mac) &&
		       is_multicast_ether_addr(value->dst_mac);
	/* the mask has at least the four bits that all groups have in common */
	return spec->specs & SPEC_IPV4 && ipv4_is_multicast(value->dst_ip[0]) &&
	       (mask->dst_ip[0] & htonl(0xf0000000)) == htonl(0xf0000000);
}

/*
 * Restrict a rule to the IPoIB datagrams that are sent to the QP @qpn. No other QP than @owner can
 * have the same rule. Returns false if the rule has specs that no such datagram has, or actions.
 */
bool weft_flow_spec_of_qp(struct weft_flow_spec *spec, u32 qpn, u32 owner)
{
	if (spec->specs & ~(SPEC_IPV4 | SPEC_IPV6 | SPEC_PORTS))
		return false;
	spec->value.qpn = cpu_to_be32(qpn);
	spec->mask.qpn = htonl(0xffffff);
	spec->owner = owner;
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_flow_spec_of_qp);
