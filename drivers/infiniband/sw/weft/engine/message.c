// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/message.h"

#include "engine/sendq.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/key.h"
#include "object/qp.h"
#include "object/srq.h"
#include "object/table.h"
#include "stats.h"

/* Complete the receive work request that is held. */
static void msg_complete(struct weft_qp *qp, struct weft_cqe *cqe, bool solicited)
{
	struct weft_recv *recv = &qp->recv;

	recv->held = false;
	cqe->wr_id = recv->wqe.wr_id;
	cqe->wqe_index = recv->wqe.index;
	cqe->cookie = qp->cookie;
	cqe->qp_num = qp->qpn;
	cqe->flags = WEFT_CQE_RECV | (qp->srq ? WEFT_CQE_SRQ : 0);
	cqe->port_num = 1;
	if (!weft_cq_push(qp->recv_cq, cqe, solicited))
		weft_qp_fatal(qp);
}

static void msg_complete_error(struct weft_qp *qp, enum ib_wc_status status,
			       enum weft_fault fault)
{
	struct weft_cqe cqe = {
		.status = status,
		.opcode = IB_WC_RECV,
		.vendor_err = fault,
	};

	msg_complete(qp, &cqe, true);
}

static enum weft_fault msg_take_rwqe(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;
	int ret;

	if (recv->held)
		return recv->malformed ? WEFT_FAULT_RECV_MALFORMED : WEFT_FAULT_NONE;
	if (qp->srq) {
		ret = weft_srq_take(qp->srq, &recv->wqe);
	} else {
		ret = weft_ring_pending(recv->ring);
		if (ret > 0)
			ret = weft_rq_next(recv->ring, &recv->wqe);
		else if (!ret)
			ret = -EAGAIN;
		else
			weft_qp_fatal(qp); /* it scribbled over its ring */
	}
	if (ret && ret != -EINVAL)
		return WEFT_FAULT_RNR;
	recv->held = true;
	recv->malformed = ret;
	return recv->malformed ? WEFT_FAULT_RECV_MALFORMED : WEFT_FAULT_NONE;
}

/* The receive that is held has room for @end bytes; go to @offset. */
static enum weft_fault msg_open_recv(struct weft_qp *qp, u64 offset, u64 end)
{
	struct weft_accessor who = weft_qp_accessor(qp);
	struct weft_recv *recv = &qp->recv;

	if (weft_sgl_resolve(&recv->sgl, &who, recv->wqe.sge, recv->wqe.num_sge,
			     IB_ACCESS_LOCAL_WRITE))
		return WEFT_FAULT_RECV_PROTECTION;
	if (end > recv->sgl.length) {
		weft_sgl_release(&recv->sgl);
		return WEFT_FAULT_RECV_LENGTH;
	}
	weft_sgl_iter(&recv->sgl, &recv->iter);
	if (offset)
		weft_iter_skip(&recv->iter, offset);
	return WEFT_FAULT_NONE;
}

static enum weft_fault msg_begin_send(struct weft_qp *qp,
				      const struct weft_request *req)
{
	return msg_open_recv(qp, 0, req->length + (req->grh ? WEFT_GRH_BYTES : 0ULL));
}

static u32 msg_access(u8 opcode)
{
	switch (opcode) {
	case WEFT_SQE_WRITE:
	case WEFT_SQE_WRITE_IMM:
		return IB_ACCESS_REMOTE_WRITE;
	case WEFT_SQE_READ:
		return IB_ACCESS_REMOTE_READ;
	default:
		return IB_ACCESS_REMOTE_ATOMIC;
	}
}

static enum weft_fault msg_open_remote(struct weft_qp *qp, const struct weft_request *req,
				       u64 offset, u32 length)
{
	struct weft_accessor who = weft_qp_accessor(qp);
	struct weft_recv *recv = &qp->recv;

	if (weft_region_resolve(&who, req->rkey, req->remote_addr + offset, length,
				msg_access(req->opcode), &recv->span))
		return WEFT_FAULT_REMOTE_ACCESS;
	weft_span_iter(&recv->span, &recv->iter);
	return WEFT_FAULT_NONE;
}

static enum weft_fault msg_begin_rdma(struct weft_qp *qp,
				      const struct weft_request *req)
{
	u32 access = msg_access(req->opcode), length = req->length;

	if (!(qp->access & access))
		return WEFT_FAULT_NOT_ENABLED;
	if (access != IB_ACCESS_REMOTE_WRITE && !qp->recv.max_dest_rd_atomic)
		return WEFT_FAULT_NO_RESOURCES;
	if (access == IB_ACCESS_REMOTE_ATOMIC) {
		length = sizeof(u64);
		if (req->remote_addr % sizeof(u64))
			return WEFT_FAULT_MISALIGNED;
	}
	return msg_open_remote(qp, req, 0, length);
}

static void msg_comm_est(struct weft_qp *qp)
{
	if (likely(qp->recv.comm_est))
		return;
	qp->recv.comm_est = true;
	if (weft_qp_state(qp) == IB_QPS_RTR && !weft_qp_is_ud(qp))
		weft_qp_event(qp, IB_EVENT_COMM_EST);
}

enum weft_fault weft_message_begin(struct weft_qp *qp, const struct weft_request *req)
{
	enum weft_fault fault = WEFT_FAULT_NONE;

	weft_assert_turn(&qp->recv.turn);
	msg_comm_est(qp);
	if (weft_sendq_needs_receive(req->opcode))
		fault = msg_take_rwqe(qp);
	if (fault)
		return fault;
	if (req->opcode <= WEFT_SQE_SEND_INV)
		return msg_begin_send(qp, req);
	return msg_begin_rdma(qp, req);
}

enum weft_fault weft_message_begin_immediate(struct weft_qp *qp)
{
	weft_assert_turn(&qp->recv.turn);
	return msg_take_rwqe(qp);
}

enum weft_fault weft_message_resume(struct weft_qp *qp, const struct weft_request *req,
				    u64 offset, u32 length)
{
	weft_assert_turn(&qp->recv.turn);
	if (req->opcode <= WEFT_SQE_SEND_INV)
		return qp->recv.held ? msg_open_recv(qp, offset, offset + length) :
				       WEFT_FAULT_BAD_REQUEST;
	return msg_open_remote(qp, req, offset, length);
}

void weft_message_place(struct weft_qp *qp, struct weft_iter *src, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(&qp->recv.iter, src, length);
}

void weft_message_fetch(struct weft_qp *qp, struct weft_iter *dst, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(dst, &qp->recv.iter, length);
}

u64 weft_message_atomic(struct weft_qp *qp, const struct weft_request *req)
{
	weft_assert_turn(&qp->recv.turn);
	if (req->opcode == WEFT_SQE_CMP_SWP)
		return weft_atomic_cmp_swp(&qp->recv.span, req->compare_add, req->swap);
	return weft_atomic_fetch_add(&qp->recv.span, req->compare_add);
}

static void msg_release(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_sgl_release(&recv->sgl);
	weft_region_put(recv->span.region);
	recv->span.region = NULL;
}

static void msg_complete_success(struct weft_qp *qp, const struct weft_request *req)
{
	struct weft_cqe cqe = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = req->length,
		.ex = req->ex,
		.src_qp = req->src_qpn,
		.sl = req->sl,
		.network_hdr_type = req->network_hdr_type,
	};

	switch (req->opcode) {
	case WEFT_SQE_WRITE_IMM:
		cqe.opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case WEFT_SQE_SEND_IMM:
		cqe.wc_flags = WEFT_WC_WITH_IMM;
		break;
	case WEFT_SQE_SEND_INV:
		cqe.wc_flags = WEFT_WC_WITH_INV;
		break;
	}
	if (req->grh) {
		cqe.vlan_id = qp->type == IB_QPT_GSI ?
			      weft_dev_gid_vlan(qp->dev, req->dgid) : WEFT_VLAN_NONE;
		cqe.wc_flags |= WEFT_WC_GRH;
		cqe.byte_len += WEFT_GRH_BYTES;
	}
	msg_complete(qp, &cqe, req->solicited);
}

static enum weft_fault msg_invalidate(struct weft_qp *qp, u32 rkey)
{
	struct weft_accessor who = weft_qp_accessor(qp);

	switch (weft_key_invalidate(&who, rkey, false)) {
	case 0:
		return WEFT_FAULT_NONE;
	case -EBUSY:
		/* of another QP's peer: this one comes again with the message */
		return WEFT_FAULT_RNR;
	default:
		return WEFT_FAULT_INVALIDATE;
	}
}

enum weft_fault weft_message_end(struct weft_qp *qp, const struct weft_request *req)
{
	enum weft_fault fault;

	weft_assert_turn(&qp->recv.turn);
	msg_release(qp);
	if (req->opcode == WEFT_SQE_SEND_INV) {
		fault = msg_invalidate(qp, req->ex);
		if (fault)
			return fault;
	}
	weft_stats_inc(qp, WEFT_STAT_RCVD_MESSAGES);
	weft_stats_add(qp, WEFT_STAT_RCVD_BYTES, req->length);
	if (weft_sendq_needs_receive(req->opcode))
		msg_complete_success(qp, req);
	return WEFT_FAULT_NONE;
}

void weft_message_pause(struct weft_qp *qp)
{
	weft_assert_turn(&qp->recv.turn);
	msg_release(qp);
}

const struct weft_verdict *weft_message_refuse(struct weft_qp *qp,
					       enum weft_fault fault)
{
	const struct weft_verdict *verdict =
		weft_rules_verdict(fault, weft_rules_service(qp->type));

	weft_assert_turn(&qp->recv.turn);
	if (verdict->responder && qp->recv.held)
		msg_complete_error(qp, verdict->responder, fault);
	if (verdict->has_event)
		weft_qp_event(qp, verdict->event);
	if (verdict->fatal)
		weft_qp_set_error(qp);
	if (verdict->reply == WEFT_REPLY_RNR)
		weft_stats_inc(qp, WEFT_STAT_RNR_NAKS_SENT);
	else if (verdict->reply == WEFT_REPLY_NAK)
		weft_stats_inc(qp, WEFT_STAT_NAKS_SENT);
	return verdict;
}

bool weft_message_datagram(struct weft_qp *qp, const struct weft_request *req,
			   u32 qkey, struct weft_iter *src)
{
	struct weft_span grh = { .addr = (uintptr_t)req->grh, .length = WEFT_GRH_BYTES };
	struct weft_iter from;
	enum weft_fault fault;

	weft_assert_turn(&qp->recv.turn);
	if (!weft_qp_can_receive(qp) || !weft_dev_port_active(qp->dev))
		return false;
	if (qp->qkey != qkey) {
		weft_stats_inc(qp->dev, WEFT_STAT_UD_DROPPED_QKEY);
		return false;
	}
	fault = weft_message_begin(qp, req);
	if (fault) {
		if (fault == WEFT_FAULT_RNR)
			weft_stats_inc(qp, WEFT_STAT_UD_DROPPED_NO_RECEIVE);
		weft_message_refuse(qp, fault);
		return true;
	}
	weft_span_iter(&grh, &from);
	weft_message_place(qp, &from, grh.length);
	weft_message_place(qp, src, req->length);
	weft_message_end(qp, req);
	return true;
}

static void msg_flush_held(struct weft_qp *qp)
{
	weft_stats_inc(qp, WEFT_STAT_FLUSHED_WRS);
	msg_complete_error(qp, IB_WC_WR_FLUSH_ERR, WEFT_FAULT_FLUSHED);
}

/*
 * Late posts: the doorbell is armed before the scan, see the proof in
 * weft-abi.h. Ends at an impossible index; the QP is in ERR already.
 */
static void msg_flush_queue(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_ring_arm_doorbell(recv->ring);
	while (weft_ring_pending(recv->ring) > 0 &&
	       !weft_turn_stopping(&recv->turn)) {
		weft_rq_next(recv->ring, &recv->wqe);
		msg_flush_held(qp);
		cond_resched();
	}
}

void weft_message_flush(struct weft_qp *qp)
{
	struct weft_recv *recv = &qp->recv;

	weft_assert_turn(&recv->turn);
	if (recv->held)
		msg_flush_held(qp);
	if (!qp->srq) {
		msg_flush_queue(qp);
	} else if (!recv->last_wqe) {
		recv->last_wqe = true;
		weft_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
}
