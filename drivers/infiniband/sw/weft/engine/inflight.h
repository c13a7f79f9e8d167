/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Inflight requests: from the send queue into slots, and out as completions. */
#ifndef WEFT_ENGINE_INFLIGHT_H
#define WEFT_ENGINE_INFLIGHT_H

#include "engine/opdef.h"
#include "engine/retry.h"
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
 * Ask the client not to ring: its next work requests will be found by weft_inflight_look(), which
 * the caller must call before it gives the turn back.
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

/*
 * Count the work requests in the ring that have not been taken. If there is none, arm the doorbell
 * (unless it is armed), and look again: weft-abi.h proves that no work request is overlooked.
 * weft_inflight_take() relies on the count, and does not read shared memory again. Negative: the
 * client's index is impossible.
 */
static __always_inline int weft_inflight_look(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	int ahead = send->inflight.tail - send->inflight.head;
	int pending = weft_ring_pending(send->ring);

	weft_assert_turn(&send->turn);
	if (!send->doorbell_armed && pending >= 0 && pending <= ahead) {
		weft_ring_arm_doorbell(send->ring);
		send->doorbell_armed = true;
		pending = weft_ring_pending(send->ring);
	}
	return pending < 0 ? pending : max(pending - ahead, 0);
}

void weft_inflight_push_cqe(struct weft_qp *qp, const struct weft_slot *slot,
			    enum ib_wc_status status, enum weft_fault fault, u32 byte_len);
void weft_inflight_retire(struct weft_qp *qp);
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

static inline bool weft_inflight_is_full(const struct weft_inflight *inflight)
{
	return inflight->tail - inflight->head > inflight->mask;
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

static __always_inline enum weft_fault weft_slot_check(const struct weft_send *send,
						       const struct weft_slot *slot, int malformed)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	if (unlikely(malformed ||
		     (sqe->flags & WEFT_SQE_INLINE && !weft_opdef_may_inline(slot->op))))
		return WEFT_FAULT_MALFORMED;
	if (unlikely(!(BIT(sqe->opcode) & send->opcodes)))
		return WEFT_FAULT_OPCODE;
	if (unlikely(weft_opdef_responds(slot->op) && !send->max_rd_atomic))
		return WEFT_FAULT_NO_CREDIT;
	return WEFT_FAULT_NONE;
}

/*
 * Copy the next work request into a slot. Its @fault is set if the request cannot be executed:
 * because of its form, its operation, or a max_rd_atomic of 0. Returns NULL if there is no work
 * request, or no free slot.
 */
static __always_inline struct weft_slot *weft_inflight_take(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;
	struct weft_slot *slot;
	int more, malformed;

	if (weft_inflight_is_full(inflight))
		return NULL;
	more = weft_inflight_look(qp);
	if (!more)
		return NULL;
	if (unlikely(more < 0)) {
		weft_qp_fatal(qp, WEFT_FAULT_QUEUE_INDEX);
		return NULL;
	}
	if (more > 1)
		weft_inflight_disarm(qp);
	if (weft_latency_is_on())
		weft_latency_found(qp, more);
	slot = weft_inflight_at(inflight, inflight->tail);
	malformed = weft_sq_next(send->ring, inflight->tail - inflight->head, &slot->wqe);
	slot->op = weft_opdef(slot->wqe.sqe.opcode);
	slot->first_psn = send->psn;
	slot->psns = 0;
	slot->ssn = inflight->ssn;
	slot->done = 0;
	slot->executed = false;
	slot->status = 0;
	slot->fault = weft_slot_check(send, slot, malformed);
	trace_weft_wr_begin(qp, slot);
	inflight->tail++;
	return slot;
}

/* The oldest request leaves the slots and the ring, with a completion if it asks for one. */
static __always_inline void weft_inflight_complete(struct weft_qp *qp, const struct weft_slot *slot,
						   enum ib_wc_status status, enum weft_fault fault,
						   u32 byte_len)
{
	trace_weft_wr_complete(qp, slot, status, fault, byte_len);
	if (weft_latency_is_on() && !status)
		weft_latency_done(qp, byte_len);
	qp->send.inflight.head++;
	weft_ring_release(qp->send.ring);
	if (status || qp->sig_all || slot->wqe.sqe.flags & WEFT_SQE_SIGNALED)
		weft_inflight_push_cqe(qp, slot, status, fault, byte_len);
}

/* A link that answers at once has executed the only request. @byte_len: for its completion */
static __always_inline void weft_inflight_done(struct weft_qp *qp, const struct weft_slot *slot,
					       u32 byte_len)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->cur++;
	inflight->una = qp->send.psn;
	inflight->next = qp->send.psn;
	inflight->sent = qp->send.psn;
	weft_retry_refill(&qp->send.retry);
	weft_inflight_complete(qp, slot, IB_WC_SUCCESS, WEFT_FAULT_NONE, byte_len);
}

#endif /* WEFT_ENGINE_INFLIGHT_H */
