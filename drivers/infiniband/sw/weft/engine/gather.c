// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/gather.h"

#include "engine/odp.h"

/* weft_gather() if some of the list is ODP memory. */
struct weft_result weft_gather_odp(struct weft_qp *qp, struct weft_odp *odp,
				   const struct weft_slot *slot, u64 offset, u64 length)
{
	struct weft_odp_need need = {
		.odp = odp,
		.turn = &qp->send.turn,
		.access = weft_opdef_local_access(slot->op),
		.offset = offset,
		.length = length,
		.end = U64_MAX,
		/* once bytes of a message have been moved, expect the next ones soon */
		.ahead = length ? offset : 0,
		.refusal = WEFT_FAULT_LOCAL_PROTECTION,
	};
	struct weft_result result;

	result = weft_odp_resolve(&need, &qp->send.who, &qp->send.sgl, slot->wqe.sge,
				  slot->wqe.sqe.num_sge);
	if (result.verdict)
		return result;
	if (weft_opdef_length_valid(slot->op, qp->send.sgl.length))
		return result;
	weft_sgl_release(&qp->send.sgl);
	return weft_failed(WEFT_FAULT_LOCAL_LENGTH);
}

/*
 * Check a request that will be sent in packets, and set @slot->length. Memory that a response goes
 * to must be accessible now; memory that is sent is resolved with each batch. Returns
 * WEFT_FAULT_NONE or the fault.
 */
enum weft_fault weft_gather_check(struct weft_qp *qp, struct weft_slot *slot)
{
	const struct weft_swqe *wqe = &slot->wqe;
	struct weft_result result;
	u64 length = 0;
	u32 i;

	if (wqe->sqe.flags & WEFT_SQE_INLINE)
		length = wqe->sqe.inline_length;
	else
		for (i = 0; i < wqe->sqe.num_sge; i++)
			length += wqe->sge[i].length;
	if (unlikely(!weft_opdef_length_valid(slot->op, length)))
		return WEFT_FAULT_LOCAL_LENGTH;
	slot->length = length;
	if (likely(!(slot->op->flags & WEFT_OPF_FETCH)))
		return WEFT_FAULT_NONE;
	/* with a length of 0, weft_gather() waits for no ODP memory */
	result = weft_gather(qp, &qp->send.odp, slot, 0, 0);
	weft_sgl_release(&qp->send.sgl);
	return result.fault;
}
