// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets that arrive while the requester is busy, as with a request on another CPU. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/inflight.h"
#include "params.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

static struct fake_link *busy_create(struct kunit *test)
{
	const struct fake_attr attr = { .type = IB_QPT_RC, .retry_cnt = 7, .max_wr = 8 };

	return fake_link_create(test, &attr, 1);
}

static void busy_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* Acknowledges of the PSN before the first: they say nothing new. */
static void busy_receive(struct fake_link *link, u32 num)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = 0xffffff,
		.aeth.syndrome = weft_aeth_syndrome(WEFT_AETH_ACK, WEFT_AETH_NO_CREDIT),
	};

	while (num--)
		fake_link_deliver(&link->node[1], &hdr, NULL, 0);
}

/* More than the backlog holds is dropped, and the QP goes on. */
static void backlog_is_full(struct kunit *test)
{
	struct fake_link *link = busy_create(test);
	struct weft_qp *qp = link->node[0].qp;

	fake_link_write(link);
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&qp->send.turn));
	busy_receive(link, WEFT_QUEUE_PACKETS);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(qp->dev, WEFT_STAT_RX_QUEUE_FULL), 0);
	busy_receive(link, 5);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(qp->dev, WEFT_STAT_RX_QUEUE_FULL), 5);
	weft_turn_release(&qp->send.turn);
	fake_link_settle(link);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_empty(&qp->send.inflight));
	fake_link_expect_quiet(link);
}

/* The timer expires while more responses wait than one run takes: those go first, as in time. */
static void timer_waits_for_backlog(struct kunit *test)
{
	struct fake_link *link = busy_create(test);
	struct weft_send *send = &link->node[0].qp->send;

	fake_link_write(link);
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&send->turn));
	busy_receive(link, WEFT_SOFTIRQ_WQES + 1);
	/* node 1 answers the WRITE */
	fake_link_arrive(link, skb_peek(&link->wire));
	fake_link_arrive(link, skb_peek(&link->wire));
	hrtimer_cancel(&send->retry.timer);
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	weft_turn_release(&send->turn);
	fake_link_settle(link);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_empty(&send->inflight));
	KUNIT_EXPECT_EQ(test, send->retry.left, 7);
	KUNIT_EXPECT_EQ(test, link->sent[0], 1);
	fake_link_expect_quiet(link);
}

static struct kunit_case busy_cases[] = {
	KUNIT_CASE(backlog_is_full),
	KUNIT_CASE(timer_waits_for_backlog),
	{}
};

static struct kunit_suite busy_suite = {
	.name = "weft_busy",
	.exit = busy_exit,
	.test_cases = busy_cases,
};

kunit_test_suite(busy_suite);
