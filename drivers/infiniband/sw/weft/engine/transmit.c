// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/transmit.h"

#include "engine/link.h"
#include "engine/odp.h"
#include "engine/sendq.h"
#include "engine/inflight.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "wire/opcode.h"

/* PSNs that may be without an answer: a quarter of all, so that order is clear. */
#define XMIT_MAX_PSNS	(1U << 22)

/**
 * struct xmit_operations - packets of a message
 * @first: first of several
 * @middle: neither first nor last
 * @last: last of several
 * @only: all of it
 */
struct xmit_operations {
	u8	first;
	u8	middle;
	u8	last;
	u8	only;
};

static const struct xmit_operations xmit_operations[WEFT_SQE_OPCODES] = {
	[WEFT_SQE_SEND] = {
		WEFT_OP_SEND_FIRST, WEFT_OP_SEND_MIDDLE, WEFT_OP_SEND_LAST,
		WEFT_OP_SEND_ONLY,
	},
	[WEFT_SQE_SEND_IMM] = {
		WEFT_OP_SEND_FIRST, WEFT_OP_SEND_MIDDLE, WEFT_OP_SEND_LAST_IMM,
		WEFT_OP_SEND_ONLY_IMM,
	},
	[WEFT_SQE_SEND_INV] = {
		WEFT_OP_SEND_FIRST, WEFT_OP_SEND_MIDDLE, WEFT_OP_SEND_LAST_INV,
		WEFT_OP_SEND_ONLY_INV,
	},
	[WEFT_SQE_WRITE] = {
		WEFT_OP_WRITE_FIRST, WEFT_OP_WRITE_MIDDLE, WEFT_OP_WRITE_LAST,
		WEFT_OP_WRITE_ONLY,
	},
	[WEFT_SQE_WRITE_IMM] = {
		WEFT_OP_WRITE_FIRST, WEFT_OP_WRITE_MIDDLE, WEFT_OP_WRITE_LAST_IMM,
		WEFT_OP_WRITE_ONLY_IMM,
	},
	[WEFT_SQE_READ]		= { .only = WEFT_OP_READ_REQUEST },
	[WEFT_SQE_CMP_SWP]	= { .only = WEFT_OP_CMP_SWP },
	[WEFT_SQE_FETCH_ADD]	= { .only = WEFT_OP_FETCH_ADD },
	[WEFT_SQE_FLUSH]	= { .only = WEFT_OP_FLUSH },
	[WEFT_SQE_ATOMIC_WRITE]	= { .only = WEFT_OP_ATOMIC_WRITE },
	[WEFT_SQE_MASKED_CMP_SWP]	= { .only = WEFT_OP_MASKED_CMP_SWP },
	[WEFT_SQE_MASKED_FETCH_ADD]	= { .only = WEFT_OP_MASKED_FETCH_ADD },
};

/* Only the end of what takes a receive may solicit an event (IBA 9.2.3). */
static bool xmit_solicits(const struct weft_sqe *sqe)
{
	return sqe->flags & WEFT_SQE_SOLICITED && weft_sendq_needs_receive(sqe->opcode);
}

static u8 xmit_opcode(const struct weft_qp *qp, u8 operation)
{
	return WEFT_OPCODE(qp->transport, operation);
}

/* The timer is not moved for each answer; who finds it early starts it again. */
void weft_ack_timeout_start(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	u64 ns = 4096ULL << send->timeout;

	/* 0 means to wait for ever */
	if (!send->timeout || !weft_qp_is_reliable(qp))
		return;
	send->inflight.deadline = ktime_add_ns(ktime_get(), ns);
	/*
	 * Not hrtimer_active(): one whose callback still runs has expired. That which a wait
	 * has started may have, too, and somebody is about to see it.
	 */
	if (!send->waiting && !hrtimer_is_queued(&send->timer))
		hrtimer_start(&send->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

/* Operation of a packet of a slot, by its number. */
static u8 xmit_operation(const struct weft_slot *slot, u32 packet)
{
	const struct xmit_operations *operations = &xmit_operations[slot->sqe.opcode];
	bool last = packet + 1 == slot->psns;

	if (!packet)
		return last ? operations->only : operations->first;
	return last ? operations->last : operations->middle;
}

static void xmit_build_atomic(const struct weft_sqe *sqe, struct weft_hdr *hdr)
{
	bool swap = sqe->opcode == WEFT_SQE_CMP_SWP || sqe->opcode == WEFT_SQE_MASKED_CMP_SWP;

	hdr->atomic.va = sqe->remote_addr;
	hdr->atomic.rkey = sqe->rkey;
	hdr->atomic.compare = swap ? sqe->atomic.compare_add : 0;
	hdr->atomic.swap_add = swap ? sqe->atomic.swap : sqe->atomic.compare_add;
}

/* Of RC, but the opcode is none of IBA. */
static void xmit_build_masked(const struct weft_sqe *sqe, struct weft_hdr *hdr)
{
	hdr->opcode = WEFT_OPCODE(WEFT_TRANSPORT_OWN, xmit_operations[sqe->opcode].only);
	hdr->masks.compare_add = sqe->atomic.compare_add_mask;
	hdr->masks.swap = sqe->atomic.swap_mask;
	xmit_build_atomic(sqe, hdr);
}

/* One packet asks for @packets of a READ, or for all of something else. */
static void xmit_build_response(const struct weft_slot *slot, u32 packets,
				struct weft_tx_batch *batch)
{
	const struct weft_sqe *sqe = &slot->sqe;
	struct weft_hdr *hdr = &batch->hdr;

	batch->num = 1;
	switch (sqe->opcode) {
	case WEFT_SQE_READ:
		hdr->reth.length = min(hdr->reth.length, packets * batch->mtu);
		break;
	case WEFT_SQE_FLUSH:
		hdr->reth.length = sqe->flush.length;
		hdr->feth.placement = sqe->flush.placement;
		hdr->feth.selectivity = sqe->flush.selectivity;
		break;
	case WEFT_SQE_ATOMIC_WRITE:
		batch->length = slot->length;
		break;
	case WEFT_SQE_MASKED_CMP_SWP:
	case WEFT_SQE_MASKED_FETCH_ADD:
		xmit_build_masked(sqe, hdr);
		break;
	default:
		xmit_build_atomic(sqe, hdr);
		break;
	}
}

/*
 * The headers of the packets @from to @to of a slot; of a READ, of the request
 * for them.
 */
static void xmit_build(struct weft_qp *qp, const struct weft_slot *slot,
		       u32 from, u32 to, struct weft_tx_batch *batch)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_sqe *sqe = &slot->sqe;
	u32 offset = from * qp->mtu;
	bool last = to == slot->psns;

	*batch = (struct weft_tx_batch){
		.qp = qp,
		.av = &qp->av,
		.tx = &qp->send.tx,
		.num = to - from,
		.mtu = qp->mtu,
		.by_reference = weft_qp_is_reliable(qp) && !(sqe->flags & WEFT_SQE_INLINE) &&
				!weft_inflight_is_rewound(inflight),
		.middle = xmit_opcode(qp, xmit_operations[sqe->opcode].middle),
		.last = xmit_opcode(qp, xmit_operation(slot, to - 1)),
		.hdr = {
			.opcode = xmit_opcode(qp, xmit_operation(slot, from)),
			.migreq = weft_qp_has_migrated(qp),
			.pkey = weft_qp_pkey(qp),
			.dqpn = qp->dest_qpn,
			.psn = weft_psn_add(slot->first_psn, from),
			.se = last && xmit_solicits(sqe),
			.imm = (__force __be32)sqe->ex,
			.ieth.rkey = sqe->ex,
			.xrceth.srqn = sqe->xrc.srqn,
			.reth.va = sqe->remote_addr + offset,
			.reth.rkey = sqe->rkey,
			.reth.length = slot->length - offset,
		},
	};
	if (weft_sendq_is_response(sqe->opcode)) {
		batch->hdr.opcode = xmit_opcode(qp, xmit_operations[sqe->opcode].only);
		xmit_build_response(slot, to - from, batch);
	} else {
		batch->length = min(slot->length - offset, batch->num * qp->mtu);
	}
}

/* Everything up to @psn has been sent, some of it perhaps again. */
static void xmit_sent(struct weft_qp *qp, u32 psn, u32 packets)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (weft_inflight_is_rewound(inflight))
		weft_stats_add(qp, WEFT_STAT_RETRANSMITS, packets);
	else if (inflight->sent == inflight->una)
		weft_ack_timeout_start(qp);
	inflight->next = psn;
	if (weft_psn_before(inflight->sent, psn))
		inflight->sent = psn;
}

/* All packets of the current request have been sent. */
static void xmit_slot_done(struct weft_qp *qp, const struct weft_slot *slot)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	inflight->cur++;
	if (qp->type == IB_QPT_UC)
		inflight->una = inflight->next;
	/* of UC, and of local operations, nothing is waited for */
	if (qp->type == IB_QPT_UC || !slot->psns)
		weft_inflight_retire(qp);
}

/* The request cannot go: it fails as soon as those before it are complete. */
static void xmit_fault(struct weft_qp *qp, struct weft_slot *slot, enum weft_fault fault)
{
	slot->fault = fault;
	weft_inflight_retire(qp);
}

/* Is there perhaps no receive for it? When its first packet is answered, there is. */
static bool xmit_lacks_credit(const struct weft_qp *qp, const struct weft_slot *slot)
{
	const struct weft_inflight *inflight = &qp->send.inflight;

	return weft_sendq_needs_receive(slot->sqe.opcode) &&
	       !weft_inflight_has_credit(inflight, slot) &&
	       !weft_psn_before(slot->first_psn, inflight->una);
}

static bool xmit_packets(struct weft_qp *qp, struct weft_slot *slot, u32 from, u32 to,
			 s64 *bytes)
{
	bool response = weft_sendq_is_response(slot->sqe.opcode);
	struct weft_iter payload;
	enum weft_fault fault;
	struct weft_tx_batch batch __uninitialized;
	u32 sent;

	xmit_build(qp, slot, from, to, &batch);
	batch.hdr.ackreq = weft_qp_is_reliable(qp) && !response &&
			 (to == slot->psns || !(to % WEFT_ACK_PACKETS) ||
			  /* the next ones may leave after the ack timeout */
			  qp->send.paced || xmit_lacks_credit(qp, slot));
	if (batch.length) {
		fault = weft_sendq_gather(qp, &slot->sqe, slot->sge, slot->inline_data);
		if (unlikely(fault == WEFT_FAULT_PAGES))
			fault = weft_sendq_page(qp, &qp->send.odp, &slot->sqe, slot->sge,
						(u64)from * qp->mtu, batch.length);
		if (unlikely(fault == WEFT_FAULT_PAGES))
			return false;
		if (unlikely(fault)) {
			xmit_fault(qp, slot, fault);
			return true;
		}
		weft_sgl_iter(&qp->send.sgl, &payload);
		if (from)
			weft_iter_skip(&payload, (u64)from * qp->mtu);
		batch.payload = &payload;
	}
	sent = qp->dev->wire->xmit(&batch);
	if (from + sent < slot->psns)
		weft_odp_keep(&qp->send.odp);
	weft_sgl_release(&qp->send.sgl);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, batch.length);
	if (!sent)
		return false;
	*bytes -= min(batch.length, sent * qp->mtu);
	if (response) {
		qp->send.inflight.reads++;
		sent = to - from;
	}
	xmit_sent(qp, weft_psn_add(slot->first_psn, from + sent), response ? 1 : sent);
	if (from + sent == slot->psns) {
		weft_odp_end(&qp->send.odp);
		xmit_slot_done(qp, slot);
	}
	return from + sent == to;
}

/* A fence waits for READs, atomics and what else is answered (IBA 10.8.3.3). */
static bool xmit_is_fenced(const struct weft_qp *qp, const struct weft_sqe *sqe)
{
	return sqe->flags & WEFT_SQE_FENCE && qp->send.inflight.reads;
}

/* The next request of a READ, or what is answered like one, if it may go now. */
static bool xmit_response(struct weft_qp *qp, struct weft_slot *slot, u32 from,
			  s64 *bytes)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	u32 to = weft_slot_read_end(slot, from);
	u32 unanswered = weft_inflight_unanswered(inflight);

	if (inflight->reads >= qp->send.max_rd_atomic ||
	    (unanswered && unanswered + to - from > WEFT_INFLIGHT_PACKETS))
		return false;
	return xmit_packets(qp, slot, from, to, bytes);
}

/* The next packets of a slot, as many as may go now. */
static bool xmit_slot(struct weft_qp *qp, struct weft_slot *slot, s64 *bytes)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 from = (inflight->next - slot->first_psn) & WEFT_PSN_MASK;
	u32 to = slot->psns, room, unanswered;

	if (!from && xmit_is_fenced(qp, &slot->sqe))
		return false;
	if (to > 1)
		weft_sendq_disarm(qp);
	if (weft_sendq_is_response(slot->sqe.opcode))
		return xmit_response(qp, slot, from, bytes);
	unanswered = weft_inflight_unanswered(inflight);
	/* one packet then, to be told of new credits (IBA 9.7.7.2.5) */
	if (xmit_lacks_credit(qp, slot))
		return !unanswered && xmit_packets(qp, slot, 0, 1, bytes);
	if (weft_qp_is_reliable(qp) && unanswered >= WEFT_INFLIGHT_PACKETS)
		return false;
	room = weft_qp_is_reliable(qp) ? WEFT_INFLIGHT_PACKETS - unanswered : WEFT_TX_BATCH_PACKETS;
	/* so that a long message asks for an acknowledge on the way */
	room = min3(room, qp->send.batch_packets,
		    WEFT_ACK_PACKETS - from % WEFT_ACK_PACKETS);
	return xmit_packets(qp, slot, from, min(to, from + room), bytes);
}

static bool xmit_local(struct weft_qp *qp, struct weft_slot *slot)
{
	enum weft_fault fault = WEFT_FAULT_NONE;

	if (xmit_is_fenced(qp, &slot->sqe))
		return false;
	if (!slot->executed)
		fault = weft_sendq_local(qp, &slot->sqe);
	slot->executed = true;
	if (fault)
		xmit_fault(qp, slot, fault);
	else
		xmit_slot_done(qp, slot);
	return true;
}

/* The next work request becomes a slot. Return: false: there is none. */
static bool xmit_take(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;
	enum weft_fault fault;
	u32 length = 0;

	if (weft_inflight_is_full(inflight) ||
	    !weft_sendq_next(qp, inflight->tail - inflight->head))
		return false;
	fault = weft_sendq_check(qp);
	if (!fault && !weft_sendq_is_local(send->wqe.sqe.opcode)) {
		fault = weft_sendq_measure(qp, &length);
		if (weft_rules_psn_count(length, qp->mtu) > XMIT_MAX_PSNS)
			fault = WEFT_FAULT_LOCAL_LENGTH;
	}
	weft_inflight_push(qp, length, fault);
	if (fault)
		weft_inflight_retire(qp);
	return true;
}

bool weft_transmit_may_sleep(const struct weft_qp *qp)
{
	const struct weft_inflight *inflight = &qp->send.inflight;

	return inflight->cur != inflight->tail &&
	       weft_sendq_may_sleep(weft_inflight_at(inflight, inflight->cur)->sqe.opcode);
}

/* All that has been taken is on its way, and no more is there; as the client is told. */
static bool xmit_is_idle(struct weft_qp *qp)
{
	const struct weft_inflight *inflight = &qp->send.inflight;

	/* who changes the state from here on posts an event after it */
	return inflight->cur == inflight->tail && weft_qp_state(qp) == IB_QPS_RTS &&
	       !weft_sendq_look(qp, inflight->tail - inflight->head);
}

bool weft_transmit_step(struct weft_qp *qp, bool take, s64 *bytes)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot;

	weft_assert_turn(&qp->send.turn);
	if (inflight->cur == inflight->tail) {
		if (!take || !xmit_take(qp))
			return false;
		slot = weft_inflight_at(inflight, inflight->tail - 1);
		/* it has failed, or the next step may sleep, and may not do that here */
		if (slot->fault || !slot->psns)
			return true;
	}
	slot = weft_inflight_at(inflight, inflight->cur);
	if (slot->fault)
		return false;
	if (!slot->psns)
		return xmit_local(qp, slot);
	return xmit_slot(qp, slot, bytes) && !xmit_is_idle(qp);
}
