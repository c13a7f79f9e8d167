/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages that the kernel has mapped and a process may map: rings, device memory. */
#ifndef WEFT_RING_PAGES_H
#define WEFT_RING_PAGES_H

#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct weft_page_cache;

/* Zeroed pages, charged to the process that allocates them. Only @users and @kept change. */
struct weft_pages {
	struct rdma_user_mmap_entry	entry;	/* only if @named */
	void				*mem;	/* the kernel's mapping, contiguous */
	size_t				size;	/* bytes, a multiple of the page size */
	bool				named;	/* a process may map them */
	refcount_t			users;
	/* where the pages go when @users is 0; NULL: they are freed */
	struct weft_page_cache		*page_cache;
	/* no other pages of the context ever have the same id; 0 without a page cache */
	u64				id;
	struct list_head		kept;	/* in @page_cache, under its lock */
};

struct weft_pages *weft_pages_alloc(size_t size, struct ib_ucontext *uctx);

static inline void weft_pages_hold(struct weft_pages *pages)
{
	refcount_inc(&pages->users);
}

void weft_pages_put(struct weft_pages *pages);
void weft_pages_free(struct weft_pages *pages);
u64 weft_pages_key(const struct weft_pages *pages);
void *weft_pages_linear(const struct weft_pages *pages, size_t index);
int weft_pages_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void weft_pages_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* WEFT_RING_PAGES_H */
