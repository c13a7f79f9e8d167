/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests: from the shared ring into a private, checked copy.
 *
 * The functions are inline because every message needs them.
 */
#ifndef WEFT_RING_SQE_H
#define WEFT_RING_SQE_H

#include "compat/placement.h"
#include "params.h"
#include "ring/ring.h"
#include "ring/rxe.h"

/* Private copy of a send work request. */
struct weft_swqe {
	struct weft_sqe		sqe;		/* @num_sge and @inline_length are in bounds */
	u32			index;		/* ring index */
	/*
	 * Payload of a WEFT_SQE_INLINE. It stays in the ring: it is opaque, so there is nothing
	 * to validate, and the slot is not reused before the completion.
	 */
	const void		*inline_data;
	struct weft_sge		*sge;		/* room for weft_sq_sges() */
};

/* Private copy of a receive work request. */
struct weft_rwqe {
	u64			wr_id;
	u32			index;		/* ring index */
	u32			num_sge;
	struct weft_sge		*sge;		/* room for weft_rq_sges() */
	u64			length;		/* of the longest message that fits the list */
};

/* The slots of a send queue with LSO are longer by this. */
#define WEFT_LSO_HEADROOM	sizeof(struct weft_lso)

/*
 * The enum weft_sqe_opcode of an enum ib_wr_opcode, or -EINVAL. @opcode has another type, because
 * older kernels lack some of the values.
 */
static inline int weft_sqe_opcode(unsigned int opcode)
{
	switch (opcode) {
	case IB_WR_SEND:
		return WEFT_SQE_SEND;
	case IB_WR_SEND_WITH_IMM:
		return WEFT_SQE_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return WEFT_SQE_SEND_INV;
	case IB_WR_RDMA_WRITE:
		return WEFT_SQE_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return WEFT_SQE_WRITE_IMM;
	case IB_WR_RDMA_READ:
		return WEFT_SQE_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		return WEFT_SQE_CMP_SWP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return WEFT_SQE_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return WEFT_SQE_LOCAL_INV;
	case IB_WR_REG_MR:
		return WEFT_SQE_REG_MR;
	/* FLUSH and BIND_MW are missing: struct ib_send_wr has no members for them */
	case IB_WR_ATOMIC_WRITE:
		return WEFT_SQE_ATOMIC_WRITE;
	case IB_WR_LSO:
		return WEFT_SQE_LSO;
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return WEFT_SQE_MASKED_CMP_SWP;
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return WEFT_SQE_MASKED_FETCH_ADD;
	default:
		return -EINVAL;
	}
}

/* Bytes of a send queue entry, before its list or inline data. @rxe: of rdma_rxe's ABI */
static inline u32 weft_sq_head(bool rxe)
{
	return rxe ? WEFT_RXE_SQ_HEAD : sizeof(struct weft_sqe);
}

static inline u32 weft_rq_head(bool rxe)
{
	return rxe ? WEFT_RXE_RQ_HEAD : sizeof(struct weft_rqe);
}

/* Bytes of a send queue entry for @max_sge elements or @max_inline bytes: a multiple of 64. */
static inline u32 weft_sq_stride(bool rxe, u32 max_sge, u32 max_inline)
{
	u32 room = max_t(u32, max_sge * sizeof(struct weft_sge), max_inline);
	u32 stride = ALIGN(weft_sq_head(rxe) + room, 64);

	return rxe ? roundup_pow_of_two(stride) : stride;
}

static inline u32 weft_rq_stride(bool rxe, u32 max_sge)
{
	u32 stride = weft_rq_head(rxe) + max(max_sge, 1U) * sizeof(struct weft_sge);

	return rxe ? roundup_pow_of_two(stride) : stride;
}

/* The elements that fit a send queue entry, which may be more than the queue was created for. */
static inline u32 weft_sq_sges(bool rxe, u32 stride)
{
	return min_t(u32, (stride - weft_sq_head(rxe)) / sizeof(struct weft_sge), WEFT_MAX_SGE);
}

static inline u32 weft_rq_sges(bool rxe, u32 stride)
{
	return min_t(u32, (stride - weft_rq_head(rxe)) / sizeof(struct weft_sge), WEFT_MAX_SGE);
}

/* The inline data of a work request, valid until weft_ring_release(). */
static inline const void *weft_sq_inline(const struct weft_ring *ring, u32 index)
{
	return (const void __force *)(weft_ring_slot(ring, index) + weft_sq_head(ring->rxe));
}

/* The ring has WEFT_LSO_HEADROOM in each slot. */
static inline void __weft_shared *weft_sq_lso_shared(const struct weft_ring *ring, u32 index)
{
	return weft_ring_slot(ring, index) + ring->stride - WEFT_LSO_HEADROOM;
}

/*
 * The LSO parameters of a work request, valid until weft_ring_release(). @ring belongs to a kernel
 * consumer.
 */
static inline struct weft_lso *weft_sq_lso(const struct weft_ring *ring, u32 index)
{
	return (struct weft_lso __force *)weft_sq_lso_shared(ring, index);
}

/* A private copy of the LSO parameters of a work request, which a process may be changing. */
static inline void weft_sq_copy_lso(struct weft_lso *lso, const struct weft_ring *ring, u32 index)
{
	weft_shared_copy(lso, weft_sq_lso_shared(ring, index), sizeof(*lso));
}

/* Return: the bytes of the list. */
static __always_inline u64 weft_shared_copy_sges(struct weft_sge *to,
						 const void __weft_shared *from, u32 num)
{
	const struct weft_sge __weft_shared *sge = from;
	u64 length = 0;

	for (; num; num--, to++, sge++) {
		weft_shared_copy(to, sge, sizeof(*to));
		length += to->length;
	}
	return length;
}

/* Does a list of @num_sge elements fit into @room bytes? */
static __always_inline bool weft_sges_fit(u32 num_sge, u32 room)
{
	return num_sge <= WEFT_MAX_SGE && num_sge * sizeof(struct weft_sge) <= room;
}

/* Are the opcode, the flags and the lengths in bounds, for a slot with @room bytes behind @sqe? */
static __always_inline bool weft_sqe_valid(const struct weft_sqe *sqe, u32 room)
{
	if (unlikely(sqe->opcode >= WEFT_SQE_OPCODES || sqe->flags & ~WEFT_SQE_FLAGS))
		return false;
	if (sqe->flags & WEFT_SQE_INLINE)
		return !sqe->num_sge && sqe->inline_length <= room;
	return !sqe->inline_length && weft_sges_fit(sqe->num_sge, room);
}

/*
 * Copy the next send work request, without releasing its slot. @ahead work requests before it have
 * been taken and are not complete; there is at least one more. Returns 0, or -EINVAL if it is
 * malformed: then only @wqe->sqe.wr_id, @wqe->index and @wqe->sqe.opcode (valid, but perhaps not
 * the posted one) can be used.
 */
static __always_inline int weft_sq_next(const struct weft_ring *ring, u32 ahead,
					struct weft_swqe *wqe)
{
	const struct weft_sqe __weft_shared *sqe = weft_ring_take(ring, ahead);

	if (unlikely(ring->rxe))
		return weft_rxe_sq_next(ring, ahead, wqe);
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

/*
 * Copy the next receive work request, without releasing its slot; there is one. Returns 0, or
 * -EINVAL if it is malformed: then @wqe->num_sge is 0.
 */
static __always_inline int weft_rq_peek(struct weft_ring *ring, struct weft_rwqe *wqe)
{
	const struct weft_rqe __weft_shared *rqe = weft_ring_take(ring, 0);
	u32 num_sge;
	int ret = 0;

	if (unlikely(ring->rxe))
		return weft_rxe_rq_peek(ring, wqe);
	num_sge = weft_shared_load(&rqe->num_sge);
	wqe->index = ring->device;
	weft_shared_copy(&wqe->wr_id, &rqe->wr_id, sizeof(wqe->wr_id));
	if (unlikely(!weft_sges_fit(num_sge, ring->stride - sizeof(*rqe)))) {
		num_sge = 0;
		ret = -EINVAL;
	}
	wqe->num_sge = num_sge;
	wqe->length = weft_shared_copy_sges(wqe->sge, rqe + 1, num_sge);
	return ret;
}

/*
 * The bytes of the receive work request @ahead of the next one; there is one. The client may change
 * it before it is taken.
 */
static inline u32 weft_rq_length(const struct weft_ring *ring, u32 ahead)
{
	const struct weft_rqe __weft_shared *rqe = weft_ring_take(ring, ahead);
	const struct weft_sge __weft_shared *sge = (const void __weft_shared *)(rqe + 1);
	u32 num = weft_shared_load(&rqe->num_sge);
	u64 length = 0;

	if (unlikely(!weft_sges_fit(num, ring->stride - sizeof(*rqe))))
		return 0;
	for (; num; num--, sge++)
		length += weft_shared_load(&sge->length);
	return min_t(u64, length, U32_MAX);
}

/* weft_rq_peek(), and release the slot. */
static __always_inline int weft_rq_next(struct weft_ring *ring, struct weft_rwqe *wqe)
{
	int ret = weft_rq_peek(ring, wqe);

	weft_ring_release(ring);
	return ret;
}

#endif /* WEFT_RING_SQE_H */
