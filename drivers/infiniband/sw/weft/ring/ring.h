/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with a consumer, in user space or in the kernel.
 *
 * The only code that dereferences __weft_shared memory. The formats and the
 * proof of the barriers, whose letters are cited here, are in
 * include/uapi/rdma/weft-abi.h.
 *
 * A ring has two sides, the device (the engine) and the client (a user
 * process, or a kernel consumer through verbs/post.c). Each side is used by
 * one thread at a time; who that is, is the caller's business.
 */
#ifndef WEFT_RING_RING_H
#define WEFT_RING_RING_H

#include <linux/log2.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#ifdef __CHECKER__
#define __weft_shared __attribute__((noderef, address_space(__weft_shared)))
#else
#define __weft_shared
#endif

struct weft_pages;

/**
 * struct weft_ring - a ring
 *
 * Immutable after creation but @device and @client.
 *
 * @pages: its memory, perhaps with another ring in it
 * @hdr: shared header
 * @slots: shared entries
 * @entries: power of two
 * @stride: bytes per entry
 * @device: our index: producer of a completion queue, else consumer
 * @client: index of a kernel client
 */
struct weft_ring {
	struct weft_pages		*pages;
	struct weft_ring_hdr __weft_shared *hdr;
	void __weft_shared		*slots;
	u32				entries;
	u32				stride;
	u32				device;
	u32				client;
};

static inline u32 weft_shared_load(const u32 __weft_shared *p)
{
	return READ_ONCE(*(const u32 __force *)p);
}

static inline u32 weft_shared_load_acquire(const u32 __weft_shared *p)
{
	/* A or D, its callers say which */
	return smp_load_acquire((const u32 __force *)p);
}

static inline void weft_shared_store(u32 __weft_shared *p, u32 value)
{
	WRITE_ONCE(*(u32 __force *)p, value);
}

static inline void weft_shared_store_release(u32 __weft_shared *p, u32 value)
{
	/* B or C, its callers say which */
	smp_store_release((u32 __force *)p, value);
}

/* The one read of memory: the barrier is for the compiler, that it uses only the copy. */
static __always_inline void weft_shared_copy(void *to, const void __weft_shared *from,
					     size_t length)
{
	memcpy(to, (const void __force *)from, length);
	barrier();
}

static inline void __weft_shared *weft_ring_slot(const struct weft_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & (ring->entries - 1)) * ring->stride;
}

/**
 * weft_ring_size - bytes that a ring takes
 * @entries: at least so many
 * @stride: bytes per entry
 *
 * Return: the size, so that another ring may begin behind it.
 */
static inline size_t weft_ring_size(u32 entries, u32 stride)
{
	size_t slots = (size_t)roundup_pow_of_two(max(entries, 1U)) * stride;

	return WEFT_RING_HDR_SIZE + ALIGN(slots, WEFT_RING_HDR_SIZE);
}

/**
 * weft_ring_place - make a ring in memory that there is
 * @pages: not used there; the ring takes a reference of its own
 * @offset: of the ring, a multiple of WEFT_RING_HDR_SIZE
 * @entries: at least so many; rounded up to a power of two
 * @stride: bytes per entry
 * @resp: where and how big it is, for the process; not used if @pages have no name
 *
 * Whatever is in the memory does not matter.
 *
 * Return: the ring, or ERR_PTR(-ENOMEM).
 */
struct weft_ring *weft_ring_place(struct weft_pages *pages, size_t offset, u32 entries,
				  u32 stride, struct weft_ring_resp *resp);

/**
 * weft_ring_create - allocate a ring
 * @entries: at least so many; rounded up to a power of two
 * @stride: bytes per entry
 * @uctx: of the process that shares it, or NULL for a kernel client
 * @resp: where and how big it is, for the process; may be NULL without @uctx
 *
 * The pages are charged to the caller.
 *
 * Return: the ring, or ERR_PTR(-ENOMEM).
 */
struct weft_ring *weft_ring_create(u32 entries, u32 stride,
				   struct ib_ucontext *uctx,
				   struct weft_ring_resp *resp);

/**
 * weft_ring_destroy - give a ring up
 * @ring: may be NULL. Marked dead; the memory goes when the last mapping or
 *	mmap() in progress is done with it.
 */
void weft_ring_destroy(struct weft_ring *ring);

/**
 * weft_ring_reset - make a ring empty again
 * @ring: used by neither side
 */
void weft_ring_reset(struct weft_ring *ring);

/**
 * weft_ring_set_flags - tell the client something
 * @ring: any
 * @set: enum weft_ring_flags to set
 * @clear: enum weft_ring_flags to clear
 *
 * Callers exclude each other.
 */
static inline void weft_ring_set_flags(struct weft_ring *ring, u32 set, u32 clear)
{
	u32 flags = weft_shared_load(&ring->hdr->flags);

	/* release: OVERRUN and DEAD come after the last completion */
	weft_shared_store_release(&ring->hdr->flags, (flags & ~clear) | set);
}

/**
 * weft_ring_pending - entries the client has posted and the device not taken
 * @ring: send or receive queue
 *
 * A in the ABI's proof.
 *
 * Return: number of entries, at most @ring->entries; -EPROTO: the client's
 * index is impossible.
 */
static inline int weft_ring_pending(const struct weft_ring *ring)
{
	/* A, pairs with B */
	u32 num = weft_shared_load_acquire(&ring->hdr->producer) - ring->device;

	return num <= ring->entries ? (int)num : -EPROTO;
}

/**
 * weft_ring_take - one of the device's next entries
 * @ring: send or receive queue with more than @ahead pending
 * @ahead: entries to skip; they have been taken and not been released
 *
 * Return: the entry; valid until weft_ring_release().
 */
static inline const void __weft_shared *
weft_ring_take(const struct weft_ring *ring, u32 ahead)
{
	return weft_ring_slot(ring, ring->device + ahead);
}

/**
 * weft_ring_release - the device is done with its next entry
 * @ring: send or receive queue
 *
 * C in the ABI's proof.
 */
static inline void weft_ring_release(struct weft_ring *ring)
{
	/* C, pairs with D */
	weft_shared_store_release(&ring->hdr->consumer, ++ring->device);
}

/**
 * weft_ring_arm_doorbell - ask the client to ring
 * @ring: send or receive queue
 *
 * E and G in the ABI's proof: look at weft_ring_pending() afterwards.
 */
static inline void weft_ring_arm_doorbell(struct weft_ring *ring)
{
	weft_ring_set_flags(ring, WEFT_RING_NEED_DOORBELL, 0); /* E */
	smp_mb(); /* G, pairs with F */
}

/*
 * Member by member: then one that has just been put together need not be in memory, where
 * it would be cleared, filled in, and copied.
 */
static __always_inline void weft_shared_store_cqe(struct weft_cqe __weft_shared *slot,
						  const struct weft_cqe *cqe)
{
	struct weft_cqe *to = (struct weft_cqe __force *)slot;

	to->wr_id = cqe->wr_id;
	to->cookie = cqe->cookie;
	to->timestamp = cqe->timestamp;
	to->qp_num = cqe->qp_num;
	to->src_qp = cqe->src_qp;
	to->byte_len = cqe->byte_len;
	to->ex = cqe->ex;
	to->wqe_index = cqe->wqe_index;
	to->vendor_err = cqe->vendor_err;
	to->pkey_index = cqe->pkey_index;
	to->slid = cqe->slid;
	to->status = cqe->status;
	to->opcode = cqe->opcode;
	to->wc_flags = cqe->wc_flags;
	to->flags = cqe->flags;
	to->sl = cqe->sl;
	to->dlid_path_bits = cqe->dlid_path_bits;
	to->network_hdr_type = cqe->network_hdr_type;
	to->port_num = cqe->port_num;
	to->vlan_id = cqe->vlan_id;
	to->reserved_3e = cqe->reserved_3e;
}

/**
 * weft_ring_push - publish a completion
 * @ring: completion queue
 * @cqe: copied
 *
 * B and D in the ABI's proof.
 *
 * Return: false when the ring is full.
 */
static __always_inline bool weft_ring_push(struct weft_ring *ring, const struct weft_cqe *cqe)
{
	/* D, pairs with C; an impossible index counts as full */
	u32 used = ring->device - weft_shared_load_acquire(&ring->hdr->consumer);

	if (used >= ring->entries)
		return false;
	weft_shared_store_cqe(weft_ring_slot(ring, ring->device), cqe);
	/* B, pairs with A */
	weft_shared_store_release(&ring->hdr->producer, ++ring->device);
	return true;
}

/**
 * weft_ring_disarm - take the client's request for an event
 * @ring: completion queue, after weft_ring_push()
 * @solicited: whether the completion counts as solicited
 *
 * I in the ABI's proof.
 *
 * Return: true when the event is to be raised.
 */
static inline bool weft_ring_disarm(struct weft_ring *ring, bool solicited)
{
	u32 arm;

	smp_mb(); /* I, pairs with H */
	arm = weft_shared_load(&ring->hdr->arm);
	if (likely(arm == WEFT_ARM_NONE) ||
	    (arm == WEFT_ARM_SOLICITED && !solicited))
		return false;
	return xchg((u32 __force *)&ring->hdr->arm, WEFT_ARM_NONE) != WEFT_ARM_NONE;
}

/**
 * weft_ring_arm - a kernel client asks for an event
 * @ring: completion queue
 * @arm: enum weft_ring_arm
 *
 * H in the ABI's proof.
 */
void weft_ring_arm(struct weft_ring *ring, u32 arm);

/**
 * weft_ring_reserve - a kernel client's next slot
 * @ring: send or receive queue
 *
 * D in the ABI's proof.
 *
 * Return: the slot, or NULL when the ring is full.
 */
void *weft_ring_reserve(struct weft_ring *ring);

/**
 * weft_ring_submit - a kernel client publishes the slot it reserved
 * @ring: send or receive queue
 *
 * B in the ABI's proof.
 */
void weft_ring_submit(struct weft_ring *ring);

/**
 * weft_ring_pop - a kernel client takes a completion
 * @ring: completion queue
 * @cqe: result
 *
 * A and C in the ABI's proof.
 *
 * Return: false when there is none.
 */
bool weft_ring_pop(struct weft_ring *ring, struct weft_cqe *cqe);

/**
 * weft_ring_has_completions - whether weft_ring_pop() would find one
 * @ring: completion queue
 *
 * Return: number of completions.
 */
u32 weft_ring_has_completions(const struct weft_ring *ring);

/* How often to carry ahead before giving up, for a ring that fills meanwhile. */
#define WEFT_RING_CARRIES	8

/**
 * weft_ring_carry_ahead - copy what is in a ring to the one that will replace it
 * @to: empty
 * @from: same stride; both sides may move
 *
 * With it a lock need not be held for all that is in a ring. Entries that come meanwhile
 * are copied as well.
 *
 * Context: process, may sleep.
 * Return: what is before this index has been copied.
 */
u32 weft_ring_carry_ahead(struct weft_ring *to, const struct weft_ring *from);

/**
 * weft_ring_carry_rest - move what is between consumer and producer
 * @to: empty, with at least as many entries as are outstanding in @from
 * @from: same stride; neither side moves meanwhile (the device because the
 *	caller holds its lock, the client because it is in the call that asks
 *	for the resize; one that moves harms itself only)
 * @completion: @from is a completion queue
 * @copied: from weft_ring_carry_ahead(); a process that moved its index in between gets
 *	what it deserves, within the ring
 *
 * Indexes go on where they were.
 *
 * Return: 0; -EINVAL: does not fit, or the client's index is impossible; -EAGAIN: too much
 * is left to be copied with a lock held, weft_ring_carry_ahead() is due once more. Only if
 * 0 there is anything new in @to that counts.
 */
int weft_ring_carry_rest(struct weft_ring *to, struct weft_ring *from, bool completion,
			 u32 copied);

/**
 * weft_ring_carry_over - the same for a ring of which nothing has been copied
 * @to: see weft_ring_carry_rest()
 * @from: see weft_ring_carry_rest()
 * @completion: see weft_ring_carry_rest()
 *
 * However much it is. For rings that are not large.
 *
 * Return: 0; -EINVAL: see weft_ring_carry_rest().
 */
int weft_ring_carry_over(struct weft_ring *to, struct weft_ring *from, bool completion);

#endif /* WEFT_RING_RING_H */
