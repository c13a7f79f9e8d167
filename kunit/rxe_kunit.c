// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ring/rxe.c: queues of rdma_rxe's user ABI.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "compat/placement.h"
#include "ring/pages.h"
#include "ring/rxe.h"
#include "ring/sqe.h"

#define RXE_SEED	0x72786571
#define RXE_ROUNDS	20000
/* The entries that are asked for, and those of the queue: one of its 16 slots is always empty. */
#define RXE_ENTRIES	9
#define RXE_REAL	15
#define RXE_SGES	4
#define RXE_INLINE	80
#define RXE_WR_ID	0x0123456789abcdefULL

KUNIT_DEFINE_ACTION_WRAPPER(rxe_ring_destroy, weft_ring_destroy, struct weft_ring *);

static struct weft_ring *rxe_ring(struct kunit *test, u32 entries, u32 stride)
{
	struct weft_ring *ring = weft_rxe_create(entries, stride, NULL, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, rxe_ring_destroy, ring), 0);
	return ring;
}

static struct weft_ring *rxe_sq(struct kunit *test)
{
	return rxe_ring(test, RXE_ENTRIES, weft_sq_stride(true, RXE_SGES, RXE_INLINE));
}

static struct rxe_queue_buf *rxe_queue(const struct weft_ring *ring)
{
	return ring->pages->mem;
}

/* The functions of a provider: where it writes next, or reads next. */
static void *rxe_slot(const struct weft_ring *ring, u32 index)
{
	struct rxe_queue_buf *queue = rxe_queue(ring);

	return queue->data + ((size_t)index << queue->log2_elem_size);
}

static void rxe_advance(const struct weft_ring *ring, u32 *index)
{
	*index = (*index + 1) & rxe_queue(ring)->index_mask;
}

static bool rxe_full(const struct weft_ring *ring)
{
	const struct rxe_queue_buf *queue = rxe_queue(ring);

	return queue->consumer_index == ((queue->producer_index + 1) & queue->index_mask);
}

static struct weft_swqe *rxe_send_result(struct kunit *test)
{
	struct weft_swqe *wqe = kunit_kzalloc(test, sizeof(*wqe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, wqe);
	wqe->sge = kunit_kzalloc(test, WEFT_MAX_SGE * sizeof(*wqe->sge), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wqe->sge);
	return wqe;
}

/* A work request of a process, and what it becomes. */
struct rxe_row {
	const char		*name;
	u32			opcode;
	u32			flags;
	u32			num_sge;
	u32			length;
	int			ret;
	struct weft_sqe		sqe;
};

#define REMOTE		.remote_addr = 0x1111222233334444, .rkey = 0x55667788
#define ROW(_name, _opcode, _flags, _num_sge, _length, ...) \
	{ _name, IB_UVERBS_WR_##_opcode, _flags, _num_sge, _length, 0, { __VA_ARGS__ } }
#define BAD(_name, _opcode, _flags, _num_sge, _length) \
	{ _name, _opcode, _flags, _num_sge, _length, -EINVAL, {} }

static const struct rxe_row rxe_rows[] = {
	ROW("SEND", SEND, IB_SEND_SIGNALED, 2, 32,
	    .opcode = WEFT_SQE_SEND, .flags = WEFT_SQE_SIGNALED, .num_sge = 2,
	    .ud = { 21, 22, 23, 24 }),
	ROW("SEND of nothing", SEND_WITH_IMM, IB_SEND_SOLICITED, 0, 0,
	    .opcode = WEFT_SQE_SEND_IMM, .flags = WEFT_SQE_SOLICITED, .ud = { 21, 22, 23, 24 }),
	ROW("SEND with invalidate", SEND_WITH_INV, 0, RXE_SGES, 64,
	    .opcode = WEFT_SQE_SEND_INV, .num_sge = RXE_SGES),
	ROW("inline", SEND, IB_SEND_INLINE, 2, RXE_INLINE,
	    .opcode = WEFT_SQE_SEND, .flags = WEFT_SQE_INLINE, .inline_length = RXE_INLINE,
	    .ud = { 21, 22, 23, 24 }),
	/* ibv_wr_set_inline_data() sets no flag */
	ROW("inline by the extended verbs", RDMA_WRITE, 0, 0, RXE_INLINE,
	    .opcode = WEFT_SQE_WRITE, .flags = WEFT_SQE_INLINE, .inline_length = RXE_INLINE,
	    REMOTE),
	ROW("WRITE", RDMA_WRITE, 0, 1, 16, .opcode = WEFT_SQE_WRITE, .num_sge = 1, REMOTE),
	ROW("WRITE, all flags", RDMA_WRITE_WITH_IMM,
	    IB_SEND_FENCE | IB_SEND_SIGNALED | IB_SEND_SOLICITED | IB_SEND_INLINE, 0, 16,
	    .opcode = WEFT_SQE_WRITE_IMM, .inline_length = 16, REMOTE,
	    .flags = WEFT_SQE_FENCE | WEFT_SQE_SIGNALED | WEFT_SQE_SOLICITED | WEFT_SQE_INLINE),
	ROW("READ", RDMA_READ, IB_SEND_FENCE, 1, 16,
	    .opcode = WEFT_SQE_READ, .flags = WEFT_SQE_FENCE, .num_sge = 1, REMOTE),
	ROW("compare and swap", ATOMIC_CMP_AND_SWP, 0, 1, 8,
	    .opcode = WEFT_SQE_CMP_SWP, .num_sge = 1, REMOTE,
	    .atomic = { .compare_add = 31, .swap = 32 }),
	ROW("fetch and add", ATOMIC_FETCH_AND_ADD, 0, 1, 8,
	    .opcode = WEFT_SQE_FETCH_ADD, .num_sge = 1, REMOTE,
	    .atomic = { .compare_add = 31, .swap = 32 }),
	ROW("LOCAL_INV", LOCAL_INV, 0, 0, 0, .opcode = WEFT_SQE_LOCAL_INV),
	ROW("bind", BIND_MW, 0, 0, 0, .opcode = WEFT_SQE_BIND_MW,
	    .mw = { .addr = 41, .length = 42, .lkey = 43, .rkey = 44, .new_rkey = 45,
		    .access = 46 }),
	ROW("FLUSH", FLUSH, 0, 0, 51, .opcode = WEFT_SQE_FLUSH, REMOTE,
	    .flush = { .length = 51, .placement = 2, .selectivity = 1 }),
	/* wr_atomic_write() sets no flag for its data */
	ROW("ATOMIC_WRITE", ATOMIC_WRITE, 0, 0, 8, .opcode = WEFT_SQE_ATOMIC_WRITE,
	    .flags = WEFT_SQE_INLINE, .inline_length = 8, REMOTE),
	ROW("ATOMIC_WRITE of an element", ATOMIC_WRITE, 0, 1, 8,
	    .opcode = WEFT_SQE_ATOMIC_WRITE, .num_sge = 1, REMOTE),

	BAD("IP_CSUM", IB_UVERBS_WR_SEND, IB_SEND_IP_CSUM, 0, 0),
	BAD("the highest flag", IB_UVERBS_WR_SEND, 1U << 31, 0, 0),
	BAD("no opcode", 99, 0, 0, 0),
	BAD("the highest opcode", U32_MAX, 0, 0, 0),
	BAD("more elements than fit", IB_UVERBS_WR_SEND, 0, WEFT_MAX_SGE + 1, 0),
	BAD("a product of 32 bits that is 0", IB_UVERBS_WR_SEND, 0, 1U << 28, 0),
	BAD("most elements", IB_UVERBS_WR_SEND, 0, U32_MAX, 0),
	BAD("inline, most", IB_UVERBS_WR_SEND, IB_SEND_INLINE, 0, U32_MAX),
	BAD("inline without the flag, most", IB_UVERBS_WR_SEND, 0, 0, U32_MAX),
	BAD("ATOMIC_WRITE of most", IB_UVERBS_WR_ATOMIC_WRITE, 0, 0, U32_MAX),
};

static void rxe_row_desc(const struct rxe_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rxe_row, rxe_rows, rxe_row_desc);

/* The operands, as a provider writes them. */
static void rxe_fill(const struct rxe_row *row, struct rxe_send_wr *wr)
{
	/* struct rxe_send_wr of older kernels has no FLUSH */
	struct { u64 va; u32 length, rkey; u8 type, level; } flush = {
		0x1111222233334444, 0, 0x55667788, 2, 1
	};

	wr->wr_id = RXE_WR_ID;
	wr->opcode = row->opcode;
	wr->send_flags = row->flags;
	wr->ex.invalidate_rkey = 0xabcdef01;
	switch (row->opcode) {
	case IB_UVERBS_WR_SEND:
	case IB_UVERBS_WR_SEND_WITH_IMM:
		wr->wr.ud.ah_num = 21;
		wr->wr.ud.remote_qpn = 22;
		wr->wr.ud.remote_qkey = 23;
		wr->wr.ud.pkey_index = 24;
		break;
	case IB_UVERBS_WR_ATOMIC_CMP_AND_SWP:
	case IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = 0x1111222233334444;
		wr->wr.atomic.rkey = 0x55667788;
		wr->wr.atomic.compare_add = 31;
		wr->wr.atomic.swap = 32;
		break;
	case IB_UVERBS_WR_BIND_MW:
		wr->wr.mw.addr = 41;
		wr->wr.mw.length = 42;
		wr->wr.mw.mr_lkey = 43;
		wr->wr.mw.mw_rkey = 44;
		wr->wr.mw.rkey = 45;
		wr->wr.mw.access = 46;
		break;
	case IB_UVERBS_WR_FLUSH:
		memcpy(&wr->wr, &flush, sizeof(flush));
		break;
	default:
		wr->wr.rdma.remote_addr = 0x1111222233334444;
		wr->wr.rdma.rkey = 0x55667788;
		break;
	}
}

static void send_becomes(struct kunit *test)
{
	const struct rxe_row *row = test->param_value;
	struct weft_ring *ring = rxe_sq(test);
	struct weft_swqe *wqe = rxe_send_result(test);
	struct rxe_send_wqe *entry = rxe_slot(ring, 0);
	struct weft_sqe sqe = row->sqe;

	memset(entry, 0x5a, ring->stride);
	memset(&entry->wr.wr, 0, sizeof(entry->wr.wr));
	rxe_fill(row, &entry->wr);
	entry->dma.num_sge = row->num_sge;
	entry->dma.length = row->length;
	rxe_advance(ring, &rxe_queue(ring)->producer_index);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 1);
	KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), row->ret);
	KUNIT_EXPECT_EQ(test, wqe->sqe.wr_id, RXE_WR_ID);
	if (row->ret) {
		KUNIT_EXPECT_LT(test, wqe->sqe.opcode, WEFT_SQE_OPCODES);
		return;
	}
	sqe.wr_id = RXE_WR_ID;
	sqe.ex = 0xabcdef01;
	KUNIT_EXPECT_MEMEQ(test, &wqe->sqe, &sqe, sizeof(sqe));
	if (sqe.flags & WEFT_SQE_INLINE)
		KUNIT_EXPECT_PTR_EQ(test, wqe->inline_data, (const void *)(entry + 1));
	else
		KUNIT_EXPECT_MEMEQ(test, wqe->sge, entry + 1, sqe.num_sge * sizeof(*wqe->sge));
}

/* The provider and the device agree on what is full and what is empty, however often it wraps. */
static void send_queue_wraps(struct kunit *test)
{
	struct weft_ring *ring = rxe_sq(test);
	struct rxe_queue_buf *queue = rxe_queue(ring);
	struct weft_swqe *wqe = rxe_send_result(test);
	struct rxe_send_wqe *entry;
	u64 posted = 0, taken = 0;
	u32 i;

	KUNIT_EXPECT_EQ(test, ring->entries, RXE_REAL);
	KUNIT_EXPECT_EQ(test, 1U << queue->log2_elem_size, ring->stride);
	for (i = 0; i < 100; i++) {
		while (!rxe_full(ring)) {
			entry = rxe_slot(ring, queue->producer_index);
			memset(entry, 0, sizeof(*entry));
			entry->wr.opcode = IB_UVERBS_WR_SEND;
			entry->wr.wr_id = posted++;
			rxe_advance(ring, &queue->producer_index);
		}
		KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), RXE_REAL);
		for (; taken + i % RXE_REAL < posted; taken++) {
			KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), 0);
			KUNIT_EXPECT_EQ(test, wqe->sqe.wr_id, taken);
			weft_ring_release(ring);
		}
		KUNIT_EXPECT_LE(test, queue->consumer_index, queue->index_mask);
		KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), i % RXE_REAL);
	}
}

static void receive_becomes(struct kunit *test)
{
	struct weft_ring *ring = rxe_ring(test, RXE_ENTRIES, weft_rq_stride(true, RXE_SGES));
	u32 room = (ring->stride - sizeof(struct rxe_recv_wqe)) / sizeof(struct weft_sge);
	struct rxe_recv_wqe *entry = rxe_slot(ring, 0);
	struct weft_rwqe wqe = {
		.sge = kunit_kzalloc(test, WEFT_MAX_SGE * sizeof(*wqe.sge), GFP_KERNEL),
	};

	KUNIT_ASSERT_NOT_NULL(test, wqe.sge);
	KUNIT_EXPECT_GE(test, room, RXE_SGES);
	memset(entry, 0x5a, ring->stride);
	entry->wr_id = RXE_WR_ID;
	entry->dma.num_sge = room;
	rxe_advance(ring, &rxe_queue(ring)->producer_index);
	KUNIT_EXPECT_EQ(test, weft_rq_peek(ring, &wqe), 0);
	KUNIT_EXPECT_EQ(test, wqe.wr_id, RXE_WR_ID);
	KUNIT_EXPECT_EQ(test, wqe.num_sge, room);
	KUNIT_EXPECT_EQ(test, wqe.length, 0x5a5a5a5aULL * room);
	KUNIT_EXPECT_MEMEQ(test, wqe.sge, entry + 1, room * sizeof(*wqe.sge));
	entry->dma.num_sge = room + 1;
	KUNIT_EXPECT_EQ(test, weft_rq_peek(ring, &wqe), -EINVAL);
	KUNIT_EXPECT_EQ(test, wqe.num_sge, 0);
	KUNIT_EXPECT_EQ(test, wqe.length, 0);
	entry->dma.num_sge = U32_MAX;
	KUNIT_EXPECT_EQ(test, weft_rq_next(ring, &wqe), -EINVAL);
	KUNIT_EXPECT_EQ(test, rxe_queue(ring)->consumer_index, 1);
}

static const struct weft_cqe rxe_cqe = {
	.wr_id = RXE_WR_ID, .qp_num = 2, .src_qp = 3, .byte_len = 4, .ex = 5, .vendor_err = 6,
	.pkey_index = 7, .status = IB_WC_RNR_RETRY_EXC_ERR, .opcode = IB_UVERBS_WC_FETCH_ADD,
	.wc_flags = WEFT_WC_WITH_IMM | WEFT_WC_GRH, .port_num = 1, .sl = WEFT_SL_ROCE_IPV4,
	.cookie = 8, .slid = 9, .dlid_path_bits = 10,
};

static void completion_becomes(struct kunit *test)
{
	static const struct ib_uverbs_wc wc = {
		.wr_id = RXE_WR_ID, .qp_num = 2, .src_qp = 3, .byte_len = 4,
		.ex.invalidate_rkey = 5, .vendor_err = 6, .pkey_index = 7,
		.status = IB_WC_RNR_RETRY_EXC_ERR, .opcode = IB_UVERBS_WC_FETCH_ADD,
		.wc_flags = 3, .port_num = 1, .sl = WEFT_SL_ROCE_IPV4, .slid = 9,
		.dlid_path_bits = 10,
	};
	struct weft_ring *ring = rxe_ring(test, RXE_ENTRIES, WEFT_RXE_CQ_STRIDE);
	struct rxe_queue_buf *queue = rxe_queue(ring);
	u32 i, pushed, polled = 0;

	for (i = 0; i < 100; i++) {
		for (pushed = 0; weft_ring_push(ring, &rxe_cqe); pushed++)
			;
		KUNIT_EXPECT_EQ(test, pushed, i ? polled : RXE_REAL);
		KUNIT_EXPECT_TRUE(test, rxe_full(ring));
		for (polled = 0; polled < 1 + i % RXE_REAL; polled++) {
			KUNIT_EXPECT_MEMEQ(test, rxe_slot(ring, queue->consumer_index), &wc,
					   sizeof(wc));
			rxe_advance(ring, &queue->consumer_index);
		}
	}
	/* an index that no provider writes counts as one that it does */
	queue->consumer_index = U32_MAX;
	for (pushed = 0; weft_ring_push(ring, &rxe_cqe); pushed++)
		KUNIT_ASSERT_LT(test, pushed, RXE_REAL);
}

/* The entries of a completion queue move to a larger one and back, in order. */
static void completions_are_carried(struct kunit *test)
{
	struct weft_ring *from = rxe_ring(test, RXE_ENTRIES, WEFT_RXE_CQ_STRIDE), *to;
	struct weft_cqe cqe = {};
	const struct ib_uverbs_wc *wc;
	u64 polled = 0;
	u32 i, copied;

	for (i = 0; i < 200; i++) {
		while (weft_ring_push(from, &cqe))
			cqe.wr_id++;
		to = rxe_ring(test, i % 2 ? RXE_ENTRIES : 100, WEFT_RXE_CQ_STRIDE);
		for (; cqe.wr_id - polled > 1 + i % RXE_ENTRIES; polled++) {
			wc = rxe_slot(from, rxe_queue(from)->consumer_index);
			KUNIT_EXPECT_EQ(test, wc->wr_id, polled);
			rxe_advance(from, &rxe_queue(from)->consumer_index);
		}
		copied = weft_ring_carry_ahead(to, from, true);
		KUNIT_EXPECT_EQ(test, copied, from->device);
		KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, true, copied), 0);
		from = to;
	}
}

static void receives_are_carried(struct kunit *test)
{
	struct weft_ring *from = rxe_ring(test, RXE_ENTRIES, weft_rq_stride(true, 1)), *to;
	struct weft_rwqe wqe = { .sge = &(struct weft_sge){} };
	u64 posted = 0, taken = 0;
	struct rxe_recv_wqe *entry;
	u32 i, copied;

	for (i = 0; i < 200; i++) {
		while (!rxe_full(from)) {
			entry = rxe_slot(from, rxe_queue(from)->producer_index);
			entry->wr_id = posted++;
			rxe_advance(from, &rxe_queue(from)->producer_index);
		}
		for (; posted - taken > i % RXE_ENTRIES; taken++) {
			KUNIT_EXPECT_EQ(test, weft_rq_next(from, &wqe), 0);
			KUNIT_EXPECT_EQ(test, wqe.wr_id, taken);
		}
		to = rxe_ring(test, i % 2 ? RXE_ENTRIES : 100, from->stride);
		copied = weft_ring_carry_ahead(to, from, false);
		KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, false, copied), 0);
		from = to;
	}
}

/* Anything may be in the memory that a process shares. */
static void anything(struct kunit *test)
{
	struct weft_ring *ring = rxe_sq(test);
	struct rxe_queue_buf *queue = rxe_queue(ring);
	u32 room = ring->stride - sizeof(struct rxe_send_wqe);
	struct weft_swqe *wqe = rxe_send_result(test);
	struct rxe_send_wqe *entry;
	struct rnd_state rnd;
	u32 i, good = 0;

	prandom_seed_state(&rnd, RXE_SEED);
	for (i = 0; i < RXE_ROUNDS; i++) {
		entry = rxe_slot(ring, ring->device & queue->index_mask);
		prandom_bytes_state(&rnd, entry, ring->stride);
		if (i % 2) {
			entry->wr.opcode %= 17;
			entry->wr.send_flags %= 17;
			entry->dma.num_sge %= 2 * RXE_SGES;
			entry->dma.length %= 2 * RXE_INLINE;
		}
		queue->producer_index = prandom_u32_state(&rnd);
		KUNIT_ASSERT_LE(test, weft_ring_pending(ring), RXE_REAL);
		KUNIT_ASSERT_GE(test, weft_ring_pending(ring), 0);
		if (!weft_sq_next(ring, 0, wqe)) {
			good++;
			KUNIT_ASSERT_LE(test, wqe->sqe.num_sge, room / sizeof(struct weft_sge));
			KUNIT_ASSERT_LE(test, wqe->sqe.inline_length, room);
		}
		KUNIT_ASSERT_LT(test, wqe->sqe.opcode, WEFT_SQE_OPCODES);
		weft_ring_release(ring);
		KUNIT_ASSERT_LE(test, queue->consumer_index, queue->index_mask);
	}
	KUNIT_EXPECT_GT(test, good, RXE_ROUNDS / 10);
}

static struct kunit_case rxe_cases[] = {
	KUNIT_CASE_PARAM(send_becomes, rxe_row_gen_params),
	KUNIT_CASE(send_queue_wraps),
	KUNIT_CASE(receive_becomes),
	KUNIT_CASE(completion_becomes),
	KUNIT_CASE(completions_are_carried),
	KUNIT_CASE(receives_are_carried),
	KUNIT_CASE(anything),
	{}
};

static struct kunit_suite rxe_suite = {
	.name = "weft_ring_rxe",
	.test_cases = rxe_cases,
};

kunit_test_suite(rxe_suite);
