// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An inbound message at the responder: begin, data, end.
 *
 * Only this code takes a receive work request, resolves an rkey, or completes a receive. All links
 * call it, so a message means the same whichever way it travels. All functions need the QP's
 * receive turn.
 *
 * weft_message_begin() makes all decisions to refuse a message. After it a message can only end,
 * pause, or (SEND_INV) fail at its end.
 *
 * begin and resume return WEFT_LATER if pages of ODP memory are missing. If they find ODP memory
 * pinned, at most WEFT_ODP_CHUNK bytes may be moved before the next weft_message_resume().
 */
#include "engine/message.h"

#include <rdma/ib_mad.h>

#include "compat/placement.h"
#include "engine/blame.h"
#include "engine/inject.h"
#include "engine/odp.h"
#include "engine/opdef.h"
#include "engine/port.h"
#include "engine/rendezvous.h"
#include "object/comp_cntr.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/key.h"
#include "object/qp.h"
#include "object/srq.h"
#include "object/table.h"
#include "object/tag.h"
#include "object/xrc.h"
#include "params.h"
#include "pause.h"
#include "stats.h"
#include "trace.h"
#include "wire/headers.h"

/*
 * Complete the receive work request that is held; the caller has filled in the other members of
 * @cqe.
 */
static __always_inline void msg_complete(struct weft_qp *qp, struct weft_cq *cq,
					 struct weft_cqe *cqe, bool solicited,
					 unsigned long flags)
	__releases(&cq->lock)
{
	struct weft_recv *recv = &qp->recv;

	recv->held = false;
	weft_comp_cntr_count(qp, WEFT_COUNTED_RECV, cqe->status, cqe->byte_len);
	cqe->wr_id = recv->wqe.wr_id;
	cqe->wqe_index = recv->wqe.index;
	cqe->cookie = qp->cookie;
	cqe->qp_num = qp->qpn;
	cqe->flags |= WEFT_CQE_RECV | (recv->srq ? WEFT_CQE_SRQ : 0);
	cqe->port_num = 1;
	if (unlikely(!weft_cq_push(cq, cqe, solicited, flags)))
		weft_qp_lost(qp, cq, WEFT_FAULT_CQ_OVERRUN);
}

static void msg_complete_error(struct weft_qp *qp, enum ib_wc_status status,
			       enum weft_fault fault)
{
	struct weft_cq *cq = qp->recv.cq;
	unsigned long flags = weft_cq_begin(cq);
	struct weft_cqe cqe = {
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = fault,
	};

	weft_stats_inc(qp, WEFT_STAT_RESP_CQE_ERROR);
	msg_complete(qp, cq, &cqe, true, flags);
}

/*
 * Complete the receive that is held as flushed. If it came from an XRC SRQ that has been destroyed,
 * it has gone with the SRQ.
 */
static void msg_flush_held(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	bool target = qp->type == IB_QPT_XRC_TGT;
	enum weft_fault fault = weft_rules_flushed(READ_ONCE(qp->fault));

	if (target && !weft_xrc_enter(recv, recv->srqn)) {
		recv->held = false;
		return;
	}
	if (unlikely(recv->tagged) && !recv->malformed)
		weft_srq_uncount(recv->srq, recv->tagged);
	weft_stats_inc(qp, WEFT_STAT_FLUSHED_WRS);
	weft_stats_inc(qp, WEFT_STAT_RESP_CQE_FLUSH_ERROR);
	msg_complete_error(qp, weft_rules_status(fault), fault);
	if (target)
		weft_xrc_leave(recv);
}

/*
 * If the target still holds a receive of another SRQ, the message that it was taken for has been
 * aborted.
 */
enum weft_fault weft_message_enter_srq(struct weft_qp *qp, u32 srqn)
{
	struct weft_recv *recv = &qp->recv;

	if (recv->held && recv->srqn != srqn) {
		if (recv->progress.opcode != WEFT_OPCODE_NONE)
			return WEFT_FAULT_BAD_REQUEST;
		msg_flush_held(qp);
	}
	if (!weft_xrc_enter(recv, srqn))
		return WEFT_FAULT_XRC_SRQ;
	if (recv->srq->ibsrq.ext.xrc.xrcd == qp->xrcd)
		return WEFT_FAULT_NONE;
	weft_xrc_leave(recv);
	return WEFT_FAULT_XRC_SRQ;
}

void weft_message_leave_srq(struct weft_qp *qp)
{
	weft_xrc_leave(&qp->recv);
}

/*
 * The producer index of the receive queue is impossible. The SRQ that an XRC request names belongs
 * to one process, the target QP does not: so the request is refused as if the SRQ did not exist.
 */
static noinline enum weft_fault msg_queue_broken(struct weft_qp *qp)
{
	if (qp->type == IB_QPT_XRC_TGT)
		return WEFT_FAULT_XRC_SRQ;
	weft_qp_fatal(qp, WEFT_FAULT_QUEUE_INDEX);
	return WEFT_FAULT_RNR;
}

/* There is no receive to take, or it is malformed: @err of weft_srq_take() or weft_rq_next(). */
static noinline enum weft_fault msg_no_rwqe(struct weft_qp *qp, int err)
{
	switch (err) {
	case -EMSGSIZE:
		return WEFT_FAULT_RECV_LENGTH;
	case -EAGAIN:
		weft_stats_inc(qp, WEFT_STAT_OUT_OF_BUFFER);
		if (weft_strict_is_on())
			weft_strict_qp(qp, WEFT_FAULT_STRICT_RNR, "a message found no receive");
		return WEFT_FAULT_RNR;
	case -EINVAL:
		qp->recv.held = true;
		qp->recv.malformed = true;
		return WEFT_FAULT_RECV_MALFORMED;
	default:
		return msg_queue_broken(qp);
	}
}

/*
 * Take the next receive. A receive of an SRQ that has no room for @least bytes stays in the SRQ, so
 * that nobody can drain the SRQ with datagrams that are too long.
 */
static __always_inline enum weft_fault msg_take_rwqe(struct weft_qp *qp, u64 least)
{
	struct weft_recv *recv = &qp->recv;
	int ret;

	if (unlikely(recv->held))
		return recv->malformed ? WEFT_FAULT_RECV_MALFORMED : WEFT_FAULT_NONE;
	if (recv->srq) {
		weft_pause(WEFT_PAUSE_SRQ_TAKE);
		recv->srqn = recv->srq->srqn;
		ret = weft_srq_take(recv->srq, least, &recv->wqe);
	} else {
		ret = weft_ring_pending(recv->ring);
		if (likely(ret > 0))
			ret = weft_rq_next(recv->ring, &recv->wqe);
		else
			ret = ret ? -EIO : -EAGAIN;
	}
	if (unlikely(ret))
		return msg_no_rwqe(qp, ret);
	recv->held = true;
	recv->malformed = false;
	return weft_inject_is_on() ? weft_inject_receive(qp) : WEFT_FAULT_NONE;
}

/* msg_take_rwqe() for a SEND, if the SRQ has tags; weft_message_look() has seen the headers. */
static noinline enum weft_fault msg_take_tagged(struct weft_qp *qp, u32 length)
{
	struct weft_recv *recv = &qp->recv;
	int ret;

	if (recv->held)
		return recv->malformed ? WEFT_FAULT_RECV_MALFORMED : WEFT_FAULT_NONE;
	weft_pause(WEFT_PAUSE_SRQ_TAKE);
	recv->srqn = recv->srq->srqn;
	recv->tagged->length = length;
	recv->tagged->can_read = weft_rendezvous_has_room(qp);
	ret = weft_srq_take_tagged(recv->srq, recv->tagged, &recv->wqe);
	if (ret)
		return msg_no_rwqe(qp, ret);
	weft_pause(WEFT_PAUSE_TAG_MATCHED);
	recv->held = true;
	recv->malformed = false;
	return weft_inject_is_on() ? weft_inject_receive(qp) : WEFT_FAULT_NONE;
}

/*
 * How many bytes behind @end are worth pinning ahead: as many as the message has had already,
 * because then it will probably go on.
 */
static u64 msg_ahead(u64 offset, u64 end, u64 length)
{
	return end < length ? min(offset, length - end) : 0;
}

/* msg_open_recv() if the receive has ODP memory. */
static noinline struct weft_result msg_odp_recv(struct weft_qp *qp, u64 offset, u64 end)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_odp_need need = {
		.odp = &recv->odp,
		.turn = &recv->turn,
		.access = IB_ACCESS_LOCAL_WRITE,
		.offset = offset,
		.length = end - offset,
		.ahead = msg_ahead(offset, end, WEFT_MAX_MSG),
		.end = end,
		.anew = !offset,
		.refusal = WEFT_FAULT_RECV_PROTECTION,
	};

	return weft_odp_resolve(&need, &recv->taker, &recv->sgl, recv->wqe.sge,
				recv->wqe.num_sge);
}

/* The receive that is held is not as the message needs it: keep its length for the record. */
static noinline struct weft_result msg_refuse_recv(struct weft_recv *recv, u64 length,
						   struct weft_result result)
{
	if (result.verdict == WEFT_FAILED)
		recv->refused = (struct weft_refused){ .length = length };
	return result;
}

/* Resolve the first @end bytes of the receive that is held, and skip to @offset. */
static __always_inline struct weft_result msg_open_recv(struct weft_qp *qp, u64 offset, u64 end)
{
	struct weft_recv *recv = &qp->recv;
	struct weft_result result;
	int err;

	if (unlikely(end > recv->wqe.length))
		return msg_refuse_recv(recv, end, weft_failed(WEFT_FAULT_RECV_LENGTH));
	err = weft_sgl_resolve(&recv->sgl, &recv->taker, recv->wqe.sge, recv->wqe.num_sge, end,
			       IB_ACCESS_LOCAL_WRITE);
	if (unlikely(err)) {
		result = err == -EFAULT ? msg_odp_recv(qp, offset, end) :
					  weft_failed(WEFT_FAULT_RECV_PROTECTION);
		if (result.verdict)
			return msg_refuse_recv(recv, end, result);
	}
	weft_sgl_iter(&recv->sgl, &recv->iter);
	if (offset)
		weft_iter_skip(&recv->iter, offset);
	return weft_result(WEFT_DONE);
}

static __always_inline struct weft_result msg_begin_send(struct weft_qp *qp,
							 const struct weft_request *req)
{
	u64 length = req->length + (req->grh ? WEFT_GRH_BYTES : 0ULL);
	enum weft_fault fault = unlikely(qp->recv.tagged) ? msg_take_tagged(qp, req->length) :
				msg_take_rwqe(qp, req->grh ? length : 0);

	return unlikely(fault) ? weft_failed(fault) : msg_open_recv(qp, 0, length);
}

static u32 msg_access_flush(u8 placement)
{
	return (placement & WEFT_PLACEMENT_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (placement & WEFT_PLACEMENT_PERSISTENT ? IB_ACCESS_FLUSH_PERSISTENT : 0);
}

static u32 msg_access(const struct weft_request *req)
{
	/* FLUSH needs the rights for the placements it names */
	return req->op->access ?: msg_access_flush(req->flush.placement);
}

/* msg_open_remote() if the rkey names ODP memory. */
static noinline struct weft_result msg_odp_remote(struct weft_qp *qp,
						  const struct weft_request *req,
						  u64 offset, u32 length)
{
	struct weft_recv *recv = &qp->recv;
	u32 left = req->length > offset ? req->length - offset : 0;
	const struct weft_sge sge = {
		.addr = req->remote_addr + offset,
		.length = max(left, length),
		.lkey = req->rkey,
	};
	struct weft_odp_need need = {
		.odp = &recv->odp,
		.turn = &recv->turn,
		.access = msg_access(req),
		.length = length,
		.ahead = sge.length - length,
		.end = U64_MAX,
		.anew = !offset,
		.refusal = WEFT_FAULT_REMOTE_ACCESS,
	};
	struct weft_result result;

	result = weft_odp_resolve(&need, &recv->who, &recv->sgl, &sge, 1);
	if (result.verdict)
		return result;
	/* the reference moves from the list to the span */
	recv->span = recv->sgl.span[0];
	recv->sgl.num = 0;
	return result;
}

/* The request may not access that memory (or not yet): keep what it wants for the record. */
static noinline struct weft_result msg_refuse_access(struct weft_qp *qp,
						     const struct weft_request *req, u64 offset,
						     u64 length, struct weft_result result)
{
	if (result.verdict == WEFT_FAILED)
		qp->recv.refused = (struct weft_refused){
			.key = req->rkey,
			.addr = req->remote_addr + offset,
			.length = length,
			.access = msg_access(req),
		};
	return result;
}

/* Resolve @length bytes of the request's remote memory, from @offset on. */
static struct weft_result msg_open_remote(struct weft_qp *qp, const struct weft_request *req,
					  u64 offset, u32 length)
{
	struct weft_recv *recv = &qp->recv;
	u64 addr = req->remote_addr + offset;
	u32 access = msg_access(req);
	struct weft_result result;
	int err = 0;

	if (unlikely(!length) ||
	    !weft_lookup_usual(&recv->who, req->rkey, addr, length, access, &recv->span))
		err = weft_region_resolve(&recv->who, req->rkey, addr, length, access,
					  &recv->span);
	if (unlikely(err)) {
		result = err == -EFAULT ? msg_odp_remote(qp, req, offset, length) :
					  weft_failed(WEFT_FAULT_REMOTE_ACCESS);
		if (result.verdict)
			return msg_refuse_access(qp, req, offset, length, result);
	}
	weft_span_iter(&recv->span, &recv->iter);
	return weft_result(WEFT_DONE);
}

static __always_inline void msg_release(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_sgl_release(&recv->sgl);
	weft_region_put(recv->span.region);
	recv->span.region = NULL;
}

struct weft_result weft_begin_word(struct weft_qp *qp, const struct weft_request *req)
{
	struct weft_result result;

	if (req->remote_addr % sizeof(u64))
		return msg_refuse_access(qp, req, 0, sizeof(u64),
					 weft_failed(WEFT_FAULT_MISALIGNED));
	result = msg_open_remote(qp, req, 0, sizeof(u64));
	/* a region that cannot hold an atomic's word does not grant the right to atomics */
	if (result.verdict || req->op->access == IB_ACCESS_REMOTE_ATOMIC ||
	    weft_span_is_word(&qp->recv.span))
		return result;
	/* the right to write is granted for any memory, also if no word can be written at once */
	msg_release(qp);
	return msg_refuse_access(qp, req, 0, sizeof(u64), weft_failed(WEFT_FAULT_MISALIGNED));
}

/*
 * IBA A19: the key must be right whatever the range is. The pages of ODP memory need not be
 * present: a FLUSH to global visibility only does not access the memory.
 */
struct weft_result weft_begin_flush(struct weft_qp *qp, const struct weft_request *req)
{
	struct weft_span *span = &qp->recv.span;

	if (!req->flush.placement || req->flush.placement & ~WEFT_PLACEMENTS ||
	    req->flush.selectivity > WEFT_SELECT_REGION)
		return weft_failed(WEFT_FAULT_BAD_REQUEST);
	if (weft_region_resolve_all(&qp->recv.who, req->rkey, msg_access(req), span))
		return msg_refuse_access(qp, req, 0, 1, weft_failed(WEFT_FAULT_REMOTE_ACCESS));
	if (req->flush.selectivity == WEFT_SELECT_RANGE) {
		if (!weft_region_contains(span->region, req->remote_addr, req->flush.length)) {
			msg_release(qp);
			return msg_refuse_access(qp, req, 0, req->flush.length,
						 weft_failed(WEFT_FAULT_REMOTE_ACCESS));
		}
		span->addr = req->remote_addr;
		span->length = req->flush.length;
	}
	weft_span_iter(span, &qp->recv.iter);
	return weft_result(WEFT_DONE);
}

/* A request that names memory by an rkey, and that the QP allows. */
static struct weft_result msg_begin_rdma(struct weft_qp *qp, const struct weft_request *req)
{
	if (weft_opdef_responds(req->op) && !qp->recv.max_dest_rd_atomic)
		return msg_refuse_access(qp, req, 0, req->length,
					 weft_failed(WEFT_FAULT_NO_RESOURCES));
	if (req->op->begin)
		return req->op->begin(qp, req);
	return msg_open_remote(qp, req, 0, req->length);
}

/* A WRITE with immediate data that is refused completes the receive it has taken with an error. */
static struct weft_result msg_immediate_result(struct weft_result result)
{
	if (result.fault == WEFT_FAULT_REMOTE_ACCESS)
		result.fault = WEFT_FAULT_IMMEDIATE_ACCESS;
	return result;
}

static void msg_comm_est(struct weft_qp *qp)
{
	if (likely(qp->recv.comm_est))
		return;
	qp->recv.comm_est = true;
	/* a DC target stays in RTR */
	if (weft_qp_state(qp) == IB_QPS_RTR && !weft_qp_is_ud(qp) && !qp->dc)
		weft_qp_event(qp, IB_EVENT_COMM_EST);
}

/* Take a receive for a paused WRITE, whose last packet turns out to have immediate data. */
enum weft_fault weft_message_begin_immediate(struct weft_qp *qp)
{
	weft_assert_turn(&qp->recv.turn);
	/* a SEND that gets this receive because the WRITE is abandoned is for no tag */
	if (unlikely(qp->recv.tagged) && !qp->recv.held)
		qp->recv.tagged->kind = WEFT_TAG_NO_TAG;
	return msg_take_rwqe(qp, 0);
}

/*
 * Copy the headers of tag matching out of a message that is about to begin, with payload @src. Call
 * this if weft_recv.tagged is not NULL. A message that begins again has its receive already: then
 * the headers must stay, because its sender may have changed them.
 */
void weft_message_look(struct weft_qp *qp, const struct weft_request *req,
		       const struct weft_iter *src)
{
	struct weft_tagged *tagged = qp->recv.tagged;
	struct weft_span span = {
		.addr = (uintptr_t)&tagged->header, .length = sizeof(tagged->header),
	};
	struct weft_iter from = *src, to;

	weft_assert_turn(&qp->recv.turn);
	if (!(req->op->flags & WEFT_OPF_SEND) || qp->recv.held)
		return;
	tagged->have = min_t(u64, req->length, sizeof(tagged->header));
	weft_span_iter(&span, &to);
	weft_copy(&to, &from, tagged->have);
}

/*
 * Accept or refuse a message. The responder is in a state that receives, and no message is in
 * progress. Returns WEFT_DONE; WEFT_LATER; or WEFT_FAILED, and the caller calls
 * weft_message_refuse().
 */
struct weft_result weft_message_begin(struct weft_qp *qp, const struct weft_request *req)
{
	enum weft_fault fault;

	weft_assert_turn(&qp->recv.turn);
	msg_comm_est(qp);
	if (req->op->flags & WEFT_OPF_SEND)
		return msg_begin_send(qp, req);
	/* the operation (IBA 9.7.4.1.3), then the receive (.4), then the key (.5) */
	if (msg_access(req) & ~qp->access)
		return msg_refuse_access(qp, req, 0, req->length,
					 weft_failed(WEFT_FAULT_NOT_ENABLED));
	if (!(req->op->flags & WEFT_OPF_RECEIVE))
		return msg_begin_rdma(qp, req);
	fault = weft_message_begin_immediate(qp);
	return fault ? weft_failed(fault) : msg_immediate_result(msg_begin_rdma(qp, req));
}

/*
 * Resolve the memory of a paused SEND, WRITE, READ or FLUSH again: @offset bytes of the message are
 * done, and @length bytes will be accessed now. A SEND needs only @req->op; the others need
 * @req->rkey and @req->remote_addr, too; a WRITE or READ also @req->length; a FLUSH also its
 * placement. Returns a result of weft_message_begin(); unless it is WEFT_DONE, the message is still
 * paused.
 */
struct weft_result weft_message_resume(struct weft_qp *qp, const struct weft_request *req,
				       u64 offset, u32 length)
{
	struct weft_result result;

	weft_assert_turn(&qp->recv.turn);
	if (req->op->flags & WEFT_OPF_SEND)
		return qp->recv.held ? msg_open_recv(qp, offset, offset + length) :
				       weft_failed(WEFT_FAULT_BAD_REQUEST);
	result = msg_open_remote(qp, req, offset, length);
	return req->op->flags & WEFT_OPF_RECEIVE ? msg_immediate_result(result) : result;
}

static noinline void msg_complete_datagram(struct weft_qp *qp, const struct weft_request *req)
{
	struct weft_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = req->length + WEFT_GRH_BYTES,
		.ex = req->ex,
		.wc_flags = req->op->recv_flags,
		.src_qp = req->src_qpn,
		.sl = qp->dev->port_ops->service_level(qp, req),
		.slid = req->slid,
		.dlid_path_bits = req->path_bits,
		.pkey_index = req->pkey_index,
		.network_hdr_type = req->network_hdr_type,
		.vlan_id = req->vlan_id,
	};

	if (req->has_grh)
		cqe.wc_flags |= WEFT_WC_GRH;
	if (req->ip_csum_ok)
		cqe.wc_flags |= WEFT_WC_IP_CSUM_OK;
	msg_complete(qp, qp->recv.cq, &cqe, req->solicited, weft_cq_begin(qp->recv.cq));
}

/*
 * Complete a SEND to an SRQ with tags. All data of a message that matches are there, except for a
 * rendezvous, which begins now.
 */
static noinline void msg_complete_tagged(struct weft_qp *qp, const struct weft_request *req)
{
	const struct weft_tagged *tagged = qp->recv.tagged;
	u64 tag = be64_to_cpu(tagged->header.tag);
	struct weft_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = tagged->kind == WEFT_TAG_NO_TAG ? WEFT_WC_TM_NO_TAG : WEFT_WC_TM_RECV,
		.byte_len = req->length,
		.ex = req->ex,
		.wc_flags = req->op->recv_flags,
	};

	switch (tagged->kind) {
	case WEFT_TAG_EAGER:
		/* a message that begins again may have become shorter than its header */
		cqe.byte_len -= min_t(u32, req->length, WEFT_TMH_LENGTH);
		cqe.wc_flags |= WEFT_WC_TM_MATCH | WEFT_WC_TM_DATA_VALID;
		break;
	case WEFT_TAG_RNDV:
		cqe.byte_len = tagged->sge.length;
		cqe.wc_flags |= WEFT_WC_TM_MATCH;
		break;
	case WEFT_TAG_INCOMPLETE:
		cqe.status = WEFT_WC_TM_RNDV_INCOMPLETE;
		cqe.byte_len = min(req->length, tagged->sge.length);
		cqe.wc_flags |= WEFT_WC_TM_MATCH | WEFT_WC_TM_DATA_VALID;
		break;
	default:
		break;
	}
	if (tagged->kind >= WEFT_TAG_EAGER) {
		cqe.flags = WEFT_CQE_TAG;
		cqe.tag_high = upper_32_bits(tag);
		cqe.tag_low = lower_32_bits(tag);
		cqe.app_ctx = be32_to_cpu(tagged->header.app_ctx);
	}
	msg_complete(qp, qp->recv.cq, &cqe, req->solicited, weft_cq_begin(qp->recv.cq));
	if (tagged->kind == WEFT_TAG_RNDV)
		weft_rendezvous_begin(qp);
}

static void msg_complete_message(struct weft_qp *qp, const struct weft_request *req)
{
	struct weft_cq *cq = qp->recv.cq;
	unsigned long flags = weft_cq_begin(cq);
	struct weft_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = req->op->recv_opcode,
		.byte_len = req->length,
		.ex = req->ex,
		.wc_flags = req->op->recv_flags,
		.src_qp = unlikely(qp->dc) ? req->src_qpn : 0,
	};

	msg_complete(qp, cq, &cqe, req->solicited, flags);
}

static enum weft_fault msg_invalidate(struct weft_qp *qp, u32 rkey)
{
	switch (weft_key_invalidate(&qp->recv.who, rkey, false)) {
	case 0:
		return WEFT_FAULT_NONE;
	case -EBUSY: /* an access by another QP has not ended yet */
	case -ENOMEM:
		/* let the requester repeat the message */
		return WEFT_FAULT_RNR;
	default:
		qp->recv.refused = (struct weft_refused){ .key = rkey };
		return WEFT_FAULT_INVALIDATE;
	}
}

/* Complete a message. After a fault the caller calls weft_message_refuse(). */
enum weft_fault weft_message_end(struct weft_qp *qp, const struct weft_request *req)
{
	enum weft_fault fault;

	weft_assert_turn(&qp->recv.turn);
	msg_release(qp);
	if (req->op->flags & WEFT_OPF_INVALIDATE) {
		fault = msg_invalidate(qp, req->ex);
		if (fault)
			return fault;
	}
	weft_stats_message(qp->stats, WEFT_STAT_RCVD_MESSAGES, req->length);
	if (req->op->rcvd_stat) {
		weft_stats_inc(qp, req->op->rcvd_stat);
		weft_comp_cntr_count(qp, req->op->counted_remote, IB_WC_SUCCESS, req->length);
	}
	if (unlikely(req->grh))
		msg_complete_datagram(qp, req);
	else if (unlikely(qp->recv.tagged) && req->op->flags & WEFT_OPF_SEND)
		msg_complete_tagged(qp, req);
	else if (req->op->flags & WEFT_OPF_RECEIVE)
		msg_complete_message(qp, req);
	return WEFT_FAULT_NONE;
}

/*
 * Release the memory of a SEND, WRITE, READ or FLUSH, between two packets or for good: no reference
 * to memory is kept while waiting for a peer. If the message is not resumed it is aborted: its
 * receive work request stays with the QP, for the next message or to be flushed, unless an invalid
 * request breaks the message off.
 */
void weft_message_pause(struct weft_qp *qp)
{
	weft_assert_turn(&qp->recv.turn);
	weft_odp_keep(&qp->recv.odp);
	msg_release(qp);
}

/*
 * Does the receive that is held complete with @fault? A request that is invalid in itself fails the
 * receive of the message that it breaks off, and none of a message that was given up before. Such a
 * packet has not entered the SRQ of XRC.
 */
static bool msg_fails_receive(struct weft_qp *qp, enum weft_fault fault,
			      const struct weft_refusal *refusal)
{
	struct weft_recv *recv = &qp->recv;

	if (!refusal->responder || !recv->held)
		return false;
	if ((fault == WEFT_FAULT_BAD_REQUEST || fault == WEFT_FAULT_REQUEST_LENGTH) &&
	    recv->progress.opcode == WEFT_OPCODE_NONE)
		return false;
	if (qp->type != IB_QPT_XRC_TGT || recv->name)
		return true;
	/* it has gone with a destroyed SRQ */
	recv->held = weft_xrc_enter(recv, recv->srqn);
	return recv->held;
}

/*
 * Apply the consequences of a fault at the responder. Returns what the requester is told. The
 * caller calls weft_message_leave() afterwards.
 */
const struct weft_refusal *weft_message_refuse(struct weft_qp *qp, enum weft_fault fault)
{
	enum weft_service service = weft_rules_service(qp->type);
	const struct weft_refusal *refusal = fault == WEFT_FAULT_INJECTED ?
		weft_rules_receive(qp->recv.injected.status, service) :
		weft_rules_refusal(fault, service);
	bool told;

	weft_assert_turn(&qp->recv.turn);
	weft_odp_forget(&qp->recv.odp);
	if (fault == WEFT_FAULT_RECV_LENGTH) {
		weft_stats_inc(qp, WEFT_STAT_RESP_LOCAL_LENGTH_ERROR);
		/* a UC or UD requester is not told, so at least count it */
		if (refusal->reply == WEFT_REPLY_NONE)
			weft_stats_inc(qp, WEFT_STAT_RX_TOO_LONG);
	} else if (fault == WEFT_FAULT_NO_MEMORY && !refusal->fatal) {
		weft_stats_inc(qp->dev, WEFT_STAT_RX_NO_MEMORY);
	}
	/* UC refuses for the same reasons as RC, but sends no NAK that names them */
	if (weft_rules_refusal(fault, WEFT_SERVICE_RC)->requester == IB_WC_REM_ACCESS_ERR)
		weft_stats_inc(qp, WEFT_STAT_RESP_REMOTE_ACCESS_ERRORS);
	told = msg_fails_receive(qp, fault, refusal);
	/* the requester tries again, and reports it when its retries are used up */
	if (refusal->reply != WEFT_REPLY_RNR)
		fault = weft_blame_refusal(qp, fault);
	if (told) {
		if (unlikely(qp->recv.tagged) && !qp->recv.malformed)
			weft_srq_uncount(qp->recv.srq, qp->recv.tagged);
		msg_complete_error(qp, refusal->responder, fault);
	}
	/* a DC target is for many initiators, and none of them may end it */
	if (refusal->has_event && !told && !qp->dc)
		weft_qp_event(qp, refusal->event);
	if (refusal->fatal && !qp->dc)
		weft_qp_set_error(qp);
	if (refusal->reply == WEFT_REPLY_RNR)
		weft_stats_inc(qp, WEFT_STAT_RNR_NAKS_SENT);
	else if (refusal->reply == WEFT_REPLY_NAK)
		weft_stats_inc(qp, WEFT_STAT_NAKS_SENT);
	return refusal;
}

/* Return: true: the QP does not receive the datagram. The turn need not be owned. */
bool weft_message_bad_qkey(struct weft_qp *qp, const struct weft_request *req, u32 qkey)
{
	u32 want = READ_ONCE(qp->qkey);

	/* QP 0 has no Q_Key (IBA 10.2.5) */
	if (likely(want == qkey) || qp->type == IB_QPT_SMI)
		return false;
	weft_stats_inc(qp->dev, WEFT_STAT_UD_DROPPED_QKEY);
	trace_weft_datagram_drop(qp->qpn, req->src_qpn, WEFT_STAT_UD_DROPPED_QKEY);
	weft_blame_datagram(qp, req->src_qpn, qkey, want);
	qp->dev->port_ops->bad_qkey(qp, req, qkey);
	return true;
}

/*
 * A datagram without a receive or memory, or longer than its receive, must not end the QP: anybody
 * may send one.
 */
static void msg_drop_datagram(struct weft_qp *qp, const struct weft_request *req,
			      enum weft_fault fault)
{
	if (fault == WEFT_FAULT_RNR) {
		weft_stats_inc(qp, WEFT_STAT_UD_DROPPED_NO_RECEIVE);
		trace_weft_datagram_drop(qp->qpn, req->src_qpn,
					 WEFT_STAT_UD_DROPPED_NO_RECEIVE);
	} else if (fault == WEFT_FAULT_RECV_LENGTH) {
		trace_weft_datagram_drop(qp->qpn, req->src_qpn, WEFT_STAT_RX_TOO_LONG);
	} else if (fault == WEFT_FAULT_NO_MEMORY) {
		trace_weft_datagram_drop(qp->qpn, req->src_qpn, WEFT_STAT_RX_NO_MEMORY);
	}
	qp->recv.refused.src_qpn = req->src_qpn;
	weft_message_refuse(qp, fault);
}

/*
 * QP 0 and 1 receive MADs, which have a fixed length; others at most the largest MTU that a port
 * has.
 */
static bool msg_is_too_long(const struct weft_qp *qp, u32 length)
{
	bool mad = qp->type == IB_QPT_GSI || qp->type == IB_QPT_SMI;

	return length > (mad ? IB_MGMT_MAD_SIZE : ib_mtu_enum_to_int(IB_MTU_4096));
}

static void msg_too_long(struct weft_qp *qp, const struct weft_request *req)
{
	weft_stats_inc(qp->dev, WEFT_STAT_RX_MALFORMED);
	trace_weft_datagram_drop(qp->qpn, req->src_qpn, WEFT_STAT_RX_MALFORMED);
}

/*
 * Receive a datagram with payload @src, from begin to end. WEFT_DONE: it has been received, or
 * dropped because of the receive, with all consequences. WEFT_DROP: the QP's state does not
 * receive, the Q_Key is wrong, or the datagram is too long. WEFT_LATER.
 */
struct weft_result weft_message_datagram(struct weft_qp *qp, const struct weft_request *req,
					 u32 qkey, struct weft_iter *src)
{
	struct weft_span grh = { .addr = (uintptr_t)req->grh, .length = WEFT_GRH_BYTES };
	struct weft_result result;
	struct weft_iter from;

	weft_assert_turn(&qp->recv.turn);
	if (!weft_qp_can_receive(qp) || !weft_qp_port_open(qp))
		return weft_result(WEFT_DROP);
	if (weft_message_bad_qkey(qp, req, qkey))
		return weft_result(WEFT_DROP);
	if (unlikely(msg_is_too_long(qp, req->length))) {
		msg_too_long(qp, req);
		return weft_result(WEFT_DROP);
	}
	result = weft_message_begin(qp, req);
	if (unlikely(result.verdict == WEFT_LATER))
		return result;
	if (unlikely(result.verdict)) {
		msg_drop_datagram(qp, req, result.fault);
		return weft_result(WEFT_DONE);
	}
	weft_span_iter(&grh, &from);
	weft_message_place(qp, &from, grh.length);
	weft_message_place(qp, src, req->length);
	weft_message_end(qp, req);
	return result;
}

/* Complete the receive that is held with a frame that has been copied. */
static void msg_complete_frame(struct weft_qp *qp, const struct weft_frame_in *frame)
{
	struct weft_cq *cq = qp->recv.cq;
	unsigned long flags = weft_cq_begin(cq);
	struct weft_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = frame->length,
		.ex = frame->tag,
		.vlan_id = frame->cvlan,
		.wc_flags = frame->ip_csum_ok ? WEFT_WC_IP_CSUM_OK : 0,
	};

	msg_complete(qp, cq, &cqe, false, flags);
}

/*
 * Receive a frame. A frame without a receive, or longer than its receive, is dropped, and the
 * receive stays for the next one. WEFT_DONE: the frame has been received or dropped; WEFT_DROP: the
 * QP's state does not receive; WEFT_LATER.
 */
struct weft_result weft_message_frame(struct weft_qp *qp, const struct weft_frame_in *frame,
				      struct weft_iter *src)
{
	const struct weft_request req = {
		.op = weft_opdef(WEFT_SQE_SEND), .length = frame->length,
	};
	struct weft_result result;

	weft_assert_turn(&qp->recv.turn);
	if (!weft_qp_can_receive(qp))
		return weft_result(WEFT_DROP);
	result = msg_begin_send(qp, &req);
	if (unlikely(result.verdict == WEFT_LATER))
		return result;
	if (unlikely(result.verdict)) {
		weft_message_refuse(qp, result.fault);
		return weft_result(WEFT_DONE);
	}
	weft_message_place(qp, src, frame->length);
	msg_release(qp);
	weft_odp_end(&qp->recv.odp);
	weft_stats_message(qp->stats, WEFT_STAT_RCVD_MESSAGES, frame->length);
	msg_complete_frame(qp, frame);
	return result;
}

/*
 * Flush what is in the ring now. The doorbell is armed first, so a client that posts later rings
 * (see the proof in weft-abi.h); the loop is bounded, because others wait for the turn. It also
 * ends at an impossible index; the QP is in ERR already.
 */
static void msg_flush_queue(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	int left;

	weft_ring_arm_doorbell(recv->ring);
	for (left = weft_ring_pending(recv->ring); left > 0; left--) {
		if (weft_turn_stopping(&recv->turn) || weft_ring_pending(recv->ring) <= 0)
			break;
		weft_rq_next(recv->ring, &recv->wqe);
		msg_flush_held(qp);
		cond_resched();
	}
}

/* Complete the receive queue as flushed. The QP is in ERR. Context: process, may sleep. */
void weft_message_flush(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_assert_turn(&recv->turn);
	weft_odp_forget(&recv->odp);
	if (recv->held)
		msg_flush_held(qp);
	if (recv->ring) {
		msg_flush_queue(qp);
	} else if (recv->srq && !recv->last_wqe) {
		recv->last_wqe = true;
		weft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}
