// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The repair of a single lost request packet.
 *
 * IBA has the requester go back to the PSN that a sequence NAK names, and send everything from
 * there on again. But a responder may have kept the packets that came after the lost one, as weft's
 * does. So the requester sends the lost packet alone, with an acknowledge request, and goes on with
 * new packets. The answer tells the rest:
 *
 * - A NAK for a later PSN: the responder has kept packets behind that one. The next repair begins.
 * - An acknowledge of all packets sent before the repair: it is over.
 * - An acknowledge that ends earlier: all packets before the repair have arrived or are lost, and
 *   the responder would have sent a NAK if it had kept any behind this PSN. So the requester sends
 *   those from there to the repair again. If the responder has acknowledged the repaired packet
 *   only, it keeps none at all (rdma_rxe, adapters): the requester goes back, and does so at once
 *   when it gets the next NAK.
 *
 * To send the packets the requester goes back to them, and then forward again to where it was.
 */
#include "engine/repair.h"

#include "engine/inflight.h"
#include "engine/retry.h"
#include "params.h"

/* The time to wait doubles as often. */
#define REPAIR_MAX_AGAIN	8

/* The request packets before weft_inflight.next whose responses are not complete. */
static u32 repair_reads(const struct weft_inflight *inflight)
{
	const struct weft_slot *slot;
	u32 i, from, to, reads = 0;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		if (!slot->psns || !weft_psn_before(slot->first_psn, inflight->next))
			continue;
		if (!weft_opdef_responds(slot->op) ||
		    !weft_psn_before(inflight->una, weft_slot_end(slot)))
			continue;
		from = weft_psn_before(slot->first_psn, inflight->una) ?
		       (inflight->una - slot->first_psn) & WEFT_PSN_MASK : 0;
		to = min(slot->psns, (inflight->next - slot->first_psn) & WEFT_PSN_MASK);
		reads += DIV_ROUND_UP(to, WEFT_READ_PACKETS) - from / WEFT_READ_PACKETS;
	}
	return reads;
}

/* Go forward again to where the requester was before the repair. */
static void repair_resume(struct weft_inflight *inflight)
{
	inflight->next = inflight->repair.next;
	inflight->cur = inflight->repair.cur;
	inflight->reads = repair_reads(inflight);
}

/* Go back to weft_inflight.una, to send the packets before @end again. Return: false: can't. */
static bool repair_go_back(struct weft_qp *qp, u32 end)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 next = inflight->next, cur = inflight->cur;

	weft_inflight_rewind(qp, inflight->una);
	/* the answer to a READ tells nothing of what is behind it */
	if (weft_opdef_responds(weft_inflight_at(inflight, inflight->cur)->op))
		return false;
	inflight->repair.state = WEFT_REPAIR_WANTED;
	inflight->repair.psn = inflight->una;
	inflight->repair.end = end;
	inflight->repair.next = next;
	inflight->repair.cur = cur;
	return true;
}

/*
 * The peer misses the packet at weft_inflight.una: go back to that one only. Return: false: go back
 * to send all packets again.
 */
bool weft_repair_begin(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;
	bool again = repair->state == WEFT_REPAIR_SENT && repair->psn == inflight->una;

	if (repair->goes_back || !weft_psn_before(inflight->una, inflight->next) ||
	    !repair_go_back(qp, weft_psn_add(inflight->una, 1)))
		return false;
	repair->again = again ? min(repair->again + 1, REPAIR_MAX_AGAIN) : 0;
	if (!again)
		repair->named = true;
	return true;
}

/* Packets have been sent. */
void weft_repair_sent(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (weft_psn_before(inflight->next, inflight->repair.end))
		return;
	inflight->repair.state = WEFT_REPAIR_SENT;
	repair_resume(inflight);
	weft_retry_repair(qp);
}

/* An answer has advanced weft_inflight.una during a repair. */
void weft_repair_progress(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;

	if (repair->state == WEFT_REPAIR_WANTED) {
		/* the packet was late, not lost */
		repair->state = WEFT_REPAIR_NONE;
		repair_resume(inflight);
	} else if (!weft_psn_before(inflight->una, repair->next)) {
		repair->state = WEFT_REPAIR_NONE;
	}
}

/* An acknowledge has ended before the packets that were sent before the repair do. */
void weft_repair_acked(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_repair *repair = &inflight->repair;

	if (!weft_psn_before(repair->psn, inflight->una))
		return;
	if (repair->named && inflight->una == repair->end) {
		repair->goes_back = true;
		weft_inflight_rewind(qp, inflight->una);
		/* a NAK that asks for the same is on its way */
		inflight->retried = true;
		return;
	}
	if (repair_go_back(qp, repair->next)) {
		repair->again = 0;
		repair->named = false;
	}
}
