// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rings shared with a consumer, in user space or in the kernel.
 *
 * No other code dereferences __weft_shared memory. include/uapi/rdma/weft-abi.h defines the
 * formats and has the proof of the barriers; comments here cite the letters of that proof.
 *
 * A ring has two sides, the device (the engine) and the client (a user process, or a kernel
 * consumer through verbs/post.c). Callers make sure that one thread at a time uses each side.
 */
#include "ring/ring.h"

#include <linux/sched.h>
#include <linux/slab.h>

#include "params.h"
#include "ring/pages.h"

/* Entries to copy without rescheduling, or with a lock held. A power of two. */
#define RING_COPY_BATCH	1024U

static_assert(sizeof(struct weft_ring_hdr) <= WEFT_RING_HDR_SIZE);

static void ring_describe(const struct weft_ring *ring, size_t offset,
			  struct weft_ring_resp *resp)
{
	resp->mmap_key = weft_pages_key(ring->pages);
	resp->mmap_size = ring->pages->size;
	resp->entries = ring->entries;
	resp->stride = ring->stride;
	resp->offset = offset;
}

/*
 * Create an empty ring at @offset (a multiple of WEFT_RING_HDR_SIZE) of existing memory, whose
 * content does not matter. @entries is rounded up to a power of two. The ring takes a reference
 * to @pages. If a process can map these, @resp tells it where the ring is. Returns the ring or
 * ERR_PTR(-ENOMEM).
 */
struct weft_ring *weft_ring_place(struct weft_pages *pages, size_t offset, u32 entries,
				  u32 stride, struct weft_ring_resp *resp)
{
	struct weft_ring *ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);

	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->entries = roundup_pow_of_two(max(entries, 1U));
	ring->slot_mask = ring->entries - 1;
	ring->index_mask = U32_MAX;
	ring->stride = stride;
	ring->hdr = (struct weft_ring_hdr __weft_shared __force *)(pages->mem + offset);
	ring->slots = (void __weft_shared __force *)(pages->mem + offset + WEFT_RING_HDR_SIZE);
	weft_ring_reset(ring);
	weft_shared_store(&ring->hdr->arm, WEFT_ARM_NONE);
	weft_shared_store(&ring->hdr->flags, 0);
	weft_pages_hold(pages);
	ring->pages = pages;
	if (pages->named)
		ring_describe(ring, offset, resp);
	return ring;
}
WEFT_EXPORT_FOR_TEST(weft_ring_place);

/*
 * weft_ring_place() in memory of the ring's own, which is charged to the current process. @uctx is
 * the context of the process that shares the ring; a kernel client has neither @uctx nor @resp.
 */
struct weft_ring *weft_ring_create(u32 entries, u32 stride,
				   struct ib_ucontext *uctx,
				   struct weft_ring_resp *resp)
{
	struct weft_pages *pages;
	struct weft_ring *ring;

	pages = weft_pages_alloc(weft_ring_size(entries, stride), uctx);
	if (IS_ERR(pages))
		return ERR_CAST(pages);
	ring = weft_ring_place(pages, 0, entries, stride, resp);
	weft_pages_put(pages);
	return ring;
}
WEFT_EXPORT_FOR_TEST(weft_ring_create);

/* An empty ring of the same kind as @like, for another number of entries. */
struct weft_ring *weft_ring_create_like(const struct weft_ring *like, u32 entries,
					struct ib_ucontext *uctx, struct weft_ring_resp *resp)
{
	return like->rxe ? weft_rxe_create(entries, like->stride, uctx, resp) :
			   weft_ring_create(entries, like->stride, uctx, resp);
}

/*
 * Mark a ring dead and free it. Its memory stays while a mapping, an mmap() in progress or another
 * ring uses it. @ring may be NULL.
 */
void weft_ring_destroy(struct weft_ring *ring)
{
	if (!ring)
		return;
	weft_ring_set_flags(ring, WEFT_RING_DEAD | WEFT_RING_NEED_DOORBELL, 0);
	weft_pages_put(ring->pages);
	kfree(ring->stage);
	kfree(ring);
}
WEFT_EXPORT_FOR_TEST(weft_ring_destroy);

/* Make a ring empty again. Neither side uses it meanwhile. */
void weft_ring_reset(struct weft_ring *ring)
{
	ring->device = 0;
	ring->client = 0;
	weft_shared_store(&ring->hdr->producer, 0);
	weft_shared_store(&ring->hdr->consumer, 0);
}
WEFT_EXPORT_FOR_TEST(weft_ring_reset);

/* Ask for an event; @arm is an enum weft_ring_arm. */
void weft_ring_arm(struct weft_ring *ring, u32 arm)
{
	/* a request for solicited events must not weaken one for any event */
	if (arm == WEFT_ARM_SOLICITED)
		cmpxchg((u32 __force *)&ring->hdr->arm, WEFT_ARM_NONE, arm);
	else
		weft_shared_store(&ring->hdr->arm, arm);
	smp_mb(); /* H, pairs with I */
}
WEFT_EXPORT_FOR_TEST(weft_ring_arm);

/* The next free slot of a send or receive queue, or NULL if it is full. */
void *weft_ring_reserve(struct weft_ring *ring)
{
	/* D, pairs with C */
	u32 used = ring->client - weft_shared_load_acquire(&ring->hdr->consumer);

	if (used >= ring->entries)
		return NULL;
	return (void __force *)weft_ring_slot(ring, ring->client);
}
WEFT_EXPORT_FOR_TEST(weft_ring_reserve);

/* Can @num entries be reserved and submitted, one after the other? */
bool weft_ring_has_room(const struct weft_ring *ring, u32 num)
{
	/* D, pairs with C */
	u32 used = ring->client - weft_shared_load_acquire(&ring->hdr->consumer);

	return ring->entries - used >= num;
}

/* Publish the slot that was reserved. */
void weft_ring_submit(struct weft_ring *ring)
{
	/* B, pairs with A */
	weft_shared_store_release(&ring->hdr->producer, ++ring->client);
}
WEFT_EXPORT_FOR_TEST(weft_ring_submit);

/* The number of completions that weft_ring_pop() would return. */
u32 weft_ring_has_completions(const struct weft_ring *ring)
{
	/* A, pairs with B */
	return weft_shared_load_acquire(&ring->hdr->producer) - ring->client;
}
WEFT_EXPORT_FOR_TEST(weft_ring_has_completions);

/* Take a completion. Returns false if there is none. */
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

/*
 * Resizing: the entries between consumer and producer move to a new, empty ring of the same
 * stride. For a large ring most of them are copied without a lock first, and only the rest with
 * the lock of the device's side held:
 *
 *	do {
 *		copied = weft_ring_carry_ahead(to, from, completion);
 *		lock
 *		ret = weft_ring_carry_rest(to, from, completion, copied);
 *		unlock
 *	} while (ret == -EAGAIN && --tries);
 */

/* The entries of a ring: from @consumer to the one before @producer. */
struct ring_extent {
	u32	consumer;
	u32	producer;
};

/*
 * The indexes of a completion queue in its header are not after the device's index, and those of
 * other queues not before it. That makes a masked index a free-running one. A process may write an
 * index at any time, so it is read once.
 */
static u32 ring_index(const struct weft_ring *ring, const u32 __weft_shared *p, bool completion)
{
	/* A, pairs with B */
	u32 index = weft_shared_load_acquire(p), device = READ_ONCE(ring->device);

	return completion ? device - ((device - index) & ring->index_mask) :
			    device + ((index - device) & ring->index_mask);
}

static struct ring_extent ring_extent(const struct weft_ring *ring, bool completion)
{
	return completion ?
	       (struct ring_extent){ ring_index(ring, &ring->hdr->consumer, true), ring->device } :
	       (struct ring_extent){ ring->device, ring_index(ring, &ring->hdr->producer, false) };
}

static void ring_copy_slot(struct weft_ring *to, const struct weft_ring *from, u32 index)
{
	memcpy((void __force *)weft_ring_slot(to, index),
	       (void __force *)weft_ring_slot(from, index), from->stride);
}

/*
 * Copy entries while both sides may go on, including entries that are added meanwhile. Returns the
 * index up to which (exclusive) the entries have been copied. May sleep.
 *
 * Both indexes come from the header, where a process may have written anything. That is harmless:
 * at most as many entries are copied as fit the smaller ring, and weft_ring_carry_rest() does not
 * use these indexes. Wrong ones can only make the process find junk entries in its own ring.
 */
u32 weft_ring_carry_ahead(struct weft_ring *to, const struct weft_ring *from, bool completion)
{
	u32 i = completion ? ring_index(from, &from->hdr->consumer, true) :
			     READ_ONCE(from->device);
	u32 end = i + min(to->entries, from->entries);
	u32 producer;

	for (;;) {
		producer = ring_index(from, &from->hdr->producer, completion);
		if (i == producer || producer - i > end - i)
			return i;
		for (; i != producer; i++) {
			ring_copy_slot(to, from, i);
			if (i % RING_COPY_BATCH == 0)
				cond_resched();
		}
	}
}
WEFT_EXPORT_FOR_TEST(weft_ring_carry_ahead);

/* Move @extent to ring @to. At most @most of its entries may still have to be copied. */
static int ring_carry(struct weft_ring *to, struct weft_ring *from,
		      const struct ring_extent *extent, u32 copied, u32 most)
{
	u32 num = extent->producer - extent->consumer, i;

	if (num > min(to->entries, from->entries))
		return -EINVAL;
	/* the consumer may have overtaken @copied meanwhile */
	i = copied - extent->consumer <= num ? copied : extent->consumer;
	if (extent->producer - i > most)
		return -EAGAIN;
	for (; i != extent->producer; i++)
		ring_copy_slot(to, from, i);
	to->device = from->device;
	to->client = from->client;
	weft_shared_store(&to->hdr->flags, weft_shared_load(&from->hdr->flags));
	weft_shared_store(&to->hdr->arm, weft_shared_load(&from->hdr->arm));
	weft_shared_store(&to->hdr->consumer, extent->consumer & to->index_mask);
	weft_shared_store_release(&to->hdr->producer, extent->producer & to->index_mask);
	return 0;
}

/*
 * Copy the entries from index @copied on; then @to continues with the indexes and flags of @from.
 * Neither side moves meanwhile: the caller holds the device's lock, and the client is in the call
 * that asks for the resize. A process that moves its index nevertheless, now or since
 * weft_ring_carry_ahead(), can only corrupt entries of its own ring.
 *
 * Returns 0; -EINVAL if the entries do not fit, or the client's index is impossible; -EAGAIN if
 * too many are left to copy with a lock held. After an error @to counts as empty.
 */
int weft_ring_carry_rest(struct weft_ring *to, struct weft_ring *from, bool completion,
			 u32 copied)
{
	struct ring_extent extent = ring_extent(from, completion);

	return ring_carry(to, from, &extent, copied, RING_COPY_BATCH);
}
WEFT_EXPORT_FOR_TEST(weft_ring_carry_rest);

/* Copy all entries, however many, as weft_ring_carry_rest() does. For rings that are not large. */
int weft_ring_carry_over(struct weft_ring *to, struct weft_ring *from, bool completion)
{
	struct ring_extent extent = ring_extent(from, completion);

	return ring_carry(to, from, &extent, extent.consumer, U32_MAX);
}
WEFT_EXPORT_FOR_TEST(weft_ring_carry_over);
