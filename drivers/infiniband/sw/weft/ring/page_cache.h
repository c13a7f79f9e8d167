/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Page cache: a context keeps the pages of destroyed QPs for the rings of its next QPs. */
#ifndef WEFT_RING_PAGE_CACHE_H
#define WEFT_RING_PAGE_CACHE_H

#include <linux/list.h>
#include <linux/spinlock.h>

struct ib_ucontext;
struct weft_pages;

struct weft_page_cache {
	struct ib_ucontext	*uctx;
	spinlock_t		lock;		/* protects @pages and @num */
	struct list_head	pages;		/* unused struct weft_pages, newest first */
	u32			num;		/* at most WEFT_PAGE_CACHE_PIECES */
	atomic64_t		last_id;	/* the last id given out; ids are never reused */
};

void weft_page_cache_init(struct weft_page_cache *page_cache, struct ib_ucontext *uctx);
void weft_page_cache_clear(struct weft_page_cache *page_cache);
struct weft_pages *weft_page_cache_get(struct weft_page_cache *page_cache, size_t size);
void weft_page_cache_keep(struct weft_pages *pages);

#endif /* WEFT_RING_PAGE_CACHE_H */
