// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ring/sqe.h: work requests of a client, valid and malformed.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "ring/sqe.h"

#define SQE_SEED	0x73716573
#define SQE_ROUNDS	20000
#define SQE_ENTRIES	4
#define SQE_WR_ID	0x0123456789abcdefULL
/* The initial content of the private copy. */
#define SQE_POISON	0xa5
/* The content of a slot behind the work request. */
#define SQE_JUNK	0x5a

/* The capabilities of a send queue, a work request, and the result of weft_sq_next(). */
struct sqe_row {
	const char	*name;
	u32		max_sge;
	u32		max_inline;
	u8		opcode;
	u8		flags;
	u16		num_sge;
	u32		inline_length;
	int		ret;
};

static const struct sqe_row sqe_rows[] = {
	{ "nothing", 4, 0, WEFT_SQE_SEND, 0, 0, 0, 0 },
	{ "one element", 4, 0, WEFT_SQE_WRITE, 0, 1, 0, 0 },
	{ "all elements", 4, 0, WEFT_SQE_READ, 0, 4, 0, 0 },
	{ "one too many", 4, 0, WEFT_SQE_SEND, 0, 5, 0, -EINVAL },
	{ "one too many for a padded slot", 5, 0, WEFT_SQE_SEND, 0, 9, 0, -EINVAL },
	{ "room in the padding", 5, 0, WEFT_SQE_SEND, 0, 8, 0, 0 },
	{ "no room, no element", 0, 0, WEFT_SQE_LOCAL_INV, 0, 0, 0, 0 },
	{ "no room, one element", 0, 0, WEFT_SQE_SEND, 0, 1, 0, -EINVAL },
	{ "room for inline data holds elements", 1, 512, WEFT_SQE_SEND, 0, 32, 0, 0 },
	{ "32 elements", 32, 0, WEFT_SQE_SEND, 0, 32, 0, 0 },
	{ "33 elements, no room", 32, 0, WEFT_SQE_SEND, 0, 33, 0, -EINVAL },
	{ "33 elements, room", 32, 1024, WEFT_SQE_SEND, 0, 33, 0, -EINVAL },
	{ "64 elements, room", 32, 1024, WEFT_SQE_SEND, 0, 64, 0, -EINVAL },
	{ "most elements", 32, 1024, WEFT_SQE_SEND, 0, 0xffff, 0, -EINVAL },
	{ "product of 16 bits is 0", 32, 1024, WEFT_SQE_SEND, 0, 0x1000, 0, -EINVAL },
	{ "last opcode", 4, 0, WEFT_SQE_NOP, 0, 1, 0, 0 },
	{ "first without a meaning", 4, 0, WEFT_SQE_OPCODES, 0, 0, 0, -EINVAL },
	{ "last opcode of all", 4, 0, 0xff, 0, 0, 0, -EINVAL },
	{ "all flags", 4, 64, WEFT_SQE_SEND, WEFT_SQE_FLAGS, 0, 64, 0 },
	{ "flag 5", 4, 0, WEFT_SQE_SEND, 0x20, 0, 0, -EINVAL },
	{ "flag 6", 4, 0, WEFT_SQE_SEND, 0x40, 0, 0, -EINVAL },
	{ "flag 7", 4, 0, WEFT_SQE_SEND, 0x80, 0, 0, -EINVAL },
	{ "flag 7 among good ones", 4, 0, WEFT_SQE_SEND, 0x87, 0, 0, -EINVAL },
	{ "inline, nothing", 0, 0, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 0, 0 },
	{ "inline, no room", 0, 0, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 1, -EINVAL },
	{ "inline, one byte", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 1, 0 },
	{ "inline, all", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 64, 0 },
	{ "inline, one too many", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 65, -EINVAL },
	{ "inline, largest", 32, 1024, WEFT_SQE_WRITE, WEFT_SQE_INLINE, 0, 1024, 0 },
	{ "inline, larger", 32, 1024, WEFT_SQE_WRITE, WEFT_SQE_INLINE, 0, 1025, -EINVAL },
	{ "inline, the sign", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 0x80000000, -EINVAL },
	{ "inline, most", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 0, 0xffffffff, -EINVAL },
	{ "inline, and an element", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 1, 16, -EINVAL },
	{ "inline, nothing but an element", 1, 64, WEFT_SQE_SEND, WEFT_SQE_INLINE, 1, 0, -EINVAL },
	{ "inline RDMA READ", 1, 64, WEFT_SQE_READ, WEFT_SQE_INLINE, 0, 16, 0 },
	{ "inline RDMA READ of nothing", 1, 64, WEFT_SQE_READ, WEFT_SQE_INLINE, 0, 0, 0 },
	{ "inline Compare and Swap", 1, 64, WEFT_SQE_CMP_SWP, WEFT_SQE_INLINE, 0, 8, 0 },
	{ "inline Fetch and Add", 1, 64, WEFT_SQE_FETCH_ADD, WEFT_SQE_INLINE, 0, 8, 0 },
	{ "inline ATOMIC WRITE", 1, 0, WEFT_SQE_ATOMIC_WRITE, WEFT_SQE_INLINE, 0, 8, 0 },
	{ "length, not inline", 1, 64, WEFT_SQE_SEND, 0, 0, 1, -EINVAL },
	{ "length and element, not inline", 1, 64, WEFT_SQE_SEND, 0, 1, 16, -EINVAL },
	{ "length of most, not inline", 1, 64, WEFT_SQE_SEND, 0, 0, 0xffffffff, -EINVAL },
};

static void sqe_row_desc(const struct sqe_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sqe_row, sqe_rows, sqe_row_desc);

KUNIT_DEFINE_ACTION_WRAPPER(sqe_ring_destroy, weft_ring_destroy, struct weft_ring *);

/* The first entry is at the last index before it wraps. */
static struct weft_ring *sqe_ring(struct kunit *test, u32 stride)
{
	struct weft_ring *ring = weft_ring_create(SQE_ENTRIES, stride, NULL, NULL);
	struct weft_ring_hdr *hdr;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, sqe_ring_destroy, ring), 0);
	hdr = (struct weft_ring_hdr __force *)ring->hdr;
	ring->device = 0xffffffff;
	ring->client = 0xffffffff;
	hdr->producer = 0xffffffff;
	hdr->consumer = 0xffffffff;
	return ring;
}

static void *sqe_result(struct kunit *test, size_t size)
{
	void *result = kunit_kmalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, result);
	memset(result, SQE_POISON, size);
	return result;
}

static struct weft_swqe *sqe_send_result(struct kunit *test)
{
	struct weft_swqe *wqe = sqe_result(test, sizeof(*wqe));

	wqe->sge = sqe_result(test, WEFT_MAX_SGE * sizeof(*wqe->sge));
	return wqe;
}

static struct weft_rwqe *sqe_recv_result(struct kunit *test)
{
	struct weft_rwqe *wqe = sqe_result(test, sizeof(*wqe));

	wqe->sge = sqe_result(test, WEFT_MAX_SGE * sizeof(*wqe->sge));
	return wqe;
}

static u64 sqe_recv_length(const struct weft_rwqe *wqe)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

/* Post as a client does, with different junk behind each work request. Returns the slot. */
static void *sqe_post(struct kunit *test, struct weft_ring *ring, const void *wr,
		      size_t length)
{
	u8 *entry = weft_ring_reserve(ring);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, entry);
	memcpy(entry, wr, length);
	for (i = length; i < ring->stride; i++)
		entry[i] = SQE_JUNK + i + ring->client;
	weft_ring_submit(ring);
	return entry;
}

static void sqe_fill(const struct sqe_row *row, struct weft_sqe *sqe)
{
	*sqe = (struct weft_sqe){
		.wr_id = SQE_WR_ID, .opcode = row->opcode, .flags = row->flags,
		.num_sge = row->num_sge, .inline_length = row->inline_length,
		.ex = 0x11223344, .rkey = 0x55667788,
		.remote_addr = 0x99aabbccddeeff00,
		.mw = { 0x1020304050607080, 0x90a0b0c0d0e0f000, 1, 2, 3, 4 },
	};
}

static void sq_next_row(struct kunit *test)
{
	const struct sqe_row *row = test->param_value;
	struct weft_ring *ring = sqe_ring(test, weft_sq_stride(false, row->max_sge,
							       row->max_inline));
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_sqe sqe;
	u8 *entry;

	sqe_fill(row, &sqe);
	entry = sqe_post(test, ring, &sqe, sizeof(sqe));
	KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), row->ret);
	KUNIT_EXPECT_EQ(test, wqe->index, 0xffffffff);
	KUNIT_EXPECT_EQ(test, wqe->sqe.wr_id, SQE_WR_ID);
	KUNIT_EXPECT_EQ(test, wqe->sqe.opcode,
			row->opcode < WEFT_SQE_OPCODES ? row->opcode : WEFT_SQE_SEND);
	/* the slot is not released, whether the work request is valid or not */
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 1);
	if (row->ret)
		return;
	KUNIT_EXPECT_MEMEQ(test, &wqe->sqe, &sqe, sizeof(sqe));
	if (row->flags & WEFT_SQE_INLINE)
		KUNIT_EXPECT_PTR_EQ(test, wqe->inline_data, (const void *)(entry + 64));
	else
		KUNIT_EXPECT_MEMEQ(test, wqe->sge, entry + 64, row->num_sge * 16);
}

/* No more than the list is copied: the next bytes may be in another slot. */
static void sq_next_copies_no_more(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, weft_sq_stride(false, 32, 0));
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_sqe sqe = {};
	u32 num;

	for (num = 0; num <= WEFT_MAX_SGE; num++) {
		memset(wqe->sge, SQE_POISON, WEFT_MAX_SGE * sizeof(*wqe->sge));
		sqe.num_sge = num;
		sqe_post(test, ring, &sqe, sizeof(sqe));
		KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(wqe->sge + num, SQE_POISON,
						   (WEFT_MAX_SGE - num) * 16));
		weft_ring_release(ring);
	}
}

/* Later writes of the client do not change the copy. */
static void sq_next_copy_is_private(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, weft_sq_stride(false, 4, 0));
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_sqe sqe = { .wr_id = SQE_WR_ID, .num_sge = 4 };
	struct weft_sge sge[4];
	u8 *entry;

	entry = sqe_post(test, ring, &sqe, sizeof(sqe));
	memcpy(sge, entry + 64, sizeof(sge));
	KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), 0);
	memset(entry, 0xff, ring->stride);
	KUNIT_EXPECT_MEMEQ(test, &wqe->sqe, &sqe, sizeof(sqe));
	KUNIT_EXPECT_MEMEQ(test, wqe->sge, sge, sizeof(sge));
}

static void sq_next_follows_device_index(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, weft_sq_stride(false, 1, 0));
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_sqe sqe = {};
	u32 i;

	for (i = 0; i < 3 * SQE_ENTRIES; i++) {
		sqe.wr_id = i;
		/* a malformed work request does not stop the following ones */
		sqe.flags = i % 3 ? 0 : 0x80;
		sqe_post(test, ring, &sqe, sizeof(sqe));
		/* the same work request until its slot is released */
		KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), i % 3 ? 0 : -EINVAL);
		KUNIT_EXPECT_EQ(test, weft_sq_next(ring, 0, wqe), i % 3 ? 0 : -EINVAL);
		KUNIT_EXPECT_EQ(test, wqe->sqe.wr_id, i);
		KUNIT_EXPECT_EQ(test, wqe->index, i - 1);
		weft_ring_release(ring);
	}
}

/* Does the ABI allow this work request? In numbers, independent of the header's constants. */
static bool sqe_may(const struct weft_sqe *sqe, u64 stride)
{
	u64 elements = 16ULL * sqe->num_sge, payload = sqe->inline_length;

	if (sqe->opcode > 17 || sqe->flags > 31)
		return false;
	if (sqe->flags & 8)
		return elements == 0 && 64 + payload <= stride;
	return payload == 0 && elements <= 512 && 64 + elements <= stride;
}

static int sqe_try(struct weft_ring *ring, const struct weft_sqe *sqe,
		   struct weft_swqe *wqe)
{
	memcpy((void __force *)ring->slots +
	       ring->device % ring->entries * ring->stride, sqe, sizeof(*sqe));
	return weft_sq_next(ring, 0, wqe);
}

static void sq_next_each_opcode_and_flag(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, 128);
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_sqe sqe = {};
	u32 i;

	for (i = 0; i < 0x10000; i++) {
		sqe.opcode = i;
		sqe.flags = i >> 8;
		KUNIT_ASSERT_EQ_MSG(test, sqe_try(ring, &sqe, wqe),
				    sqe_may(&sqe, 128) ? 0 : -EINVAL,
				    "opcode %u, flags %#x", sqe.opcode, sqe.flags);
	}
}

static void sq_next_each_num_sge(struct kunit *test)
{
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_ring *ring;
	struct weft_sqe sqe = {};
	u32 i, stride;

	for (stride = 64; stride <= 1088; stride += 512) {
		ring = sqe_ring(test, stride);
		for (i = 0; i < 0x10000; i++) {
			sqe.num_sge = i;
			KUNIT_ASSERT_EQ_MSG(test, sqe_try(ring, &sqe, wqe),
					    sqe_may(&sqe, stride) ? 0 : -EINVAL,
					    "%u elements in %u bytes", i, stride);
		}
	}
}

static u32 sqe_near(struct rnd_state *rnd, u32 limit)
{
	u32 random = prandom_u32_state(rnd);

	switch (random >> 29) {
	case 0:
		return prandom_u32_state(rnd);
	case 1:
		return 0;
	case 2:
		return limit;
	default:
		return random % (limit + 2);
	}
}

static void sq_next_random(struct kunit *test)
{
	struct weft_swqe *wqe = sqe_send_result(test);
	struct weft_ring *ring = sqe_ring(test, 1088);
	struct weft_sqe sqe = {};
	struct rnd_state rnd;
	u32 i, good = 0;
	bool may;

	kunit_info(test, "seed %#x", SQE_SEED);
	prandom_seed_state(&rnd, SQE_SEED);
	for (i = 0; i < SQE_ROUNDS; i++) {
		/* slots that are smaller than the allocated ones */
		ring->stride = 64 + sqe_near(&rnd, 15) % 17 * 64;
		sqe.opcode = sqe_near(&rnd, WEFT_SQE_OPCODES - 1);
		sqe.flags = sqe_near(&rnd, WEFT_SQE_FLAGS);
		sqe.num_sge = sqe_near(&rnd, 32);
		sqe.inline_length = sqe_near(&rnd, ring->stride - 64);
		/* usually either elements or inline data, as valid work requests have */
		if (i % 4 && sqe.flags & WEFT_SQE_INLINE)
			sqe.num_sge = 0;
		else if (i % 4)
			sqe.inline_length = 0;
		may = sqe_may(&sqe, ring->stride);
		good += may;
		KUNIT_ASSERT_EQ_MSG(test, sqe_try(ring, &sqe, wqe), may ? 0 : -EINVAL,
				    "round %u", i);
	}
	kunit_info(test, "%u of %u were valid", good, SQE_ROUNDS);
	KUNIT_EXPECT_GT(test, good, SQE_ROUNDS / 20);
}

struct rqe_row {
	const char	*name;
	u32		max_sge;	/* elements that the queue was created for */
	u32		num_sge;	/* elements of the work request */
	int		ret;		/* result of weft_rq_next() */
};

static const struct rqe_row rqe_rows[] = {
	{ "nothing", 4, 0, 0 },
	{ "one element", 4, 1, 0 },
	{ "all elements", 4, 4, 0 },
	{ "one too many", 4, 5, -EINVAL },
	{ "made for none, none", 0, 0, 0 },
	{ "made for none, one", 0, 1, 0 },
	{ "made for none, two", 0, 2, -EINVAL },
	{ "32 elements", 32, 32, 0 },
	{ "33 elements, no room", 32, 33, -EINVAL },
	{ "33 elements, room", 64, 33, -EINVAL },
	{ "64 elements, room", 64, 64, -EINVAL },
	{ "product of 32 bits is 0", 64, 0x10000000, -EINVAL },
	{ "product of 32 bits is 16", 64, 0x10000001, -EINVAL },
	{ "the sign", 64, 0x80000000, -EINVAL },
	{ "most elements", 64, 0xffffffff, -EINVAL },
};

static void rqe_row_desc(const struct rqe_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rqe_row, rqe_rows, rqe_row_desc);

static void rq_next_row(struct kunit *test)
{
	const struct rqe_row *row = test->param_value;
	struct weft_ring *ring = sqe_ring(test, weft_rq_stride(false, row->max_sge));
	struct weft_rwqe *wqe = sqe_recv_result(test);
	struct weft_rqe rqe = { .wr_id = SQE_WR_ID, .num_sge = row->num_sge };
	u32 num = row->ret ? 0 : row->num_sge;
	u8 *entry;

	entry = sqe_post(test, ring, &rqe, sizeof(rqe));
	KUNIT_EXPECT_EQ(test, weft_rq_next(ring, wqe), row->ret);
	KUNIT_EXPECT_EQ(test, wqe->wr_id, SQE_WR_ID);
	KUNIT_EXPECT_EQ(test, wqe->index, 0xffffffff);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, num);
	KUNIT_EXPECT_EQ(test, wqe->length, sqe_recv_length(wqe));
	KUNIT_EXPECT_MEMEQ(test, wqe->sge, entry + 16, num * 16);
	KUNIT_EXPECT_NULL(test, memchr_inv(wqe->sge + num, SQE_POISON,
					   (WEFT_MAX_SGE - num) * 16));
	/* the slot is released, whether the work request is valid or not */
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), 0);
	KUNIT_EXPECT_EQ(test, ring->device, 0);
}

static void rq_next_in_order(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, weft_rq_stride(false, 2));
	struct weft_rwqe *wqe = sqe_recv_result(test);
	struct weft_rqe rqe = {};
	u32 i, j;

	for (i = 0; i < 5 * SQE_ENTRIES; i += SQE_ENTRIES) {
		for (j = i; j < i + SQE_ENTRIES; j++) {
			rqe.wr_id = j;
			/* a malformed work request does not stop the following ones */
			rqe.num_sge = j % 4;
			sqe_post(test, ring, &rqe, sizeof(rqe));
		}
		for (j = i; j < i + SQE_ENTRIES; j++) {
			KUNIT_EXPECT_EQ(test, weft_rq_next(ring, wqe),
					j % 4 < 3 ? 0 : -EINVAL);
			KUNIT_EXPECT_EQ(test, wqe->wr_id, j);
			KUNIT_EXPECT_EQ(test, wqe->index, j - 1);
			KUNIT_EXPECT_EQ(test, wqe->num_sge, j % 4 < 3 ? j % 4 : 0);
			KUNIT_EXPECT_EQ(test, wqe->length, sqe_recv_length(wqe));
		}
	}
}

static void rq_next_copy_is_private(struct kunit *test)
{
	struct weft_ring *ring = sqe_ring(test, weft_rq_stride(false, 3));
	struct weft_rwqe *wqe = sqe_recv_result(test);
	struct weft_rqe rqe = { .wr_id = SQE_WR_ID, .num_sge = 3 };
	struct weft_sge sge[3];
	u8 *entry;

	entry = sqe_post(test, ring, &rqe, sizeof(rqe));
	memcpy(sge, entry + 16, sizeof(sge));
	KUNIT_EXPECT_EQ(test, weft_rq_next(ring, wqe), 0);
	memset(entry, 0xff, ring->stride);
	KUNIT_EXPECT_EQ(test, wqe->wr_id, SQE_WR_ID);
	KUNIT_EXPECT_EQ(test, wqe->num_sge, 3);
	KUNIT_EXPECT_MEMEQ(test, wqe->sge, sge, sizeof(sge));
}

struct stride_row {
	u32	max_sge;
	u32	max_inline;
	u32	stride;
};

static const struct stride_row sq_stride_rows[] = {
	{ 0, 0, 64 }, { 1, 0, 128 }, { 4, 0, 128 }, { 5, 0, 192 },
	{ 8, 0, 192 }, { 9, 0, 256 }, { 32, 0, 576 }, { 0, 1, 128 },
	{ 0, 64, 128 }, { 0, 65, 192 }, { 0, 1024, 1088 }, { 1, 1, 128 },
	{ 4, 64, 128 }, { 4, 65, 192 }, { 5, 64, 192 }, { 32, 512, 576 },
	{ 32, 513, 640 }, { 32, 1024, 1088 },
};

static void sq_stride_rows_match(struct kunit *test)
{
	const struct stride_row *row;
	int i;

	for (i = 0; i < ARRAY_SIZE(sq_stride_rows); i++) {
		row = &sq_stride_rows[i];
		KUNIT_EXPECT_EQ_MSG(test, weft_sq_stride(false, row->max_sge, row->max_inline),
				    row->stride, "%u elements, %u bytes",
				    row->max_sge, row->max_inline);
	}
}

static void sq_stride_has_room(struct kunit *test)
{
	u32 sge, bytes, stride, need;

	for (sge = 0; sge <= WEFT_MAX_SGE; sge++) {
		for (bytes = 0; bytes <= WEFT_MAX_INLINE; bytes++) {
			stride = weft_sq_stride(false, sge, bytes);
			need = 64 + max(16 * sge, bytes);
			KUNIT_ASSERT_EQ(test, stride % 64, 0);
			KUNIT_ASSERT_GE(test, stride, need);
			KUNIT_ASSERT_LT(test, stride, need + 64);
		}
	}
}

static void rq_stride_has_room(struct kunit *test)
{
	u32 sge;

	/* a queue for no elements has room for one */
	KUNIT_EXPECT_EQ(test, weft_rq_stride(false, 0), 32);
	for (sge = 1; sge <= WEFT_MAX_SGE; sge++)
		KUNIT_EXPECT_EQ(test, weft_rq_stride(false, sge), 16 + 16 * sge);
}

static struct kunit_case sqe_cases[] = {
	KUNIT_CASE_PARAM(sq_next_row, sqe_row_gen_params),
	KUNIT_CASE(sq_next_copies_no_more),
	KUNIT_CASE(sq_next_copy_is_private),
	KUNIT_CASE(sq_next_follows_device_index),
	KUNIT_CASE(sq_next_each_opcode_and_flag),
	KUNIT_CASE(sq_next_each_num_sge),
	KUNIT_CASE(sq_next_random),
	KUNIT_CASE_PARAM(rq_next_row, rqe_row_gen_params),
	KUNIT_CASE(rq_next_in_order),
	KUNIT_CASE(rq_next_copy_is_private),
	KUNIT_CASE(sq_stride_rows_match),
	KUNIT_CASE(sq_stride_has_room),
	KUNIT_CASE(rq_stride_has_room),
	{}
};

static struct kunit_suite sqe_suite = {
	.name = "weft_sqe",
	.test_cases = sqe_cases,
};

kunit_test_suite(sqe_suite);
