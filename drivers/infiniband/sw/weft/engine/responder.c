// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/responder.h"

#include <linux/kernel_stat.h>
#include <linux/sched.h>

#include "engine/cc.h"
#include "engine/drop.h"
#include "engine/early.h"
#include "engine/link.h"
#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/piggyback.h"
#include "engine/pkt.h"
#include "engine/port.h"
#include "engine/replay.h"
#include "engine/reply.h"
#include "object/dev.h"
#include "object/qp.h"
#include "object/srq.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/**
 * struct resp_budget - what a run of the responder may do before it defers the rest to a work item
 * @packets: request packets
 * @bytes: bytes of answers
 * @atomic: the run must not sleep
 */
struct resp_budget {
	s32	packets;
	s32	bytes;
	bool	atomic;
};

static const struct resp_budget resp_softirq_budget = {
	.packets = WEFT_SOFTIRQ_WQES, .bytes = WEFT_SOFTIRQ_BYTES, .atomic = true,
};

static void resp_build(const struct weft_progress *progress, const struct weft_pkt *pkt,
		       const struct weft_opcode *op, struct weft_request *req)
{
	const struct weft_hdr *hdr = &pkt->hdr;

	*req = (struct weft_request){
		/* the row of the packet's opcode has what only a last packet does */
		.op = weft_opdef(op->sqe),
		.solicited = hdr->se,
		.rkey = progress->rkey,
		.remote_addr = progress->va,
		.length = op->kind == WEFT_KIND_WRITE ? progress->length : hdr->payload,
	};
	if (op->ext & WEFT_EXT_IMM)
		req->ex = (__force u32)hdr->imm;
	else if (op->ext & WEFT_EXT_IETH)
		req->ex = hdr->ieth.rkey;
}

/* Does the payload fit the length of the message, which a WRITE has in its RETH? */
static bool resp_length_valid(const struct weft_progress *progress, const struct weft_opcode *op,
			      u32 payload)
{
	u64 done = (u64)progress->done + payload;

	if (op->kind != WEFT_KIND_WRITE)
		return done <= WEFT_MAX_MSG;
	if (progress->length > WEFT_MAX_MSG)
		return false;
	return op->segment & WEFT_SEGMENT_LAST ? done == progress->length :
						 done < progress->length;
}

/* Resolve the memory that the payload goes to. */
static struct weft_result resp_open(struct weft_qp *qp, const struct weft_opcode *op,
				    const struct weft_request *req, const struct weft_iter *from,
				    u32 payload)
{
	enum weft_fault fault;

	if (op->segment & WEFT_SEGMENT_FIRST) {
		if (unlikely(qp->recv.tagged))
			weft_message_look(qp, req, from);
		return weft_message_begin(qp, req);
	}
	if (op->kind == WEFT_KIND_WRITE && req->op->flags & WEFT_OPF_RECEIVE) {
		fault = weft_message_begin_immediate(qp);
		if (fault)
			return weft_failed(fault);
	}
	return weft_message_resume(qp, req, qp->recv.progress.done, payload);
}

/* Execute a packet that has the expected PSN. */
static struct weft_result resp_execute(struct weft_qp *qp, const struct weft_pkt *pkt,
				       const struct weft_opcode *op)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_progress *progress = &recv->progress;
	struct weft_payload_spans spans __uninitialized;
	u32 payload = pkt->hdr.payload;
	struct weft_result result;
	struct weft_request req;
	enum weft_fault fault;
	struct weft_iter from;

	if (unlikely(op->kind == WEFT_KIND_REQUEST))
		return weft_opdef(op->sqe)->respond(qp, pkt);
	if (op->segment & WEFT_SEGMENT_FIRST)
		*progress = (struct weft_progress){
			.opcode = WEFT_OPCODE_NONE,
			.rkey = pkt->hdr.reth.rkey,
			.va = pkt->hdr.reth.va,
			.length = pkt->hdr.reth.length,
		};
	if (!resp_length_valid(progress, op, payload))
		return weft_failed(WEFT_FAULT_REQUEST_LENGTH);
	resp_build(progress, pkt, op, &req);
	weft_pkt_payload(pkt, &spans, &from);
	result = resp_open(qp, op, &req, &from, payload);
	if (unlikely(result.verdict))
		return result;
	weft_message_place(qp, &from, payload);
	if (!(op->segment & WEFT_SEGMENT_LAST)) {
		weft_message_pause(qp);
		progress->done += payload;
		progress->opcode = pkt->hdr.opcode;
		return result;
	}
	req.length = progress->done + payload;
	if (req.op->flags & WEFT_OPF_RECEIVE)
		weft_piggyback_message(&recv->piggyback);
	fault = weft_message_end(qp, &req);
	weft_odp_end(&recv->odp);
	if (unlikely(fault))
		return weft_failed(fault);
	recv->msn = weft_psn_add(recv->msn, 1);
	progress->opcode = WEFT_OPCODE_NONE;
	return result;
}

/* Does the packet fit those before it, and its payload the opcode and the path MTU? */
static enum weft_fault resp_form(const struct weft_qp *qp, const struct weft_pkt *pkt,
				 const struct weft_opcode *op)
{
	if (unlikely(pkt->malformed && pkt->malformed != WEFT_MALFORMED_PAYLOAD))
		return WEFT_FAULT_BAD_REQUEST;
	if (unlikely(!weft_opcode_follows(qp->recv.progress.opcode, pkt->hdr.opcode)))
		return WEFT_FAULT_BAD_REQUEST;
	/* a run consists of full packets */
	if (unlikely(!weft_opcode_payload_valid(op, pkt->hdr.payload, qp->mtu * pkt->psns)))
		return WEFT_FAULT_REQUEST_LENGTH;
	return WEFT_FAULT_NONE;
}

/*
 * Packets have been lost (IBA 9.7.5.1.1): send one NAK until the expected packet comes, or a gap
 * map when more are lost.
 */
static void resp_nak_gap(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	recv->nak_sent = true;
	weft_stats_inc(qp, WEFT_STAT_SEQ_NAKS_SENT);
	weft_reply_nak(qp, recv->psn, weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE));
	recv->response.map = recv->maps && !weft_early_is_empty(&recv->early);
}

/*
 * Has a requester that understands gap maps repeated the newest packet, because it waits for an
 * answer? Only the last packet of a repair asks for one.
 */
static bool resp_is_probe(const struct weft_recv *recv, const struct weft_hdr *hdr)
{
	return unlikely(hdr->maps) &&
	       (hdr->ackreq || weft_opcode(hdr->opcode)->kind == WEFT_KIND_REQUEST) &&
	       weft_early_is_newest(&recv->early, hdr->psn);
}

/* Tell the requester of the gap before its probe, even if it has been told. */
static void resp_probed(struct weft_recv *recv)
{
	recv->nak_again = true;
	recv->nak_sent = false;
	recv->maps = true;
}

/*
 * Packets are missing before this one: keep it until they come. A requester that has been told to
 * repeat something sends this packet again, so then it is kept only if others are.
 */
static enum weft_verdict resp_gap(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_recv *recv = &qp->recv;
	bool empty = weft_early_is_empty(&recv->early);

	if (empty)
		recv->nak_again = false;
	/* with a NAK sent and none kept, the requester may be waiting as an RNR NAK has said */
	if (!(empty && recv->nak_sent) && resp_is_probe(recv, &pkt->hdr))
		resp_probed(recv);
	if (!(empty && recv->nak_sent) && weft_early_keep(&recv->early, qp->dev, pkt))
		return WEFT_KEPT;
	weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_OUT_OF_SEQUENCE);
	if (!recv->nak_sent)
		resp_nak_gap(qp);
	return WEFT_DROP;
}

/* Is there a gap that the requester has to be told of? */
static noinline bool resp_gap_is_old(struct weft_recv *recv)
{
	if (recv->nak_sent && !recv->maps)
		return false;
	return recv->nak_again || weft_early_is_old(&recv->early, recv->psn);
}

/*
 * The requester has sent something again. It may wait for the answer to that before it goes on.
 */
static void resp_repaired(struct weft_recv *recv, const struct weft_pkt *pkt)
{
	recv->nak_again = pkt->hdr.ackreq;
	recv->nak_sent = false;
	recv->maps |= pkt->hdr.maps;
}

/* A repeated READ, which may begin at any packet of its response. */
static void resp_read_again(struct weft_qp *qp, const struct weft_pkt *pkt,
			    const struct weft_replay_slot *slot)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	u64 offset = (u64)((hdr->psn - slot->psn) & WEFT_PSN_MASK) * qp->mtu;
	struct weft_response *response;

	if (hdr->reth.rkey != slot->rkey || hdr->xrceth.srqn != slot->srqn ||
	    hdr->reth.va != slot->va + offset ||
	    hdr->reth.length > slot->length - offset)
		return;
	response = weft_reply_new(qp, hdr->psn, WEFT_RESPONSE_READ);
	response->again = true;
	response->srqn = hdr->xrceth.srqn;
	response->rkey = hdr->reth.rkey;
	response->va = hdr->reth.va;
	response->length = hdr->reth.length;
}

/* A duplicate is answered again, not executed again (IBA 9.7.5.1.2). */
static void resp_duplicate(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	const struct weft_replay_slot *slot;
	bool due = qp->recv.ack_due;

	weft_stats_inc(qp, WEFT_STAT_DUPLICATES);
	if (pkt->malformed)
		return;
	qp->recv.maps |= pkt->hdr.maps;
	/* the answer to a repair has been lost, and what it said of the next gap */
	if (unlikely(pkt->hdr.maps) && !weft_early_is_empty(&qp->recv.early)) {
		qp->recv.nak_again |= pkt->hdr.ackreq;
		qp->recv.nak_sent = false;
	}
	if (!weft_opdef_responds(weft_opdef(op->sqe))) {
		qp->recv.ack_due = true;
		return;
	}
	slot = weft_replay_find(&qp->recv, pkt->hdr.psn);
	if (!slot || slot->kind != weft_opdef(op->sqe)->response)
		return;
	if (slot->kind == WEFT_RESPONSE_READ)
		resp_read_again(qp, pkt, slot);
	else
		weft_reply_new(qp, pkt->hdr.psn, slot->kind)->value = slot->value;
	/* the requests behind the duplicate are not acknowledged by its answer */
	qp->recv.ack_due = due;
}

/*
 * Another CPU has processed a packet since the run of @pkt began: drop the run. An acknowledge
 * tells a requester that repeats packets how far it has got.
 */
static void resp_mistimed(struct weft_qp *qp, const struct weft_pkt *pkt, s32 ahead)
{
	qp->recv.ack_due |= ahead < 0;
	weft_stats_drop_run(qp, pkt, WEFT_STAT_OUT_OF_SEQUENCE);
}

/*
 * After an RNR NAK the requester sends all packets from @psn on again, so those that have overtaken
 * it are of no use; in ERR none is.
 */
static void resp_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault)
{
	weft_early_purge(&qp->recv.early, qp->dev);
	weft_reply_refuse(qp, psn, fault);
}

/* The answer that a rule wants. After an RNR NAK, or a sequence NAK, the requester goes back. */
static struct weft_result resp_injected(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	switch (pkt->syndrome) {
	case WEFT_AETH_NAK << 5 | WEFT_NAK_INVALID_REQUEST:
		return weft_failed(WEFT_FAULT_BAD_REQUEST);
	case WEFT_AETH_NAK << 5 | WEFT_NAK_REMOTE_ACCESS:
		return weft_failed(WEFT_FAULT_REMOTE_ACCESS);
	case WEFT_AETH_NAK << 5 | WEFT_NAK_REMOTE_OPERATION:
		return weft_failed(WEFT_FAULT_NO_MEMORY);
	default:
		weft_early_purge(&qp->recv.early, qp->dev);
		weft_reply_nak(qp, pkt->hdr.psn, pkt->syndrome);
		qp->recv.nak_sent = true;
		return weft_result(WEFT_DROP);
	}
}

/* The packet cannot be executed as it is, because of @fault. */
static noinline struct weft_result resp_unfit(struct weft_qp *qp, const struct weft_pkt *pkt,
					      enum weft_fault fault)
{
	return pkt->malformed == WEFT_MALFORMED_INJECTED ? resp_injected(qp, pkt) :
							   weft_failed(fault);
}

/* Process a packet of a reliable connection by its PSN: execute it if it is the expected one. */
static struct weft_result resp_reliable(struct weft_qp *qp, struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	s32 ahead = weft_psn_diff(pkt->hdr.psn, recv->psn);
	struct weft_result result;
	enum weft_fault fault;

	if (unlikely(ahead && pkt->psns > 1)) {
		resp_mistimed(qp, pkt, ahead);
		return weft_result(WEFT_DROP);
	}
	if (unlikely(ahead > 0))
		return weft_result(resp_gap(qp, pkt));
	if (unlikely(ahead)) {
		resp_duplicate(qp, pkt);
		return weft_result(WEFT_DONE);
	}
	if (unlikely(recv->nak_sent || pkt->hdr.maps))
		resp_repaired(recv, pkt);
	/* without memory for replay slots, drop the packet: the requester will send it again */
	if (weft_opdef_responds(weft_opdef(op->sqe)) && recv->max_dest_rd_atomic &&
	    !weft_replay_prepare(recv))
		return weft_result(WEFT_DROP);
	fault = resp_form(qp, pkt, op);
	result = likely(!fault) ? weft_failed(weft_message_enter(qp, pkt->hdr.xrceth.srqn)) :
				  resp_unfit(qp, pkt, fault);
	if (likely(!result.verdict))
		result = resp_execute(qp, pkt, op);
	if (unlikely(result.verdict == WEFT_FAILED))
		resp_refuse(qp, pkt->hdr.psn, result.fault);
	/* do not keep the SRQ while the packet waits for pages */
	weft_message_leave(qp);
	/* respond_keep() has already advanced the PSN of a request with a response */
	if (unlikely(result.verdict) || recv->response.kind)
		return result;
	recv->psn = weft_psn_add(recv->psn, pkt->psns);
	recv->ack_psn = weft_psn_add(recv->psn, -1);
	recv->ack_due |= pkt->hdr.ackreq;
	recv->unanswered += pkt->psns;
	return result;
}

/*
 * A message that has lost a packet is dropped, and the next first packet is accepted whatever its
 * PSN (IBA 9.8.2.2).
 */
static struct weft_result resp_unreliable(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	struct weft_result result;

	if (op->segment & WEFT_SEGMENT_FIRST) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		recv->progress.dropped = false;
		recv->psn = pkt->hdr.psn;
	}
	if (pkt->hdr.psn != recv->psn) {
		weft_stats_drop_run(qp, pkt, WEFT_STAT_OUT_OF_SEQUENCE);
		recv->progress.opcode = WEFT_OPCODE_NONE;
		return weft_result(WEFT_DONE);
	}
	/* the reason is known */
	if (unlikely(recv->progress.dropped)) {
		recv->psn = weft_psn_add(recv->psn, pkt->psns);
		return weft_result(WEFT_DONE);
	}
	result = weft_failed(resp_form(qp, pkt, op));
	if (likely(!result.verdict))
		result = resp_execute(qp, pkt, op);
	if (unlikely(result.verdict == WEFT_LATER))
		return result;
	recv->psn = weft_psn_add(recv->psn, pkt->psns);
	if (unlikely(result.verdict)) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		/* and with it all packets up to the next first one */
		recv->progress.dropped = true;
		weft_message_refuse(qp, result.fault);
	}
	return result;
}

/* Describe a datagram as a request. @grh has WEFT_GRH_BYTES for its GRH. */
static struct weft_request resp_datagram_request(const struct weft_qp *qp,
						 const struct weft_pkt *pkt,
						 const struct weft_iter *payload, u8 *grh)
{
	struct weft_request req = {
		.op = weft_opdef(weft_opcode(pkt->hdr.opcode)->sqe),
		.solicited = pkt->hdr.se,
		.length = pkt->hdr.payload,
		.ex = (__force u32)pkt->hdr.imm,
		.src_qpn = pkt->hdr.deth.sqpn,
		.grh = grh,
		.has_grh = pkt->grh,
		.network_hdr_type = pkt->network,
		.vlan_id = WEFT_VLAN_NONE,
	};

	pkt->port->grh(pkt, grh);
	pkt->port->datagram(qp, pkt, payload, &req);
	return req;
}

static enum weft_verdict resp_datagram(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	struct weft_payload_spans spans __uninitialized;
	struct weft_request req;
	struct weft_result result;
	struct weft_iter from;

	weft_pkt_payload(pkt, &spans, &from);
	req = resp_datagram_request(qp, pkt, &from, grh);
	trace_weft_request(qp->qpn, &pkt->hdr, pkt->hdr.psn);
	result = weft_message_datagram(qp, &req, pkt->hdr.deth.qkey, &from);
	if (!result.verdict)
		weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	return result.verdict;
}

/*
 * Process a packet; the receive turn is owned. Return: WEFT_LATER: the packet must wait, and
 * nothing has changed; WEFT_KEPT; any other verdict: it may be freed.
 */
static enum weft_verdict resp_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	bool counted = pkt->counted;
	struct weft_result result;

	if (!weft_qp_can_receive(qp)) {
		/* in RESET nothing is counted: destroy_qp may have freed the device */
		if (weft_qp_state(qp) == IB_QPS_RESET)
			return WEFT_DROP;
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_NOT_READY);
	}
	if (!weft_qp_port_open(qp))
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_NOT_READY);
	if (weft_qp_is_ud(qp))
		return resp_datagram(qp, pkt);
	switch (weft_migration_packet(qp, pkt)) {
	case WEFT_PATH_YES:
		break;
	case WEFT_PATH_LATER:
		return WEFT_LATER;
	default:
		return weft_pkt_reject(qp, pkt, WEFT_STAT_RX_WRONG_ADDRESS);
	}
	trace_weft_request(qp->qpn, &pkt->hdr, qp->recv.psn);
	result = weft_qp_is_reliable(qp) ? resp_reliable(qp, pkt) : resp_unreliable(qp, pkt);
	if (unlikely(result.verdict == WEFT_KEPT))
		weft_stats_inc(qp, WEFT_STAT_RX_EARLY);
	if (unlikely(result.verdict == WEFT_LATER || counted))
		return result.verdict;
	weft_pkt_count(qp, pkt);
	if (unlikely(pkt->ce))
		weft_cc_marked(qp, &qp->recv.tx, pkt->ce);
	return result.verdict;
}

/* Does a request wait that can be processed now? */
static bool resp_has_requests(const struct weft_recv *recv)
{
	return !weft_backlog_is_empty(&recv->packets) ||
	       (unlikely(!weft_early_is_empty(&recv->early)) &&
		weft_early_is_ready(&recv->early, recv->psn));
}

/*
 * Begin the acknowledge that is due, or the NAK that an old gap makes due, unless more requests
 * wait: they may close the gap, and their answers may make the acknowledge unnecessary.
 */
static void resp_acknowledge(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	if (recv->response.kind || resp_has_requests(recv))
		return;
	if (unlikely(recv->piggyback.waits))
		weft_piggyback_alone(&recv->piggyback);
	if (unlikely(!weft_early_is_empty(&recv->early)) && resp_gap_is_old(recv))
		resp_nak_gap(qp);
	else if (recv->ack_due)
		weft_reply_new(qp, recv->ack_psn, WEFT_RESPONSE_ACK);
}

/*
 * If the next request asks for all that is left of the READ that is being answered, the peer has
 * lost some of the response: do not send the rest of it.
 */
static noinline_for_stack void resp_supersede(struct weft_recv *recv)
{
	struct weft_response *response = &recv->response;
	const struct weft_replay_slot *slot;
	struct weft_pkt pkt;

	if (!weft_pkt_peek(&recv->packets, &pkt) ||
	    pkt.malformed || weft_opcode(pkt.hdr.opcode)->sqe != WEFT_SQE_READ ||
	    !weft_psn_before(pkt.hdr.psn, recv->psn))
		return;
	slot = weft_replay_find(recv, pkt.hdr.psn);
	if (!slot || !weft_psn_in_window(response->psn, slot->psn, slot->psns) ||
	    weft_psn_before(response->psn, pkt.hdr.psn))
		return;
	if (pkt.hdr.reth.va + pkt.hdr.reth.length >= response->va + response->length)
		response->kind = WEFT_RESPONSE_NOTHING;
}

/*
 * A packet must wait for ODP memory, and all packets behind it with it. That may take long, so
 * acknowledge now what has been executed before.
 */
static void resp_park(struct weft_qp *qp, struct weft_pkt *pkt, struct resp_budget *budget)
{
	struct weft_recv *recv = &qp->recv;

	weft_pkt_undo(pkt, &recv->packets);
	if (!recv->ack_due || recv->response.kind)
		return;
	weft_reply_new(qp, recv->ack_psn, WEFT_RESPONSE_ACK);
	weft_reply_go_on(qp, &budget->bytes);
}

/* Process a packet, and free it unless it has to wait. Return: false: all packets have to. */
static bool resp_consume(struct weft_qp *qp, struct weft_pkt *pkt, struct resp_budget *budget)
{
	enum weft_verdict verdict = resp_packet(qp, pkt);

	if (unlikely(verdict == WEFT_LATER)) {
		resp_park(qp, pkt, budget);
		return false;
	}
	if (likely(verdict != WEFT_KEPT))
		weft_pkt_free(pkt);
	return true;
}

/* Take the next request that can be processed now. */
static bool resp_next(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_recv *recv = &qp->recv;

	if (unlikely(!weft_early_is_empty(&recv->early)) &&
	    weft_early_is_ready(&recv->early, recv->psn)) {
		weft_early_take(&recv->early, qp->dev, pkt);
		return true;
	}
	return weft_pkt_next(&recv->packets, pkt);
}

static void resp_rest(const struct resp_budget *budget)
{
	if (!budget->atomic)
		cond_resched();
}

/* Send answers and process the backlog. Return: true: the caller defers the rest. */
static bool resp_work(struct weft_qp *qp, struct resp_budget *budget)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_pkt pkt __uninitialized;

	for (;;) {
		if (weft_turn_stopping(&recv->turn))
			return false;
		resp_acknowledge(qp);
		if (unlikely(recv->response.kind == WEFT_RESPONSE_READ))
			resp_supersede(recv);
		if (recv->response.kind) {
			if (budget->bytes < 0)
				return true;
			if (!weft_reply_go_on(qp, &budget->bytes))
				return false;
			resp_rest(budget);
			continue;
		}
		if (budget->packets-- <= 0)
			return resp_has_requests(recv);
		if (!resp_next(qp, &pkt) || !resp_consume(qp, &pkt, budget))
			return false;
		budget->packets -= pkt.psns - 1;
		resp_rest(budget);
	}
}

static void resp_release(struct weft_qp *qp, bool defer)
{
	if (defer)
		weft_turn_defer(&qp->recv.turn);
	else
		weft_turn_release(&qp->recv.turn);
}

/*
 * Process the backlog, or flush in ERR, in the work item of the receive turn, which is owned, and
 * given back.
 */
void weft_responder_run(struct weft_qp *qp)
{
	struct resp_budget budget = {
		.packets = WEFT_QUEUE_PACKETS, .bytes = WEFT_DOORBELL_BYTES,
	};
	bool defer;

	weft_turn_take(&qp->recv.turn);
	weft_odp_wake(&qp->recv);
	defer = resp_work(qp, &budget);
	if (weft_qp_state(qp) == IB_QPS_ERR) {
		weft_early_purge(&qp->recv.early, qp->dev);
		weft_message_flush(qp);
	}
	resp_release(qp, defer);
	cond_resched();
}

/* Is a datagram, which would have to wait, for a QP that receives, and has another Q_Key? */
static noinline_for_stack bool resp_bad_qkey(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	struct weft_payload_spans spans __uninitialized;
	struct weft_request req;
	struct weft_iter from;

	if (likely(READ_ONCE(qp->qkey) == pkt->hdr.deth.qkey) || !weft_qp_can_receive(qp))
		return false;
	weft_pkt_payload(pkt, &spans, &from);
	req = resp_datagram_request(qp, pkt, &from, grh);
	return weft_message_bad_qkey(qp, &req, pkt->hdr.deth.qkey);
}

/*
 * Put a request into the backlog. The caller need not own the turn, so the addresses, or the Q_Key,
 * are checked first: packets that do not come from the peer, or from somebody who may send
 * datagrams, must not fill the backlog.
 */
static void resp_enqueue(struct weft_qp *qp, struct weft_pkt *pkt)
{
	if (weft_qp_is_ud(qp)) {
		if (resp_bad_qkey(qp, pkt)) {
			weft_pkt_free(pkt);
			return;
		}
	} else if (!weft_migration_knows(qp, pkt)) {
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_WRONG_ADDRESS);
		return;
	}
	trace_weft_defer(qp->qpn, &pkt->hdr, qp->recv.psn);
	if (!weft_pkt_defer(pkt, &qp->recv.packets))
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_QUEUE_FULL);
}

/*
 * Is this the first acknowledge in this soft interrupt? It is sent at once: if there is just one
 * message its requester should not wait, and sending now is cheaper than scheduling the tasklet.
 */
static bool resp_is_first(struct weft_recv *recv)
{
	u32 softirq = __this_cpu_read(kstat.softirqs[NET_RX_SOFTIRQ]);

	if (recv->softirq == softirq)
		return false;
	recv->softirq = softirq;
	return true;
}

/*
 * An acknowledge may wait for a packet of the requester. Otherwise the first one of a soft
 * interrupt is sent at once; the acknowledge of further messages is left to a tasklet, which sends
 * one for all when the soft interrupt ends. But after WEFT_ACK_PACKETS it is sent at once, because
 * the requester of a long message must not wait for it.
 *
 * Return: true: there is nothing else to do now.
 */
static bool resp_is_done(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	if (recv->response.kind || !weft_backlog_is_empty(&recv->packets) ||
	    unlikely(!weft_early_is_empty(&recv->early)))
		return false;
	if (!recv->ack_due || weft_piggyback_wait(qp))
		return true;
	if (recv->unanswered >= WEFT_ACK_PACKETS || resp_is_first(recv))
		return false;
	tasklet_schedule(&qp->late);
	return true;
}

static void resp_late(struct tasklet_struct *tasklet)
{
	struct weft_qp *qp = container_of(tasklet, struct weft_qp, late);
	struct resp_budget budget = resp_softirq_budget;

	if (weft_turn_try(&qp->recv.turn))
		resp_release(qp, resp_work(qp, &budget));
	else
		weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
}

/*
 * Packets of the requester are about to leave, and an acknowledge waits: let it leave with them,
 * unless other answers are under way, which it must not overtake. The send turn is owned, bottom
 * halves are off. Return: true: it is among @held, and the receive turn is owned until
 * weft_responder_joined().
 */
bool weft_responder_join(struct weft_qp *qp, struct weft_held *held)
{
	struct weft_recv *recv = &qp->recv;

	weft_assert_turn(&qp->send.turn);
	if (!weft_turn_try(&recv->turn))
		return false;
	if (recv->piggyback.waits && !resp_has_requests(recv) && !atomic_read(&recv->tx.queued) &&
	    weft_reply_join(qp, held))
		return true;
	weft_turn_release(&recv->turn);
	return false;
}

/* The packets have left; or they have not, and the acknowledge has to. */
void weft_responder_joined(struct weft_qp *qp, bool left)
{
	struct resp_budget budget = resp_softirq_budget;

	qp->recv.ack_due |= !left;
	resp_release(qp, !left && resp_work(qp, &budget));
}

/*
 * Packets of the requester have left without the acknowledge that waits. The send turn is owned.
 */
void weft_responder_alone(struct weft_qp *qp)
{
	struct resp_budget budget = resp_softirq_budget;
	struct weft_recv *recv = &qp->recv;

	if (weft_turn_try(&recv->turn))
		resp_release(qp, resp_work(qp, &budget));
	else
		weft_turn_post(&recv->turn, WEFT_EV_RUN);
}

/* A request packet has arrived. The callee owns the memory of @pkt. Context: soft interrupts. */
void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct resp_budget budget = resp_softirq_budget;
	struct weft_recv *recv = &qp->recv;

	if (!weft_turn_try(&recv->turn)) {
		resp_enqueue(qp, pkt);
		weft_turn_post(&recv->turn, WEFT_EV_RUN);
		return;
	}
	if (resp_has_requests(recv) || recv->response.kind)
		resp_enqueue(qp, pkt);
	else
		resp_consume(qp, pkt, &budget);
	resp_release(qp, !resp_is_done(qp) && resp_work(qp, &budget));
}

/* A receive was posted to a queue whose doorbell is armed. */
void weft_responder_doorbell(struct weft_qp *qp)
{
	weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
}

/* At creation of a QP, after its receive turn has been initialised. */
void weft_responder_init(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_backlog_init(&recv->packets);
	weft_early_init(&recv->early, &recv->turn);
	tasklet_setup(&qp->late, resp_late);
	weft_piggyback_init(qp);
	recv->tx.turn = &recv->turn;
	recv->progress.opcode = WEFT_OPCODE_NONE;
}

/* max_dest_rd_atomic has changed: forget the replay slots. The receive turn is stopped. */
void weft_responder_resize(struct weft_qp *qp)
{
	weft_replay_free(&qp->recv);
}

/*
 * Send the last short answer before the end: the completion of the request that it acknowledges may
 * be why the QP is being reset.
 */
static void resp_end(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	struct resp_budget budget = {};

	weft_backlog_purge(&recv->packets);
	weft_early_reset(&recv->early, qp->dev);
	resp_acknowledge(qp);
	if (recv->response.kind < WEFT_RESPONSE_READ)
		weft_reply_go_on(qp, &budget.bytes);
}

/*
 * Forget all that is in progress and the backlog, after acknowledging what has been executed. The
 * receive turn is stopped, and the receive queue has not been reset yet.
 */
void weft_responder_reset(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_piggyback_reset(qp);
	tasklet_kill(&qp->late);
	resp_end(qp);
	weft_responder_resize(qp);
	recv->response.kind = WEFT_RESPONSE_NOTHING;
	recv->progress.opcode = WEFT_OPCODE_NONE;
	recv->nak_sent = false;
	recv->nak_again = false;
	recv->maps = false;
	recv->ack_due = false;
	recv->unanswered = 0;
	if (unlikely(recv->tagged) && recv->held && !recv->malformed)
		weft_srq_uncount(recv->srq, recv->tagged);
	recv->held = false;
	recv->comm_est = false;
	recv->last_wqe = false;
	recv->msn = 0;
	recv->done = 0;
	recv->refused = (struct weft_refused){};
	qp->seen = (struct weft_inject_seen){};
	weft_odp_forget(&recv->odp);
	weft_odp_wake(recv);
	qp->dev->wire->forget(&recv->tx);
}
