// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rules and the frames that they match: frames that scapy has made, one spec at a time; and random
 * rules with random frames, from QPs and from the cable, beside a model made from raw.rst alone.
 */
#include "frames.h"
#include "frames-scapy.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

/* ---- specs ---- */

#define SPEC(_type, _struct, _member, ...) \
	{ ._member = { .type = (_type), .size = sizeof(struct _struct), __VA_ARGS__ } }
#define ETH(...)	SPEC(IBV_FLOW_SPEC_ETH, ibv_flow_spec_eth, eth, __VA_ARGS__)
#define IPV4(...)	SPEC(IBV_FLOW_SPEC_IPV4_EXT, ibv_flow_spec_ipv4_ext, ipv4_ext, __VA_ARGS__)
#define IPV6(...)	SPEC(IBV_FLOW_SPEC_IPV6, ibv_flow_spec_ipv6, ipv6, __VA_ARGS__)
#define TCP(...)	SPEC(IBV_FLOW_SPEC_TCP, ibv_flow_spec_tcp_udp, tcp_udp, __VA_ARGS__)
#define UDP(...)	SPEC(IBV_FLOW_SPEC_UDP, ibv_flow_spec_tcp_udp, tcp_udp, __VA_ARGS__)
#define MPLS(...)	SPEC(IBV_FLOW_SPEC_MPLS, ibv_flow_spec_mpls, mpls, __VA_ARGS__)
#define VXLAN(...)	SPEC(IBV_FLOW_SPEC_VXLAN_TUNNEL, ibv_flow_spec_tunnel, tunnel, __VA_ARGS__)
#define GRE(...)	SPEC(IBV_FLOW_SPEC_GRE, ibv_flow_spec_gre, gre, __VA_ARGS__)
#define INNER(_spec, ...) \
	SPEC(IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ ## _spec, __VA_ARGS__)

#define ALL_MAC		{ 255, 255, 255, 255, 255, 255 }
#define ALL_IP6		{ 255, 255, 255, 255, 255, 255, 255, 255, \
			  255, 255, 255, 255, 255, 255, 255, 255 }
#define IP4(_a, _b, _c, _d)	htonl((uint32_t)(_a) << 24 | (_b) << 16 | (_c) << 8 | (_d))

/* A rule for the frames of scapy that have its name; 0 ends the specs. */
struct spec_row {
	const char *name;
	struct ibv_flow_spec specs[3];
};

static void spec_rule(struct rule *rule, const struct spec_row *row)
{
	uint32_t i;

	*rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	for (i = 0; i < ARRAY_SIZE(row->specs) && row->specs[i].hdr.size; i++)
		rule_add(rule, &row->specs[i], row->specs[i].hdr.size);
	rule_tag(rule, 0x51);
}

/* sends a frame from @a; returns whether @b gets it, and by the rule with the tag */
static bool spec_matches(struct side *a, struct side *b, const struct scapy_frame *frame)
{
	struct ibv_poll_cq_attr poll = {};

	memcpy(a->buf, frame->byte, frame->length);
	side_send(a, 0, frame->length, 0);
	if (ibv_start_poll(b->cq_ex, &poll))
		return false;
	SAME(b->cq_ex->status, IBV_WC_SUCCESS);
	SAME(ibv_wc_read_byte_len(b->cq_ex), frame->length);
	SAME(ibv_wc_read_flow_tag(b->cq_ex), 0x51);
	ibv_end_poll(b->cq_ex);
	side_recv(b, 0, SLOT);
	return true;
}

/* of each spec, the first frame matches, and the others do not */
static int spec_frames(struct side *a, struct side *b, const char *name)
{
	int num = 0;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(scapy_frames); i++) {
		if (strcmp(scapy_frames[i].spec, name))
			continue;
		note("%s, frame %d", name, num);
		SAME(spec_matches(a, b, &scapy_frames[i]), !num);
		num++;
	}
	return num;
}

/* Returns the number of frames that belong to the rows. */
static int try_rows(struct side *a, struct side *b, const struct spec_row *rows, int num)
{
	struct ibv_flow *flow;
	struct rule rule;
	int frames = 0, i;

	for (i = 0; i < num; i++) {
		note("%s", rows[i].name);
		spec_rule(&rule, &rows[i]);
		flow = rule_make(b, &rule);
		frames += spec_frames(a, b, rows[i].name);
		SAME(ibv_destroy_flow(flow), 0);
	}
	return frames;
}

static int plain_specs(struct side *a, struct side *b)
{
	const struct spec_row rows[] = {
		{ "eth_dst", { ETH(.val.dst_mac = { 2, 0, 0, 0, 0, 0x42 }, .mask.dst_mac = ALL_MAC) } },
		{ "eth_src", { ETH(.val.src_mac = { 2, 0, 0, 0, 0, 0x41 }, .mask.src_mac = ALL_MAC) } },
		{ "eth_type", { ETH(.val.ether_type = htons(ETH_P_ARP), .mask.ether_type = 0xffff) } },
		{ "vlan_id", { ETH(.val.vlan_tag = htons(5), .mask.vlan_tag = htons(0xfff)) } },
		{ "vlan_priority", { ETH(.val.vlan_tag = htons(3 << 13),
					 .mask.vlan_tag = htons(7 << 13)) } },
		{ "ipv4_src", { IPV4(.val.src_ip = IP4(10, 10, 9, 2), .mask.src_ip = ~0) } },
		{ "ipv4_dst", { IPV4(.val.dst_ip = IP4(10, 10, 9, 0),
				     .mask.dst_ip = IP4(255, 255, 255, 0)) } },
		{ "ipv4_proto", { IPV4(.val.proto = IPPROTO_UDP, .mask.proto = 255) } },
		{ "ipv4_tos", { IPV4(.val.tos = 0xb8, .mask.tos = 255) } },
		{ "ipv6_src", { IPV6(.val.src_ip = { 0xfd, 0, 0, 9, [15] = 2 },
				     .mask.src_ip = ALL_IP6) } },
		{ "ipv6_dst", { IPV6(.val.dst_ip = { 0xfd, 0, 0, 9 },
				     .mask.dst_ip = { 255, 255, 255, 255 }) } },
		{ "ipv6_next", { IPV6(.val.next_hdr = IPPROTO_ICMPV6, .mask.next_hdr = 255) } },
		{ "ipv6_class", { IPV6(.val.traffic_class = 0xb8, .mask.traffic_class = 0xfc) } },
		{ "ipv6_label", { IPV6(.val.flow_label = htonl(0x12345),
				       .mask.flow_label = htonl(0xfffff)) } },
		{ "tcp_port", { TCP(.val.dst_port = htons(80), .mask.dst_port = 0xffff) } },
		{ "tcp6_port", { IPV6(), TCP(.val.src_port = htons(999), .mask.src_port = 0xffff) } },
		{ "udp_port", { UDP(.val.dst_port = htons(7000), .mask.dst_port = 0xffff) } },
	};

	return try_rows(a, b, rows, ARRAY_SIZE(rows));
}

static int tunnel_specs(struct side *a, struct side *b)
{
	const struct spec_row rows[] = {
		{ "mpls", { MPLS(.val.label = htonl(0x12345000), .mask.label = htonl(0xfffff000)) } },
		{ "mpls_cos", { MPLS(.val.label = htonl(0x12345a00), .mask.label = htonl(0xfffffe00)) } },
		{ "mpls_bottom", { MPLS(.val.label = htonl(0x100), .mask.label = htonl(0x100)) } },
		{ "mpls_ttl", { MPLS(.val.label = htonl(9), .mask.label = htonl(0xff)) } },
		{ "mpls_inner", { UDP(), MPLS(), INNER(IPV4, ibv_flow_spec_ipv4, ipv4,
						       .val.dst_ip = IP4(192, 168, 1, 1),
						       .mask.dst_ip = ~0) } },
		{ "mpls_udp", { UDP(), MPLS(.val.label = htonl(9 << 12),
					    .mask.label = htonl(0xfffff000)) } },
		{ "mpls_gre", { GRE(), MPLS(.val.label = htonl(9 << 12),
					    .mask.label = htonl(0xfffff000)) } },
		{ "vxlan", { VXLAN(.val.tunnel_id = htonl(0x010203),
				   .mask.tunnel_id = htonl(0xffffff)) } },
		{ "vxlan_eth", { VXLAN(), INNER(ETH, ibv_flow_spec_eth, eth,
						.val.dst_mac = { 2, 0, 0, 0, 0, 0x77 },
						.mask.dst_mac = ALL_MAC) } },
		{ "vxlan_ipv4", { VXLAN(), INNER(IPV4, ibv_flow_spec_ipv4, ipv4,
						 .val.src_ip = IP4(192, 168, 1, 2),
						 .mask.src_ip = ~0) } },
		{ "vxlan_ipv6", { INNER(IPV6, ibv_flow_spec_ipv6, ipv6,
					.val.dst_ip = { 0xfd, 0, 0, 1, [15] = 1 },
					.mask.dst_ip = ALL_IP6) } },
		{ "vxlan_tcp", { VXLAN(), INNER(TCP, ibv_flow_spec_tcp_udp, tcp_udp,
						.val.dst_port = htons(80),
						.mask.dst_port = 0xffff) } },
		{ "vxlan_udp", { VXLAN(), INNER(UDP, ibv_flow_spec_tcp_udp, tcp_udp,
						.val.dst_port = htons(53), .mask.dst_port = 0xffff) } },
		{ "vxlan_mpls", { VXLAN(), INNER(MPLS, ibv_flow_spec_mpls, mpls,
						 .val.label = htonl(0x54321000),
						 .mask.label = htonl(0xfffff000)) } },
		{ "gre_key", { GRE(.val.key = htonl(0x01020304), .mask.key = ~0) } },
		{ "gre_proto", { GRE(.val.protocol = htons(ETH_P_IPV6), .mask.protocol = 0xffff) } },
		{ "gre_csum_key", { GRE(.val.key = htonl(0x01000000), .mask.key = htonl(0xff000000)) } },
		{ "gre_inner_tcp", { GRE(), INNER(TCP, ibv_flow_spec_tcp_udp, tcp_udp,
						  .val.dst_port = htons(80),
						  .mask.dst_port = 0xffff) } },
		{ "gre_inner_eth", { GRE(), INNER(ETH, ibv_flow_spec_eth, eth,
						  .val.dst_mac = { 2, 0, 0, 0, 0, 0x77 },
						  .mask.dst_mac = ALL_MAC) } },
	};

	return try_rows(a, b, rows, ARRAY_SIZE(rows));
}

void specs(void)
{
	struct side a, b;

	side_open(&a);
	side_open(&b);
	side_recv(&b, 0, SLOT);
	SAME(plain_specs(&a, &b) + tunnel_specs(&a, &b), ARRAY_SIZE(scapy_frames));
}

/* ---- random rules ---- */

#define SIDES		3
#define RULES		14
#define PORTS		3
#define ANY		-1
#define SENDS		1		/* wr_id; that of a receive is 0 */
#define NEVER		1000000

/* Destinations of frames: another host, a group, and the interface itself. */
enum { TO_OTHER, TO_GROUP, TO_OWN, DESTINATIONS };

/* One live rule of the model. Those of a priority and a shape are tried together. */
struct live {
	struct ibv_flow *flow;		/* NULL: none */
	int side, mac, port, priority, tag, born;
	enum ibv_flow_attr_type type;
	bool through, drop, egress;
};

static struct side sides[SIDES];
static struct live rules[RULES];
static uint8_t macs[DESTINATIONS][ETH_ALEN];
static int births;
static uint32_t random_state;

static int below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

static int rank_of(const struct live *rule)
{
	if (!rule->through && rule->mac == TO_GROUP)
		return NEVER;
	return 2 * rule->priority + !rule->through;
}

/* Are the rules tried at the same time? */
static bool together(const struct live *a, const struct live *b)
{
	return a->type == IBV_FLOW_ATTR_NORMAL && b->type == a->type && a->egress == b->egress &&
	       rank_of(a) == rank_of(b) && a->through == b->through &&
	       (a->mac == ANY) == (b->mac == ANY) && (a->port == ANY) == (b->port == ANY);
}

static int expected_error(const struct live *rule)
{
	int i;

	for (i = 0; i < RULES; i++)
		if (rules[i].flow && together(&rules[i], rule) && rules[i].mac == rule->mac &&
		    rules[i].port == rule->port &&
		    (rules[i].drop != rule->drop || (rule->tag && rules[i].tag != rule->tag)))
			return EEXIST;
	return 0;
}

static struct ibv_flow *make_live(const struct live *from)
{
	struct rule rule = rule_new(from->type);

	rule.attr.priority = from->priority;
	rule.attr.flags = (from->through ? IBV_FLOW_ATTR_FLAGS_DONT_TRAP : 0) |
			  (from->egress ? IBV_FLOW_ATTR_FLAGS_EGRESS : 0);
	if (from->mac != ANY)
		rule_mac(&rule, macs[from->mac]);
	if (from->port != ANY)
		rule_udp(&rule, PORT_A + from->port);
	if (from->tag)
		rule_tag(&rule, from->tag);
	if (from->drop)
		rule_drop(&rule);
	return ibv_create_flow(sides[from->side].qp, &rule.attr);
}

static void toggle(struct live *rule)
{
	int i, error;

	if (rule->flow) {
		SAME(ibv_destroy_flow(rule->flow), 0);
		rule->flow = NULL;
		return;
	}
	*rule = (struct live){
		.side = below(SIDES), .mac = ANY, .port = ANY, .type = IBV_FLOW_ATTR_NORMAL,
	};
	switch (below(8)) {
	case 0:
		rule->type = IBV_FLOW_ATTR_ALL_DEFAULT;
		break;
	case 1:
		rule->type = IBV_FLOW_ATTR_MC_DEFAULT;
		break;
	case 2:
		rule->type = IBV_FLOW_ATTR_SNIFFER;
		break;
	default:
		/* all of the host's own frames would end at a rule without a port */
		rule->mac = below(3) ? below(DESTINATIONS) : ANY;
		rule->port = rule->mac == ANY || below(2) ? below(PORTS) : ANY;
		rule->priority = below(3);
		rule->egress = !below(6);
		rule->through = !below(3);
		rule->drop = !below(6);
		rule->tag = rule->egress || below(2) ? 0 : 1 + below(2);
	}
	error = expected_error(rule);
	rule->flow = make_live(rule);
	if (error)
		CHECK(!rule->flow && errno == error);
	else
		CHECK(rule->flow);
	rule->born = ++births;
	for (i = 0; i < RULES; i++)
		if (&rules[i] != rule && rules[i].flow && together(&rules[i], rule))
			rule->born = rules[i].born;
}

struct frame {
	int from;		/* a side, or ANY: the cable */
	int mac, port;
};

/* The tags that each side gets, as numbers of completions: 0 to 2. */
struct gets {
	int num[SIDES][3];
};

static bool live_matches(const struct live *rule, const struct frame *frame, bool egress)
{
	return rule->flow && rule->type == IBV_FLOW_ATTR_NORMAL && rule->egress == egress &&
	       (rule->mac == ANY || rule->mac == frame->mac) &&
	       (rule->port == ANY || rule->port == frame->port) &&
	       (egress || rule->side != frame->from);
}

static bool before(const struct live *a, const struct live *b)
{
	return rank_of(a) != rank_of(b) ? rank_of(a) < rank_of(b) : a->born < b->born;
}

/* the rule that is tried first of those that match and end the search: a drop does, too */
static const struct live *last_rule(const struct frame *frame, bool egress)
{
	const struct live *last = NULL;
	int i;

	for (i = 0; i < RULES; i++)
		if (live_matches(&rules[i], frame, egress) &&
		    (!rules[i].through || rules[i].drop) && (!last || before(&rules[i], last)))
			last = &rules[i];
	return last;
}

static bool drops_egress(const struct frame *frame)
{
	const struct live *last = last_rule(frame, true);

	return last && last->drop;
}

/* Has somebody asked for the group, so that the host has it? A rule for it does. */
static bool group_joined(void)
{
	int i;

	for (i = 0; i < RULES; i++)
		if (rules[i].flow && rules[i].type == IBV_FLOW_ATTR_NORMAL && !rules[i].egress &&
		    rules[i].mac == TO_GROUP)
			return true;
	return false;
}

static void give_others(struct gets *gets, const struct frame *frame, enum ibv_flow_attr_type type)
{
	int i;

	for (i = 0; i < RULES; i++)
		if (rules[i].flow && rules[i].type == type &&
		    (type == IBV_FLOW_ATTR_SNIFFER || rules[i].side != frame->from))
			gets->num[rules[i].side][0]++;
}

static struct gets model(const struct frame *frame)
{
	const struct live *last;
	struct gets gets = {};
	int i;

	if (frame->from != ANY && drops_egress(frame))
		return gets;
	last = last_rule(frame, false);
	for (i = 0; i < RULES; i++)
		if (live_matches(&rules[i], frame, false) && (!last || !before(last, &rules[i])) &&
		    !rules[i].drop)
			gets.num[rules[i].side][rules[i].tag]++;
	/* to another host a QP's frame just leaves; the host wants its own */
	if (!last && (frame->mac == TO_GROUP ? !group_joined() :
		      frame->mac == TO_OTHER && frame->from == ANY)) {
		give_others(&gets, frame, IBV_FLOW_ATTR_ALL_DEFAULT);
		if (frame->mac == TO_GROUP)
			give_others(&gets, frame, IBV_FLOW_ATTR_MC_DEFAULT);
	}
	/* a frame to the interface itself that is taken does not leave */
	if (frame->from == ANY || !last || frame->mac != TO_OWN)
		give_others(&gets, frame, IBV_FLOW_ATTR_SNIFFER);
	return gets;
}

/*
 * Takes what has arrived from the CQ of each side. Returns the number of completions, with that of
 * the frame that was sent: a sniffer of the same side may get it first.
 */
static int collect(struct gets *gets)
{
	struct ibv_poll_cq_attr poll = {};
	uint32_t tag;
	int i, num = 0;

	for (i = 0; i < SIDES; i++) {
		while (!ibv_start_poll(sides[i].cq_ex, &poll)) {
			SAME(sides[i].cq_ex->status, IBV_WC_SUCCESS);
			if (sides[i].cq_ex->wr_id == SENDS) {
				ibv_end_poll(sides[i].cq_ex);
			} else {
				tag = ibv_wc_read_flow_tag(sides[i].cq_ex);
				CHECK(tag < 3);
				gets->num[i][tag]++;
				ibv_end_poll(sides[i].cq_ex);
				side_recv(&sides[i], 0, SLOT);
			}
			num++;
		}
	}
	return num;
}

static int sum(const struct gets *gets)
{
	int i, num = 0;

	for (i = 0; i < SIDES; i++)
		num += gets->num[i][0] + gets->num[i][1] + gets->num[i][2];
	return num;
}

static void send_one(int wire, const struct frame *frame)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = SENDS, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	uint8_t bytes[200];
	struct side *from;
	uint32_t length = frame_udp(bytes, macs[frame->mac], PORT_A + frame->port, 30);

	if (frame->from == ANY) {
		SAME(send(wire, bytes, length, 0), (long)length);
		return;
	}
	from = &sides[frame->from];
	memcpy(from->buf + SLOT, bytes, length);
	sge = (struct ibv_sge){ (uintptr_t)from->buf + SLOT, length, from->mr->lkey };
	SAME(ibv_post_send(from->qp, &wr, &bad), 0);
}

static void same_gets(int wire, const struct frame *frame)
{
	struct gets want = model(frame), got = {};
	uint64_t end = now_ns() + 1000000ULL * WAIT_MS;
	int num = 0, wanted = sum(&want) + (frame->from != ANY), i, tag;

	send_one(wire, frame);
	do
		num += collect(&got);
	while (num < wanted && now_ns() < end);
	for (i = 0; i < SIDES; i++)
		for (tag = 0; tag < 3; tag++)
			if (got.num[i][tag] != want.num[i][tag])
				FAIL("from %d, mac %d, port %d: side %d has %d of tag %d, not %d",
				     frame->from, frame->mac, frame->port, i, got.num[i][tag],
				     tag, want.num[i][tag]);
}

static int open_cable(void)
{
	const char *name = getenv("WEFT_WIRE");
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	CHECK(name && fd >= 0);
	to.sll_ifindex = if_nametoindex(name);
	SAME(bind(fd, (void *)&to, sizeof(to)), 0);
	return fd;
}

static void bind_port(uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	SAME(bind(socket(AF_INET, SOCK_DGRAM, 0), (void *)&to, sizeof(to)), 0);
}

static void read_own_mac(uint8_t *mac)
{
	FILE *file;
	char path[64];
	int i;

	snprintf(path, sizeof(path), "/sys/class/net/%s/address",
		 getenv("WEFT_OWN_NETDEV") ?: "raw0");
	file = fopen(path, "r");
	CHECK(file);
	for (i = 0; i < ETH_ALEN; i++)
		SAME(fscanf(file, i ? ":%2hhx" : "%2hhx", &mac[i]), 1);
	fclose(file);
}

/* $WEFT_SEED is where it begins; a failure shows the round. */
void random_rules(void)
{
	int rounds = repeat(60, 1500), wire = open_cable(), round, i, j;
	struct frame frame;

	random_state = atoi(getenv("WEFT_SEED") ?: "7");
	memcpy(macs[TO_OTHER], mac_unicast, ETH_ALEN);
	memcpy(macs[TO_GROUP], mac_group, ETH_ALEN);
	read_own_mac(macs[TO_OWN]);
	for (i = 0; i < SIDES; i++) {
		side_open(&sides[i]);
		for (j = 0; j < SLOTS - 2; j++)
			side_recv(&sides[i], 0, SLOT);
	}
	/* the host has the ports, or else it would answer, and a sniffer would see that */
	for (i = 0; i < PORTS; i++)
		bind_port(PORT_A + i);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 4; i++)
			toggle(&rules[below(RULES)]);
		for (i = 0; i < 8; i++) {
			note("round %d, frame %d", round, i);
			frame = (struct frame){ below(SIDES + 1) - 1, below(DESTINATIONS), below(PORTS) };
			same_gets(wire, &frame);
		}
	}
}

/* ---- one side of a QP, and its rate ---- */

/* A QP without receives sends, and a rule for it counts what it cannot get. */
void one_sided(void)
{
	uint64_t none = counter("out_of_buffer");
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	struct side a, b;
	uint32_t length;

	side_open(&a);
	side_open(&b);
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = raw_qp(&a, 16, 0);
	CHECK(a.qp);
	raw_ready(a.qp);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	side_recv(&b, 0, SLOT);
	length = frame_udp(a.buf, mac_unicast, PORT_A, 100);
	side_send(&a, 0, length, 0);
	side_got(&b, 0, length);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_mac(&rule, mac_group);
	rule_make(&a, &rule);
	length = frame_udp(b.buf + SLOT, mac_group, PORT_A, 100);
	side_send(&b, 1, length, 0);
	expect_no_wc(a.cq);
	SAME(counter("out_of_buffer"), none + 1);
}

/* Frames at 8 Mbit/s: the last one is not begun before the others have had their time. */
void paced(void)
{
	enum { FRAMES = 100, LENGTH = 1000, KBPS = 8000, BURST = 4096 };
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = KBPS, .max_burst_sz = BURST };
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	uint64_t start, least = ((FRAMES - 1) * LENGTH - BURST) * 8000000ULL / KBPS;
	struct side a, b;
	int i;

	side_open(&a);
	side_open(&b);
	rule_mac(&rule, mac_unicast);
	rule_make(&b, &rule);
	SAME(ibv_modify_qp_rate_limit(a.qp, &limit), 0);
	frame_udp(a.buf, mac_unicast, PORT_A, LENGTH - 42);
	start = now_ns();
	for (i = 0; i < FRAMES; i++) {
		side_recv(&b, 0, SLOT);
		side_send(&a, 0, LENGTH, 0);
		side_got(&b, 0, LENGTH);
	}
	CHECK(now_ns() - start >= least);
}
