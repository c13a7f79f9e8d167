// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_modify_qp_rate_limit(): what is sent takes at least its time, and nothing
 * else has to wait.
 */
#include "lib.h"

static struct end a, b;

static int try_limit(struct end *e, uint32_t kbps, uint32_t burst)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = kbps, .max_burst_sz = burst };

	return ibv_modify_qp_rate_limit(e->qp, &attr);
}

static uint32_t limit_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT, &init), 0);
	return attr.rate_limit;
}

static void limit(struct end *e, uint32_t kbps, uint32_t burst)
{
	SAME(try_limit(e, kbps, burst), 0);
	SAME(limit_of(e), kbps);
}

static void capabilities(void)
{
	struct ibv_device_attr_ex attr;
	uint32_t min, max;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	min = attr.packet_pacing_caps.qp_rate_limit_min;
	max = attr.packet_pacing_caps.qp_rate_limit_max;
	SAME(attr.packet_pacing_caps.supported_qpts,
	     1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD | 1 << IBV_QPT_XRC_SEND |
	     1 << IBV_QPT_RAW_PACKET);
	CHECK(min >= 1 && min < max);
	make_pair(&a, &b, CONF());
	limit(&a, min, 0);
	limit(&a, max, 0);
	check_works(&a, &b);
	REFUSED(try_limit(&a, max + 1, 0), EINVAL);
	REFUSED(try_limit(&a, -1, 0), EINVAL);
	SAME(limit_of(&a), max);
	check_works(&a, &b);
}

static void refused(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1000, .comp_mask = 1 };

	make_pair(&a, &b, CONF());
	limit(&a, 5000, 4096);
	REFUSED(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	/* no limit has no burst */
	REFUSED(try_limit(&a, 0, 4096), EINVAL);
	attr = (struct ibv_qp_rate_limit_attr){ .typical_pkt_sz = 100 };
	REFUSED(ibv_modify_qp_rate_limit(a.qp, &attr), EINVAL);
	SAME(limit_of(&a), 5000);
	attr.rate_limit = 6000;
	SAME(ibv_modify_qp_rate_limit(a.qp, &attr), 0);
	SAME(limit_of(&a), 6000);
	check_works(&a, &b);
}

/*
 * ---- States ----
 */

/* with what leads from the state before to @state */
static int limit_with(enum ibv_qp_state state, uint32_t kbps)
{
	struct ibv_qp_attr attr = step_attr(&a, &b, state);

	attr.rate_limit = kbps;
	return ibv_modify_qp(a.qp, &attr, step_mask(&a, state) | IBV_QP_RATE_LIMIT);
}

static void states(void)
{
	make(&a, CONF());
	make(&b, CONF());
	to_init(&b);
	to_rtr(&b, &a);
	to_rts(&b);
	REFUSED(try_limit(&a, 1000, 0), EINVAL);
	REFUSED(limit_with(IBV_QPS_INIT, 1000), EINVAL);
	to_init(&a);
	REFUSED(try_limit(&a, 1000, 0), EINVAL);
	SAME(limit_of(&a), 0);
	SAME(limit_with(IBV_QPS_RTR, 1000), 0);
	SAME(limit_of(&a), 1000);
	/* the value is wrong: the state stays as well */
	REFUSED(limit_with(IBV_QPS_RTS, -1), EINVAL);
	expect_state(&a, IBV_QPS_RTR);
	SAME(limit_with(IBV_QPS_RTS, 2000), 0);
	expect_state(&a, IBV_QPS_RTS);
	SAME(limit_of(&a), 2000);
	limit(&a, 3000, 0);
	REFUSED(limit_with(IBV_QPS_SQD, 1000), EINVAL);
	to_state(&a, IBV_QPS_SQD);
	REFUSED(try_limit(&a, 1000, 0), EINVAL);
	to_state(&a, IBV_QPS_RTS);
	SAME(limit_of(&a), 3000);
	check_works(&a, &b);
	to_state(&a, IBV_QPS_ERR);
	REFUSED(try_limit(&a, 1000, 0), EINVAL);
	to_state(&a, IBV_QPS_RESET);
	SAME(limit_of(&a), 0);
}

/*
 * ---- Rate ----
 */

#define BURST	4096

/*
 * @num messages of @length bytes at @kbps: the last one is not begun before the
 * others have had their time, but for a burst.
 */
static void transfer(enum ibv_qp_type type, int num, uint32_t length, uint32_t kbps)
{
	struct ibv_ah *ah = type == IBV_QPT_UD ? ah_to(gid4, gid4) : NULL;
	uint32_t grh = ah ? 40 : 0, place = length + grh;
	int i, posted = 0, ahead = BUF / place > 8 ? 8 : BUF / place;
	struct ibv_send_wr *wr;
	uint64_t start, least, took;
	uint8_t *got;

	note("type %d, %d times %u bytes at %u kbit/s", type, num, length, kbps);
	make_pair(&a, &b, CONF(.type = type));
	limit(&a, kbps, BURST);
	fill(a.buf, length, 1);
	start = now_ns();
	for (i = 0; i < num; i++) {
		/* none is lost because there is no receive */
		for (; posted < num && posted < i + ahead; posted++) {
			post_recv(&b, posted, posted % ahead * place, place);
			wr = swr(&a, posted, IBV_WR_SEND, 0, length);
			post(&a, ah ? to_ah(wr, ah, &b) : wr);
		}
		SAME(expect_ok(b.rcq, i).byte_len, place);
		expect_ok(a.scq, i);
		got = b.buf + i % ahead * place + grh;
		check_filled(got, length, 1);
		memset(got, 0, length);
	}
	took = now_ns() - start;
	least = ((uint64_t)(num - 1) * length - BURST) * 8 * 1000000 / kbps;
	if (took < least)
		FAIL("it took %llu us, expected at least %llu", (unsigned long long)took / 1000,
		     (unsigned long long)least / 1000);
	expect_no_event();
	if (ah)
		SAME(ibv_destroy_ah(ah), 0);
	unmake(&a);
	unmake(&b);
}

static void rate_is_kept(void)
{
	/* 100 ms each */
	transfer(IBV_QPT_RC, 100, 1000, 8000);
	transfer(IBV_QPT_UC, 100, 1000, 8000);
	transfer(IBV_QPT_UD, 100, 1000, 8000);
	transfer(IBV_QPT_RC, 20, 50000, 80000);
}

/* READs and WRITEs; what the peer sends has its own limit */
static void other_operations(void)
{
	uint64_t start, took;
	int i;

	make_pair(&a, &b, CONF());
	fill(b.buf, 50000, 3);
	limit(&a, 8000, BURST);
	for (i = 0; i < 10; i++) {
		memset(a.buf, 0, 10000);
		post(&a, at(swr(&a, i, IBV_WR_RDMA_READ, 0, 10000), &b, i * 1000));
		expect_ok(a.scq, i);
		SAME(memcmp(a.buf, b.buf + i * 1000, 10000), 0);
	}
	fill(a.buf, 10000, 4);
	start = now_ns();
	for (i = 0; i < 10; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 10000), &b, i * 1000));
	for (i = 0; i < 10; i++)
		expect_ok(a.scq, i);
	took = now_ns() - start;
	check_filled(b.buf + 9000, 10000, 4);
	CHECK(took >= (9 * 10000 - BURST) * 1000ULL);
}

/* with receives that come late */
static void receiver_not_ready(void)
{
	int i;

	make_pair(&a, &b, CONF(.rnr_timer = 14));
	limit(&a, 80000, 1000);
	for (i = 0; i < 8; i++) {
		fill(a.buf + i * 1000, 1000, i);
		post(&a, swr(&a, i, IBV_WR_SEND, i * 1000, 1000));
	}
	expect_no_wc(a.scq);
	for (i = 0; i < 8; i++) {
		post_recv(&b, i, i * 1000, 1000);
		expect_ok(b.rcq, i);
		expect_ok(a.scq, i);
		check_filled(b.buf + i * 1000, 1000, i);
	}
	expect_no_event();
}

/*
 * ---- What does not wait ----
 */

/*
 * Of so many messages of that length one goes at once, each of the others 40 s later
 * than the one before: longer than any completion is waited for.
 */
#define HELD	4
#define LENGTH	5000

static void hold(int first)
{
	int i;

	limit(&a, 1, BURST);
	for (i = 0; i < HELD; i++)
		post_recv(&b, first + i, i * LENGTH, LENGTH);
	for (i = 0; i < HELD; i++) {
		fill(a.buf + i * LENGTH, LENGTH, i);
		post(&a, swr(&a, first + i, IBV_WR_SEND, i * LENGTH, LENGTH));
	}
	expect_ok(a.scq, first);
	expect_ok(b.rcq, first);
	expect_no_wc(a.scq);
}

static void arrive(int first, int done)
{
	int i;

	for (i = done; i < HELD; i++) {
		expect_ok(a.scq, first + i);
		expect_ok(b.rcq, first + i);
		check_filled(b.buf + i * LENGTH, LENGTH, i);
	}
}

static void limit_is_lifted(void)
{
	make_pair(&a, &b, CONF());
	hold(0);
	limit(&a, 0, 0);
	arrive(0, 1);
	check_works(&a, &b);
	/* and what is fast enough is as good */
	hold(10);
	limit(&a, 1000000, 0);
	arrive(10, 1);
	expect_no_event();
}

static void errors_do_not_wait(void)
{
	int i;

	make_pair(&a, &b, CONF());
	hold(0);
	to_state(&a, IBV_QPS_ERR);
	for (i = 1; i < HELD; i++)
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	/* there is no limit any more */
	connect_ends(&a, &b);
	for (i = 0; i < 20; i++)
		check_works(&a, &b);
	hold(20);
	SAME(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
}

/* what has not been begun waits for RTS, what has is done without delay */
static void drain_does_not_wait(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_wc wc;
	int i, done = 1;

	make_pair(&a, &b, CONF());
	hold(0);
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	expect_event(IBV_EVENT_SQ_DRAINED, a.qp);
	/* over packets several may have been begun */
	while (ibv_poll_cq(a.scq, 1, &wc)) {
		SAME(wc.wr_id, done);
		SAME(wc.status, IBV_WC_SUCCESS);
		expect_ok(b.rcq, done++);
	}
	to_state(&a, IBV_QPS_RTS);
	limit(&a, 0, 0);
	arrive(0, done);
	for (i = 0; i < HELD; i++)
		check_filled(b.buf + i * LENGTH, LENGTH, i);
	check_works(&a, &b);
	expect_no_event();
}

/* one that may not send receives, and others send */
static void others_do_not_wait(void)
{
	struct end c, d;
	int i;

	make_pair(&a, &b, CONF());
	make_pair(&c, &d, CONF());
	hold(0);
	for (i = 0; i < 20; i++) {
		post_recv(&a, i, 40000, 100);
		post(&b, swr(&b, i, IBV_WR_SEND, 40000, 100));
		expect_ok(b.scq, i);
		expect_ok(a.rcq, i);
		check_works(&c, &d);
	}
	limit(&a, 0, 0);
	arrive(0, 1);
}

TESTS(
	TEST(capabilities), TEST(refused), TEST(states), TEST(rate_is_kept),
	TEST(other_operations), TEST(receiver_not_ready), TEST(limit_is_lifted),
	TEST(errors_do_not_wait), TEST(drain_does_not_wait), TEST(others_do_not_wait)
)
