// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connected QPs over a bad wire, against a model that has no packets.
 */
#include "fake_link.h"
#include "oracle.h"

#include <linux/slab.h>

#include <kunit/test.h>

#include "stats.h"
#include "verbs/qp.h"

/* Requests of each node. */
#define RC_REQUESTS	100
/* Entries of each queue: fewer, so that they wrap and are full at times. */
#define RC_QUEUE	32
#define RC_MAX_MESSAGE	(8 * FAKE_MTU)
/* No run takes so many steps. */
#define RC_STEPS	300000

/*
 * The memory of a node. What one direction of the connection writes the other
 * one never uses, so that there is one right result.
 */
#define RC_ZONE		(2 * PAGE_SIZE)
#define RC_SOURCE	0		/* never written */
#define RC_SINK		RC_ZONE		/* results of READs and atomics */
#define RC_REMOTE	(2 * RC_ZONE)	/* what the peer reads and writes */
#define RC_RECV		(3 * RC_ZONE)	/* what the peer sends */
#define RC_RECV_SLOT	(RC_MAX_MESSAGE + 64)
#define RC_RECV_SLOTS	12
/* Where most atomics go: small values, so that some compares succeed. */
#define RC_WORDS	8
/* READs are remembered by pieces of the zone, one bit each. */
#define RC_PIECE	(RC_ZONE / 64)

static_assert(RC_RECV + RC_RECV_SLOTS * RC_RECV_SLOT <= FAKE_MEMORY);

/**
 * struct rc_row - a wire, and a seed
 * @name: what is bad about the wire
 * @faults: how bad
 * @late: receives are posted too late
 * @seed: of all that happens
 */
struct rc_row {
	const char		*name;
	struct fake_faults	faults;
	bool			late;
	u64			seed;
};

#define RC_SEEDS(...)							\
	{ __VA_ARGS__, .seed = 1 }, { __VA_ARGS__, .seed = 2 },		\
	{ __VA_ARGS__, .seed = 3 }, { __VA_ARGS__, .seed = 4 }

static const struct rc_row rc_rows[] = {
	RC_SEEDS("nothing", {}),
	RC_SEEDS("loss", { .loss = 5 }),
	RC_SEEDS("much loss", { .loss = 20 }),
	RC_SEEDS("duplicates", { .duplicate = 20 }),
	RC_SEEDS("reordering", { .reorder = 4 }),
	RC_SEEDS("much reordering", { .reorder = 30 }),
	RC_SEEDS("stalls", { .stall = 30 }),
	RC_SEEDS("hurry", { .hurry = 5 }),
	RC_SEEDS("late receives", {}, .late = true),
	RC_SEEDS("late receives and loss", { .loss = 10, .hurry = 2 }, .late = true),
	RC_SEEDS("all of it", { .loss = 10, .duplicate = 10, .reorder = 4,
				.stall = 20, .hurry = 2 }, .late = true),
};

static void rc_row_desc(const struct rc_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, seed %llu", row->name, row->seed);
}

KUNIT_ARRAY_PARAM(rc_row, rc_rows, rc_row_desc);

/**
 * struct rc_way - what one node asks of the other
 * @oracle: the model, and its lists
 * @image: the memories as the model has them are at the nodes' images
 * @send: requests of the node
 * @recv: receives of the peer
 * @send_wc: for the model
 * @recv_wc: for the model
 * @sent: requests posted
 * @received: receives posted
 * @reading: pieces of the peer's zone with READs that no fence has waited for
 */
struct rc_way {
	struct oracle_way	oracle;
	struct oracle_send	send[RC_REQUESTS];
	struct oracle_recv	recv[RC_REQUESTS];
	struct ib_wc		send_wc[RC_REQUESTS];
	struct ib_wc		recv_wc[RC_REQUESTS];
	u32			sent;
	u32			received;
	u64			reading;
};

/**
 * struct rc - a test
 * @test: the test
 * @link: the wire
 * @way: by requester
 * @image: the memory of each node as it should be
 */
struct rc {
	struct kunit		*test;
	struct fake_link	*link;
	struct rc_way		way[FAKE_NODES];
	u8			image[FAKE_NODES][FAKE_MEMORY];
};

static const struct fake_attr rc_attr = {
	.type = IB_QPT_RC,
	/* both wrap on the way */
	.psn = { 0xffff80, 0xfffffe },
	.retry_cnt = 7,
	.rnr_retry = 7,
	.max_rd_atomic = 4,
	.max_wr = RC_QUEUE,
};

KUNIT_DEFINE_ACTION_WRAPPER(rc_free, kvfree, void *);

static struct rc *rc_create(struct kunit *test, const struct fake_attr *attr, u64 seed)
{
	struct rc *rc = kvzalloc(sizeof(*rc), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, rc);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, rc_free, rc), 0);
	rc->test = test;
	rc->link = fake_link_create(test, attr, seed);
	for (i = 0; i < FAKE_NODES; i++) {
		struct fake_node *node = &rc->link->node[i];
		struct rc_way *way = &rc->way[i];

		memset(node->blocks[RC_REMOTE / PAGE_SIZE], 0, RC_WORDS * sizeof(u64));
		fake_node_read(node, 0, rc->image[i], FAKE_MEMORY);
		way->oracle = (struct oracle_way){
			.local = rc->image[i],
			.remote = rc->image[!i],
			.send = way->send,
			.recv = way->recv,
			.send_wc = way->send_wc,
			.recv_wc = way->recv_wc,
			.sig_all = attr->sig_all,
			.fail_at = U32_MAX,
		};
	}
	return rc;
}

static void rc_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* ---- requests ---- */

static u32 rc_choose_length(struct rc *rc)
{
	static const u32 lengths[] = {
		0, 1, 3, 4, 100, FAKE_MTU - 1, FAKE_MTU, FAKE_MTU + 1, 2 * FAKE_MTU - 1,
		2 * FAKE_MTU, 2 * FAKE_MTU + 1, RC_MAX_MESSAGE - 1, RC_MAX_MESSAGE,
	};
	u32 i = fake_random(rc->link, 2 * ARRAY_SIZE(lengths));

	return i < ARRAY_SIZE(lengths) ? lengths[i] :
					 fake_random(rc->link, RC_MAX_MESSAGE + 1);
}

/* Pieces of a zone, some perhaps empty. */
static u32 rc_choose_sge(struct rc *rc, struct oracle_sge *sge, u32 zone, u32 length)
{
	u32 i, num = 1 + fake_random(rc->link, ORACLE_SGE);

	for (i = 0; i < num; i++) {
		sge[i].length = i + 1 < num ? fake_random(rc->link, length + 1) : length;
		sge[i].offset = zone + fake_random(rc->link, RC_ZONE - sge[i].length + 1);
		length -= sge[i].length;
	}
	return num;
}

static enum ib_wr_opcode rc_choose_opcode(struct rc *rc)
{
	static const enum ib_wr_opcode opcodes[] = {
		IB_WR_SEND, IB_WR_SEND_WITH_IMM, IB_WR_RDMA_WRITE,
		IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_RDMA_READ, IB_WR_RDMA_READ,
		IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD,
	};

	return opcodes[fake_random(rc->link, ARRAY_SIZE(opcodes))];
}

static u32 rc_choose_remote(struct rc *rc, enum ib_wr_opcode opcode, u32 length)
{
	if (!oracle_is_atomic(opcode))
		return RC_REMOTE + fake_random(rc->link, RC_ZONE - length + 1);
	if (fake_random(rc->link, 4))
		return RC_REMOTE + fake_random(rc->link, RC_WORDS) * sizeof(u64);
	return RC_REMOTE + fake_random(rc->link, RC_ZONE / sizeof(u64)) * sizeof(u64);
}

static u64 rc_pieces(const struct oracle_send *send, u32 length)
{
	u32 first = (send->remote - RC_REMOTE) / RC_PIECE;

	if (!length)
		return 0;
	return GENMASK_ULL((send->remote - RC_REMOTE + length - 1) / RC_PIECE, first);
}

/*
 * IBA 10.8.3.3: a READ is ordered with what follows it by a fence only: without
 * one, it may be answered again after what follows has been executed.
 */
static void rc_choose_fence(struct rc *rc, struct rc_way *way, struct oracle_send *send,
			    u32 length)
{
	u64 pieces = oracle_is_send(send->opcode) ? 0 : rc_pieces(send, length);

	if (!fake_random(rc->link, 8) ||
	    (send->opcode != IB_WR_RDMA_READ && way->reading & pieces))
		send->flags |= IB_SEND_FENCE;
	if (send->flags & IB_SEND_FENCE)
		way->reading = 0;
	if (send->opcode == IB_WR_RDMA_READ)
		way->reading |= pieces;
}

static void rc_choose_flags(struct rc *rc, struct oracle_send *send, u32 length)
{
	if (fake_random(rc->link, 2))
		send->flags |= IB_SEND_SIGNALED;
	if (!fake_random(rc->link, 4))
		send->flags |= IB_SEND_SOLICITED;
	if (!oracle_is_response(send->opcode) && length <= FAKE_INLINE &&
	    !(send->flags & IB_SEND_FENCE) && fake_random(rc->link, 2))
		send->flags |= IB_SEND_INLINE;
}

/* Only with a fence a request may use what READs before it have brought. */
static u32 rc_choose_zone(struct rc *rc, const struct oracle_send *send)
{
	if (oracle_is_response(send->opcode))
		return RC_SINK;
	return send->flags & IB_SEND_FENCE && fake_random(rc->link, 2) ? RC_SINK : RC_SOURCE;
}

static void rc_choose_send(struct rc *rc, struct rc_way *way, struct oracle_send *send)
{
	u32 length;

	send->wr_id = prandom_u32_state(&rc->link->random);
	send->opcode = rc_choose_opcode(rc);
	send->imm = (__force __be32)prandom_u32_state(&rc->link->random);
	length = oracle_is_atomic(send->opcode) ? sizeof(u64) : rc_choose_length(rc);
	send->remote = rc_choose_remote(rc, send->opcode, length);
	send->compare_add = fake_random(rc->link, 3);
	send->swap = fake_random(rc->link, 3);
	rc_choose_fence(rc, way, send, length);
	rc_choose_flags(rc, send, length);
	send->num_sge = rc_choose_sge(rc, send->sge, rc_choose_zone(rc, send), length);
}

static void rc_choose_recv(struct rc *rc, struct oracle_recv *recv, u32 i)
{
	u32 cut = fake_random(rc->link, RC_RECV_SLOT + 1);

	recv->wr_id = prandom_u32_state(&rc->link->random);
	recv->num_sge = 2;
	recv->sge[0].offset = RC_RECV + i % RC_RECV_SLOTS * RC_RECV_SLOT;
	recv->sge[0].length = cut;
	recv->sge[1].offset = recv->sge[0].offset + cut;
	recv->sge[1].length = RC_RECV_SLOT - cut;
}

static void rc_choose(struct rc *rc)
{
	struct oracle_way *oracle;
	u32 i, j;

	for (i = 0; i < FAKE_NODES; i++) {
		oracle = &rc->way[i].oracle;
		for (j = 0; j < RC_REQUESTS; j++) {
			rc_choose_send(rc, &rc->way[i], &oracle->send[j]);
			if (!oracle_takes_recv(oracle->send[j].opcode))
				continue;
			rc_choose_recv(rc, &oracle->recv[oracle->num_recv], oracle->num_recv);
			oracle->num_recv++;
		}
		oracle->num_send = RC_REQUESTS;
	}
}

/* ---- posting ---- */

static void rc_fill_sge(const struct fake_node *node, const struct oracle_sge *from,
			u32 num, struct ib_sge *to)
{
	while (num--) {
		to[num].addr = fake_node_addr(node, from[num].offset);
		to[num].length = from[num].length;
		to[num].lkey = node->region->key;
	}
}

/* Of inline data the address is one of the kernel. */
static void rc_fill_inline(const struct fake_node *node, const struct oracle_sge *from,
			   u32 num, struct ib_sge *to, u8 *data)
{
	u32 i;

	for (i = 0; i < num; i++) {
		fake_node_read(node, from[i].offset, data, from[i].length);
		to[i].addr = (uintptr_t)data;
		to[i].length = from[i].length;
		data += from[i].length;
	}
}

/* Return: false: the queue is full. */
static bool rc_post_send(struct fake_node *node, const struct oracle_send *send)
{
	struct fake_node *peer = fake_node_peer(node);
	struct kunit *test = node->link->test;
	struct ib_sge sge[ORACLE_SGE];
	const struct ib_send_wr *bad;
	struct ib_atomic_wr atomic = {
		.remote_addr = fake_node_addr(peer, send->remote),
		.compare_add = send->compare_add,
		.swap = send->swap,
		.rkey = peer->region->key,
	};
	struct ib_rdma_wr rdma = {
		.remote_addr = fake_node_addr(peer, send->remote),
		.rkey = peer->region->key,
	};
	struct ib_send_wr *wr = oracle_is_atomic(send->opcode) ? &atomic.wr : &rdma.wr;
	u8 data[FAKE_INLINE];
	int ret;

	wr->wr_id = send->wr_id;
	wr->opcode = send->opcode;
	wr->send_flags = send->flags;
	wr->ex.imm_data = send->imm;
	wr->num_sge = send->num_sge;
	wr->sg_list = sge;
	if (send->flags & IB_SEND_INLINE)
		rc_fill_inline(node, send->sge, send->num_sge, sge, data);
	else
		rc_fill_sge(node, send->sge, send->num_sge, sge);
	ret = weft_post_send(&node->ib_qp.ibqp, wr, &bad);
	if (ret != -ENOMEM)
		KUNIT_ASSERT_EQ(test, ret, 0);
	return !ret;
}

static bool rc_post_recv(struct fake_node *node, const struct oracle_recv *recv)
{
	struct kunit *test = node->link->test;
	struct ib_sge sge[ORACLE_SGE];
	const struct ib_recv_wr *bad;
	struct ib_recv_wr wr = {
		.wr_id = recv->wr_id,
		.num_sge = recv->num_sge,
		.sg_list = sge,
	};
	int ret;

	rc_fill_sge(node, recv->sge, recv->num_sge, sge);
	ret = weft_post_recv(&node->ib_qp.ibqp, &wr, &bad);
	if (ret != -ENOMEM)
		KUNIT_ASSERT_EQ(test, ret, 0);
	return !ret;
}

/* Post the next request of a node. Return: false: there is none, or no room. */
static bool rc_next_send(struct rc *rc, u32 i)
{
	struct rc_way *way = &rc->way[i];

	if (way->sent == way->oracle.num_send ||
	    !rc_post_send(&rc->link->node[i], &way->send[way->sent]))
		return false;
	way->sent++;
	return true;
}

/* The same of the receives for a node's requests. */
static bool rc_next_recv(struct rc *rc, u32 i)
{
	struct rc_way *way = &rc->way[i];

	if (way->received == way->oracle.num_recv ||
	    !rc_post_recv(&rc->link->node[!i], &way->recv[way->received]))
		return false;
	way->received++;
	return true;
}

static bool rc_burst(struct rc *rc)
{
	u32 num = 1 + fake_random(rc->link, 16), i = fake_random(rc->link, FAKE_NODES);

	if (!rc_next_send(rc, i)) {
		i = !i;
		if (!rc_next_send(rc, i))
			return false;
	}
	while (--num && rc_next_send(rc, i))
		;
	return true;
}

static bool rc_receives(struct rc *rc, bool late)
{
	bool any = false;
	u32 i;

	if (late) {
		i = fake_random(rc->link, FAKE_NODES);
		return rc_next_recv(rc, i) || rc_next_recv(rc, !i);
	}
	for (i = 0; i < FAKE_NODES; i++)
		while (rc_next_recv(rc, i))
			any = true;
	return any;
}

/* ---- the run, and what must come out ---- */

/* Return: false: all is done. */
static bool rc_step(struct rc *rc, bool late)
{
	if (!late || !fake_random(rc->link, 512))
		rc_receives(rc, late);
	if (!fake_random(rc->link, 8) && rc_burst(rc))
		return true;
	if (fake_link_step(rc->link) || rc_burst(rc))
		return true;
	if (fake_random(rc->link, 2) && rc_receives(rc, late))
		return true;
	return fake_link_pass_time(rc->link) || rc_receives(rc, late);
}

static void rc_run(struct rc *rc, bool late)
{
	u32 steps = 0;

	while (rc_step(rc, late)) {
		steps++;
		KUNIT_ASSERT_LT(rc->test, steps, RC_STEPS);
	}
}

static void rc_expect_wc(struct rc *rc, const struct ib_wc *wc, const struct ib_wc *expected,
			 bool recv)
{
	struct kunit *test = rc->test;

	KUNIT_EXPECT_EQ(test, wc->wr_id, expected->wr_id);
	KUNIT_EXPECT_EQ(test, (int)wc->status, (int)expected->status);
	if (wc->status != IB_WC_SUCCESS)
		return;
	KUNIT_EXPECT_EQ(test, wc->vendor_err, 0);
	KUNIT_EXPECT_EQ(test, (int)wc->opcode, (int)expected->opcode);
	KUNIT_EXPECT_EQ(test, wc->wc_flags, expected->wc_flags);
	KUNIT_EXPECT_EQ(test, wc->byte_len, expected->byte_len);
	if (wc->wc_flags & IB_WC_WITH_IMM)
		KUNIT_EXPECT_EQ(test, (__force u32)wc->ex.imm_data,
				(__force u32)expected->ex.imm_data);
}

static void rc_expect_cq(struct rc *rc, struct weft_cq *cq, const struct ib_wc *expected,
			 u32 num, bool recv)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; weft_poll_cq(&cq->ibcq, 1, &wc) == 1; i++) {
		KUNIT_ASSERT_LT(rc->test, i, num);
		rc_expect_wc(rc, &wc, &expected[i], recv);
	}
	KUNIT_EXPECT_EQ(rc->test, i, num);
}

static void rc_expect_memory(struct rc *rc, u32 i)
{
	u8 *memory = kvmalloc(FAKE_MEMORY, GFP_KERNEL);
	u32 at;

	KUNIT_ASSERT_NOT_NULL(rc->test, memory);
	fake_node_read(&rc->link->node[i], 0, memory, FAKE_MEMORY);
	for (at = 0; at < FAKE_MEMORY && memory[at] == rc->image[i][at]; at++)
		;
	kvfree(memory);
	KUNIT_EXPECT_EQ_MSG(rc->test, at, FAKE_MEMORY, "node %u", i);
}

/* What the model says of the requests of a node, and of the peer's receives. */
static void rc_expect_way(struct rc *rc, u32 i)
{
	struct fake_node *node = &rc->link->node[i], *peer = fake_node_peer(node);
	struct oracle_way *oracle = &rc->way[i].oracle;
	u32 first_psn = node->qp->send.psn;

	oracle_execute(oracle, FAKE_MTU);
	rc_expect_cq(rc, &node->send_cq, oracle->send_wc, oracle->num_send_wc, false);
	rc_expect_cq(rc, &peer->recv_cq, oracle->recv_wc, oracle->num_recv_wc, true);
	KUNIT_EXPECT_EQ(rc->test, peer->qp->recv.msn, oracle->messages);
	if (oracle->fail_at == U32_MAX)
		KUNIT_EXPECT_EQ(rc->test, peer->qp->recv.psn, first_psn);
}

static void rc_expect(struct rc *rc)
{
	u32 i;

	for (i = 0; i < FAKE_NODES; i++)
		rc_expect_way(rc, i);
	for (i = 0; i < FAKE_NODES; i++)
		rc_expect_memory(rc, i);
	fake_link_expect_quiet(rc->link);
}

static u64 rc_stat(struct rc *rc, enum weft_stat stat)
{
	return weft_stats_sum(&rc->link->node[0].dev, stat) +
	       weft_stats_sum(&rc->link->node[1].dev, stat);
}

/* The faults that were to be there were there, and those that were not not. */
static void rc_expect_stats(struct rc *rc, const struct rc_row *row)
{
	const struct fake_faults *faults = &row->faults;
	struct kunit *test = rc->test;

	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_NOT_READY), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_WRONG_ADDRESS), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_QUEUE_FULL), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_NAKS_SENT), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_FLUSHED_WRS), 0);
	KUNIT_EXPECT_EQ(test, !!rc_stat(rc, WEFT_STAT_RNR_NAKS_SENT), row->late);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_SENT_MESSAGES), FAKE_NODES * RC_REQUESTS);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RCVD_MESSAGES), FAKE_NODES * RC_REQUESTS);
	if (faults->loss || faults->reorder)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_OUT_OF_SEQUENCE), 0);
	if (faults->loss || faults->duplicate || faults->reorder || faults->hurry)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_DUPLICATES), 0);
	else if (!row->late)
		KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RETRANSMITS), 0);
}

/* With such a wire all requests are executed all the same, in order, once. */
static void requests_over_bad_wire(struct kunit *test)
{
	const struct rc_row *row = test->param_value;
	struct rc *rc = rc_create(test, &rc_attr, row->seed);
	u32 i;

	rc->link->faults = row->faults;
	rc_choose(rc);
	rc_run(rc, row->late);
	for (i = 0; i < FAKE_NODES; i++) {
		KUNIT_EXPECT_EQ(test, rc->way[i].sent, rc->way[i].oracle.num_send);
		KUNIT_EXPECT_EQ(test, rc->way[i].received, rc->way[i].oracle.num_recv);
	}
	rc_expect(rc);
	rc_expect_stats(rc, row);
	for (i = 0; i < FAKE_EVENTS; i++)
		KUNIT_EXPECT_EQ_MSG(test, rc->link->node[0].events[i] +
				    rc->link->node[1].events[i], 0, "event %u", i);
}

static struct kunit_case rc_cases[] = {
	KUNIT_CASE_PARAM(requests_over_bad_wire, rc_row_gen_params),
	{}
};

static struct kunit_suite rc_suite = {
	.name = "weft_rc",
	.exit = rc_exit,
	.test_cases = rc_cases,
};

kunit_test_suite(rc_suite);
