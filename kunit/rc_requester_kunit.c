// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The requester, response by response: which requests complete, and which are sent again. */
#include "rc_model.h"

#include <kunit/test.h>

#include "compat/placement.h"
#include "engine/inflight.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define REQ_STEPS	6
#define REQ_PSN		0xfffffdU
#define REQ_REQUESTS	4
#define REQ_PAYLOAD	512
/* Packets of a message that takes longer than one soft interrupt, sent one at a time. */
#define REQ_LONG	100
/* Offsets of the data that are sent, of those that come back, and of the peer's memory. */
#define REQ_SOURCE	0
#define REQ_SINK	(4 * FAKE_PAGE)
#define REQ_REMOTE	(8 * FAKE_PAGE)

/*
 * The requests, posted at once. PSNs, counted from the first one: SEND 0, READ 1 to 3, FETCH & ADD
 * 4, SEND 5 and 6.
 */
static const struct {
	enum ib_wr_opcode	opcode;
	u32			length;
} req_requests[REQ_REQUESTS] = {
	{ IB_WR_SEND, 10 },
	{ IB_WR_RDMA_READ, 600 },
	{ IB_WR_ATOMIC_FETCH_AND_ADD, 8 },
	{ IB_WR_SEND, 300 },
};

/**
 * struct req_step - a response, and its effect
 * @operation: enum weft_operation
 * @psn: counted from that of the first request
 * @syndrome: in the AETH
 * @length: bytes of payload
 * @pass: time passes before the response
 * @done: requests that have completed successfully after it, in all
 * @status: if set, the next request fails with it, and those behind it are flushed
 * @again: requests are sent again, from PSN @from on
 * @from: counted as @psn
 */
struct req_step {
	u8			operation;
	s32			psn;
	u8			syndrome;
	u32			length;
	bool			pass;
	u32			done;
	enum ib_wc_status	status;
	bool			again;
	u32			from;
};

/**
 * struct req_row - responses one after the other
 * @name: of the row
 * @steps: entries used
 * @step: responses
 */
struct req_row {
	const char	*name;
	u32		steps;
	struct req_step	step[REQ_STEPS];
};

#define PACKET(_operation, _psn, ...) \
	{ .operation = WEFT_OP_##_operation, .psn = (_psn), \
	  .syndrome = WEFT_AETH_NO_CREDIT, __VA_ARGS__ }
#define NAK(_psn, _code, ...) \
	{ .operation = WEFT_OP_ACK, .psn = (_psn), \
	  .syndrome = WEFT_AETH_NAK << 5 | (_code), __VA_ARGS__ }
#define RNR(_psn, ...) \
	{ .operation = WEFT_OP_ACK, .psn = (_psn), \
	  .syndrome = WEFT_AETH_RNR_NAK << 5, __VA_ARGS__ }
#define DONE(_done)		.done = (_done)
#define FAILS(_done, _status)	.done = (_done), .status = IB_WC_##_status
#define AGAIN(_from)		.again = true, .from = (_from)
#define STEPS(...)							\
	.steps = sizeof((struct req_step[]){ __VA_ARGS__ }) /		\
		 sizeof(struct req_step),				\
	.step = { __VA_ARGS__ }

static const struct req_row req_rows[] = {
	/* IBA 9.7.6.1: each acknowledge also covers all requests before it */
	{ "one after the other",
	  STEPS(PACKET(ACK, 0, DONE(1)),
		PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(2)),
		PACKET(ATOMIC_ACK, 4, DONE(3)),
		PACKET(ACK, 6, DONE(4))) },
	{ "READ response acknowledges",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1))) },
	{ "acknowledge of half a message",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(2)),
		PACKET(ATOMIC_ACK, 4, DONE(3)),
		PACKET(ACK, 5, DONE(3))) },
	{ "twice",
	  STEPS(PACKET(ACK, 0, DONE(1)),
		PACKET(ACK, 0, DONE(1)),
		PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(ACK, 0, DONE(1))) },
	{ "of what was not sent",
	  STEPS(PACKET(ACK, 7, DONE(0)),
		PACKET(ACK, -1, DONE(0)),
		NAK(7, WEFT_NAK_INVALID_REQUEST, DONE(0)),
		PACKET(ACK, 1 << 23, DONE(0))) },
	{ "reserved kind of acknowledge",
	  STEPS({ .operation = WEFT_OP_ACK, .syndrome = WEFT_AETH_RESERVED << 5, DONE(0) },
		PACKET(ACK, 0, DONE(1))) },

	/* packets that overtake others wait for them */
	{ "READ response is late",
	  STEPS(PACKET(ACK, 6, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(1)),
		PACKET(ATOMIC_ACK, 4, DONE(1)),
		PACKET(ATOMIC_ACK, 4, DONE(1)),
		PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(4))) },

	/* IBA 9.7.5.1.1: a missing response is detected by those behind it, which are late */
	{ "READ response is missing",
	  STEPS(PACKET(ACK, 6, DONE(1)),
		PACKET(ACK, 7, .pass = true, DONE(1), AGAIN(1)),
		PACKET(ACK, 6, DONE(1)),
		PACKET(ATOMIC_ACK, 4, DONE(1))) },
	{ "acknowledge in place of a READ response",
	  STEPS(PACKET(ACK, 1, DONE(1)),
		PACKET(ACK, 7, .pass = true, DONE(1), AGAIN(1))) },
	{ "middle of a READ response is missing",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(1)),
		PACKET(ATOMIC_ACK, 4, .pass = true, DONE(1), AGAIN(2)),
		PACKET(READ_RESPONSE_FIRST, 2, .length = 256, DONE(3))) },
	{ "atomic acknowledge is missing",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(2)),
		PACKET(ACK, 5, DONE(2)),
		PACKET(ACK, 7, .pass = true, DONE(2), AGAIN(4))) },

	/* IBA 9.7.5.2.4: NAKs */
	{ "PSN sequence",
	  STEPS(NAK(0, WEFT_NAK_PSN_SEQUENCE, DONE(0), AGAIN(0)),
		NAK(0, WEFT_NAK_PSN_SEQUENCE, DONE(0)),
		PACKET(ACK, 0, DONE(1), AGAIN(1)),
		NAK(1, WEFT_NAK_PSN_SEQUENCE, DONE(1))) },
	{ "PSN sequence, what is before has arrived",
	  STEPS(NAK(1, WEFT_NAK_PSN_SEQUENCE, DONE(1), AGAIN(1))) },
	{ "invalid request", STEPS(NAK(0, WEFT_NAK_INVALID_REQUEST, FAILS(0, REM_INV_REQ_ERR))) },
	{ "remote access", STEPS(NAK(1, WEFT_NAK_REMOTE_ACCESS, FAILS(1, REM_ACCESS_ERR))) },
	{ "remote operation",
	  STEPS(PACKET(ACK, 0, DONE(1)),
		NAK(1, WEFT_NAK_REMOTE_OPERATION, FAILS(1, REM_OP_ERR))) },
	{ "NAK in a READ",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		NAK(2, WEFT_NAK_REMOTE_ACCESS, FAILS(1, REM_ACCESS_ERR))) },
	{ "unknown NAK", STEPS(NAK(0, 9, FAILS(0, BAD_RESP_ERR))) },

	/* IBA 9.7.5.2.8: nothing is sent before the delay is over */
	{ "RNR",
	  STEPS(RNR(0, DONE(0)),
		RNR(0, DONE(0)),
		PACKET(ACK, 7, .pass = true, DONE(0), AGAIN(0)),
		PACKET(ACK, 0, DONE(1))) },
	{ "RNR, and the rest of what is before",
	  STEPS(RNR(1, DONE(1)),
		PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(ACK, 7, .pass = true, DONE(1), AGAIN(2))) },

	/* IBA 9.9.2.4.1: bad responses do not match the request */
	{ "READ response too short",
	  STEPS(PACKET(READ_RESPONSE_ONLY, 1, .length = 255, FAILS(1, BAD_RESP_ERR))) },
	{ "READ response too long",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 89, FAILS(1, BAD_RESP_ERR))) },
	{ "READ response ends too early",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 2, .length = 256, FAILS(1, BAD_RESP_ERR))) },
	{ "READ response does not end",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 3, .length = 88, FAILS(1, BAD_RESP_ERR))) },
	{ "atomic acknowledge of a READ", STEPS(PACKET(ATOMIC_ACK, 1, FAILS(1, BAD_RESP_ERR))) },
	{ "READ response that says no",
	  STEPS({ .operation = WEFT_OP_READ_RESPONSE_FIRST, .length = 256, .psn = 1,
		.syndrome = WEFT_AETH_NAK << 5, FAILS(1, BAD_RESP_ERR) }) },
	{ "READ response to an atomic",
	  STEPS(PACKET(READ_RESPONSE_FIRST, 1, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_MIDDLE, 2, .length = 256, DONE(1)),
		PACKET(READ_RESPONSE_LAST, 3, .length = 88, DONE(2)),
		PACKET(READ_RESPONSE_ONLY, 4, .length = 8, FAILS(2, BAD_RESP_ERR))) },
};

static void req_row_desc(const struct req_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(req_row, req_rows, req_row_desc);

static u32 req_psn(s32 psn)
{
	return weft_psn_add(REQ_PSN, psn);
}

static void req_post_wr(struct fake_link *link, u32 id, enum ib_wr_opcode opcode,
			u32 offset, u32 remote, u32 length)
{
	struct fake_node *node = &link->node[0], *peer = &link->node[1];
	struct ib_sge sge = {
		.addr = fake_node_addr(node, offset),
		.length = length,
		.lkey = node->region->key,
	};
	struct ib_atomic_wr atomic = {
		.remote_addr = fake_node_addr(peer, remote),
		.rkey = peer->region->key,
	};
	struct ib_rdma_wr rdma = {
		.remote_addr = fake_node_addr(peer, remote),
		.rkey = peer->region->key,
	};
	struct ib_send_wr *wr = opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? &atomic.wr : &rdma.wr;
	const struct ib_send_wr *bad;

	wr->wr_id = id;
	wr->opcode = opcode;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&node->ib_qp.ibqp, wr, &bad));
}

static void req_post(struct fake_link *link, u32 i)
{
	enum ib_wr_opcode opcode = req_requests[i].opcode;

	req_post_wr(link, i, opcode, opcode == IB_WR_SEND ? REQ_SOURCE : REQ_SINK,
		    REQ_REMOTE, req_requests[i].length);
}

/* Take all packets off the wire before the peer gets them. Return: the first PSN. */
static bool req_clear_wire(struct fake_link *link, u32 *psn)
{
	struct weft_pkt pkt;
	bool any = false;

	while (fake_link_take(link, &pkt)) {
		if (!any)
			*psn = pkt.hdr.psn;
		any = true;
		weft_pkt_free(&pkt);
	}
	return any;
}

static void req_deliver(struct fake_link *link, const struct req_step *step)
{
	static const u8 payload[REQ_PAYLOAD];
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, step->operation),
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = req_psn(step->psn),
		.aeth.syndrome = step->syndrome,
	};

	if (step->pass)
		KUNIT_EXPECT_TRUE(link->test, fake_link_pass_time(link));
	fake_link_deliver(&link->node[1], &hdr, payload, step->length);
}

static void req_expect(struct fake_link *link, const struct req_step *step, u32 *done)
{
	enum ib_wc_status status = step->status;
	struct kunit *test = link->test;
	struct ib_wc wc;
	bool again;
	u32 psn;

	again = req_clear_wire(link, &psn);
	KUNIT_EXPECT_EQ(test, again, step->again);
	if (again)
		KUNIT_EXPECT_EQ(test, psn, req_psn(step->from));
	for (; weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc) == 1; (*done)++) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, *done);
		if (*done < step->done) {
			KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_SUCCESS);
			continue;
		}
		KUNIT_EXPECT_EQ(test, (int)wc.status, (int)status);
		status = IB_WC_WR_FLUSH_ERR;
	}
	KUNIT_EXPECT_EQ(test, *done, step->status ? REQ_REQUESTS : step->done);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->state,
			step->status ? IB_QPS_ERR : IB_QPS_RTS);
}

static void responses_in_order(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { REQ_PSN, 0 },
		.retry_cnt = 7,
		.rnr_retry = 1,
		.max_rd_atomic = REQ_REQUESTS,
		.max_wr = 16,
		.sig_all = true,
	};
	const struct req_row *row = test->param_value;
	struct fake_link *link = fake_link_create(test, &attr, 1);
	u32 i, done = 0, psn;

	for (i = 0; i < REQ_REQUESTS; i++)
		req_post(link, i);
	fake_link_run_halves(link);
	KUNIT_EXPECT_EQ(test, link->sent[0], 5);
	req_clear_wire(link, &psn);
	for (i = 0; i < row->steps; i++) {
		enum kunit_status before = test->status;

		req_deliver(link, &row->step[i]);
		fake_link_run_halves(link);
		req_expect(link, &row->step[i], &done);
		if (before != test->status)
			kunit_info(test, "it was response %u", i);
	}
	KUNIT_EXPECT_EQ(test, refcount_read(&link->node[0].region->refs), 1);
}

/* Unsignaled requests, for tests whose results do not depend on their responses. */
static struct fake_link *req_create(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { REQ_PSN, 0 },
		.retry_cnt = 7,
		.rnr_retry = 1,
		.max_wr = WEFT_INFLIGHT_PACKETS,
	};

	return fake_link_create(test, &attr, 1);
}

static void req_post_times(struct fake_link *link, u32 i, u32 times)
{
	while (times--)
		req_post(link, i);
	fake_link_run_halves(link);
}

static void req_ack(struct fake_link *link, s32 psn, u32 msn, u8 syndrome)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = req_psn(psn),
		.aeth = { .syndrome = syndrome, .msn = msn },
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

/* The timer is started once for many answers, so it may expire too early. */
static void timer_too_early(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	struct weft_send *send = &link->node[0].qp->send;
	u32 psn;

	req_post_times(link, 0, 1);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_TRUE(test, hrtimer_cancel(&send->retry.timer));
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	fake_link_run_halves(link);
	KUNIT_EXPECT_FALSE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_EQ(test, send->retry.left, 7);
	/* it has been started again; when it expires in time, the request is sent again */
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	fake_link_run_halves(link);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_EQ(test, psn, REQ_PSN);
	KUNIT_EXPECT_EQ(test, send->retry.left, 6);
}

/* The answer arrived before the timer expired, but waited in the backlog. */
static void answer_is_not_late(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	struct weft_send *send = &link->node[0].qp->send;
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = REQ_PSN,
		.aeth = { .syndrome = WEFT_AETH_NO_CREDIT, .msn = 1 },
	};
	u32 psn;

	req_post_times(link, 0, 1);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&send->turn));
	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	KUNIT_EXPECT_FALSE(test, weft_inflight_is_empty(&send->inflight));
	hrtimer_cancel(&send->retry.timer);
	send->retry.deadline = 0;
	send->retry.left = 0;
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	weft_turn_release(&send->turn);
	fake_link_run_halves(link);
	KUNIT_EXPECT_TRUE(test, weft_inflight_is_empty(&send->inflight));
	KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_RTS);
}

/* IBA 9.7.5.2.8: the RNR delay lasts as long as the responder says, not until the ack timeout. */
static void rnr_delay_as_told(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	const struct req_step rnr = RNR(0);
	struct weft_retry *retry = &link->node[0].qp->send.retry;
	struct hrtimer *timer = &retry->timer;
	u32 psn;

	req_post_times(link, 0, 1);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_GT(test, ktime_ms_delta(retry->deadline, ktime_get()), 1000);
	req_deliver(link, &rnr);
	fake_link_run_halves(link);
	/* 655 ms; the timer has expired if this took longer */
	KUNIT_EXPECT_LT(test, ktime_to_ms(hrtimer_get_remaining(timer)), 656);
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	fake_link_run_halves(link);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
}

/* The ack timeout expires just as the RNR NAK arrives: that does not end the RNR delay. */
static void rnr_delay_and_retry(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	struct weft_send *send = &link->node[0].qp->send;
	const struct req_step rnr = RNR(0);
	u32 psn;

	req_post_times(link, 0, 1);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_TRUE(test, hrtimer_cancel(&send->retry.timer));
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	req_deliver(link, &rnr);
	KUNIT_EXPECT_TRUE(test, send->retry.rnr_wait);
	KUNIT_EXPECT_FALSE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	fake_link_run_halves(link);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
}

/* Not more packets are unanswered than fit into a net device's backlog. */
static void window_is_bounded(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	u32 psn;

	/* two packets each */
	req_post_times(link, REQ_REQUESTS - 1, WEFT_INFLIGHT_PACKETS);
	KUNIT_EXPECT_EQ(test, link->sent[0], WEFT_INFLIGHT_PACKETS);
	req_clear_wire(link, &psn);
	/* when one is acknowledged, one more is sent */
	req_ack(link, 0, 0, WEFT_AETH_NO_CREDIT);
	KUNIT_EXPECT_EQ(test, link->sent[0], WEFT_INFLIGHT_PACKETS + 1);
	KUNIT_EXPECT_TRUE(test, req_clear_wire(link, &psn));
	KUNIT_EXPECT_EQ(test, psn, req_psn(WEFT_INFLIGHT_PACKETS));
}

/* A READ of more than WEFT_READ_PACKETS needs several READ requests. */
static void long_read_in_parts(struct kunit *test)
{
	const u32 length = 2 * WEFT_READ_PACKETS * FAKE_MTU - 7;
	struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { REQ_PSN, 0 },
		.retry_cnt = 7,
		.max_wr = 16,
		.sig_all = true,
	};
	u8 *to = kunit_kmalloc(test, length, GFP_KERNEL);
	u8 *from = kunit_kmalloc(test, length, GFP_KERNEL);
	struct fake_link *link;
	struct ib_wc wc;

	KUNIT_ASSERT_NOT_NULL(test, to);
	KUNIT_ASSERT_NOT_NULL(test, from);
	BUILD_BUG_ON(FAKE_MEMORY / FAKE_MTU < 2 * WEFT_READ_PACKETS);
	for (attr.max_rd_atomic = 1; attr.max_rd_atomic <= 4; attr.max_rd_atomic++) {
		link = fake_link_create(test, &attr, attr.max_rd_atomic);
		fake_node_read(&link->node[1], 0, from, length);
		req_post_wr(link, 1, IB_WR_RDMA_READ, 0, 0, length);
		fake_link_run_halves(link);
		KUNIT_EXPECT_EQ(test, link->sent[0], min_t(u32, attr.max_rd_atomic, 2));
		/* lost responses are requested again */
		link->faults = (struct fake_faults){ .loss = 3, .reorder = 3 };
		fake_link_settle(link);
		KUNIT_ASSERT_EQ(test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 1);
		KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.byte_len, length);
		fake_node_read(&link->node[0], 0, to, length);
		KUNIT_EXPECT_EQ(test, memcmp(to, from, length), 0);
		fake_link_expect_quiet(link);
		fake_link_destroy(link);
		test->priv = NULL;
	}
}

/* Without credit only the first packet of a message is sent, alone (IBA 9.7.7.2). */
static void credits_are_kept(struct kunit *test)
{
	struct fake_link *link = req_create(test);
	u32 psn;

	/* the number of receives is not known yet */
	req_post_times(link, 0, 1);
	KUNIT_EXPECT_EQ(test, link->sent[0], 1);
	req_clear_wire(link, &psn);
	/* no credit: one of the two packets is sent, and nothing of the next message */
	req_ack(link, 0, 1, 0);
	req_post_times(link, REQ_REQUESTS - 1, 1);
	req_post_times(link, 0, 1);
	KUNIT_EXPECT_EQ(test, link->sent[0], 2);
	req_clear_wire(link, &psn);
	/* one credit: the other packet is sent */
	req_ack(link, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, link->sent[0], 3);
	req_clear_wire(link, &psn);
	/* three credits, and then an acknowledge without a number of credits */
	req_ack(link, 2, 2, 3);
	req_post_times(link, 0, 4);
	KUNIT_EXPECT_EQ(test, link->sent[0], 6);
	req_clear_wire(link, &psn);
	req_ack(link, 5, 5, WEFT_AETH_NO_CREDIT);
	KUNIT_EXPECT_EQ(test, link->sent[0], 8);
	req_clear_wire(link, &psn);
}

/* Post a FLUSH, for which kernel consumers have no verb. */
static void req_post_flush(struct fake_link *link)
{
	struct weft_qp *qp = link->node[0].qp;
	struct weft_sqe *sqe = weft_ring_reserve(qp->send.ring);

	KUNIT_ASSERT_NOT_NULL(link->test, sqe);
	*sqe = (struct weft_sqe){
		.wr_id = 1,
		.opcode = WEFT_SQE_FLUSH,
		.rkey = link->node[1].region->key,
		.remote_addr = fake_node_addr(&link->node[1], REQ_REMOTE),
		.flush.length = 123456,
		.flush.placement = WEFT_PLACEMENT_PERSISTENT,
		.flush.selectivity = WEFT_SELECT_REGION,
	};
	weft_ring_submit(qp->send.ring);
	weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
}

/* Post an ATOMIC WRITE, then a FLUSH, which waits for the answer to the first. */
static struct fake_link *req_create_placement(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { REQ_PSN, 0 },
		.retry_cnt = 7,
		.max_rd_atomic = 1,
		.max_wr = 16,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);

	req_post_wr(link, 0, IB_WR_ATOMIC_WRITE, REQ_SOURCE, REQ_REMOTE, 8);
	req_post_flush(link);
	fake_link_run_halves(link);
	KUNIT_EXPECT_EQ(test, link->sent[0], 1);
	return link;
}

/* Expect one packet on the wire, a request for the peer's memory. */
static void req_expect_request(struct fake_link *link, struct weft_pkt *pkt, u8 operation,
			       s32 psn, u32 length)
{
	struct kunit *test = link->test;

	KUNIT_ASSERT_TRUE(test, fake_link_take(link, pkt));
	KUNIT_EXPECT_EQ(test, pkt->hdr.opcode, WEFT_OPCODE(WEFT_TRANSPORT_RC, operation));
	KUNIT_EXPECT_EQ(test, pkt->hdr.psn, req_psn(psn));
	KUNIT_EXPECT_EQ(test, pkt->hdr.reth.va, fake_node_addr(&link->node[1], REQ_REMOTE));
	KUNIT_EXPECT_EQ(test, pkt->hdr.reth.rkey, link->node[1].region->key);
	KUNIT_EXPECT_EQ(test, pkt->hdr.reth.length, length);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
}

static void req_expect_flush(struct fake_link *link)
{
	struct weft_pkt pkt;

	req_expect_request(link, &pkt, WEFT_OP_FLUSH, 1, 123456);
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.feth.placement, WEFT_PLACEMENT_PERSISTENT);
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.feth.selectivity, WEFT_SELECT_REGION);
	weft_pkt_free(&pkt);
}

static void req_expect_wc(struct fake_link *link, u64 id, enum ib_wc_status status, int opcode)
{
	struct ib_wc wc;

	KUNIT_ASSERT_EQ(link->test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(link->test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(link->test, (int)wc.status, (int)status);
	KUNIT_EXPECT_EQ(link->test, (int)wc.opcode, opcode);
}

/* IBA A19: each is answered by a READ response without data, and by nothing else. */
static void placement_is_answered(struct kunit *test)
{
	const struct req_step done[] = {
		PACKET(READ_RESPONSE_ONLY, 0), PACKET(READ_RESPONSE_ONLY, 1),
	};
	const struct req_step acknowledge = PACKET(ACK, 1);
	struct fake_link *link = req_create_placement(test);
	u8 sent[8], source[8];
	struct weft_pkt pkt;

	req_expect_request(link, &pkt, WEFT_OP_ATOMIC_WRITE, 0, 8);
	KUNIT_ASSERT_EQ(test, pkt.hdr.payload, 8);
	skb_copy_bits(pkt.skb, pkt.hdr.length, sent, 8);
	fake_node_read(&link->node[0], REQ_SOURCE, source, 8);
	KUNIT_EXPECT_MEMEQ(test, sent, source, 8);
	weft_pkt_free(&pkt);
	req_deliver(link, &done[0]);
	fake_link_run_halves(link);
	req_expect_wc(link, 0, IB_WC_SUCCESS, IB_WC_ATOMIC_WRITE);
	req_expect_flush(link);
	/* so the response must have been lost */
	req_deliver(link, &acknowledge);
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	fake_link_run_halves(link);
	req_expect_flush(link);
	req_deliver(link, &done[1]);
	fake_link_run_halves(link);
	req_expect_wc(link, 1, IB_WC_SUCCESS, IB_WC_FLUSH);
	fake_link_expect_quiet(link);
}

static void placement_bad_response(struct kunit *test)
{
	static const struct req_step bad[] = {
		PACKET(READ_RESPONSE_ONLY, 0, .length = 8),
		PACKET(READ_RESPONSE_FIRST, 0, .length = 256),
		PACKET(READ_RESPONSE_LAST, 0, .length = 8),
		PACKET(ATOMIC_ACK, 0),
	};
	struct fake_link *link;
	u32 i, psn;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		link = req_create_placement(test);
		req_clear_wire(link, &psn);
		req_deliver(link, &bad[i]);
		fake_link_run_halves(link);
		req_expect_wc(link, 0, IB_WC_BAD_RESP_ERR, IB_WC_ATOMIC_WRITE);
		req_expect_wc(link, 1, IB_WC_WR_FLUSH_ERR, IB_WC_FLUSH);
		KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_ERR);
		fake_link_destroy(link);
		test->priv = NULL;
	}
}

/* Destroy the region. */
static void req_kill_region(struct fake_link *link)
{
	weft_region_kill(link->node[0].region);
	link->node[0].region = NULL;
}

static void req_expect_no_wc(struct fake_link *link)
{
	struct ib_wc wc;

	KUNIT_EXPECT_EQ(link->test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 0);
}

/*
 * The memory of a message is deregistered after half of it has been sent. The request fails when
 * those before it are answered, also if a NAK of its first half answers them; and it fails only
 * once.
 */
static void fails_once(struct kunit *test)
{
	static const struct req_step naks[] = {
		NAK(WEFT_INFLIGHT_PACKETS - 1, WEFT_NAK_REMOTE_ACCESS),
		RNR(WEFT_INFLIGHT_PACKETS - 1),
	};
	struct fake_link *link;
	u32 i, psn;

	for (i = 0; i < ARRAY_SIZE(naks); i++) {
		link = req_create(test);
		link->node[0].qp->send.retry.rnr_cnt = 0;
		/* messages of one packet, and of two */
		req_post_times(link, 0, 1);
		req_post_times(link, REQ_REQUESTS - 1, WEFT_INFLIGHT_PACKETS / 2);
		KUNIT_EXPECT_EQ(test, link->sent[0], WEFT_INFLIGHT_PACKETS);
		req_clear_wire(link, &psn);
		req_kill_region(link);
		req_ack(link, 0, 0, WEFT_AETH_NO_CREDIT);
		req_expect_no_wc(link);
		req_deliver(link, &naks[i]);
		fake_link_run_halves(link);
		req_expect_wc(link, REQ_REQUESTS - 1, IB_WC_LOC_PROT_ERR, IB_WC_SEND);
		req_expect_no_wc(link);
		KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_ERR);
		KUNIT_EXPECT_EQ(test, weft_ring_pending(link->node[0].qp->send.ring), 0);
		fake_link_destroy(link);
		test->priv = NULL;
	}
}

/*
 * A packet is to be sent again, but is acknowledged before that. The request behind it waits: a
 * READ for its failure (max_rd_atomic is 0), a LOCAL_INV for its fence. It must not be skipped, and
 * so complete without being executed.
 */
static void request_not_skipped(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { REQ_PSN, 0 },
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_wr = 16,
	};
	static const struct req_step later[] = {
		RNR(0), PACKET(READ_RESPONSE_ONLY, 0, .length = 10),
	};
	struct fake_link *link = req_create(test);
	struct ib_send_wr invalidate = {
		.wr_id = 1,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_FENCE,
	};
	const struct ib_send_wr *bad;

	req_post_times(link, 0, 1);
	req_post_times(link, 1, 1);
	req_ack(link, 0, 0, WEFT_AETH_RNR_NAK << 5);
	req_expect_no_wc(link);
	req_ack(link, 0, 1, WEFT_AETH_NO_CREDIT);
	req_expect_wc(link, 1, IB_WC_LOC_QP_OP_ERR, IB_WC_RDMA_READ);
	fake_link_destroy(link);
	test->priv = NULL;

	link = fake_link_create(test, &attr, 1);
	req_post_wr(link, 0, IB_WR_RDMA_READ, REQ_SINK, REQ_REMOTE, 10);
	KUNIT_ASSERT_EQ(test, weft_post_send(&link->node[0].ib_qp.ibqp, &invalidate, &bad), 0);
	fake_link_run_halves(link);
	req_deliver(link, &later[0]);
	fake_link_run_halves(link);
	req_expect_no_wc(link);
	req_deliver(link, &later[1]);
	req_expect_no_wc(link);
	KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
	fake_link_run_halves(link);
	/* it has been executed: there is no such key */
	req_expect_wc(link, 1, IB_WC_MW_BIND_ERR, IB_WC_LOCAL_INV);
}

static void req_post_inline(struct fake_link *link, u32 id)
{
	u8 data[10] = {};
	struct ib_sge sge = { .addr = (uintptr_t)data, .length = sizeof(data) };
	struct ib_send_wr wr = {
		.wr_id = id,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_INLINE,
		.sg_list = &sge,
		.num_sge = 1,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&link->node[0].ib_qp.ibqp, &wr, &bad));
}

/* A UC message whose memory is deregistered after some packets have been sent. */
static struct fake_link *req_create_half_sent(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_UC,
		.psn = { REQ_PSN, 0 },
		.max_wr = 16,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);
	u32 psn;

	link->node[0].qp->send.batch_packets = 1;
	req_post_wr(link, 0, IB_WR_SEND, REQ_SOURCE, 0, REQ_LONG * FAKE_MTU);
	KUNIT_EXPECT_GT(test, link->sent[0], 0);
	KUNIT_EXPECT_LT(test, link->sent[0], REQ_LONG);
	req_clear_wire(link, &psn);
	req_kill_region(link);
	return link;
}

/* Messages after the long one have the PSNs that follow it. */
static void req_expect_works(struct fake_link *link, u32 id)
{
	struct weft_pkt pkt;

	rc_modify(&link->node[0], IB_QPS_RTS, 0);
	req_post_inline(link, id);
	fake_link_run_halves(link);
	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.opcode,
			WEFT_OPCODE(WEFT_TRANSPORT_UC, WEFT_OP_SEND_ONLY));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, req_psn(REQ_LONG));
	weft_pkt_free(&pkt);
	KUNIT_EXPECT_TRUE(link->test, skb_queue_empty(&link->wire));
	req_expect_wc(link, id, IB_WC_SUCCESS, IB_WC_SEND);
	fake_link_expect_quiet(link);
}

/* A QP also goes from SQD to SQE (IBA 10.3.1.6). */
static void drain_fails(struct kunit *test)
{
	struct fake_link *link = req_create_half_sent(test);

	rc_modify(&link->node[0], IB_QPS_SQD, 0);
	fake_link_run_halves(link);
	req_expect_wc(link, 0, IB_WC_LOC_PROT_ERR, IB_WC_SEND);
	KUNIT_ASSERT_EQ(test, link->node[0].qp->state, IB_QPS_SQE);
	req_expect_no_wc(link);
	req_expect_works(link, 1);
}

/* The consumer leaves SQE when it learns of the failure, before the work item has flushed. */
static void sqe_left_at_once(struct kunit *test)
{
	struct fake_link *link = req_create_half_sent(test);

	req_post_inline(link, 1);
	req_expect_wc(link, 0, IB_WC_LOC_PROT_ERR, IB_WC_SEND);
	KUNIT_ASSERT_EQ(test, link->node[0].qp->state, IB_QPS_SQE);
	req_expect_no_wc(link);
	rc_modify(&link->node[0], IB_QPS_RTS, 0);
	req_expect_wc(link, 1, IB_WC_WR_FLUSH_ERR, IB_WC_SEND);
	req_expect_no_wc(link);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
}

static void req_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static struct kunit_case req_cases[] = {
	KUNIT_CASE_PARAM(responses_in_order, req_row_gen_params),
	KUNIT_CASE(timer_too_early),
	KUNIT_CASE(answer_is_not_late),
	KUNIT_CASE(rnr_delay_as_told),
	KUNIT_CASE(rnr_delay_and_retry),
	KUNIT_CASE(window_is_bounded),
	KUNIT_CASE(long_read_in_parts),
	KUNIT_CASE(credits_are_kept),
	KUNIT_CASE(fails_once),
	KUNIT_CASE(request_not_skipped),
	KUNIT_CASE(drain_fails),
	KUNIT_CASE(sqe_left_at_once),
	KUNIT_CASE(placement_is_answered),
	KUNIT_CASE(placement_bad_response),
	{}
};

static struct kunit_suite req_suite = {
	.name = "weft_rc_requester",
	.exit = req_exit,
	.test_cases = req_cases,
};

kunit_test_suite(req_suite);
