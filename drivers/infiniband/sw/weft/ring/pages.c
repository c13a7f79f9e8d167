// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "ring/pages.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring/page_cache.h"

static void pages_put(struct page **pages, unsigned int num)
{
	while (num--)
		__free_page(pages[num]);
	kvfree(pages);
}

/* vmalloc_user() would not charge the pages to the process that needs them. */
static void *pages_map(size_t size)
{
	unsigned int num = size >> PAGE_SHIFT, i;
	struct page **pages;
	void *mem;

	pages = kvmalloc_array(num, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return NULL;
	for (i = 0; i < num; i++) {
		pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!pages[i]) {
			pages_put(pages, i);
			return NULL;
		}
	}
	/* VM_MAP_PUT_PAGES: vfree() drops the pages and frees the array */
	mem = vmap(pages, num, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES,
		   PAGE_KERNEL);
	if (!mem)
		pages_put(pages, num);
	return mem;
}

static void pages_release(struct weft_pages *pages)
{
	vfree(pages->mem);
	kfree(pages);
}

/*
 * @size is rounded up to pages. @uctx is the context of the process that may map them, or NULL.
 * Returns pages for weft_pages_put() or ERR_PTR(-ENOMEM).
 */
struct weft_pages *weft_pages_alloc(size_t size, struct ib_ucontext *uctx)
{
	struct weft_pages *pages;

	pages = kzalloc(sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	pages->size = PAGE_ALIGN(size);
	pages->mem = pages_map(pages->size);
	if (!pages->mem)
		goto err_free_pages;
	if (uctx && rdma_user_mmap_entry_insert(uctx, &pages->entry, pages->size))
		goto err_release;
	pages->named = uctx;
	refcount_set(&pages->users, 1);
	return pages;

err_release:
	vfree(pages->mem);
err_free_pages:
	kfree(pages);
	return ERR_PTR(-ENOMEM);
}
WEFT_EXPORT_FOR_TEST(weft_pages_alloc);

/* Free unused pages. The memory stays until the last mapping or mmap() in progress has ended. */
void weft_pages_free(struct weft_pages *pages)
{
	if (pages->named)
		rdma_user_mmap_entry_remove(&pages->entry);
	else
		pages_release(pages);
}

/* Drop a reference. With the last one the pages go to their page cache or are freed. May sleep. */
void weft_pages_put(struct weft_pages *pages)
{
	if (!refcount_dec_and_test(&pages->users))
		return;
	if (pages->page_cache)
		weft_page_cache_keep(pages);
	else
		weft_pages_free(pages);
}
WEFT_EXPORT_FOR_TEST(weft_pages_put);

/* The offset by which a process maps @named pages with mmap() of the command file descriptor. */
u64 weft_pages_key(const struct weft_pages *pages)
{
	return rdma_user_mmap_get_offset(&pages->entry);
}

/* The address of a page in the kernel's linear mapping, for virt_to_page(). */
void *weft_pages_linear(const struct weft_pages *pages, size_t index)
{
	return page_address(vmalloc_to_page(pages->mem + (index << PAGE_SHIFT)));
}

/* ib_device_ops.mmap_free: no mapping, and no mmap() in progress, uses the pages any more. */
void weft_pages_mmap_free(struct rdma_user_mmap_entry *entry)
{
	pages_release(container_of(entry, struct weft_pages, entry));
}

/*
 * ib_device_ops.mmap: map the pages that @vma names by its offset. Returns 0 or -EINVAL: there are
 * no such pages, or they have another size.
 */
int weft_pages_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct weft_pages *pages;
	int ret = -EINVAL;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	pages = container_of(entry, struct weft_pages, entry);
	if (vma->vm_end - vma->vm_start == pages->size)
		ret = remap_vmalloc_range(vma, pages->mem, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}
