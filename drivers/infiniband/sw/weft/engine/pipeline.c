// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A target of storage posts the transfer of data with signatures, and behind it, with a fence, the
 * SEND that says it went well. If a signature is wrong, that SEND must not leave: the QP stops in
 * front of it, in SQD, and its process takes the SEND back (weftdv_qp_cancel_posted_send_wrs(3)).
 */
#include "engine/pipeline.h"

#include "engine/odp.h"
#include "engine/opdef.h"
#include "mem/pi.h"
#include "mem/region.h"
#include "object/qp.h"

/*
 * Data of the request have been moved: remember whether the signature of one of its mkeys is wrong.
 * The send turn is owned.
 */
void weft_pipeline_watch(struct weft_qp *qp, const struct weft_slot *slot)
{
	struct weft_send *send = &qp->send;
	u32 i;

	/* a request that is sent again has the same error; a local operation uses no mkey */
	if (send->stopped || slot->op->flags & WEFT_OPF_LOCAL)
		return;
	for (i = 0; i < slot->wqe.sqe.num_sge; i++)
		send->unsound |= weft_pi_failed(send->who.table, slot->wqe.sge[i].lkey);
}

/*
 * @slot has a fence, and has been taken last; nothing of it has been executed. Stop in front of it
 * if a signature was wrong: give it back to the ring, because its process may change it there. The
 * send turn is owned.
 *
 * Return: WEFT_DONE: execute it; WEFT_LATER: it waits for responses, which may have a wrong
 * signature; WEFT_DROP: the QP does not execute it in the state that it has now.
 */
enum weft_verdict weft_pipeline_fence(struct weft_qp *qp, const struct weft_slot *slot)
{
	struct weft_send *send = &qp->send;

	if (slot->psns || slot->executed)
		return WEFT_DONE;
	if (send->inflight.reads)
		return WEFT_LATER;
	if (!send->unsound)
		return WEFT_DONE;
	send->inflight.tail--;
	/* it may get other memory */
	weft_odp_forget(&send->odp);
	send->unsound = false;
	send->stopped = true;
	send->drained = false;
	send->sqd_notify = true;
	weft_qp_set_sqd(qp);
	return WEFT_DROP;
}
