// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What goes between the InfiniBand ports of $WEFT_DEVICE and $WEFT_PEER, each of which has
 * several LIDs: by each pair of them; and connections with a path between the first ones, and
 * an alternate path between others.
 *
 * $GONE is a command that makes the first LID of $WEFT_PEER useless, and $BACK undoes it.
 */
#include "lib.h"

#define ALT_TIMEOUT	13
#define GRH		40

/* one end, and what the library has for a device */
struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	struct end end;
	int bits;	/* which of its LIDs it is connected by */
};

static struct side a, b;

static void use(const struct side *side)
{
	ctx = side->ctx;
	pd = side->pd;
	port = side->port;
}

static void open_side(struct side *side, const char *variable)
{
	const char *name = getenv(variable);

	if (!name)
		FAIL("$%s says no device", variable);
	open_named(name);
	SAME(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
	SAME(port.state, IBV_PORT_ACTIVE);
	if (!port.lmc)
		FAIL("%s has one LID", name);
	side->ctx = ctx;
	side->pd = pd;
	side->port = port;
}

static struct ibv_ah_attr path_between(const struct side *side, const struct side *peer)
{
	return (struct ibv_ah_attr) {
		.dlid = peer->port.lid | peer->bits,
		.src_path_bits = side->bits,
		.port_num = 1,
	};
}

static struct ibv_ah_attr path_to(const struct side *peer, int bits)
{
	return (struct ibv_ah_attr) {
		.dlid = peer->port.lid | bits,
		.src_path_bits = bits,
		.port_num = 1,
	};
}

static void side_to_rtr(struct side *side, const struct side *peer)
{
	const struct conf *conf = &side->end.conf;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_2048,
		.dest_qp_num = peer->end.qp->qp_num,
		.rq_psn = peer->end.psn,
		.min_rnr_timer = conf->rnr_timer,
		.max_dest_rd_atomic = conf->dest_rd,
		.ah_attr = path_between(side, peer),
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN;

	if (conf->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	SAME(ibv_modify_qp(side->end.qp, &attr, mask), 0);
}

static void open_sides(void)
{
	open_side(&a, "WEFT_DEVICE");
	open_side(&b, "WEFT_PEER");
}

static void connect_sides(const struct conf *conf)
{
	use(&b);
	make(&b.end, conf);
	to_init(&b.end);
	use(&a);
	make(&a.end, conf);
	to_init(&a.end);
	side_to_rtr(&a, &b);
	side_to_rtr(&b, &a);
	to_rts(&a.end);
	to_rts(&b.end);
	check_works(&a.end, &b.end);
}

static void begin(const struct conf *conf)
{
	open_sides();
	connect_sides(conf);
}

static struct ibv_qp_attr query(const struct side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	SAME(ibv_query_qp(side->end.qp, &attr, QP_ATTRS, &init), 0);
	return attr;
}

static void expect_mig(const struct side *side, enum ibv_mig_state want)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (query(side).path_mig_state != want && now_ns() < end)
		sleep_ms(1);
	SAME(query(side).path_mig_state, want);
}

static void expect_path(const struct side *side, const struct side *peer, int bits)
{
	struct ibv_qp_attr attr = query(side);

	SAME(attr.ah_attr.dlid, peer->port.lid | bits);
	SAME(attr.ah_attr.src_path_bits, bits);
	SAME(attr.ah_attr.is_global, 0);
}

static int rearm(const struct side *side, struct ibv_ah_attr path)
{
	struct ibv_qp_attr attr = {
		.alt_ah_attr = path,
		.alt_port_num = 1,
		.alt_timeout = ALT_TIMEOUT,
		.path_mig_state = IBV_MIG_REARM,
	};

	return ibv_modify_qp(side->end.qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
}

/* both have the path between these LIDs in reserve, and know that the other one has */
static void arm(int bits)
{
	SAME(rearm(&a, path_to(&b, bits)), 0);
	SAME(rearm(&b, path_to(&a, bits)), 0);
	check_works(&a.end, &b.end);
	expect_mig(&a, IBV_MIG_ARMED);
	expect_mig(&b, IBV_MIG_ARMED);
}

static void migrate(const struct side *side)
{
	struct ibv_qp_attr attr = { .path_mig_state = IBV_MIG_MIGRATED };

	SAME(ibv_modify_qp(side->end.qp, &attr, IBV_QP_PATH_MIG_STATE), 0);
}

/* that of its QP; what a subnet manager does has events, too */
static void expect_qp_event(const struct side *side, enum ibv_event_type type)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_async_event event;

	for (;;) {
		if (now_ns() > end)
			FAIL("no event '%s'", ibv_event_type_str(type));
		if (ibv_get_async_event(side->ctx, &event)) {
			sleep_ms(1);
			continue;
		}
		ibv_ack_async_event(&event);
		if (event.event_type == type)
			break;
		if (event.event_type < IBV_EVENT_PORT_ACTIVE)
			FAIL("event %d", event.event_type);
	}
	CHECK(event.element.qp == side->end.qp);
}

static void expect_both_on(int bits)
{
	expect_mig(&a, IBV_MIG_MIGRATED);
	expect_mig(&b, IBV_MIG_MIGRATED);
	expect_path(&a, &b, bits);
	expect_path(&b, &a, bits);
	expect_qp_event(&a, IBV_EVENT_PATH_MIG);
	expect_qp_event(&b, IBV_EVENT_PATH_MIG);
}

static void command(const char *name)
{
	const char *text = getenv(name);

	CHECK(text);
	if (system(text))
		FAIL("$%s failed: %s", name, text);
}

/*
 * ---- Cases ----
 */

/* each LID of the one port with each of the other */
static void for_each_pair(void (*check)(void))
{
	open_sides();
	for (a.bits = 0; a.bits < 1 << a.port.lmc; a.bits++) {
		for (b.bits = 0; b.bits < 1 << b.port.lmc; b.bits++) {
			note("LIDs %d and %d", a.port.lid | a.bits, b.port.lid | b.bits);
			check();
			unmake(&a.end);
			unmake(&b.end);
		}
	}
}

static void connected_by_pair(enum ibv_qp_type type)
{
	struct ibv_qp_attr attr;

	connect_sides(CONF(.type = type));
	check_works(&a.end, &b.end);
	attr = query(&b);
	SAME(attr.ah_attr.dlid, a.port.lid | a.bits);
	SAME(attr.ah_attr.src_path_bits, b.bits);
}

static void rc_by_pair(void)
{
	connected_by_pair(IBV_QPT_RC);
}

static void uc_by_pair(void)
{
	connected_by_pair(IBV_QPT_UC);
}

static void connections_by_each_lid(void)
{
	for_each_pair(rc_by_pair);
}

static void unreliable_by_each_lid(void)
{
	for_each_pair(uc_by_pair);
}

/* the receiver is told by which LIDs it came, and its answer goes back by them */
static void answer_datagram(struct ibv_wc *wc)
{
	struct ibv_ah *ah = ibv_create_ah_from_wc(b.pd, wc, (struct ibv_grh *)b.end.buf, 1);

	CHECK(ah);
	post_recv(&a.end, 3, 0, 100 + GRH);
	post(&b.end, to_ah(swr(&b.end, 4, IBV_WR_SEND, GRH, 100), ah, &a.end));
	expect_ok(b.end.scq, 4);
	*wc = expect_ok(a.end.rcq, 3);
	SAME(wc->slid, b.port.lid | b.bits);
	SAME(wc->dlid_path_bits, a.bits);
	check_filled(a.end.buf + GRH, 100, 5);
	SAME(ibv_destroy_ah(ah), 0);
}

static void make_datagram_sides(void)
{
	use(&b);
	make(&b.end, CONF(.type = IBV_QPT_UD));
	to_ready(&b.end);
	use(&a);
	make(&a.end, CONF(.type = IBV_QPT_UD));
	to_ready(&a.end);
}

static void send_datagram(struct ibv_ah_attr path, int seed)
{
	struct ibv_ah *ah = ibv_create_ah(a.pd, &path);

	CHECK(ah);
	fill(a.end.buf, 100, seed);
	post(&a.end, to_ah(swr(&a.end, 2, IBV_WR_SEND, 0, 100), ah, &b.end));
	expect_ok(a.end.scq, 2);
	SAME(ibv_destroy_ah(ah), 0);
}

static struct ibv_wc datagram_arrives(int seed)
{
	struct ibv_wc wc = expect_ok(b.end.rcq, 1);

	SAME(wc.slid, a.port.lid | a.bits);
	check_filled(b.end.buf + GRH, 100, seed);
	return wc;
}

static void datagram_by_pair(void)
{
	struct ibv_wc wc;

	make_datagram_sides();
	post_recv(&b.end, 1, 0, 100 + GRH);
	send_datagram(path_between(&a, &b), 5);
	wc = datagram_arrives(5);
	SAME(wc.dlid_path_bits, b.bits);
	answer_datagram(&wc);
}

static void datagrams_by_each_lid(void)
{
	for_each_pair(datagram_by_pair);
}

/* to where the switch has no way nothing gets */
static void datagrams_by_switch(void)
{
	open_sides();
	make_datagram_sides();
	command("GONE");
	post_recv(&b.end, 1, 0, 100 + GRH);
	send_datagram(path_to(&b, 0), 6);
	a.bits = 1;
	send_datagram(path_to(&b, 1), 7);
	datagram_arrives(7);
	command("BACK");
	a.bits = 0;
	post_recv(&b.end, 1, 0, 100 + GRH);
	send_datagram(path_to(&b, 0), 8);
	datagram_arrives(8);
}

static void query_returns(void)
{
	struct ibv_qp_attr attr;

	begin(CONF());
	expect_path(&a, &b, 0);
	SAME(rearm(&a, path_to(&b, 1)), 0);
	attr = query(&a);
	SAME(attr.path_mig_state, IBV_MIG_REARM);
	SAME(attr.alt_port_num, 1);
	SAME(attr.alt_timeout, ALT_TIMEOUT);
	SAME(attr.alt_ah_attr.dlid, b.port.lid | 1);
	SAME(attr.alt_ah_attr.src_path_bits, 1);
	SAME(attr.alt_ah_attr.is_global, 0);
	expect_path(&a, &b, 0);
}

static void invalid_paths(void)
{
	struct ibv_ah_attr path;

	begin(CONF());
	path = path_to(&b, 1);
	path.port_num = 2;
	CHECK(rearm(&a, path));
	path = path_to(&b, 1);
	path.dlid = 0xc001;
	CHECK(rearm(&a, path));
	SAME(query(&a).path_mig_state, IBV_MIG_MIGRATED);
	check_works(&a.end, &b.end);
}

static void explicit_of(enum ibv_qp_type type)
{
	int i;

	note("type %d", type);
	begin(CONF(.type = type));
	for (i = 1; i < 5; i++) {
		arm(i % 2);
		migrate(i < 3 ? &a : &b);
		check_works(&a.end, &b.end);
		expect_both_on(i % 2);
	}
}

static void explicit_rc(void)
{
	explicit_of(IBV_QPT_RC);
}

static void explicit_uc(void)
{
	explicit_of(IBV_QPT_UC);
}

/* by the forwarding tables one way is none any more */
static void path_fails(void)
{
	int i;

	begin(CONF(.timeout = 12, .retry = 3));
	arm(1);
	command("GONE");
	for (i = 0; i < 20; i++)
		check_works(&a.end, &b.end);
	expect_both_on(1);
	command("BACK");
	/* there is something to go back to */
	arm(0);
	migrate(&b);
	check_works(&a.end, &b.end);
	expect_both_on(0);
}

/* the peer has gone to LIDs that are not those of our alternate path */
static void other_alternates(void)
{
	struct ibv_ah_attr path;

	begin(CONF(.timeout = 12, .retry = 2));
	/* it comes from that LID, but the other one of the peer */
	path = path_to(&a, 0);
	path.src_path_bits = 1;
	SAME(rearm(&a, path_to(&b, 1)), 0);
	SAME(rearm(&b, path), 0);
	check_works(&a.end, &b.end);
	expect_mig(&a, IBV_MIG_ARMED);
	expect_mig(&b, IBV_MIG_ARMED);
	migrate(&a);
	expect_qp_event(&a, IBV_EVENT_PATH_MIG);
	post_recv(&b.end, 1, 0, 100);
	post(&a.end, swr(&a.end, 2, IBV_WR_SEND, 0, 100));
	expect_wc(a.end.scq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_qp_event(&b, IBV_EVENT_PATH_MIG_ERR);
	SAME(query(&b).path_mig_state, IBV_MIG_ARMED);
}

/* without an alternate path it is the end */
static void nowhere_to_go(void)
{
	begin(CONF(.timeout = 10, .retry = 2));
	command("GONE");
	post(&a.end, swr(&a.end, 1, IBV_WR_SEND, 0, 100));
	expect_wc(a.end.scq, 1, IBV_WC_RETRY_EXC_ERR);
	command("BACK");
	SAME(query(&a).path_mig_state, IBV_MIG_MIGRATED);
}

/* By the LID of one port, and the number of a QP of another one: nobody gets it. */
static void datagram_to_another(void)
{
	struct ibv_ah_attr path;
	uint64_t unknown;
	struct ibv_ah *ah;

	open_sides();
	make_datagram_sides();
	use(&b);
	unknown = counter("rx_unknown_qp");
	use(&a);
	post_recv(&a.end, 1, 0, 100 + GRH);
	path = path_to(&b, 0);
	ah = ibv_create_ah(a.pd, &path);
	CHECK(ah);
	post(&a.end, to_ah(swr(&a.end, 2, IBV_WR_SEND, 0, 100), ah, &a.end));
	expect_ok(a.end.scq, 2);
	expect_no_wc(a.end.rcq);
	use(&b);
	SAME(counter("rx_unknown_qp"), unknown + 1);
}

TESTS(
	TEST(connections_by_each_lid), TEST(unreliable_by_each_lid), TEST(datagrams_by_each_lid),
	TEST(datagrams_by_switch),
	TEST(query_returns), TEST(invalid_paths), TEST(explicit_rc), TEST(explicit_uc),
	TEST(path_fails), TEST(other_alternates), TEST(nowhere_to_go), TEST(datagram_to_another)
)
