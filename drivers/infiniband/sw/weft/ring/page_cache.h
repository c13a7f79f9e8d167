/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages that a context keeps for the rings of its next QP, when a QP has gone.
 *
 * To make a QP is then neither to get pages and clear them, nor to map them: a process
 * keeps its mappings as well, and knows pages again by their id. They stay within the
 * context, so nobody finds there what was not its own.
 */
#ifndef WEFT_RING_PAGE_CACHE_H
#define WEFT_RING_PAGE_CACHE_H

#include <linux/list.h>
#include <linux/spinlock.h>

struct ib_ucontext;
struct weft_pages;

/**
 * struct weft_page_cache - what a context keeps
 * @uctx: the context
 * @lock: protects @pages and @num
 * @pages: struct weft_pages nobody uses, that came last first
 * @num: of them, at most WEFT_PAGE_CACHE_PIECES
 * @last_id: that was given to any; none is given twice
 */
struct weft_page_cache {
	struct ib_ucontext	*uctx;
	spinlock_t		lock;
	struct list_head	pages;
	u32			num;
	atomic64_t		last_id;
};

/**
 * weft_page_cache_init - an empty one
 * @page_cache: of a new context
 * @uctx: the context
 */
void weft_page_cache_init(struct weft_page_cache *page_cache, struct ib_ucontext *uctx);

/**
 * weft_page_cache_clear - free all that is kept
 * @page_cache: all else that came from it has been given up
 */
void weft_page_cache_clear(struct weft_page_cache *page_cache);

/**
 * weft_page_cache_get - pages for a process, new ones or those that are kept
 * @page_cache: of its context
 * @size: bytes
 *
 * New ones are zeroed, the others have in them what the process and the kernel left there.
 *
 * Return: the pages, for weft_pages_put(); or ERR_PTR(-ENOMEM).
 */
struct weft_pages *weft_page_cache_get(struct weft_page_cache *page_cache, size_t size);

/**
 * weft_page_cache_keep - keep pages, and free others if there are too many
 * @pages: from weft_page_cache_get(), used by nobody
 */
void weft_page_cache_keep(struct weft_pages *pages);

#endif /* WEFT_RING_PAGE_CACHE_H */
