// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration by work requests of kernel consumers: one end registers its memory, and the
 * other one reads and writes it. Also the core's rdma_rw API, which needs no registration here.
 */
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/string.h>
#include <rdma/rw.h>

#include "consumer.h"

#define REG_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)
/* More than the 256 values of a key's low bits. */
#define REG_ROUNDS	300
/* Number, length and distance of the elements of an rdma_rw transfer. */
#define RW_SGS		40
#define RW_LENGTH	100
#define RW_STRIDE	102

/* The owner registers its memory, the peer accesses it. */
static struct consumer_end *reg_owner(struct consumer *consumer)
{
	return &consumer->end[1];
}

static struct consumer_end *reg_peer(struct consumer *consumer)
{
	return &consumer->end[0];
}

static struct consumer *reg_create(struct kunit *test, enum ib_mr_type type, u32 max)
{
	struct consumer *consumer = consumer_pair(test, IB_POLL_WORKQUEUE);

	consumer->mr = ib_alloc_mr(consumer->pd, type, max);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->mr));
	return consumer;
}

static void reg_map(struct kunit *test, struct consumer *consumer, struct scatterlist *sg, u32 num,
		    u32 page_size)
{
	KUNIT_ASSERT_EQ(test, (int)num, ib_dma_map_sg(consumer_dev, sg, num, DMA_BIDIRECTIONAL));
	KUNIT_ASSERT_EQ(test, (int)num, ib_map_mr_sg(consumer->mr, sg, num, NULL, page_size));
}

/* Map the owner's memory, which is contiguous. */
static void reg_map_memory(struct kunit *test, struct consumer *consumer)
{
	struct scatterlist sg;

	sg_init_one(&sg, reg_owner(consumer)->memory, CONSUMER_MEMORY);
	reg_map(test, consumer, &sg, 1, PAGE_SIZE);
}

/* Post @wr as work request @i of the owner, and wait for its completion. */
static void reg_post(struct kunit *test, struct consumer *consumer, struct ib_send_wr *wr, u32 i)
{
	struct consumer_end *owner = reg_owner(consumer);
	u32 done = consumer_counted(&owner->send.done);

	wr->wr_cqe = &owner->send.wr[i].cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(owner->qp, wr, NULL));
	KUNIT_ASSERT_TRUE(test, consumer_wait(owner, &owner->send, done + 1));
}

static void reg_register(struct kunit *test, struct consumer *consumer, u32 i)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = consumer->mr,
		.key = consumer->mr->rkey,
		.access = REG_RIGHTS,
	};

	reg_post(test, consumer, &wr.wr, i);
}

static void reg_invalidate(struct kunit *test, struct consumer *consumer, u32 i)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = consumer->mr->rkey,
	};

	reg_post(test, consumer, &wr, i);
}

static void reg_next_key(struct ib_mr *mr)
{
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
}

/* Let the peer access all of the region with its work request @i. Return: the status. */
static enum ib_wc_status reg_access(struct kunit *test, struct consumer *consumer, u32 i,
				    enum ib_wr_opcode opcode, u32 rkey)
{
	struct consumer_end *peer = reg_peer(consumer);
	u32 done = consumer_counted(&peer->send.done);

	KUNIT_ASSERT_EQ(test, 0, consumer_post_rdma(peer, i, opcode, consumer->mr->iova, rkey,
						    consumer->mr->length));
	KUNIT_ASSERT_TRUE(test, consumer_wait(peer, &peer->send, done + 1));
	return peer->send.last.status;
}

/* Start again with work request 0 of both send queues. */
static void reg_rewind(struct consumer *consumer)
{
	consumer->end[0].send.done = 0;
	consumer->end[1].send.done = 0;
}

/* Register with a new key each time. Its low bits wrap around. */
static void keys_rotate(struct kunit *test)
{
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, 1);
	struct consumer_end *owner = reg_owner(consumer), *peer = reg_peer(consumer);
	u32 i, first = consumer->mr->rkey, old;

	for (i = 0; i < REG_ROUNDS; i++) {
		reg_rewind(consumer);
		old = consumer->mr->rkey;
		reg_next_key(consumer->mr);
		KUNIT_ASSERT_EQ(test, old & ~0xffU, consumer->mr->rkey & ~0xffU);
		reg_map_memory(test, consumer);
		reg_register(test, consumer, 0);
		KUNIT_ASSERT_EQ(test, owner->send.last.opcode, IB_WC_REG_MR);
		memset(peer->memory, i, CONSUMER_MEMORY);
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, reg_access(test, consumer, 0, IB_WR_RDMA_WRITE,
								consumer->mr->rkey));
		KUNIT_ASSERT_EQ(test, 0, memcmp(peer->memory, owner->memory, CONSUMER_MEMORY));
		reg_invalidate(test, consumer, 1);
		KUNIT_ASSERT_EQ(test, owner->send.last.opcode, IB_WC_LOCAL_INV);
	}
	KUNIT_EXPECT_EQ(test, owner->send.failed + peer->send.failed, 0U);
	KUNIT_EXPECT_EQ(test, owner->send.astray + peer->send.astray, 0U);
	KUNIT_EXPECT_EQ(test, first & ~0xffU, consumer->mr->rkey & ~0xffU);
	/* the last key was invalidated */
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR, reg_access(test, consumer, 1, IB_WR_RDMA_READ,
							       consumer->mr->rkey));
}

/* A key that was valid before the present one is refused. */
static void old_key_is_refused(struct kunit *test)
{
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, 1);
	u32 old = consumer->mr->rkey;

	reg_map_memory(test, consumer);
	reg_register(test, consumer, 0);
	reg_invalidate(test, consumer, 1);
	reg_next_key(consumer->mr);
	reg_map_memory(test, consumer);
	reg_register(test, consumer, 2);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, reg_access(test, consumer, 0, IB_WR_RDMA_READ,
							consumer->mr->rkey));
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR, reg_access(test, consumer, 1, IB_WR_RDMA_WRITE,
							       old));
}

static void valid_is_not_registered(struct kunit *test)
{
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, 1);
	struct consumer_end *owner = reg_owner(consumer);

	reg_map_memory(test, consumer);
	reg_register(test, consumer, 0);
	reg_map_memory(test, consumer);
	reg_next_key(consumer->mr);
	reg_register(test, consumer, 1);
	KUNIT_EXPECT_EQ(test, owner->send.last.status, IB_WC_MW_BIND_ERR);
	/* the error has moved the QP to ERR */
	reg_invalidate(test, consumer, 2);
	KUNIT_EXPECT_EQ(test, owner->send.last.status, IB_WC_WR_FLUSH_ERR);
}

/* Let the peer send a SEND with Invalidate. */
static void reg_send_invalidate(struct kunit *test, struct consumer *consumer, u32 i, u32 rkey)
{
	struct consumer_end *peer = reg_peer(consumer), *owner = reg_owner(consumer);
	struct ib_send_wr wr = {
		.wr_cqe = &peer->send.wr[i].cqe,
		.opcode = IB_WR_SEND_WITH_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = rkey,
	};
	u32 sent = consumer_counted(&peer->send.done);
	u32 received = consumer_counted(&owner->recv.done);

	KUNIT_ASSERT_EQ(test, 0, consumer_post_recv(owner, received));
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(peer->qp, &wr, NULL));
	KUNIT_ASSERT_TRUE(test, consumer_wait(peer, &peer->send, sent + 1));
	KUNIT_ASSERT_TRUE(test, consumer_wait(owner, &owner->recv, received + 1));
}

/*
 * The receive completion of a SEND with Invalidate contains the key. The owner can register the
 * region again at once, and the peer can no longer access it.
 */
static void peer_invalidates(struct kunit *test)
{
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, 1);
	struct consumer_end *owner = reg_owner(consumer), *peer = reg_peer(consumer);
	u32 i, rkey = 0;

	for (i = 0; i < 3; i++) {
		reg_next_key(consumer->mr);
		rkey = consumer->mr->rkey;
		reg_map_memory(test, consumer);
		reg_register(test, consumer, i);
		KUNIT_ASSERT_EQ(test, owner->send.last.status, IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, IB_WC_SUCCESS, reg_access(test, consumer, 2 * i,
								IB_WR_RDMA_READ, rkey));
		reg_send_invalidate(test, consumer, 2 * i + 1, rkey);
		KUNIT_ASSERT_EQ(test, peer->send.last.status, IB_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, owner->recv.last.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, owner->recv.last.wc_flags & IB_WC_WITH_INVALIDATE);
		KUNIT_EXPECT_EQ(test, owner->recv.last.ex.invalidate_rkey, rkey);
	}
	KUNIT_EXPECT_EQ(test, IB_WC_REM_ACCESS_ERR, reg_access(test, consumer, 6, IB_WR_RDMA_READ,
							       rkey));
}

/* A SEND with Invalidate that names a key of no region is refused. */
static void peer_invalidates_what_is_not_there(struct kunit *test)
{
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, 1);

	reg_map_memory(test, consumer);
	reg_register(test, consumer, 0);
	reg_send_invalidate(test, consumer, 0, U32_MAX);
	KUNIT_EXPECT_EQ(test, reg_peer(consumer)->send.last.status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_NE(test, reg_owner(consumer)->recv.last.status, IB_WC_SUCCESS);
}

/*
 * ---- Memory of several pieces ----
 */

struct reg_page_row {
	const char	*name;
	u32		page_size;
};

static const struct reg_page_row reg_page_rows[] = {
	{ "512 bytes", 512 },
	{ "a page", PAGE_SIZE },
	{ "four pages", 4 * PAGE_SIZE },
};

static void reg_page_desc(const struct reg_page_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(reg_page, reg_page_rows, reg_page_desc);

#define REG_PAGES	5

/* The blocks of the region are not adjacent in memory, nor in ascending order. */
static void blocks_of_any_size(struct kunit *test)
{
	const struct reg_page_row *row = test->param_value;
	static const u32 order[REG_PAGES] = { 4, 0, 6, 2, 8 };
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_MEM_REG, REG_PAGES);
	u32 length = REG_PAGES * row->page_size, i;
	struct consumer_end *peer = reg_peer(consumer);
	struct scatterlist sg[REG_PAGES];
	u8 *there, *here = peer->memory;

	there = kunit_kzalloc(test, 16 * row->page_size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, there);
	KUNIT_ASSERT_TRUE(test, IS_ALIGNED((uintptr_t)there, row->page_size));
	peer->memory = kunit_kmalloc(test, length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer->memory);
	get_random_bytes(peer->memory, length);
	sg_init_table(sg, REG_PAGES);
	for (i = 0; i < REG_PAGES; i++)
		sg_set_buf(&sg[i], there + order[i] * row->page_size, row->page_size);
	reg_map(test, consumer, sg, REG_PAGES, row->page_size);
	KUNIT_ASSERT_EQ(test, (u32)consumer->mr->length, length);
	reg_register(test, consumer, 0);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, reg_access(test, consumer, 0, IB_WR_RDMA_WRITE,
							consumer->mr->rkey));
	for (i = 0; i < REG_PAGES; i++) {
		KUNIT_EXPECT_EQ(test, 0, memcmp(there + order[i] * row->page_size,
						peer->memory + i * row->page_size, row->page_size));
		/* the memory between the blocks is not written */
		KUNIT_EXPECT_PTR_EQ(test, NULL, memchr_inv(there + (order[i] + 1) * row->page_size,
							   0, row->page_size));
	}
	peer->memory = here;
}

/* The elements have any length and alignment. */
static void pieces_with_gaps(struct kunit *test)
{
	static const struct { u32 offset, length; } pieces[] = {
		{ 3000, 1 }, { 7, 1000 }, { 2048, 8 }, { 3333, 555 },
	};
	struct consumer *consumer = reg_create(test, IB_MR_TYPE_SG_GAPS, ARRAY_SIZE(pieces));
	struct consumer_end *owner = reg_owner(consumer), *peer = reg_peer(consumer);
	struct scatterlist sg[ARRAY_SIZE(pieces)];
	u32 i, at = 0;

	get_random_bytes(owner->memory, CONSUMER_MEMORY);
	sg_init_table(sg, ARRAY_SIZE(pieces));
	for (i = 0; i < ARRAY_SIZE(pieces); i++)
		sg_set_buf(&sg[i], owner->memory + pieces[i].offset, pieces[i].length);
	reg_map(test, consumer, sg, ARRAY_SIZE(pieces), PAGE_SIZE);
	reg_register(test, consumer, 0);
	KUNIT_EXPECT_EQ(test, IB_WC_SUCCESS, reg_access(test, consumer, 0, IB_WR_RDMA_READ,
							consumer->mr->rkey));
	for (i = 0; i < ARRAY_SIZE(pieces); at += pieces[i++].length)
		KUNIT_EXPECT_EQ(test, 0, memcmp(peer->memory + at, owner->memory + pieces[i].offset,
						pieces[i].length));
	KUNIT_EXPECT_EQ(test, at, (u32)consumer->mr->length);
}

/*
 * ---- rdma_rw ----
 */

/* The peer's send queue has the maximum of elements, and the owner's memory is registered. */
static struct consumer *rw_create(struct kunit *test)
{
	struct consumer *consumer = consumer_create(test);

	reg_peer(consumer)->sges = consumer_dev->attrs.max_send_sge;
	consumer_make_cqs(test, consumer, IB_POLL_WORKQUEUE);
	consumer_make_qps(test, consumer);
	consumer_connect(test, consumer, IB_QPS_RTS);
	consumer->mr = ib_alloc_mr(consumer->pd, IB_MR_TYPE_MEM_REG, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(consumer->mr));
	reg_map_memory(test, consumer);
	reg_register(test, consumer, 0);
	return consumer;
}

/* Transfer RW_SGS elements of the peer's memory. Return: the number of work requests used. */
static int rw_move(struct kunit *test, struct consumer *consumer, u32 i,
		   enum dma_data_direction direction)
{
	struct consumer_end *peer = reg_peer(consumer);
	struct rdma_rw_ctx ctx = {};
	struct scatterlist *sg;
	int wrs;
	u32 j;

	sg = kunit_kcalloc(test, RW_SGS, sizeof(*sg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sg);
	sg_init_table(sg, RW_SGS);
	for (j = 0; j < RW_SGS; j++)
		sg_set_buf(&sg[j], peer->memory + j * RW_STRIDE, RW_LENGTH);
	wrs = rdma_rw_ctx_init(&ctx, peer->qp, 1, sg, RW_SGS, 0, consumer->mr->iova,
			       consumer->mr->rkey, direction);
	KUNIT_ASSERT_GT(test, wrs, 0);
	KUNIT_ASSERT_EQ(test, 0, rdma_rw_ctx_post(&ctx, peer->qp, 1, &peer->send.wr[i].cqe, NULL));
	KUNIT_ASSERT_TRUE(test, consumer_wait(peer, &peer->send, i + 1));
	KUNIT_EXPECT_EQ(test, peer->send.last.status, IB_WC_SUCCESS);
	rdma_rw_ctx_destroy(&ctx, peer->qp, 1, sg, RW_SGS, direction);
	return wrs;
}

static void rw_expect_same(struct kunit *test, struct consumer *consumer)
{
	u32 i;

	for (i = 0; i < RW_SGS; i++)
		KUNIT_EXPECT_EQ(test, 0, memcmp(reg_owner(consumer)->memory + i * RW_LENGTH,
						reg_peer(consumer)->memory + i * RW_STRIDE,
						RW_LENGTH));
}

/* rdma_rw uses lists as long as the device allows; shorter for READs (WEFT_MAX_SGE_RD). */
static void reads_and_writes_in_lists(struct kunit *test)
{
	struct consumer *consumer = rw_create(test);
	const struct ib_device_attr *attr = &consumer_dev->attrs;

	KUNIT_EXPECT_EQ(test, attr->max_sge_rd, 16);
	KUNIT_EXPECT_EQ(test, attr->max_send_sge, 32);
	KUNIT_EXPECT_EQ(test, reg_peer(consumer)->qp->max_read_sge, 16U);
	KUNIT_EXPECT_EQ(test, reg_peer(consumer)->qp->max_write_sge, 32U);
	get_random_bytes(reg_owner(consumer)->memory, CONSUMER_MEMORY);
	KUNIT_EXPECT_EQ(test, rw_move(test, consumer, 0, DMA_FROM_DEVICE), 3);
	rw_expect_same(test, consumer);
	get_random_bytes(reg_peer(consumer)->memory, CONSUMER_MEMORY);
	KUNIT_EXPECT_EQ(test, rw_move(test, consumer, 1, DMA_TO_DEVICE), 2);
	rw_expect_same(test, consumer);
}

static struct kunit_case registration_cases[] = {
	KUNIT_CASE(keys_rotate),
	KUNIT_CASE(old_key_is_refused),
	KUNIT_CASE(valid_is_not_registered),
	KUNIT_CASE(peer_invalidates),
	KUNIT_CASE(peer_invalidates_what_is_not_there),
	KUNIT_CASE_PARAM(blocks_of_any_size, reg_page_gen_params),
	KUNIT_CASE(pieces_with_gaps),
	KUNIT_CASE(reads_and_writes_in_lists),
	{}
};

static struct kunit_suite registration_suite = {
	.name = "weft_registration",
	.suite_init = consumer_suite_init,
	.suite_exit = consumer_suite_exit,
	.exit = consumer_exit,
	.test_cases = registration_cases,
};

kunit_test_suite(registration_suite);
