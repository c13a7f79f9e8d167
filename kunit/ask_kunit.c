// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Lost responses of a READ, response by response: which of them the requester asks for again. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/inflight.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* PSNs wrap during the tests. */
#define ASK_PSN		0xfffff0U
#define ASK_PACKETS	100U
#define ASK_HOUR	(3600LL * NSEC_PER_SEC)

static struct weft_send *ask_send(struct fake_link *link)
{
	return &link->node[0].qp->send;
}

static void ask_post(struct fake_link *link)
{
	struct fake_node *node = &link->node[0], *peer = &link->node[1];
	struct ib_sge sge = {
		.addr = fake_node_addr(node, 0),
		.length = ASK_PACKETS * FAKE_MTU,
		.lkey = node->region->key,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = fake_node_addr(peer, 0),
		.rkey = peer->region->key,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&node->ib_qp.ibqp, &wr.wr, &bad));
	fake_link_run_halves(link);
}

/* A READ whose request the peer has got, which is known to be a weft. */
static struct fake_link *ask_create(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { ASK_PSN, 0 },
		.retry_cnt = 7,
		.max_rd_atomic = 4,
		.max_wr = 16,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);
	struct weft_pkt pkt;

	/* so long that nothing is asked for because of the time before the test says so */
	ask_send(link)->retry.round_trip = NSEC_PER_SEC;
	ask_post(link);
	while (fake_link_take(link, &pkt))
		weft_pkt_free(&pkt);
	ask_send(link)->inflight.parts = true;
	/* the window does not grow, however slow the machine is */
	ask_send(link)->window.shortest = 1;
	return link;
}

static void ask_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/*
 * Deliver one response; @psn counts from the first. @maps: the peer shows that it is a weft.
 * @again: it has sent the response before.
 */
static void ask_deliver(struct fake_link *link, u32 psn, u8 operation, bool maps, bool again)
{
	static const u8 payload[FAKE_MTU];
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, operation),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = weft_psn_add(ASK_PSN, psn),
		.maps = maps,
		.again = again,
		.aeth.syndrome = WEFT_AETH_NO_CREDIT,
	};

	fake_link_deliver(&link->node[1], &hdr, payload, FAKE_MTU);
	fake_link_run_halves(link);
}

static void ask_response(struct fake_link *link, u32 psn, u8 operation)
{
	ask_deliver(link, psn, operation, false, false);
}

static void ask_response_of_weft(struct fake_link *link, u32 psn)
{
	ask_deliver(link, psn, WEFT_OP_READ_RESPONSE_FIRST, true, false);
}

/* Deliver the responses @from to @to (exclusive) of READs of ASK_PACKETS. */
static void ask_responses(struct fake_link *link, u32 from, u32 to)
{
	for (; from < to; from++)
		ask_response(link, from, (from + 1) % ASK_PACKETS ? WEFT_OP_READ_RESPONSE_MIDDLE :
								   WEFT_OP_READ_RESPONSE_LAST);
}

/* Deliver an acknowledge of the packet with @psn, which counts from the first. */
static void ask_acknowledge(struct fake_link *link, u32 psn)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = weft_psn_add(ASK_PSN, psn),
		.aeth.syndrome = WEFT_AETH_NO_CREDIT,
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

/* Expect a request for @packets responses from @psn on. */
static void ask_expect(struct fake_link *link, u32 psn, u32 packets)
{
	struct weft_pkt pkt;

	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.opcode,
			WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_READ_REQUEST));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(ASK_PSN, psn));
	/* all READs are of the same memory */
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.reth.va,
			fake_node_addr(&link->node[1], psn % ASK_PACKETS * FAKE_MTU));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.reth.length, packets * FAKE_MTU);
	weft_pkt_free(&pkt);
}

static void ask_expect_nothing(struct fake_link *link)
{
	KUNIT_EXPECT_TRUE(link->test, skb_queue_empty(&link->wire));
}

static void ask_end(struct fake_link *link, enum ib_wc_status status)
{
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(link->test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(link->test, (int)wc.status, (int)status);
	KUNIT_EXPECT_EQ(link->test, ask_send(link)->retry.retries, 0U);
}

static void ask_wait(struct fake_link *link)
{
	KUNIT_EXPECT_TRUE(link->test, fake_link_pass_time(link));
	fake_link_run_halves(link);
}

/* A probe is due, or @timeout: the ack timeout has come. */
static void ask_expire(struct fake_link *link, bool timeout)
{
	struct weft_retry *retry = &ask_send(link)->retry;

	retry->round_trip = NSEC_PER_SEC;
	retry->quiet = -ASK_HOUR;
	if (timeout)
		retry->deadline = -ASK_HOUR;
	hrtimer_cancel(&retry->timer);
	weft_turn_post(&ask_send(link)->turn, WEFT_EV_TIMER);
	fake_link_run_halves(link);
}

/* All gaps that many responses have passed are asked for at once, and nothing else is. */
static void gaps_of_many(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_responses(link, 0, 10);
	ask_responses(link, 12, 20);
	ask_responses(link, 21, 60);
	ask_expect_nothing(link);
	ask_responses(link, 60, ASK_PACKETS);
	ask_expect(link, 10, 2);
	ask_expect(link, 20, 1);
	ask_expect_nothing(link);
	KUNIT_EXPECT_EQ(test, ask_send(link)->inflight.reads, 1U);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_FIRST);
	ask_response(link, 11, WEFT_OP_READ_RESPONSE_LAST);
	ask_expect_nothing(link);
	ask_response(link, 20, WEFT_OP_READ_RESPONSE_ONLY);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* Each gap gets old by itself, and is asked for once; then a probe asks for the first. */
static void gaps_of_time(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_responses(link, 13, 16);
	ask_expect_nothing(link);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_expect_nothing(link);
	/* more come, and one of these is missing */
	ask_responses(link, 17, 18);
	ask_wait(link);
	ask_expect(link, 12, 1);
	ask_expect_nothing(link);
	ask_wait(link);
	ask_expect(link, 16, 1);
	ask_expect_nothing(link);
	/* the first answer is lost, too, and here sooner than that to the probe can be */
	ask_expire(link, false);
	ask_expect(link, 10, 1);
	ask_expect_nothing(link);
	ask_send(link)->window.shortest = NSEC_PER_SEC;
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_expect_nothing(link);
	ask_response(link, 12, WEFT_OP_READ_RESPONSE_ONLY);
	ask_response(link, 16, WEFT_OP_READ_RESPONSE_ONLY);
	ask_responses(link, 18, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* Responses that are late, but not too late, are not asked for, however many are, behind a loss. */
static void reordering(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	u32 i;

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_responses(link, 10, 11);
	for (i = 12; i < ASK_PACKETS; i += 4) {
		ask_responses(link, i + 1, i + 4);
		ask_responses(link, i, i + 1);
	}
	ask_expect_nothing(link);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/*
 * The answer is lost, too: responses that were asked for behind it tell that, and those of a
 * request that was sent before do not.
 */
static void answer_is_lost(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 20);
	ask_responses(link, 21, 30);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_wait(link);
	ask_expect(link, 20, 1);
	ask_post(link);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 30, ASK_PACKETS);
	ask_expect_nothing(link);
	ask_response(link, ASK_PACKETS, WEFT_OP_READ_RESPONSE_FIRST);
	ask_wait(link);
	ask_expect_nothing(link);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_expect(link, 20, 1);
	ask_expect_nothing(link);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_response(link, 20, WEFT_OP_READ_RESPONSE_ONLY);
	ask_end(link, IB_WC_SUCCESS);
	ask_responses(link, ASK_PACKETS + 1, 2 * ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* Nothing is requested later, but other responses come: the answer has taken too long. */
static void answer_takes_long(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_inflight *inflight = &ask_send(link)->inflight;

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_responses(link, 12, 13);
	ask_expect_nothing(link);
	inflight->asked_at = -ASK_HOUR;
	ask_wait(link);
	ask_expect(link, 10, 1);
	KUNIT_EXPECT_EQ(test, inflight->asked_again, 1);
	ask_responses(link, 13, 15);
	ask_expect_nothing(link);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	KUNIT_EXPECT_EQ(test, inflight->asked_again, 0);
	ask_responses(link, 15, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* When they are asked for once more the net device has no room: an event makes the next try. */
static void no_room_to_ask(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_send *send = ask_send(link);

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_responses(link, 12, 13);
	send->inflight.asked_at = -ASK_HOUR;
	send->tx.stalled = true;
	ask_wait(link);
	ask_expect_nothing(link);
	send->tx.stalled = false;
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_responses(link, 13, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* The last responses of a burst are lost: each answer to a probe, or to an ask, brings the next. */
static void tail_is_lost(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_inflight *inflight = &ask_send(link)->inflight;

	ask_post(link);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 0, 50);
	ask_expire(link, false);
	ask_expect(link, 50, 50);
	ask_post(link);
	ask_expect(link, 2 * ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 50, ASK_PACKETS - 1);
	ask_expect_nothing(link);
	inflight->probed_at = -ASK_HOUR;
	ask_responses(link, ASK_PACKETS - 1, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_expect_nothing(link);
	ask_responses(link, ASK_PACKETS, 2 * ASK_PACKETS - 1);
	inflight->probed_at = -ASK_HOUR;
	/* what is requested after the probe is not lost */
	ask_responses(link, 2 * ASK_PACKETS - 1, 2 * ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	ask_expect_nothing(link);
	KUNIT_EXPECT_FALSE(test, inflight->probing);
	ask_responses(link, 2 * ASK_PACKETS, 3 * ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* A peer that is slow is probed less and less; one whose answer was lost is not. */
static void first_answer_is_lost(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_retry *retry = &ask_send(link)->retry;
	u32 i;

	for (i = 0; i < 3; i++) {
		ask_expire(link, false);
		ask_expect(link, 0, ASK_PACKETS);
	}
	KUNIT_EXPECT_EQ(test, retry->backoff, 3);
	ask_response_of_weft(link, 0);
	KUNIT_EXPECT_EQ(test, retry->backoff, 3);
	/* it answers a probe, but its first answer is here */
	ask_deliver(link, 0, WEFT_OP_READ_RESPONSE_FIRST, true, true);
	KUNIT_EXPECT_EQ(test, retry->backoff, 3);
	hrtimer_start(&retry->timer, ASK_HOUR, HRTIMER_MODE_REL_SOFT);
	ask_deliver(link, 1, WEFT_OP_READ_RESPONSE_MIDDLE, true, true);
	KUNIT_EXPECT_EQ(test, retry->backoff, 0);
	KUNIT_EXPECT_LT(test, hrtimer_get_remaining(&retry->timer), ASK_HOUR / 2);
	ask_responses(link, 2, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/*
 * The requester has gone back, and what it has not requested again yet is held by the window: what
 * gets lost of what it has is asked for, but not sooner than its answer can be here.
 */
static void loss_after_going_back(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_send *send = ask_send(link);
	u32 i;

	for (i = 0; i < 3; i++)
		ask_post(link);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 0, 10);
	ask_expect_nothing(link);
	ask_responses(link, 11, 2 * ASK_PACKETS);
	ask_expect(link, 2 * ASK_PACKETS, ASK_PACKETS);
	ask_expect(link, 10, 1);
	ask_expect(link, 3 * ASK_PACKETS, ASK_PACKETS);
	ask_wait(link);
	ask_wait(link);
	ask_expect_nothing(link);
	ask_expire(link, true);
	ask_expect(link, 10, ASK_PACKETS - 10);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_expect_nothing(link);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_rewound(&send->inflight));
	ask_responses(link, 11, 12);
	ask_expect_nothing(link);
	send->inflight.asked_at = -ASK_HOUR;
	ask_responses(link, 12, 13);
	ask_expect(link, 10, 1);
	ask_expect_nothing(link);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	KUNIT_EXPECT_EQ(test, send->inflight.una, weft_psn_add(ASK_PSN, 2 * ASK_PACKETS));
	ask_expect(link, 2 * ASK_PACKETS, ASK_PACKETS);
	ask_expect(link, 3 * ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 2 * ASK_PACKETS, 4 * ASK_PACKETS);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_empty(&send->inflight));
	fake_link_expect_quiet(link);
}

/* The acknowledge that is kept has the PSN of a lost response, which is asked for, and kept. */
static void acknowledge_is_none(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_post(link);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	ask_responses(link, 0, 10);
	ask_responses(link, 11, 99);
	ask_acknowledge(link, 99);
	ask_response(link, ASK_PACKETS, WEFT_OP_READ_RESPONSE_FIRST);
	ask_expect(link, 10, 1);
	ask_wait(link);
	ask_wait(link);
	ask_expect(link, 99, 1);
	ask_expect_nothing(link);
	ask_response(link, 99, WEFT_OP_READ_RESPONSE_ONLY);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_end(link, IB_WC_SUCCESS);
	ask_responses(link, ASK_PACKETS + 1, 2 * ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* Responses that are kept put off the ack timeout, and measure the round trip. */
static void peer_is_heard(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_retry *retry = &ask_send(link)->retry;

	ask_responses(link, 0, 10);
	retry->measuring = true;
	retry->sample_psn = weft_psn_add(ASK_PSN, 11);
	retry->deadline = -ASK_HOUR;
	retry->round_trip = 0;
	ask_responses(link, 11, 12);
	KUNIT_EXPECT_GT(test, retry->deadline, 0LL);
	KUNIT_EXPECT_NE(test, retry->round_trip, 0U);
	ask_responses(link, 10, 11);
	ask_responses(link, 12, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* The QP may have one READ outstanding: asking is none, and the next one follows. */
static void one_at_a_time(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_send(link)->max_rd_atomic = 1;
	ask_post(link);
	ask_responses(link, 0, 10);
	ask_expect_nothing(link);
	ask_responses(link, 11, ASK_PACKETS);
	ask_expect(link, 10, 1);
	ask_expect_nothing(link);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_end(link, IB_WC_SUCCESS);
	ask_expect(link, ASK_PACKETS, ASK_PACKETS);
	KUNIT_EXPECT_EQ(test, ask_send(link)->inflight.reads, 1U);
	ask_responses(link, ASK_PACKETS, 2 * ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* Until the peer is known to be a weft, the requester goes back. */
static void peer_is_unknown(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_send(link)->inflight.parts = false;
	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_responses(link, 13, 14);
	ask_wait(link);
	ask_expect(link, 10, ASK_PACKETS - 10);
	ask_expect_nothing(link);
	KUNIT_EXPECT_EQ(test, ask_send(link)->retry.retries, 1U);
	ask_response_of_weft(link, 10);
	KUNIT_EXPECT_TRUE(test, ask_send(link)->inflight.parts);
	/* it has just been requested again */
	ask_responses(link, 14, 15);
	ask_wait(link);
	ask_expect_nothing(link);
	ask_send(link)->inflight.asked_at = -ASK_HOUR;
	ask_responses(link, 15, 16);
	ask_expect(link, 12, 1);
	ask_expect_nothing(link);
	KUNIT_EXPECT_EQ(test, ask_send(link)->retry.retries, 1U);
}

/* An ask of long ago says nothing of PSNs that have wrapped since. */
static void asked_long_ago(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_send(link)->inflight.asked = weft_psn_add(ASK_PSN, WEFT_PSN_MASK / 4);
	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_expect_nothing(link);
}

/* A response that is the last one too early is a bad one, unless the next one has come. */
static void ends_too_early(struct kunit *test)
{
	struct fake_link *link = ask_create(test);

	ask_responses(link, 0, 10);
	ask_responses(link, 12, 16);
	ask_wait(link);
	ask_expect(link, 10, 2);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_end(link, IB_WC_BAD_RESP_ERR);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_ERR);
}

/* Without net device credit nothing is asked, and later that is made good. */
static void asks_later(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_tx *tx = &ask_send(link)->tx;

	ask_responses(link, 0, 10);
	ask_responses(link, 11, 12);
	tx->stalled = true;
	ask_wait(link);
	ask_expect_nothing(link);
	tx->stalled = false;
	ask_responses(link, 12, 13);
	ask_wait(link);
	ask_expect(link, 10, 1);
	ask_response(link, 10, WEFT_OP_READ_RESPONSE_ONLY);
	ask_responses(link, 13, ASK_PACKETS);
	ask_end(link, IB_WC_SUCCESS);
	fake_link_expect_quiet(link);
}

/* A request to node 1; @length is that of a READ. @psn counts from the first. */
static void ask_request(struct fake_link *link, u32 psn, u8 operation, u32 length)
{
	struct fake_node *node = &link->node[1];
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, operation),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = node->qp->qpn,
		.psn = weft_psn_add(ASK_PSN, psn),
		.ackreq = operation == WEFT_OP_WRITE_ONLY,
		.maps = true,
		.reth.va = fake_node_addr(node, psn * FAKE_MTU),
		.reth.rkey = node->region->key,
		.reth.length = length,
	};

	fake_link_deliver(&link->node[0], &hdr, NULL, 0);
}

/* @again: it has been answered before. */
static void ask_expect_answer(struct fake_link *link, u32 psn, u8 operation, bool again)
{
	struct weft_pkt pkt;

	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.opcode, WEFT_OPCODE(WEFT_TRANSPORT_RC, operation));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(ASK_PSN, psn));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.again, again);
	weft_pkt_free(&pkt);
}

/* An ask that comes behind a WRITE is no reason to keep back the acknowledge of that. */
static void acknowledge_is_due(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_turn *turn = &link->node[1].qp->recv.turn;
	struct weft_pkt pkt;

	ask_request(link, 0, WEFT_OP_READ_REQUEST, 2 * FAKE_MTU);
	fake_link_run_halves(link);
	ask_expect_answer(link, 0, WEFT_OP_READ_RESPONSE_FIRST, false);
	ask_expect_answer(link, 1, WEFT_OP_READ_RESPONSE_LAST, false);
	/* both wait for the turn */
	KUNIT_ASSERT_TRUE(test, weft_turn_try(turn));
	ask_request(link, 2, WEFT_OP_WRITE_ONLY, 0);
	ask_request(link, 1, WEFT_OP_READ_REQUEST, FAKE_MTU);
	weft_turn_release(turn);
	fake_link_run_halves(link);
	ask_expect_answer(link, 1, WEFT_OP_READ_RESPONSE_ONLY, true);
	ask_expect_answer(link, 2, WEFT_OP_ACK, false);
	KUNIT_EXPECT_FALSE(test, fake_link_take(link, &pkt));
}

/* A probe wants to know what is missing, and an ask that comes behind it does not change that. */
static void probe_is_answered(struct kunit *test)
{
	struct fake_link *link = ask_create(test);
	struct weft_turn *turn = &link->node[1].qp->recv.turn;
	struct weft_pkt pkt;

	ask_request(link, 0, WEFT_OP_READ_REQUEST, 2 * FAKE_MTU);
	fake_link_run_halves(link);
	ask_expect_answer(link, 0, WEFT_OP_READ_RESPONSE_FIRST, false);
	ask_expect_answer(link, 1, WEFT_OP_READ_RESPONSE_LAST, false);
	KUNIT_ASSERT_TRUE(test, weft_turn_try(turn));
	ask_request(link, 3, WEFT_OP_WRITE_ONLY, 0);
	ask_request(link, 1, WEFT_OP_READ_REQUEST, FAKE_MTU);
	weft_turn_release(turn);
	fake_link_run_halves(link);
	ask_expect_answer(link, 1, WEFT_OP_READ_RESPONSE_ONLY, true);
	KUNIT_ASSERT_TRUE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.hdr.opcode, WEFT_OPCODE(WEFT_TRANSPORT_OWN, WEFT_OP_GAP_MAP));
	KUNIT_EXPECT_EQ(test, pkt.hdr.psn, weft_psn_add(ASK_PSN, 2));
	weft_pkt_free(&pkt);
}

static struct kunit_case ask_cases[] = {
	KUNIT_CASE(gaps_of_many),
	KUNIT_CASE(gaps_of_time),
	KUNIT_CASE(reordering),
	KUNIT_CASE(answer_is_lost),
	KUNIT_CASE(answer_takes_long),
	KUNIT_CASE(no_room_to_ask),
	KUNIT_CASE(tail_is_lost),
	KUNIT_CASE(first_answer_is_lost),
	KUNIT_CASE(loss_after_going_back),
	KUNIT_CASE(acknowledge_is_none),
	KUNIT_CASE(acknowledge_is_due),
	KUNIT_CASE(probe_is_answered),
	KUNIT_CASE(peer_is_heard),
	KUNIT_CASE(one_at_a_time),
	KUNIT_CASE(peer_is_unknown),
	KUNIT_CASE(asked_long_ago),
	KUNIT_CASE(ends_too_early),
	KUNIT_CASE(asks_later),
	{}
};

static struct kunit_suite ask_suite = {
	.name = "weft_rc_ask",
	.exit = ask_exit,
	.test_cases = ask_cases,
};

kunit_test_suite(ask_suite);
