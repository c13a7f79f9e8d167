// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * IBV_QP_CAP: the queues of a QP get another size, and nothing that is in them is
 * lost.
 */
#include "lib.h"

#include <pthread.h>

static struct end a, b;

static struct ibv_qp_cap cap_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(e->qp, &attr, IBV_QP_CAP, &init), 0);
	SAME(memcmp(&attr.cap, &init.cap, sizeof(attr.cap)), 0);
	return attr.cap;
}

static void expect_size(struct end *e, int sq, int rq)
{
	struct ibv_qp_cap cap = cap_of(e);

	SAME(cap.max_send_wr, sq);
	SAME(cap.max_recv_wr, rq);
}

static int try_resize(struct end *e, int sq, int rq)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = sq, .max_recv_wr = rq } };
	struct ibv_qp_cap cap;
	int ret;

	ret = ibv_modify_qp(e->qp, &attr, IBV_QP_CAP);
	if (ret)
		return ret;
	/* what is told is what there is */
	cap = cap_of(e);
	SAME(memcmp(&attr.cap, &cap, sizeof(cap)), 0);
	return 0;
}

static void resize(struct end *e, int sq, int rq)
{
	int ret = try_resize(e, sq, rq);

	if (ret)
		FAIL("resize to %d and %d: %s", sq, rq, strerror(ret));
}

/* a queue of receives takes so many more, and then no more */
static void fill_receives(struct end *e, int first, int num)
{
	struct ibv_recv_wr *bad;
	int i;

	for (i = 0; i < num; i++)
		post_recv(e, first + i, 0, 100);
	SAME(ibv_post_recv(e->qp, rwr(e, 0, 0, 100), &bad), ENOMEM);
}

/* what is at the offset of a message in a buffer */
static size_t place(int i)
{
	return (size_t)(i % 32) * 1024;
}

static struct ibv_send_wr *message(struct end *e, int i)
{
	struct ibv_send_wr *wr = swr(e, i, IBV_WR_SEND, place(i), 100);

	fill(e->buf + place(i), 100, i);
	if (i % 3)
		wr->send_flags |= IBV_SEND_INLINE;
	return wr;
}

/* the data of inline requests are not looked at any more */
static void scribble(struct end *e, int first, int num)
{
	int i;

	for (i = first; i < first + num; i++)
		if (i % 3)
			memset(e->buf + place(i), 0xee, 100);
}

static void receive(struct end *e, int first, int num)
{
	struct ibv_wc wc;
	int i;

	for (i = first; i < first + num; i++) {
		wc = expect_ok(e->rcq, i);
		SAME(wc.byte_len, 100);
		check_filled(e->buf + place(i), 100, i);
	}
}

/*
 * ---- Sizes ----
 */

static void sizes(void)
{
	static const int size[][4] = {
		{ 100, 200, 128, 256 }, { 0, 20, 128, 32 }, { 40, 0, 64, 32 },
		{ 0, 0, 64, 32 }, { 1, 1, 1, 1 }, { 33, 2, 64, 2 }, { 64, 2, 64, 2 },
		{ 5000, 9000, 8192, 16384 }, { 16, 16, 16, 16 },
	};
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	int i, t;

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		make_pair(&a, &b, CONF(.type = types[t]));
		for (i = 0; i < ARRAY_SIZE(size); i++) {
			note("type %d, %d and %d", types[t], size[i][0], size[i][1]);
			resize(&a, size[i][0], size[i][1]);
			expect_size(&a, size[i][2], size[i][3]);
		}
		if (types[t] != IBV_QPT_UD)
			check_works(&a, &b);
		fill_receives(&a, 0, 16);
		unmake(&a);
		unmake(&b);
	}
}

/* the largest there is, one more is not */
static void extremes(void)
{
	struct ibv_device_attr dev;

	SAME(ibv_query_device(ctx, &dev), 0);
	CHECK(dev.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR);
	make_pair(&a, &b, CONF());
	REFUSED(try_resize(&a, dev.max_qp_wr + 1, 0), EINVAL);
	REFUSED(try_resize(&a, 0, dev.max_qp_wr + 1), EINVAL);
	/* neither of both, when one is wrong */
	REFUSED(try_resize(&a, 64, dev.max_qp_wr + 1), EINVAL);
	REFUSED(try_resize(&a, -1, 64), EINVAL);
	expect_size(&a, 16, 16);
	resize(&a, dev.max_qp_wr, dev.max_qp_wr);
	expect_size(&a, dev.max_qp_wr, dev.max_qp_wr);
	check_works(&a, &b);
	expect_no_event();
}

/* of elements and inline data a QP keeps what it has */
static void other_capabilities(void)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_cap cap;

	make_pair(&a, &b, CONF(.inline_data = 100));
	cap = cap_of(&a);
	attr.cap = cap;
	attr.cap.max_send_wr = 32;
	attr.cap.max_send_sge++;
	REFUSED(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), EINVAL);
	attr.cap = cap;
	attr.cap.max_recv_wr = 32;
	attr.cap.max_recv_sge++;
	REFUSED(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), EINVAL);
	attr.cap = cap;
	attr.cap.max_inline_data++;
	REFUSED(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), EINVAL);
	expect_size(&a, 16, 16);
	/* as much as there is, or less, is what there is */
	attr.cap = cap;
	attr.cap.max_send_wr = 32;
	attr.cap.max_recv_sge = 1;
	SAME(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), 0);
	expect_size(&a, 32, 16);
	SAME(attr.cap.max_send_sge, cap.max_send_sge);
	SAME(attr.cap.max_recv_sge, cap.max_recv_sge);
	SAME(attr.cap.max_inline_data, cap.max_inline_data);
	check_works(&a, &b);
}

static void with_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	CHECK(srq);
	make(&a, CONF());
	make(&b, CONF(.srq = srq));
	connect_ends(&a, &b);
	/* what is said of the receive queue is ignored, as at creation */
	resize(&b, 64, 1 << 30);
	expect_size(&b, 64, 0);
	post_srq(srq, &b, 1, 0, 100);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	post_recv(&a, 3, 0, 100);
	post(&b, swr(&b, 4, IBV_WR_SEND, 0, 100));
	expect_ok(b.scq, 4);
	expect_ok(a.rcq, 3);
}

/*
 * ---- Outstanding work requests ----
 */

static void receives_outstanding(void)
{
	int i, posted = 0, sent = 0;

	make_pair(&a, &b, CONF(.inline_data = 100));
	/* not from the start of the ring */
	for (; posted < 10; posted++)
		post_recv(&b, posted, place(posted), 100);
	for (; sent < 5; sent++) {
		post(&a, message(&a, sent));
		expect_ok(a.scq, sent);
	}
	receive(&b, 0, 5);
	for (; posted < 21; posted++)
		post_recv(&b, posted, place(posted), 100);
	fill_receives(&b, 0, 0);
	resize(&b, 0, 64);
	for (; posted < sent + 32; posted++)
		post_recv(&b, posted, place(posted), 100);
	for (i = 0; i < 20; i++, sent++) {
		post(&a, message(&a, sent));
		expect_ok(a.scq, sent);
	}
	/* their completions are still to be polled: 32 are outstanding */
	REFUSED(try_resize(&b, 0, 16), EINVAL);
	receive(&b, 5, 20);
	/* 12 */
	REFUSED(try_resize(&b, 0, 8), EINVAL);
	expect_size(&b, 16, 64);
	resize(&b, 0, 16);
	expect_size(&b, 16, 16);
	for (i = 0; i < 4; i++, posted++)
		post_recv(&b, posted, place(posted), 100);
	fill_receives(&b, 0, 0);
	for (; sent < posted; sent++) {
		post(&a, message(&a, sent));
		expect_ok(a.scq, sent);
	}
	receive(&b, 25, posted - 25);
	expect_no_event();
}

/* requests that wait for a receive, of which the first ones have been begun */
static void sends_outstanding(void)
{
	struct ibv_send_wr *bad;
	int i, sent = 0;

	make_pair(&a, &b, CONF(.inline_data = 100, .rnr_timer = 14));
	for (i = 0; i < 5; i++)
		post_recv(&b, i, place(i), 100);
	for (; sent < 5; sent++)
		post(&a, message(&a, sent));
	for (i = 0; i < 5; i++)
		expect_ok(a.scq, i);
	receive(&b, 0, 5);
	for (i = 0; i < 12; i++, sent++)
		post(&a, message(&a, sent));
	scribble(&a, 5, 12);
	expect_no_wc(a.scq);
	REFUSED(try_resize(&a, 8, 0), EINVAL);
	REFUSED(try_resize(&a, 8, 64), EINVAL);
	expect_size(&a, 16, 16);
	resize(&a, 64, 32);
	expect_size(&a, 64, 32);
	for (i = 0; i < 8; i++, sent++)
		post(&a, message(&a, sent));
	scribble(&a, 17, 8);
	resize(&a, 20, 0);
	for (i = 0; i < 12; i++)
		post(&a, at(swr(&a, 100 + i, IBV_WR_RDMA_WRITE, 0, 4), &b, 40000));
	SAME(ibv_post_send(a.qp, swr(&a, 0, IBV_WR_SEND, 0, 4), &bad), ENOMEM);
	resize(&b, 32, 32);
	for (i = 5; i < sent; i++)
		post_recv(&b, i, place(i), 100);
	for (i = 5; i < sent; i++)
		expect_ok(a.scq, i);
	for (i = 0; i < 12; i++)
		expect_ok(a.scq, 100 + i);
	receive(&b, 5, sent - 5);
	check_works(&a, &b);
	expect_no_event();
}

/* a slot is in use until its completion has been polled */
static void completions_outstanding(void)
{
	struct ibv_send_wr *bad;
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 10; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	sleep_ms(30);
	REFUSED(try_resize(&a, 8, 0), EINVAL);
	expect_ok(a.scq, 0);
	expect_ok(a.scq, 1);
	resize(&a, 8, 0);
	SAME(ibv_post_send(a.qp, swr(&a, 0, IBV_WR_SEND, 0, 8), &bad), ENOMEM);
	for (i = 2; i < 10; i++)
		expect_ok(a.scq, i);
	for (i = 0; i < 8; i++)
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
	SAME(ibv_post_send(a.qp, swr(&a, 0, IBV_WR_SEND, 0, 8), &bad), ENOMEM);
	for (i = 0; i < 8; i++)
		expect_ok(a.scq, i);
	expect_no_wc_now(a.scq);
}

/* what was carried over is flushed like the rest, and RESET empties the new rings */
static void flushed_after_resize(void)
{
	int i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < 10; i++) {
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 8));
		post_recv(&a, i, 0, 8);
	}
	resize(&a, 64, 128);
	to_state(&a, IBV_QPS_ERR);
	for (i = 0; i < 10; i++) {
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
		expect_wc(a.rcq, i, IBV_WC_WR_FLUSH_ERR);
	}
	post(&a, swr(&a, 20, IBV_WR_SEND, 0, 8));
	post_recv(&a, 21, 0, 8);
	expect_wc(a.scq, 20, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.rcq, 21, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	expect_size(&a, 64, 128);
	connect_ends(&a, &b);
	check_works(&a, &b);
	fill_receives(&a, 0, 128);
}

/*
 * ---- States ----
 */

/* with what leads to @state; @state of now: nothing else */
static int resize_with(enum ibv_qp_state state, int sq)
{
	struct ibv_qp_attr attr = step_attr(&a, &b, state);
	enum ibv_qp_state from = state_of(&a);
	int mask = IBV_QP_CAP;

	attr.cap.max_send_wr = sq;
	if (from == IBV_QPS_SQD)
		mask |= IBV_QP_STATE;
	else if (state != from)
		mask |= step_mask(&a, state);
	return ibv_modify_qp(a.qp, &attr, mask);
}

static void states(void)
{
	make(&a, CONF());
	make(&b, CONF());
	to_init(&b);
	to_rtr(&b, &a);
	to_rts(&b);
	REFUSED(resize_with(IBV_QPS_RESET, 32), EINVAL);
	REFUSED(resize_with(IBV_QPS_INIT, 32), EINVAL);
	expect_size(&a, 16, 16);
	to_init(&a);
	SAME(resize_with(IBV_QPS_INIT, 32), 0);
	expect_size(&a, 32, 16);
	SAME(resize_with(IBV_QPS_RTR, 64), 0);
	expect_size(&a, 64, 16);
	expect_state(&a, IBV_QPS_RTR);
	/* attributes alone are for INIT, RTS and SQD */
	REFUSED(resize_with(IBV_QPS_RTR, 32), EINVAL);
	/* one is wrong: the state stays as well */
	REFUSED(resize_with(IBV_QPS_RTS, 1 << 20), EINVAL);
	expect_state(&a, IBV_QPS_RTR);
	expect_size(&a, 64, 16);
	SAME(resize_with(IBV_QPS_RTS, 128), 0);
	expect_state(&a, IBV_QPS_RTS);
	expect_size(&a, 128, 16);
	SAME(resize_with(IBV_QPS_RTS, 32), 0);
	expect_size(&a, 32, 16);
	check_works(&a, &b);
	REFUSED(resize_with(IBV_QPS_SQD, 64), EINVAL);
	to_state(&a, IBV_QPS_SQD);
	SAME(resize_with(IBV_QPS_SQD, 64), 0);
	expect_size(&a, 64, 16);
	/* held until it goes on, in a ring of another size */
	post_recv(&b, 1, 0, 10);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10));
	expect_no_wc(a.scq);
	SAME(resize_with(IBV_QPS_RTS, 16), 0);
	expect_size(&a, 16, 16);
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	check_works(&a, &b);
	REFUSED(resize_with(IBV_QPS_ERR, 32), EINVAL);
	REFUSED(resize_with(IBV_QPS_RESET, 32), EINVAL);
	expect_state(&a, IBV_QPS_RTS);
	to_state(&a, IBV_QPS_ERR);
	REFUSED(resize_with(IBV_QPS_ERR, 32), EINVAL);
	expect_size(&a, 16, 16);
}

/*
 * ---- Traffic ----
 */

#define AHEAD	8		/* messages under way, which fit every size below */
#define ROUNDS	150

static int stop;
static long moved;

static uint32_t length_of(long i)
{
	return i % 2 ? 1 + i % 100 : 200 + i % 800;
}

static void traffic_post(long i)
{
	struct ibv_send_wr *wr = swr(&a, i, IBV_WR_SEND, place(i), length_of(i));

	post_recv(&b, i, place(i), 1024);
	fill(a.buf + place(i), length_of(i), i);
	if (i % 2)
		wr->send_flags |= IBV_SEND_INLINE;
	post(&a, wr);
	/* inline data have been taken */
	if (i % 2)
		memset(a.buf + place(i), 0xee, length_of(i));
}

static void *traffic(void *arg)
{
	struct ibv_wc wc;
	long posted = 0, done = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) || done < posted) {
		while (posted < done + AHEAD && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
			traffic_post(posted++);
		if (done == posted)
			break;
		expect_ok(a.scq, done);
		wc = expect_ok(b.rcq, done);
		SAME(wc.byte_len, length_of(done));
		check_filled(b.buf + place(done), length_of(done), done);
		done++;
		__atomic_store_n(&moved, done, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void resize_under_traffic(enum ibv_qp_type type)
{
	static const int size[] = { 64, 8, 16, 1024, 32, 8, 4096, 9 };
	uint64_t end;
	pthread_t t;
	long before;
	int i;

	make_pair(&a, &b, CONF(.type = type, .inline_data = 100));
	stop = 0;
	moved = 0;
	SAME(pthread_create(&t, NULL, traffic, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		note("type %d, round %d", type, i);
		before = __atomic_load_n(&moved, __ATOMIC_RELAXED);
		resize(&a, size[i % 8], size[(i + 3) % 8]);
		resize(&b, size[(i + 5) % 8], size[(i + 1) % 8]);
		/* and it goes on */
		end = now_ns() + WAIT_MS * 1000000ULL;
		while (__atomic_load_n(&moved, __ATOMIC_RELAXED) < before + 2)
			if (now_ns() > end)
				FAIL("it has stopped after %ld messages", before);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	SAME(pthread_join(t, NULL), 0);
	CHECK(moved >= ROUNDS);
	resize(&a, 16, 16);
	resize(&b, 16, 16);
	check_works(&a, &b);
	expect_no_event();
	unmake(&a);
	unmake(&b);
}

static void under_traffic(void)
{
	resize_under_traffic(IBV_QPT_RC);
	/* of packets some may get lost */
	if (!packets_forced())
		resize_under_traffic(IBV_QPT_UC);
}

TESTS(
	TEST(sizes), TEST(extremes), TEST(other_capabilities), TEST(with_srq),
	TEST(receives_outstanding), TEST(sends_outstanding), TEST(completions_outstanding),
	TEST(flushed_after_resize), TEST(states), TEST(under_traffic)
)
