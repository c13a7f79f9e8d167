// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pins of ODP regions, without a process: requesting, attaching and releasing pages.
 */
#include "mem/odp_pins.h"
#include "mem/region.h"
#include "user_memory.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/mm_types.h>
#include <linux/slab.h>

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define PAGES	4
/* The address of the region for work requests, and in the process. */
#define IOVA	0x70010ULL
#define START	(0x123450000ULL + (IOVA & ~PAGE_MASK))
#define LENGTH	((u64)PAGES * PAGE_SIZE)
/* After this time pins are old, and pins_expire_worker() has released them. */
#define EXPIRED_MS	2000

/* Only the reference count is used. Static, as a work item may drop a reference after the test. */
static struct mm_struct nobody;

/* An ODP region that refers to the mm @nobody. */
struct fixture {
	struct weft_region_table table;
	int			pd;		/* only its address is used */
	struct weft_region	*region;	/* LENGTH bytes from IOVA on */
	u8			*memory;	/* PAGES + 1 pages */
	struct weft_odp_pins	*holder;
	void			**blocks;	/* of the pin */
	struct weft_accessor	who;
};

static int pins_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	struct weft_region *region;

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	/* each test leaks one reference, so that the last one is never dropped */
	atomic_inc(&nobody.mm_count);
	fixture->memory = kunit_kzalloc(test, LENGTH + PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->memory);
	weft_region_table_init(&fixture->table);
	region = weft_region_alloc(&fixture->table, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	region->pd = &fixture->pd;
	region->access = IB_ACCESS_LOCAL_WRITE;
	region->iova = IOVA;
	region->length = LENGTH;
	region->mm = &nobody;
	region->base = IOVA - START;
	region->blocks = WEFT_NO_BLOCKS;
	region->page_shift = WEFT_NO_BLOCKS_SHIFT;
	weft_region_publish(region);
	fixture->region = region;
	fixture->who.table = &fixture->table;
	fixture->who.pd = &fixture->pd;
	test->priv = fixture;
	return 0;
}

static void pins_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	weft_region_kill(fixture->region);
	weft_region_table_destroy(&fixture->table);
}

/* Make pins for @length bytes at @offset that look as if a work item was pinning them. */
static struct weft_odp_pins *pending(struct kunit *test, u64 offset, u64 length, bool write)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins = weft_odp_pins_alloc(1);

	KUNIT_ASSERT_NOT_NULL(test, pins);
	weft_odp_pins_add(pins, fixture->region, IOVA + offset, length, write);
	pins->holder = &fixture->holder;
	fixture->holder = pins;
	KUNIT_ASSERT_TRUE(test, weft_odp_pins_pending(pins));
	return pins;
}

/* Make the pins ready, with the first @num pages pinned. */
static void ready(struct kunit *test, struct weft_odp_pins *pins, u32 num)
{
	struct fixture *fixture = test->priv;
	u32 i;

	fixture->blocks = kunit_kcalloc(test, num + 1, sizeof(*fixture->blocks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->blocks);
	/* in reverse order, so that a wrong order is detected */
	for (i = 0; i < num; i++)
		fixture->blocks[i] = fixture->memory + (PAGES - i) * PAGE_SIZE;
	pins->pin[0].blocks = fixture->blocks;
	pins->pin[0].num = num;
	pins->until = jiffies + 1000 * HZ;
	atomic_set(&pins->state, 1);
}

/* Remove the pages before the pins are freed, as they are not pages of a process to be unpinned. */
static void take_back(struct weft_odp_pins *pins)
{
	pins->pin[0].blocks = NULL;
	pins->pin[0].num = 0;
}

static int attach(struct kunit *test, struct weft_odp_pins *pins, u64 offset, u64 length,
		  bool write, struct weft_span *span)
{
	struct fixture *fixture = test->priv;
	int err;

	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve_odp(&fixture->who, fixture->region->key,
							 IOVA, LENGTH, IB_ACCESS_LOCAL_WRITE,
							 span));
	err = weft_odp_pins_attach(pins, span, IOVA + offset, length, write);
	if (err)
		KUNIT_EXPECT_PTR_EQ(test, fixture->region, span->region);
	return err;
}

static int try_attach(struct kunit *test, struct weft_odp_pins *pins, u64 offset, u64 length,
		      bool write)
{
	struct weft_span span;
	int err = attach(test, pins, offset, length, write, &span);

	if (!err)
		pins->keep = true;
	weft_region_put(span.region);
	return err;
}

/* weft_region_resolve() refuses ODP memory, but only after all other checks. */
static void pins_test_resolve(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = fixture->region->key;
	struct weft_span span;

	KUNIT_EXPECT_EQ(test, -EFAULT, weft_region_resolve(&fixture->who, key, IOVA, 1, 0, &span));
	KUNIT_EXPECT_NULL(test, span.region);
	KUNIT_EXPECT_EQ(test, 0, weft_region_resolve(&fixture->who, key, 5, 0, 0, &span));
	KUNIT_EXPECT_EQ(test, -ERANGE, weft_region_resolve(&fixture->who, key, IOVA - 1, 1, 0,
							   &span));
	KUNIT_EXPECT_EQ(test, -EACCES, weft_region_resolve(&fixture->who, key, IOVA, 1,
							   IB_ACCESS_REMOTE_READ, &span));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_region_resolve(&fixture->who, key ^ 1, IOVA, 1, 0,
							   &span));
}

static void pins_test_pending(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins;

	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, NULL, 0, 1, false));
	pins = pending(test, PAGE_SIZE, PAGE_SIZE, false);
	/* two pages, as it begins in the middle of one */
	KUNIT_EXPECT_EQ(test, 2U, pins->pin[0].wanted);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, try_attach(test, pins, PAGE_SIZE, PAGE_SIZE, false));
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, try_attach(test, pins, PAGE_SIZE + 5, 1, false));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, 0, 1, false));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, 0, 2 * PAGE_SIZE, false));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, PAGE_SIZE, 2 * PAGE_SIZE, false));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, PAGE_SIZE, 1, true));
	atomic_set(&pins->state, 1);
	weft_odp_pins_forget(pins);
	KUNIT_EXPECT_NULL(test, fixture->holder);
}

/* Each byte is in its page, and the pinned pages hold a reference to the region. */
static void pins_test_attach(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins = pending(test, 0, LENGTH, true);
	struct weft_span span;
	u64 contiguous, i;

	ready(test, pins, PAGES + 1);
	KUNIT_ASSERT_EQ(test, 0, attach(test, pins, 0, LENGTH, true, &span));
	KUNIT_EXPECT_EQ(test, WEFT_REGION_PINNED, span.region->kind);
	KUNIT_EXPECT_EQ(test, 2U, refcount_read(&fixture->region->refs));
	for (i = 0; i < LENGTH; i += 100) {
		u64 at = offset_in_page(START) + i;

		KUNIT_EXPECT_PTR_EQ(test, (void *)(fixture->memory +
						   (PAGES - at / PAGE_SIZE) * PAGE_SIZE +
						   at % PAGE_SIZE),
				    weft_region_at(&span, IOVA + i, &contiguous));
		KUNIT_EXPECT_EQ(test, PAGE_SIZE - at % PAGE_SIZE, contiguous);
	}
	/* only one span at a time can be attached to a pin */
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, 0, 1, true));
	take_back(pins);
	weft_region_put(span.region);
	KUNIT_EXPECT_NULL(test, fixture->holder);
	KUNIT_EXPECT_EQ(test, 1U, refcount_read(&fixture->region->refs));
}

/* @keep keeps the pages for the rest of a message, and has to be set for each access. */
static void pins_test_keep(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins = pending(test, 0, LENGTH, false);
	struct weft_span span;

	ready(test, pins, PAGES + 1);
	KUNIT_EXPECT_FALSE(test, pins->used);
	KUNIT_EXPECT_EQ(test, 0, try_attach(test, pins, 0, 100, false));
	KUNIT_EXPECT_TRUE(test, pins->used);
	KUNIT_EXPECT_PTR_EQ(test, pins, fixture->holder);
	KUNIT_EXPECT_EQ(test, 0, try_attach(test, pins, 100, 100, false));
	KUNIT_EXPECT_PTR_EQ(test, pins, fixture->holder);
	KUNIT_ASSERT_EQ(test, 0, attach(test, pins, 200, 100, false, &span));
	take_back(pins);
	weft_region_put(span.region);
	KUNIT_EXPECT_NULL(test, fixture->holder);
}

/* If some pages could not be pinned, the others can be accessed. */
static void pins_test_failed(struct kunit *test)
{
	struct weft_odp_pins *pins = pending(test, 0, LENGTH, true);
	u64 there = 2 * PAGE_SIZE - offset_in_page(START);

	ready(test, pins, 2);
	KUNIT_EXPECT_EQ(test, 0, try_attach(test, pins, 0, there, true));
	KUNIT_EXPECT_EQ(test, 0, try_attach(test, pins, there - 1, 1, true));
	/* the pins were requested for this range */
	KUNIT_EXPECT_EQ(test, -EACCES, try_attach(test, pins, 0, there + 1, true));
	/* the pins were not requested for just this range, so it has to be requested */
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, there, 1, true));
	take_back(pins);
	weft_odp_pins_forget(pins);
}

/* The error of a pin is returned only for the range that it was requested for. */
static void pins_test_no_memory(struct kunit *test)
{
	struct weft_odp_pins *pins = pending(test, 0, LENGTH, true);
	u64 there = 2 * PAGE_SIZE - offset_in_page(START);

	ready(test, pins, 2);
	pins->pin[0].err = -ENOMEM;
	KUNIT_EXPECT_EQ(test, 0, try_attach(test, pins, 0, there, true));
	KUNIT_EXPECT_EQ(test, -ENOMEM, try_attach(test, pins, 0, there + 1, true));
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, there, 1, true));
	take_back(pins);
	weft_odp_pins_forget(pins);
}

static void pins_test_done(void *arg)
{
	complete(arg);
}

/* Request pins for the whole region, and wait until the work item has tried to get the pages. */
static struct weft_odp_pins *requested(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	DECLARE_COMPLETION_ONSTACK(done);
	struct weft_odp_pins *pins = weft_odp_pins_alloc(1);

	KUNIT_ASSERT_NOT_NULL(test, pins);
	weft_odp_pins_add(pins, fixture->region, IOVA, LENGTH, true);
	weft_odp_pins_request(pins, &fixture->holder, pins_test_done, &done);
	wait_for_completion(&done);
	KUNIT_EXPECT_FALSE(test, weft_odp_pins_pending(pins));
	return pins;
}

/* Unused pages are released when they are old, and have to be requested again. */
static void pins_test_expire(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins = requested(test);

	/* the mm has no memory */
	KUNIT_EXPECT_EQ(test, -EACCES, try_attach(test, pins, 0, 1, true));
	msleep(EXPIRED_MS);
	KUNIT_EXPECT_EQ(test, -EFAULT, try_attach(test, pins, 0, 1, true));
	KUNIT_EXPECT_PTR_EQ(test, pins, fixture->holder);
	weft_odp_pins_forget(pins);
	KUNIT_EXPECT_NULL(test, fixture->holder);
}

/* Old pages stay while they are used, and are released then, even with @keep. */
static void pins_test_old(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *pins = requested(test);
	struct weft_span span;

	pins->pin[0].err = 0;
	kvfree(pins->pin[0].blocks);
	ready(test, pins, PAGES + 1);
	pins->until = jiffies;
	KUNIT_ASSERT_EQ(test, 0, attach(test, pins, 0, LENGTH, true, &span));
	msleep(EXPIRED_MS);
	KUNIT_EXPECT_EQ(test, PAGES + 1U, pins->pin[0].num);
	KUNIT_EXPECT_PTR_EQ(test, pins, fixture->holder);
	pins->keep = true;
	take_back(pins);
	weft_region_put(span.region);
	KUNIT_EXPECT_NULL(test, fixture->holder);
}

/* Pages for one message: some of a process that has ended, and one that has to be waited for. */
static void pins_test_ended(struct kunit *test)
{
	struct weft_region *own = kunit_kzalloc(test, sizeof(*own), GFP_KERNEL);
	struct weft_odp_pins *pins = weft_odp_pins_alloc(2);
	struct fixture *fixture = test->priv;
	DECLARE_COMPLETION_ONSTACK(done);
	u64 address;

	KUNIT_ASSERT_NOT_NULL(test, own);
	KUNIT_ASSERT_NOT_NULL(test, pins);
	address = map_user_memory(test, PAGE_SIZE);
	own->mm = current->mm;
	/* @nobody has no users, as if its process had ended */
	weft_odp_pins_add(pins, fixture->region, IOVA, 1, true);
	weft_odp_pins_add(pins, own, address, PAGE_SIZE, true);
	weft_odp_pins_request(pins, &fixture->holder, pins_test_done, &done);
	wait_for_completion(&done);
	KUNIT_EXPECT_EQ(test, 0U, pins->pin[0].num);
	KUNIT_EXPECT_EQ(test, -EACCES, pins->pin[0].err);
	KUNIT_EXPECT_EQ(test, 1U, pins->pin[1].num);
	weft_odp_pins_forget(pins);
	KUNIT_EXPECT_NULL(test, fixture->holder);
}

static struct kunit_case pins_test_cases[] = {
	KUNIT_CASE(pins_test_resolve),
	KUNIT_CASE(pins_test_pending),
	KUNIT_CASE(pins_test_attach),
	KUNIT_CASE(pins_test_keep),
	KUNIT_CASE(pins_test_failed),
	KUNIT_CASE(pins_test_no_memory),
	KUNIT_CASE(pins_test_expire),
	KUNIT_CASE(pins_test_old),
	KUNIT_CASE(pins_test_ended),
	{}
};

static struct kunit_suite pins_test_suite = {
	.name = "weft_odp_pins",
	.init = pins_test_init,
	.exit = pins_test_exit,
	.test_cases = pins_test_cases,
};

kunit_test_suite(pins_test_suite);
