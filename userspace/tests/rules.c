// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rules of flow steering of QPs that are not of the type RAW_PACKET, on ports of either kind: which
 * QPs can have none, and which datagrams of IPoIB those get that can. frames.c has raw packets.
 */
#include "flows.h"
#include "lib.h"

#include <arpa/inet.h>

#define GRH		40
#define PORT		7000
#define IPOIB		4		/* the header of a datagram */

static struct end a, x, y;		/* sender, owner of the number, QP in its name */
static struct ibv_ah *ah;

/* a rule for datagrams of UDP to a port */
static struct rule udp_to(uint16_t dst_port)
{
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);

	rule_udp(&rule, dst_port);
	return rule;
}

static bool on_infiniband(void)
{
	return port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

/* the core's own refusal */
static void connected(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct rule rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	int i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make(&a, CONF(.type = types[i]));
		REFUSED(ibv_create_flow(a.qp, &rule.attr), EINVAL);
		unmake(&a);
	}
}

static struct ibv_qp *in_the_name(const struct end *e, uint32_t source)
{
	return ibv_create_qp_ex(ctx, &(struct ibv_qp_init_attr_ex){
		.send_cq = e->scq, .recv_cq = e->rcq, .pd = pd, .qp_type = IBV_QPT_UD,
		.cap = { 16, 16, 4, 4, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_SOURCE_QPN, .source_qpn = source,
	});
}

/* @y takes the place of its QP */
static void open_ends(void)
{
	make(&a, CONF(.type = IBV_QPT_UD));
	make(&x, CONF(.type = IBV_QPT_UD));
	make(&y, CONF(.type = IBV_QPT_UD));
	SAME(ibv_destroy_qp(y.qp), 0);
	y.qp = in_the_name(&y, x.qp->qp_num);
	CHECK(y.qp);
	to_ready(&a);
	to_ready(&x);
	to_ready(&y);
	ah = ah_to(gid4, gid4);
}

/* On RoCE no QP of the type UD can have a rule; on InfiniBand one in the name of another can. */
static void datagrams(void)
{
	struct rule rule = udp_to(PORT), all = rule_new(IBV_FLOW_ATTR_ALL_DEFAULT);
	struct ibv_device_attr_ex attr;

	open_ends();
	REFUSED(ibv_create_flow(x.qp, &rule.attr), EOPNOTSUPP);
	REFUSED(ibv_create_flow(y.qp, &all.attr), EOPNOTSUPP);
	all.attr.type = IBV_FLOW_ATTR_SNIFFER;
	REFUSED(ibv_create_flow(x.qp, &all.attr), EOPNOTSUPP);
	REFUSED(ibv_create_flow(y.qp, &all.attr), EOPNOTSUPP);
	if (on_infiniband()) {
		SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
		CHECK(attr.orig_attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING);
	} else {
		REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	}
	/* what was refused holds none of them */
	unmake(&y);
	unmake(&x);
}

/* A datagram of IPoIB in a.buf: UDP in IPv4 or IPv6, from port 999. Returns its length. */
static uint32_t datagram(bool v6, uint16_t dst_port, uint32_t payload)
{
	uint8_t *ip = a.buf + IPOIB, *udp = ip + (v6 ? 40 : 20);

	memset(a.buf, 0, IPOIB + 40 + 8);
	memcpy(a.buf, v6 ? "\x86\xdd" : "\x08", 2);
	ip[0] = v6 ? 0x60 : 0x45;
	if (v6) {
		ip[6] = 17;
		ip[39] = 1;
	} else {
		ip[9] = 17;
		memcpy(ip + 12, "\x0a\x0a\x09\x02\x0a\x0a\x09\x01", 8);
	}
	memcpy(udp, &(uint16_t){ htons(999) }, 2);
	memcpy(udp + 2, &(uint16_t){ htons(dst_port) }, 2);
	fill(udp + 8, payload, dst_port);
	return udp + 8 + payload - a.buf;
}

/* Sends that datagram to the number of @x; @to gets it, or nobody does (NULL). */
static void goes_to_(int line, struct end *to, bool v6, uint16_t dst_port)
{
	uint32_t length = datagram(v6, dst_port, 100 + dst_port % 7);
	struct ibv_wc wc;

	note("line %d", line);
	memset(x.buf, 0, 2000);
	memset(y.buf, 0, 2000);
	post_recv(&x, 1, 0, 2000);
	post_recv(&y, 2, 0, 2000);
	post(&a, to_ah(swr(&a, 3, IBV_WR_SEND, 0, length), ah, &x));
	expect_ok(a.scq, 3);
	if (to) {
		wc = expect_ok(to->rcq, to == &x ? 1 : 2);
		SAME(wc.byte_len, GRH + length);
		SAME(wc.src_qp, a.qp->qp_num);
		SAME(memcmp(to->buf + GRH, a.buf, length), 0);
	}
	if (to != &x)
		expect_no_wc(x.rcq);
	if (to != &y)
		expect_no_wc_now(y.rcq);
	/* no receive is left */
	to_state(&x, IBV_QPS_RESET);
	to_ready(&x);
	to_state(&y, IBV_QPS_RESET);
	to_ready(&y);
}
#define goes_to(to, v6, dst_port)	goes_to_(__LINE__, to, v6, dst_port)

/* Datagrams that a rule matches go to the QP with the rule, and the others to the number's owner. */
static void ipoib_rules(void)
{
	struct ibv_flow_spec_ipv4_ext ipv4 = {
		.type = IBV_FLOW_SPEC_IPV4_EXT, .size = sizeof(ipv4),
		.val.src_ip = inet_addr("10.10.9.2"), .mask.src_ip = ~0,
	};
	struct ibv_flow_spec_ipv6 ipv6 = {
		.type = IBV_FLOW_SPEC_IPV6, .size = sizeof(ipv6), .val.dst_ip = { [15] = 1 },
		.mask.dst_ip = { [15] = 255 },
	};
	struct ibv_flow *flow, *other;
	struct rule rule;

	if (!on_infiniband())
		return;
	open_ends();
	goes_to(&x, false, PORT);
	rule = udp_to(PORT);
	flow = ibv_create_flow(y.qp, &rule.attr);
	CHECK(flow);
	goes_to(&y, false, PORT);
	goes_to(&y, true, PORT);
	goes_to(&x, false, PORT + 1);
	/* one for all of the host */
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule.attr.priority = 1;
	rule_add(&rule, &ipv4, sizeof(ipv4));
	other = ibv_create_flow(y.qp, &rule.attr);
	CHECK(other);
	goes_to(&y, false, PORT);
	goes_to(&y, false, PORT + 1);
	goes_to(&x, true, PORT + 1);
	REFUSED(ibv_destroy_qp(y.qp), EBUSY);
	SAME(ibv_destroy_flow(other), 0);
	SAME(ibv_destroy_flow(flow), 0);
	goes_to(&x, false, PORT);
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	rule_add(&rule, &ipv6, sizeof(ipv6));
	flow = ibv_create_flow(y.qp, &rule.attr);
	CHECK(flow);
	goes_to(&y, true, PORT);
	goes_to(&x, false, PORT);
	SAME(ibv_destroy_flow(flow), 0);
	/* all that is sent to the number, whatever it is */
	rule = rule_new(IBV_FLOW_ATTR_NORMAL);
	flow = ibv_create_flow(y.qp, &rule.attr);
	CHECK(flow);
	goes_to(&y, false, PORT);
	post_recv(&y, 4, 0, 2000);
	post(&a, to_ah(swr(&a, 5, IBV_WR_SEND, 0, 1), ah, &x));
	expect_ok(y.rcq, 4);
	expect_ok(a.scq, 5);
	post_recv(&y, 4, 0, 2000);
	post(&a, to_ah(swr(&a, 5, IBV_WR_SEND, 0, 0), ah, &x));
	expect_ok(y.rcq, 4);
	expect_ok(a.scq, 5);
	SAME(ibv_destroy_flow(flow), 0);
	expect_no_event();
}

/* A rule of a UD QP has no other specs, flags and priorities, and is not a rule of two QPs. */
static void ipoib_refused(void)
{
	struct ibv_flow_spec_eth eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(eth) };
	struct ibv_flow_spec_action_tag tag = {
		.type = IBV_FLOW_SPEC_ACTION_TAG, .size = sizeof(tag), .tag_id = 7,
	};
	struct ibv_flow_spec_action_drop drop = {
		.type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(drop),
	};
	struct ibv_flow_spec_tunnel vxlan = {
		.type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof(vxlan),
	};
	struct ibv_flow *flow;
	struct ibv_qp *other;
	struct rule rule;

	if (!on_infiniband())
		return;
	open_ends();
	rule = udp_to(PORT);
	rule_add(&rule, &eth, sizeof(eth));
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule = udp_to(PORT);
	rule_add(&rule, &tag, sizeof(tag));
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule = udp_to(PORT);
	rule_add(&rule, &drop, sizeof(drop));
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule = udp_to(PORT);
	rule_add(&rule, &vxlan, sizeof(vxlan));
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule = udp_to(PORT);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	REFUSED(ibv_create_flow(y.qp, &rule.attr), EOPNOTSUPP);
	rule.attr.flags = 0;
	rule.attr.priority = 16;
	REFUSED(ibv_create_flow(y.qp, &rule.attr), ENOMEM);
	rule.attr.priority = 0;
	/* one QP has a rule; the same in the name of another number is another rule */
	flow = ibv_create_flow(y.qp, &rule.attr);
	CHECK(flow);
	other = in_the_name(&y, x.qp->qp_num);
	CHECK(other);
	REFUSED(ibv_create_flow(other, &rule.attr), EEXIST);
	SAME(ibv_destroy_qp(other), 0);
	other = in_the_name(&y, a.qp->qp_num);
	CHECK(other);
	SAME(ibv_destroy_flow(flow), 0);
	flow = ibv_create_flow(other, &rule.attr);
	CHECK(flow);
	goes_to(&x, false, PORT);
	SAME(ibv_destroy_flow(flow), 0);
	SAME(ibv_destroy_qp(other), 0);
}

/* The Q_Key and the state of the QP with the rule count, not those of the number's owner. */
static void ipoib_checked(void)
{
	struct ibv_qp_attr attr = { .qkey = 0x1234 };
	struct rule rule = udp_to(PORT);
	uint64_t before;

	if (!on_infiniband())
		return;
	open_ends();
	CHECK(ibv_create_flow(y.qp, &rule.attr));
	SAME(ibv_modify_qp(y.qp, &attr, IBV_QP_QKEY), 0);
	before = counter("ud_dropped_qkey");
	goes_to(NULL, false, PORT);
	SAME(counter("ud_dropped_qkey"), before + 1);
	goes_to(&y, false, PORT);
	/* goes_to() has left it ready */
	to_state(&y, IBV_QPS_RESET);
	post_recv(&x, 1, 0, 2000);
	post(&a, to_ah(swr(&a, 3, IBV_WR_SEND, 0, datagram(false, PORT, 10)), ah, &x));
	expect_ok(a.scq, 3);
	expect_no_wc(x.rcq);
}

/* The rule comes and goes while datagrams are under way: each is received by one of both. */
static void ipoib_churn(void)
{
	struct rule rule = udp_to(PORT);
	struct ibv_flow *flow = NULL;
	int rounds = repeat(50, 1000), of_x = 0, of_y = 0, i, j;
	uint32_t length;
	struct ibv_wc wc;

	if (!on_infiniband())
		return;
	open_ends();
	length = datagram(false, PORT, 50);
	for (i = 0; i < rounds; i++) {
		for (j = 0; j < 8; j++) {
			post_recv(&x, 1, 0, 2000);
			post_recv(&y, 2, 0, 2000);
		}
		for (j = 0; j < 8; j++) {
			post(&a, to_ah(swr(&a, 3, IBV_WR_SEND, 0, length), ah, &x));
			if (j % 3)
				continue;
			if (flow) {
				SAME(ibv_destroy_flow(flow), 0);
				flow = NULL;
			} else {
				flow = ibv_create_flow(y.qp, &rule.attr);
				CHECK(flow);
			}
		}
		for (j = 0; j < 8; j++)
			expect_ok(a.scq, 3);
		while (of_x + of_y < 8 * (i + 1)) {
			for (; ibv_poll_cq(x.rcq, 1, &wc) == 1; of_x++)
				SAME(wc.status, IBV_WC_SUCCESS);
			for (; ibv_poll_cq(y.rcq, 1, &wc) == 1; of_y++)
				SAME(wc.status, IBV_WC_SUCCESS);
		}
		SAME(of_x + of_y, 8 * (i + 1));
		to_state(&x, IBV_QPS_RESET);
		to_ready(&x);
		to_state(&y, IBV_QPS_RESET);
		to_ready(&y);
	}
	CHECK(of_x && of_y);
}

/* says "running", and sends by a rule until the device is removed */
static void ipoib_removed(void)
{
	struct rule rule = udp_to(PORT);
	struct ibv_send_wr *wr, *bad;
	struct ibv_wc wc;
	uint32_t length;
	int ret;

	if (!getenv("REMOVAL"))
		return;
	open_ends();
	length = datagram(false, PORT, 50);
	CHECK(ibv_create_flow(y.qp, &rule.attr));
	goes_to(&y, false, PORT);
	printf("running\n");
	fflush(stdout);
	for (;;) {
		wr = to_ah(swr(&a, 3, IBV_WR_SEND, 0, length), ah, &x);
		ret = ibv_post_send(a.qp, wr, &bad);
		while (ibv_poll_cq(a.scq, 1, &wc) == 1)
			if (wc.status == IBV_WC_FATAL_ERR)
				return;
		if (ret && ret != ENOMEM)
			break;
	}
	SAME(ret, EIO);
}

/* Puts a UDP datagram that @from has, behind the GRH, as an answer into a.buf: checksums stay right. */
static void put_answer(const uint8_t *from, uint32_t length)
{
	const uint8_t *ip = from + GRH + IPOIB;
	uint8_t *to = a.buf + IPOIB;

	memcpy(a.buf, from + GRH, length);
	memcpy(to + 12, ip + 16, 4);
	memcpy(to + 16, ip + 12, 4);
	memcpy(to + 20, ip + 22, 2);
	memcpy(to + 22, ip + 20, 2);
}

/*
 * $IPOIB_QPN, of an interface of IPoIB: takes a datagram to UDP port 7000 from its stack, and
 * answers in its name.
 */
static void ipoib_interface(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0xb1b,
	};
	struct rule rule = udp_to(PORT);
	struct ibv_send_wr *wr;
	struct ibv_wc wc;

	if (!getenv("IPOIB_QPN"))
		return;
	make(&a, CONF(.type = IBV_QPT_UD));
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = in_the_name(&a, strtoul(getenv("IPOIB_QPN"), NULL, 16));
	CHECK(a.qp);
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
			   IBV_QP_QKEY), 0);
	to_state(&a, IBV_QPS_RTR);
	to_rts(&a);
	post_recv(&a, 1, 2000, 2048);
	CHECK(ibv_create_flow(a.qp, &rule.attr));
	/* the test takes its time */
	alarm(0);
	printf("ready\n");
	fflush(stdout);
	while (!ibv_poll_cq(a.rcq, 1, &wc))
		sleep_ms(1);
	SAME(wc.status, IBV_WC_SUCCESS);
	SAME(wc.byte_len, GRH + IPOIB + 28 + 4);
	SAME(memcmp(a.buf + 2000 + GRH + IPOIB + 28, "weft", 4), 0);
	ah = ibv_create_ah_from_wc(pd, &wc, (void *)(a.buf + 2000), 1);
	CHECK(ah);
	put_answer(a.buf + 2000, wc.byte_len - GRH);
	wr = swr(&a, 2, IBV_WR_SEND, 0, wc.byte_len - GRH);
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = wc.src_qp;
	wr->wr.ud.remote_qkey = 0xb1b;
	post(&a, wr);
	expect_ok(a.scq, 2);
}

TESTS(
	TEST(connected), TEST(datagrams), TEST(ipoib_rules), TEST(ipoib_refused), TEST(ipoib_checked),
	TEST(ipoib_churn), TEST(ipoib_removed), TEST(ipoib_interface)
)
