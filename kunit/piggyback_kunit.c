// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Acknowledges that wait for a message to leave with. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/piggyback.h"
#include "params.h"
#include "verbs/qp.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* PSNs wrap during the tests. */
#define PB_PSN		0xfffffeU
#define PB_LENGTH	8

static struct fake_link *pb_create(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { PB_PSN, PB_PSN },
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_wr = 512,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);

	link->holds = true;
	return link;
}

static void pb_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static struct weft_piggyback *pb_of(struct fake_link *link, u32 node)
{
	return &link->node[node].qp->recv.piggyback;
}

static void pb_send(struct fake_node *node, enum ib_wr_opcode opcode, u32 length)
{
	struct fake_node *peer = fake_node_peer(node);
	struct ib_sge sge = {
		.addr = fake_node_addr(node, 0), .length = length, .lkey = node->region->key,
	};
	struct ib_sge there = {
		.addr = fake_node_addr(peer, FAKE_PAGE), .length = length,
		.lkey = peer->region->key,
	};
	struct ib_recv_wr recv = { .sg_list = &there, .num_sge = 1 };
	struct ib_rdma_wr wr = {
		.wr.opcode = opcode,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = there.addr,
		.rkey = peer->region->key,
	};
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	struct kunit *test = node->link->test;

	if (opcode == IB_WR_SEND)
		KUNIT_ASSERT_EQ(test, 0, weft_post_recv(&peer->ib_qp.ibqp, &recv, &bad_recv));
	KUNIT_ASSERT_EQ(test, 0, weft_post_send(&node->ib_qp.ibqp, &wr.wr, &bad));
}

static void pb_post_length(struct fake_node *node, enum ib_wr_opcode opcode, u32 length)
{
	pb_send(node, opcode, length);
	fake_link_run_halves(node->link);
}

static void pb_post(struct fake_node *node, enum ib_wr_opcode opcode)
{
	pb_post_length(node, opcode, PB_LENGTH);
}

/* Let all packets arrive that are under way now, but none of their answers. */
static void pb_arrive(struct fake_link *link)
{
	u32 num = skb_queue_len(&link->wire);

	while (num--)
		fake_link_arrive(link, skb_peek(&link->wire));
	fake_link_run_halves(link);
}

/* Compare the packets on the wire: A is an acknowledge, S any other one. */
static void pb_expect(struct fake_link *link, const char *packets)
{
	struct sk_buff *skb;
	char found[8] = "";
	u32 i = 0;

	skb_queue_walk(&link->wire, skb)
		if (i + 1 < sizeof(found))
			found[i++] = *skb->data == WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK) ?
				     'A' : 'S';
	KUNIT_EXPECT_STREQ(link->test, found, packets);
}

/* @pairs times: node 0 sends a message, and node 1 answers it. All acknowledges leave at once. */
static void pb_play(struct fake_link *link, u32 pairs)
{
	u32 i;

	for (i = 0; i < 2 * pairs; i++) {
		pb_post(&link->node[i % 2], IB_WR_SEND);
		pb_expect(link, "S");
		pb_arrive(link);
		pb_expect(link, "A");
		pb_arrive(link);
	}
}

static void pb_complete(struct fake_link *link, u32 node, u32 sends)
{
	struct ib_wc wc;
	u32 num = 0;

	while (weft_poll_cq(&link->node[node].send_cq.ibcq, 1, &wc) == 1) {
		KUNIT_EXPECT_EQ(link->test, (int)wc.status, IB_WC_SUCCESS);
		num++;
	}
	KUNIT_EXPECT_EQ(link->test, num, sends);
}

/* Once both have answered some messages each packet leaves with the acknowledge of the last. */
static void leaves_together(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	u32 i;

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_complete(link, 0, WEFT_PIGGYBACK_PAIRS);
	pb_complete(link, 1, WEFT_PIGGYBACK_PAIRS);
	pb_of(link, 1)->needed += 3;
	pb_of(link, 1)->pairs += 3;
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	pb_expect(link, "");
	for (i = 1; i < 10; i++) {
		pb_post(&link->node[i % 2], IB_WR_SEND);
		pb_expect(link, "SA");
		pb_arrive(link);
		pb_expect(link, "");
		pb_complete(link, !(i % 2), 1);
	}
	/* what has once waited in vain is forgotten in time */
	KUNIT_EXPECT_EQ(test, pb_of(link, 1)->needed, WEFT_PIGGYBACK_PAIRS);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->send.retry.retries, 0U);
	fake_link_settle(link);
	pb_complete(link, 1, 1);
	fake_link_expect_quiet(link);
}

/* It waits for two periods at most, and next time more pairs are needed. */
static void waits_in_vain(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	struct weft_piggyback *piggyback = pb_of(link, 1);
	bool active;
	u32 needed;

	for (needed = WEFT_PIGGYBACK_PAIRS; needed < WEFT_PIGGYBACK_MOST_PAIRS; needed *= 2) {
		KUNIT_ASSERT_EQ(test, piggyback->needed, needed);
		piggyback->pairs = needed - 1;
		pb_post(&link->node[0], IB_WR_SEND);
		pb_arrive(link);
		pb_expect(link, "A");
		pb_arrive(link);
		pb_post(&link->node[1], IB_WR_RDMA_WRITE);
		pb_arrive(link);
		pb_arrive(link);
		KUNIT_EXPECT_FALSE(test, fake_link_tick(&link->node[1]));
		link->node[1].ticked = false;
		pb_post(&link->node[0], IB_WR_SEND);
		pb_arrive(link);
		pb_expect(link, "");
		/* in this order: it may expire in between, which sets the latter */
		active = hrtimer_active(&piggyback->timer);
		KUNIT_EXPECT_TRUE(test, active || READ_ONCE(link->node[1].ticked));
		KUNIT_EXPECT_TRUE(test, fake_link_tick(&link->node[1]));
		pb_expect(link, "");
		KUNIT_EXPECT_TRUE(test, fake_link_tick(&link->node[1]));
		pb_expect(link, "A");
		pb_arrive(link);
		KUNIT_EXPECT_EQ(test, piggyback->pairs, 0);
		/* a late answer is one, too */
		pb_post(&link->node[1], IB_WR_RDMA_WRITE);
		pb_arrive(link);
		pb_arrive(link);
		KUNIT_EXPECT_EQ(test, piggyback->pairs, 1);
	}
	KUNIT_EXPECT_EQ(test, piggyback->needed, WEFT_PIGGYBACK_MOST_PAIRS);
	fake_link_expect_quiet(link);
}

/* No request waits for two acknowledges, whatever the next one is. */
static void next_request_ends_it(struct kunit *test)
{
	static const enum ib_wr_opcode next[] = { IB_WR_SEND, IB_WR_RDMA_WRITE };
	struct fake_link *link = pb_create(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(next); i++) {
		pb_of(link, 1)->pairs = WEFT_PIGGYBACK_PAIRS;
		pb_of(link, 1)->messages = 0;
		pb_post(&link->node[0], IB_WR_SEND);
		pb_arrive(link);
		pb_expect(link, "");
		pb_post(&link->node[0], next[i]);
		pb_arrive(link);
		pb_expect(link, "A");
		pb_arrive(link);
		pb_complete(link, 0, 2);
		KUNIT_EXPECT_FALSE(test, fake_link_tick(&link->node[1]));
	}
	KUNIT_EXPECT_EQ(test, pb_of(link, 1)->needed, WEFT_PIGGYBACK_PAIRS);
	fake_link_expect_quiet(link);
}

/* Requests that take no receive are not answered, so their acknowledges do not wait. */
static void writes_do_not_wait(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	u32 i;

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	for (i = 0; i < 3; i++) {
		pb_expect(link, "");
		pb_post(&link->node[0], IB_WR_RDMA_WRITE);
		pb_arrive(link);
		pb_expect(link, "A");
		pb_arrive(link);
	}
	fake_link_expect_quiet(link);
}

/* The answer is long, or cannot wait: the acknowledge leaves beside it. */
static void answer_leaves_alone(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	struct weft_tx *tx = &link->node[1].qp->recv.tx;

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	pb_post_length(&link->node[1], IB_WR_RDMA_WRITE, 3 * FAKE_MTU);
	pb_expect(link, "SSSA");
	pb_arrive(link);
	pb_arrive(link);
	pb_of(link, 1)->messages = 0;
	/* an acknowledge must not overtake other answers, in another queue of the net device */
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	atomic_inc(&tx->queued);
	pb_post(&link->node[1], IB_WR_SEND);
	pb_expect(link, "SA");
	KUNIT_EXPECT_FALSE(test, pb_of(link, 1)->waits);
	KUNIT_EXPECT_GT(test, atomic_read(&tx->queued), 1);
	atomic_dec(&tx->queued);
	fake_link_settle(link);
	pb_complete(link, 0, WEFT_PIGGYBACK_PAIRS + 2);
	fake_link_expect_quiet(link);
}

/* The same while the receive half is busy, as with a packet on another CPU. */
static void answer_leaves_later(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	struct weft_turn *turn = &link->node[1].qp->recv.turn;

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	KUNIT_ASSERT_TRUE(test, weft_turn_try(turn));
	pb_send(&link->node[1], IB_WR_RDMA_WRITE, 3 * FAKE_MTU);
	pb_expect(link, "SSS");
	weft_turn_release(turn);
	fake_link_run_halves(link);
	pb_expect(link, "SSSA");
	fake_link_settle(link);
	pb_complete(link, 0, WEFT_PIGGYBACK_PAIRS + 1);
	fake_link_expect_quiet(link);
}

/* A process that receives several messages before it sends one gets no acknowledge that waits. */
static void streams_do_not_wait(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	u32 i;

	pb_of(link, 1)->pairs = WEFT_PIGGYBACK_PAIRS - 1;
	for (i = 0; i < 20; i++) {
		pb_post(&link->node[0], IB_WR_SEND);
		pb_arrive(link);
		pb_expect(link, "A");
		pb_arrive(link);
		if (i % 3 == 2) {
			pb_post(&link->node[1], IB_WR_SEND);
			pb_arrive(link);
			pb_arrive(link);
		}
	}
	fake_link_expect_quiet(link);
}

/* The packets cannot leave: the acknowledge does not get lost with them. */
static void without_tx_credit(struct kunit *test)
{
	struct fake_link *link = pb_create(test);

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	link->faults.stall = 100;
	pb_post(&link->node[1], IB_WR_SEND);
	pb_expect(link, "");
	KUNIT_EXPECT_FALSE(test, pb_of(link, 1)->waits);
	link->faults.stall = 0;
	fake_link_settle(link);
	pb_complete(link, 0, WEFT_PIGGYBACK_PAIRS + 1);
	pb_complete(link, 1, WEFT_PIGGYBACK_PAIRS + 1);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->send.retry.retries, 0U);
	fake_link_expect_quiet(link);
}

/* The QP ends: its peer's request has been executed, and gets its acknowledge. */
static void end_of_qp(struct kunit *test)
{
	struct fake_link *link = pb_create(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_qp *ibqp = &link->node[1].ib_qp.ibqp;

	pb_play(link, WEFT_PIGGYBACK_PAIRS);
	pb_post(&link->node[0], IB_WR_SEND);
	pb_arrive(link);
	pb_expect(link, "");
	KUNIT_ASSERT_EQ(test, weft_modify_qp(ibqp, &attr, IB_QP_STATE, NULL), 0);
	pb_expect(link, "A");
	pb_arrive(link);
	pb_complete(link, 0, WEFT_PIGGYBACK_PAIRS + 1);
	KUNIT_EXPECT_FALSE(test, pb_of(link, 1)->waits);
	KUNIT_EXPECT_EQ(test, pb_of(link, 1)->pairs, 0);
}

static struct kunit_case pb_cases[] = {
	KUNIT_CASE(leaves_together),
	KUNIT_CASE(waits_in_vain),
	KUNIT_CASE(next_request_ends_it),
	KUNIT_CASE(writes_do_not_wait),
	KUNIT_CASE(answer_leaves_alone),
	KUNIT_CASE(answer_leaves_later),
	KUNIT_CASE(streams_do_not_wait),
	KUNIT_CASE(without_tx_credit),
	KUNIT_CASE(end_of_qp),
	{}
};

static struct kunit_suite pb_suite = {
	.name = "weft_piggyback",
	.exit = pb_exit,
	.test_cases = pb_cases,
};

kunit_test_suite(pb_suite);
