// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/completer.h"

#include "engine/cc.h"
#include "engine/drop.h"
#include "engine/early.h"
#include "engine/gather.h"
#include "engine/inflight.h"
#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/pkt.h"
#include "engine/repair.h"
#include "engine/requester.h"
#include "engine/retry.h"
#include "engine/transmit.h"
#include "mem/odp_pins.h"
#include "object/dev.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

/* The time to wait before responses are asked for once more doubles as often. */
#define COMP_MAX_AGAIN	8

/* Everything before PSN @una has been answered. If that is progress, all retries are left again. */
static void comp_progress(struct weft_qp *qp, u32 una)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 from = inflight->una;

	if (from == una)
		return;
	inflight->una = una;
	inflight->retried = false;
	if (unlikely(!weft_early_is_empty(&qp->send.early))) {
		/* what has been asked for is coming */
		inflight->asked_again = 0;
		inflight->asked_at = ktime_get();
	}
	if (unlikely(inflight->repair.state))
		weft_repair_progress(qp, from);
	/* do not send again what has been answered meanwhile */
	if (unlikely(weft_psn_before(inflight->next, una))) {
		/* the peer has kept packets behind those it has now got again */
		inflight->repair.goes_back = false;
		inflight->repair.state = WEFT_REPAIR_NONE;
		weft_inflight_seek(inflight, una);
	}
	weft_retry_refill(&qp->send.retry);
	weft_retry_start(qp);
	if (unlikely(inflight->repair.state == WEFT_REPAIR_SENT && inflight->repair.again)) {
		/* the time has doubled for something that is here now */
		inflight->repair.again = 0;
		weft_retry_repair(qp);
	}
}

/*
 * The peer has received all request packets before PSN @end. A request that has a response (a READ,
 * for example) is complete only when the response arrives; a later acknowledge implies that the
 * response has been lost (IBA 9.7.5.1.1, implied NAK).
 *
 * Return: false if such a response has been lost.
 */
static bool comp_acknowledge(struct weft_qp *qp, u32 end)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	const struct weft_slot *slot;
	u32 i, una = inflight->una;

	for (i = inflight->head; i != inflight->tail && weft_psn_before(una, end); i++) {
		slot = weft_inflight_at(inflight, i);
		if (!weft_psn_before(una, weft_slot_end(slot)))
			continue;
		if (weft_opdef_responds(slot->op))
			break;
		una = weft_psn_before(end, weft_slot_end(slot)) ?
		      end : weft_slot_end(slot);
	}
	comp_progress(qp, una);
	weft_inflight_retire(qp);
	return una == end;
}

/* The QP goes to ERR if an acknowledge completes the last request before one with a fault. */
static bool comp_has_failed(const struct weft_qp *qp)
{
	return weft_qp_state(qp) == IB_QPS_ERR;
}

/*
 * A response has been lost. Each response that follows implies that, but only the first one counts
 * as a retry.
 */
static void comp_implied_nak(struct weft_qp *qp)
{
	if (qp->send.inflight.retried || comp_has_failed(qp))
		return;
	weft_stats_inc(qp, WEFT_STAT_IMPLIED_NAKS);
	weft_retry(qp);
}

/* Is @psn behind the oldest PSN without an answer, and not behind all that were ever sent? */
static bool comp_is_sent(const struct weft_inflight *inflight, u32 psn)
{
	return weft_psn_in_window(psn, weft_psn_add(inflight->una, 1),
				  (inflight->sent - inflight->una) & WEFT_PSN_MASK);
}

/*
 * Is what was asked for lost once more? The peer answers in the order of the requests, so it is if
 * @lost, before which all gaps are old, is behind a request that was sent after the ask. Otherwise
 * it is if the answer takes too long; that time doubles until something missing comes.
 */
static bool comp_is_lost_again(const struct weft_qp *qp, u32 lost)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	u64 ns;

	if (inflight->asked_end == inflight->una)
		return false;
	if (!weft_psn_before(lost, inflight->asked_next))
		return true;
	ns = weft_retry_patience(&qp->send.retry) << inflight->asked_again;
	return ktime_after(ktime_get(), ktime_add_ns(inflight->asked_at, ns));
}

/* Responses before @psn have been asked for, the oldest of them perhaps once more. */
static void comp_asked(struct weft_inflight *inflight, u32 psn, bool again)
{
	/* a later ask does not make the first one younger */
	if (!again && comp_is_sent(inflight, inflight->asked_end))
		return;
	inflight->asked_again = again ? min(inflight->asked_again + 1, COMP_MAX_AGAIN) : 0;
	inflight->asked_end = psn;
	inflight->asked_next = inflight->sent;
	inflight->asked_at = ktime_get();
}

/*
 * Ask for the responses before @lost that are missing. Return: false: nothing was sent, because all
 * have been asked for, or because they can't be now: then an event will come, or the requester goes
 * back.
 */
static bool comp_ask(struct weft_qp *qp, u32 lost)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 una = inflight->una, psn = una, requests = 0, kept, end, from;
	u32 next = weft_inflight_front(inflight);
	struct weft_retry *retry = &qp->send.retry;
	struct sk_buff *skb;
	enum weft_verdict verdict = WEFT_DONE;
	bool again;

	/* what was asked for long ago says nothing of PSNs that have wrapped since */
	if (comp_is_sent(inflight, inflight->asked))
		psn = inflight->asked;
	/* if the latest ask has been answered, those behind it are dated now */
	comp_asked(inflight, psn, false);
	again = comp_is_lost_again(qp, lost);
	if (again)
		psn = una;
	/* from the next packet on, all will be sent again in any case */
	if (weft_psn_before(next, lost))
		lost = next;
	if (!weft_psn_before(psn, lost))
		return false;
	skb_queue_walk(&qp->send.early.packets, skb) {
		kept = weft_pkt_kept_psn(skb);
		if (weft_psn_before(lost, kept) && lost != next)
			break;
		end = weft_psn_before(next, kept) ? next : kept;
		while (weft_psn_before(psn, end)) {
			from = psn;
			verdict = weft_transmit_ask(qp, &psn, end, &requests);
			if (verdict != WEFT_DONE)
				goto end;
			/* its answer may be that to either request */
			if (weft_psn_in_window(retry->sample_psn, from,
					       (psn - from) & WEFT_PSN_MASK))
				retry->measuring = false;
		}
		if (end != kept)
			break;
		/* an acknowledge is no response */
		if (psn == kept && !weft_pkt_kept_is_ack(skb))
			psn = weft_psn_add(kept, 1);
	}
end:
	if (requests)
		comp_asked(inflight, psn, again);
	if (verdict != WEFT_DONE || !again || !comp_is_sent(inflight, inflight->asked) ||
	    weft_psn_before(inflight->asked, psn))
		inflight->asked = psn;
	weft_stats_add(qp, WEFT_STAT_RETRANSMITS, requests);
	if (verdict == WEFT_LATER)
		weft_early_later(&qp->send.early);
	if (verdict == WEFT_DROP)
		comp_implied_nak(qp);
	return requests && verdict != WEFT_DROP;
}

/*
 * Are responses lost that early packets wait for? Of a weft these alone are asked for. With others
 * the requester goes back: rdma_rxe answers no request for a part of a READ that is before another
 * one that it has answered again, and none in the middle of another request. The send turn is
 * owned.
 */
void weft_completer_overdue(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	u32 una = send->inflight.una, lost;

	if (weft_early_is_empty(&send->early) || comp_has_failed(qp))
		return;
	/* the missing response is here, and waits for the pages that it goes to */
	if (weft_odp_pins_pending(send->placing.pins))
		return;
	if (!send->inflight.parts) {
		if (!send->inflight.retried && weft_early_is_old(&send->early, una))
			comp_implied_nak(qp);
		return;
	}
	lost = weft_early_lost(&send->early, una);
	if (lost == una || !comp_ask(qp, lost))
		return;
	weft_stats_inc(qp, WEFT_STAT_IMPLIED_NAKS);
	weft_retry_lost(qp);
}

/*
 * Was the request for a response with @psn sent after the latest ask? The peer answers in order, so
 * the ask, or what it asked for, is lost, or the peer cannot answer it.
 */
static bool comp_is_behind_ask(const struct weft_inflight *inflight, u32 psn)
{
	return inflight->asked_end != inflight->una &&
	       comp_is_sent(inflight, inflight->asked_end) &&
	       !weft_psn_before(psn, inflight->asked_next);
}

/*
 * A packet has come before responses to earlier requests: keep it until they come, or until they
 * are taken for lost.
 */
static enum weft_verdict comp_gap(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_early *early = &qp->send.early;
	u32 before = skb_queue_len(&early->packets), psn = pkt->hdr.psn;
	bool counted = pkt->counted;

	if (comp_has_failed(qp))
		return WEFT_DROP;
	if (!weft_early_keep(early, qp->dev, pkt)) {
		comp_implied_nak(qp);
		return WEFT_DROP;
	}
	if (!counted && skb_queue_len(&early->packets) > before) {
		weft_stats_inc(qp, WEFT_STAT_RX_EARLY);
		/* the peer is not silent, and the missing responses are, or will be, asked for */
		if (inflight->parts && !comp_is_behind_ask(inflight, psn))
			weft_retry_heard(qp, weft_psn_add(psn, 1));
	}
	weft_completer_overdue(qp);
	return WEFT_KEPT;
}

/* Copy a gap map out of its packet. */
static noinline_for_stack bool comp_missing(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	struct weft_payload_spans spans __uninitialized;
	struct weft_wire_map wire;
	struct weft_span span = { .addr = (uintptr_t)&wire, .length = sizeof(wire) };
	struct weft_iter to, from;
	struct weft_map map;

	weft_pkt_payload(pkt, &spans, &from);
	weft_span_iter(&span, &to);
	weft_copy(&to, &from, sizeof(wire));
	weft_map_decode(&map, &wire);
	return weft_retry_map(qp, &map);
}

static void comp_nak(struct weft_qp *qp, const struct weft_pkt *pkt, enum weft_nak code)
{
	enum weft_fault fault;

	switch (code) {
	case WEFT_NAK_PSN_SEQUENCE:
		weft_stats_inc(qp, WEFT_STAT_SEQ_NAKS_RCVD);
		if (pkt->hdr.payload) {
			qp->send.inflight.parts = true;
			if (comp_missing(qp, pkt))
				weft_stats_inc(qp, WEFT_STAT_PACKET_SEQ_ERR);
			return;
		}
		weft_repair_unmap(qp);
		if (qp->send.inflight.retried || weft_retry_missing(qp))
			weft_stats_inc(qp, WEFT_STAT_PACKET_SEQ_ERR);
		return;
	case WEFT_NAK_INVALID_REQUEST:
		fault = WEFT_FAULT_NAK_REQUEST;
		break;
	case WEFT_NAK_REMOTE_ACCESS:
		fault = WEFT_FAULT_NAK_ACCESS;
		break;
	case WEFT_NAK_REMOTE_OPERATION:
		fault = WEFT_FAULT_NAK_OPERATION;
		break;
	default:
		fault = WEFT_FAULT_BAD_RESPONSE;
		break;
	}
	weft_inflight_fault(qp, fault);
}

/* The packets of messages up to @msn that take a receive, see weft_inflight.taking. */
static noinline u32 comp_packets_done(const struct weft_inflight *inflight, u32 msn)
{
	const struct weft_slot *slot;
	u32 i;

	for (i = inflight->head; i != inflight->tail; i++) {
		slot = weft_inflight_at(inflight, i);
		if (slot->psns && weft_psn_diff(slot->ssn, msn) > 0)
			return slot->taking;
	}
	return inflight->taking;
}

/*
 * Take the credits from an acknowledge: the number of receives that the peer has beyond the
 * messages it has completed (IBA 9.7.7.2).
 */
static void comp_credits(struct weft_qp *qp, const struct weft_hdr *hdr)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u8 code = weft_aeth_code(hdr->aeth.syndrome);
	u32 done = hdr->aeth.msn;

	if (weft_aeth_type(hdr->aeth.syndrome) != WEFT_AETH_ACK)
		return;
	if (unlikely(qp->flags & WEFT_QP_PACKET_CREDITS))
		done = comp_packets_done(inflight, done);
	inflight->limited = code != WEFT_AETH_NO_CREDIT;
	inflight->limit = weft_psn_add(done, weft_aeth_credits(code));
}

static enum weft_verdict comp_aeth(struct weft_qp *qp, struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	u8 code = weft_aeth_code(hdr->aeth.syndrome);
	bool ack = weft_aeth_type(hdr->aeth.syndrome) == WEFT_AETH_ACK;

	/* a NAK acknowledges all packets before the one it names */
	if (unlikely(!comp_acknowledge(qp, weft_psn_add(hdr->psn, ack))))
		return comp_gap(qp, pkt);
	if (likely(ack)) {
		if (unlikely(qp->send.inflight.repair.state == WEFT_REPAIR_SENT))
			weft_repair_acked(qp);
		return WEFT_DONE;
	}
	if (comp_has_failed(qp))
		return WEFT_DONE;
	switch (weft_aeth_type(hdr->aeth.syndrome)) {
	case WEFT_AETH_RNR_NAK:
		weft_retry_rnr(qp, code);
		break;
	case WEFT_AETH_NAK:
		comp_nak(qp, pkt, code);
		break;
	default:
		break;
	}
	return WEFT_DONE;
}

/*
 * Find the request that a response answers, which must be the oldest one: all before it have been
 * answered. NULL: drop the response.
 */
static struct weft_slot *comp_expecting(struct weft_qp *qp, const struct weft_hdr *hdr)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_slot *slot;

	if (weft_inflight_is_empty(inflight) || inflight->una != hdr->psn)
		return NULL;
	slot = weft_inflight_at(inflight, inflight->head);
	return weft_psn_in_window(hdr->psn, slot->first_psn, slot->psns) ? slot : NULL;
}

/*
 * Copy data of a response to the work request's list. Return: WEFT_DONE; WEFT_LATER: ODP memory is
 * being pinned; WEFT_FAILED: the oldest request has failed.
 */
static enum weft_verdict comp_place(struct weft_qp *qp, const struct weft_slot *slot, u64 offset,
				    struct weft_iter *from, u32 length)
{
	struct weft_odp *placing = &qp->send.placing;
	struct weft_result result = weft_gather(qp, placing, slot, offset, length);
	bool last = offset + length == slot->length;
	struct weft_iter to;

	if (unlikely(result.verdict)) {
		if (result.verdict == WEFT_FAILED)
			weft_inflight_fault(qp, result.fault);
		return result.verdict;
	}
	if (!last)
		weft_odp_keep(placing);
	if (length) {
		weft_sgl_iter(&qp->send.sgl, &to);
		weft_iter_skip(&to, offset);
		weft_copy(&to, from, length);
	}
	weft_sgl_release(&qp->send.sgl);
	if (last)
		weft_odp_end(placing);
	return WEFT_DONE;
}

/*
 * All responses before @una have been processed. @last: they are all that a request packet has
 * asked for.
 */
static void comp_answered(struct weft_qp *qp, u32 una, bool last)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	/* inflight->reads does not count a request that has been rewound, and will be sent again */
	if (last && !weft_psn_before(inflight->next, una))
		inflight->reads--;
	comp_progress(qp, una);
	weft_inflight_retire(qp);
}

static void comp_bad_response(struct weft_qp *qp)
{
	weft_inflight_fault(qp, WEFT_FAULT_BAD_RESPONSE);
}

/* IBA A19: the response to FLUSH and ATOMIC WRITE is a READ response without data. */
static bool comp_done_valid(const struct weft_pkt *pkt, const struct weft_opcode *op,
			    const struct weft_slot *slot)
{
	return slot->op->response == WEFT_RESPONSE_DONE && !pkt->hdr.payload &&
	       op->segment == WEFT_SEGMENT_ONLY;
}

/*
 * @last: the response with @psn is the last one to its request packet; @ends: so it says. One that
 * has been asked for again may end before the next one that has come.
 */
static bool comp_segment_valid(const struct weft_qp *qp, u32 psn, bool last, bool ends)
{
	return last == ends ||
	       (ends && qp->send.inflight.parts &&
		weft_early_response(&qp->send.early, psn) == weft_psn_add(psn, 1));
}

static enum weft_verdict comp_read_response(struct weft_qp *qp, const struct weft_pkt *pkt,
					    const struct weft_opcode *op, struct weft_slot *slot)
{
	u32 una = weft_psn_add(pkt->hdr.psn, pkt->psns), packet, length;
	struct weft_payload_spans spans __uninitialized;
	enum weft_verdict verdict;
	struct weft_iter from;
	u64 offset;
	bool last;

	if (unlikely(slot->op->response != WEFT_RESPONSE_READ)) {
		if (comp_done_valid(pkt, op, slot))
			comp_answered(qp, una, true);
		else
			comp_bad_response(qp);
		return WEFT_DONE;
	}
	packet = (pkt->hdr.psn - slot->first_psn) & WEFT_PSN_MASK;
	offset = (u64)packet * qp->mtu;
	length = min_t(u64, qp->mtu * pkt->psns, slot->length - offset);
	/* a middle packet ends no part of a READ: a run that gets to the end of one is refused */
	last = packet + pkt->psns >= weft_slot_read_end(slot, packet);
	if (pkt->hdr.payload != length ||
	    !comp_segment_valid(qp, pkt->hdr.psn, last, op->segment & WEFT_SEGMENT_LAST)) {
		comp_bad_response(qp);
		return WEFT_DONE;
	}
	weft_pkt_payload(pkt, &spans, &from);
	verdict = comp_place(qp, slot, offset, &from, length);
	if (verdict == WEFT_DONE)
		comp_answered(qp, una, last);
	return verdict;
}

static enum weft_verdict comp_atomic_response(struct weft_qp *qp, const struct weft_pkt *pkt,
					      const struct weft_slot *slot)
{
	u64 before = pkt->hdr.atomic_ack.original;
	struct weft_span span = { .addr = (uintptr_t)&before, .length = sizeof(before) };
	enum weft_verdict verdict;
	struct weft_iter from;

	if (slot->op->response != WEFT_RESPONSE_ATOMIC) {
		comp_bad_response(qp);
		return WEFT_DONE;
	}
	weft_span_iter(&span, &from);
	verdict = comp_place(qp, slot, 0, &from, sizeof(before));
	if (verdict == WEFT_DONE)
		comp_answered(qp, weft_psn_add(pkt->hdr.psn, 1), true);
	return verdict;
}

/* Does a response have the PSN of a request packet that has been sent and is not answered? */
static bool comp_current(const struct weft_inflight *inflight, u32 psn)
{
	return weft_psn_in_window(psn, inflight->una,
				  (inflight->sent - inflight->una) & WEFT_PSN_MASK);
}

/* Process a response that came on the path. */
static enum weft_verdict comp_response(struct weft_qp *qp, struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_slot *slot;

	trace_weft_response(qp->qpn, &pkt->hdr, qp->send.inflight.una);
	/* likewise a run, if another CPU has processed a packet since it began */
	if (!comp_current(&qp->send.inflight, pkt->hdr.psn) ||
	    unlikely(pkt->psns > 1 && pkt->hdr.psn != qp->send.inflight.una)) {
		weft_stats_drop_run(qp, pkt, WEFT_STAT_STALE_RESPONSES);
		return WEFT_DROP;
	}
	if (op->ext & WEFT_EXT_AETH)
		comp_credits(qp, &pkt->hdr);
	if (op->kind == WEFT_KIND_ACK)
		return comp_aeth(qp, pkt);
	/* one that has overtaken others says so, too: the oldest may be lost again and again */
	if (op->kind == WEFT_KIND_READ_RESPONSE) {
		qp->send.inflight.parts |= pkt->hdr.maps;
		if (unlikely(pkt->hdr.again))
			weft_retry_repeated(qp);
	}
	/* a response acknowledges all requests before the one it answers */
	if (unlikely(!comp_acknowledge(qp, pkt->hdr.psn)))
		return comp_gap(qp, pkt);
	slot = comp_expecting(qp, &pkt->hdr);
	if (!slot)
		return WEFT_DROP;
	/* only an acknowledge says no: data with the syndrome of a NAK are no answer */
	if (unlikely(op->ext & WEFT_EXT_AETH &&
		     weft_aeth_type(pkt->hdr.aeth.syndrome) != WEFT_AETH_ACK)) {
		comp_bad_response(qp);
		return WEFT_DONE;
	}
	switch (op->kind) {
	case WEFT_KIND_READ_RESPONSE:
		return comp_read_response(qp, pkt, op, slot);
	case WEFT_KIND_ATOMIC_ACK:
		return comp_atomic_response(qp, pkt, slot);
	default:
		return WEFT_DROP;
	}
}

/* A CNP says nothing of path migration. */
static enum weft_verdict comp_cnp(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	if (!weft_migration_knows(qp, pkt))
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_WRONG_ADDRESS);
	weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	weft_cc_notified(qp);
	return WEFT_DONE;
}

/*
 * Return: WEFT_LATER: the packet must be processed again later; WEFT_KEPT; any other verdict: it
 * may be freed.
 */
static enum weft_verdict comp_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	bool cnp = pkt->hdr.opcode == WEFT_OPCODE_CNP, counted = pkt->counted;
	enum ib_qp_state state = weft_qp_state(qp);
	enum weft_verdict verdict;

	if (state == IB_QPS_RESET)
		return WEFT_DROP; /* destroy_qp may have freed the device */
	if ((state != IB_QPS_RTS && state != IB_QPS_SQD) || !(cnp || weft_qp_is_reliable(qp)))
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_NOT_READY);
	if (unlikely(cnp))
		return comp_cnp(qp, pkt);
	switch (weft_migration_packet(qp, pkt)) {
	case WEFT_PATH_YES:
		break;
	case WEFT_PATH_LATER:
		return WEFT_LATER;
	default:
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_WRONG_ADDRESS);
	}
	verdict = comp_response(qp, pkt);
	if (unlikely(verdict == WEFT_LATER || counted))
		return verdict;
	weft_pkt_count(qp, pkt);
	if (unlikely(pkt->ce))
		weft_cc_marked(qp, &qp->send.tx, pkt->ce);
	return verdict;
}

/* Does the first packet that was early no longer wait for a response? */
static bool comp_is_ready(const struct weft_send *send)
{
	const struct weft_inflight *inflight = &send->inflight;

	if (likely(weft_early_is_empty(&send->early)))
		return false;
	return weft_inflight_is_empty(inflight) ||
	       !weft_opdef_responds(weft_inflight_at(inflight, inflight->head)->op) ||
	       weft_early_is_ready(&send->early, inflight->una);
}

/* Process a packet, and free it unless it has to wait. */
static enum weft_verdict comp_one(struct weft_qp *qp, struct weft_pkt *pkt)
{
	enum weft_verdict verdict = comp_packet(qp, pkt);

	if (unlikely(verdict == WEFT_LATER))
		weft_pkt_undo(pkt, &qp->send.packets);
	else if (likely(verdict != WEFT_KEPT))
		weft_pkt_free(pkt);
	return verdict;
}

/*
 * The answer to a probe has come. The peer answers in the order of the requests, so all that was
 * requested before the probe, and is missing, is lost, too: ask for the next part of it (as a
 * partial acknowledge does, RFC 6582). If the answer is sooner here than any can be, it is that to
 * the first request, and the peer is only slow.
 */
static noinline void comp_probed(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	u32 una = inflight->una;
	s64 ns;

	if (weft_psn_before(una, inflight->probed))
		return;
	inflight->probing = false;
	ns = ktime_sub(ktime_get(), inflight->probed_at);
	if (weft_psn_before(una, inflight->probed_next) && ns >= qp->send.window.shortest &&
	    !comp_has_failed(qp) && weft_transmit_oldest(qp))
		weft_stats_inc(qp, WEFT_STAT_RETRANSMITS);
}

/* The same, and then those that need not wait any longer. Return: false: all others have to. */
static bool comp_consume(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_send *send = &qp->send;
	enum weft_verdict verdict = comp_one(qp, pkt);

	while (unlikely(verdict != WEFT_LATER && comp_is_ready(send))) {
		weft_early_take(&send->early, qp->dev, pkt);
		verdict = comp_one(qp, pkt);
		/* it waits for another response, and all behind it do */
		if (verdict == WEFT_KEPT)
			break;
	}
	if (unlikely(verdict == WEFT_LATER))
		return false;
	if (unlikely(send->inflight.probing))
		comp_probed(qp);
	return true;
}

/*
 * Process up to @most responses of the backlog. The send turn is owned. Returns true if more are
 * left that can be processed now.
 */
bool weft_completer_work(struct weft_qp *qp, u32 most)
{
	struct weft_send *send = &qp->send;
	struct weft_pkt pkt __uninitialized;
	s32 left;

	weft_assert_turn(&send->turn);
	for (left = most; left > 0; left -= pkt.psns) {
		if (weft_turn_stopping(&send->turn) || !weft_pkt_next(&send->packets, &pkt) ||
		    !comp_consume(qp, &pkt))
			return false;
	}
	return true;
}

/*
 * Put a response into the backlog. The caller need not own the turn, so the addresses are checked
 * first: packets that do not come from the peer must not fill the backlog.
 */
static void comp_enqueue(struct weft_qp *qp, struct weft_pkt *pkt)
{
	if (!weft_migration_knows(qp, pkt))
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_WRONG_ADDRESS);
	else if (!weft_pkt_defer(pkt, &qp->send.packets))
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_QUEUE_FULL);
}

/* A response packet has arrived. The callee owns the memory of @pkt. Context: soft interrupts. */
void weft_completer_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_send *send = &qp->send;

	if (!weft_turn_try(&send->turn)) {
		comp_enqueue(qp, pkt);
		weft_turn_post(&send->turn, WEFT_EV_RUN);
		return;
	}
	if (!weft_backlog_is_empty(&send->packets))
		comp_enqueue(qp, pkt);
	else
		comp_consume(qp, pkt);
	weft_requester_continue(qp);
}
