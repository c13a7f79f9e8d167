// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random requests of connected QPs: they are posted while things happen on the wire, and the
 * results are compared with the model's.
 */
#include "rc_model.h"

#include <linux/log2.h>
#include <linux/slab.h>

#include <kunit/test.h>

#include "stats.h"
#include "verbs/qp.h"

#define RC_RECV_SLOT	(RC_MAX_MESSAGE + 64)
#define RC_RECV_SLOTS	12
/* The words that most atomics use have small values, so that some compares succeed. */
#define RC_WORDS	8
/* Memory that READs use is remembered in pieces of a zone, one bit each. */
#define RC_PIECE	(RC_ZONE / 64)

static_assert(RC_RECV + RC_RECV_SLOTS * RC_RECV_SLOT <= FAKE_MEMORY);

KUNIT_DEFINE_ACTION_WRAPPER(rc_free, kvfree, void *);

struct rc *rc_create(struct kunit *test, const struct fake_attr *attr,
		     const struct rc_row *row)
{
	struct rc *rc = kvzalloc(sizeof(*rc), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, rc);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, rc_free, rc), 0);
	rc->test = test;
	rc->row = row;
	rc->link = fake_link_create(test, attr, row->seed);
	rc->link->faults = row->faults;
	for (i = 0; i < FAKE_NODES; i++) {
		struct fake_node *node = &rc->link->node[i];
		struct rc_way *way = &rc->way[i];

		/* acknowledges wait whenever they may, or after one or two answers */
		node->qp->recv.piggyback.needed = row->seed % 3;
		memset(node->blocks[RC_REMOTE / FAKE_PAGE], 0, RC_WORDS * sizeof(u64));
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

/* ---- requests ---- */

/* Some are longer than a batch, and than the interval of acknowledge requests. */
static u32 rc_choose_length_rdma(struct rc *rc)
{
	return RC_MAX_MESSAGE + fake_random(rc->link, RC_ZONE - RC_MAX_MESSAGE + 1);
}

u32 rc_choose_length(struct rc *rc)
{
	static const u32 lengths[] = {
		0, 1, 3, 4, 100, FAKE_MTU - 1, FAKE_MTU, FAKE_MTU + 1, 2 * FAKE_MTU - 1,
		2 * FAKE_MTU, 2 * FAKE_MTU + 1, RC_MAX_MESSAGE - 1, RC_MAX_MESSAGE,
	};
	u32 i = fake_random(rc->link, 2 * ARRAY_SIZE(lengths));

	return i < ARRAY_SIZE(lengths) ? lengths[i] :
					 fake_random(rc->link, RC_MAX_MESSAGE + 1);
}

u32 rc_choose_sge(struct rc *rc, struct oracle_sge *sge, u32 zone, u32 length)
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
		IB_WR_ATOMIC_CMP_AND_SWP, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_ATOMIC_WRITE,
		IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	};

	return opcodes[fake_random(rc->link, ARRAY_SIZE(opcodes))];
}

u32 rc_choose_remote(struct rc *rc, enum ib_wr_opcode opcode, u32 length)
{
	if (!oracle_is_word(opcode))
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
 * IBA 10.8.3.3: only a fence orders a READ with the requests behind it. Without one it may be
 * answered again after these have been executed.
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

/* A request may use the results of READs before it only with a fence. */
static u32 rc_choose_zone(struct rc *rc, const struct oracle_send *send)
{
	if (oracle_is_response(send->opcode))
		return RC_SINK;
	return send->flags & IB_SEND_FENCE && fake_random(rc->link, 2) ? RC_SINK : RC_SOURCE;
}

/* Mostly the lower bits, which small values use. */
static u64 rc_choose_mask(struct rc *rc)
{
	static const u64 masks[] = { 0, 1, 2, 3, 0x80, 0x8000000000000001ULL, U64_MAX };
	u32 i = fake_random(rc->link, ARRAY_SIZE(masks) + 1);

	if (i < ARRAY_SIZE(masks))
		return masks[i];
	return (u64)prandom_u32_state(&rc->link->random) << 32 |
	       prandom_u32_state(&rc->link->random);
}

static void rc_choose_operands(struct rc *rc, struct oracle_send *send)
{
	send->compare_add = fake_random(rc->link, 3);
	send->swap = fake_random(rc->link, 3);
	if (!oracle_is_masked(send->opcode))
		return;
	send->compare_add_mask = rc_choose_mask(rc);
	send->swap_mask = rc_choose_mask(rc);
	/* fields beyond the first one */
	if (fake_random(rc->link, 2))
		send->compare_add |= rc_choose_mask(rc);
}

static void rc_choose_send(struct rc *rc, struct rc_way *way, struct oracle_send *send)
{
	u32 length;

	send->wr_id = prandom_u32_state(&rc->link->random);
	send->opcode = rc_choose_opcode(rc);
	send->imm = (__force __be32)prandom_u32_state(&rc->link->random);
	if (oracle_is_word(send->opcode))
		length = sizeof(u64);
	else if (oracle_is_send(send->opcode) || fake_random(rc->link, 16))
		length = rc_choose_length(rc);
	else
		length = rc_choose_length_rdma(rc);
	send->remote = rc_choose_remote(rc, send->opcode, length);
	rc_choose_operands(rc, send);
	rc_choose_fence(rc, way, send, length);
	rc_choose_flags(rc, send, length);
	send->num_sge = rc_choose_sge(rc, send->sge, rc_choose_zone(rc, send), length);
}

void rc_choose_recv(struct rc *rc, struct oracle_recv *recv, u32 i)
{
	u32 cut = fake_random(rc->link, RC_RECV_SLOT + 1);

	recv->wr_id = prandom_u32_state(&rc->link->random);
	recv->num_sge = 2;
	recv->sge[0].offset = RC_RECV + i % RC_RECV_SLOTS * RC_RECV_SLOT;
	recv->sge[0].length = cut;
	recv->sge[1].offset = recv->sge[0].offset + cut;
	recv->sge[1].length = RC_RECV_SLOT - cut;
}

void rc_choose_way(struct rc *rc, struct rc_way *way, u32 num)
{
	struct oracle_way *oracle = &way->oracle;
	struct oracle_send *send;

	while (oracle->num_send < num) {
		send = &oracle->send[oracle->num_send++];
		rc_choose_send(rc, way, send);
		if (!oracle_takes_recv(send->opcode))
			continue;
		rc_choose_recv(rc, &oracle->recv[oracle->num_recv], oracle->num_recv);
		oracle->num_recv++;
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

/* The address of inline data is a kernel address. */
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

static void rc_post_send(struct fake_node *node, const struct oracle_send *send)
{
	struct fake_node *peer = fake_node_peer(node);
	struct ib_sge sge[ORACLE_SGE];
	const struct ib_send_wr *bad;
	struct ib_atomic_wr atomic = {
		.remote_addr = fake_node_addr(peer, send->remote),
		.compare_add = send->compare_add,
		.swap = send->swap,
		.compare_add_mask = send->compare_add_mask,
		.swap_mask = send->swap_mask,
		.rkey = peer->region->key,
	};
	struct ib_rdma_wr rdma = {
		.remote_addr = fake_node_addr(peer, send->remote),
		.rkey = peer->region->key,
	};
	struct ib_send_wr *wr = oracle_is_atomic(send->opcode) ? &atomic.wr : &rdma.wr;
	u8 data[FAKE_INLINE];

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
	KUNIT_ASSERT_EQ(node->link->test, weft_post_send(&node->ib_qp.ibqp, wr, &bad), 0);
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

bool rc_next_send(struct rc *rc, u32 i)
{
	struct fake_node *node = &rc->link->node[i];
	struct rc_way *way = &rc->way[i];

	if (way->sent == way->oracle.num_send || !weft_ring_reserve(node->qp->send.ring))
		return false;
	rc_post_send(node, &way->send[way->sent++]);
	return true;
}

bool rc_next_recv(struct rc *rc, u32 i)
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
	u32 num = 1 + fake_random(rc->link, RC_QUEUE), i = fake_random(rc->link, FAKE_NODES);

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

/* ---- the run ---- */

void rc_modify(struct fake_node *node, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = { .qp_state = state, .en_sqd_async_notify = true };

	KUNIT_EXPECT_EQ(node->link->test, 0,
			weft_modify_qp(&node->ib_qp.ibqp, &attr, IB_QP_STATE | mask, NULL));
}

/* Let something happen; receives are posted before they are needed. */
static bool rc_happens(struct rc *rc)
{
	if (!rc->row->late || !fake_random(rc->link, 512))
		rc_receives(rc, rc->row->late);
	return fake_link_step(rc->link);
}

/* Return: false: nothing can happen unless something is posted. */
static bool rc_go_on(struct rc *rc)
{
	bool late = rc->row->late;

	if (rc_happens(rc))
		return true;
	if (fake_random(rc->link, 2) && rc_receives(rc, late))
		return true;
	return fake_link_pass_time(rc->link) || rc_receives(rc, late);
}

/* IBA 10.3.1.5: requests that have begun are completed, then the event is raised. */
static void rc_drain(struct rc *rc)
{
	struct fake_node *node = &rc->link->node[fake_random(rc->link, FAKE_NODES)];
	u32 *events = &node->events[IB_EVENT_SQ_DRAINED];
	u32 steps = 0;

	rc_modify(node, IB_QPS_SQD, IB_QP_EN_SQD_ASYNC_NOTIFY);
	KUNIT_EXPECT_EQ(rc->test, *events, 0);
	while (!*events) {
		KUNIT_ASSERT_TRUE(rc->test, rc_go_on(rc));
		KUNIT_ASSERT_LT(rc->test, steps++, RC_STEPS);
	}
	KUNIT_EXPECT_FALSE(rc->test, weft_send_is_busy(&node->qp->send));
	while (fake_random(rc->link, 8))
		rc_go_on(rc);
	KUNIT_EXPECT_EQ(rc->test, *events, 1);
	*events = 0;
	rc_modify(node, IB_QPS_RTS, 0);
}

static bool rc_fits(const struct weft_qp *qp, const struct ib_qp_cap *cap)
{
	return weft_ring_pending(qp->send.ring) <= cap->max_send_wr &&
	       weft_ring_pending(qp->recv.ring) <= cap->max_recv_wr;
}

/* Resize both queues of a node, if their contents fit. */
static void rc_resize(struct rc *rc)
{
	struct fake_node *node = &rc->link->node[fake_random(rc->link, FAKE_NODES)];
	struct ib_qp_attr attr = {
		.cap.max_send_wr = 1 + fake_random(rc->link, 3 * RC_QUEUE),
		.cap.max_recv_wr = 1 + fake_random(rc->link, 3 * RC_QUEUE),
	};
	struct ib_qp_cap before = node->qp->cap, after = before;
	bool fits = rc_fits(node->qp, &attr.cap);

	if (fits) {
		after.max_send_wr = roundup_pow_of_two(attr.cap.max_send_wr);
		after.max_recv_wr = roundup_pow_of_two(attr.cap.max_recv_wr);
	}
	KUNIT_EXPECT_EQ(rc->test, fits ? 0 : -EINVAL,
			weft_modify_qp(&node->ib_qp.ibqp, &attr, IB_QP_CAP, NULL));
	KUNIT_EXPECT_MEMEQ(rc->test, &node->qp->cap, &after, sizeof(after));
	if (fits)
		KUNIT_EXPECT_MEMEQ(rc->test, &attr.cap, &after, sizeof(after));
}

bool rc_step(struct rc *rc)
{
	if (rc->row->resize && !fake_random(rc->link, 16))
		rc_resize(rc);
	if (rc->row->drain && !fake_random(rc->link, 32))
		rc_drain(rc);
	if (!fake_random(rc->link, 8) && rc_burst(rc))
		return true;
	return rc_happens(rc) || rc_burst(rc) || rc_go_on(rc);
}

void rc_run(struct rc *rc)
{
	u32 steps = 0;

	while (rc_step(rc))
		KUNIT_ASSERT_LT(rc->test, steps++, RC_STEPS);
}

/* ---- what must come out ---- */

static void rc_expect_wc(struct rc *rc, const struct ib_wc *wc, const struct ib_wc *expected)
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
			 u32 num)
{
	struct ib_wc wc;
	u32 i;

	for (i = 0; weft_poll_cq(&cq->ibcq, 1, &wc) == 1; i++) {
		KUNIT_ASSERT_LT(rc->test, i, num);
		rc_expect_wc(rc, &wc, &expected[i]);
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

/* Compare the requests of a node, and the receives of its peer, with the model. */
static void rc_expect_way(struct rc *rc, u32 i)
{
	struct fake_node *node = &rc->link->node[i], *peer = fake_node_peer(node);
	struct oracle_way *oracle = &rc->way[i].oracle;
	u32 first_psn = node->qp->send.psn;

	oracle_execute(oracle, FAKE_MTU);
	rc_expect_cq(rc, &node->send_cq, oracle->send_wc, oracle->num_send_wc);
	rc_expect_cq(rc, &peer->recv_cq, oracle->recv_wc, oracle->num_recv_wc);
	KUNIT_EXPECT_EQ(rc->test, peer->qp->recv.msn, oracle->messages);
	if (oracle->fail_at == U32_MAX)
		KUNIT_EXPECT_EQ(rc->test, peer->qp->recv.psn, first_psn);
}

void rc_expect(struct rc *rc)
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

void rc_expect_stats(struct rc *rc, const struct rc_row *row)
{
	const struct fake_faults *faults = &row->faults;
	struct kunit *test = rc->test;

	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_NOT_READY), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_WRONG_ADDRESS), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RX_QUEUE_FULL), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_NAKS_SENT), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_FLUSHED_WRS), 0);
	/* receives may also be late because their queue is shorter than the list of requests */
	if (!row->late && !row->resize)
		KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RNR_NAKS_SENT), 0);
	else if (row->late && !faults->loss)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_RNR_NAKS_SENT), 0);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_SENT_MESSAGES), FAKE_NODES * RC_REQUESTS);
	KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RCVD_MESSAGES), FAKE_NODES * RC_REQUESTS);
	if (faults->bulk >= 50)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_RX_MERGED), 0);
	/* with smaller rates, a seed may have none of these */
	if (faults->loss >= 20 || faults->reorder >= 30)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_RX_EARLY), 0);
	if (faults->loss >= 20)
		KUNIT_EXPECT_NE(test, rc_stat(rc, WEFT_STAT_RETRANSMITS), 0);
	/* packets that overtake others cost nothing */
	else if (!faults->loss && !faults->hurry && !row->late && !row->resize)
		KUNIT_EXPECT_EQ(test, rc_stat(rc, WEFT_STAT_RETRANSMITS), 0);
}

void rc_expect_all_posted(struct rc *rc)
{
	u32 i;

	for (i = 0; i < FAKE_NODES; i++) {
		KUNIT_EXPECT_EQ(rc->test, rc->way[i].sent, rc->way[i].oracle.num_send);
		KUNIT_EXPECT_EQ(rc->test, rc->way[i].received, rc->way[i].oracle.num_recv);
	}
}

void rc_expect_events(struct rc *rc, u32 event)
{
	u32 i, node;

	for (node = 0; node < FAKE_NODES; node++)
		for (i = 0; i < FAKE_EVENTS; i++)
			KUNIT_EXPECT_EQ_MSG(rc->test, rc->link->node[node].events[i],
					    node && event && i == event, "node %u event %u",
					    node, i);
}
