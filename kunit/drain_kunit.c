// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Drains of a kernel consumer's QP in each state, and the LAST_WQE_REACHED event that they wait
 * for if the QP has an SRQ.
 */
#include <linux/jiffies.h>

#include "consumer.h"

/* Half of the work requests are posted at a time, as there are two rounds. */
#define DRAIN_WRS	(CONSUMER_WRS / 2)
/* Without the event the core gives up after 60 s. */
#define DRAIN_SOON	(10 * HZ)

struct drain_row {
	const char		*name;
	enum ib_qp_state	state;
};

static const struct drain_row drain_rows[] = {
	{ "INIT", IB_QPS_INIT },
	{ "RTR", IB_QPS_RTR },
	{ "RTS", IB_QPS_RTS },
	{ "SQD", IB_QPS_SQD },
	{ "ERR", IB_QPS_ERR },
};

static void drain_desc(const struct drain_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(drain, drain_rows, drain_desc);

static struct consumer *drain_create(struct kunit *test)
{
	struct consumer *consumer = consumer_create(test);

	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	return consumer;
}

static void drain_step(struct kunit *test, struct consumer *consumer, u32 i,
		       enum ib_qp_state state)
{
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(consumer->end[i].qp, state,
						 consumer->end[!i].qp->qp_num));
}

/* Bring the first QP to @to. Its peer is in RTR and has no receives. */
static void drain_bring(struct kunit *test, struct consumer *consumer, enum ib_qp_state to)
{
	enum ib_qp_state state;

	drain_step(test, consumer, 1, IB_QPS_INIT);
	drain_step(test, consumer, 1, IB_QPS_RTR);
	for (state = IB_QPS_INIT; state <= min(to, IB_QPS_SQD); state++)
		drain_step(test, consumer, 0, state);
	if (to == IB_QPS_ERR)
		drain_step(test, consumer, 0, to);
}

/* All work requests have completed when the drain returns, and no completion comes later. */
static void drains_in_state(struct kunit *test)
{
	const struct drain_row *row = test->param_value;
	u32 sends = row->state >= IB_QPS_RTS ? DRAIN_WRS : 0, i;
	struct consumer *consumer = drain_create(test);
	struct consumer_end *a = &consumer->end[0];

	drain_bring(test, consumer, row->state);
	for (i = 0; i < DRAIN_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(a, i));
	for (i = 0; i < sends; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	ib_drain_qp(a->qp);
	consumer_expect(test, &a->send, sends, sends);
	consumer_expect(test, &a->recv, DRAIN_WRS, DRAIN_WRS);
	/* so have those that are posted after the drain */
	for (i = DRAIN_WRS; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(a, i));
	for (i = sends; i < sends + DRAIN_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	ib_drain_qp(a->qp);
	consumer_quiet();
	consumer_expect(test, &a->send, sends + DRAIN_WRS, sends + DRAIN_WRS);
	consumer_expect(test, &a->recv, CONSUMER_WRS, CONSUMER_WRS);
}

static struct consumer_end *drain_posted(struct kunit *test)
{
	struct consumer_end *a = &consumer_pair(test, IB_POLL_WORKQUEUE)->end[0];
	u32 i;

	for (i = 0; i < DRAIN_WRS; i++) {
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(a, i));
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	}
	return a;
}

static void drains_the_send_queue_first(struct kunit *test)
{
	struct consumer_end *a = drain_posted(test);

	ib_drain_sq(a->qp);
	consumer_expect(test, &a->send, DRAIN_WRS, DRAIN_WRS);
	ib_drain_rq(a->qp);
	consumer_expect(test, &a->recv, DRAIN_WRS, DRAIN_WRS);
}

static void drains_the_receive_queue_first(struct kunit *test)
{
	struct consumer_end *a = drain_posted(test);

	ib_drain_rq(a->qp);
	consumer_expect(test, &a->recv, DRAIN_WRS, DRAIN_WRS);
	ib_drain_sq(a->qp);
	consumer_expect(test, &a->send, DRAIN_WRS, DRAIN_WRS);
}

/* Sends that have completed are not flushed; the others are. */
static void drains_what_is_left(struct kunit *test)
{
	struct consumer *consumer = consumer_pair(test, IB_POLL_WORKQUEUE);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	u32 i;

	for (i = 0; i < DRAIN_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(b, i));
	for (i = 0; i < CONSUMER_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, DRAIN_WRS));
	ib_drain_qp(a->qp);
	ib_drain_qp(b->qp);
	consumer_expect(test, &a->send, CONSUMER_WRS, CONSUMER_WRS - DRAIN_WRS);
	consumer_expect(test, &b->recv, DRAIN_WRS, 0);
}

/*
 * ---- Shared receive queues ----
 */

/* The second QP has the SRQ. */
static struct consumer *drain_create_srq(struct kunit *test)
{
	struct ib_srq_init_attr attr = { .attr = { .max_wr = CONSUMER_WRS, .max_sge = 1 } };
	struct consumer *consumer = consumer_create(test);

	consumer->srq = ib_create_srq(consumer->pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->srq));
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	return consumer;
}

static void drain_post_shared(struct kunit *test, struct consumer *consumer)
{
	struct consumer_end *b = &consumer->end[1];
	struct ib_recv_wr wr = { .num_sge = 1 };
	struct ib_sge sge;
	u32 i;

	for (i = 0; i < DRAIN_WRS; i++) {
		sge = consumer_sge(b, i);
		wr.wr_cqe = &b->recv.wr[i].cqe;
		wr.sg_list = &sge;
		KUNIT_ASSERT_EQ(test, 0, ib_post_srq_recv(consumer->srq, &wr, NULL));
	}
}

static void drain_reset(struct kunit *test, struct consumer *consumer)
{
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(consumer->end[0].qp, IB_QPS_RESET, 0));
	KUNIT_ASSERT_EQ(test, 0, consumer_modify(consumer->end[1].qp, IB_QPS_RESET, 0));
}

/* One event each time the QP enters ERR, whatever is done in that state. */
static void last_wqe_is_told_once(struct kunit *test)
{
	struct consumer *consumer = drain_create_srq(test);
	struct consumer_end *b = &consumer->end[1];
	int i;

	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), i - 1);
		KUNIT_EXPECT_EQ(test, 0, consumer_modify(b->qp, IB_QPS_ERR, 0));
		KUNIT_EXPECT_TRUE(test, consumer_last_wqe(b, i));
		KUNIT_EXPECT_EQ(test, 0, consumer_modify(b->qp, IB_QPS_ERR, 0));
		ib_drain_sq(b->qp);
		consumer_quiet();
		KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), i);
		drain_reset(test, consumer);
		consumer_connect(test, consumer, IB_QPS_RTS);
	}
}

/* One event after the responder has refused a request, even if its consumer then drains the QP. */
static void last_wqe_after_a_refusal(struct kunit *test)
{
	struct consumer *consumer = drain_create_srq(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	unsigned long start;

	KUNIT_ASSERT_EQ(test, 0, consumer_post_rdma(a, 0, IB_WR_RDMA_WRITE, 0, U32_MAX,
						    CONSUMER_LENGTH));
	KUNIT_EXPECT_TRUE(test, consumer_wait(a, &a->send, 1));
	KUNIT_EXPECT_EQ(test, a->send.last.status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, consumer_last_wqe(b, 1));
	start = jiffies;
	ib_drain_qp(b->qp);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + DRAIN_SOON));
	consumer_quiet();
	KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), 1);
}

/* The drain of a QP with an SRQ does not run into the timeout, and leaves the SRQ's receives. */
static void drain_leaves_the_shared_queue(struct kunit *test)
{
	struct consumer *consumer = drain_create_srq(test);
	struct consumer_end *a = &consumer->end[0], *b = &consumer->end[1];
	unsigned long start = jiffies;
	u32 i;

	drain_post_shared(test, consumer);
	ib_drain_qp(b->qp);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, start + DRAIN_SOON));
	KUNIT_EXPECT_TRUE(test, consumer_last_wqe(b, 1));
	consumer_quiet();
	consumer_expect(test, &b->recv, 0, 0);
	drain_reset(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	for (i = 0; i < DRAIN_WRS; i++)
		KUNIT_ASSERT_EQ(test, 0, consumer_post_send(a, i));
	KUNIT_EXPECT_TRUE(test, consumer_wait(b, &b->recv, DRAIN_WRS));
	consumer_expect(test, &b->recv, DRAIN_WRS, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->last_wqes), 1);
}

static struct kunit_case drain_cases[] = {
	KUNIT_CASE_PARAM(drains_in_state, drain_gen_params),
	KUNIT_CASE(drains_the_send_queue_first),
	KUNIT_CASE(drains_the_receive_queue_first),
	KUNIT_CASE(drains_what_is_left),
	KUNIT_CASE(last_wqe_is_told_once),
	KUNIT_CASE(last_wqe_after_a_refusal),
	KUNIT_CASE(drain_leaves_the_shared_queue),
	{}
};

static struct kunit_suite drain_suite = {
	.name = "weft_drain",
	.suite_init = consumer_suite_init,
	.suite_exit = consumer_suite_exit,
	.exit = consumer_exit,
	.test_cases = drain_cases,
};

kunit_test_suite(drain_suite);
