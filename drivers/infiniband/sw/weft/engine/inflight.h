/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Inflight requests: from the send queue into slots, and out as completions. */
#ifndef WEFT_ENGINE_INFLIGHT_H
#define WEFT_ENGINE_INFLIGHT_H

#include "engine/opdef.h"
#include "engine/retry.h"
#include "engine/strict.h"
#include "object/comp_cntr.h"
#include "object/cq.h"
#include "object/latency.h"
#include "object/qp.h"
#include "params.h"
#include "trace.h"
#include "wire/psn.h"
static inline u32 weft_slot_size(u32 sges)
{
	return ALIGN(sizeof(struct weft_slot) + sges * sizeof(struct weft_sge), 16);
}

void weft_inflight_init(struct weft_qp *qp, struct weft_slot *slot, u32 sges);
int weft_inflight_prepare(struct weft_inflight *larger, const struct weft_qp *qp, u32 entries);
void weft_inflight_install(struct weft_qp *qp, struct weft_inflight *larger);
void weft_inflight_free(struct weft_inflight *inflight);
void weft_inflight_reset(struct weft_qp *qp);
void weft_inflight_follow(struct weft_qp *qp);

/*
 * Ask the client not to ring: the requester finds its next work requests by looking at the ring
 * before it gives the turn back.
 *
 * This pays if the requester stays busy for a while. For a single short message it is cheaper to
 * leave the doorbell armed than to arm it again, which takes a barrier.
 */
static __always_inline void weft_inflight_disarm(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	weft_assert_turn(&send->turn);
	if (!send->doorbell_armed)
		return;
	weft_ring_set_flags(send->ring, 0, WEFT_RING_NEED_DOORBELL);
	send->doorbell_armed = false;
}

void weft_inflight_push_elsewhere(struct weft_qp *qp, const struct weft_slot *slot,
				  enum ib_wc_status status, enum weft_fault fault, u32 byte_len);
void weft_inflight_retire(struct weft_qp *qp);
void weft_inflight_seek(struct weft_inflight *inflight, u32 psn);
void weft_inflight_rewind(struct weft_qp *qp, u32 psn);
void weft_inflight_fail(struct weft_qp *qp, enum ib_wc_status status, enum weft_fault fault);

static inline void weft_inflight_fault(struct weft_qp *qp, enum weft_fault fault)
{
	weft_inflight_fail(qp, weft_rules_status(fault), fault);
}

void weft_inflight_flush(struct weft_qp *qp);

static inline bool weft_inflight_is_empty(const struct weft_inflight *inflight)
{
	return inflight->head == inflight->tail;
}

/* The slot with index @i, which is from head to tail. */
static inline struct weft_slot *weft_inflight_at(const struct weft_inflight *inflight, u32 i)
{
	return inflight->slots + (size_t)(i & inflight->mask) * inflight->stride;
}

/* The PSN after the last one of a request. */
static inline u32 weft_slot_end(const struct weft_slot *slot)
{
	return weft_psn_add(slot->first_psn, slot->psns);
}

/*
 * Where the responses end that one request packet asks for if it begins at @packet; both are
 * counted from the first PSN of the request. A READ is requested in parts of WEFT_READ_PACKETS,
 * which begin at fixed PSNs, so a READ that is repeated from any PSN on is cut at the same places.
 */
static inline u32 weft_slot_read_end(const struct weft_slot *slot, u32 packet)
{
	return min(slot->psns, round_down(packet, WEFT_READ_PACKETS) + WEFT_READ_PACKETS);
}

/* Has the next packet been sent before? */
static inline bool weft_inflight_is_rewound(const struct weft_inflight *inflight)
{
	return weft_psn_before(inflight->next, inflight->sent);
}

static inline u32 weft_inflight_unanswered(const struct weft_inflight *inflight)
{
	return (inflight->next - inflight->una) & WEFT_PSN_MASK;
}

/* weft_inflight.next, or what it is again after the packets of a repair have been sent. */
static inline u32 weft_inflight_front(const struct weft_inflight *inflight)
{
	return inflight->repair.state == WEFT_REPAIR_WANTED ? inflight->repair.next :
							      inflight->next;
}

/* Is a response of a weft what is missing first? */
static inline bool weft_inflight_may_ask(const struct weft_inflight *inflight)
{
	return inflight->parts && inflight->head != inflight->tail &&
	       weft_opdef_responds(weft_inflight_at(inflight, inflight->head)->op);
}

/* The packets from una to next that the peer keeps, by its gap maps. */
static inline u32 weft_inflight_kept(const struct weft_inflight *inflight)
{
	const struct weft_repair *repair = &inflight->repair;

	return unlikely(repair->state == WEFT_REPAIR_SENT) && repair->gaps ? repair->gaps->num : 0;
}

/* Packets that may be sent now. */
static inline u32 weft_inflight_room(const struct weft_send *send)
{
	u32 unanswered = weft_inflight_unanswered(&send->inflight);
	u32 kept = weft_inflight_kept(&send->inflight);
	u32 limit = min_t(u32, send->window.packets + kept, WEFT_EARLY_PACKETS);

	return limit > unanswered ? limit - unanswered : 0;
}

static __always_inline struct weft_cqe weft_inflight_cqe(const struct weft_qp *qp,
							 const struct weft_slot *slot,
							 enum ib_wc_status status,
							 enum weft_fault fault, u32 byte_len)
{
	return (struct weft_cqe){
		.wr_id = slot->wqe.sqe.wr_id,
		.cookie = qp->cookie,
		.qp_num = qp->qpn,
		.byte_len = byte_len,
		.wqe_index = slot->wqe.index,
		.vendor_err = fault,
		.status = status,
		.opcode = slot->op->wc_opcode,
		.port_num = 1,
	};
}

/* The oldest request leaves the slots and the ring, with a completion if it asks for one. */
static __always_inline void weft_inflight_complete(struct weft_qp *qp, const struct weft_slot *slot,
						   enum ib_wc_status status, enum weft_fault fault,
						   u32 byte_len)
{
	struct weft_cq *cq = qp->send.cq;
	struct weft_cqe cqe;
	unsigned long flags;

	trace_weft_wr_complete(qp, slot, status, fault, byte_len);
	if (weft_latency_is_on() && !status)
		weft_latency_done(qp, byte_len);
	qp->send.inflight.head++;
	weft_ring_release(qp->send.ring);
	weft_comp_cntr_count(qp, slot->op->counted, status, byte_len);
	if (!status && !qp->sig_all && !(slot->wqe.sqe.flags & WEFT_SQE_SIGNALED))
		return;
	if (unlikely(!cq)) {
		weft_inflight_push_elsewhere(qp, slot, status, fault, byte_len);
		return;
	}
	flags = weft_cq_begin(cq);
	cqe = weft_inflight_cqe(qp, slot, status, fault, byte_len);
	if (unlikely(!weft_cq_push(cq, &cqe, status, flags)))
		weft_qp_lost(qp, cq, WEFT_FAULT_CQ_OVERRUN);
}

/* A link that answers at once has executed the only request. @byte_len: for its completion */
static __always_inline void weft_inflight_done(struct weft_qp *qp, const struct weft_slot *slot,
					       u32 byte_len)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (weft_strict_is_on() && weft_strict_changed(qp, slot)) {
		weft_inflight_fault(qp, WEFT_FAULT_STRICT_BUFFER);
		return;
	}
	inflight->cur++;
	inflight->una = qp->send.psn;
	inflight->next = qp->send.psn;
	inflight->sent = qp->send.psn;
	weft_retry_refill(&qp->send.retry);
	weft_inflight_complete(qp, slot, IB_WC_SUCCESS, WEFT_FAULT_NONE, byte_len);
}

#endif /* WEFT_ENGINE_INFLIGHT_H */
