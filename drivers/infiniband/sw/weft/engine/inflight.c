// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Inflight requests: from the send queue into slots, and out as completions.
 *
 * The requester copies a work request from the ring into a slot (req_take() in requester.c). A link
 * executes the request at @cur. A link that answers at once (the local link, datagrams) then calls
 * weft_inflight_done(). A link that sends packets keeps requests until they are answered, so that
 * any packet can be sent again; then the completer calls weft_inflight_retire().
 *
 * All functions need the send turn, owned or stopped, except weft_inflight_prepare() and
 * weft_inflight_free().
 */
#include "engine/inflight.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "engine/blame.h"
#include "engine/late.h"
#include "engine/pipeline.h"
#include "engine/retry.h"
#include "engine/strict.h"
#include "object/cq.h"
#include "object/dev.h"
#include "stats.h"
#include "trace.h"

/* The scatter/gather list of a slot is directly behind it. */
static void inflight_lay_out(struct weft_inflight *inflight)
{
	struct weft_slot *slot;
	u32 i;

	for (i = 0; i <= inflight->mask; i++) {
		slot = weft_inflight_at(inflight, i);
		slot->wqe.sge = (struct weft_sge *)(slot + 1);
	}
}

/*
 * Give a new QP its one slot, which is all it has until it sends packets. @slot is zeroed and lives
 * as long as the QP. @sges: of the ring, see weft_sq_sges().
 */
void weft_inflight_init(struct weft_qp *qp, struct weft_slot *slot, u32 sges)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->slots = slot;
	inflight->first = slot;
	inflight->stride = weft_slot_size(sges);
	inflight->mask = 0;
	inflight_lay_out(inflight);
}

/*
 * Allocate more slots for a connected QP, while the requester still runs. @entries is the size of
 * its send queue, now or after a resize. @larger gets no slots if @qp has enough already. The
 * caller holds the modify_lock; may sleep. Returns 0 or -ENOMEM.
 */
int weft_inflight_prepare(struct weft_inflight *larger, const struct weft_qp *qp, u32 entries)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	u32 num = roundup_pow_of_two(min_t(u32, entries, WEFT_INFLIGHT_WQES));

	*larger = (struct weft_inflight){
		.first = inflight->first,
		.stride = inflight->stride,
		.mask = num - 1,
	};
	/* the caller holds modify_lock, so nobody else replaces the slots */
	if (larger->mask <= inflight->mask)
		return 0;
	/* waiting for memory with a stopped turn would hold up all peers */
	lockdep_assert(!weft_turn_stopping(&qp->send.turn));
	if (weft_inject_no_memory(qp->dev, qp, WEFT_ALLOC_SLOTS))
		return -ENOMEM;
	larger->slots = kvcalloc(num, larger->stride, GFP_KERNEL_ACCOUNT);
	if (!larger->slots)
		return -ENOMEM;
	inflight_lay_out(larger);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_inflight_prepare);

static void inflight_copy(struct weft_slot *to, const struct weft_slot *from)
{
	struct weft_sge *sge = to->wqe.sge;

	*to = *from;
	to->wqe.sge = sge;
	memcpy(sge, from->wqe.sge, from->wqe.sqe.num_sge * sizeof(*sge));
}

/* Move the requests to the slots of @larger, and the old slots to @larger, to be freed. */
void weft_inflight_install(struct weft_qp *qp, struct weft_inflight *larger)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 i;

	if (!larger->slots)
		return;
	for (i = inflight->head; i != inflight->tail; i++)
		inflight_copy(weft_inflight_at(larger, i), weft_inflight_at(inflight, i));
	swap(inflight->slots, larger->slots);
	inflight->mask = larger->mask;
}
WEFT_EXPORT_FOR_TEST(weft_inflight_install);

/* Free the slots of weft_inflight_prepare(), or those that weft_inflight_install() has replaced. */
void weft_inflight_free(struct weft_inflight *inflight)
{
	if (inflight->slots != inflight->first)
		kvfree(inflight->slots);
	inflight->slots = NULL;
}

/* Forget all requests; the next PSN is weft_send.psn. */
void weft_inflight_reset(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->head = 0;
	inflight->cur = 0;
	inflight->tail = 0;
	WRITE_ONCE(inflight->epoch, inflight->epoch + 1);
	inflight->una = qp->send.psn;
	inflight->next = qp->send.psn;
	inflight->sent = qp->send.psn;
	inflight->reads = 0;
	inflight->retried = false;
	inflight->asked = qp->send.psn;
	inflight->asked_end = qp->send.psn;
	inflight->asked_again = 0;
	inflight->probing = false;
	inflight->parts = false;
	kfree(inflight->repair.gaps);
	inflight->repair = (struct weft_repair){};
	weft_latency_reset(qp);
}

/* The send queue has moved to another ring, and inline data with it. */
void weft_inflight_follow(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot;
	u32 i;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		slot->wqe.inline_data = weft_sq_inline(qp->send.ring, slot->wqe.index);
	}
}

/*
 * The end of a request of a QP without a send CQ, because its SRQ has tags (rendezvous.c): the READ
 * completes the receive of the tag that has matched.
 */
static void inflight_push_tagged(struct weft_qp *qp, const struct weft_slot *slot,
				 enum ib_wc_status status, enum weft_fault fault, u32 byte_len)
{
	struct weft_cq *cq = qp->recv.cq;
	struct weft_cqe cqe = {
		.wr_id = slot->wqe.sqe.wr_id,
		.cookie = qp->cookie,
		.qp_num = qp->qpn,
		.byte_len = byte_len,
		.vendor_err = fault,
		.status = status,
		.opcode = WEFT_WC_TM_RECV,
		.wc_flags = status ? 0 : WEFT_WC_TM_DATA_VALID,
		.flags = WEFT_CQE_RECV | WEFT_CQE_SRQ,
		.port_num = 1,
	};

	if (slot->wqe.sqe.opcode == WEFT_SQE_READ &&
	    !weft_cq_push(cq, &cqe, status, weft_cq_begin(cq)))
		weft_qp_lost(qp, cq, WEFT_FAULT_CQ_OVERRUN);
}

/* weft_send.cq is NULL: there is no send CQ, or completions may have to wait. */
void weft_inflight_push_elsewhere(struct weft_qp *qp, const struct weft_slot *slot,
				  enum ib_wc_status status, enum weft_fault fault, u32 byte_len)
{
	struct weft_cqe cqe = weft_inflight_cqe(qp, slot, status, fault, byte_len);

	if (qp->send_cq)
		weft_late_push(qp, &cqe, slot->late);
	else
		inflight_push_tagged(qp, slot, status, fault, byte_len);
}

/* Complete all answered requests, in order. If the oldest request then has a fault, it fails. */
void weft_inflight_retire(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot;

	while (inflight->head != inflight->cur) {
		slot = weft_inflight_at(inflight, inflight->head);
		if (weft_psn_before(inflight->una, weft_slot_end(slot)))
			return;
		if (weft_strict_is_on() && weft_strict_changed(qp, slot)) {
			weft_inflight_fault(qp, WEFT_FAULT_STRICT_BUFFER);
			return;
		}
		/* its data are there now; those of a WRITE have been looked at when they left */
		if (unlikely(qp->send.pipelines && slot->op->response == WEFT_RESPONSE_READ))
			weft_pipeline_watch(qp, slot);
		if (slot->psns)
			weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, slot->length);
		weft_inflight_complete(qp, slot, IB_WC_SUCCESS, WEFT_FAULT_NONE,
				       slot->psns ? slot->length : 0);
	}
	if (inflight->head == inflight->tail)
		return;
	slot = weft_inflight_at(inflight, inflight->head);
	if (unlikely(slot->fault))
		weft_inflight_fail(qp, slot->status ?: weft_rules_status(slot->fault), slot->fault);
}

static void inflight_count_failure(struct weft_qp *qp, enum ib_wc_status status)
{
	weft_stats_inc(qp, WEFT_STAT_REQ_CQE_ERROR);
	switch (status) {
	case IB_WC_REM_ACCESS_ERR:
		weft_stats_inc(qp, WEFT_STAT_REQ_REMOTE_ACCESS_ERRORS);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		weft_stats_inc(qp, WEFT_STAT_REQ_REMOTE_INVALID_REQUEST);
		break;
	case IB_WC_RETRY_EXC_ERR:
		weft_stats_inc(qp, WEFT_STAT_REQ_TRANSPORT_RETRIES_EXCEEDED);
		break;
	case IB_WC_RNR_RETRY_EXC_ERR:
		weft_stats_inc(qp, WEFT_STAT_REQ_RNR_RETRIES_EXCEEDED);
		break;
	default:
		break;
	}
}

static void inflight_complete_error(struct weft_qp *qp, const struct weft_slot *slot,
				    enum ib_wc_status status, enum weft_fault fault)
{
	weft_inflight_complete(qp, slot, status, fault, 0);
}

/*
 * Does the failure of a request end its stream, and leave the other streams of the DC initiator
 * alone? So it is with its memory, and with what the target says, or does not say, unless too many
 * streams have failed.
 */
static bool inflight_ends_stream(struct weft_qp *qp, const struct weft_slot *slot,
				 enum ib_wc_status status)
{
	struct weft_dc *dc = qp->dc;

	if (likely(!dc) || !dc->streams || slot->op->flags & WEFT_OPF_LOCAL)
		return false;
	switch (status) {
	case IB_WC_LOC_PROT_ERR:
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
		break;
	default:
		return false;
	}
	if (!__test_and_set_bit(weft_dc_stream(&slot->wqe.sqe.dc.to), dc->errored))
		dc->num_errored++;
	return dc->num_errored < BIT(dc->log_errored);
}

/* The QP goes on with the requests of other streams, which get the PSNs that follow. */
static void inflight_go_on(struct weft_qp *qp)
{
	qp->send.psn = qp->send.inflight.una;
	weft_retry_refill(&qp->send.retry);
}

void weft_inflight_fail(struct weft_qp *qp, enum ib_wc_status status, enum weft_fault fault)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot = weft_inflight_at(inflight, inflight->head);

	fault = weft_blame_request(qp, slot, status, fault);
	inflight->repair.state = WEFT_REPAIR_NONE;
	/* requests behind it are flushed, or (UC and UD, back in RTS) get the PSNs that follow */
	inflight->cur = inflight->head + 1;
	inflight->una = weft_slot_end(slot);
	inflight->next = inflight->una;
	inflight->sent = inflight->una;
	if (unlikely(inflight_ends_stream(qp, slot, status)))
		inflight_go_on(qp);
	else if (weft_qp_is_reliable(qp))
		weft_qp_set_error(qp);
	else
		weft_qp_set_sqe(qp);
	inflight_count_failure(qp, status);
	inflight_complete_error(qp, slot, status, fault);
}

void weft_inflight_flush(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	enum weft_fault fault = weft_rules_flushed(READ_ONCE(qp->fault));

	weft_stats_inc(qp, WEFT_STAT_FLUSHED_WRS);
	weft_stats_inc(qp, WEFT_STAT_REQ_CQE_ERROR);
	weft_stats_inc(qp, WEFT_STAT_REQ_CQE_FLUSH_ERROR);
	if (inflight->cur == inflight->head)
		inflight->cur++;
	inflight_complete_error(qp, weft_inflight_at(inflight, inflight->head),
				weft_rules_status(fault), fault);
}

/* A request that waits for its turn, or for its failure, must not be skipped with those sent. */
static bool inflight_is_sent(const struct weft_slot *slot)
{
	return (slot->psns || slot->executed) && !slot->fault;
}

/* Let @psn be sent next, whatever has been sent. */
void weft_inflight_seek(struct weft_inflight *inflight, u32 psn)
{
	const struct weft_slot *slot;

	inflight->reads = 0;
	inflight->next = psn;
	for (inflight->cur = inflight->head; inflight->cur != inflight->tail; inflight->cur++) {
		slot = weft_inflight_at(inflight, inflight->cur);
		if (!inflight_is_sent(slot) || weft_psn_before(psn, weft_slot_end(slot)))
			return;
	}
}

/*
 * Go back to @psn, to send all packets from there on again. That asks for all responses that are
 * missing.
 */
void weft_inflight_rewind(struct weft_qp *qp, u32 psn)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->repair.state = WEFT_REPAIR_NONE;
	inflight->asked = inflight->sent;
	inflight->asked_end = inflight->sent;
	inflight->asked_next = inflight->sent;
	inflight->asked_at = ktime_get();
	inflight->asked_again = 0;
	inflight->probing = false;
	weft_inflight_seek(inflight, psn);
}
