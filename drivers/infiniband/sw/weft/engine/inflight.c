// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/inflight.h"

#include <linux/log2.h>
#include <linux/mm.h>

#include "engine/sendq.h"
#include "object/dev.h"
#include "params.h"
#include "stats.h"

int weft_inflight_prepare(struct weft_inflight *larger, const struct weft_qp *qp, u32 entries)
{
	u32 num = roundup_pow_of_two(min_t(u32, entries, WEFT_INFLIGHT_WQES));
	const struct weft_inflight *inflight = &qp->send.inflight;

	*larger = (struct weft_inflight){
		.stride = sizeof(struct weft_slot) +
			  qp->cap.max_send_sge * sizeof(struct weft_sge),
		.mask = num - 1,
	};
	/* only holders of modify_lock replace the memory */
	if (inflight->slots && larger->mask <= inflight->mask)
		return 0;
	larger->slots = kvcalloc(num, larger->stride, GFP_KERNEL_ACCOUNT);
	return larger->slots ? 0 : -ENOMEM;
}
WEFT_EXPORT_FOR_TEST(weft_inflight_prepare);

void weft_inflight_install(struct weft_qp *qp, struct weft_inflight *larger)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 i;

	if (!larger->slots)
		return;
	for (i = inflight->head; i != inflight->tail; i++)
		memcpy(weft_inflight_at(larger, i), weft_inflight_at(inflight, i), larger->stride);
	swap(inflight->slots, larger->slots);
	inflight->stride = larger->stride;
	inflight->mask = larger->mask;
}
WEFT_EXPORT_FOR_TEST(weft_inflight_install);

void weft_inflight_destroy(struct weft_inflight *inflight)
{
	kvfree(inflight->slots);
	inflight->slots = NULL;
}

void weft_inflight_reset(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->head = 0;
	inflight->cur = 0;
	inflight->tail = 0;
	inflight->una = qp->send.psn;
	inflight->next = qp->send.psn;
	inflight->sent = qp->send.psn;
	inflight->reads = 0;
	inflight->retried = false;
}

void weft_inflight_follow(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot;
	u32 i;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		slot->inline_data = weft_sq_inline(qp->send.ring, slot->index);
	}
}

/* A READ in parts is several requests to the peer. */
static void inflight_count(struct weft_qp *qp, struct weft_slot *slot, u32 length)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	bool read = slot->sqe.opcode == WEFT_SQE_READ;

	slot->psns = weft_rules_psn_count(length, qp->mtu);
	inflight->ssn = weft_psn_add(inflight->ssn,
				     read ? DIV_ROUND_UP(slot->psns, WEFT_READ_PACKETS) : 1);
	slot->ssn = inflight->ssn;
}

void weft_inflight_push(struct weft_qp *qp, u32 length, enum weft_fault fault)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot = weft_inflight_at(inflight, inflight->tail);
	const struct weft_swqe *wqe = &qp->send.wqe;

	slot->sqe = wqe->sqe;
	slot->inline_data = wqe->inline_data;
	slot->index = wqe->index;
	slot->length = length;
	slot->fault = fault;
	slot->executed = false;
	slot->first_psn = qp->send.psn;
	slot->psns = 0;
	slot->ssn = inflight->ssn;
	if (!fault && !weft_sendq_is_local(wqe->sqe.opcode))
		inflight_count(qp, slot, length);
	if (!fault && !(wqe->sqe.flags & WEFT_SQE_INLINE))
		memcpy(slot->sge, wqe->sge, wqe->sqe.num_sge * sizeof(wqe->sge[0]));
	qp->send.psn = weft_psn_add(qp->send.psn, slot->psns);
	inflight->tail++;
}

/* A slot whose packets all have been sent: is there nothing to wait for? */
static bool inflight_is_done(const struct weft_inflight *inflight,
			     const struct weft_slot *slot)
{
	return !weft_psn_before(inflight->una, weft_slot_end(slot));
}

static void inflight_complete(struct weft_qp *qp, const struct weft_slot *slot)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->head++;
	if (slot->psns)
		weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, slot->length);
	weft_sendq_complete(qp, &slot->sqe, slot->index, IB_WC_SUCCESS,
			    WEFT_FAULT_NONE, slot->length);
}

void weft_inflight_fail(struct weft_qp *qp, enum ib_wc_status status,
			enum weft_fault fault)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot = weft_inflight_at(inflight, inflight->head);

	/* what comes behind it is flushed, or (UC, in RTS again) begins where it ends */
	inflight->head++;
	inflight->cur = inflight->head;
	inflight->una = weft_slot_end(slot);
	inflight->next = inflight->una;
	inflight->sent = inflight->una;
	weft_sendq_fail(qp, &slot->sqe, slot->index, status, fault);
}

void weft_inflight_retire(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot;

	while (inflight->head != inflight->cur) {
		slot = weft_inflight_at(inflight, inflight->head);
		if (!inflight_is_done(inflight, slot))
			return;
		inflight_complete(qp, slot);
	}
	if (inflight->head == inflight->tail)
		return;
	slot = weft_inflight_at(inflight, inflight->head);
	if (unlikely(slot->fault))
		weft_inflight_fail(qp, weft_rules_status(slot->fault), slot->fault);
}

void weft_inflight_rewind(struct weft_qp *qp, u32 psn)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot;

	inflight->reads = 0;
	inflight->next = psn;
	for (inflight->cur = inflight->head; inflight->cur != inflight->tail; inflight->cur++) {
		slot = weft_inflight_at(inflight, inflight->cur);
		if (slot->psns && weft_psn_before(psn, weft_slot_end(slot)))
			return;
	}
}
