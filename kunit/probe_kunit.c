// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The probes of a requester whose peer is silent: what is lost at the end costs no ack timeout. */
#include "fake_link.h"

#include <kunit/test.h>

#include "engine/inflight.h"
#include "engine/pace.h"
#include "engine/retry.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* PSNs wrap during the tests. */
#define PROBE_PSN	0xfffffeU
/* Some 2 s. */
#define PROBE_TIMEOUT		19
#define PROBE_TIMEOUT_NS	(s64)(4096ULL << PROBE_TIMEOUT)
#define PROBE_REMOTE	(8 * FAKE_PAGE)
/* So long that no probe is due before the test says so. */
#define PROBE_ROUND	NSEC_PER_SEC
#define PROBE_HOUR	(3600LL * NSEC_PER_SEC)
#define PROBE_PART	(WEFT_READ_PACKETS * FAKE_MTU)
/* Fewer receives than the credits that an acknowledge can tell of. */
#define PROBE_RECEIVES	4

/**
 * struct probe_row - a request, and what of it is lost
 * @name: of the row
 * @opcode: of the request
 * @length: of the message
 * @lost: the last request packets that are lost
 * @answers: if not 0, responses after which the last ones are lost
 * @lost_answers: as many of them
 */
struct probe_row {
	const char		*name;
	enum ib_wr_opcode	opcode;
	u32			length;
	u32			lost;
	u32			answers;
	u32			lost_answers;
};

static const struct probe_row probe_rows[] = {
	{ "SEND", IB_WR_SEND, 10, .lost = 1 },
	{ "SEND, its last packet", IB_WR_SEND, 600, .lost = 1 },
	{ "SEND, two packets", IB_WR_SEND, 600, .lost = 2 },
	{ "SEND, its acknowledge", IB_WR_SEND, 600, .answers = 1, .lost_answers = 1 },
	{ "WRITE, its last packet", IB_WR_RDMA_WRITE, 4000, .lost = 1 },
	{ "WRITE, many packets", IB_WR_RDMA_WRITE, 4000, .lost = 12 },
	{ "WRITE, all of it", IB_WR_RDMA_WRITE, 4000, .lost = 16 },
	{ "WRITE, its acknowledge", IB_WR_RDMA_WRITE, 4000, .answers = 1, .lost_answers = 1 },
	{ "READ", IB_WR_RDMA_READ, 600, .lost = 1 },
	{ "READ, its last response", IB_WR_RDMA_READ, 600, .answers = 3, .lost_answers = 1 },
	{ "READ, all responses", IB_WR_RDMA_READ, 600, .answers = 3, .lost_answers = 3 },
	{ "READ in parts, the end of the first part", IB_WR_RDMA_READ, PROBE_PART + 600,
	  .answers = WEFT_READ_PACKETS, .lost_answers = 2 },
	{ "READ in parts, the end of the last part", IB_WR_RDMA_READ, PROBE_PART + 600,
	  .answers = WEFT_READ_PACKETS + 3, .lost_answers = 2 },
	{ "atomic", IB_WR_ATOMIC_FETCH_AND_ADD, 8, .lost = 1 },
	{ "atomic, its response", IB_WR_ATOMIC_FETCH_AND_ADD, 8, .answers = 1, .lost_answers = 1 },
};

static void probe_row_desc(const struct probe_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(probe_row, probe_rows, probe_row_desc);

static struct weft_send *probe_send(struct fake_link *link)
{
	return &link->node[0].qp->send;
}

/* A path whose round trip has been measured, for a QP with one READ at a time. */
static struct fake_link *probe_create(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { PROBE_PSN, 0 },
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_wr = 512,
		.sig_all = true,
	};
	struct fake_link *link = fake_link_create(test, &attr, 1);

	probe_send(link)->retry.round_trip = PROBE_ROUND;
	probe_send(link)->window.packets = WEFT_LARGEST_WINDOW;
	return link;
}

static void probe_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static void probe_post_recv(struct fake_link *link)
{
	struct fake_node *node = &link->node[1];
	struct ib_sge sge = {
		.addr = fake_node_addr(node, 0), .length = FAKE_MEMORY, .lkey = node->region->key,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;
	u32 i;

	for (i = 0; i < PROBE_RECEIVES; i++)
		KUNIT_ASSERT_EQ(link->test, 0, weft_post_recv(&node->ib_qp.ibqp, &wr, &bad));
}

static void probe_post(struct fake_link *link, enum ib_wr_opcode opcode, u32 length)
{
	struct fake_node *node = &link->node[0], *peer = &link->node[1];
	u64 remote = fake_node_addr(peer, opcode == IB_WR_RDMA_READ ? 0 : PROBE_REMOTE);
	struct ib_sge sge = {
		.addr = fake_node_addr(node, 0), .length = length, .lkey = node->region->key,
	};
	struct ib_atomic_wr atomic = { .remote_addr = remote, .rkey = peer->region->key };
	struct ib_rdma_wr rdma = { .remote_addr = remote, .rkey = peer->region->key };
	struct ib_send_wr *wr = opcode == IB_WR_ATOMIC_FETCH_AND_ADD ? &atomic.wr : &rdma.wr;
	const struct ib_send_wr *bad;

	wr->opcode = opcode;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&node->ib_qp.ibqp, wr, &bad));
	fake_link_run_halves(link);
}

static void probe_deliver(struct fake_link *link)
{
	while (fake_link_step(link))
		;
}

/* The timer expires: after a long silence, or too early. */
static void probe_expire(struct fake_link *link, bool silent)
{
	struct weft_retry *retry = &probe_send(link)->retry;

	hrtimer_cancel(&retry->timer);
	if (silent)
		retry->quiet = -PROBE_HOUR;
	weft_turn_post(&probe_send(link)->turn, WEFT_EV_TIMER);
	fake_link_run_halves(link);
}

/* Take all packets off the wire. */
static void probe_clear(struct fake_link *link)
{
	struct weft_pkt pkt;

	while (fake_link_take(link, &pkt))
		weft_pkt_free(&pkt);
}

/* Expect one probe on the wire, of the WRITE with this PSN, counted from the first. */
static void probe_expect(struct fake_link *link, u32 psn)
{
	struct weft_pkt pkt;

	KUNIT_ASSERT_TRUE(link->test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_EQ(link->test, pkt.hdr.psn, weft_psn_add(PROBE_PSN, psn));
	KUNIT_EXPECT_TRUE(link->test, pkt.hdr.ackreq);
	KUNIT_EXPECT_TRUE(link->test, pkt.hdr.maps);
	weft_pkt_free(&pkt);
	KUNIT_EXPECT_TRUE(link->test, skb_queue_empty(&link->wire));
}

static void probe_expect_nothing(struct fake_link *link)
{
	KUNIT_EXPECT_TRUE(link->test, skb_queue_empty(&link->wire));
	KUNIT_EXPECT_TRUE(link->test, hrtimer_active(&probe_send(link)->retry.timer));
}

static void probe_answer(struct fake_link *link, u32 psn, u8 syndrome)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = weft_psn_add(PROBE_PSN, psn),
		.aeth.syndrome = syndrome,
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

static void probe_ack(struct fake_link *link, u32 psn)
{
	probe_answer(link, psn, weft_aeth_syndrome(WEFT_AETH_ACK, WEFT_AETH_NO_CREDIT));
}

/* Nothing says that a packet was lost: no retry, and no limit of what may be sent. */
static void probe_expect_no_loss(struct fake_link *link)
{
	const struct weft_send *send = probe_send(link);

	KUNIT_EXPECT_EQ(link->test, send->retry.retries, 0U);
	KUNIT_EXPECT_EQ(link->test, send->retry.left, 7);
	KUNIT_EXPECT_EQ(link->test, send->window.packets, (u32)WEFT_LARGEST_WINDOW);
	KUNIT_EXPECT_EQ(link->test, send->cc.rate, 0U);
	KUNIT_EXPECT_EQ(link->test, send->inflight.repair.state, WEFT_REPAIR_NONE);
}

/* All that is lost is got again after one probe, without a retry. */
static void end_is_probed(struct kunit *test)
{
	const struct probe_row *row = test->param_value;
	struct fake_link *link = probe_create(test);
	struct weft_send *send = probe_send(link);
	struct ib_wc wc;
	u32 i, sent;

	probe_post_recv(link);
	probe_post(link, row->opcode, row->length);
	for (i = 0; i < row->lost; i++)
		fake_link_lose(link);
	while (link->sent[1] < row->answers)
		KUNIT_ASSERT_TRUE(test, fake_link_step(link));
	for (i = 0; i < row->lost_answers; i++)
		fake_link_lose(link);
	probe_deliver(link);
	KUNIT_ASSERT_TRUE(test, weft_send_is_busy(send));
	sent = link->sent[0];
	probe_expire(link, true);
	KUNIT_EXPECT_EQ(test, link->sent[0], sent + 1);
	probe_deliver(link);
	KUNIT_ASSERT_EQ(test, weft_poll_cq(&link->node[0].send_cq.ibcq, 1, &wc), 1);
	KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, send->retry.retries, 0U);
	fake_link_expect_quiet(link);
}

/* Peers that are only slow answer in their time, and nothing else is sent again. */
static void peer_is_slow(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	u32 i;

	link->node[0].dev.cc = WEFT_CC_DCQCN;
	for (i = 0; i < 4; i++)
		probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	/* a second silence is none either */
	for (i = 0; i < 2; i++) {
		probe_expire(link, true);
		probe_expect(link, 3);
	}
	for (i = 0; i < 4; i++) {
		probe_expect_no_loss(link);
		probe_ack(link, i);
		KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
	}
	/* those to the probes */
	probe_ack(link, 3);
	probe_expect_no_loss(link);
	fake_link_expect_quiet(link);
}

/* Each answer moves the time of the probe. */
static void answers_put_it_off(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_retry *retry = &probe_send(link)->retry;

	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	retry->quiet = 0;
	probe_ack(link, 0);
	KUNIT_EXPECT_GT(test, retry->quiet, 0);
	probe_expire(link, false);
	probe_expect_nothing(link);
	KUNIT_EXPECT_LT(test, hrtimer_get_expires(&retry->timer), retry->deadline);
	probe_expire(link, true);
	probe_expect(link, 1);
	/* and so does the probe, for twice as long */
	probe_expire(link, false);
	probe_expect_nothing(link);
	KUNIT_EXPECT_GT(test, hrtimer_get_remaining(&retry->timer), 3 * PROBE_ROUND);
	probe_ack(link, 1);
}

/*
 * A packet that has been probed measures no round trip, as nobody knows what its answer answers;
 * but the next one does (Karn), although the path may be slower now.
 */
static void round_trip_is_learnt(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_retry *retry = &probe_send(link)->retry;

	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	probe_expire(link, true);
	KUNIT_EXPECT_EQ(test, retry->backoff, 1);
	probe_clear(link);
	probe_ack(link, 0);
	KUNIT_EXPECT_EQ(test, retry->round_trip, (u32)PROBE_ROUND);
	KUNIT_EXPECT_EQ(test, retry->backoff, 1);
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	probe_ack(link, 1);
	KUNIT_EXPECT_NE(test, retry->round_trip, (u32)PROBE_ROUND);
	KUNIT_EXPECT_EQ(test, retry->backoff, 0);
}

/* Until a round trip has been measured it is taken for some milliseconds. */
static void first_round_trip(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_retry *retry = &probe_send(link)->retry;

	retry->round_trip = 0;
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	KUNIT_EXPECT_LT(test, hrtimer_get_remaining(&retry->timer), NSEC_PER_SEC);
	probe_expire(link, true);
	probe_expect(link, 0);
	KUNIT_EXPECT_EQ(test, retry->backoff, 1);
	/* the answer may be that to either packet */
	probe_ack(link, 0);
	KUNIT_EXPECT_EQ(test, retry->round_trip, 0U);
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	probe_ack(link, 1);
	KUNIT_EXPECT_NE(test, retry->round_trip, 0U);
	KUNIT_EXPECT_EQ(test, retry->backoff, 0);
	fake_link_expect_quiet(link);
}

/* The requester waits for something else than the peer. */
static void not_the_peer(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_send *send = probe_send(link);

	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	/* its pace */
	weft_pace_delay(send, PROBE_HOUR);
	probe_expire(link, true);
	probe_expect_nothing(link);
	KUNIT_EXPECT_GT(test, send->retry.quiet, 0);
	hrtimer_cancel(&send->pace.timer);
	/* room for its packets */
	send->tx.stalled = true;
	probe_expire(link, true);
	probe_expect_nothing(link);
	KUNIT_EXPECT_EQ(test, send->retry.backoff, 0);
	send->tx.stalled = false;
	/* a queue of this host, which its last packets have not left */
	atomic_set(&send->tx.queued, 1);
	probe_expire(link, true);
	probe_expect_nothing(link);
	atomic_set(&send->tx.queued, 0);
	/* a repair, which repeats itself */
	send->inflight.repair.state = WEFT_REPAIR_SENT;
	send->retry.repair_due = KTIME_MAX;
	probe_expire(link, true);
	probe_expect_nothing(link);
	send->inflight.repair.state = WEFT_REPAIR_NONE;
	/* an RNR delay, which ends as the peer has said */
	probe_answer(link, 0, weft_aeth_syndrome(WEFT_AETH_RNR_NAK, 1));
	KUNIT_EXPECT_TRUE(test, send->retry.rnr_wait);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
	probe_expire(link, true);
	KUNIT_EXPECT_FALSE(test, send->retry.rnr_wait);
	probe_clear(link);
	probe_ack(link, 0);
	KUNIT_EXPECT_EQ(test, send->retry.retries, 0U);
	fake_link_expect_quiet(link);
}

/* A message that waits for the window is not probed, but what has been sent is. */
static void window_is_full(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_send *send = probe_send(link);

	send->window.packets = WEFT_INFLIGHT_PACKETS;
	probe_post(link, IB_WR_RDMA_WRITE, 100 * FAKE_MTU);
	probe_post(link, IB_WR_RDMA_WRITE, 100 * FAKE_MTU);
	probe_post(link, IB_WR_RDMA_WRITE, 100 * FAKE_MTU);
	KUNIT_ASSERT_EQ(test, link->sent[0], (u32)WEFT_INFLIGHT_PACKETS);
	probe_clear(link);
	probe_expire(link, true);
	probe_expect(link, WEFT_INFLIGHT_PACKETS - 1);
	KUNIT_EXPECT_EQ(test, send->inflight.next,
			weft_psn_add(PROBE_PSN, WEFT_INFLIGHT_PACKETS));
	probe_ack(link, WEFT_INFLIGHT_PACKETS - 1);
	KUNIT_EXPECT_EQ(test, link->sent[0], 301U);
	probe_clear(link);
	probe_ack(link, 299);
	fake_link_expect_quiet(link);
}

/*
 * The window has become smaller than what is under way, of which the last packet asks for nothing:
 * one packet that asks is sent, however full the window is.
 */
static void window_has_shrunk(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_send *send = probe_send(link);
	struct weft_pkt pkt;
	u32 i;

	send->window.packets = WEFT_INFLIGHT_PACKETS;
	for (i = 0; i < 3; i++)
		probe_post(link, IB_WR_RDMA_WRITE, 100 * FAKE_MTU);
	KUNIT_ASSERT_EQ(test, link->sent[0], (u32)WEFT_INFLIGHT_PACKETS);
	probe_clear(link);
	send->window.packets = 4;
	send->inflight.ackreq = false;
	for (i = 0; i < 2; i++) {
		weft_turn_post(&send->turn, WEFT_EV_RUN);
		fake_link_run_halves(link);
		KUNIT_EXPECT_EQ(test, link->sent[0], WEFT_INFLIGHT_PACKETS + 1U);
	}
	KUNIT_ASSERT_TRUE(test, fake_link_take(link, &pkt));
	KUNIT_EXPECT_TRUE(test, pkt.hdr.ackreq);
	weft_pkt_free(&pkt);
	send->window.packets = WEFT_INFLIGHT_PACKETS;
	probe_ack(link, WEFT_INFLIGHT_PACKETS);
	probe_clear(link);
	probe_ack(link, 299);
	fake_link_expect_quiet(link);
}

/* Without an ack timeout there is no timer, and with a short one no probe is earlier. */
static void ack_timeout_decides(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct weft_send *send = probe_send(link);
	struct hrtimer *timer = &send->retry.timer;

	/* it changes while the timer runs for the old one */
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(timer));
	probe_clear(link);
	probe_ack(link, 0);
	weft_retry_set_timeout(send, PROBE_TIMEOUT);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(timer));
	send->retry.round_trip = PROBE_TIMEOUT_NS;
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(timer), PROBE_TIMEOUT_NS);
	probe_clear(link);
	probe_expire(link, false);
	KUNIT_EXPECT_LE(test, hrtimer_get_remaining(timer), PROBE_TIMEOUT_NS);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
	probe_ack(link, 1);
	weft_retry_set_timeout(send, 0);
	probe_post(link, IB_WR_RDMA_WRITE, 10);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(timer));
	probe_clear(link);
	probe_expire(link, true);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
	KUNIT_EXPECT_FALSE(test, hrtimer_active(timer));
	probe_ack(link, 2);
	fake_link_expect_quiet(link);
}

/* A probe leaves before the requests behind local operations, and of nothing there is none. */
static void behind_local_operations(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct ib_send_wr invalidate = { .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_FENCE };
	const struct ib_send_wr *bad;

	probe_expire(link, true);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&link->wire));
	probe_post(link, IB_WR_RDMA_READ, 10);
	probe_clear(link);
	KUNIT_ASSERT_EQ(test, 0, weft_post_send(&link->node[0].ib_qp.ibqp, &invalidate, &bad));
	fake_link_run_halves(link);
	probe_expire(link, true);
	KUNIT_EXPECT_EQ(test, link->sent[0], 2U);
	probe_deliver(link);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->state, IB_QPS_ERR);
}

/* In ERR nothing is sent. */
static void error_ends_probes(struct kunit *test)
{
	struct fake_link *link = probe_create(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	probe_post(link, IB_WR_RDMA_WRITE, 10);
	probe_clear(link);
	KUNIT_ASSERT_EQ(test, weft_modify_qp(&link->node[0].ib_qp.ibqp, &attr, IB_QP_STATE, NULL),
			0);
	probe_expire(link, true);
	KUNIT_EXPECT_EQ(test, link->sent[0], 1U);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE_PARAM(end_is_probed, probe_row_gen_params),
	KUNIT_CASE(peer_is_slow),
	KUNIT_CASE(answers_put_it_off),
	KUNIT_CASE(round_trip_is_learnt),
	KUNIT_CASE(first_round_trip),
	KUNIT_CASE(not_the_peer),
	KUNIT_CASE(window_is_full),
	KUNIT_CASE(window_has_shrunk),
	KUNIT_CASE(ack_timeout_decides),
	KUNIT_CASE(behind_local_operations),
	KUNIT_CASE(error_ends_probes),
	{}
};

static struct kunit_suite probe_suite = {
	.name = "weft_rc_probe",
	.exit = probe_exit,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);
