// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions for fast registration: when they can be registered, accessed and invalidated.
 */
#include "mem/copy.h"
#include "mem/fastreg.h"
#include "mem/region.h"
#include "object/dev.h"
#include "object/mr.h"

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include <kunit/test.h>

#define PAGES	8
#define IOVA	0x123456780000ULL
#define RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)
/* The next key, as ib_inc_rkey() computes it. */
#define NEXT(key) (((key) & ~0xffU) | (((key) + 1) & 0xff))

/* A device and a kernel consumer. */
struct fixture {
	/* only @regions is used, and the fact that @ibdev has no DMA device */
	struct weft_dev		*dev;
	struct ib_pd		pd;
	struct ib_pd		other_pd;
	struct ib_mr		*mr;		/* with room for PAGES pages */
	u8			*memory;	/* PAGES pages, reversed in a region */
	struct weft_accessor	who;		/* a QP of @pd */
};

static int fastreg_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	fixture->dev = kunit_kzalloc(test, sizeof(*fixture->dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->dev);
	fixture->memory = kunit_kzalloc(test, PAGES * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->memory);
	weft_region_table_init(&fixture->dev->regions);
	fixture->pd.device = &fixture->dev->ibdev;
	fixture->other_pd.device = &fixture->dev->ibdev;
	fixture->who.table = &fixture->dev->regions;
	fixture->who.pd = &fixture->pd;
	fixture->mr = weft_alloc_mr(&fixture->pd, IB_MR_TYPE_MEM_REG, PAGES);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fixture->mr));
	fixture->mr->device = fixture->pd.device;
	fixture->mr->pd = &fixture->pd;
	test->priv = fixture;
	return 0;
}

static void fastreg_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	if (!fixture)
		return;
	if (fixture->mr)
		KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(fixture->mr, NULL));
	weft_region_table_destroy(&fixture->dev->regions);
}

/* The memory of page @i of a region. */
static u8 *page_of(const struct fixture *fixture, u32 i)
{
	return fixture->memory + (PAGES - 1 - i % PAGES) * PAGE_SIZE;
}

/* Do as ib_map_mr_sg() does with @pages pages, the first one from @offset on. */
static int map(struct kunit *test, u32 pages, u32 offset, u32 page_size)
{
	struct fixture *fixture = test->priv;
	struct scatterlist sg[PAGES + 1];
	u32 i;

	sg_init_table(sg, pages);
	for (i = 0; i < pages; i++) {
		sg_set_buf(&sg[i], page_of(fixture, i) + (i ? 0 : offset),
			   PAGE_SIZE - (i ? 0 : offset));
		/* a virtual address, as in ib_dma_map_sg() without a DMA device */
		sg[i].dma_address = (uintptr_t)sg_virt(&sg[i]);
		sg_dma_len(&sg[i]) = sg[i].length;
	}
	fixture->mr->page_size = page_size;
	return weft_map_mr_sg(fixture->mr, sg, pages, NULL);
}

static int reg_by(const struct weft_accessor *who, const struct ib_mr *mr, u32 key,
		  u32 access)
{
	struct weft_fastreg_request request = {
		.key = mr->rkey,
		.new_key = key,
		.access = access,
		.iova = mr->iova,
	};

	return weft_fastreg_register(who, &request);
}

static int reg(const struct fixture *fixture, u32 key, u32 access)
{
	return reg_by(&fixture->who, fixture->mr, key, access);
}

static int try_access(const struct weft_accessor *who, u32 key, u64 addr, u64 length,
		      u32 access)
{
	struct weft_span span;
	int err = weft_region_resolve(who, key, addr, length, access, &span);

	if (!err)
		weft_region_put(span.region);
	return err;
}

static void what_may_be_allocated(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(weft_alloc_mr(&fixture->pd, IB_MR_TYPE_INTEGRITY, 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(weft_alloc_mr(&fixture->pd, IB_MR_TYPE_MEM_REG, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(weft_alloc_mr(&fixture->pd, IB_MR_TYPE_MEM_REG,
					      WEFT_MAX_FASTREG_BLOCKS + 1)));
}

/* The region shows the right byte of the memory at each address, for several block sizes. */
static void shows_the_memory(struct kunit *test)
{
	static const u32 page_sizes[] = { PAGE_SIZE / 8, PAGE_SIZE, 2 * PAGE_SIZE };
	struct fixture *fixture = test->priv;
	u32 i, pages, offset = 24, page, at;
	struct weft_span span;
	u64 contiguous;

	for (i = 0; i < ARRAY_SIZE(page_sizes); i++) {
		/* pages in reverse order do not form larger blocks */
		pages = page_sizes[i] == PAGE_SIZE ? PAGES : 1;
		KUNIT_ASSERT_EQ(test, (int)pages, map(test, pages, offset, page_sizes[i]));
		fixture->mr->iova = IOVA + (fixture->mr->iova & (page_sizes[i] - 1));
		KUNIT_ASSERT_EQ(test, 0, reg(fixture, fixture->mr->rkey, RIGHTS));
		KUNIT_ASSERT_EQ(test, 0,
				weft_region_resolve(&fixture->who, fixture->mr->rkey,
						    fixture->mr->iova, pages * PAGE_SIZE - offset,
						    IB_ACCESS_REMOTE_WRITE, &span));
		for (at = offset; at < pages * PAGE_SIZE; at++) {
			page = at / PAGE_SIZE;
			KUNIT_ASSERT_PTR_EQ(test, page_of(fixture, page) + at % PAGE_SIZE,
					    (u8 *)weft_region_at(&span,
								 fixture->mr->iova + at - offset,
								 &contiguous));
		}
		weft_region_put(span.region);
		KUNIT_EXPECT_EQ(test, -ERANGE,
				try_access(&fixture->who, fixture->mr->rkey,
					   fixture->mr->iova, pages * PAGE_SIZE - offset + 1, 0));
		KUNIT_ASSERT_EQ(test, 0,
				weft_fastreg_invalidate(&fixture->who, fixture->mr->rkey, true));
	}
}

static struct ib_mr *alloc_gaps(struct kunit *test, u32 pieces)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr = weft_alloc_mr(&fixture->pd, IB_MR_TYPE_SG_GAPS, pieces);

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	mr->device = fixture->pd.device;
	mr->pd = &fixture->pd;
	mr->page_size = PAGE_SIZE;
	return mr;
}

/* Copy to all pieces of a list with gaps, some bytes at a time. */
static void copies_over_gaps(struct kunit *test)
{
	static const struct { u32 page, offset, length; } pieces[] = {
		{ 3, 1, 1 }, { 0, 13, 13 }, { 5, 0, PAGE_SIZE }, { 1, 4091, 5 }, { 2, 8, 777 },
	};
	struct fixture *fixture = test->priv;
	struct ib_mr *mr = alloc_gaps(test, ARRAY_SIZE(pieces));
	struct scatterlist sg[ARRAY_SIZE(pieces)];
	u32 i, j, at, length = 0, step;
	struct weft_span span, flat;
	struct weft_iter to, from;
	u8 *bytes;

	sg_init_table(sg, ARRAY_SIZE(pieces));
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		sg_set_buf(&sg[i], page_of(fixture, pieces[i].page) + pieces[i].offset,
			   pieces[i].length);
		sg[i].dma_address = (uintptr_t)sg_virt(&sg[i]);
		sg_dma_len(&sg[i]) = sg[i].length;
		length += sg[i].length;
	}
	bytes = kunit_kmalloc(test, length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bytes);
	KUNIT_ASSERT_EQ(test, (int)ARRAY_SIZE(pieces),
			weft_map_mr_sg(mr, sg, ARRAY_SIZE(pieces), NULL));
	KUNIT_ASSERT_EQ(test, 0, reg_by(&fixture->who, mr, mr->rkey, RIGHTS));
	for (step = 1; step <= length; step = step * 3 + 1) {
		get_random_bytes(bytes, length);
		KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, mr->rkey, mr->iova,
							     length, 0, &span));
		flat = (struct weft_span){ .addr = (uintptr_t)bytes, .length = length };
		weft_span_iter(&span, &to);
		weft_span_iter(&flat, &from);
		for (at = 0; at < length; at += step)
			weft_copy(&to, &from, min(step, length - at));
		weft_region_put(span.region);
		for (i = 0, at = 0; i < ARRAY_SIZE(pieces); at += sg[i++].length)
			for (j = 0; j < sg[i].length; j++)
				KUNIT_ASSERT_EQ(test, bytes[at + j], ((u8 *)sg_virt(&sg[i]))[j]);
	}
	/* no atomics: a word may be in two pieces */
	KUNIT_EXPECT_EQ(test, 0, weft_fastreg_invalidate(&fixture->who, mr->rkey, true));
	KUNIT_ASSERT_EQ(test, 1, weft_map_mr_sg(mr, sg, 1, NULL));
	KUNIT_ASSERT_EQ(test, 0, reg_by(&fixture->who, mr, mr->rkey,
					RIGHTS | IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, mr->rkey, mr->iova, 1,
						  IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void free_until_registered(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	const struct weft_accessor *who = &fixture->who;
	u32 key = fixture->mr->rkey, next = NEXT(key);
	u64 iova;

	/* nothing has been prepared */
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, key, RIGHTS));
	KUNIT_ASSERT_EQ(test, PAGES, map(test, PAGES, 0, PAGE_SIZE));
	iova = fixture->mr->iova;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(who, key, iova, 1, 0));
	KUNIT_ASSERT_EQ(test, 0, reg(fixture, next, RIGHTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(who, key, iova, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, try_access(who, next, iova, 1, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, -EACCES,
			try_access(who, next, iova, 1, IB_ACCESS_REMOTE_ATOMIC));
	/* while it is valid, the next registration can be prepared, but not executed */
	KUNIT_ASSERT_EQ(test, 1, map(test, 1, 0, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, next, RIGHTS));
	KUNIT_EXPECT_EQ(test, 0, try_access(who, next, iova, PAGES * PAGE_SIZE, 0));
	/* only the current key can be invalidated */
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_fastreg_invalidate(who, key, true));
	KUNIT_EXPECT_EQ(test, 0, weft_fastreg_invalidate(who, next, true));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(who, next, iova, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, weft_fastreg_invalidate(who, next, true));
	KUNIT_EXPECT_EQ(test, 0, reg(fixture, key, RIGHTS));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(who, key, iova, PAGES * PAGE_SIZE, 0));
}

static void what_is_refused(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor stranger = fixture->who;
	u32 key = fixture->mr->rkey;

	stranger.pd = &fixture->other_pd;
	KUNIT_EXPECT_LT(test, map(test, PAGES + 1, 0, PAGE_SIZE), PAGES + 1);
	KUNIT_ASSERT_EQ(test, PAGES, map(test, PAGES, 0, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_by(&stranger, fixture->mr, key, RIGHTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, key + 0x100, RIGHTS));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, key, IB_ACCESS_ON_DEMAND));
	KUNIT_EXPECT_EQ(test, -EACCES, reg(fixture, key, IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, -EACCES, reg(fixture, key, IB_ACCESS_REMOTE_ATOMIC));
	fixture->mr->iova = U64_MAX - PAGES * PAGE_SIZE + 2;
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, key, RIGHTS));
	/* the failures have not consumed the prepared registration */
	fixture->mr->iova = U64_MAX - PAGES * PAGE_SIZE + 1;
	KUNIT_EXPECT_EQ(test, 0, reg(fixture, key, IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_fastreg_invalidate(&stranger, key, true));
	KUNIT_EXPECT_EQ(test, -ENOENT,
			weft_fastreg_invalidate(&fixture->who, key + 0x100, true));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&stranger, key, U64_MAX, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, key, U64_MAX, 1, 0));
}

/* Atomics are allowed only if aligned addresses are aligned in memory. */
static void atomics_by_alignment(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = fixture->mr->rkey, access = RIGHTS | IB_ACCESS_REMOTE_ATOMIC;

	KUNIT_ASSERT_EQ(test, 1, map(test, 1, 8, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, reg(fixture, key, access));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, key, fixture->mr->iova, 8,
					    IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_fastreg_invalidate(&fixture->who, key, true));
	KUNIT_ASSERT_EQ(test, 1, map(test, 1, 12, PAGE_SIZE));
	fixture->mr->iova = IOVA;
	KUNIT_EXPECT_EQ(test, 0, reg(fixture, key, access));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, key, IOVA, 8,
						  IB_ACCESS_REMOTE_ATOMIC));
}

struct invalidator {
	const struct fixture	*fixture;
	struct completion	begun;
	struct completion	done;
	int			err;
};

static int invalidator_run(void *data)
{
	struct invalidator *invalidator = data;
	const struct fixture *fixture = invalidator->fixture;

	complete(&invalidator->begun);
	invalidator->err = weft_fastreg_invalidate(&fixture->who, fixture->mr->rkey, true);
	complete(&invalidator->done);
	return 0;
}

/* Invalidation waits for an access in progress, but no new access begins. */
static void invalidate_while_used(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct invalidator invalidator = { .fixture = fixture };
	u32 key = fixture->mr->rkey;
	struct weft_span span;

	init_completion(&invalidator.begun);
	init_completion(&invalidator.done);
	KUNIT_ASSERT_EQ(test, PAGES, map(test, PAGES, 0, PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, reg(fixture, key, RIGHTS));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, key, fixture->mr->iova,
						     1, 0, &span));
	KUNIT_EXPECT_EQ(test, -EBUSY, weft_fastreg_invalidate(&fixture->who, key, false));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, key, fixture->mr->iova, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg(fixture, key, RIGHTS));
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(invalidator_run, &invalidator,
						    "weft-invalidate")));
	wait_for_completion(&invalidator.begun);
	KUNIT_EXPECT_EQ(test, 0UL, wait_for_completion_timeout(&invalidator.done, HZ / 20));
	weft_region_put(span.region);
	wait_for_completion(&invalidator.done);
	KUNIT_EXPECT_EQ(test, 0, invalidator.err);
	KUNIT_ASSERT_EQ(test, PAGES, map(test, PAGES, 0, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, reg(fixture, key, RIGHTS));
}

static void deregister_while_valid(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = fixture->mr->rkey;

	KUNIT_ASSERT_EQ(test, PAGES, map(test, PAGES, 0, PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, reg(fixture, key, RIGHTS));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(fixture->mr, NULL));
	fixture->mr = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, key, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, weft_fastreg_invalidate(&fixture->who, key, true));
}

static struct kunit_case fastreg_cases[] = {
	KUNIT_CASE(what_may_be_allocated),
	KUNIT_CASE(shows_the_memory),
	KUNIT_CASE(copies_over_gaps),
	KUNIT_CASE(free_until_registered),
	KUNIT_CASE(what_is_refused),
	KUNIT_CASE(atomics_by_alignment),
	KUNIT_CASE(invalidate_while_used),
	KUNIT_CASE(deregister_while_valid),
	{}
};

static struct kunit_suite fastreg_suite = {
	.name = "weft_fastreg",
	.init = fastreg_init,
	.exit = fastreg_exit,
	.test_cases = fastreg_cases,
};

kunit_test_suite(fastreg_suite);
