/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Inflight requests: from the send queue into slots, and out as completions.
 *
 * The requester takes a work request from the ring into a slot. A link executes the request at
 * @cur. A link that answers at once (the local link, datagrams) calls weft_inflight_done(). One
 * that sends packets lets requests stay until they are answered, so that any packet can be sent
 * again, and calls weft_inflight_retire().
 *
 * All of it needs the send turn, owned or stopped, but weft_inflight_prepare() and
 * weft_inflight_free().
 */
#ifndef WEFT_ENGINE_INFLIGHT_H
#define WEFT_ENGINE_INFLIGHT_H

#include "engine/opdef.h"
#include "engine/retry.h"
#include "object/qp.h"
#include "params.h"
#include "trace.h"
#include "wire/psn.h"

/* Bytes of a slot whose work request may have @sges elements. */
static inline u32 weft_slot_size(u32 sges)
{
	return ALIGN(sizeof(struct weft_slot) + sges * sizeof(struct weft_sge), 16);
}

/**
 * weft_inflight_init - one slot is all that a QP has before it sends packets
 * @qp: new
 * @slot: zeroed, as long as the QP lives
 * @sges: elements that an entry of its ring can have, weft_sq_sges()
 */
void weft_inflight_init(struct weft_qp *qp, struct weft_slot *slot, u32 sges);

/**
 * weft_inflight_prepare - get memory for more slots, while the requester still runs
 * @larger: result; without slots when those of @qp are enough already
 * @qp: connected; the caller holds its modify_lock
 * @entries: of the send queue that it has or gets
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int weft_inflight_prepare(struct weft_inflight *larger, const struct weft_qp *qp, u32 entries);

/* Move what is in a QP's slots to @larger, which gets the memory that was in use before. */
void weft_inflight_install(struct weft_qp *qp, struct weft_inflight *larger);

/* Free what weft_inflight_prepare() has allocated. */
void weft_inflight_free(struct weft_inflight *inflight);

/* Forget all requests; the next PSN is weft_send.psn. */
void weft_inflight_reset(struct weft_qp *qp);

/* The send queue is in another ring, and so are inline data. */
void weft_inflight_follow(struct weft_qp *qp);

/**
 * weft_inflight_disarm - what is posted from now on will be found without a doorbell
 * @qp: weft_inflight_look() is due
 *
 * Worth it when that takes a while: for a single short message it is cheaper to leave the
 * client ring than to ask it anew, which takes a barrier.
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

/**
 * weft_inflight_look - is there a next work request in the ring?
 * @qp: any
 *
 * With an empty ring the client is asked to ring, unless it has been. The order of
 * looking and asking: see the proof in weft-abi.h. What is returned is what the client's
 * index said when it was read last: nobody has to read it again.
 *
 * Return: how many there are; 0: none; negative: the client's index is impossible.
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

/* A completion for the oldest request. */
void weft_inflight_push_cqe(struct weft_qp *qp, const struct weft_slot *slot,
			    enum ib_wc_status status, enum weft_fault fault, u32 byte_len);

/* Complete what can be completed, in order; a request with a fault fails when it is the oldest. */
void weft_inflight_retire(struct weft_qp *qp);

/**
 * weft_inflight_rewind - send again from a PSN on
 * @qp: any
 * @psn: between the oldest one without an answer and the last one sent
 */
void weft_inflight_rewind(struct weft_qp *qp, u32 psn);

/* The oldest request fails; the QP follows (IBA 10.3.1). */
void weft_inflight_fail(struct weft_qp *qp, enum ib_wc_status status, enum weft_fault fault);

/* The same, with the status that goes with the fault. */
static inline void weft_inflight_fault(struct weft_qp *qp, enum weft_fault fault)
{
	weft_inflight_fail(qp, weft_rules_status(fault), fault);
}

/* The oldest request completes as flushed. */
void weft_inflight_flush(struct weft_qp *qp);

static inline bool weft_inflight_is_empty(const struct weft_inflight *inflight)
{
	return inflight->head == inflight->tail;
}

static inline bool weft_inflight_is_full(const struct weft_inflight *inflight)
{
	return inflight->tail - inflight->head > inflight->mask;
}

/* Slot number @i, between the head and the tail. */
static inline struct weft_slot *weft_inflight_at(const struct weft_inflight *inflight, u32 i)
{
	return inflight->slots + (size_t)(i & inflight->mask) * inflight->stride;
}

/* One after the last PSN of a request. */
static inline u32 weft_slot_end(const struct weft_slot *slot)
{
	return weft_psn_add(slot->first_psn, slot->psns);
}

/*
 * Number of the packet after @packet's request: of SENDs and WRITEs each packet is one, READs
 * are asked for in parts that begin where a retry cannot move them.
 */
static inline u32 weft_slot_read_end(const struct weft_slot *slot, u32 packet)
{
	return min(slot->psns, round_down(packet, WEFT_READ_PACKETS) + WEFT_READ_PACKETS);
}

/* Does the peer have a receive for an RC request, as far as we know? (IBA 9.7.7.2) */
static inline bool weft_inflight_has_credit(const struct weft_inflight *inflight,
					    const struct weft_slot *slot)
{
	return !inflight->limited || weft_psn_diff(slot->ssn, inflight->limit) <= 0;
}

/* Have the packets that go next been sent before? */
static inline bool weft_inflight_is_rewound(const struct weft_inflight *inflight)
{
	return weft_psn_before(inflight->next, inflight->sent);
}

/* PSNs without an answer. */
static inline u32 weft_inflight_unanswered(const struct weft_inflight *inflight)
{
	return (inflight->next - inflight->una) & WEFT_PSN_MASK;
}

/* What is wrong with a work request that has been copied into a slot? */
static __always_inline enum weft_fault weft_slot_check(const struct weft_send *send,
						       const struct weft_slot *slot,
						       int malformed)
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

/**
 * weft_inflight_take - copy the next work request into a slot
 * @qp: any
 *
 * Sets the slot's @fault if the request cannot be executed: its form, its operation, or
 * max_rd_atomic is 0.
 *
 * Return: the slot; NULL: there is none, or no free slot.
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
	slot = weft_inflight_at(inflight, inflight->tail);
	malformed = weft_sq_next(send->ring, inflight->tail - inflight->head, &slot->wqe);
	slot->op = weft_opdef(slot->wqe.sqe.opcode);
	slot->first_psn = send->psn;
	slot->psns = 0;
	slot->ssn = inflight->ssn;
	slot->done = 0;
	slot->executed = false;
	slot->fault = weft_slot_check(send, slot, malformed);
	trace_weft_wr_begin(qp->qpn, slot->wqe.index, slot->wqe.sqe.opcode, slot->fault);
	inflight->tail++;
	return slot;
}

/* The oldest request leaves the slots and the ring, with a completion if it asks for one. */
static __always_inline void weft_inflight_complete(struct weft_qp *qp,
						   const struct weft_slot *slot,
						   enum ib_wc_status status,
						   enum weft_fault fault, u32 byte_len)
{
	trace_weft_wr_complete(qp->qpn, slot->wqe.index, slot->wqe.sqe.opcode, status, fault,
			       byte_len);
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
