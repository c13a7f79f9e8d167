// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/transmit.h"

#include "engine/early.h"
#include "engine/gather.h"
#include "engine/inflight.h"
#include "engine/odp.h"
#include "engine/piggyback.h"
#include "engine/repair.h"
#include "engine/responder.h"
#include "engine/retry.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "wire/opcode.h"

/* Limit of a request's PSNs: a quarter of the PSN space, so that PSNs can be ordered. */
#define XMIT_MAX_PSNS	(1U << 22)

void weft_build_read(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch)
{
	batch->hdr.reth.length = min(batch->hdr.reth.length, packets * batch->mtu);
}

void weft_build_cmp_swp(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	batch->hdr.atomic.va = sqe->remote_addr;
	batch->hdr.atomic.rkey = sqe->rkey;
	batch->hdr.atomic.compare = sqe->atomic.compare_add;
	batch->hdr.atomic.swap_add = sqe->atomic.swap;
}

void weft_build_fetch_add(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	batch->hdr.atomic.va = sqe->remote_addr;
	batch->hdr.atomic.rkey = sqe->rkey;
	batch->hdr.atomic.compare = 0;
	batch->hdr.atomic.swap_add = sqe->atomic.compare_add;
}

static void xmit_build_masks(const struct weft_sqe *sqe, struct weft_hdr *hdr)
{
	hdr->masks.compare_add = sqe->atomic.compare_add_mask;
	hdr->masks.swap = sqe->atomic.swap_mask;
}

void weft_build_masked_cmp_swp(const struct weft_slot *slot, u32 packets,
			       struct weft_tx_batch *batch)
{
	xmit_build_masks(&slot->wqe.sqe, &batch->hdr);
	weft_build_cmp_swp(slot, packets, batch);
}

void weft_build_masked_fetch_add(const struct weft_slot *slot, u32 packets,
				 struct weft_tx_batch *batch)
{
	xmit_build_masks(&slot->wqe.sqe, &batch->hdr);
	weft_build_fetch_add(slot, packets, batch);
}

void weft_build_flush(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	batch->hdr.reth.length = sqe->flush.length;
	batch->hdr.feth.placement = sqe->flush.placement;
	batch->hdr.feth.selectivity = sqe->flush.selectivity;
}

void weft_build_atomic_write(const struct weft_slot *slot, u32 packets,
			     struct weft_tx_batch *batch)
{
	batch->length = slot->length;
}

/* Opcode of packet number @packet of a request. */
static u8 xmit_opcode(const struct weft_qp *qp, const struct weft_slot *slot, u32 packet)
{
	const struct weft_opdef *op = slot->op;
	u8 transport = op->flags & WEFT_OPF_OWN ? WEFT_TRANSPORT_OWN : qp->transport;
	bool last = packet + 1 == slot->psns;

	if (!packet)
		return WEFT_OPCODE(transport, last ? op->only : op->first);
	return WEFT_OPCODE(transport, last ? op->last : op->middle);
}

/*
 * Describe packets @from to @to (exclusive) of a request. If the request has a response, these are
 * the packets of the response, and the batch is the one packet that asks for them.
 */
void weft_transmit_describe(struct weft_qp *qp, const struct weft_slot *slot, u32 from, u32 to,
			    struct weft_tx_batch *batch)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;
	const struct weft_opdef *op = slot->op;
	bool again = weft_inflight_is_rewound(&qp->send.inflight);
	u32 offset = from * qp->mtu;

	*batch = (struct weft_tx_batch){
		.qp = qp,
		.av = &qp->av,
		.tx = &qp->send.tx,
		.mtu = qp->mtu,
		.by_reference = weft_qp_is_reliable(qp) && !(sqe->flags & WEFT_SQE_INLINE) &&
				!again,
		.again = again,
		.hdr = {
			.migreq = weft_qp_has_migrated(qp),
			.pkey = weft_qp_pkey(qp),
			.dqpn = qp->dest_qpn,
			.psn = weft_psn_add(slot->first_psn, from),
			/*
			 * IBA 9.2.3: only the last packet of a message that takes a receive may
			 * solicit an event
			 */
			.se = to == slot->psns && sqe->flags & WEFT_SQE_SOLICITED &&
			      op->flags & WEFT_OPF_RECEIVE,
			.imm = (__force __be32)sqe->ex,
			.ieth.rkey = sqe->ex,
			.xrceth.srqn = sqe->xrc.srqn,
			.reth.va = sqe->remote_addr + offset,
			.reth.rkey = sqe->rkey,
			.reth.length = slot->length - offset,
		},
	};
	if (weft_opdef_responds(op)) {
		batch->num = 1;
		batch->hdr.opcode = WEFT_OPCODE(op->flags & WEFT_OPF_OWN ? WEFT_TRANSPORT_OWN :
								     qp->transport, op->only);
		op->build(slot, to - from, batch);
		return;
	}
	batch->num = to - from;
	batch->length = min(slot->length - offset, batch->num * qp->mtu);
	batch->hdr.opcode = xmit_opcode(qp, slot, from);
	batch->middle = WEFT_OPCODE(qp->transport, op->middle);
	batch->last = xmit_opcode(qp, slot, to - 1);
}

/*
 * The packets of an RC request, from number @from on, for which the peer has a receive by its last
 * acknowledge (IBA 9.7.7.2). U32_MAX: all. Once the first packet has been answered there is one.
 */
static u32 xmit_credit(const struct weft_qp *qp, const struct weft_slot *slot, u32 from)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	s32 left;

	if (!(slot->op->flags & WEFT_OPF_RECEIVE) || !inflight->limited ||
	    weft_psn_before(slot->first_psn, inflight->una))
		return U32_MAX;
	if (likely(!(qp->flags & WEFT_QP_PACKET_CREDITS)))
		return weft_psn_diff(slot->ssn, inflight->limit) <= 0 ? U32_MAX : 0;
	left = weft_psn_diff(inflight->limit, slot->taking);
	if (!(slot->op->flags & WEFT_OPF_SEND))
		return left > 0 ? U32_MAX : 0;
	return max(left - (s32)from, 0);
}

/*
 * Will there be an acknowledge, which may bring credit? The credit of a message lasts to its end,
 * where it asks; that of packets may shrink while they are sent.
 */
static bool xmit_has_asked(const struct weft_qp *qp)
{
	return !(qp->flags & WEFT_QP_PACKET_CREDITS) || qp->send.inflight.ackreq;
}

/* Packets up to (excluding) @psn have been sent, perhaps again. */
static void xmit_sent(struct weft_qp *qp, u32 psn, u32 packets)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (weft_inflight_is_rewound(inflight))
		weft_stats_add(qp, WEFT_STAT_RETRANSMITS, packets);
	else if (inflight->sent == inflight->una)
		weft_retry_begin(qp);
	else
		weft_retry_sent(&qp->send.retry, inflight->next);
	inflight->next = psn;
	if (weft_psn_before(inflight->sent, psn))
		inflight->sent = psn;
}

/* Does an acknowledge wait for a packet to leave with? */
static bool xmit_is_waited_for(const struct weft_qp *qp)
{
	return unlikely(READ_ONCE(qp->recv.piggyback.waits));
}

/*
 * Let the packets leave that this run has kept. Return: false: they will be sent later, when the
 * event comes.
 */
bool weft_transmit_release(struct weft_qp *qp, struct weft_budget *budget)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_retry *retry = &qp->send.retry;
	u32 reads = inflight->reads, psn = budget->held->psn;
	bool ackreq = budget->held->ackreq, waits = xmit_is_waited_for(qp), joined, left;

	joined = waits && weft_responder_join(qp, budget->held);
	left = qp->dev->wire->release(qp, budget->held);
	if (joined)
		weft_responder_joined(qp, left);
	else if (waits)
		weft_responder_alone(qp);
	if (left) {
		if (!weft_psn_before(retry->sample_psn, psn))
			retry->sample_at = ktime_get();
		return true;
	}
	/* a request has failed meanwhile */
	if (weft_psn_before(psn, inflight->una))
		return false;
	weft_inflight_seek(inflight, psn);
	/* none of them has a response, and none has been sent before */
	inflight->reads = reads;
	inflight->sent = psn;
	inflight->ackreq = ackreq;
	retry->measuring = false;
	return false;
}

/* May a packet leave with others? Not if it asks for a response, or is measured or limited. */
static bool xmit_may_join(const struct weft_qp *qp, const struct weft_tx_batch *batch,
			  bool responds, const struct weft_budget *budget)
{
	return !responds && budget->held && batch->num == 1 && !batch->again &&
	       weft_qp_is_reliable(qp) && !qp->send.paced && qp->dev->wire->hold;
}

/*
 * Send a batch, or keep it for a while, if others may follow: those of requests that have been
 * posted already, or an acknowledge. Return: see weft_link.xmit.
 */
static u32 xmit_or_hold(struct weft_qp *qp, struct weft_tx_batch *batch, bool responds,
			struct weft_budget *budget)
{
	const struct weft_link *wire = qp->dev->wire;
	bool may = xmit_may_join(qp, batch, responds, budget);
	struct weft_held *held = budget->held;
	u32 sent;

	if (may) {
		weft_piggyback_sent(&qp->recv.piggyback);
		may = !qp->send.doorbell_armed || xmit_is_waited_for(qp);
	}
	if (may && held->packets && wire->hold(batch, held))
		return 1;
	if (unlikely(held && held->packets) && !weft_transmit_release(qp, budget))
		return 0;
	if (may && wire->hold(batch, held)) {
		held->ackreq = qp->send.inflight.ackreq;
		return 1;
	}
	sent = wire->xmit(batch);
	if (xmit_is_waited_for(qp))
		weft_responder_alone(qp);
	return sent;
}

/*
 * Send packets @from to @to (exclusive) of a request, or the packet that asks for these responses.
 */
static enum weft_verdict xmit_packets(struct weft_qp *qp, struct weft_slot *slot, u32 from, u32 to,
				      struct weft_budget *budget)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 ack_packets = qp->send.window.ack_packets;
	bool responds = weft_opdef_responds(slot->op);
	struct weft_tx_batch batch __uninitialized;
	struct weft_result result;
	struct weft_iter payload;
	u32 sent, bytes;

	weft_transmit_describe(qp, slot, from, to, &batch);
	batch.hdr.ackreq = weft_qp_is_reliable(qp) && !responds &&
			   (to == slot->psns || !(to & (ack_packets - 1)) ||
			    /*
			     * the pace may hold the next packets back for longer than the ack
			     * timeout
			     */
			    qp->send.paced ||
			    qp->send.inflight.repair.state == WEFT_REPAIR_WANTED ||
			    /* this was the last credit, or there was none */
			    xmit_credit(qp, slot, from) <= to - from ||
			    weft_inflight_room(&qp->send) <= to - from);
	/* a READ that is repeated asks a weft to show that it is one, see weft_inflight.parts */
	batch.hdr.maps = unlikely(inflight->repair.state == WEFT_REPAIR_WANTED ||
				  (responds && weft_inflight_is_rewound(inflight))) &&
			 qp->type == IB_QPT_RC;
	if (batch.length) {
		result = weft_gather(qp, &qp->send.odp, slot, (u64)from * qp->mtu, batch.length);
		if (unlikely(result.verdict == WEFT_FAILED)) {
			/* it fails when the requests before it are complete */
			slot->fault = result.fault;
			weft_inflight_retire(qp);
			return WEFT_DONE;
		}
		if (unlikely(result.verdict))
			return result.verdict;
		weft_sgl_iter(&qp->send.sgl, &payload);
		if (from)
			weft_iter_skip(&payload, (u64)from * qp->mtu);
		batch.payload = &payload;
	}
	sent = xmit_or_hold(qp, &batch, responds, budget);
	if (from + sent < slot->psns)
		weft_odp_keep(&qp->send.odp);
	weft_sgl_release(&qp->send.sgl);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, batch.length);
	if (!sent)
		return WEFT_LATER;
	bytes = min(batch.length, sent * qp->mtu);
	budget->bytes -= bytes;
	budget->sent += bytes;
	inflight->ackreq = responds || (batch.hdr.ackreq && sent == batch.num);
	if (responds) {
		inflight->reads++;
		sent = to - from;
	}
	xmit_sent(qp, weft_psn_add(slot->first_psn, from + sent), responds ? 1 : sent);
	if (from + sent == slot->psns) {
		weft_odp_end(&qp->send.odp);
		inflight->cur++;
		/* UC gets no answers */
		if (qp->type == IB_QPT_UC) {
			inflight->una = inflight->next;
			weft_inflight_retire(qp);
		}
	}
	return from + sent == to ? WEFT_DONE : WEFT_LATER;
}

/* Send packets that the peer misses, and go forward to where the requester was. */
static noinline enum weft_verdict xmit_repair(struct weft_qp *qp, struct weft_slot *slot,
					      u32 packet, struct weft_budget *budget)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	u32 left = (inflight->repair.end - inflight->next) & WEFT_PSN_MASK;
	u32 to = packet + min(left, qp->send.batch_packets);
	enum weft_verdict verdict;

	/* a READ is repeated in the parts in which it was asked for the first time */
	to = weft_opdef_responds(slot->op) ? weft_slot_read_end(slot, packet) :
					     min(to, slot->psns);
	verdict = xmit_packets(qp, slot, packet, to, budget);
	if (verdict == WEFT_DONE && inflight->repair.state == WEFT_REPAIR_WANTED)
		weft_repair_sent(qp);
	return verdict;
}

/*
 * Send packet @from of a request again, or ask for its responses @from to @to (exclusive) again,
 * beside what is to be sent next. Return: WEFT_DONE; WEFT_LATER: without tx credit, which an event
 * will tell of; WEFT_DROP: the data of the packet would have to be waited for. If nothing else is
 * to be sent, its pages are being pinned then, and another try may find them.
 */
static enum weft_verdict xmit_again(struct weft_qp *qp, struct weft_slot *slot, u32 from, u32 to)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_tx_batch batch __uninitialized;
	struct weft_result result;
	struct weft_iter payload;
	u32 sent;

	weft_transmit_describe(qp, slot, from, to, &batch);
	batch.by_reference = false;
	batch.again = true;
	batch.hdr.ackreq = !weft_opdef_responds(slot->op);
	batch.hdr.maps = qp->type == IB_QPT_RC;
	if (batch.length) {
		/* those of another request are waited for */
		if (qp->send.odp.pins && inflight->cur != inflight->tail &&
		    !(slot->wqe.sqe.flags & WEFT_SQE_INLINE))
			return WEFT_DROP;
		result = weft_gather(qp, &qp->send.odp, slot, (u64)from * qp->mtu, batch.length);
		if (result.verdict) {
			if (result.verdict == WEFT_FAILED || inflight->cur != inflight->tail)
				weft_odp_end(&qp->send.odp);
			return WEFT_DROP;
		}
		weft_sgl_iter(&qp->send.sgl, &payload);
		weft_iter_skip(&payload, (u64)from * qp->mtu);
		batch.payload = &payload;
	}
	sent = qp->dev->wire->xmit(&batch);
	weft_sgl_release(&qp->send.sgl);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, batch.length);
	return sent ? WEFT_DONE : WEFT_LATER;
}

/*
 * The responses from @psn to @end (exclusive) are missing. If @psn is that of a response, ask for
 * it and for those behind it that the same request packet has asked for, and count that in
 * @requests. Then @psn is the first one that is still to be looked at: behind what was asked for,
 * or behind a request without a response. Return: as xmit_again().
 */
enum weft_verdict weft_transmit_ask(struct weft_qp *qp, u32 *psn, u32 end, u32 *requests)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	enum weft_verdict verdict;
	struct weft_slot *slot;
	u32 i, from, to;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		if (!slot->psns || !weft_psn_before(*psn, weft_slot_end(slot)))
			continue;
		from = (*psn - slot->first_psn) & WEFT_PSN_MASK;
		to = from + ((end - *psn) & WEFT_PSN_MASK);
		if (weft_opdef_responds(slot->op)) {
			to = min(to, weft_slot_read_end(slot, from));
			verdict = xmit_again(qp, slot, from, to);
			if (verdict != WEFT_DONE)
				return verdict;
			(*requests)++;
		} else {
			to = min(to, slot->psns);
		}
		*psn = weft_psn_add(slot->first_psn, to);
		return WEFT_DONE;
	}
	*psn = end;
	return WEFT_DONE;
}

/* The request whose packet was sent last, of which one is unanswered. */
static struct weft_slot *xmit_newest(const struct weft_inflight *inflight)
{
	struct weft_slot *slot = weft_inflight_at(inflight, inflight->cur);
	u32 i = inflight->cur;

	if (i != inflight->tail && slot->psns && weft_psn_before(slot->first_psn, inflight->next))
		return slot;
	/* not a local operation */
	do
		slot = weft_inflight_at(inflight, --i);
	while (!slot->psns && i != inflight->head);
	return slot;
}

/* Repeat the packet that was sent last; of a READ, ask for what is missing of its responses. */
static bool xmit_newest_again(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot = xmit_newest(inflight);
	u32 from = (inflight->next - 1 - slot->first_psn) & WEFT_PSN_MASK;

	if (!weft_opdef_responds(slot->op))
		return xmit_again(qp, slot, from, from + 1) == WEFT_DONE;
	from = slot == weft_inflight_at(inflight, inflight->head) ?
	       (inflight->una - slot->first_psn) & WEFT_PSN_MASK :
	       round_down(from, WEFT_READ_PACKETS);
	return xmit_again(qp, slot, from, weft_slot_read_end(slot, from)) == WEFT_DONE;
}

/* Ask a weft for what is missing of the response to the oldest request. Return: as for a probe. */
bool weft_transmit_oldest(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 una = inflight->una, next = weft_inflight_front(inflight), end, sent = 0;

	if (!weft_inflight_may_ask(inflight) || !weft_psn_before(una, next))
		return false;
	end = weft_early_response(&qp->send.early, next);
	inflight->probed = una;
	weft_transmit_ask(qp, &inflight->probed, weft_psn_before(end, next) ? end : next, &sent);
	inflight->probed_at = ktime_get();
	inflight->probing = sent;
	return sent;
}

/*
 * The peer has been silent: repeat the packet that was sent last, so that its answer says what is
 * missing. But a weft is asked for what is missing of the response to the oldest request, if it has
 * one: other answers would only wait for that. With other peers a READ that requests follow is not
 * repeated: their answers tell that its response is missing, and a READ that comes again in the
 * middle of a WRITE ends a QP of rdma_rxe. Return: false: nothing has been sent.
 */
bool weft_transmit_probe(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 next = weft_inflight_front(inflight);
	bool sent;

	if (!weft_psn_before(inflight->una, next))
		return false;
	inflight->probed_next = next;
	sent = weft_inflight_may_ask(inflight) ? weft_transmit_oldest(qp) : xmit_newest_again(qp);
	if (sent)
		weft_stats_inc(qp, WEFT_STAT_PROBES);
	return sent;
}

/*
 * Responses of a weft that have come, and wait for others, take no room in the window, as long as
 * there is much room to keep more. After going back all are asked for again.
 */
static u32 xmit_read_window(const struct weft_qp *qp)
{
	const struct weft_send *send = &qp->send;
	u32 kept = skb_queue_len(&send->early.packets);

	if (likely(!kept) || !send->inflight.parts || weft_inflight_is_rewound(&send->inflight) ||
	    send->early.bytes > WEFT_EARLY_BYTES / 4 ||
	    atomic_read(&qp->dev->early_bytes) > WEFT_EARLY_DEV_BYTES / 4)
		return send->window.packets;
	return min_t(u32, send->window.packets + kept, WEFT_EARLY_PACKETS);
}

/* Give a request that has just been taken its length and its PSNs. */
static enum weft_fault xmit_begin(struct weft_qp *qp, struct weft_slot *slot)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	enum weft_fault fault = weft_gather_check(qp, slot);
	u32 psns;

	if (fault)
		return fault;
	/* those of a packet that was to be sent again */
	weft_odp_end(&qp->send.odp);
	psns = weft_rules_psn_count(slot->length, qp->mtu);
	if (psns > XMIT_MAX_PSNS)
		return WEFT_FAULT_LOCAL_LENGTH;
	slot->psns = psns;
	/* to the peer, each part of a READ is a request */
	inflight->ssn = weft_psn_add(inflight->ssn,
				     slot->op->response == WEFT_RESPONSE_READ ?
				     DIV_ROUND_UP(psns, WEFT_READ_PACKETS) : 1);
	slot->ssn = inflight->ssn;
	if (unlikely(qp->flags & WEFT_QP_PACKET_CREDITS)) {
		slot->taking = inflight->taking;
		if (slot->op->flags & WEFT_OPF_RECEIVE)
			inflight->taking = weft_psn_add(inflight->taking,
							slot->op->flags & WEFT_OPF_SEND ? psns : 1);
	}
	qp->send.psn = weft_psn_add(qp->send.psn, psns);
	return WEFT_FAULT_NONE;
}

/* weft_link.execute of the links that send packets. Context: any but hard interrupts. */
enum weft_verdict weft_transmit(struct weft_qp *qp, struct weft_slot *slot,
				struct weft_budget *budget)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	bool reliable = weft_qp_is_reliable(qp);
	u32 from, to, most, unanswered, credit, ack_packets;

	weft_assert_turn(&qp->send.turn);
	if (!slot->psns) {
		slot->fault = xmit_begin(qp, slot);
		if (unlikely(slot->fault)) {
			weft_inflight_retire(qp);
			return WEFT_DONE;
		}
	}
	from = (inflight->next - slot->first_psn) & WEFT_PSN_MASK;
	to = slot->psns;
	if (unlikely(inflight->repair.state == WEFT_REPAIR_WANTED))
		return xmit_repair(qp, slot, from, budget);
	/* a fence waits for all requests that have a response (IBA 10.8.3.3) */
	if (!from && slot->wqe.sqe.flags & WEFT_SQE_FENCE && inflight->reads)
		return WEFT_LATER;
	if (to > 1)
		weft_inflight_disarm(qp);
	unanswered = weft_inflight_unanswered(inflight);
	if (weft_opdef_responds(slot->op)) {
		to = weft_slot_read_end(slot, from);
		if (inflight->reads >= qp->send.max_rd_atomic)
			return WEFT_LATER;
		if (unanswered && unanswered + to - from > xmit_read_window(qp)) {
			qp->send.window.full = true;
			return WEFT_LATER;
		}
		return xmit_packets(qp, slot, from, to, budget);
	}
	/*
	 * without credit only one packet is sent; its answer tells of new credits (IBA 9.7.7.2.5)
	 */
	credit = xmit_credit(qp, slot, from);
	if (!credit)
		return unanswered && xmit_has_asked(qp) ? WEFT_LATER :
		       xmit_packets(qp, slot, from, from + 1, budget);
	most = reliable ? weft_inflight_room(&qp->send) : WEFT_TX_BATCH_PACKETS;
	if (!most) {
		qp->send.window.full = true;
		/* it has become smaller, and nobody has asked for what is under way */
		return inflight->ackreq || !unanswered ? WEFT_LATER :
		       xmit_packets(qp, slot, from, from + 1, budget);
	}
	/* end the batch where the message asks for an acknowledge */
	ack_packets = qp->send.window.ack_packets;
	most = min3(most, qp->send.batch_packets, ack_packets - (from & (ack_packets - 1)));
	most = min(most, credit);
	return xmit_packets(qp, slot, from, min(to, from + most), budget);
}
WEFT_EXPORT_FOR_TEST(weft_transmit);
