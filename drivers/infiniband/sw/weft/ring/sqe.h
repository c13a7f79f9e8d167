/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests: from the shared ring into a private, checked copy.
 *
 * Inline: each message takes one of either kind.
 */
#ifndef WEFT_RING_SQE_H
#define WEFT_RING_SQE_H

#include "params.h"
#include "ring/ring.h"

/**
 * struct weft_swqe - private copy of a send work request
 * @sqe: the request; @sqe.num_sge and @sqe.inline_length are in bounds
 * @index: ring index
 * @sge: its scatter/gather list; room for weft_sq_sges()
 * @inline_data: its payload when WEFT_SQE_INLINE, still in the ring: it is
 *	opaque, and the slot is not reused before completion
 */
struct weft_swqe {
	struct weft_sqe		sqe;
	u32			index;
	const void		*inline_data;
	struct weft_sge		*sge;
};

/**
 * struct weft_rwqe - private copy of a receive work request
 * @wr_id: for the completion
 * @index: ring index
 * @num_sge: at most weft_rq_sges()
 * @sge: its scatter/gather list; room for so many
 */
struct weft_rwqe {
	u64			wr_id;
	u32			index;
	u32			num_sge;
	struct weft_sge		*sge;
};

/* Bytes of headers an LSO may have: of IPoIB, and the longest of IPv4 and TCP. */
#define WEFT_LSO_HEADERS	124U

/**
 * struct weft_lso - what a WEFT_SQE_LSO has besides, at the end of its slot
 * @mss: bytes of payload of each packet but the last
 * @length: of @header
 * @header: of each packet, but for what is different
 */
struct weft_lso {
	u16			mss;
	u16			length;
	u8			header[WEFT_LSO_HEADERS];
};

/* By how much the slots of a send queue are longer that has any. */
#define WEFT_LSO_HEADROOM	sizeof(struct weft_lso)

/**
 * weft_sq_stride - bytes of a send queue entry
 * @max_sge: elements it must hold
 * @max_inline: bytes of inline data it must hold
 *
 * Return: a multiple of 64.
 */
static inline u32 weft_sq_stride(u32 max_sge, u32 max_inline)
{
	u32 room = max_t(u32, max_sge * sizeof(struct weft_sge), max_inline);

	return ALIGN(sizeof(struct weft_sqe) + room, 64);
}

/**
 * weft_rq_stride - bytes of a receive queue entry
 * @max_sge: elements it must hold
 *
 * Return: a multiple of 16.
 */
static inline u32 weft_rq_stride(u32 max_sge)
{
	return sizeof(struct weft_rqe) + max(max_sge, 1U) * sizeof(struct weft_sge);
}

/**
 * weft_sq_sges - elements that a send queue entry can have
 * @stride: of the queue, weft_sq_stride() or more
 *
 * Return: at most WEFT_MAX_SGE; not less than it was made for.
 */
static inline u32 weft_sq_sges(u32 stride)
{
	return min_t(u32, (stride - sizeof(struct weft_sqe)) / sizeof(struct weft_sge),
		     WEFT_MAX_SGE);
}

/**
 * weft_rq_sges - elements that a receive queue entry can have
 * @stride: of the queue, weft_rq_stride()
 *
 * Return: at most WEFT_MAX_SGE.
 */
static inline u32 weft_rq_sges(u32 stride)
{
	return min_t(u32, (stride - sizeof(struct weft_rqe)) / sizeof(struct weft_sge),
		     WEFT_MAX_SGE);
}

/**
 * weft_sq_inline - where the inline data of a work request are
 * @ring: send queue
 * @index: of the work request
 *
 * Return: the data; valid until weft_ring_release().
 */
static inline const void *weft_sq_inline(const struct weft_ring *ring, u32 index)
{
	return (const void __force *)(weft_ring_slot(ring, index) + sizeof(struct weft_sqe));
}

/**
 * weft_sq_lso - where the headers of an LSO are
 * @ring: of a kernel consumer, with WEFT_LSO_HEADROOM in each slot
 * @index: of the work request
 *
 * Return: them; valid until weft_ring_release().
 */
static inline struct weft_lso *weft_sq_lso(const struct weft_ring *ring, u32 index)
{
	return (struct weft_lso __force *)(weft_ring_slot(ring, index) + ring->stride -
					   WEFT_LSO_HEADROOM);
}

/* Copy a list of elements. */
static __always_inline void weft_shared_copy_sges(struct weft_sge *to,
						  const void __weft_shared *from, u32 num)
{
	const struct weft_sge __weft_shared *sge = from;

	for (; num; num--)
		weft_shared_copy(to++, sge++, sizeof(*to));
}

/* Does a list have room? @room: bytes */
static __always_inline bool weft_sges_fit(u32 num_sge, u32 room)
{
	return num_sge <= WEFT_MAX_SGE && num_sge * sizeof(struct weft_sge) <= room;
}

/**
 * weft_sqe_valid - whether a work request makes sense
 * @sqe: private copy
 * @room: bytes of a list or of inline data that a slot can hold
 *
 * Return: true when all that says how much of a slot is used is in bounds.
 */
static __always_inline bool weft_sqe_valid(const struct weft_sqe *sqe, u32 room)
{
	if (unlikely(sqe->opcode >= WEFT_SQE_OPCODES || sqe->flags & ~WEFT_SQE_FLAGS))
		return false;
	if (sqe->flags & WEFT_SQE_INLINE)
		return !sqe->num_sge && sqe->inline_length <= room;
	return !sqe->inline_length && weft_sges_fit(sqe->num_sge, room);
}

/**
 * weft_sq_next - copy the next send work request
 * @ring: with more than @ahead pending; the slot is not released
 * @ahead: work requests that have been taken and are not complete
 * @wqe: result
 *
 * Return: 0; -EINVAL: malformed, only @wqe->sqe.wr_id and @wqe->index can be relied on,
 * and that @wqe->sqe.opcode is one.
 */
static __always_inline int weft_sq_next(const struct weft_ring *ring, u32 ahead,
					struct weft_swqe *wqe)
{
	const struct weft_sqe __weft_shared *sqe = weft_ring_take(ring, ahead);

	wqe->index = ring->device + ahead;
	weft_shared_copy(&wqe->sqe, sqe, sizeof(wqe->sqe));
	if (unlikely(!weft_sqe_valid(&wqe->sqe, ring->stride - sizeof(*sqe)))) {
		if (wqe->sqe.opcode >= WEFT_SQE_OPCODES)
			wqe->sqe.opcode = WEFT_SQE_SEND;
		return -EINVAL;
	}
	if (wqe->sqe.flags & WEFT_SQE_INLINE)
		wqe->inline_data = (const void __force *)(sqe + 1);
	else
		weft_shared_copy_sges(wqe->sge, sqe + 1, wqe->sqe.num_sge);
	return 0;
}

/**
 * weft_rwqe_length - how long a message for a receive work request may be
 * @wqe: the private copy
 *
 * Return: bytes of all its elements.
 */
static __always_inline u64 weft_rwqe_length(const struct weft_rwqe *wqe)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < wqe->num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

/**
 * weft_rq_peek - copy the next receive work request
 * @ring: with something pending; weft_ring_release() takes it
 * @wqe: result
 *
 * Return: 0; -EINVAL: malformed, @wqe->num_sge is 0.
 */
static __always_inline int weft_rq_peek(struct weft_ring *ring, struct weft_rwqe *wqe)
{
	const struct weft_rqe __weft_shared *rqe = weft_ring_take(ring, 0);
	u32 num_sge = weft_shared_load(&rqe->num_sge);
	int ret = 0;

	wqe->index = ring->device;
	weft_shared_copy(&wqe->wr_id, &rqe->wr_id, sizeof(wqe->wr_id));
	if (unlikely(!weft_sges_fit(num_sge, ring->stride - sizeof(*rqe)))) {
		num_sge = 0;
		ret = -EINVAL;
	}
	wqe->num_sge = num_sge;
	weft_shared_copy_sges(wqe->sge, rqe + 1, num_sge);
	return ret;
}

/**
 * weft_rq_next - take the next receive work request and release its slot
 * @ring: with something pending
 * @wqe: result
 *
 * Return: as weft_rq_peek().
 */
static __always_inline int weft_rq_next(struct weft_ring *ring, struct weft_rwqe *wqe)
{
	int ret = weft_rq_peek(ring, wqe);

	weft_ring_release(ring);
	return ret;
}

#endif /* WEFT_RING_SQE_H */
