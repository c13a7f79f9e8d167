// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "ring/shelf.h"

#include <linux/err.h>
#include <linux/mm.h>

#include "params.h"
#include "ring/pages.h"

void weft_shelf_init(struct weft_shelf *shelf, struct ib_ucontext *uctx)
{
	shelf->uctx = uctx;
	spin_lock_init(&shelf->lock);
	INIT_LIST_HEAD(&shelf->pages);
	shelf->num = 0;
	atomic64_set(&shelf->last_id, 0);
}
WEFT_EXPORT_FOR_TEST(weft_shelf_init);

void weft_shelf_clear(struct weft_shelf *shelf)
{
	struct weft_pages *pages, *next;

	list_for_each_entry_safe(pages, next, &shelf->pages, kept)
		weft_pages_free(pages);
	INIT_LIST_HEAD(&shelf->pages);
	shelf->num = 0;
}
WEFT_EXPORT_FOR_TEST(weft_shelf_clear);

static struct weft_pages *shelf_take(struct weft_shelf *shelf, size_t size)
{
	struct weft_pages *pages;

	spin_lock(&shelf->lock);
	list_for_each_entry(pages, &shelf->pages, kept) {
		if (pages->size != size)
			continue;
		list_del(&pages->kept);
		shelf->num--;
		spin_unlock(&shelf->lock);
		return pages;
	}
	spin_unlock(&shelf->lock);
	return NULL;
}

struct weft_pages *weft_shelf_get(struct weft_shelf *shelf, size_t size)
{
	struct weft_pages *pages = shelf_take(shelf, PAGE_ALIGN(size));

	if (pages) {
		refcount_set(&pages->users, 1);
		return pages;
	}
	pages = weft_pages_alloc(size, shelf->uctx);
	if (!IS_ERR(pages) && pages->size <= WEFT_SHELF_BYTES) {
		pages->shelf = shelf;
		pages->id = atomic64_inc_return(&shelf->last_id);
	}
	return pages;
}
WEFT_EXPORT_FOR_TEST(weft_shelf_get);

void weft_shelf_keep(struct weft_pages *pages)
{
	struct weft_shelf *shelf = pages->shelf;
	struct weft_pages *oldest = NULL;

	spin_lock(&shelf->lock);
	list_add(&pages->kept, &shelf->pages);
	if (shelf->num < WEFT_SHELF_PIECES) {
		shelf->num++;
	} else {
		oldest = list_last_entry(&shelf->pages, struct weft_pages, kept);
		list_del(&oldest->kept);
	}
	spin_unlock(&shelf->lock);
	if (oldest)
		weft_pages_free(oldest);
}
