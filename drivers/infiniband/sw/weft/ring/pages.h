/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages that the kernel has mapped and a process may map: rings, device memory.
 */
#ifndef WEFT_RING_PAGES_H
#define WEFT_RING_PAGES_H

#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct weft_page_cache;

/**
 * struct weft_pages - zeroed pages, charged to whoever asked for them
 *
 * Immutable but @users and @kept.
 *
 * @entry: names them in mmap(); only when @named
 * @mem: where they are in one piece, in the kernel
 * @size: bytes, a multiple of the page size
 * @named: a process may map them
 * @users: rings in them, and whoever else has a reference
 * @page_cache: where they go when there are none, or NULL: they are freed then
 * @id: with a @page_cache: no other ones of the context ever have it; otherwise 0
 * @kept: on @page_cache, under its lock
 */
struct weft_pages {
	struct rdma_user_mmap_entry	entry;
	void				*mem;
	size_t				size;
	bool				named;
	refcount_t			users;
	struct weft_page_cache		*page_cache;
	u64				id;
	struct list_head		kept;
};

/**
 * weft_pages_alloc - allocate pages
 * @size: bytes; rounded up to pages
 * @uctx: of the process that may map them, or NULL
 *
 * Return: the pages, for weft_pages_put(); or ERR_PTR(-ENOMEM).
 */
struct weft_pages *weft_pages_alloc(size_t size, struct ib_ucontext *uctx);

static inline void weft_pages_hold(struct weft_pages *pages)
{
	refcount_inc(&pages->users);
}

/**
 * weft_pages_put - drop a reference
 * @pages: with the last one they go where they came from
 *
 * Context: process, may sleep.
 */
void weft_pages_put(struct weft_pages *pages);

/**
 * weft_pages_free - give pages up
 * @pages: used by nobody. The memory goes when the last mapping or mmap() in progress is
 *	done with it.
 */
void weft_pages_free(struct weft_pages *pages);

/**
 * weft_pages_key - what to map them by
 * @pages: made for a process
 *
 * Return: offset to give to mmap() of the command file descriptor.
 */
u64 weft_pages_key(const struct weft_pages *pages);

/**
 * weft_pages_linear - where a page is in the kernel's linear mapping
 * @pages: any
 * @index: of the page
 *
 * Return: an address that is good for virt_to_page().
 */
void *weft_pages_linear(const struct weft_pages *pages, size_t index);

/**
 * weft_pages_mmap - ib_device_ops.mmap: map pages into a process
 * @uctx: of the process
 * @vma: names the pages by its offset
 *
 * Return: 0; -EINVAL: no such pages, or a size that differs.
 */
int weft_pages_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);

/**
 * weft_pages_mmap_free - ib_device_ops.mmap_free: the last user is gone
 * @entry: of the pages
 */
void weft_pages_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* WEFT_RING_PAGES_H */
