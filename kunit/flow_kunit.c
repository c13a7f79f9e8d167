// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow/: random rules and random frames. The oracle knows nothing of keys, masks and hashes: it
 * compares each spec of each rule with the fields that the frame was made of.
 */
#include <kunit/test.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "flow/table.h"
#include "fuzz.h"

#define FLOW_SEED	0x1ee7f10eU
/* rounds of random rules */
#define FLOW_ROUNDS	60U
#define FLOW_RULES	24
#define FLOW_FRAMES	60
/* values of each field that rules and frames choose from */
#define FLOW_CHOICES	3

/* The fields of a frame. */
struct flow_fields {
	u8	dst_mac, src_mac;	/* last byte */
	bool	tagged;
	u16	vlan_tag;
	u16	type;			/* ETH_P_IP, ETH_P_IPV6, ETH_P_ARP */
	u8	src_ip, dst_ip;		/* last byte */
	u8	label;			/* IPv6 */
	u8	tos;
	u8	protocol;
	u16	src_port, dst_port;
	bool	later;			/* a later fragment: no ports */
	bool	extended;		/* IPv6: an extension header */
};

struct flow_rule {
	struct weft_flow_rule	flow;
	bool			live;
	u32			rank;
	bool			trap;
	int			born;		/* of its shape */
	struct ib_flow_spec_eth	eth;		/* type 0: not given */
	struct ib_flow_spec_ipv4 ipv4;
	struct ib_flow_spec_ipv6 ipv6;
	struct ib_flow_spec_tcp_udp ports;
	u32			tag;
	bool			tagged;
	bool			drop;
};

struct flow_fixture {
	struct rnd_state	random;
	struct weft_flow_table	table;
	struct flow_rule	rules[FLOW_RULES];
	int			births;
	u8			attr[512] __aligned(8);
	u8			frame[128];
};

static u32 flow_below(struct flow_fixture *fixture, u32 limit)
{
	return prandom_u32_state(&fixture->random) % limit;
}

static bool flow_one_in(struct flow_fixture *fixture, u32 n)
{
	return !flow_below(fixture, n);
}

static u8 flow_choose(struct flow_fixture *fixture)
{
	return flow_below(fixture, FLOW_CHOICES);
}

static const u8 flow_protocols[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP };
static const u16 flow_types[] = { ETH_P_IP, ETH_P_IPV6, ETH_P_ARP };

/* ---- frames ---- */

static void flow_random_fields(struct flow_fixture *fixture, struct flow_fields *fields)
{
	*fields = (struct flow_fields){
		.dst_mac = flow_choose(fixture),
		.src_mac = flow_choose(fixture),
		.tagged = flow_one_in(fixture, 2),
		.vlan_tag = flow_choose(fixture) << 13 | flow_choose(fixture),
		.type = flow_types[flow_choose(fixture)],
		.src_ip = flow_choose(fixture),
		.dst_ip = flow_choose(fixture),
		.label = flow_choose(fixture),
		.tos = flow_choose(fixture),
		.protocol = flow_protocols[flow_choose(fixture)],
		.src_port = flow_choose(fixture),
		.dst_port = flow_choose(fixture),
		.later = flow_one_in(fixture, 6),
		.extended = flow_one_in(fixture, 3),
	};
}

static u8 *flow_put16(u8 *at, u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
	return at + 2;
}

static u8 *flow_put_ipv4(u8 *at, const struct flow_fields *fields)
{
	memset(at, 0, 24);
	at[0] = 0x46;	/* with four bytes of options */
	at[1] = fields->tos;
	flow_put16(at + 6, fields->later ? 5 : IP_DF);
	at[9] = fields->protocol;
	at[15] = fields->src_ip;
	at[19] = fields->dst_ip;
	return at + 24;
}

static u8 *flow_put_ipv6(u8 *at, const struct flow_fields *fields)
{
	u8 *next = at + 6;

	memset(at, 0, 64);
	at[0] = 0x60 | fields->tos >> 4;
	at[1] = fields->tos << 4;
	at[3] = fields->label;
	at[23] = fields->src_ip;
	at[39] = fields->dst_ip;
	at += 40;
	if (fields->extended) {
		*next = NEXTHDR_HOP;
		next = at;
		at[1] = 1;
		at += 16;
	}
	if (fields->later) {
		*next = NEXTHDR_FRAGMENT;
		next = at;
		flow_put16(at + 2, 8);
		at += 8;
	}
	*next = fields->protocol;
	return at;
}

static u32 flow_build(u8 *frame, const struct flow_fields *fields)
{
	u8 *at = frame;

	memset(at, 0, 12);
	at[5] = fields->dst_mac;
	at[11] = fields->src_mac;
	at += 12;
	if (fields->tagged) {
		at = flow_put16(at, ETH_P_8021Q);
		at = flow_put16(at, fields->vlan_tag);
	}
	at = flow_put16(at, fields->type);
	if (fields->type == ETH_P_IP)
		at = flow_put_ipv4(at, fields);
	else if (fields->type == ETH_P_IPV6)
		at = flow_put_ipv6(at, fields);
	else
		return at - frame + 28;
	at = flow_put16(at, fields->src_port);
	at = flow_put16(at, fields->dst_port);
	memset(at, 0, 4);
	return at + 4 - frame;
}

/* ---- rules ---- */

static void flow_random_eth(struct flow_fixture *fixture, struct ib_flow_spec_eth *eth)
{
	eth->type = IB_FLOW_SPEC_ETH;
	eth->size = sizeof(*eth);
	eth->val.dst_mac[5] = flow_choose(fixture);
	eth->val.src_mac[5] = flow_choose(fixture);
	eth->val.vlan_tag = htons(flow_choose(fixture) << 13 | flow_choose(fixture));
	eth->val.ether_type = htons(flow_types[flow_choose(fixture)]);
	if (flow_one_in(fixture, 2))
		memset(eth->mask.dst_mac, 0xff, ETH_ALEN);
	/* some of the bits */
	if (flow_one_in(fixture, 3))
		eth->mask.src_mac[5] = 1 + flow_below(fixture, 3);
	if (flow_one_in(fixture, 3))
		eth->mask.vlan_tag = htons(flow_one_in(fixture, 2) ? 0xffff : 0x0fff);
	if (flow_one_in(fixture, 4))
		eth->mask.ether_type = htons(0xffff);
}

static void flow_random_ipv4(struct flow_fixture *fixture, struct ib_flow_spec_ipv4 *ipv4)
{
	ipv4->type = IB_FLOW_SPEC_IPV4;
	ipv4->size = sizeof(*ipv4);
	ipv4->val.src_ip = htonl(flow_choose(fixture));
	ipv4->val.dst_ip = htonl(flow_choose(fixture));
	ipv4->val.proto = flow_protocols[flow_choose(fixture)];
	ipv4->val.tos = flow_choose(fixture);
	ipv4->mask.src_ip = htonl(flow_one_in(fixture, 2) ? 0xffffffff : 0xffffff02);
	ipv4->mask.dst_ip = htonl(flow_one_in(fixture, 2) ? 0xffffffff : 0);
	ipv4->mask.proto = flow_one_in(fixture, 4) ? 0xff : 0;
	ipv4->mask.tos = flow_one_in(fixture, 4) ? 3 : 0;
}

static void flow_random_ipv6(struct flow_fixture *fixture, struct ib_flow_spec_ipv6 *ipv6)
{
	ipv6->type = IB_FLOW_SPEC_IPV6;
	ipv6->size = sizeof(*ipv6);
	ipv6->val.src_ip[15] = flow_choose(fixture);
	ipv6->val.dst_ip[15] = flow_choose(fixture);
	ipv6->val.next_hdr = flow_protocols[flow_choose(fixture)];
	ipv6->val.traffic_class = flow_choose(fixture);
	ipv6->val.flow_label = htonl(flow_choose(fixture));
	memset(ipv6->mask.src_ip, 0xff, 15 + flow_below(fixture, 2));
	if (flow_one_in(fixture, 2))
		memset(ipv6->mask.dst_ip, 0xff, 16);
	ipv6->mask.next_hdr = flow_one_in(fixture, 4) ? 0xff : 0;
	ipv6->mask.traffic_class = flow_one_in(fixture, 4) ? 3 : 0;
	ipv6->mask.flow_label = flow_one_in(fixture, 4) ? htonl(0xfffff) : 0;
}

static void flow_random_rule(struct flow_fixture *fixture, struct flow_rule *rule)
{
	u32 ip = flow_below(fixture, 3);

	memset(rule, 0, sizeof(*rule));
	if (flow_one_in(fixture, 2))
		flow_random_eth(fixture, &rule->eth);
	if (ip == 1)
		flow_random_ipv4(fixture, &rule->ipv4);
	else if (ip == 2)
		flow_random_ipv6(fixture, &rule->ipv6);
	if (flow_one_in(fixture, 3)) {
		rule->ports.type = flow_one_in(fixture, 2) ? IB_FLOW_SPEC_TCP : IB_FLOW_SPEC_UDP;
		rule->ports.size = sizeof(rule->ports);
		rule->ports.val.src_port = htons(flow_choose(fixture));
		rule->ports.val.dst_port = htons(flow_choose(fixture));
		rule->ports.mask.src_port = flow_one_in(fixture, 2) ? htons(0xffff) : 0;
		rule->ports.mask.dst_port = flow_one_in(fixture, 2) ? htons(0xffff) : 0;
		/* the ports say it already, so these would be of the same shape */
		rule->ipv4.mask.proto = 0;
		rule->ipv6.mask.next_hdr = 0;
	}
	rule->tagged = flow_one_in(fixture, 4);
	rule->tag = rule->tagged ? flow_choose(fixture) : 0;
	rule->drop = flow_one_in(fixture, 6);
	rule->trap = !flow_one_in(fixture, 3);
	rule->rank = flow_below(fixture, 3);
}

static void *flow_put_spec(struct ib_flow_attr *attr, void *at, const void *spec, size_t size)
{
	if (!((const union ib_flow_spec *)spec)->type)
		return at;
	memcpy(at, spec, size);
	attr->num_of_specs++;
	return at + size;
}

static struct ib_flow_attr *flow_attr(struct flow_fixture *fixture, const struct flow_rule *rule)
{
	struct ib_flow_attr *attr = (struct ib_flow_attr *)fixture->attr;
	struct ib_flow_spec_action_tag tag = {
		.type = IB_FLOW_SPEC_ACTION_TAG, .size = sizeof(tag), .tag_id = rule->tag,
	};
	struct ib_flow_spec_action_drop drop = {
		.type = IB_FLOW_SPEC_ACTION_DROP, .size = sizeof(drop),
	};
	void *at = attr->flows;

	memset(fixture->attr, 0, sizeof(fixture->attr));
	at = flow_put_spec(attr, at, &rule->ports, sizeof(rule->ports));
	at = flow_put_spec(attr, at, &rule->ipv4, sizeof(rule->ipv4));
	at = flow_put_spec(attr, at, &rule->ipv6, sizeof(rule->ipv6));
	at = flow_put_spec(attr, at, &rule->eth, sizeof(rule->eth));
	if (rule->tagged)
		at = flow_put_spec(attr, at, &tag, sizeof(tag));
	if (rule->drop)
		flow_put_spec(attr, at, &drop, sizeof(drop));
	return attr;
}

/* ---- the oracle ---- */

static bool flow_contradicts(const struct flow_rule *rule)
{
	u16 type = ntohs(rule->eth.val.ether_type);

	return rule->eth.mask.ether_type &&
	       ((rule->ipv4.type && type != ETH_P_IP) || (rule->ipv6.type && type != ETH_P_IPV6));
}

static bool flow_eth_matches(const struct ib_flow_spec_eth *eth, const struct flow_fields *fields)
{
	u16 mask = ntohs(eth->mask.vlan_tag);

	if (!eth->type)
		return true;
	if (eth->mask.dst_mac[0] && eth->val.dst_mac[5] != fields->dst_mac)
		return false;
	if ((eth->val.src_mac[5] ^ fields->src_mac) & eth->mask.src_mac[5])
		return false;
	if (mask && (!fields->tagged || (ntohs(eth->val.vlan_tag) ^ fields->vlan_tag) & mask))
		return false;
	return !eth->mask.ether_type || ntohs(eth->val.ether_type) == fields->type;
}

static bool flow_ipv4_matches(const struct ib_flow_spec_ipv4 *ipv4,
			      const struct flow_fields *fields)
{
	if (!ipv4->type)
		return true;
	return fields->type == ETH_P_IP &&
	       !((ntohl(ipv4->val.src_ip) ^ fields->src_ip) & ntohl(ipv4->mask.src_ip)) &&
	       !((ntohl(ipv4->val.dst_ip) ^ fields->dst_ip) & ntohl(ipv4->mask.dst_ip)) &&
	       (!ipv4->mask.proto || ipv4->val.proto == fields->protocol) &&
	       !((ipv4->val.tos ^ fields->tos) & ipv4->mask.tos);
}

static bool flow_ipv6_matches(const struct ib_flow_spec_ipv6 *ipv6,
			      const struct flow_fields *fields)
{
	if (!ipv6->type)
		return true;
	return fields->type == ETH_P_IPV6 &&
	       (!ipv6->mask.src_ip[15] || ipv6->val.src_ip[15] == fields->src_ip) &&
	       (!ipv6->mask.dst_ip[15] || ipv6->val.dst_ip[15] == fields->dst_ip) &&
	       (!ipv6->mask.next_hdr || ipv6->val.next_hdr == fields->protocol) &&
	       !((ipv6->val.traffic_class ^ fields->tos) & ipv6->mask.traffic_class) &&
	       (!ipv6->mask.flow_label || ntohl(ipv6->val.flow_label) == fields->label);
}

static bool flow_ports_match(const struct ib_flow_spec_tcp_udp *ports,
			     const struct flow_fields *fields)
{
	u8 protocol = ports->type == IB_FLOW_SPEC_TCP ? IPPROTO_TCP : IPPROTO_UDP;

	if (!ports->type)
		return true;
	return fields->type != ETH_P_ARP && !fields->later && fields->protocol == protocol &&
	       (!ports->mask.src_port || ntohs(ports->val.src_port) == fields->src_port) &&
	       (!ports->mask.dst_port || ntohs(ports->val.dst_port) == fields->dst_port);
}

static bool flow_matches(const struct flow_rule *rule, const struct flow_fields *fields)
{
	return rule->live && flow_eth_matches(&rule->eth, fields) &&
	       flow_ipv4_matches(&rule->ipv4, fields) && flow_ipv6_matches(&rule->ipv6, fields) &&
	       flow_ports_match(&rule->ports, fields);
}

static bool flow_same_shape(const struct flow_rule *a, const struct flow_rule *b)
{
	return a->rank == b->rank && a->trap == b->trap && a->eth.type == b->eth.type &&
	       a->ipv4.type == b->ipv4.type && a->ipv6.type == b->ipv6.type &&
	       a->ports.type == b->ports.type &&
	       !memcmp(&a->eth.mask, &b->eth.mask, sizeof(a->eth.mask)) &&
	       !memcmp(&a->ipv4.mask, &b->ipv4.mask, sizeof(a->ipv4.mask)) &&
	       !memcmp(&a->ipv6.mask, &b->ipv6.mask, sizeof(a->ipv6.mask)) &&
	       !memcmp(&a->ports.mask, &b->ports.mask, sizeof(a->ports.mask));
}

/* The fields of each frame are few, so two rules are the same if the same frames match. */
static bool flow_same_frames(const struct flow_rule *a, const struct flow_rule *b)
{
	const u8 *mask = a->eth.mask.src_mac;

	return flow_same_shape(a, b) &&
	       (!a->eth.mask.dst_mac[0] || a->eth.val.dst_mac[5] == b->eth.val.dst_mac[5]) &&
	       !((a->eth.val.src_mac[5] ^ b->eth.val.src_mac[5]) & mask[5]) &&
	       !((a->eth.val.vlan_tag ^ b->eth.val.vlan_tag) & a->eth.mask.vlan_tag) &&
	       !((a->eth.val.ether_type ^ b->eth.val.ether_type) & a->eth.mask.ether_type) &&
	       !((a->ipv4.val.src_ip ^ b->ipv4.val.src_ip) & a->ipv4.mask.src_ip) &&
	       !((a->ipv4.val.dst_ip ^ b->ipv4.val.dst_ip) & a->ipv4.mask.dst_ip) &&
	       !((a->ipv4.val.proto ^ b->ipv4.val.proto) & a->ipv4.mask.proto) &&
	       !((a->ipv4.val.tos ^ b->ipv4.val.tos) & a->ipv4.mask.tos) &&
	       (!a->ipv6.mask.src_ip[15] || a->ipv6.val.src_ip[15] == b->ipv6.val.src_ip[15]) &&
	       (!a->ipv6.mask.dst_ip[15] || a->ipv6.val.dst_ip[15] == b->ipv6.val.dst_ip[15]) &&
	       (!a->ipv6.mask.next_hdr || a->ipv6.val.next_hdr == b->ipv6.val.next_hdr) &&
	       !((a->ipv6.val.traffic_class ^ b->ipv6.val.traffic_class) &
		 a->ipv6.mask.traffic_class) &&
	       !((a->ipv6.val.flow_label ^ b->ipv6.val.flow_label) & a->ipv6.mask.flow_label) &&
	       !((a->ports.val.src_port ^ b->ports.val.src_port) & a->ports.mask.src_port) &&
	       !((a->ports.val.dst_port ^ b->ports.val.dst_port) & a->ports.mask.dst_port);
}

static int flow_expected_error(struct flow_fixture *fixture, const struct flow_rule *rule)
{
	int i;

	if (flow_contradicts(rule))
		return -EINVAL;
	for (i = 0; i < FLOW_RULES; i++) {
		const struct flow_rule *other = &fixture->rules[i];

		if (other->live && flow_same_frames(rule, other) &&
		    (rule->drop != other->drop || (rule->tagged && rule->tag != other->tag)))
			return -EEXIST;
	}
	return 0;
}

static int flow_birth(struct flow_fixture *fixture, const struct flow_rule *rule)
{
	int i;

	for (i = 0; i < FLOW_RULES; i++)
		if (fixture->rules[i].live && flow_same_shape(&fixture->rules[i], rule))
			return fixture->rules[i].born;
	return ++fixture->births;
}

/* Does @a come before @b? */
static bool flow_before(const struct flow_rule *a, const struct flow_rule *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->born < b->born;
}

/* A bit for each rule that gets the frame. */
static u32 flow_oracle(struct flow_fixture *fixture, const struct flow_fields *fields)
{
	const struct flow_rule *last = NULL, *rule;
	u32 got = 0;
	int i;

	for (i = 0; i < FLOW_RULES; i++) {
		rule = &fixture->rules[i];
		if (rule->trap && flow_matches(rule, fields) && (!last || flow_before(rule, last)))
			last = rule;
	}
	for (i = 0; i < FLOW_RULES; i++) {
		rule = &fixture->rules[i];
		if (flow_matches(rule, fields) && (!last || !flow_before(last, rule)))
			got |= BIT(i);
	}
	return got;
}

/* The same by the table, as link/steer.c walks it. */
static u32 flow_table(struct flow_fixture *fixture, const struct weft_flow_key *key)
{
	struct rhlist_head *list, *at;
	struct weft_flow_group *group;
	struct weft_flow_rule *flow;
	u32 got = 0;

	rcu_read_lock();
	weft_flow_for_each_group(group, &fixture->table) {
		list = weft_flow_find(group, key);
		rhl_for_each_entry_rcu(flow, at, list, node)
			got |= BIT(container_of(flow, struct flow_rule, flow) - fixture->rules);
		if (list && group->trap)
			break;
	}
	rcu_read_unlock();
	return got;
}

/* ---- tests ---- */

static void flow_add(struct kunit *test, struct flow_rule *rule)
{
	struct flow_fixture *fixture = test->priv;
	struct weft_flow_spec spec;
	int ret, want;

	flow_random_rule(fixture, rule);
	want = flow_expected_error(fixture, rule);
	rule->born = flow_birth(fixture, rule);
	ret = weft_flow_spec_read(&spec, flow_attr(fixture, rule)) ?:
	      weft_flow_add(&fixture->table, &rule->flow, &spec, rule->rank, rule->trap);
	KUNIT_ASSERT_EQ(test, ret, want);
	rule->live = !ret;
}

static void flow_remove(struct flow_rule *rule)
{
	if (rule->live)
		weft_flow_remove(&rule->flow);
	rule->live = false;
}

static void flow_compare(struct kunit *test)
{
	struct flow_fixture *fixture = test->priv;
	struct weft_flow_key key;
	struct flow_fields fields;
	u32 length;

	flow_random_fields(fixture, &fields);
	length = flow_build(fixture->frame, &fields);
	weft_flow_parse(&key, fixture->frame, length);
	KUNIT_ASSERT_EQ(test, flow_table(fixture, &key), flow_oracle(fixture, &fields));
}

static void flow_random(struct kunit *test)
{
	struct flow_fixture *fixture = test->priv;
	u32 round, i;

	for_each_fuzz(round, FLOW_ROUNDS) {
		for (i = 0; i < FLOW_RULES; i++) {
			struct flow_rule *rule = &fixture->rules[i];

			if (rule->live && flow_one_in(fixture, 2))
				flow_remove(rule);
			else if (!rule->live)
				flow_add(test, rule);
		}
		for (i = 0; i < FLOW_FRAMES; i++)
			flow_compare(test);
	}
	for (i = 0; i < FLOW_RULES; i++)
		flow_remove(&fixture->rules[i]);
	KUNIT_EXPECT_TRUE(test, list_empty(&fixture->table.groups));
}

/* IPv4, UDP to 4789, VXLAN with VNI 0x010203, a frame of ARP to 02:..:07 */
static const u8 flow_vxlan[] = {
	[12] = 8, 0, 0x45, [23] = IPPROTO_UDP, [36] = 0x12, 0xb5,
	[42] = 8, [46] = 1, 2, 3, [50] = 2, [55] = 7, [62] = 8, 6, [80] = 0,
};

/* IPv4, GRE with the key 0x01020304, IPv6 from ::9 with TCP to port 80 */
static const u8 flow_gre[] = {
	[12] = 8, 0, 0x45, [23] = IPPROTO_GRE, [34] = 0x20, 0, 0x86, 0xdd, 1, 2, 3, 4,
	0x60, [48] = IPPROTO_TCP, [65] = 9, [84] = 0, 80, [90] = 0,
};

/* two labels, 0x12345 and 7, IPv4 with TCP to port 80 */
static const u8 flow_mpls[] = {
	[12] = 0x88, 0x47, 0x12, 0x34, 0x50, 64, 0, 0, 0x71, 64,
	0x45, [31] = IPPROTO_TCP, [44] = 0, 80, [50] = 0,
};

/* IPv4, UDP to 6635, label 9, IPv6 */
static const u8 flow_mpls_udp[] = {
	[12] = 8, 0, 0x45, [23] = IPPROTO_UDP, [36] = 0x19, 0xeb,
	[42] = 0, 0, 0x91, 64, 0x60, [85] = 0,
};

/* IPv4, GRE, label 9, and nothing that is IP */
static const u8 flow_mpls_gre[] = {
	[12] = 8, 0, 0x45, [23] = IPPROTO_GRE, [36] = 0x88, 0x47, 0, 0, 0x91, 64, 0x10,
	[60] = 0,
};

static const struct {
	const u8	*bytes;
	u32		length;
} flow_in_tunnels[] = {
	{ flow_vxlan, sizeof(flow_vxlan) },
	{ flow_gre, sizeof(flow_gre) },
	{ flow_mpls, sizeof(flow_mpls) },
	{ flow_mpls_udp, sizeof(flow_mpls_udp) },
	{ flow_mpls_gre, sizeof(flow_mpls_gre) },
};

/* Puts a frame of the random fields, or one with a tunnel, into the fixture. Returns its length. */
static u32 flow_hostile_frame(struct flow_fixture *fixture)
{
	u32 which = flow_below(fixture, 2 * ARRAY_SIZE(flow_in_tunnels));
	struct flow_fields fields;

	if (which < ARRAY_SIZE(flow_in_tunnels)) {
		memcpy(fixture->frame, flow_in_tunnels[which].bytes, flow_in_tunnels[which].length);
		return flow_in_tunnels[which].length;
	}
	flow_random_fields(fixture, &fields);
	return flow_build(fixture->frame, &fields);
}

/* Random bytes, and frames cut short, in memory of exactly their length. */
static void flow_hostile(struct kunit *test)
{
	struct flow_fixture *fixture = test->priv;
	struct weft_flow_key key;
	u32 length, i, bad;
	u8 *frame;

	for_each_fuzz(i, 50 * FLOW_ROUNDS) {
		length = flow_hostile_frame(fixture);
		/* the fields that say how long headers are, among others */
		for (bad = flow_below(fixture, 4); bad; bad--)
			fixture->frame[flow_below(fixture, length)] =
				prandom_u32_state(&fixture->random);
		length = flow_below(fixture, length + 1);
		frame = kmemdup(fixture->frame, length, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, frame);
		weft_flow_parse(&key, frame, length);
		kfree(frame);
		if (length < ETH_HLEN)
			KUNIT_ASSERT_EQ(test, key.outer.has, 0);
	}
}

static void flow_tunnels(struct kunit *test)
{
	static const u8 more[] = { 0x80, 0x10 };	/* a checksum, a sequence number */
	u8 frame[sizeof(flow_gre)];
	struct weft_flow_key key;
	u32 i, length;

	weft_flow_parse(&key, flow_vxlan, sizeof(flow_vxlan));
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_ETH | WEFT_FLOW_IPV4 | WEFT_FLOW_UDP |
			WEFT_FLOW_VXLAN);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(key.vni), 0x010203);
	KUNIT_EXPECT_EQ(test, key.inner.has, WEFT_FLOW_ETH);
	KUNIT_EXPECT_EQ(test, key.inner.dst_mac[5], 7);
	KUNIT_EXPECT_EQ(test, ntohs(key.inner.ether_type), ETH_P_ARP);

	weft_flow_parse(&key, flow_gre, sizeof(flow_gre));
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_ETH | WEFT_FLOW_IPV4 | WEFT_FLOW_GRE);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(key.gre_key), 0x01020304);
	KUNIT_EXPECT_EQ(test, key.inner.has, WEFT_FLOW_IPV6 | WEFT_FLOW_TCP);
	KUNIT_EXPECT_EQ(test, ntohl(key.inner.src_ip[3]), 9);
	KUNIT_EXPECT_EQ(test, ntohs(key.inner.dst_port), 80);

	/* the header of GRE is longer than the frame */
	memcpy(frame, flow_gre, sizeof(frame));
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		frame[34] = more[i];
		for (length = 38; length < 42; length++) {
			weft_flow_parse(&key, frame, length);
			KUNIT_EXPECT_EQ(test, key.outer.has,
					WEFT_FLOW_ETH | WEFT_FLOW_IPV4 | WEFT_FLOW_GRE);
			KUNIT_EXPECT_EQ(test, ntohs(key.gre_protocol), ETH_P_IPV6);
			KUNIT_EXPECT_EQ(test, key.inner.has, 0);
			KUNIT_EXPECT_EQ(test, key.inner.ether_type, 0);
		}
	}
}

/* Labels behind Ethernet, in UDP and in GRE; a rule wants them where its specs say. */
static void flow_labels(struct kunit *test)
{
	struct weft_flow_key key;
	u32 length;

	weft_flow_parse(&key, flow_mpls, sizeof(flow_mpls));
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_ETH | WEFT_FLOW_MPLS | WEFT_FLOW_IPV4 |
			WEFT_FLOW_TCP);
	KUNIT_EXPECT_EQ(test, ntohl(key.outer.mpls), 0x12345040);
	KUNIT_EXPECT_EQ(test, ntohs(key.outer.dst_port), 80);
	KUNIT_EXPECT_EQ(test, ntohs(key.outer.ether_type), ETH_P_MPLS_UC);
	weft_flow_parse(&key, flow_mpls_udp, sizeof(flow_mpls_udp));
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_ETH | WEFT_FLOW_IPV4 | WEFT_FLOW_UDP |
			WEFT_FLOW_MPLS_UDP);
	KUNIT_EXPECT_EQ(test, ntohl(key.tunnel_mpls), 0x9140);
	KUNIT_EXPECT_EQ(test, key.inner.has, WEFT_FLOW_IPV6);
	weft_flow_parse(&key, flow_mpls_gre, sizeof(flow_mpls_gre));
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_ETH | WEFT_FLOW_IPV4 | WEFT_FLOW_GRE |
			WEFT_FLOW_MPLS_GRE);
	KUNIT_EXPECT_EQ(test, ntohl(key.tunnel_mpls), 0x9140);
	KUNIT_EXPECT_EQ(test, key.inner.has, 0);
	/* cut short in the label stack */
	for (length = 14; length < 22; length++) {
		weft_flow_parse(&key, flow_mpls, length);
		KUNIT_EXPECT_EQ(test, key.outer.has, length < 18 ? WEFT_FLOW_ETH :
				WEFT_FLOW_ETH | WEFT_FLOW_MPLS);
	}
}

/* A datagram of IPoIB, whole and cut short, and what a rule for it may have. */
static void flow_datagrams(struct kunit *test)
{
	static const u8 datagram[] = {
		0x08, 0, 0, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1,
		0x03, 0xe7, 0x12, 0xb5, 0, 8, 0, 0,
	};
	struct weft_flow_spec spec = {};
	struct weft_flow_key key;
	u32 length;

	weft_flow_parse_ipoib(&key, 0x123456, datagram, sizeof(datagram));
	KUNIT_EXPECT_EQ(test, be32_to_cpu(key.qpn), 0x123456);
	KUNIT_EXPECT_EQ(test, key.outer.has, WEFT_FLOW_IPV4 | WEFT_FLOW_UDP);
	KUNIT_EXPECT_EQ(test, ntohl(key.outer.dst_ip[0]), 0x0a000001);
	KUNIT_EXPECT_EQ(test, ntohs(key.outer.dst_port), 4789);
	for (length = 0; length < sizeof(datagram); length++) {
		weft_flow_parse_ipoib(&key, 7, datagram, length);
		KUNIT_EXPECT_EQ(test, key.outer.has, length < 24 ? 0 :
				length < 28 ? WEFT_FLOW_IPV4 : WEFT_FLOW_IPV4 | WEFT_FLOW_UDP);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(key.qpn), 7);
	}
	KUNIT_EXPECT_TRUE(test, weft_flow_spec_of_qp(&spec, 0x123456, 9));
	KUNIT_EXPECT_EQ(test, be32_to_cpu(spec.value.qpn), 0x123456);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(spec.mask.qpn), 0xffffff);
	KUNIT_EXPECT_EQ(test, spec.owner, 9);
	/* Ethernet is the first kind of spec */
	spec.specs = 1;
	KUNIT_EXPECT_FALSE(test, weft_flow_spec_of_qp(&spec, 0x123456, 9));
}

struct flow_bad_row {
	const char	*name;
	int		ret;
	u32		type;
	u32		second;		/* type of another spec */
	u32		byte;		/* of the mask, or of the tag, that is set */
};

#define MASK(spec, member) (offsetof(struct spec, mask) + \
			    offsetof(typeof(((struct spec *)0)->mask), member))

static const struct flow_bad_row flow_bad_rows[] = {
	{ "time to live", -EOPNOTSUPP, IB_FLOW_SPEC_IPV4, 0, MASK(ib_flow_spec_ipv4, ttl) },
	{ "flags", -EOPNOTSUPP, IB_FLOW_SPEC_IPV4, 0, MASK(ib_flow_spec_ipv4, flags) },
	{ "hop limit", -EOPNOTSUPP, IB_FLOW_SPEC_IPV6, 0, MASK(ib_flow_spec_ipv6, hop_limit) },
	{ "flags of GRE", -EOPNOTSUPP, IB_FLOW_SPEC_GRE, 0,
	  MASK(ib_flow_spec_gre, c_ks_res0_ver) },
	{ "ESP", -EOPNOTSUPP, IB_FLOW_SPEC_ESP, 0, 0 },
	{ "handle", -EOPNOTSUPP, IB_FLOW_SPEC_ACTION_HANDLE, 0, 0 },
	{ "unknown", -EOPNOTSUPP, 0x77, 0, 0 },
	{ "inner VXLAN", -EOPNOTSUPP, IB_FLOW_SPEC_VXLAN_TUNNEL | IB_FLOW_SPEC_INNER, 0, 0 },
	{ "tag of 25 bits", -EINVAL, IB_FLOW_SPEC_ACTION_TAG, 0,
	  offsetof(struct ib_flow_spec_action_tag, tag_id) + 3 },
	{ "twice", -EINVAL, IB_FLOW_SPEC_ETH, IB_FLOW_SPEC_ETH, 0 },
	{ "both versions", -EINVAL, IB_FLOW_SPEC_IPV4, IB_FLOW_SPEC_IPV6, 0 },
	{ "TCP and UDP", -EINVAL, IB_FLOW_SPEC_TCP, IB_FLOW_SPEC_UDP, 0 },
	{ "protocol and UDP", -EINVAL, IB_FLOW_SPEC_IPV4, IB_FLOW_SPEC_UDP,
	  MASK(ib_flow_spec_ipv4, proto) },
	{ "EtherType and IPv6", -EINVAL, IB_FLOW_SPEC_ETH, IB_FLOW_SPEC_IPV6,
	  MASK(ib_flow_spec_eth, ether_type) + 1 },
	{ "GRE and TCP", -EINVAL, IB_FLOW_SPEC_GRE, IB_FLOW_SPEC_TCP, 0 },
	{ "MPLS twice", -EINVAL, IB_FLOW_SPEC_MPLS, IB_FLOW_SPEC_MPLS, 0 },
	{ "count twice", -EINVAL, IB_FLOW_SPEC_ACTION_COUNT, IB_FLOW_SPEC_ACTION_COUNT, 0 },
	{ "one", 0, IB_FLOW_SPEC_IPV4, 0, 0 },
	{ "count", 0, IB_FLOW_SPEC_ACTION_COUNT, 0, 0 },
	{ "MPLS inside and outside", 0, IB_FLOW_SPEC_MPLS,
	  IB_FLOW_SPEC_MPLS | IB_FLOW_SPEC_INNER, 0 },
	{ "inside and outside", 0, IB_FLOW_SPEC_IPV4, IB_FLOW_SPEC_IPV6 | IB_FLOW_SPEC_INNER, 0 },
};

static void flow_bad_row_desc(const struct flow_bad_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(flow_bad_row, flow_bad_rows, flow_bad_row_desc);

static void flow_bad_spec(struct kunit *test)
{
	const struct flow_bad_row *row = test->param_value;
	struct flow_fixture *fixture = test->priv;
	struct ib_flow_attr *attr = (struct ib_flow_attr *)fixture->attr;
	union ib_flow_spec *first = attr->flows, *second = (void *)first + 128;
	struct weft_flow_spec spec;

	memset(fixture->attr, 0, sizeof(fixture->attr));
	attr->num_of_specs = row->second ? 2 : 1;
	first->type = row->type;
	first->size = 128;
	second->type = row->second;
	second->size = 128;
	if (row->byte)
		((u8 *)first)[row->byte] = 1;
	KUNIT_EXPECT_EQ(test, weft_flow_spec_read(&spec, attr), row->ret);
}

/* Rules for groups alone are tried after all others, unless a frame goes on behind them. */
static void flow_ranks(struct kunit *test)
{
	struct flow_rule rule = {
		.ipv4 = { .type = IB_FLOW_SPEC_IPV4, .size = sizeof(rule.ipv4) },
	};
	static const struct {
		u32	value;
		u32	mask;
		bool	last;
	} rows[] = {
		{ 0xef010203, 0xffffffff, true },
		{ 0xe0000000, 0xf0000000, true },
		{ 0x0a000001, 0xffffffff, false },
		{ 0xe0000000, 0xe0000000, false },	/* and 240.0.0.0/4, which are no groups */
		{ 0xef010203, 0, false },
	};
	struct weft_flow_spec all = {}, group = { .specs = 1 };
	u32 i;

	memset(group.mask.outer.dst_mac, 0xff, ETH_ALEN);
	group.value.outer.dst_mac[0] = 1;
	KUNIT_EXPECT_LT(test, weft_flow_rank(&all, 0, false), weft_flow_rank(&all, 0, true));
	KUNIT_EXPECT_LT(test, weft_flow_rank(&all, 0, true), weft_flow_rank(&all, 1, false));
	KUNIT_EXPECT_LT(test, weft_flow_rank(&all, 15, true), weft_flow_rank(&group, 0, true));
	KUNIT_EXPECT_EQ(test, weft_flow_rank(&group, 3, false), weft_flow_rank(&all, 3, false));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rule.ipv4.val.dst_ip = htonl(rows[i].value);
		rule.ipv4.mask.dst_ip = htonl(rows[i].mask);
		KUNIT_ASSERT_EQ(test, weft_flow_spec_read(&group, flow_attr(test->priv, &rule)), 0);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].last, weft_flow_rank(&group, 0, true) >
				    weft_flow_rank(&all, 15, true), "row %u", i);
	}
}

/* Rules that differ in one byte, wherever it is, do not gather in a few buckets. */
static void flow_hash_spreads(struct kunit *test)
{
	struct weft_flow_packed value = { .num = 4 };
	u8 *byte = (u8 *)value.word, load[64];
	u32 at, i, most;

	for (at = 0; at < value.num * sizeof(value.word[0]); at++) {
		memset(load, 0, sizeof(load));
		most = 0;
		for (i = 0; i < 256; i++) {
			u32 bucket;

			byte[at] = i;
			bucket = weft_flow_packed_hash(&value, FLOW_SEED) % ARRAY_SIZE(load);
			most = max_t(u32, most, ++load[bucket]);
		}
		byte[at] = 0;
		KUNIT_EXPECT_LE_MSG(test, most, 24, "byte %u", at);
	}
}

static int flow_init(struct kunit *test)
{
	struct flow_fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	if (!fixture)
		return -ENOMEM;
	test->priv = fixture;
	prandom_seed_state(&fixture->random, FLOW_SEED + fuzz_seed);
	weft_flow_table_init(&fixture->table);
	return 0;
}

static struct kunit_case flow_cases[] = {
	KUNIT_CASE(flow_random),
	KUNIT_CASE(flow_hostile),
	KUNIT_CASE(flow_tunnels),
	KUNIT_CASE(flow_labels),
	KUNIT_CASE(flow_datagrams),
	KUNIT_CASE_PARAM(flow_bad_spec, flow_bad_row_gen_params),
	KUNIT_CASE(flow_ranks),
	KUNIT_CASE(flow_hash_spreads),
	{}
};

static struct kunit_suite flow_suite = {
	.name = "weft_flow",
	.init = flow_init,
	.test_cases = flow_cases,
};

kunit_test_suite(flow_suite);
