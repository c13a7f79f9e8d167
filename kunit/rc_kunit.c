// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connected QPs over a bad wire, compared with a model that has no packets. */
#include "rc_model.h"

#include <kunit/test.h>

#include "engine/inflight.h"
#include "object/mw.h"
#include "verbs/qp.h"

#define RC_SEEDS(...)							\
	{ __VA_ARGS__, .seed = 1 }, { __VA_ARGS__, .seed = 2 }

static const struct rc_row rc_rows[] = {
	RC_SEEDS("nothing", {}),
	RC_SEEDS("loss", { .loss = 5 }),
	RC_SEEDS("much loss", { .loss = 20 }),
	RC_SEEDS("loss and nothing kept", { .loss = 5 }, .forget = true),
	RC_SEEDS("duplicates", { .duplicate = 20 }),
	RC_SEEDS("reordering", { .reorder = 3 }),
	RC_SEEDS("much reordering", { .reorder = 30 }),
	RC_SEEDS("stalls", { .stall = 30 }),
	RC_SEEDS("busy halves", { .busy = 50 }),
	RC_SEEDS("buffers", { .bulk = 80 }),
	RC_SEEDS("buffers and busy halves", { .bulk = 50, .busy = 50 }),
	RC_SEEDS("buffers and reordering", { .bulk = 50, .reorder = 20, .duplicate = 10 }),
	RC_SEEDS("buffers and loss", { .bulk = 50, .loss = 5 }),
	RC_SEEDS("hurry", { .hurry = 5 }),
	RC_SEEDS("late receives", {}, .late = true),
	RC_SEEDS("late receives and loss", { .loss = 10, .hurry = 2 }, .late = true),
	RC_SEEDS("drains", {}, .drain = true),
	RC_SEEDS("drains and loss", { .loss = 10, .stall = 10 }, .drain = true),
	RC_SEEDS("resizes", {}, .resize = true),
	RC_SEEDS("resizes and loss", { .loss = 10, .stall = 10 }, .late = true, .resize = true),
	RC_SEEDS("all of it",
		 { .loss = 5, .duplicate = 5, .reorder = 5, .stall = 20, .busy = 20, .bulk = 20,
		   .hurry = 2 },
		 .late = true, .drain = true, .resize = true),
};

static void rc_row_desc(const struct rc_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, seed %llu", row->name, row->seed);
}

KUNIT_ARRAY_PARAM(rc_row, rc_rows, rc_row_desc);

static const struct fake_attr rc_attr = {
	.type = IB_QPT_RC,
	/* both wrap during the test */
	.psn = { 0xffff80, 0xfffffe },
	.retry_cnt = 7,
	.rnr_retry = 7,
	.max_rd_atomic = 4,
	.max_wr = RC_QUEUE,
};

static void rc_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* ---- cases ---- */

/* Leave no room, or all room, for packets that overtake others. */
static void rc_fill_early(struct rc *rc, u32 i, bool full)
{
	atomic_set(&rc->link->node[i].dev.early_bytes, full ? WEFT_EARLY_DEV_BYTES : 0);
}

/* Over a bad wire, all requests are executed in order and once. */
static void requests_over_bad_wire(struct kunit *test)
{
	const struct rc_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, row);
	u32 i;

	for (i = 0; i < FAKE_NODES; i++) {
		rc_choose_way(rc, &rc->way[i], RC_REQUESTS);
		rc_fill_early(rc, i, row->forget);
	}
	rc_run(rc);
	for (i = 0; i < FAKE_NODES; i++)
		rc_fill_early(rc, i, false);
	rc_expect_all_posted(rc);
	rc_expect(rc);
	rc_expect_stats(rc, row);
	rc_expect_events(rc, 0);
}

/**
 * struct rc_retry_row - a peer that does not answer
 * @name: of the row
 * @retry_cnt: transport retries
 * @rnr_retry: RNR retries
 * @loss: all packets are lost; otherwise the peer has no receive
 * @tries: how often the first request is sent
 * @status: of the first request
 */
struct rc_retry_row {
	const char		*name;
	u8			retry_cnt;
	u8			rnr_retry;
	bool			loss;
	u32			tries;
	enum ib_wc_status	status;
};

/* IBA 9.7.5.2.8 and 9.9.2.1.1: the retries come after the first try */
static const struct rc_retry_row rc_retry_rows[] = {
	{ "no retry", 0, 7, true, 1, IB_WC_RETRY_EXC_ERR },
	{ "one retry", 1, 7, true, 2, IB_WC_RETRY_EXC_ERR },
	{ "seven retries", 7, 7, true, 8, IB_WC_RETRY_EXC_ERR },
	{ "no RNR retry", 7, 0, false, 1, IB_WC_RNR_RETRY_EXC_ERR },
	{ "one RNR retry", 7, 1, false, 2, IB_WC_RNR_RETRY_EXC_ERR },
	{ "six RNR retries", 0, 6, false, 7, IB_WC_RNR_RETRY_EXC_ERR },
};

static void rc_retry_row_desc(const struct rc_retry_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rc_retry_row, rc_retry_rows, rc_retry_row_desc);

static void retries_used_up(struct kunit *test)
{
	static const struct rc_row plain;
	const struct rc_retry_row *row = test->param_value;
	struct fake_attr attr = rc_attr;
	struct oracle_way *oracle;
	struct weft_dev *dev;
	struct rc *rc;

	attr.retry_cnt = row->retry_cnt;
	attr.rnr_retry = row->rnr_retry;
	rc = rc_create(test, &attr, &plain);
	dev = &rc->link->node[0].dev;
	rc->link->faults.loss = row->loss ? 100 : 0;
	rc->link->watch_psn = rc->link->node[0].qp->send.psn;
	oracle = &rc->way[0].oracle;
	rc_choose_way(rc, &rc->way[0], 10);
	oracle->send[0].opcode = IB_WR_SEND;
	oracle->num_recv = 0;
	oracle->fail_at = 0;
	oracle->status = row->status;
	rc_run(rc);
	KUNIT_EXPECT_EQ(test, rc->link->watched, row->tries);
	KUNIT_EXPECT_EQ(test, rc->link->node[0].qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, rc->link->node[1].qp->state, IB_QPS_RTS);
	/* the timeout that finds no retries left is no retry */
	KUNIT_EXPECT_EQ(test, weft_stats_sum(dev, WEFT_STAT_LOCAL_ACK_TIMEOUT_ERR),
			row->loss ? row->retry_cnt : 0);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(dev, WEFT_STAT_REQ_TRANSPORT_RETRIES_EXCEEDED),
			row->loss);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(dev, WEFT_STAT_REQ_RNR_RETRIES_EXCEEDED), !row->loss);
	rc_expect(rc);
	rc_expect_events(rc, 0);
}

/**
 * enum rc_refusal - why a request is refused
 * @RC_REFUSE_RANGE: it goes beyond the region
 * @RC_REFUSE_KEY: there is no such region
 * @RC_REFUSE_RIGHT: the region does not allow it
 * @RC_REFUSE_QP: the QP does not allow it
 * @RC_REFUSE_ALIGNMENT: of an atomic or ATOMIC WRITE
 * @RC_REFUSE_LENGTH: the receive is too short
 */
enum rc_refusal {
	RC_REFUSE_RANGE,
	RC_REFUSE_KEY,
	RC_REFUSE_RIGHT,
	RC_REFUSE_QP,
	RC_REFUSE_ALIGNMENT,
	RC_REFUSE_LENGTH,
};

/**
 * struct rc_refusal_row - a request that is refused, among others
 * @name: of the row
 * @opcode: of the request
 * @length: of the request
 * @why: reason of the refusal
 * @status: of the request
 * @recv_status: of the receive, if it is not flushed
 * @event: at the responder; 0: a receive completes with the error
 */
struct rc_refusal_row {
	const char		*name;
	enum ib_wr_opcode	opcode;
	u32			length;
	enum rc_refusal		why;
	enum ib_wc_status	status;
	enum ib_wc_status	recv_status;
	enum ib_event_type	event;
};

/* IBA table 59, responder error behavior */
static const struct rc_refusal_row rc_refusal_rows[] = {
	{ "WRITE, range", IB_WR_RDMA_WRITE, 1000, RC_REFUSE_RANGE, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "WRITE, key", IB_WR_RDMA_WRITE, 10, RC_REFUSE_KEY, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "WRITE, right", IB_WR_RDMA_WRITE, 300, RC_REFUSE_RIGHT, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "WRITE, not enabled", IB_WR_RDMA_WRITE, 300, RC_REFUSE_QP, IB_WC_REM_INV_REQ_ERR,
	  .event = IB_EVENT_QP_REQ_ERR },
	{ "WRITE with immediate, range", IB_WR_RDMA_WRITE_WITH_IMM, 100, RC_REFUSE_RANGE,
	  IB_WC_REM_ACCESS_ERR, IB_WC_LOC_ACCESS_ERR },
	{ "READ, range", IB_WR_RDMA_READ, 1000, RC_REFUSE_RANGE, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "READ, not enabled", IB_WR_RDMA_READ, 1000, RC_REFUSE_QP, IB_WC_REM_INV_REQ_ERR,
	  .event = IB_EVENT_QP_REQ_ERR },
	{ "atomic, key", IB_WR_ATOMIC_FETCH_AND_ADD, 8, RC_REFUSE_KEY, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "atomic, alignment", IB_WR_ATOMIC_CMP_AND_SWP, 8, RC_REFUSE_ALIGNMENT,
	  IB_WC_REM_INV_REQ_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
	{ "masked atomic, key", IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, 8, RC_REFUSE_KEY,
	  IB_WC_REM_ACCESS_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
	{ "masked atomic, right", IB_WR_MASKED_ATOMIC_CMP_AND_SWP, 8, RC_REFUSE_RIGHT,
	  IB_WC_REM_ACCESS_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
	{ "masked atomic, not enabled", IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, 8, RC_REFUSE_QP,
	  IB_WC_REM_INV_REQ_ERR, .event = IB_EVENT_QP_REQ_ERR },
	{ "masked atomic, alignment", IB_WR_MASKED_ATOMIC_CMP_AND_SWP, 8, RC_REFUSE_ALIGNMENT,
	  IB_WC_REM_INV_REQ_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
	{ "ATOMIC WRITE, key", IB_WR_ATOMIC_WRITE, 8, RC_REFUSE_KEY, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "ATOMIC WRITE, right", IB_WR_ATOMIC_WRITE, 8, RC_REFUSE_RIGHT, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "ATOMIC WRITE, not enabled", IB_WR_ATOMIC_WRITE, 8, RC_REFUSE_QP,
	  IB_WC_REM_INV_REQ_ERR, .event = IB_EVENT_QP_REQ_ERR },
	{ "ATOMIC WRITE, alignment", IB_WR_ATOMIC_WRITE, 8, RC_REFUSE_ALIGNMENT,
	  IB_WC_REM_INV_REQ_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
	{ "SEND, first packet too long", IB_WR_SEND, 1000, RC_REFUSE_LENGTH,
	  IB_WC_REM_INV_REQ_ERR, IB_WC_LOC_LEN_ERR },
	{ "SEND, last packet too long", IB_WR_SEND_WITH_IMM, 300, RC_REFUSE_LENGTH,
	  IB_WC_REM_INV_REQ_ERR, IB_WC_LOC_LEN_ERR },
};

static void rc_refusal_row_desc(const struct rc_refusal_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rc_refusal_row, rc_refusal_rows, rc_refusal_row_desc);

/* Bytes of the receive in a row with RC_REFUSE_LENGTH. */
#define RC_SHORT_RECV	255
/* Number of the request that is refused, and of all requests. */
#define RC_REFUSED	12
#define RC_REFUSAL_REQUESTS	20

/* Change the request into the row's. */
static void rc_spoil_send(struct rc *rc, const struct rc_refusal_row *row,
			  struct oracle_send *send)
{
	*send = (struct oracle_send){
		.wr_id = send->wr_id,
		.opcode = row->opcode,
		.num_sge = 1,
		.sge[0] = {
			.offset = oracle_is_response(row->opcode) ? RC_SINK : RC_SOURCE,
			.length = row->length,
		},
		.remote = RC_REMOTE,
		/* the requests before it must not see the memory that is changed for this one */
		.flags = IB_SEND_FENCE,
	};
	if (row->why == RC_REFUSE_RANGE)
		send->remote = FAKE_MEMORY - row->length + 1;
	if (row->why == RC_REFUSE_ALIGNMENT)
		send->remote += 4;
}

/* Make the responder refuse it; all requests before it are complete. */
static void rc_spoil_peer(struct fake_node *peer, enum rc_refusal why)
{
	switch (why) {
	case RC_REFUSE_KEY:
		peer->region->pd = peer;
		break;
	case RC_REFUSE_RIGHT:
		peer->region->access = IB_ACCESS_LOCAL_WRITE;
		break;
	case RC_REFUSE_QP:
		peer->qp->access = 0;
		break;
	default:
		break;
	}
}

/* Complete the requests before it, then post it and the others. */
static void rc_run_refusal(struct rc *rc, const struct rc_refusal_row *row)
{
	struct oracle_way *oracle = &rc->way[0].oracle;

	oracle->num_send = RC_REFUSED;
	rc_run(rc);
	rc_spoil_peer(&rc->link->node[1], row->why);
	oracle->num_send = RC_REFUSAL_REQUESTS;
	rc_run(rc);
}

static void request_refused(struct kunit *test)
{
	static const struct rc_row plain = { .faults = { .duplicate = 10, .stall = 20 } };
	const struct rc_refusal_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, &plain);
	struct oracle_way *oracle = &rc->way[0].oracle;
	struct oracle_recv *recv;

	rc_choose_way(rc, &rc->way[0], RC_REFUSED);
	oracle->fail_at = RC_REFUSED;
	oracle->fail_both = true;
	oracle->status = row->status;
	oracle->recv_status = row->recv_status;
	recv = &oracle->recv[oracle->num_recv];
	rc_choose_way(rc, &rc->way[0], RC_REFUSAL_REQUESTS);
	rc_spoil_send(rc, row, &oracle->send[RC_REFUSED]);
	if (row->why == RC_REFUSE_LENGTH) {
		recv->num_sge = 1;
		recv->sge[0].length = row->length > 2 * FAKE_MTU ? RC_SHORT_RECV : FAKE_MTU;
	}
	rc_run_refusal(rc, row);
	/* packets before the refused one may have been placed */
	if (row->recv_status)
		fake_node_read(&rc->link->node[1], recv->sge[0].offset,
			       rc->image[1] + recv->sge[0].offset, FAKE_MTU);
	rc_expect_all_posted(rc);
	rc_expect(rc);
	rc_expect_events(rc, row->event);
	KUNIT_EXPECT_EQ(test, rc->link->node[0].qp->state, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, rc->link->node[1].qp->state, IB_QPS_ERR);
}

/**
 * struct rc_gone_row - a message whose memory is deregistered while it is under way
 * @name: of the row
 * @opcode: of the message
 * @status: of the request
 * @recv_status: of the receive, if it is not flushed
 * @event: at the responder; 0: a receive completes with the error
 */
struct rc_gone_row {
	const char		*name;
	enum ib_wr_opcode	opcode;
	enum ib_wc_status	status;
	enum ib_wc_status	recv_status;
	enum ib_event_type	event;
};

static const struct rc_gone_row rc_gone_rows[] = {
	{ "WRITE", IB_WR_RDMA_WRITE, IB_WC_REM_ACCESS_ERR,
	  .event = IB_EVENT_QP_ACCESS_ERR },
	{ "SEND", IB_WR_SEND, IB_WC_REM_OP_ERR, IB_WC_LOC_PROT_ERR },
	{ "READ", IB_WR_RDMA_READ, IB_WC_REM_ACCESS_ERR, .event = IB_EVENT_QP_ACCESS_ERR },
};

static void rc_gone_row_desc(const struct rc_gone_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rc_gone_row, rc_gone_rows, rc_gone_row_desc);

/* Packets executed before the memory is deregistered. */
#define RC_GONE_AFTER	3

/* Post two messages, and stop when the first one is half done. Return: bytes done. */
static u32 rc_half_done(struct rc *rc, bool read)
{
	struct weft_recv *recv = &rc->link->node[1].qp->recv;
	const u32 *done = read ? &recv->response.done : &recv->progress.done;
	u32 steps = 0;

	while (*done < RC_GONE_AFTER * FAKE_MTU) {
		/* stop the answer to a READ by taking its tx credit */
		rc->link->faults.stall = read && rc->link->sent[0] ? 100 : 0;
		rc_step(rc);
		KUNIT_ASSERT_LT(rc->test, steps++, RC_STEPS);
	}
	rc->link->faults.stall = 0;
	return *done;
}

/* Nothing more of a message is placed or read once its memory is deregistered. */
static void memory_gone_under_way(struct kunit *test)
{
	static const struct rc_row plain = { .seed = 1 };
	const struct rc_gone_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, &plain);
	struct fake_node *peer = &rc->link->node[1];
	struct oracle_way *oracle = &rc->way[0].oracle;
	u32 i, done;

	for (i = 0; i < 2; i++) {
		oracle->send[i] = (struct oracle_send){
			.wr_id = i,
			.opcode = row->opcode,
			.num_sge = 1,
			.sge[0] = {
				.offset = oracle_is_response(row->opcode) ? RC_SINK :
									    RC_SOURCE,
				.length = RC_MAX_MESSAGE,
			},
			.remote = RC_REMOTE,
		};
		rc_choose_recv(rc, &oracle->recv[i], i);
	}
	oracle->num_send = 2;
	oracle->num_recv = 2;
	oracle->fail_at = 0;
	oracle->fail_both = true;
	oracle->status = row->status;
	oracle->recv_status = row->recv_status;
	done = rc_half_done(rc, row->opcode == IB_WR_RDMA_READ);
	KUNIT_ASSERT_LT(test, done, RC_MAX_MESSAGE);
	weft_region_kill(peer->region);
	peer->region = NULL;
	rc_run(rc);
	if (row->opcode == IB_WR_RDMA_READ)
		memcpy(rc->image[0] + RC_SINK, rc->image[1] + RC_REMOTE, done);
	else if (row->opcode == IB_WR_RDMA_WRITE)
		memcpy(rc->image[1] + RC_REMOTE, rc->image[0] + RC_SOURCE, done);
	else
		memcpy(rc->image[1] + RC_RECV, rc->image[0] + RC_SOURCE, done);
	/* a READ counts as executed when it is accepted */
	if (row->opcode == IB_WR_RDMA_READ)
		peer->qp->recv.msn--;
	rc_expect(rc);
	rc_expect_events(rc, row->event);
}

/* Errors and the destruction of QPs: nothing that was under way is left. */
static const struct rc_row rc_end_rows[] = {
	RC_SEEDS("ERR", { .loss = 5, .reorder = 10, .stall = 20, .bulk = 20 }),
	RC_SEEDS("RESET", { .loss = 5, .reorder = 10, .stall = 20, .bulk = 20 }),
	RC_SEEDS("destroy", { .loss = 5, .reorder = 10, .stall = 20 }, .late = true),
};

KUNIT_ARRAY_PARAM(rc_end_row, rc_end_rows, rc_row_desc);

/* After the successful completions come only flushed ones, all in order. */
static void rc_expect_flushed(struct rc *rc, u32 i)
{
	struct fake_node *node = &rc->link->node[i];
	const struct rc_way *way = &rc->way[i];
	bool failed = false;
	struct ib_wc wc;
	u32 at = 0;

	while (weft_poll_cq(&node->send_cq.ibcq, 1, &wc) == 1) {
		if (wc.status != IB_WC_SUCCESS)
			failed = true;
		KUNIT_EXPECT_EQ(rc->test, (int)wc.status,
				(int)(failed ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS));
		/* an unsignaled request has no completion if it succeeds */
		while (at < way->sent && !failed && !(way->send[at].flags & IB_SEND_SIGNALED))
			at++;
		while (failed && at < way->sent && way->send[at].wr_id != wc.wr_id &&
		       !(way->send[at].flags & IB_SEND_SIGNALED))
			at++;
		KUNIT_ASSERT_LT(rc->test, at, way->sent);
		KUNIT_EXPECT_EQ(rc->test, wc.wr_id, way->send[at].wr_id);
		at++;
	}
	if (failed)
		KUNIT_EXPECT_EQ(rc->test, at, way->sent);
}

static void end_under_way(struct kunit *test)
{
	const struct rc_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, row);
	enum ib_qp_state state = !strcmp(row->name, "ERR") ? IB_QPS_ERR : IB_QPS_RESET;
	u32 i, steps;

	for (i = 0; i < FAKE_NODES; i++)
		rc_choose_way(rc, &rc->way[i], RC_REQUESTS);
	for (steps = 100 + fake_random(rc->link, 100); steps; steps--)
		rc_step(rc);
	if (!strcmp(row->name, "destroy"))
		return;
	for (i = 0; i < FAKE_NODES; i++)
		rc_modify(&rc->link->node[i], state, 0);
	fake_link_settle(rc->link);
	for (i = 0; i < FAKE_NODES; i++) {
		KUNIT_EXPECT_EQ(test, rc->link->node[i].qp->state, state);
		if (state == IB_QPS_ERR)
			rc_expect_flushed(rc, i);
	}
	fake_link_expect_quiet(rc->link);
}

/* ---- UC ---- */

static const struct fake_attr rc_uc_attr = {
	.type = IB_QPT_UC,
	.psn = { 0xffff80, 0xfffffe },
	.max_wr = RC_QUEUE,
	.sig_all = true,
};

static const struct rc_row rc_uc_rows[] = {
	RC_SEEDS("nothing", {}),
	RC_SEEDS("loss", { .loss = 5 }),
	RC_SEEDS("much loss", { .loss = 20 }),
	RC_SEEDS("loss and stalls", { .loss = 5, .stall = 30 }),
	RC_SEEDS("loss and reordering", { .loss = 3, .reorder = 5 }),
	RC_SEEDS("buffers and loss", { .bulk = 50, .loss = 3, .busy = 20 }),
};

KUNIT_ARRAY_PARAM(rc_uc_row, rc_uc_rows, rc_row_desc);

/* Choose requests that UC has; the immediate data identify the request. */
static void rc_choose_uc(struct rc *rc)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE, IB_WR_RDMA_WRITE_WITH_IMM,
	};
	struct oracle_way *oracle = &rc->way[0].oracle;
	struct oracle_send *send;
	u32 i, length;

	for (i = 0; i < RC_REQUESTS; i++) {
		send = &oracle->send[i];
		send->wr_id = i;
		send->opcode = opcodes[fake_random(rc->link, ARRAY_SIZE(opcodes))];
		send->imm = cpu_to_be32(i);
		length = rc_choose_length(rc);
		send->num_sge = rc_choose_sge(rc, send->sge, RC_SOURCE, length);
		send->remote = rc_choose_remote(rc, send->opcode, length);
		rc_choose_recv(rc, &oracle->recv[i], i);
		oracle->recv[i].wr_id = i;
	}
	oracle->num_send = RC_REQUESTS;
	oracle->num_recv = RC_REQUESTS;
}

static bool rc_memory_is(const struct fake_node *node, u32 offset, const u8 *bytes,
			 u32 length)
{
	u8 byte;

	for (; length; length--) {
		fake_node_read(node, offset++, &byte, 1);
		if (byte != *bytes++)
			return false;
	}
	return true;
}

/* Are the request's data in the receive, or in the memory that it writes? */
static bool rc_uc_is_there(struct rc *rc, const struct oracle_send *send,
			   const struct ib_wc *wc)
{
	const struct oracle_recv *recv = &rc->way[0].recv[wc->wr_id];
	u32 at = oracle_is_send(send->opcode) ? recv->sge[0].offset : send->remote, i;

	for (i = 0; i < send->num_sge; i++) {
		if (!rc_memory_is(&rc->link->node[1], at,
				  rc->image[0] + send->sge[i].offset, send->sge[i].length))
			return false;
		at += send->sge[i].length;
	}
	return true;
}

static bool rc_uc_fits(struct rc *rc, const struct oracle_send *send, const struct ib_wc *wc)
{
	bool imm = wc->wc_flags & IB_WC_WITH_IMM, recv = wc->opcode == IB_WC_RECV;

	if (oracle_has_imm(send->opcode) != imm || (imm && send->imm != wc->ex.imm_data) ||
	    oracle_is_send(send->opcode) != recv ||
	    oracle_length(send->sge, send->num_sge) != wc->byte_len)
		return false;
	return rc_uc_is_there(rc, send, wc);
}

/* A message has arrived: check that it was sent, and after the messages that arrived before it. */
static void rc_uc_received(struct rc *rc, const struct ib_wc *wc, bool *arrived)
{
	u32 i, after = 0;

	if (!rc->row->faults.reorder)
		for (i = 0; i < RC_REQUESTS; i++)
			if (arrived[i])
				after = i + 1;
	for (i = after; i < rc->way[0].sent; i++)
		if (!arrived[i] && rc_uc_fits(rc, &rc->way[0].send[i], wc))
			break;
	KUNIT_ASSERT_LT(rc->test, i, rc->way[0].sent);
	arrived[i] = true;
}

/* UC messages arrive whole or not at all, in order (IBA 9.8). */
static void uc_messages_whole_or_not(struct kunit *test)
{
	const struct rc_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_uc_attr, row);
	bool arrived[RC_REQUESTS] = {};
	u32 i, steps = 0, received = 0;
	struct ib_wc wc;

	rc_choose_uc(rc);
	while (rc_step(rc)) {
		KUNIT_ASSERT_LT(test, steps++, RC_STEPS);
		while (weft_poll_cq(&rc->link->node[1].recv_cq.ibcq, 1, &wc) == 1) {
			KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, wc.wr_id, received++);
			rc_uc_received(rc, &wc, arrived);
		}
	}
	for (i = 0; weft_poll_cq(&rc->link->node[0].send_cq.ibcq, 1, &wc) == 1; i++) {
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ(test, (int)wc.status, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, i, RC_REQUESTS);
	KUNIT_EXPECT_NE(test, received, 0);
	for (i = 0; i < RC_REQUESTS; i++)
		if (!row->faults.loss && oracle_takes_recv(rc->way[0].send[i].opcode))
			KUNIT_EXPECT_TRUE_MSG(test, arrived[i], "request %u", i);
	KUNIT_EXPECT_EQ(test, rc->link->sent[1], 0);
	rc_expect_events(rc, 0);
	fake_link_expect_quiet(rc->link);
}

/* ---- without random faults ---- */

/* Post one request of node 0, with a receive of node 1 if it takes one. */
static void rc_post_single(struct rc *rc, enum ib_wr_opcode opcode, int flags, u32 length)
{
	struct rc_way *way = &rc->way[0];
	struct oracle_way *oracle = &way->oracle;

	oracle->send[oracle->num_send++] = (struct oracle_send){
		.wr_id = oracle->num_send,
		.opcode = opcode,
		.flags = flags | IB_SEND_SIGNALED,
		.num_sge = 1,
		.sge[0] = { .offset = RC_SOURCE, .length = length },
		.remote = RC_REMOTE,
	};
	if (oracle_takes_recv(opcode)) {
		rc_choose_recv(rc, &oracle->recv[oracle->num_recv], oracle->num_recv);
		oracle->num_recv++;
		KUNIT_ASSERT_TRUE(rc->test, rc_next_recv(rc, 0));
	}
	KUNIT_ASSERT_TRUE(rc->test, rc_next_send(rc, 0));
}

/**
 * struct rc_event_row - a message, and whether it raises a completion event
 * @name: of the row
 * @opcode: of the message
 * @flags: of the request
 * @length: bytes
 * @arm: what the receiver has asked for
 * @events: number of events that it gets
 */
struct rc_event_row {
	const char		*name;
	enum ib_wr_opcode	opcode;
	int			flags;
	u32			length;
	enum ib_cq_notify_flags	arm;
	u32			events;
};

/* IBA 11.4.2.2, 9.2.3 */
static const struct rc_event_row rc_event_rows[] = {
	{ "SEND", IB_WR_SEND, 0, 5, IB_CQ_NEXT_COMP, 1 },
	{ "SEND, solicited only", IB_WR_SEND, 0, 5, IB_CQ_SOLICITED, 0 },
	{ "solicited SEND", IB_WR_SEND, IB_SEND_SOLICITED, 5, IB_CQ_SOLICITED, 1 },
	{ "solicited SEND of packets", IB_WR_SEND, IB_SEND_SOLICITED, 1000,
	  IB_CQ_SOLICITED, 1 },
	{ "solicited SEND with immediate", IB_WR_SEND_WITH_IMM, IB_SEND_SOLICITED, 300,
	  IB_CQ_SOLICITED, 1 },
	{ "solicited WRITE with immediate", IB_WR_RDMA_WRITE_WITH_IMM, IB_SEND_SOLICITED,
	  (WEFT_TX_BATCH_PACKETS + 1) * FAKE_MTU, IB_CQ_SOLICITED, 1 },
	{ "solicited WRITE", IB_WR_RDMA_WRITE, IB_SEND_SOLICITED, 600, IB_CQ_NEXT_COMP, 0 },
};

static void rc_event_row_desc(const struct rc_event_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rc_event_row, rc_event_rows, rc_event_row_desc);

static void completion_event(struct kunit *test)
{
	static const struct rc_row plain = { .seed = 1 };
	const struct rc_event_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, &plain);
	struct weft_ring *ring = rc->link->node[1].recv_cq.ring;

	weft_ring_arm(ring, row->arm == IB_CQ_SOLICITED ? WEFT_ARM_SOLICITED : WEFT_ARM_ANY);
	rc_post_single(rc, row->opcode, row->flags, row->length);
	rc_run(rc);
	KUNIT_EXPECT_EQ(test, rc->link->node[1].comp_events, row->events);
	/* no further event before it is asked for again */
	rc_post_single(rc, row->opcode, row->flags, row->length);
	rc_run(rc);
	KUNIT_EXPECT_EQ(test, rc->link->node[1].comp_events, row->events);
	rc_expect(rc);
}

/* Bind a type 2 window of node 0. */
static struct ib_mw *rc_bind(struct rc *rc)
{
	struct fake_node *node = &rc->link->node[0];
	struct kunit *test = rc->test;
	struct weft_mw_request request = {
		.lkey = node->region->key,
		.access = IB_ACCESS_REMOTE_WRITE,
		.addr = fake_node_addr(node, 0),
		.length = PAGE_SIZE,
	};
	struct weft_mw *window = kunit_kzalloc(test, sizeof(*window), GFP_KERNEL);
	struct ib_mw *mw = &window->ib_mw;

	KUNIT_ASSERT_NOT_NULL(test, window);
	mw->device = &node->dev.ibdev;
	mw->pd = &node->pd;
	mw->type = IB_MW_TYPE_2;
	node->region->access |= IB_ACCESS_MW_BIND;
	KUNIT_ASSERT_EQ(test, weft_alloc_mw(mw, NULL), 0);
	request.rkey = mw->rkey;
	request.new_rkey = mw->rkey;
	KUNIT_EXPECT_EQ(test, weft_mw_bind(&node->qp->send.who, &request, GFP_KERNEL), 0);
	return mw;
}

/* Post a WRITE, which is lost, and a LOCAL_INV with @flags. Both complete, and once only. */
static void rc_lose_before_local(struct kunit *test, int flags)
{
	static const struct rc_row plain = { .seed = 1 };
	struct rc *rc = rc_create(test, &rc_attr, &plain);
	struct fake_node *node = &rc->link->node[0];
	struct ib_mw *mw = rc_bind(rc);
	struct ib_send_wr invalidate = {
		.wr_id = 2,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | flags,
		.ex.invalidate_rkey = mw->rkey,
	};
	const struct ib_send_wr *bad;
	struct weft_pkt pkt;
	struct ib_wc wc;
	u32 i;

	rc_post_single(rc, IB_WR_RDMA_WRITE, 0, 10);
	KUNIT_EXPECT_EQ(test, 0, weft_post_send(&node->ib_qp.ibqp, &invalidate, &bad));
	fake_link_run_halves(rc->link);
	KUNIT_EXPECT_EQ(test, node->qp->send.inflight.tail - node->qp->send.inflight.head, 2);
	KUNIT_EXPECT_EQ(test, weft_inflight_at(&node->qp->send.inflight, 1)->executed,
			!(flags & IB_SEND_FENCE));
	/* the WRITE is lost */
	KUNIT_ASSERT_TRUE(test, fake_link_take(rc->link, &pkt));
	weft_pkt_free(&pkt);
	KUNIT_ASSERT_TRUE(test, fake_link_pass_time(rc->link));
	fake_link_settle(rc->link);
	for (i = 0; weft_poll_cq(&node->send_cq.ibcq, 1, &wc) == 1; i++)
		KUNIT_EXPECT_EQ_MSG(test, (int)wc.status, IB_WC_SUCCESS, "request %u", i);
	KUNIT_EXPECT_EQ(test, i, 2);
	weft_dealloc_mw(mw);
	fake_link_expect_quiet(rc->link);
}

/* A local operation is not executed again when packets before it are sent again. */
static void local_operation_once(struct kunit *test)
{
	rc_lose_before_local(test, 0);
}

/* With a fence it waits for them: they may be sent again from that memory (IBA 10.6.5.1). */
static void local_invalidate_fenced(struct kunit *test)
{
	rc_lose_before_local(test, IB_SEND_FENCE);
}

static struct kunit_case rc_cases[] = {
	KUNIT_CASE_PARAM(requests_over_bad_wire, rc_row_gen_params),
	KUNIT_CASE_PARAM(retries_used_up, rc_retry_row_gen_params),
	KUNIT_CASE_PARAM(request_refused, rc_refusal_row_gen_params),
	KUNIT_CASE_PARAM(memory_gone_under_way, rc_gone_row_gen_params),
	KUNIT_CASE_PARAM(end_under_way, rc_end_row_gen_params),
	KUNIT_CASE_PARAM(uc_messages_whole_or_not, rc_uc_row_gen_params),
	KUNIT_CASE_PARAM(completion_event, rc_event_row_gen_params),
	KUNIT_CASE(local_operation_once),
	KUNIT_CASE(local_invalidate_fenced),
	{}
};

static struct kunit_suite rc_suite = {
	.name = "weft_rc",
	.exit = rc_exit,
	.test_cases = rc_cases,
};

kunit_test_suite(rc_suite);
