// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ring/page_cache.c: the page cache, and rings in cached pages.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "params.h"
#include "ring/pages.h"
#include "ring/ring.h"
#include "ring/page_cache.h"

/* Without a context no process can map the pages, which makes no difference here. */
static int page_cache_test_init(struct kunit *test)
{
	struct weft_page_cache *page_cache = kunit_kzalloc(test, sizeof(*page_cache), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page_cache);
	weft_page_cache_init(page_cache, NULL);
	test->priv = page_cache;
	return 0;
}

static void page_cache_test_exit(struct kunit *test)
{
	if (test->priv)
		weft_page_cache_clear(test->priv);
}

static struct weft_pages *page_cache_get(struct kunit *test, size_t size)
{
	struct weft_pages *pages = weft_page_cache_get(test->priv, size);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pages);
	KUNIT_EXPECT_EQ(test, refcount_read(&pages->users), 1);
	KUNIT_EXPECT_EQ(test, pages->size, PAGE_ALIGN(size));
	return pages;
}

static u32 page_cache_num(struct kunit *test)
{
	const struct weft_page_cache *page_cache = test->priv;

	return page_cache->num;
}

static void new_ones_are_zero(struct kunit *test)
{
	struct weft_pages *pages = page_cache_get(test, 3 * PAGE_SIZE);

	KUNIT_EXPECT_NULL(test, memchr_inv(pages->mem, 0, pages->size));
	KUNIT_EXPECT_NE(test, pages->id, 0);
	weft_pages_put(pages);
}

static void the_same_again(struct kunit *test)
{
	struct weft_pages *pages = page_cache_get(test, PAGE_SIZE + 1);
	u64 id = pages->id;

	weft_pages_hold(pages);
	weft_pages_put(pages);
	/* a reference is left */
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 0);
	weft_pages_put(pages);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 1);
	/* a size that needs the same number of pages */
	KUNIT_EXPECT_PTR_EQ(test, page_cache_get(test, 2 * PAGE_SIZE), pages);
	KUNIT_EXPECT_EQ(test, pages->id, id);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 0);
	weft_pages_put(pages);
}

static void another_size_is_new(struct kunit *test)
{
	struct weft_pages *pages = page_cache_get(test, 2 * PAGE_SIZE), *others[2];
	u64 id = pages->id;

	weft_pages_put(pages);
	others[0] = page_cache_get(test, PAGE_SIZE);
	others[1] = page_cache_get(test, 3 * PAGE_SIZE);
	KUNIT_EXPECT_NE(test, others[0]->id, id);
	KUNIT_EXPECT_NE(test, others[1]->id, id);
	KUNIT_EXPECT_NE(test, others[0]->id, others[1]->id);
	weft_pages_put(others[0]);
	weft_pages_put(others[1]);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 3);
}

static void large_ones_are_not_kept(struct kunit *test)
{
	struct weft_pages *pages = page_cache_get(test, WEFT_PAGE_CACHE_BYTES + 1);

	KUNIT_EXPECT_EQ(test, pages->id, 0);
	weft_pages_put(pages);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 0);
	pages = page_cache_get(test, WEFT_PAGE_CACHE_BYTES);
	KUNIT_EXPECT_NE(test, pages->id, 0);
	weft_pages_put(pages);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 1);
}

/* A full cache drops its oldest pages, and the newest pages are used first. */
static void not_too_many(struct kunit *test)
{
	struct weft_pages *pages[WEFT_PAGE_CACHE_PIECES + 3];
	u64 last;
	int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i] = page_cache_get(test, PAGE_SIZE);
	last = pages[ARRAY_SIZE(pages) - 1]->id;
	for (i = 0; i < ARRAY_SIZE(pages); i++)
		weft_pages_put(pages[i]);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), WEFT_PAGE_CACHE_PIECES);
	for (i = 0; i < WEFT_PAGE_CACHE_PIECES; i++) {
		pages[i] = page_cache_get(test, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, pages[i]->id, last - i);
	}
	pages[i] = page_cache_get(test, PAGE_SIZE);
	KUNIT_EXPECT_GT(test, pages[i]->id, last);
	for (i = 0; i <= WEFT_PAGE_CACHE_PIECES; i++)
		weft_pages_put(pages[i]);
}

/* Two rings of one QP, in memory that contains junk. */
static void rings_in_junk(struct kunit *test)
{
	size_t size = weft_ring_size(3, 48);
	struct weft_pages *pages = page_cache_get(test, size + weft_ring_size(5, 64));
	struct weft_ring *ring[2];
	int i;

	memset(pages->mem, 0xa5, pages->size);
	ring[0] = weft_ring_place(pages, 0, 3, 48, NULL);
	ring[1] = weft_ring_place(pages, size, 5, 64, NULL);
	weft_pages_put(pages);
	for (i = 0; i < ARRAY_SIZE(ring); i++) {
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring[i]);
		KUNIT_EXPECT_EQ(test, weft_ring_pending(ring[i]), 0);
		KUNIT_EXPECT_FALSE(test, weft_ring_disarm(ring[i], true));
		KUNIT_EXPECT_EQ(test, weft_shared_load(&ring[i]->hdr->flags), 0);
		KUNIT_EXPECT_EQ(test, weft_shared_load(&ring[i]->hdr->consumer), 0);
	}
	KUNIT_EXPECT_EQ(test, ring[0]->entries, 4);
	KUNIT_EXPECT_EQ(test, ring[1]->entries, 8);
	/* the rings do not overlap */
	memset((void __force *)weft_ring_slot(ring[0], 3), 0x5a, 48);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring[1]), 0);
	KUNIT_EXPECT_LE(test, (void __force *)weft_ring_slot(ring[1], 7) + 64 - pages->mem,
			(ptrdiff_t)pages->size);

	weft_ring_destroy(ring[0]);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 0);
	KUNIT_EXPECT_EQ(test, weft_ring_pending(ring[1]), 0);
	weft_ring_destroy(ring[1]);
	KUNIT_EXPECT_EQ(test, page_cache_num(test), 1);
}

static struct kunit_case page_cache_test_cases[] = {
	KUNIT_CASE(new_ones_are_zero),
	KUNIT_CASE(the_same_again),
	KUNIT_CASE(another_size_is_new),
	KUNIT_CASE(large_ones_are_not_kept),
	KUNIT_CASE(not_too_many),
	KUNIT_CASE(rings_in_junk),
	{ }
};

static struct kunit_suite page_cache_test_suite = {
	.name = "weft_page_cache",
	.init = page_cache_test_init,
	.exit = page_cache_test_exit,
	.test_cases = page_cache_test_cases,
};

kunit_test_suite(page_cache_test_suite);
