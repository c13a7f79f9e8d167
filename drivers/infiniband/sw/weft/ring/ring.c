// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "ring/ring.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "params.h"

static_assert(sizeof(struct weft_ring_hdr) <= WEFT_RING_HDR_SIZE);
static_assert(sizeof(struct weft_sqe) == 64);
static_assert(sizeof(struct weft_rqe) == 16);
static_assert(sizeof(struct weft_cqe) == 64);
static_assert(sizeof(struct weft_sge) == 16);

static void ring_free_pages(struct page **pages, unsigned int num)
{
	while (num--)
		__free_page(pages[num]);
	kvfree(pages);
}

/* Not vmalloc_user(): these pages are to be charged to who asked for them. */
static void *ring_alloc_memory(size_t size)
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
			ring_free_pages(pages, i);
			return NULL;
		}
	}
	/* VM_MAP_PUT_PAGES: vfree() drops the pages and frees the array */
	mem = vmap(pages, num, VM_MAP | VM_USERMAP | VM_MAP_PUT_PAGES,
		   PAGE_KERNEL);
	if (!mem)
		ring_free_pages(pages, num);
	return mem;
}

static void ring_free(struct weft_ring *ring)
{
	vfree((void __force *)ring->hdr);
	kfree(ring);
}

static int ring_share(struct weft_ring *ring, struct ib_ucontext *uctx,
		      struct weft_ring_resp *resp)
{
	int ret;

	ret = rdma_user_mmap_entry_insert(uctx, &ring->mmap, ring->size);
	if (ret)
		return ret;
	ring->user = true;
	resp->mmap_key = rdma_user_mmap_get_offset(&ring->mmap);
	resp->mmap_size = ring->size;
	resp->entries = ring->entries;
	resp->stride = ring->stride;
	return 0;
}

struct weft_ring *weft_ring_create(u32 entries, u32 stride,
				   struct ib_ucontext *uctx,
				   struct weft_ring_resp *resp)
{
	struct weft_ring *ring;
	void *mem;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->entries = roundup_pow_of_two(max(entries, 1U));
	ring->stride = stride;
	ring->size = PAGE_ALIGN(WEFT_RING_HDR_SIZE +
				(size_t)ring->entries * stride);
	mem = ring_alloc_memory(ring->size);
	if (!mem)
		goto err_free_ring;
	ring->hdr = (struct weft_ring_hdr __weft_shared __force *)mem;
	ring->slots = (void __weft_shared __force *)(mem + WEFT_RING_HDR_SIZE);
	if (uctx && ring_share(ring, uctx, resp))
		goto err_free_memory;
	return ring;

err_free_memory:
	vfree(mem);
err_free_ring:
	kfree(ring);
	return ERR_PTR(-ENOMEM);
}
WEFT_EXPORT_FOR_TEST(weft_ring_create);

void weft_ring_destroy(struct weft_ring *ring)
{
	if (!ring)
		return;
	weft_ring_set_flags(ring, WEFT_RING_DEAD | WEFT_RING_NEED_DOORBELL, 0);
	if (ring->user)
		rdma_user_mmap_entry_remove(&ring->mmap);
	else
		ring_free(ring);
}
WEFT_EXPORT_FOR_TEST(weft_ring_destroy);

void weft_ring_mmap_free(struct rdma_user_mmap_entry *entry)
{
	ring_free(container_of(entry, struct weft_ring, mmap));
}

int weft_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct weft_ring *ring;
	int ret = -EINVAL;

	entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!entry)
		return -EINVAL;
	ring = container_of(entry, struct weft_ring, mmap);
	if (vma->vm_end - vma->vm_start == ring->size)
		ret = remap_vmalloc_range(vma, (void __force *)ring->hdr, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

void weft_ring_reset(struct weft_ring *ring)
{
	ring->device = 0;
	ring->client = 0;
	weft_shared_store(&ring->hdr->producer, 0);
	weft_shared_store(&ring->hdr->consumer, 0);
}
WEFT_EXPORT_FOR_TEST(weft_ring_reset);

void weft_ring_arm(struct weft_ring *ring, u32 arm)
{
	/* SOLICITED does not weaken ANY */
	if (arm == WEFT_ARM_SOLICITED)
		cmpxchg((u32 __force *)&ring->hdr->arm, WEFT_ARM_NONE, arm);
	else
		weft_shared_store(&ring->hdr->arm, arm);
	smp_mb(); /* H, pairs with I */
}
WEFT_EXPORT_FOR_TEST(weft_ring_arm);

void *weft_ring_reserve(struct weft_ring *ring)
{
	/* D, pairs with C */
	u32 used = ring->client - weft_shared_load_acquire(&ring->hdr->consumer);

	if (used >= ring->entries)
		return NULL;
	return (void __force *)weft_ring_slot(ring, ring->client);
}
WEFT_EXPORT_FOR_TEST(weft_ring_reserve);

void weft_ring_submit(struct weft_ring *ring)
{
	/* B, pairs with A */
	weft_shared_store_release(&ring->hdr->producer, ++ring->client);
}
WEFT_EXPORT_FOR_TEST(weft_ring_submit);

u32 weft_ring_has_completions(const struct weft_ring *ring)
{
	/* A, pairs with B */
	return weft_shared_load_acquire(&ring->hdr->producer) - ring->client;
}
WEFT_EXPORT_FOR_TEST(weft_ring_has_completions);

bool weft_ring_pop(struct weft_ring *ring, struct weft_cqe *cqe)
{
	if (!weft_ring_has_completions(ring))
		return false;
	memcpy(cqe, (void __force *)weft_ring_slot(ring, ring->client), sizeof(*cqe));
	/* C, pairs with D */
	weft_shared_store_release(&ring->hdr->consumer, ++ring->client);
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_ring_pop);

int weft_ring_carry_over(struct weft_ring *to, struct weft_ring *from,
			 bool completion)
{
	u32 producer, consumer, i;

	producer = completion ? from->device :
		   weft_shared_load_acquire(&from->hdr->producer);
	consumer = completion ? weft_shared_load_acquire(&from->hdr->consumer) :
		   from->device;
	if (producer - consumer > min(to->entries, from->entries))
		return -EINVAL;
	for (i = consumer; i != producer; i++)
		memcpy((void __force *)weft_ring_slot(to, i),
		       (void __force *)weft_ring_slot(from, i), from->stride);
	to->device = from->device;
	to->client = from->client;
	weft_shared_store(&to->hdr->flags, weft_shared_load(&from->hdr->flags));
	weft_shared_store(&to->hdr->arm, weft_shared_load(&from->hdr->arm));
	weft_shared_store(&to->hdr->consumer, consumer);
	weft_shared_store_release(&to->hdr->producer, producer);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_ring_carry_over);
