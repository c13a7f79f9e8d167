// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Page cache: a context keeps the pages of destroyed QPs for the rings of its next QPs.
 *
 * Creating a QP then needs no allocation, no clearing and no mapping: the process keeps its
 * mappings as well, and recognizes pages by their id. As the pages stay within the context, a
 * process never finds data of another one in them.
 */
#include "ring/page_cache.h"

#include <linux/err.h>
#include <linux/mm.h>

#include "params.h"
#include "ring/pages.h"

void weft_page_cache_init(struct weft_page_cache *page_cache, struct ib_ucontext *uctx)
{
	page_cache->uctx = uctx;
	spin_lock_init(&page_cache->lock);
	INIT_LIST_HEAD(&page_cache->pages);
	page_cache->num = 0;
	atomic64_set(&page_cache->last_id, 0);
}
WEFT_EXPORT_FOR_TEST(weft_page_cache_init);

/* Free the unused pages. All others have been put already. */
void weft_page_cache_clear(struct weft_page_cache *page_cache)
{
	struct weft_pages *pages, *next;

	list_for_each_entry_safe(pages, next, &page_cache->pages, kept)
		weft_pages_free(pages);
	INIT_LIST_HEAD(&page_cache->pages);
	page_cache->num = 0;
}
WEFT_EXPORT_FOR_TEST(weft_page_cache_clear);

static struct weft_pages *page_cache_take(struct weft_page_cache *page_cache, size_t size)
{
	struct weft_pages *pages;

	spin_lock(&page_cache->lock);
	list_for_each_entry(pages, &page_cache->pages, kept) {
		if (pages->size != size)
			continue;
		list_del(&pages->kept);
		page_cache->num--;
		spin_unlock(&page_cache->lock);
		return pages;
	}
	spin_unlock(&page_cache->lock);
	return NULL;
}

/*
 * Get pages from the cache, or new ones. New pages are zeroed; the others contain whatever the
 * process and the kernel left in them. Returns pages for weft_pages_put() or ERR_PTR(-ENOMEM).
 */
struct weft_pages *weft_page_cache_get(struct weft_page_cache *page_cache, size_t size)
{
	struct weft_pages *pages = page_cache_take(page_cache, PAGE_ALIGN(size));

	if (pages) {
		refcount_set(&pages->users, 1);
		return pages;
	}
	pages = weft_pages_alloc(size, page_cache->uctx);
	if (!IS_ERR(pages) && pages->size <= WEFT_PAGE_CACHE_BYTES) {
		pages->page_cache = page_cache;
		pages->id = atomic64_inc_return(&page_cache->last_id);
	}
	return pages;
}
WEFT_EXPORT_FOR_TEST(weft_page_cache_get);

/* Put unused pages into the cache they came from; the oldest in it are freed if it is full. */
void weft_page_cache_keep(struct weft_pages *pages)
{
	struct weft_page_cache *page_cache = pages->page_cache;
	struct weft_pages *oldest = NULL;

	spin_lock(&page_cache->lock);
	list_add(&pages->kept, &page_cache->pages);
	if (page_cache->num < WEFT_PAGE_CACHE_PIECES) {
		page_cache->num++;
	} else {
		oldest = list_last_entry(&page_cache->pages, struct weft_pages, kept);
		list_del(&oldest->kept);
	}
	spin_unlock(&page_cache->lock);
	if (oldest)
		weft_pages_free(oldest);
}
