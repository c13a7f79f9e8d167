// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/reply.h"

#include "engine/early.h"
#include "engine/execute.h"
#include "engine/link.h"
#include "engine/odp.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "trace.h"
#include "wire/aeth.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* WEFT_QP_PACKET_CREDITS: the receives of which an acknowledge tells. */
#define REPLY_RECEIVES	16U

static u8 reply_opcode(const struct weft_qp *qp, u8 operation)
{
	return WEFT_OPCODE(qp->transport, operation);
}

static void reply_start_batch(struct weft_qp *qp, u8 operation, struct weft_tx_batch *batch)
{
	struct weft_response *response = &qp->recv.response;

	*batch = (struct weft_tx_batch){
		.qp = qp,
		.av = &qp->av,
		.tx = &qp->recv.tx,
		.num = 1,
		.mtu = qp->mtu,
		.hdr = {
			.opcode = reply_opcode(qp, operation),
			.migreq = weft_qp_has_migrated(qp),
			.pkey = weft_qp_pkey(qp),
			.dqpn = qp->dest_qpn,
			.psn = response->psn,
			.aeth.syndrome = response->syndrome,
			.aeth.msn = response->msn,
			.atomic_ack.original = response->value,
		},
	};
}

/* Return: false: there was no tx credit. */
static bool reply_send_short(struct weft_qp *qp, u8 operation)
{
	struct weft_tx_batch batch __uninitialized;
	u32 sent;

	reply_start_batch(qp, operation, &batch);
	sent = qp->dev->wire->xmit(&batch);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, 0);
	if (!sent)
		return false;
	qp->recv.response.kind = WEFT_RESPONSE_NOTHING;
	return true;
}

/*
 * Add the acknowledge that is due to the packets of the requester that leave now. Return: false: it
 * has to be sent alone.
 */
bool weft_reply_join(struct weft_qp *qp, struct weft_held *held)
{
	struct weft_tx_batch batch __uninitialized;

	weft_reply_new(qp, qp->recv.ack_psn, WEFT_RESPONSE_ACK);
	reply_start_batch(qp, WEFT_OP_ACK, &batch);
	if (!qp->dev->wire->hold(&batch, held))
		return false;
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, 1, 0);
	qp->recv.response.kind = WEFT_RESPONSE_NOTHING;
	return true;
}

/* Send a gap map. Return: as reply_send_short(). */
static noinline_for_stack bool reply_send_map(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_tx_batch batch __uninitialized;
	struct weft_wire_map wire;
	struct weft_span span = { .addr = (uintptr_t)&wire, .length = sizeof(wire) };
	struct weft_iter payload;
	struct weft_map map;
	u32 sent;

	weft_early_map(&recv->early, recv->response.psn, recv->nak_again, &map);
	weft_map_encode(&wire, &map);
	weft_span_iter(&span, &payload);
	reply_start_batch(qp, WEFT_OP_ACK, &batch);
	batch.hdr.opcode = WEFT_OPCODE(WEFT_TRANSPORT_OWN, WEFT_OP_GAP_MAP);
	batch.length = sizeof(wire);
	batch.payload = &payload;
	sent = qp->dev->wire->xmit(&batch);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, batch.length);
	if (!sent)
		return false;
	recv->nak_again = false;
	recv->response.kind = WEFT_RESPONSE_NOTHING;
	return true;
}

static u8 reply_read_operation(const struct weft_response *response, u32 length)
{
	bool last = response->done + length == response->length;

	if (!response->done)
		return last ? WEFT_OP_READ_RESPONSE_ONLY : WEFT_OP_READ_RESPONSE_FIRST;
	return last ? WEFT_OP_READ_RESPONSE_LAST : WEFT_OP_READ_RESPONSE_MIDDLE;
}

/*
 * The memory of a READ or FLUSH cannot be accessed any more. That is a fault, unless this repeats
 * an answer: the peer may have received the first one, and its owner then released the memory,
 * before a late duplicate of the request arrived.
 */
static void reply_give_up(struct weft_qp *qp, enum weft_fault fault)
{
	struct weft_response *response = &qp->recv.response;

	if (response->again) {
		weft_odp_forget(&qp->recv.odp);
		response->kind = WEFT_RESPONSE_NOTHING;
	} else {
		weft_reply_refuse(qp, response->psn, fault);
	}
}

/*
 * Resolve the memory of a READ or FLUSH again. Return: WEFT_DONE; WEFT_LATER; or WEFT_FAILED: the
 * answer is given up.
 */
static enum weft_verdict reply_resume(struct weft_qp *qp, const struct weft_request *req,
				      u32 offset, u32 length)
{
	struct weft_response *response = &qp->recv.response;
	struct weft_result result = weft_failed(weft_message_enter(qp, response->srqn));

	if (likely(!result.verdict))
		result = weft_message_resume(qp, req, offset, length);
	if (likely(!result.verdict))
		return WEFT_DONE;
	if (result.verdict == WEFT_FAILED)
		reply_give_up(qp, result.fault);
	weft_message_leave(qp);
	return result.verdict;
}

static void reply_pause(struct weft_qp *qp)
{
	weft_message_pause(qp);
	weft_message_leave(qp);
}

/*
 * Send the next packets of a READ response. Return: false: no tx credit, or pages are being pinned.
 */
static bool reply_send_read(struct weft_qp *qp, s32 *bytes)
{
	struct weft_response *response = &qp->recv.response;
	struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_READ),
		.rkey = response->rkey,
		.remote_addr = response->va,
		.length = response->length,
	};
	u32 left = response->length - response->done, first, sent;
	enum weft_verdict verdict;
	struct weft_tx_batch batch __uninitialized;

	/*
	 * the batch's first packet may be FIRST or MIDDLE; all between it and the last are MIDDLE
	 */
	first = min(left, qp->mtu);
	reply_start_batch(qp, reply_read_operation(response, first), &batch);
	batch.length = min(left, WEFT_TX_BATCH_PACKETS * qp->mtu);
	batch.num = weft_rules_psn_count(batch.length, qp->mtu);
	batch.middle = reply_opcode(qp, WEFT_OP_READ_RESPONSE_MIDDLE);
	batch.last = batch.length == left ?
		   reply_opcode(qp, WEFT_OP_READ_RESPONSE_LAST) : batch.middle;
	batch.payload = &qp->recv.iter;
	batch.hdr.maps = qp->recv.maps;
	batch.hdr.again = qp->recv.maps && response->again;
	verdict = reply_resume(qp, &req, response->done, batch.length);
	if (unlikely(verdict != WEFT_DONE))
		return verdict != WEFT_LATER;
	sent = qp->dev->wire->xmit(&batch);
	reply_pause(qp);
	trace_weft_send(qp->qpn, &batch.hdr, batch.num, sent, batch.length);
	response->psn = weft_psn_add(response->psn, sent);
	response->done += min(batch.length, sent * qp->mtu);
	*bytes -= min(batch.length, sent * qp->mtu);
	/* compare packets, not only bytes: the response to a READ of 0 bytes is one packet */
	if (sent == batch.num && batch.length == left) {
		response->kind = WEFT_RESPONSE_NOTHING;
		weft_odp_forget(&qp->recv.odp);
	}
	return sent == batch.num;
}

/*
 * Flush the next piece; the answer is sent when all is done. Return: false: pages are being pinned.
 */
static bool reply_flush_more(struct weft_qp *qp, s32 *bytes)
{
	struct weft_response *response = &qp->recv.response;
	u32 length = min_t(u64, response->value, WEFT_COPY_CHUNK);
	struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_FLUSH),
		.rkey = response->rkey,
		.remote_addr = response->va,
		.flush.placement = WEFT_PLACEMENT_PERSISTENT,
	};
	enum weft_verdict verdict = reply_resume(qp, &req, 0, length);

	if (unlikely(verdict != WEFT_DONE))
		return verdict != WEFT_LATER;
	weft_execute_flush(qp, &req, NULL);
	reply_pause(qp);
	*bytes -= length;
	response->va += length;
	response->value -= length;
	if (!response->value)
		response->kind = WEFT_RESPONSE_DONE;
	return true;
}

/*
 * Send the next part of the answer under way, if there is one, and subtract its payload from
 * @bytes. False: it cannot go on before the next event.
 */
bool weft_reply_go_on(struct weft_qp *qp, s32 *bytes)
{
	switch (qp->recv.response.kind) {
	case WEFT_RESPONSE_ACK:
		return unlikely(qp->recv.response.map) ? reply_send_map(qp) :
							 reply_send_short(qp, WEFT_OP_ACK);
	case WEFT_RESPONSE_ATOMIC:
		return reply_send_short(qp, WEFT_OP_ATOMIC_ACK);
	case WEFT_RESPONSE_DONE:
		return reply_send_short(qp, WEFT_OP_READ_RESPONSE_ONLY);
	case WEFT_RESPONSE_READ:
		return reply_send_read(qp, bytes);
	case WEFT_RESPONSE_FLUSH:
		return reply_flush_more(qp, bytes);
	default:
		return true;
	}
}

/*
 * The packets that fit into the oldest of @pending receives, and into the one that is held. The
 * next acknowledges tell of those behind REPLY_RECEIVES.
 */
static noinline u32 reply_packets(const struct weft_qp *qp, u32 pending)
{
	u32 packets = qp->recv.held ? weft_rules_psn_count(qp->recv.wqe.length, qp->mtu) : 0, i;

	for (i = 0; i < min(pending, REPLY_RECEIVES); i++)
		packets += weft_rules_psn_count(weft_rq_length(qp->recv.ring, i), qp->mtu);
	return packets;
}

/* The credits of an acknowledge: receives for messages after the last completed one. */
u8 weft_reply_credits(const struct weft_qp *qp)
{
	int pending;

	/* receives of an SRQ are for other QPs, too */
	if (!qp->recv.ring)
		return WEFT_AETH_NO_CREDIT;
	pending = weft_ring_pending(qp->recv.ring);
	if (pending < 0)
		return 0;
	if (unlikely(qp->flags & WEFT_QP_PACKET_CREDITS))
		return weft_aeth_credit_code(reply_packets(qp, pending));
	return weft_aeth_credit_code(pending + qp->recv.held);
}
WEFT_EXPORT_FOR_TEST(weft_reply_credits);

/*
 * Begin an answer; @psn is that of the request packet, or of the answer's first packet. It
 * acknowledges all requests before it, so no acknowledge is due, and replaces an answer that has
 * not been sent. The caller fills in the members that only some kinds have.
 */
struct weft_response *weft_reply_new(struct weft_qp *qp, u32 psn, enum weft_response_kind kind)
{
	struct weft_recv *recv = &qp->recv;

	recv->ack_due = false;
	recv->unanswered = 0;
	recv->piggyback.waits = false;
	recv->response = (struct weft_response){
		.kind = kind,
		.psn = psn,
		.msn = recv->msn,
		.syndrome = weft_aeth_syndrome(WEFT_AETH_ACK, weft_reply_credits(qp)),
	};
	return &recv->response;
}

/* Answer the request packet with PSN @psn by a NAK or RNR NAK, as @syndrome (of the AETH) says. */
void weft_reply_nak(struct weft_qp *qp, u32 psn, u8 syndrome)
{
	weft_reply_new(qp, psn, WEFT_RESPONSE_ACK)->syndrome = syndrome;
}

static u8 reply_nak_code(enum ib_wc_status status)
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

/* The syndrome of the answer that is a refusal, which is not WEFT_REPLY_NONE. */
u8 weft_reply_syndrome(const struct weft_refusal *refusal, u8 rnr_timer)
{
	if (refusal->reply == WEFT_REPLY_RNR)
		return weft_aeth_syndrome(WEFT_AETH_RNR_NAK, rnr_timer);
	return weft_aeth_syndrome(WEFT_AETH_NAK, reply_nak_code(refusal->requester));
}

/*
 * Refuse the request packet with PSN @psn: apply the consequences of the fault here, and begin the
 * answer that the requester gets.
 */
void weft_reply_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault)
{
	const struct weft_refusal *refusal = weft_message_refuse(qp, fault);
	struct weft_recv *recv = &qp->recv;

	switch (refusal->reply) {
	case WEFT_REPLY_RNR:
		weft_reply_nak(qp, psn, weft_reply_syndrome(refusal, recv->rnr_timer));
		recv->nak_sent = true;
		break;
	case WEFT_REPLY_NAK:
		weft_reply_nak(qp, psn, weft_reply_syndrome(refusal, 0));
		break;
	case WEFT_REPLY_NONE:
		break;
	}
}
