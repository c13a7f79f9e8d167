/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of an inflight request: its scatter/gather list, or its inline data. All functions
 * need the send turn.
 */
#ifndef WEFT_ENGINE_GATHER_H
#define WEFT_ENGINE_GATHER_H

#include "engine/inflight.h"
#include "mem/copy.h"

struct weft_result weft_gather_odp(struct weft_qp *qp, struct weft_odp *odp,
				   const struct weft_slot *slot, u64 offset, u64 length);

/*
 * Resolve the memory of a request into @qp->send.sgl, for access to @length bytes from @offset on.
 * If some of the list is ODP memory, only the first WEFT_ODP_CHUNK of them may be accessed. With a
 * @length of 0 the list is only checked, and no page is waited for. Returns WEFT_DONE: the caller
 * calls weft_sgl_release(); WEFT_LATER: pages are being pinned; or WEFT_FAILED.
 */
static __always_inline struct weft_result weft_gather(struct weft_qp *qp, struct weft_odp *odp,
						      const struct weft_slot *slot, u64 offset,
						      u64 length)
{
	const struct weft_swqe *wqe = &slot->wqe;
	struct weft_sgl *sgl = &qp->send.sgl;
	int err;

	weft_assert_turn(&qp->send.turn);
	if (wqe->sqe.flags & WEFT_SQE_INLINE) {
		/* inline data are in the ring: a span without a region, so without a reference */
		sgl->length = wqe->sqe.inline_length;
		sgl->num = sgl->length ? 1 : 0;
		sgl->span[0].region = NULL;
		sgl->span[0].addr = (uintptr_t)wqe->inline_data;
		sgl->span[0].length = sgl->length;
	} else {
		err = weft_sgl_resolve(sgl, &qp->send.who, wqe->sge, wqe->sqe.num_sge, U64_MAX,
				       weft_opdef_local_access(slot->op));
		if (unlikely(err == -EFAULT))
			return weft_gather_odp(qp, odp, slot, offset, length);
		if (unlikely(err))
			return weft_failed(WEFT_FAULT_LOCAL_PROTECTION);
	}
	if (likely(weft_opdef_length_valid(slot->op, sgl->length)))
		return weft_result(WEFT_DONE);
	weft_sgl_release(sgl);
	return weft_failed(WEFT_FAULT_LOCAL_LENGTH);
}

enum weft_fault weft_gather_check(struct weft_qp *qp, struct weft_slot *slot);

#endif /* WEFT_ENGINE_GATHER_H */
