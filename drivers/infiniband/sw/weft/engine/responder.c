// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/responder.h"

#include <linux/kernel_stat.h>
#include <linux/sched.h>

#include "engine/drop.h"
#include "engine/ipcsum.h"
#include "engine/link.h"
#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/pkt.h"
#include "engine/replay.h"
#include "engine/reply.h"
#include "object/dev.h"
#include "object/qp.h"
#include "object/table.h"
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
 * @atomic: nothing may sleep
 */
struct resp_budget {
	s32	packets;
	s32	bytes;
	bool	atomic;
};

static const struct resp_budget resp_softirq_budget = {
	.packets = WEFT_SOFTIRQ_WQES, .bytes = WEFT_SOFTIRQ_BYTES, .atomic = true,
};

static void resp_message_done(struct weft_recv *recv)
{
	recv->msn = weft_psn_add(recv->msn, 1);
	recv->progress.opcode = WEFT_OPCODE_NONE;
}

/* A request of one packet has been executed; to be answered without data. */
static struct weft_response *resp_done(struct weft_qp *qp, u32 psn)
{
	struct weft_recv *recv = &qp->recv;

	weft_replay_keep(recv, psn, 1, WEFT_RESPONSE_DONE);
	recv->psn = weft_psn_add(recv->psn, 1);
	resp_message_done(recv);
	return weft_reply_new(qp, psn, WEFT_RESPONSE_DONE);
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
	struct weft_response *response;
	struct weft_replay_slot *slot;
	enum weft_fault fault;
	u32 psns;

	if (req.length > WEFT_MAX_MSG)
		return WEFT_FAULT_BAD_REQUEST;
	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	weft_odp_carry(&recv->odp);
	weft_message_end(qp, &req);
	psns = weft_rules_psn_count(req.length, qp->mtu);
	slot = weft_replay_keep(recv, hdr->psn, psns, WEFT_RESPONSE_READ);
	slot->srqn = hdr->xrceth.srqn;
	slot->rkey = req.rkey;
	slot->va = req.remote_addr;
	slot->length = req.length;
	recv->psn = weft_psn_add(recv->psn, psns);
	resp_message_done(recv);
	response = weft_reply_new(qp, hdr->psn, WEFT_RESPONSE_READ);
	response->srqn = hdr->xrceth.srqn;
	response->rkey = req.rkey;
	response->va = req.remote_addr;
	response->length = req.length;
	return WEFT_FAULT_NONE;
}

static u8 resp_atomic_opcode(enum weft_kind kind)
{
	switch (kind) {
	case WEFT_KIND_CMP_SWP:
		return WEFT_SQE_CMP_SWP;
	case WEFT_KIND_MASKED_CMP_SWP:
		return WEFT_SQE_MASKED_CMP_SWP;
	case WEFT_KIND_MASKED_FETCH_ADD:
		return WEFT_SQE_MASKED_FETCH_ADD;
	default:
		return WEFT_SQE_FETCH_ADD;
	}
}

static struct weft_request resp_atomic_request(const struct weft_hdr *hdr, enum weft_kind kind)
{
	bool swap = kind == WEFT_KIND_CMP_SWP || kind == WEFT_KIND_MASKED_CMP_SWP;

	return (struct weft_request){
		.opcode = resp_atomic_opcode(kind),
		.length = sizeof(u64),
		.rkey = hdr->atomic.rkey,
		.remote_addr = hdr->atomic.va,
		.compare_add = swap ? hdr->atomic.compare : hdr->atomic.swap_add,
		.swap = hdr->atomic.swap_add,
		.compare_add_mask = hdr->masks.compare_add,
		.swap_mask = hdr->masks.swap,
	};
}

static enum weft_fault resp_atomic(struct weft_qp *qp, const struct weft_pkt *pkt,
				   enum weft_kind kind)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = resp_atomic_request(hdr, kind);
	struct weft_recv *recv = &qp->recv;
	struct weft_replay_slot *slot;
	enum weft_fault fault;

	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	slot = weft_replay_keep(recv, hdr->psn, 1, WEFT_RESPONSE_ATOMIC);
	slot->value = weft_message_atomic(qp, &req);
	weft_message_end(qp, &req);
	recv->psn = weft_psn_add(recv->psn, 1);
	resp_message_done(recv);
	weft_reply_new(qp, hdr->psn, WEFT_RESPONSE_ATOMIC)->value = slot->value;
	return WEFT_FAULT_NONE;
}

static enum weft_fault resp_atomic_write(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.opcode = WEFT_SQE_ATOMIC_WRITE,
		.length = WEFT_ATOMIC_WRITE_LENGTH,
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
	};
	struct weft_payload_spans spans __uninitialized;
	enum weft_fault fault;
	struct weft_iter from;

	if (hdr->reth.length != req.length)
		return WEFT_FAULT_BAD_REQUEST;
	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	weft_pkt_payload(pkt, &spans, &from);
	weft_message_atomic_write(qp, &from);
	weft_message_end(qp, &req);
	resp_done(qp, hdr->psn);
	return WEFT_FAULT_NONE;
}

static enum weft_fault resp_flush(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.opcode = WEFT_SQE_FLUSH,
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
		.flush.length = hdr->reth.length,
		.flush.placement = hdr->feth.placement,
		.flush.selectivity = hdr->feth.selectivity,
	};
	struct weft_response *response;
	enum weft_fault fault;
	u64 left, end;

	fault = weft_message_begin(qp, &req);
	if (fault)
		return fault;
	end = qp->recv.span.addr + qp->recv.span.length;
	left = weft_message_write_back(qp, &req);
	weft_message_end(qp, &req);
	response = resp_done(qp, hdr->psn);
	if (left) {
		response->kind = WEFT_RESPONSE_FLUSH;
		response->srqn = hdr->xrceth.srqn;
		response->rkey = req.rkey;
		response->va = end - left;
		response->value = left;
	}
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
	struct weft_payload_spans spans __uninitialized;
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
	weft_odp_end(&recv->odp);
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
	case WEFT_KIND_MASKED_CMP_SWP:
	case WEFT_KIND_MASKED_FETCH_ADD:
		return resp_atomic(qp, pkt, op->kind);
	case WEFT_KIND_FLUSH:
		return resp_flush(qp, pkt);
	case WEFT_KIND_ATOMIC_WRITE:
		return resp_atomic_write(qp, pkt);
	default:
		return WEFT_FAULT_BAD_REQUEST;
	}
}

static bool resp_needs_slot(const struct weft_opcode *op)
{
	return BIT(op->kind) & (BIT(WEFT_KIND_READ) | BIT(WEFT_KIND_CMP_SWP) |
				BIT(WEFT_KIND_FETCH_ADD) | BIT(WEFT_KIND_FLUSH) |
				BIT(WEFT_KIND_ATOMIC_WRITE) | BIT(WEFT_KIND_MASKED_CMP_SWP) |
				BIT(WEFT_KIND_MASKED_FETCH_ADD));
}

/* What answers a request that needs a replay slot. */
static enum weft_response_kind resp_answer_kind(const struct weft_opcode *op)
{
	switch (op->kind) {
	case WEFT_KIND_READ:
		return WEFT_RESPONSE_READ;
	case WEFT_KIND_FLUSH:
	case WEFT_KIND_ATOMIC_WRITE:
		return WEFT_RESPONSE_DONE;
	default:
		return WEFT_RESPONSE_ATOMIC;
	}
}

static bool resp_form_valid(const struct weft_qp *qp, const struct weft_pkt *pkt,
			    const struct weft_opcode *op)
{
	return !pkt->malformed &&
	       weft_opcode_follows(qp->recv.progress.opcode, pkt->hdr.opcode) &&
	       weft_opcode_payload_valid(op, pkt->hdr.payload, qp->mtu);
}

static enum weft_fault resp_check_and_execute(struct weft_qp *qp, const struct weft_pkt *pkt,
					      const struct weft_opcode *op)
{
	enum weft_fault fault;

	if (!resp_form_valid(qp, pkt, op))
		return WEFT_FAULT_BAD_REQUEST;
	fault = weft_message_enter(qp, pkt->hdr.xrceth.srqn);
	return fault ? fault : resp_execute(qp, pkt, op);
}

/* The PSN is the one that is expected. Return: WEFT_FAULT_PAGES, or whatever. */
static enum weft_fault resp_expected(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	enum weft_fault fault;

	recv->nak_sent = false;
	/* without memory for them: as if it had not come */
	if (resp_needs_slot(op) && recv->max_dest_rd_atomic &&
	    !weft_replay_prepare(recv))
		return WEFT_FAULT_NONE;
	fault = resp_check_and_execute(qp, pkt, op);
	if (unlikely(fault) && fault != WEFT_FAULT_PAGES)
		weft_reply_refuse(qp, pkt->hdr.psn, fault);
	/* a packet that waits for pages keeps no SRQ meanwhile */
	weft_message_leave(qp);
	if (unlikely(fault))
		return fault;
	if (recv->response.kind)
		return fault; /* what is answered has moved the PSN itself */
	recv->ack_psn = recv->psn;
	recv->psn = weft_psn_add(recv->psn, 1);
	recv->ack_due |= pkt->hdr.ackreq;
	recv->unanswered++;
	return fault;
}

/* IBA 9.7.5.1.1: some have been lost. Said once, until the right one comes. */
static void resp_gap(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	struct weft_recv *recv = &qp->recv;

	weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_OUT_OF_SEQUENCE);
	if (recv->nak_sent)
		return;
	recv->nak_sent = true;
	weft_stats_inc(qp, WEFT_STAT_SEQ_NAKS_SENT);
	weft_reply_nak(qp, recv->psn, weft_aeth_syndrome(WEFT_AETH_NAK, WEFT_NAK_PSN_SEQUENCE));
}

/* A READ again, from some packet of its response on. */
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

/* IBA 9.7.5.1.2: answered again, not executed again. */
static void resp_duplicate(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	const struct weft_replay_slot *slot;

	weft_stats_inc(qp, WEFT_STAT_DUPLICATES);
	if (pkt->malformed)
		return;
	if (!resp_needs_slot(op)) {
		qp->recv.ack_due = true;
		return;
	}
	slot = weft_replay_find(&qp->recv, pkt->hdr.psn);
	if (!slot || slot->kind != resp_answer_kind(op))
		return;
	if (op->kind == WEFT_KIND_READ)
		resp_read_again(qp, pkt, slot);
	else
		weft_reply_new(qp, pkt->hdr.psn, slot->kind)->value = slot->value;
}

static enum weft_fault resp_reliable(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	s32 ahead = weft_psn_diff(pkt->hdr.psn, qp->recv.psn);

	if (likely(!ahead))
		return resp_expected(qp, pkt);
	if (ahead > 0)
		resp_gap(qp, pkt);
	else
		resp_duplicate(qp, pkt);
	return WEFT_FAULT_NONE;
}

/*
 * IBA 9.8.2.2: a message that misses a packet is dropped; the next first packet
 * is welcome whatever its PSN.
 */
static enum weft_fault resp_unreliable(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	struct weft_recv *recv = &qp->recv;
	enum weft_fault fault;

	if (op->segment & WEFT_SEGMENT_FIRST) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		recv->psn = pkt->hdr.psn;
	}
	if (pkt->hdr.psn != recv->psn) {
		weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_OUT_OF_SEQUENCE);
		recv->progress.opcode = WEFT_OPCODE_NONE;
		return WEFT_FAULT_NONE;
	}
	fault = resp_form_valid(qp, pkt, op) ? resp_execute(qp, pkt, op) :
					       WEFT_FAULT_BAD_REQUEST;
	if (unlikely(fault == WEFT_FAULT_PAGES))
		return fault;
	recv->psn = weft_psn_add(recv->psn, 1);
	if (fault) {
		recv->progress.opcode = WEFT_OPCODE_NONE;
		weft_message_refuse(qp, fault);
	}
	return fault;
}

static void resp_datagram_lids(const struct weft_qp *qp, const struct weft_pkt *pkt,
			       struct weft_request *req)
{
	const struct weft_ibport *port = &qp->dev->hca->port;

	req->slid = pkt->lrh.slid;
	req->dlid = pkt->lrh.dlid;
	req->sl = pkt->lrh.sl;
	if (pkt->lrh.dlid < WEFT_LID_MCAST)
		req->path_bits = pkt->lrh.dlid & (BIT(READ_ONCE(port->lmc)) - 1);
	/* it may have changed since the packet was let in */
	if (qp->type == IB_QPT_GSI)
		req->pkey_index = max(weft_ibport_find_pkey(port, pkt->hdr.pkey), 0);
}

static enum weft_fault resp_datagram(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	struct weft_payload_spans spans __uninitialized;
	struct weft_request req = {
		.opcode = op->ext & WEFT_EXT_IMM ? WEFT_SQE_SEND_IMM : WEFT_SQE_SEND,
		.solicited = pkt->hdr.se,
		.length = pkt->hdr.payload,
		.ex = (__force u32)pkt->hdr.imm,
		.src_qpn = pkt->hdr.deth.sqpn,
		.grh = grh,
		.has_grh = pkt->grh,
		.network_hdr_type = pkt->network,
	};
	enum weft_fault fault;
	struct weft_iter from;

	if (pkt->network == RDMA_NETWORK_IB)
		resp_datagram_lids(qp, pkt, &req);
	else if (qp->type == IB_QPT_GSI)
		req.vlan_id = weft_dev_gid_vlan(qp->dev, pkt->net, &pkt->dgid, pkt->ifindex);
	weft_pkt_grh(pkt, grh);
	weft_pkt_payload(pkt, &spans, &from);
	if (pkt->network == RDMA_NETWORK_IB && qp->type == IB_QPT_UD)
		req.ip_csum_ok = weft_ipcsum_verify(from, req.length);
	trace_weft_request(qp->qpn, &pkt->hdr, pkt->hdr.psn);
	fault = weft_message_datagram(qp, &req, pkt->hdr.deth.qkey, &from);
	if (!fault)
		weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	return fault;
}

static enum weft_fault resp_connected(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	enum weft_fault fault;

	trace_weft_request(qp->qpn, &pkt->hdr, qp->recv.psn);
	if (weft_qp_is_reliable(qp))
		fault = resp_reliable(qp, pkt);
	else
		fault = resp_unreliable(qp, pkt);
	if (likely(fault != WEFT_FAULT_PAGES))
		weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	return fault;
}

/*
 * The receive turn is owned. Return: WEFT_FAULT_PAGES: the packet has to wait, nothing
 * has become of it; else it is done with.
 */
static enum weft_fault resp_packet(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	if (!weft_qp_can_receive(qp)) {
		/* the device may be gone with the QP: RESET counts nowhere */
		if (weft_qp_state(qp) != IB_QPS_RESET)
			weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_RX_NOT_READY);
		return WEFT_FAULT_NONE;
	}
	if (!weft_qp_port_open(qp)) {
		weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_RX_NOT_READY);
		return WEFT_FAULT_NONE;
	}
	if (weft_qp_is_ud(qp))
		return resp_datagram(qp, pkt);
	switch (weft_migration_packet(qp, pkt)) {
	case WEFT_PATH_YES:
		return resp_connected(qp, pkt);
	case WEFT_PATH_LATER:
		/* as if for pages: it waits */
		return WEFT_FAULT_PAGES;
	default:
		weft_stats_drop(qp, &pkt->hdr, WEFT_STAT_RX_WRONG_ADDRESS);
		return WEFT_FAULT_NONE;
	}
}

/* Acknowledge what an acknowledge answers, unless there will be more to say. */
static void resp_acknowledge(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	if (!recv->ack_due || recv->response.kind || !weft_backlog_is_empty(&recv->packets))
		return;
	weft_reply_new(qp, recv->ack_psn, WEFT_RESPONSE_ACK);
}

/*
 * The peer has lost some of a READ response and asks for it again: nobody wants
 * what is left to send of the first one.
 */
static noinline_for_stack void resp_supersede(struct weft_recv *recv)
{
	struct weft_response *response = &recv->response;
	const struct weft_replay_slot *slot;
	struct weft_pkt pkt;

	if (!weft_pkt_peek(&recv->packets, &pkt) ||
	    pkt.malformed || weft_opcode(pkt.hdr.opcode)->kind != WEFT_KIND_READ ||
	    !weft_psn_before(pkt.hdr.psn, recv->psn))
		return;
	slot = weft_replay_find(recv, pkt.hdr.psn);
	if (slot && weft_psn_in_window(response->psn, slot->psn, slot->psns))
		response->kind = WEFT_RESPONSE_NOTHING;
}

/*
 * A packet has to wait for ODP memory, and others behind it. What has been executed
 * before is acknowledged now, as it may take long.
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

/* Let others have the CPU now and then. */
static void resp_rest(const struct resp_budget *budget)
{
	if (!budget->atomic)
		cond_resched();
}

/* Return: true when the rest is to be deferred. */
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
			return !weft_backlog_is_empty(&recv->packets);
		if (!weft_pkt_next(&recv->packets, &pkt))
			return false;
		if (unlikely(resp_packet(qp, &pkt) == WEFT_FAULT_PAGES)) {
			resp_park(qp, &pkt, budget);
			return false;
		}
		weft_pkt_free(&pkt);
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

void weft_responder_run(struct weft_qp *qp)
{
	struct resp_budget budget = {
		.packets = WEFT_QUEUE_PACKETS, .bytes = WEFT_DOORBELL_BYTES,
	};
	bool defer;

	weft_turn_take(&qp->recv.turn);
	weft_odp_wake(&qp->recv);
	defer = resp_work(qp, &budget);
	if (weft_qp_state(qp) == IB_QPS_ERR)
		weft_message_flush(qp);
	resp_release(qp, defer);
	cond_resched();
}

/* The turn may be somebody else's: no stranger shall fill the queue that the peer needs. */
static void resp_enqueue(struct weft_qp *qp, struct weft_pkt *pkt)
{
	if (!weft_qp_is_ud(qp) && !weft_migration_knows(qp, pkt)) {
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_WRONG_ADDRESS);
		return;
	}
	trace_weft_defer(qp->qpn, &pkt->hdr, qp->recv.psn);
	if (!weft_pkt_defer(pkt, &qp->recv.packets))
		weft_pkt_drop(pkt, qp->dev, WEFT_STAT_RX_QUEUE_FULL);
}

/*
 * Is it the first acknowledge of this soft interrupt? Of a single message it should go
 * at once, which also is cheaper.
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
 * Of messages that come together the others are acknowledged when the soft interrupt ends,
 * all at once. But the sender of a long one must not wait for it.
 *
 * Return: nothing else is to be done now.
 */
static bool resp_is_done(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	if (recv->response.kind || !weft_backlog_is_empty(&recv->packets))
		return false;
	if (!recv->ack_due)
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

void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt)
{
	struct resp_budget budget = resp_softirq_budget;
	struct weft_recv *recv = &qp->recv;

	if (!weft_turn_try(&recv->turn)) {
		resp_enqueue(qp, pkt);
		weft_turn_post(&recv->turn, WEFT_EV_RUN);
		return;
	}
	if (!weft_backlog_is_empty(&recv->packets) || recv->response.kind)
		resp_enqueue(qp, pkt);
	else if (unlikely(resp_packet(qp, pkt) == WEFT_FAULT_PAGES))
		resp_park(qp, pkt, &budget);
	else
		weft_pkt_free(pkt);
	resp_release(qp, !resp_is_done(qp) && resp_work(qp, &budget));
}

void weft_responder_doorbell(struct weft_qp *qp)
{
	weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
}

void weft_responder_init(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_backlog_init(&recv->packets);
	tasklet_setup(&qp->late, resp_late);
	recv->tx.turn = &recv->turn;
	recv->progress.opcode = WEFT_OPCODE_NONE;
}

void weft_responder_resize(struct weft_qp *qp)
{
	weft_replay_free(&qp->recv);
}

/*
 * The last short answer goes first: the completion of what it acknowledges may
 * be the reason for the end.
 */
static void resp_end(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	struct resp_budget budget = {};

	weft_backlog_purge(&recv->packets);
	resp_acknowledge(qp);
	if (recv->response.kind < WEFT_RESPONSE_READ)
		weft_reply_go_on(qp, &budget.bytes);
}

void weft_responder_reset(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	tasklet_kill(&qp->late);
	resp_end(qp);
	weft_responder_resize(qp);
	recv->response.kind = WEFT_RESPONSE_NOTHING;
	recv->progress.opcode = WEFT_OPCODE_NONE;
	recv->nak_sent = false;
	recv->ack_due = false;
	recv->unanswered = 0;
	recv->held = false;
	recv->comm_est = false;
	recv->last_wqe = false;
	recv->msn = 0;
	recv->done = 0;
	weft_odp_forget(&recv->odp);
	weft_odp_wake(recv);
	qp->dev->wire->forget(&recv->tx);
}
