// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A connected QP with an alternate path: what may be set when, and the ways to get
 * there. The paths are the IPv4 and the IPv6 address of one device.
 *
 * With $GONE, a command that makes the IPv4 address useless, and $BACK, which undoes it,
 * the first path fails as well.
 */
#include "lib.h"

#define ALT_TIMEOUT	13

static struct end a, b;

static struct ibv_qp_attr query(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	SAME(ibv_query_qp(e->qp, &attr, QP_ATTRS, &init), 0);
	return attr;
}

static enum ibv_mig_state mig_of(struct end *e)
{
	return query(e).path_mig_state;
}

static void expect_mig(struct end *e, enum ibv_mig_state want)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (mig_of(e) != want && now_ns() < end)
		sleep_ms(1);
	SAME(mig_of(e), want);
}

static struct ibv_qp_attr alt_attr(int gid)
{
	struct ibv_qp_attr attr = {
		.alt_port_num = 1,
		.alt_timeout = ALT_TIMEOUT,
		.path_mig_state = IBV_MIG_REARM,
	};

	av_to(&attr.alt_ah_attr, gid, gid);
	return attr;
}

static int try_mig(struct end *e, enum ibv_mig_state state)
{
	struct ibv_qp_attr attr = { .path_mig_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_PATH_MIG_STATE);
}

static void load(struct end *e, int gid)
{
	struct ibv_qp_attr attr = alt_attr(gid);

	SAME(ibv_modify_qp(e->qp, &attr, IBV_QP_ALT_PATH), 0);
}

static void rearm(struct end *e, int gid)
{
	struct ibv_qp_attr attr = alt_attr(gid);

	SAME(ibv_modify_qp(e->qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE), 0);
}

static void expect_path(struct end *e, int gid)
{
	struct ibv_qp_attr attr = query(e);
	union ibv_gid dgid;

	SAME(ibv_query_gid(ctx, 1, gid, &dgid), 0);
	SAME(attr.ah_attr.grh.sgid_index, gid);
	SAME(memcmp(&attr.ah_attr.grh.dgid, &dgid, sizeof(dgid)), 0);
}

/* both have @to in reserve, and know that the other one has */
static void arm(int to)
{
	rearm(&a, to);
	SAME(mig_of(&a), IBV_MIG_REARM);
	rearm(&b, to);
	check_works(&a, &b);
	expect_mig(&a, IBV_MIG_ARMED);
	expect_mig(&b, IBV_MIG_ARMED);
}

/* PATH_MIG of both, in any order */
static void expect_both_migrate(void)
{
	struct ibv_async_event event;
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	bool seen_a = false, seen_b = false;

	while (!seen_a || !seen_b) {
		if (now_ns() > end)
			FAIL("PATH_MIG of a: %d, of b: %d", seen_a, seen_b);
		if (ibv_get_async_event(ctx, &event)) {
			sleep_ms(1);
			continue;
		}
		ibv_ack_async_event(&event);
		/* an address that goes */
		if (event.event_type == IBV_EVENT_GID_CHANGE)
			continue;
		SAME(event.event_type, IBV_EVENT_PATH_MIG);
		if (event.element.qp == a.qp) {
			CHECK(!seen_a);
			seen_a = true;
		} else {
			CHECK(!seen_b);
			seen_b = true;
		}
	}
}

static void two_addresses(void)
{
	if (gid6 < 0)
		FAIL("the device has no IPv6 address");
}

/*
 * ---- What may be set ----
 */

static void advertised(void)
{
	struct ibv_device_attr dev;

	SAME(ibv_query_device(ctx, &dev), 0);
	CHECK(dev.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG);
}

static void query_returns(void)
{
	struct ibv_qp_attr attr, got;

	two_addresses();
	make_pair(&a, &b, CONF());
	got = query(&a);
	SAME(got.path_mig_state, IBV_MIG_MIGRATED);
	SAME(got.alt_port_num, 0);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.grh.traffic_class = 0x24;
	attr.alt_ah_attr.grh.flow_label = 0x12345;
	attr.alt_ah_attr.sl = 2;
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_ALT_PATH), 0);
	got = query(&a);
	SAME(got.path_mig_state, IBV_MIG_MIGRATED);
	SAME(got.alt_port_num, 1);
	SAME(got.alt_timeout, ALT_TIMEOUT);
	SAME(got.alt_pkey_index, 0);
	SAME(got.alt_ah_attr.is_global, 1);
	SAME(got.alt_ah_attr.port_num, 1);
	SAME(got.alt_ah_attr.sl, 2);
	SAME(got.alt_ah_attr.grh.sgid_index, gid6);
	SAME(got.alt_ah_attr.grh.traffic_class, 0x24);
	SAME(got.alt_ah_attr.grh.flow_label, 0x12345);
	SAME(memcmp(&got.alt_ah_attr.grh.dgid, &attr.alt_ah_attr.grh.dgid, 16), 0);
	expect_path(&a, gid4);
	SAME(try_mig(&a, IBV_MIG_REARM), 0);
	SAME(mig_of(&a), IBV_MIG_REARM);
	to_state(&a, IBV_QPS_RESET);
	got = query(&a);
	SAME(got.path_mig_state, IBV_MIG_MIGRATED);
	SAME(got.alt_port_num, 0);
}

static void transitions(void)
{
	two_addresses();
	make_pair(&a, &b, CONF());
	/* nothing to have in reserve */
	REFUSED(try_mig(&a, IBV_MIG_REARM), EINVAL);
	REFUSED(try_mig(&a, IBV_MIG_ARMED), EINVAL);
	REFUSED(try_mig(&a, 3), EINVAL);
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	SAME(mig_of(&a), IBV_MIG_MIGRATED);
	load(&a, gid6);
	REFUSED(try_mig(&a, IBV_MIG_ARMED), EINVAL);
	SAME(try_mig(&a, IBV_MIG_REARM), 0);
	/* not before the peer wants to */
	REFUSED(try_mig(&a, IBV_MIG_MIGRATED), EINVAL);
	REFUSED(try_mig(&a, IBV_MIG_ARMED), EINVAL);
	SAME(mig_of(&a), IBV_MIG_REARM);
	check_works(&a, &b);
	SAME(mig_of(&a), IBV_MIG_REARM);
	rearm(&b, gid6);
	check_works(&a, &b);
	expect_mig(&a, IBV_MIG_ARMED);
	REFUSED(try_mig(&a, IBV_MIG_ARMED), EINVAL);
	/* another one in reserve: agreed upon again */
	SAME(try_mig(&a, IBV_MIG_REARM), 0);
	SAME(mig_of(&a), IBV_MIG_REARM);
	check_works(&a, &b);
	expect_mig(&a, IBV_MIG_ARMED);
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	SAME(mig_of(&a), IBV_MIG_MIGRATED);
	/* it has been used */
	REFUSED(try_mig(&a, IBV_MIG_REARM), EINVAL);
}

static void expect_alt_refused(const char *what, const struct ibv_qp_attr *attr)
{
	struct ibv_qp_attr copy = *attr, before = query(&a), now;

	note("%s", what);
	CHECK(ibv_modify_qp(a.qp, &copy, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
	now = query(&a);
	SAME(memcmp(&before, &now, sizeof(now)), 0);
}

static void invalid_paths(void)
{
	struct ibv_qp_attr attr;

	two_addresses();
	make_pair(&a, &b, CONF());
	attr = alt_attr(gid6);
	attr.alt_port_num = 2;
	expect_alt_refused("port 2", &attr);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.port_num = 2;
	expect_alt_refused("port 2 of the path", &attr);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.port_num = 0;
	expect_alt_refused("port 0 of the path", &attr);
	attr = alt_attr(gid6);
	attr.alt_pkey_index = 1;
	expect_alt_refused("P_Key 1", &attr);
	attr = alt_attr(gid6);
	attr.alt_timeout = 32;
	expect_alt_refused("timeout 32", &attr);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.grh.sgid_index = port.gid_tbl_len - 1;
	expect_alt_refused("an empty GID", &attr);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.is_global = 0;
	expect_alt_refused("no GRH", &attr);
	attr = alt_attr(gid6);
	attr.alt_ah_attr.grh.dgid.raw[0] = 0xff;
	expect_alt_refused("a multicast group", &attr);
	attr = alt_attr(gid6);
	attr.path_mig_state = IBV_MIG_ARMED;
	expect_alt_refused("ARMED", &attr);
}

static void not_of_ud(void)
{
	struct ibv_qp_attr attr;

	two_addresses();
	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	attr = alt_attr(gid6);
	REFUSED(ibv_modify_qp(a.qp, &attr, IBV_QP_ALT_PATH), EINVAL);
	REFUSED(try_mig(&a, IBV_MIG_REARM), EINVAL);
}

/*
 * ---- Migration ----
 */

static void explicit_of(enum ibv_qp_type type)
{
	struct ibv_qp_attr attr;

	note("type %d", type);
	make_pair(&a, &b, CONF(.type = type));
	arm(gid6);
	expect_no_event();
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	SAME(mig_of(&a), IBV_MIG_MIGRATED);
	expect_path(&a, gid6);
	attr = query(&a);
	if (type == IBV_QPT_RC)
		SAME(attr.timeout, ALT_TIMEOUT);
	SAME(attr.alt_port_num, 0);
	/* the peer has not heard of it */
	SAME(mig_of(&b), IBV_MIG_ARMED);
	check_works(&a, &b);
	expect_mig(&b, IBV_MIG_MIGRATED);
	expect_path(&b, gid6);
	expect_both_migrate();
	/* and back */
	arm(gid4);
	SAME(try_mig(&b, IBV_MIG_MIGRATED), 0);
	check_works(&b, &a);
	expect_mig(&a, IBV_MIG_MIGRATED);
	expect_path(&a, gid4);
	expect_both_migrate();
	expect_no_event();
	unmake(&a);
	unmake(&b);
}

static void explicit_migration(void)
{
	two_addresses();
	explicit_of(IBV_QPT_RC);
	explicit_of(IBV_QPT_UC);
}

/* who has migrated is followed when he answers, too */
static void answers_migrate(void)
{
	two_addresses();
	make_pair(&a, &b, CONF());
	arm(gid6);
	SAME(try_mig(&b, IBV_MIG_MIGRATED), 0);
	check_works(&a, &b);
	expect_mig(&a, IBV_MIG_MIGRATED);
	expect_path(&a, gid6);
	expect_both_migrate();
}

static void both_at_once(void)
{
	two_addresses();
	make_pair(&a, &b, CONF());
	arm(gid6);
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	SAME(try_mig(&b, IBV_MIG_MIGRATED), 0);
	check_works(&a, &b);
	expect_both_migrate();
}

#define DEPTH	8
#define PART	4096

/* Both have so many under way, each in its place; all arrive, and in order. */
struct stream {
	struct end *from, *to;
	int sent, done, arrived;
};

static void stream_step(struct stream *s)
{
	struct ibv_wc wc;

	if (s->sent - s->arrived < DEPTH && s->sent - s->done < DEPTH) {
		int slot = s->sent % DEPTH;

		post_recv(s->to, s->sent, BUF / 2 + slot * PART, PART);
		fill(s->from->buf + slot * PART, PART, s->sent & 0x7f);
		post(s->from, swr(s->from, s->sent, IBV_WR_SEND, slot * PART, PART));
		s->sent++;
	}
	while (ibv_poll_cq(s->from->scq, 1, &wc)) {
		SAME(wc.status, IBV_WC_SUCCESS);
		SAME(wc.wr_id, s->done);
		s->done++;
	}
	while (ibv_poll_cq(s->to->rcq, 1, &wc)) {
		SAME(wc.status, IBV_WC_SUCCESS);
		SAME(wc.wr_id, s->arrived);
		check_filled(s->to->buf + BUF / 2 + s->arrived % DEPTH * PART, PART,
			     s->arrived & 0x7f);
		s->arrived++;
	}
}

static void stream_both(struct stream *s, int num)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	int want[] = { s[0].arrived + num, s[1].arrived + num };

	while (s[0].arrived < want[0] || s[1].arrived < want[1]) {
		if (now_ns() > end)
			FAIL("%d and %d messages of %d and %d", s[0].arrived, s[1].arrived,
			     want[0], want[1]);
		stream_step(&s[0]);
		stream_step(&s[1]);
	}
}

static void under_traffic(void)
{
	struct stream s[] = { { &a, &b }, { &b, &a } };
	int i, to;

	two_addresses();
	make_pair(&a, &b, CONF());
	for (i = 0; i < 20; i++) {
		to = i % 2 ? gid4 : gid6;
		note("round %d", i);
		rearm(&a, to);
		stream_both(s, 3);
		rearm(&b, to);
		stream_both(s, 50);
		SAME(mig_of(&a), IBV_MIG_ARMED);
		SAME(mig_of(&b), IBV_MIG_ARMED);
		SAME(try_mig(i % 3 ? &a : &b, IBV_MIG_MIGRATED), 0);
		stream_both(s, 50);
		SAME(mig_of(&a), IBV_MIG_MIGRATED);
		SAME(mig_of(&b), IBV_MIG_MIGRATED);
		expect_path(&a, to);
		expect_path(&b, to);
		expect_both_migrate();
	}
	expect_no_event();
}

/* RDMA and atomics, whose answers are data */
static void responses_under_way(void)
{
	uint64_t *word;
	int i;

	two_addresses();
	make_pair(&a, &b, CONF());
	arm(gid6);
	fill(b.buf, 32768, 3);
	word = (uint64_t *)(b.buf + 40000);
	*word = 0;
	for (i = 0; i < 4; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_READ, 0, 32768), &b, 0));
	for (i = 4; i < 12; i++) {
		struct ibv_send_wr *wr = at(swr(&a, i, IBV_WR_ATOMIC_FETCH_AND_ADD, 48000, 8),
					    &b, 40000);

		wr->wr.atomic.compare_add = 1;
		post(&a, wr);
	}
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	for (i = 0; i < 12; i++)
		expect_ok(a.scq, i);
	check_filled(a.buf, 32768, 3);
	SAME(*word, 8);
	/* all of it may have been done before: this tells the peer */
	check_works(&a, &b);
	expect_both_migrate();
}

/* the peer is on a path that we know nothing of */
static void other_alternates(void)
{
	two_addresses();
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 2));
	rearm(&a, gid6);
	rearm(&b, gid4);
	check_works(&a, &b);
	expect_mig(&a, IBV_MIG_ARMED);
	expect_mig(&b, IBV_MIG_ARMED);
	SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
	expect_event(IBV_EVENT_PATH_MIG, a.qp);
	post_recv(&b, 1, 0, 100);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 2, IBV_WC_RETRY_EXC_ERR);
	/* said once, though it was asked twice */
	expect_event(IBV_EVENT_PATH_MIG_ERR, b.qp);
	expect_no_event();
	SAME(mig_of(&b), IBV_MIG_ARMED);
}

/* retries that are used up are no reason to migrate for who is not armed */
static void retries_without_reserve(void)
{
	two_addresses();
	make_pair(&a, &b, CONF(.timeout = 8, .retry = 2));
	rearm(&a, gid6);
	to_state(&b, IBV_QPS_RESET);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_no_event();
}

/* with one they last for both paths, and then it is over */
static void retries_of_both_paths(void)
{
	two_addresses();
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 2));
	arm(gid6);
	to_state(&b, IBV_QPS_RESET);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_event(IBV_EVENT_PATH_MIG, a.qp);
	expect_no_event();
	expect_path(&a, gid6);
}

static void destroyed_while_migrating(void)
{
	int i;

	two_addresses();
	for (i = 0; i < 40; i++) {
		make_pair(&a, &b, CONF(.timeout = 10, .retry = 2));
		arm(gid6);
		if (i % 2)
			to_state(&b, IBV_QPS_RESET);
		else
			SAME(try_mig(&a, IBV_MIG_MIGRATED), 0);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
		usleep(i % 4 * i * 200);
		if (i % 3 == 1)
			to_state(&a, IBV_QPS_RESET);
		unmake(&a);
		unmake(&b);
	}
}

/*
 * ---- A path that fails ----
 */

static void command(const char *name)
{
	const char *text = getenv(name);

	CHECK(text);
	if (system(text))
		FAIL("$%s failed: %s", name, text);
}

static void path_fails(void)
{
	struct stream s[] = { { &a, &b }, { &b, &a } };

	if (!getenv("GONE"))
		return;
	two_addresses();
	make_pair(&a, &b, CONF(.timeout = 12, .retry = 3));
	arm(gid6);
	stream_both(s, 20);
	command("GONE");
	stream_both(s, 100);
	command("BACK");
	expect_path(&a, gid6);
	expect_path(&b, gid6);
	SAME(mig_of(&a), IBV_MIG_MIGRATED);
	SAME(mig_of(&b), IBV_MIG_MIGRATED);
	expect_both_migrate();
}

TESTS(
	TEST(advertised), TEST(query_returns), TEST(transitions), TEST(invalid_paths),
	TEST(not_of_ud), TEST(explicit_migration), TEST(answers_migrate),
	TEST(both_at_once), TEST(under_traffic), TEST(responses_under_way),
	TEST(other_alternates), TEST(retries_without_reserve),
	TEST(retries_of_both_paths), TEST(destroyed_while_migrating), TEST(path_fails)
)
