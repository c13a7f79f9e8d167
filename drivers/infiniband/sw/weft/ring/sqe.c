// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "ring/sqe.h"

/* The one read of shared memory: after barrier() only the copy is used. */
static __always_inline void copy_in(void *to, const void __weft_shared *from, size_t length)
{
	memcpy(to, (const void __force *)from, length);
	barrier();
}

static void copy_in_sges(struct weft_sge *to, const void __weft_shared *from, u32 num)
{
	const struct weft_sge __weft_shared *sge = from;

	while (num--)
		copy_in(to++, sge++, sizeof(*to));
}

/* What a peer sends back is stored in the sge list, never in the ring. */
static bool sqe_may_inline(u8 opcode)
{
	return opcode < WEFT_SQE_READ ||
	       (opcode > WEFT_SQE_FETCH_ADD && opcode < WEFT_SQE_MASKED_CMP_SWP);
}

static bool sqe_valid(const struct weft_sqe *sqe, u32 room, u32 num_sge)
{
	if (sqe->opcode >= WEFT_SQE_OPCODES || sqe->flags & ~WEFT_SQE_FLAGS)
		return false;
	if (sqe->flags & WEFT_SQE_INLINE)
		return sqe_may_inline(sqe->opcode) && !sqe->num_sge &&
		       sqe->inline_length <= room;
	return !sqe->inline_length && sqe->num_sge <= num_sge;
}

int weft_sq_next(const struct weft_ring *ring, u32 ahead, struct weft_swqe *wqe)
{
	const struct weft_sqe __weft_shared *sqe = weft_ring_take(ring, ahead);

	wqe->index = ring->device + ahead;
	copy_in(&wqe->sqe, sqe, sizeof(wqe->sqe));
	if (!sqe_valid(&wqe->sqe, ring->stride - sizeof(*sqe), weft_sq_sges(ring->stride)))
		return -EINVAL;
	if (wqe->sqe.flags & WEFT_SQE_INLINE)
		wqe->inline_data = (const void __force *)(sqe + 1);
	else
		copy_in_sges(wqe->sge, sqe + 1, wqe->sqe.num_sge);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_sq_next);

int weft_rq_next(struct weft_ring *ring, struct weft_rwqe *wqe)
{
	const struct weft_rqe __weft_shared *rqe = weft_ring_take(ring, 0);
	struct weft_rqe copy;
	int ret = 0;

	copy_in(&copy, rqe, sizeof(copy));
	wqe->index = ring->device;
	wqe->wr_id = copy.wr_id;
	wqe->num_sge = copy.num_sge;
	if (copy.num_sge > weft_rq_sges(ring->stride)) {
		wqe->num_sge = 0;
		ret = -EINVAL;
	}
	copy_in_sges(wqe->sge, rqe + 1, wqe->num_sge);
	weft_ring_release(ring);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_rq_next);
