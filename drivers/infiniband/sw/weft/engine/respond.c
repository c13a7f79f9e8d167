// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/respond.h"

#include "engine/execute.h"
#include "engine/message.h"
#include "engine/odp.h"
#include "engine/pkt.h"
#include "engine/replay.h"
#include "engine/reply.h"
#include "object/qp.h"
#include "params.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/*
 * A request has been executed: keep its response in a replay slot, begin to send it, and expect the
 * next request @psns later.
 */
static struct weft_replay_slot *respond_keep(struct weft_qp *qp, u32 psn, u32 psns,
					     enum weft_response_kind kind)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_replay_slot *slot = weft_replay_keep(recv, psn, psns, kind);

	recv->psn = weft_psn_add(recv->psn, psns);
	recv->msn = weft_psn_add(recv->msn, 1);
	recv->progress.opcode = WEFT_OPCODE_NONE;
	weft_reply_new(qp, psn, kind);
	return slot;
}

struct weft_result weft_respond_read(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_READ),
		.length = hdr->reth.length,
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
	};
	struct weft_response *response = &qp->recv.response;
	struct weft_replay_slot *slot;
	struct weft_result result;

	if (req.length > WEFT_MAX_MSG)
		return weft_failed(WEFT_FAULT_REQUEST_LENGTH);
	result = weft_message_begin(qp, &req);
	if (result.verdict)
		return result;
	weft_odp_carry(&qp->recv.odp);
	weft_message_end(qp, &req);
	slot = respond_keep(qp, hdr->psn, weft_rules_psn_count(req.length, qp->mtu),
			    WEFT_RESPONSE_READ);
	slot->srqn = hdr->xrceth.srqn;
	slot->rkey = req.rkey;
	slot->va = req.remote_addr;
	slot->length = req.length;
	response->srqn = slot->srqn;
	response->rkey = slot->rkey;
	response->va = slot->va;
	response->length = slot->length;
	return result;
}

struct weft_result weft_respond_atomic(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	const struct weft_opdef *op = weft_opdef(weft_opcode(hdr->opcode)->sqe);
	bool swap = op->only == WEFT_OP_CMP_SWP || op->only == WEFT_OP_MASKED_CMP_SWP;
	struct weft_request req = {
		.op = op,
		.length = sizeof(u64),
		.rkey = hdr->atomic.rkey,
		.remote_addr = hdr->atomic.va,
		.compare_add = swap ? hdr->atomic.compare : hdr->atomic.swap_add,
		.swap = hdr->atomic.swap_add,
		.compare_add_mask = hdr->masks.compare_add,
		.swap_mask = hdr->masks.swap,
	};
	u64 before;
	struct weft_span span = { .addr = (uintptr_t)&before, .length = sizeof(before) };
	struct weft_result result;
	struct weft_iter io;

	result = weft_message_begin(qp, &req);
	if (result.verdict)
		return result;
	weft_span_iter(&span, &io);
	op->execute(qp, &req, &io);
	weft_message_end(qp, &req);
	respond_keep(qp, hdr->psn, 1, WEFT_RESPONSE_ATOMIC)->value = before;
	qp->recv.response.value = before;
	return result;
}

struct weft_result weft_respond_atomic_write(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_ATOMIC_WRITE),
		.length = WEFT_ATOMIC_WRITE_LENGTH,
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
	};
	struct weft_payload_spans spans __uninitialized;
	struct weft_result result;
	struct weft_iter from;

	if (hdr->reth.length != req.length)
		return weft_failed(WEFT_FAULT_REQUEST_LENGTH);
	result = weft_message_begin(qp, &req);
	if (result.verdict)
		return result;
	weft_pkt_payload(pkt, &spans, &from);
	weft_execute_atomic_write(qp, &req, &from);
	weft_message_end(qp, &req);
	respond_keep(qp, hdr->psn, 1, WEFT_RESPONSE_DONE);
	return result;
}

struct weft_result weft_respond_flush(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	const struct weft_hdr *hdr = &pkt->hdr;
	struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_FLUSH),
		.rkey = hdr->reth.rkey,
		.remote_addr = hdr->reth.va,
		.flush.length = hdr->reth.length,
		.flush.placement = hdr->feth.placement,
		.flush.selectivity = hdr->feth.selectivity,
	};
	struct weft_response *response = &qp->recv.response;
	struct weft_result result;
	u64 left, end;

	result = weft_message_begin(qp, &req);
	if (result.verdict)
		return result;
	end = qp->recv.span.addr + qp->recv.span.length;
	left = weft_execute_flush(qp, &req, NULL);
	weft_message_end(qp, &req);
	respond_keep(qp, hdr->psn, 1, WEFT_RESPONSE_DONE);
	if (left) {
		response->kind = WEFT_RESPONSE_FLUSH;
		response->srqn = hdr->xrceth.srqn;
		response->rkey = req.rkey;
		response->va = end - left;
		response->value = left;
	}
	return result;
}
