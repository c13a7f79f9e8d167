/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of an inflight request: its list, or its inline data. The send turn is owned in
 * all of it.
 */
#ifndef WEFT_ENGINE_GATHER_H
#define WEFT_ENGINE_GATHER_H

#include "engine/inflight.h"
#include "mem/copy.h"

/* weft_gather() of a list with ODP memory. */
struct weft_result weft_gather_odp(struct weft_qp *qp, struct weft_odp *odp,
				   const struct weft_slot *slot, u64 offset, u64 length);

/**
 * weft_gather - resolve the memory of a request
 * @qp: the QP; @qp->send.sgl is the result
 * @odp: of the requester, for ODP memory
 * @slot: the request
 * @offset: first byte of the message that will be accessed
 * @length: bytes that will be, of which WEFT_ODP_CHUNK may if some memory is ODP memory; 0: it
 *	is only checked
 *
 * Return: WEFT_DONE: weft_sgl_release() is due; WEFT_LATER; or WEFT_FAILED.
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
		/* a list of one element that needs no reference */
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

/**
 * weft_gather_check - check a request that will be sent in packets
 * @qp: the QP
 * @slot: the request; @slot->length is set
 *
 * Memory that data come back to has to be there; memory of data that go out is looked at when
 * they do.
 *
 * Return: WEFT_FAULT_NONE, or what is wrong with it.
 */
enum weft_fault weft_gather_check(struct weft_qp *qp, struct weft_slot *slot);

#endif /* WEFT_ENGINE_GATHER_H */
