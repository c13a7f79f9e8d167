// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/responder.h"

#include <linux/sched.h>
#include <linux/slab.h>

#include "engine/link.h"
#include "engine/pkt.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/**
 * struct resp_budget - what is left to do before the rest is deferred
 * @packets: request packets
 * @bytes: of answers
 */
struct resp_budget {
	s32	packets;
	s32	bytes;
};

/* ---- answers ---- */

static void resp_start_run(struct weft_qp *qp, u8 opcode, struct weft_run *run)
{
	struct weft_replying *replying = &qp->recv.replying;

	*run = (struct weft_run){
		.qp = qp,
		.av = &qp->av,
		.flow = &qp->recv.flow,
		.num = 1,
		.mtu = qp->mtu,
		.hdr = {
			.opcode = opcode,
			.migreq = true,
			.pkey = WEFT_DEFAULT_PKEY,
			.dqpn = qp->dest_qpn,
			.psn = replying->psn,
			.aeth.syndrome = replying->syndrome,
			.aeth.msn = replying->msn,
			.atomic_ack.original = replying->value,
		},
	};
}

/* Return: false: there was no room. */
static bool resp_send_short(struct weft_qp *qp, u8 operation)
{
	struct weft_run run;
	u32 sent;

	resp_start_run(qp, WEFT_OPCODE(WEFT_TRANSPORT_RC, operation), &run);
	sent = qp->dev->wire->xmit(&run);
	trace_weft_send(qp->qpn, &run.hdr, run.num, sent, 0);
	if (!sent)
		return false;
	qp->recv.replying.kind = WEFT_REPLYING_NOTHING;
	return true;
}

static u8 resp_read_operation(const struct weft_replying *replying, u32 length)
{
	bool last = replying->done + length == replying->length;

	if (!replying->done)
		return last ? WEFT_OP_READ_RESPONSE_ONLY : WEFT_OP_READ_RESPONSE_FIRST;
	return last ? WEFT_OP_READ_RESPONSE_LAST : WEFT_OP_READ_RESPONSE_MIDDLE;
}

static void resp_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault);

/* Some more packets of a READ response. Return: false: there was no room. */
static bool resp_send_read(struct weft_qp *qp, struct resp_budget *budget)
{
	struct weft_replying *replying = &qp->recv.replying;
	struct weft_request req = {
		.opcode = WEFT_SQE_READ,
		.rkey = replying->rkey,
		.remote_addr = replying->va,
	};
	u32 left = replying->length - replying->done, first, sent;
	enum weft_fault fault;
	struct weft_run run;

	/* the first packet may be FIRST or MIDDLE, so that the run's others may
	 * be MIDDLE
	 */
	first = min(left, qp->mtu);
	resp_start_run(qp, WEFT_OPCODE(WEFT_TRANSPORT_RC,
				       resp_read_operation(replying, first)), &run);
	run.length = min(left, WEFT_RUN_PACKETS * qp->mtu);
	run.num = weft_rules_psn_count(run.length, qp->mtu);
	run.middle = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_READ_RESPONSE_MIDDLE);
	run.last = run.length == left ?
		   WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_READ_RESPONSE_LAST) : run.middle;
	run.payload = &qp->recv.iter;
	fault = weft_message_resume(qp, &req, replying->done, run.length);
	if (fault) {
		resp_refuse(qp, replying->psn, fault);
		return true;
	}
	sent = qp->dev->wire->xmit(&run);
	weft_message_pause(qp);
	trace_weft_send(qp->qpn, &run.hdr, run.num, sent, run.length);
	replying->psn = weft_psn_add(replying->psn, sent);
	replying->done += min(run.length, sent * qp->mtu);
	budget->bytes -= min(run.length, sent * qp->mtu);
	/* a READ of nothing is one packet, too */
	if (sent == run.num && run.length == left)
		replying->kind = WEFT_REPLYING_NOTHING;
	return sent == run.num;
}

/* Go on with the answer under way. Return: false: there was no room. */
static bool resp_reply(struct weft_qp *qp, struct resp_budget *budget)
{
	switch (qp->recv.replying.kind) {
	case WEFT_REPLYING_ACK:
		return resp_send_short(qp, WEFT_OP_ACK);
	case WEFT_REPLYING_ATOMIC:
		return resp_send_short(qp, WEFT_OP_ATOMIC_ACK);
	case WEFT_REPLYING_READ:
		return resp_send_read(qp, budget);
	default:
		return true;
	}
}

/* Receives there are for messages after the last one completed. */
static u8 resp_credits(const struct weft_qp *qp)
{
	int pending;

	/* those of an SRQ are for others, too */
	if (qp->srq)
		return WEFT_AETH_NO_CREDIT;
	pending = weft_ring_pending(qp->recv.ring);
	return pending < 0 ? 0 : weft_aeth_credit_code(pending + qp->recv.held);
}

/* An answer to the request packet with a PSN. Only one is under way. */
static struct weft_replying *resp_new_reply(struct weft_qp *qp, u32 psn,
					    enum weft_reply_kind kind)
{
	struct weft_recv *recv = &qp->recv;

	/* it acknowledges all that was before */
	recv->ack_due = false;
	recv->replying = (struct weft_replying){
		.kind = kind,
		.psn = psn,
		.msn = recv->msn,
		.syndrome = weft_aeth_syndrome(WEFT_AETH_ACK, resp_credits(qp)),
	};
	return &recv->replying;
}

static void resp_nak(struct weft_qp *qp, u32 psn, u8 syndrome)
{
	resp_new_reply(qp, psn, WEFT_REPLYING_ACK)->syndrome = syndrome;
}

static u8 resp_nak_code(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_REM_ACCESS_ERR:
		return WEFT_NAK_REMOTE_ACCESS;
	case IB_WC_REM_OP_ERR:
		return WEFT_NAK_REMOTE_OPERATION;
	default:
		return WEFT_NAK_INVALID_REQUEST;
	}
}

/* A request is refused: consequences here, and an answer. */
static void resp_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault)
{
	const struct weft_verdict *verdict = weft_message_refuse(qp, fault);
	struct weft_recv *recv = &qp->recv;

	switch (verdict->reply) {
	case WEFT_REPLY_RNR:
		resp_nak(qp, psn, weft_aeth_syndrome(WEFT_AETH_RNR_NAK, recv->rnr_timer));
		recv->nak_sent = true;
		break;
	case WEFT_REPLY_NAK:
		resp_nak(qp, psn, weft_aeth_syndrome(WEFT_AETH_NAK,
						     resp_nak_code(verdict->requester)));
		break;
	case WEFT_REPLY_NONE:
		break;
	}
}

/* ---- responder resources ---- */

static bool resp_make_resources(struct weft_recv *recv)
{
	if (likely(recv->resources))
		return true;
	recv->resources = kcalloc(recv->max_dest_rd_atomic, sizeof(*recv->resources),
				  GFP_ATOMIC | __GFP_NOWARN);
	recv->num_resources = recv->resources ? recv->max_dest_rd_atomic : 0;
	recv->next_resource = 0;
	return recv->resources;
}

static struct weft_resource *resp_take_resource(struct weft_recv *recv, u32 psn, u32 psns)
{
	struct weft_resource *resource = &recv->resources[recv->next_resource];

	recv->next_resource = (recv->next_resource + 1) % recv->num_resources;
	*resource = (struct weft_resource){ .psn = psn, .psns = psns };
	return resource;
}

/* The youngest first: PSNs come again. */
static const struct weft_resource *resp_find_resource(const struct weft_recv *recv, u32 psn)
{
	const struct weft_resource *resource;
	u32 i, num = recv->num_resources;

	for (i = 1; i <= num; i++) {
		resource = &recv->resources[(recv->next_resource + num - i) % num];
		if (resource->psns &&
		    weft_psn_in_window(psn, resource->psn, resource->psns))
			return resource;
	}
	return NULL;
}

/* ---- requests ---- */

static void resp_message_done(struct weft_recv *recv)
{
	recv->msn = weft_psn_add(recv->msn, 1);
	recv->progress.opcode = WEFT_OPCODE_NONE;
}

static enum weft_fault resp_read(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.opcode = WEFT_SQE_READ,
		.length = hdr->reth.length,
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
	};
	struct weft_recv *recv = &qp->recv;
	struct weft_replying *replying;
	struct weft_resource *resource;
	enum weft_fault fault;
	u32 psns;

	if (req.length > WEFT_MAX_MSG)
		return WEFT_FAULT_BAD_REQUEST;
	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	weft_message_end(qp, &req);
	psns = weft_rules_psn_count(req.length, qp->mtu);
	resource = resp_take_resource(recv, hdr->psn, psns);
	resource->rkey = req.rkey;
	resource->va = req.remote_addr;
	resource->length = req.length;
	recv->psn = weft_psn_add(recv->psn, psns);
	resp_message_done(recv);
	replying = resp_new_reply(qp, hdr->psn, WEFT_REPLYING_READ);
	replying->rkey = req.rkey;
	replying->va = req.remote_addr;
	replying->length = req.length;
	return WEFT_FAULT_NONE;
}

static enum weft_fault resp_atomic(struct weft_qp *qp, const struct weft_pkt *pkt,
				   enum weft_kind kind)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.opcode = kind == WEFT_KIND_CMP_SWP ? WEFT_SQE_CMP_SWP : WEFT_SQE_FETCH_ADD,
		.length = sizeof(u64),
		.rkey = hdr->atomic.rkey,
		.remote_addr = hdr->atomic.va,
	};
	struct weft_recv *recv = &qp->recv;
	struct weft_resource *resource;
	enum weft_fault fault;

	if (kind == WEFT_KIND_CMP_SWP) {
		req.compare_add = hdr->atomic.compare;
		req.swap = hdr->atomic.swap_add;
	} else {
		req.compare_add = hdr->atomic.swap_add;
	}
	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	resource = resp_take_resource(recv, hdr->psn, 1);
	resource->atomic = true;
	resource->value = weft_message_atomic(qp, &req);
	weft_message_end(qp, &req);
	recv->psn = weft_psn_add(recv->psn, 1);
	resp_message_done(recv);
	resp_new_reply(qp, hdr->psn, WEFT_REPLYING_ATOMIC)->value = resource->value;
	return WEFT_FAULT_NONE;
}

/* What the last packet of a SEND or WRITE adds to its opcode. */
static u8 resp_final_opcode(const struct weft_opcode *op, u8 sqe_opcode)
{
	if (op->ext & WEFT_EXT_IMM)
		return sqe_opcode == WEFT_SQE_WRITE ? WEFT_SQE_WRITE_IMM : WEFT_SQE_SEND_IMM;
	if (op->ext & WEFT_EXT_IETH)
		return WEFT_SQE_SEND_INV;
	return sqe_opcode;
}

static void resp_build(const struct weft_progress *progress, const struct weft_pkt *pkt,
		       const struct weft_opcode *op, struct weft_request *req)
{
	const struct weft_hdr *hdr = &pkt->hdr;

	*req = (struct weft_request){
		.opcode = progress->sqe_opcode,
		.solicited = hdr->se,
		.rkey = progress->rkey,
		.remote_addr = progress->va,
		.length = progress->sqe_opcode == WEFT_SQE_WRITE ? progress->length :
								   hdr->payload,
	};
	if (!(op->segment & WEFT_SEGMENT_LAST))
		return;
	req->opcode = resp_final_opcode(op, progress->sqe_opcode);
	if (op->ext & WEFT_EXT_IMM)
		req->ex = (__force u32)hdr->imm;
	else if (op->ext & WEFT_EXT_IETH)
		req->ex = hdr->ieth.rkey;
}

/* Does a packet of a WRITE bring as much as the RETH said? */
static bool resp_length_valid(const struct weft_progress *progress, u32 payload, bool last)
{
	u64 done = (u64)progress->done + payload;

	if (progress->sqe_opcode != WEFT_SQE_WRITE)
		return done <= WEFT_MAX_MSG;
	if (progress->length > WEFT_MAX_MSG)
		return false;
	return last ? done == progress->length : done < progress->length;
}

static void resp_start_message(struct weft_progress *progress, const struct weft_pkt *pkt,
			       const struct weft_opcode *op)
{
	*progress = (struct weft_progress){
		.opcode = WEFT_OPCODE_NONE,
		.sqe_opcode = op->kind == WEFT_KIND_WRITE ? WEFT_SQE_WRITE : WEFT_SQE_SEND,
		.rkey = pkt->hdr.reth.rkey,
		.va = pkt->hdr.reth.va,
		.length = pkt->hdr.reth.length,
	};
}

/* Get hold of where the payload goes. */
static enum weft_fault resp_open(struct weft_qp *qp, const struct weft_opcode *op,
				 const struct weft_request *req, u32 payload)
{
	enum weft_fault fault;

	if (op->segment & WEFT_SEGMENT_FIRST)
		return weft_message_begin(qp, req);
	if (req->opcode == WEFT_SQE_WRITE_IMM) {
		fault = weft_message_begin_immediate(qp);
		if (fault)
			return fault;
	}
	return weft_message_resume(qp, req, qp->recv.progress.done, payload);
}

/* A packet of a SEND or WRITE. */
static enum weft_fault resp_data(struct weft_qp *qp, const struct weft_pkt *pkt,
				 const struct weft_opcode *op)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_progress *progress = &recv->progress;
	bool last = op->segment & WEFT_SEGMENT_LAST;
	u32 payload = pkt->hdr.payload;
	struct weft_payload_spans spans;
	struct weft_request req;
	enum weft_fault fault;
	struct weft_iter from;

	if (op->segment & WEFT_SEGMENT_FIRST)
		resp_start_message(progress, pkt, op);
	if (!resp_length_valid(progress, payload, last))
		return WEFT_FAULT_BAD_REQUEST;
	resp_build(progress, pkt, op, &req);
	fault = resp_open(qp, op, &req, payload);
	if (fault)
		return fault;
	weft_pkt_payload(pkt, &spans, &from);
	weft_message_place(qp, &from, payload);
	if (!last) {
		weft_message_pause(qp);
		progress->done += payload;
		progress->opcode = pkt->hdr.opcode;
		return WEFT_FAULT_NONE;
	}
	req.length = progress->done + payload;
	fault = weft_message_end(qp, &req);
	if (!fault)
		resp_message_done(recv);
	return fault;
}

/* A request in its turn. Return: why it is refused. */
static enum weft_fault resp_execute(struct weft_qp *qp, const struct weft_pkt *pkt,
				    const struct weft_opcode *op)
{
	switch (op->kind) {
	case WEFT_KIND_SEND:
	case WEFT_KIND_WRITE:
		return resp_data(qp, pkt, op);
	case WEFT_KIND_READ:
		return resp_read(qp, pkt);
	case WEFT_KIND_CMP_SWP:
	case WEFT_KIND_FETCH_ADD:
		return resp_atomic(qp, pkt, op->kind);
	default:
		return WEFT_FAULT_BAD_REQUEST;
	}
}

static bool resp_needs_resource(const struct weft_opcode *op)
{
	return op->kind == WEFT_KIND_READ || op->kind == WEFT_KIND_CMP_SWP ||
	       op->kind == WEFT_KIND_FETCH_ADD;
}

static bool resp_form_valid(const struct weft_qp *qp, const struct weft_pkt *pkt,
			    const struct weft_opcode *op)
{
	return !pkt->malformed &&
	       weft_opcode_follows(qp->recv.progress.opcode, pkt->hdr.opcode) &&
	       weft_opcode_payload_valid(op, pkt->hdr.payload, qp->mtu);
}

/* The PSN is the one that is expected. */
static void resp_expected(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	enum weft_fault fault;

	recv->nak_sent = false;
	/* without memory for them: as if it had not come */
	if (resp_needs_resource(op) && recv->max_dest_rd_atomic &&
	    !resp_make_resources(recv))
		return;
	fault = resp_form_valid(qp, pkt, op) ? resp_execute(qp, pkt, op) :
					       WEFT_FAULT_BAD_REQUEST;
	if (fault) {
		resp_refuse(qp, pkt->hdr.psn, fault);
		return;
	}
	if (recv->replying.kind)
		return; /* READ and atomic have moved the PSN themselves */
	recv->psn = weft_psn_add(recv->psn, 1);
	recv->ack_due |= pkt->hdr.ackreq;
}

/* IBA 9.7.5.1.1: some have been lost. Said once, until the right one comes. */
static void resp_gap(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_stats_inc(qp, WEFT_STAT_OUT_OF_SEQUENCE);
	if (recv->nak_sent)
		return;
	recv->nak_sent = true;
	weft_stats_inc(qp, WEFT_STAT_SEQ_NAKS_SENT);
	resp_nak(qp, recv->psn, weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE));
}

/* A READ again, from some packet of its response on. */
static void resp_read_again(struct weft_qp *qp, const struct weft_pkt *pkt,
			    const struct weft_resource *resource)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	u64 offset = (u64)((hdr->psn - resource->psn) & WEFT_PSN_MASK) * qp->mtu;
	struct weft_replying *replying;

	if (resource->atomic || hdr->reth.rkey != resource->rkey ||
	    hdr->reth.va != resource->va + offset ||
	    hdr->reth.length > resource->length - offset)
		return;
	replying = resp_new_reply(qp, hdr->psn, WEFT_REPLYING_READ);
	replying->rkey = hdr->reth.rkey;
	replying->va = hdr->reth.va;
	replying->length = hdr->reth.length;
}

/* IBA 9.7.5.1.2: answered again, not executed again. */
static void resp_duplicate(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	const struct weft_resource *resource;

	weft_stats_inc(qp, WEFT_STAT_DUPLICATES);
	if (pkt->malformed)
		return;
	if (!resp_needs_resource(op)) {
		qp->recv.ack_due = true;
		return;
	}
	resource = resp_find_resource(&qp->recv, pkt->hdr.psn);
	if (!resource)
		return;
	if (op->kind == WEFT_KIND_READ)
		resp_read_again(qp, pkt, resource);
	else if (resource->atomic)
		resp_new_reply(qp, pkt->hdr.psn, WEFT_REPLYING_ATOMIC)->value = resource->value;
}

static void resp_reliable(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	s32 ahead = weft_psn_diff(pkt->hdr.psn, qp->recv.psn);

	if (likely(!ahead))
		resp_expected(qp, pkt);
	else if (ahead > 0)
		resp_gap(qp);
	else
		resp_duplicate(qp, pkt);
}

/*
 * IBA 9.8.2.2: a message that misses a packet is dropped; the next first packet
 * is welcome whatever its PSN.
 */
static void resp_unreliable(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	enum weft_fault fault;

	if (op->segment & WEFT_SEGMENT_FIRST) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		recv->psn = pkt->hdr.psn;
	}
	if (pkt->hdr.psn != recv->psn) {
		weft_stats_inc(qp, WEFT_STAT_OUT_OF_SEQUENCE);
		recv->progress.opcode = WEFT_OPCODE_NONE;
		return;
	}
	recv->psn = weft_psn_add(recv->psn, 1);
	fault = resp_form_valid(qp, pkt, op) ? resp_execute(qp, pkt, op) :
					       WEFT_FAULT_BAD_REQUEST;
	if (fault) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		weft_message_refuse(qp, fault);
	}
}

static void resp_datagram(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	struct weft_payload_spans spans;
	struct weft_request req = {
		.opcode = op->ext & WEFT_EXT_IMM ? WEFT_SQE_SEND_IMM : WEFT_SQE_SEND,
		.solicited = pkt->hdr.se,
		.length = pkt->hdr.payload,
		.ex = (__force u32)pkt->hdr.imm,
		.src_qpn = pkt->hdr.deth.sqpn,
		.grh = grh,
		.dgid = &pkt->dgid,
		.network_hdr_type = pkt->network,
	};
	struct weft_iter from;

	weft_pkt_grh(pkt, grh);
	weft_pkt_payload(pkt, &spans, &from);
	if (weft_message_datagram(qp, &req, pkt->hdr.deth.qkey, &from))
		weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
}

/* The receive turn is owned. */
static void resp_packet(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	if (!weft_qp_can_receive(qp)) {
		/* the device may be gone with the QP: RESET counts nowhere */
		if (weft_qp_state(qp) != IB_QPS_RESET)
			weft_stats_inc(qp, WEFT_STAT_RX_NOT_READY);
		return;
	}
	if (!weft_dev_port_active(qp->dev)) {
		weft_stats_inc(qp, WEFT_STAT_RX_NOT_READY);
		return;
	}
	if (weft_qp_is_ud(qp)) {
		resp_datagram(qp, pkt);
		return;
	}
	if (!weft_pkt_is_on_path(pkt, &qp->av)) {
		weft_stats_inc(qp, WEFT_STAT_RX_WRONG_ADDRESS);
		return;
	}
	weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	trace_weft_request(qp->qpn, &pkt->hdr, qp->recv.psn);
	if (qp->type == IB_QPT_RC)
		resp_reliable(qp, pkt);
	else
		resp_unreliable(qp, pkt);
}

/* Acknowledge all before the expected PSN, unless there will be more to say. */
static void resp_acknowledge(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	if (!recv->ack_due || recv->replying.kind || !skb_queue_empty(&recv->packets))
		return;
	resp_new_reply(qp, weft_psn_add(recv->psn, -1), WEFT_REPLYING_ACK);
}

/*
 * The peer has lost some of a READ response and asks for it again: nobody wants
 * what is left to send of the first one.
 */
static void resp_supersede(struct weft_recv *recv)
{
	struct weft_replying *replying = &recv->replying;
	const struct weft_resource *resource;
	struct weft_pkt pkt;

	if (replying->kind != WEFT_REPLYING_READ || !weft_pkt_peek(&recv->packets, &pkt) ||
	    pkt.malformed || weft_opcode(pkt.hdr.opcode)->kind != WEFT_KIND_READ ||
	    !weft_psn_before(pkt.hdr.psn, recv->psn))
		return;
	resource = resp_find_resource(recv, pkt.hdr.psn);
	if (resource && weft_psn_in_window(replying->psn, resource->psn, resource->psns))
		replying->kind = WEFT_REPLYING_NOTHING;
}

/* Return: true when the rest is to be deferred. */
static bool resp_work(struct weft_qp *qp, struct resp_budget *budget)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_pkt pkt;

	for (;;) {
		if (weft_turn_stopping(&recv->turn))
			return false;
		resp_acknowledge(qp);
		resp_supersede(recv);
		if (recv->replying.kind) {
			if (budget->bytes < 0)
				return true;
			if (!resp_reply(qp, budget))
				return false;
			continue;
		}
		if (budget->packets-- <= 0)
			return !skb_queue_empty(&recv->packets);
		if (!weft_pkt_next(&recv->packets, &pkt))
			return false;
		resp_packet(qp, &pkt);
		weft_pkt_free(&pkt);
	}
}

static void resp_release(struct weft_qp *qp, bool defer)
{
	if (defer)
		weft_turn_defer(&qp->recv.turn);
	else
		weft_turn_release(&qp->recv.turn);
}

void weft_responder_run(struct weft_qp *qp)
{
	struct resp_budget budget = {
		.packets = WEFT_QUEUE_PACKETS, .bytes = WEFT_DOORBELL_BYTES,
	};
	bool defer;

	weft_turn_take(&qp->recv.turn);
	defer = resp_work(qp, &budget);
	if (weft_qp_state(qp) == IB_QPS_ERR)
		weft_message_flush(qp);
	resp_release(qp, defer);
	cond_resched();
}

static void resp_enqueue(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct weft_recv *recv = &qp->recv;

	if (skb_queue_len_lockless(&recv->packets) >= WEFT_QUEUE_PACKETS) {
		weft_stats_inc(qp->dev, WEFT_STAT_RX_QUEUE_FULL);
		weft_pkt_free(pkt);
		return;
	}
	trace_weft_defer(qp->qpn, &pkt->hdr, recv->psn);
	weft_pkt_defer(pkt, &recv->packets);
}

void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct resp_budget budget = {
		.packets = WEFT_SOFTIRQ_WQES, .bytes = WEFT_SOFTIRQ_BYTES,
	};
	struct weft_recv *recv = &qp->recv;

	if (!weft_turn_try(&recv->turn)) {
		resp_enqueue(qp, pkt);
		weft_turn_post(&recv->turn, WEFT_EV_RUN);
		return;
	}
	if (skb_queue_empty(&recv->packets) && !recv->replying.kind) {
		resp_packet(qp, pkt);
		weft_pkt_free(pkt);
	} else {
		resp_enqueue(qp, pkt);
	}
	resp_release(qp, resp_work(qp, &budget));
}

void weft_responder_doorbell(struct weft_qp *qp)
{
	weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
}

void weft_responder_init(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	skb_queue_head_init(&recv->packets);
	recv->flow.turn = &recv->turn;
	recv->progress.opcode = WEFT_OPCODE_NONE;
}

void weft_responder_resize(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	kfree(recv->resources);
	recv->resources = NULL;
	recv->num_resources = 0;
}

/*
 * The last short answer goes first: the completion of what it acknowledges may
 * be the reason for the end.
 */
static void resp_end(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	struct resp_budget budget = {};

	skb_queue_purge(&recv->packets);
	resp_acknowledge(qp);
	if (recv->replying.kind != WEFT_REPLYING_READ)
		resp_reply(qp, &budget);
}

void weft_responder_reset(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	resp_end(qp);
	weft_responder_resize(qp);
	recv->replying.kind = WEFT_REPLYING_NOTHING;
	recv->progress.opcode = WEFT_OPCODE_NONE;
	recv->nak_sent = false;
	recv->ack_due = false;
	recv->held = false;
	recv->comm_est = false;
	recv->last_wqe = false;
	recv->msn = 0;
	qp->dev->wire->forget(&recv->flow);
}
