// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Credits of acknowledges that are packets (WEFT_QP_PACKET_CREDITS). That they are messages
 * otherwise is in rc_requester_kunit.c.
 */
#include "fake_link.h"

#include <kunit/test.h>
#include <rdma/weft-abi.h>

#include "engine/reply.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define CREDITS_RECV	FAKE_PAGE	/* where receives begin; messages begin at 0 */

static struct fake_link *credits_link(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { WEFT_PSN_MASK - 2, 5 },
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
		.max_wr = 32,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);
	u32 i;

	for (i = 0; i < FAKE_NODES; i++)
		link->node[i].qp->flags = WEFT_QP_PACKET_CREDITS;
	return link;
}

static void credits_recv(struct fake_link *link, u32 length)
{
	struct fake_node *node = &link->node[1];
	struct ib_sge sge = {
		.addr = fake_node_addr(node, CREDITS_RECV), .length = length,
		.lkey = node->region->key,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_recv(&node->ib_qp.ibqp, &wr, &bad));
}

static void credits_post(struct fake_link *link, enum ib_wr_opcode opcode, u32 packets)
{
	struct fake_node *node = &link->node[0], *peer = &link->node[1];
	struct ib_sge sge = {
		.addr = fake_node_addr(node, 0), .length = packets * FAKE_MTU,
		.lkey = node->region->key,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = fake_node_addr(peer, 0),
		.rkey = peer->region->key,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&node->ib_qp.ibqp, &wr.wr, &bad));
	fake_link_run_halves(link);
}

/* Lose all packets. Return: how many there were; @asks: the last one asks for an acknowledge. */
static u32 credits_on_wire(struct fake_link *link, bool *asks)
{
	struct weft_pkt pkt;
	u32 num = 0;

	while (fake_link_take(link, &pkt)) {
		*asks = pkt.hdr.ackreq;
		num++;
		weft_pkt_free(&pkt);
	}
	return num;
}

/* Node 0 is told that messages up to @msn are complete, and how many packets have receives. */
static void credits_ack(struct fake_link *link, s32 psn, u32 msn, u8 code)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = (WEFT_PSN_MASK - 2 + psn) & WEFT_PSN_MASK,
		.aeth = { .syndrome = code, .msn = msn },
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

/* A requester sends as many packets as there are credits, and then one at a time. */
static void packets_are_spent(struct kunit *test)
{
	struct fake_link *link = credits_link(test);
	bool asks;

	/* nothing is known of the peer's receives before its first answer */
	credits_post(link, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	/* three packets; a WRITE needs none of them */
	credits_ack(link, 0, 1, weft_aeth_credit_code(3));
	credits_post(link, IB_WR_RDMA_WRITE, 2);
	KUNIT_EXPECT_EQ(test, 2, credits_on_wire(link, &asks));
	credits_post(link, IB_WR_SEND, 2);
	KUNIT_EXPECT_EQ(test, 2, credits_on_wire(link, &asks));
	/* one is left; its packet asks for an answer, as it is the last one */
	credits_post(link, IB_WR_SEND, 4);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	KUNIT_EXPECT_TRUE(test, asks);
	/* it has found a receive, for all of its message */
	credits_ack(link, 5, 3, weft_aeth_credit_code(1));
	KUNIT_EXPECT_EQ(test, 3, credits_on_wire(link, &asks));
	KUNIT_EXPECT_TRUE(test, asks);
	/* no receive: a packet alone may find one */
	credits_ack(link, 8, 4, weft_aeth_credit_code(0));
	credits_post(link, IB_WR_SEND, 3);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	KUNIT_EXPECT_TRUE(test, asks);
	/* the peer does not count */
	credits_ack(link, 9, 4, WEFT_AETH_NO_CREDIT);
	KUNIT_EXPECT_EQ(test, 2, credits_on_wire(link, &asks));
	/* one receive, which a WRITE with immediate takes, however long it is */
	credits_ack(link, 11, 5, weft_aeth_credit_code(1));
	credits_post(link, IB_WR_RDMA_WRITE_WITH_IMM, 3);
	KUNIT_EXPECT_EQ(test, 3, credits_on_wire(link, &asks));
	credits_post(link, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, 0, credits_on_wire(link, &asks));
	credits_ack(link, 14, 6, WEFT_AETH_NO_CREDIT);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	credits_ack(link, 15, 7, WEFT_AETH_NO_CREDIT);
	fake_link_destroy(link);
}

/*
 * The credit may be used up in the middle of a message, because an earlier one has taken a longer
 * receive than it needs: a packet that asks for an answer is sent then.
 */
static void credit_may_shrink(struct kunit *test)
{
	struct fake_link *link = credits_link(test);
	bool asks;

	link->node[0].qp->send.batch_packets = 2;
	credits_post(link, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	credits_ack(link, 0, 1, weft_aeth_credit_code(8));
	credits_post(link, IB_WR_SEND, 1);
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	/* the first packets of the long message have left; the one that fills the window asks */
	link->node[0].qp->send.window.packets = 3;
	credits_post(link, IB_WR_SEND, 6);
	KUNIT_EXPECT_EQ(test, 2, credits_on_wire(link, &asks));
	KUNIT_EXPECT_TRUE(test, asks);
	/* it might also have been one that does not, if the net device had no room for more */
	link->node[0].qp->send.inflight.ackreq = false;
	credits_ack(link, 1, 2, weft_aeth_credit_code(2));
	KUNIT_EXPECT_EQ(test, 1, credits_on_wire(link, &asks));
	KUNIT_EXPECT_TRUE(test, asks);
	credits_ack(link, 4, 2, WEFT_AETH_NO_CREDIT);
	KUNIT_EXPECT_EQ(test, 3, credits_on_wire(link, &asks));
	credits_ack(link, 7, 3, WEFT_AETH_NO_CREDIT);
	fake_link_destroy(link);
}

/* A responder counts the packets that its receives have room for. */
static void receives_are_counted(struct kunit *test)
{
	struct fake_link *link = credits_link(test);
	struct weft_qp *qp = link->node[1].qp;
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, weft_aeth_credits(weft_reply_credits(qp)));
	credits_recv(link, 1);
	KUNIT_EXPECT_EQ(test, 1, weft_aeth_credits(weft_reply_credits(qp)));
	credits_recv(link, 2 * FAKE_MTU);
	KUNIT_EXPECT_EQ(test, 3, weft_aeth_credits(weft_reply_credits(qp)));
	/* an empty one takes a packet, too; the codes have no 5 */
	credits_recv(link, 0);
	credits_recv(link, FAKE_MTU);
	KUNIT_EXPECT_EQ(test, 4, weft_aeth_credits(weft_reply_credits(qp)));
	for (i = 4; i < 32; i++)
		credits_recv(link, 2 * FAKE_MTU);
	KUNIT_EXPECT_EQ(test, 24, weft_aeth_credits(weft_reply_credits(qp)));
	qp->flags = 0;
	KUNIT_EXPECT_EQ(test, 32, weft_aeth_credits(weft_reply_credits(qp)));
	fake_link_destroy(link);
}

static int credits_completed(struct weft_cq *cq)
{
	struct ib_wc wc;
	int num = 0;

	while (weft_poll_cq(&cq->ibcq, 1, &wc) == 1)
		num += wc.status == IB_WC_SUCCESS;
	return num;
}

/* Both together: messages longer than the credits arrive, whenever their receives come. */
static void messages_arrive(struct kunit *test)
{
	struct fake_link *link = credits_link(test);
	u32 i;

	for (i = 0; i < 12; i++) {
		if (i & 1)
			credits_recv(link, CREDITS_RECV);
		credits_post(link, IB_WR_SEND, 1 + i);
		if (!(i & 1))
			credits_recv(link, CREDITS_RECV);
		fake_link_settle(link);
	}
	KUNIT_EXPECT_EQ(test, 12, credits_completed(&link->node[0].send_cq));
	KUNIT_EXPECT_EQ(test, 12, credits_completed(&link->node[1].recv_cq));
	KUNIT_EXPECT_EQ(test, IB_QPS_RTS, link->node[0].qp->state);
	fake_link_destroy(link);
}

static struct kunit_case credits_cases[] = {
	KUNIT_CASE(packets_are_spent),
	KUNIT_CASE(credit_may_shrink),
	KUNIT_CASE(receives_are_counted),
	KUNIT_CASE(messages_arrive),
	{}
};

static struct kunit_suite credits_suite = {
	.name = "weft_credits",
	.test_cases = credits_cases,
};

kunit_test_suite(credits_suite);
