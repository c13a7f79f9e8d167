/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with a consumer, in user space or in the kernel.
 *
 * No other code dereferences __weft_shared memory. include/uapi/rdma/weft-abi.h defines the
 * formats and has the proof of the barriers; comments here cite the letters of that proof.
 *
 * A ring has two sides, the device (the engine) and the client (a user process, or a kernel
 * consumer through verbs/post.c). Callers make sure that one thread at a time uses each side.
 *
 * A ring can also be a queue of rdma_rxe's user ABI (ring/rxe.h). Its entries have other formats,
 * its indexes are masked, and one of its slots is always empty.
 */
#ifndef WEFT_RING_RING_H
#define WEFT_RING_RING_H

#include <linux/log2.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "ring/rxe.h"

#ifdef __CHECKER__
#define __weft_shared __attribute__((noderef, address_space(__weft_shared)))
#else
#define __weft_shared
#endif

struct weft_pages;

/* Only @device and @client change after creation. */
struct weft_ring {
	struct weft_pages		*pages;		/* may contain another ring as well */
	struct weft_ring_hdr __weft_shared *hdr;
	void __weft_shared		*slots;
	u32				entries;	/* that it can hold */
	u32				slot_mask;	/* number of slots (a power of two) - 1 */
	u32				index_mask;	/* bits of an index in @hdr */
	u32				stride;		/* bytes per entry */
	bool				rxe;		/* a queue of rdma_rxe's ABI */
	/*
	 * For @rxe: a completion until it is translated. If weft_ring_push() passed the address of
	 * its caller's completion on instead, that could not stay in registers.
	 */
	struct weft_cqe			*stage;
	/* the device's index: producer of a completion queue, consumer of the others */
	u32				device;
	u32				client;		/* index of a kernel client */
};

static inline u32 weft_shared_load(const u32 __weft_shared *p)
{
	return READ_ONCE(*(const u32 __force *)p);
}

static inline u32 weft_shared_load_acquire(const u32 __weft_shared *p)
{
	/* A or D, see the callers */
	return smp_load_acquire((const u32 __force *)p);
}

static inline void weft_shared_store(u32 __weft_shared *p, u32 value)
{
	WRITE_ONCE(*(u32 __force *)p, value);
}

static inline void weft_shared_store_release(u32 __weft_shared *p, u32 value)
{
	/* B or C, see the callers */
	smp_store_release((u32 __force *)p, value);
}

/*
 * Read shared memory once. The barrier keeps the compiler from reading it again in place of
 * the copy: the process may have changed it after the copy was validated.
 */
static __always_inline void weft_shared_copy(void *to, const void __weft_shared *from,
					     size_t length)
{
	memcpy(to, (const void __force *)from, length);
	barrier();
}

static inline void __weft_shared *weft_ring_slot(const struct weft_ring *ring, u32 index)
{
	return ring->slots + (size_t)(index & ring->slot_mask) * ring->stride;
}

/* The bytes that a ring occupies, rounded up so that another ring can begin behind it. */
static inline size_t weft_ring_size(u32 entries, u32 stride)
{
	size_t slots = (size_t)roundup_pow_of_two(max(entries, 1U)) * stride;

	return WEFT_RING_HDR_SIZE + ALIGN(slots, WEFT_RING_HDR_SIZE);
}

struct weft_ring *weft_ring_place(struct weft_pages *pages, size_t offset, u32 entries,
				  u32 stride, struct weft_ring_resp *resp);
struct weft_ring *weft_ring_create(u32 entries, u32 stride, struct ib_ucontext *uctx,
				   struct weft_ring_resp *resp);
struct weft_ring *weft_ring_create_like(const struct weft_ring *like, u32 entries,
					struct ib_ucontext *uctx, struct weft_ring_resp *resp);
void weft_ring_destroy(struct weft_ring *ring);
void weft_ring_reset(struct weft_ring *ring);

/* Set and clear enum weft_ring_flags. Callers exclude each other. */
static inline void weft_ring_set_flags(struct weft_ring *ring, u32 set, u32 clear)
{
	u32 flags = weft_shared_load(&ring->hdr->flags);

	/* release: a client that sees OVERRUN or DEAD sees the last completion as well */
	weft_shared_store_release(&ring->hdr->flags, (flags & ~clear) | set);
}

/*
 * The number of entries that the client has posted and the device has not released. -EPROTO: the
 * client's index is impossible.
 */
static inline int weft_ring_pending(const struct weft_ring *ring)
{
	/* A, pairs with B */
	u32 num = weft_shared_load_acquire(&ring->hdr->producer) - ring->device;

	num &= ring->index_mask;
	return num <= ring->entries ? (int)num : -EPROTO;
}

/*
 * One of the pending entries of a send or receive queue, valid until weft_ring_release(). @ahead
 * entries before it have been taken and not been released yet.
 */
static inline const void __weft_shared *
weft_ring_take(const struct weft_ring *ring, u32 ahead)
{
	return weft_ring_slot(ring, ring->device + ahead);
}

/* The device has finished with its oldest entry. */
static inline void weft_ring_release(struct weft_ring *ring)
{
	/* C, pairs with D */
	weft_shared_store_release(&ring->hdr->consumer, ++ring->device & ring->index_mask);
}

/* Ask the client for a doorbell. The caller must then check weft_ring_pending() once more. */
static inline void weft_ring_arm_doorbell(struct weft_ring *ring)
{
	weft_ring_set_flags(ring, WEFT_RING_NEED_DOORBELL, 0); /* E */
	smp_mb(); /* G, pairs with F */
}

/*
 * Storing member by member lets the compiler keep a completion in registers, instead of clearing
 * it in memory, filling it in and copying it.
 */
static __always_inline void weft_cqe_store(struct weft_cqe *to, const struct weft_cqe *cqe)
{
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

/* Publish a completion. Returns false if the completion queue is full. */
static __always_inline bool weft_ring_push(struct weft_ring *ring, const struct weft_cqe *cqe)
{
	/* locals, as the compiler must assume that a store of the CQE changes the ring */
	struct weft_ring_hdr __weft_shared *hdr = ring->hdr;
	u32 device = ring->device;
	/* D, pairs with C; an impossible index counts as full */
	u32 used = device - weft_shared_load_acquire(&hdr->consumer);

	if ((used & ring->index_mask) >= ring->entries)
		return false;
	if (unlikely(ring->stage)) {
		weft_cqe_store(ring->stage, cqe);
		weft_rxe_store_cqe(ring);
	} else {
		weft_cqe_store((void __force *)weft_ring_slot(ring, device), cqe);
	}
	ring->device = ++device;
	/* B, pairs with A */
	weft_shared_store_release(&hdr->producer, device & ring->index_mask);
	return true;
}

/*
 * After weft_ring_push() of a completion, solicited or not: if the client has asked for an event
 * for it, take the request back and return true, and the caller raises the event.
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

/* The client side, for kernel consumers. */

void weft_ring_arm(struct weft_ring *ring, u32 arm);
void *weft_ring_reserve(struct weft_ring *ring);
bool weft_ring_has_room(const struct weft_ring *ring, u32 num);
void weft_ring_submit(struct weft_ring *ring);
bool weft_ring_pop(struct weft_ring *ring, struct weft_cqe *cqe);
u32 weft_ring_has_completions(const struct weft_ring *ring);

/* Tries of weft_ring_carry_rest() before a ring that fills too fast makes the resize fail. */
#define WEFT_RING_CARRIES	8

u32 weft_ring_carry_ahead(struct weft_ring *to, const struct weft_ring *from, bool completion);
int weft_ring_carry_rest(struct weft_ring *to, struct weft_ring *from, bool completion,
			 u32 copied);
int weft_ring_carry_over(struct weft_ring *to, struct weft_ring *from, bool completion);

#endif /* WEFT_RING_RING_H */
