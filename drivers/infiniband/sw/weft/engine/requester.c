// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/requester.h"

#include "engine/link.h"
#include "object/ah.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/mw.h"
#include "object/qp.h"
#include "stats.h"

/**
 * struct req_budget - what is left to do before the rest is deferred
 * @wqes: work requests
 * @bytes: bytes
 */
struct req_budget {
	u32	wqes;
	s64	bytes;
};

static const u8 req_wc_opcode[WEFT_SQE_OPCODES] = {
	[WEFT_SQE_SEND]		= IB_WC_SEND,
	[WEFT_SQE_SEND_IMM]	= IB_WC_SEND,
	[WEFT_SQE_SEND_INV]	= IB_WC_SEND,
	[WEFT_SQE_WRITE]	= IB_WC_RDMA_WRITE,
	[WEFT_SQE_WRITE_IMM]	= IB_WC_RDMA_WRITE,
	[WEFT_SQE_READ]		= IB_WC_RDMA_READ,
	[WEFT_SQE_CMP_SWP]	= IB_WC_COMP_SWAP,
	[WEFT_SQE_FETCH_ADD]	= IB_WC_FETCH_ADD,
	[WEFT_SQE_LOCAL_INV]	= IB_WC_LOCAL_INV,
	[WEFT_SQE_BIND_MW]	= IB_WC_BIND_MW,
};

static bool req_is_atomic(u8 opcode)
{
	return opcode == WEFT_SQE_CMP_SWP || opcode == WEFT_SQE_FETCH_ADD;
}

static bool req_is_response(u8 opcode)
{
	return opcode == WEFT_SQE_READ || req_is_atomic(opcode);
}

static void req_complete(struct weft_qp *qp, enum ib_wc_status status,
			 enum weft_fault fault, u32 byte_len)
{
	struct weft_send *send = &qp->send;
	const struct weft_sqe *sqe = &send->wqe.sqe;
	struct weft_cqe cqe = {
		.wr_id = sqe->wr_id,
		.cookie = qp->cookie,
		.qp_num = qp->qpn,
		.byte_len = byte_len,
		.wqe_index = send->wqe.index,
		.status = status,
		.vendor_err = fault,
		.port_num = 1,
	};

	if (sqe->opcode < WEFT_SQE_OPCODES)
		cqe.opcode = req_wc_opcode[sqe->opcode];
	send->active = false;
	weft_ring_release(send->ring);
	if (!status && !qp->sig_all && !(sqe->flags & WEFT_SQE_SIGNALED))
		return;
	if (!weft_cq_push(qp->send_cq, &cqe, status))
		weft_qp_fatal(qp);
}

/* The current work request failed; the QP follows (IBA 10.3.1). */
static void req_fail(struct weft_qp *qp, enum ib_wc_status status,
		     enum weft_fault fault)
{
	if (qp->type == IB_QPT_RC)
		weft_qp_set_error(qp);
	else
		weft_qp_set_sqe(qp);
	req_complete(qp, status, fault, 0);
}

static void req_fault(struct weft_qp *qp, enum weft_fault fault)
{
	req_fail(qp, weft_rules_status(fault), fault);
}

void weft_requester_reset_retries(struct weft_send *send)
{
	send->retry_left = send->retry_cnt;
	send->rnr_left = send->rnr_retry;
}

static void req_wait(struct weft_send *send, u64 ns)
{
	send->waiting = true;
	if (ns)
		hrtimer_start(&send->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_SOFT);
}

static enum hrtimer_restart req_timer_expired(struct hrtimer *timer)
{
	struct weft_send *send = container_of(timer, struct weft_send, timer);

	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	return HRTIMER_NORESTART;
}

static void req_rnr(struct weft_qp *qp, u8 rnr_timer)
{
	struct weft_send *send = &qp->send;

	if (send->rnr_left == 0) {
		req_fault(qp, WEFT_FAULT_RNR_RETRY);
		return;
	}
	if (send->rnr_left < 7)
		send->rnr_left--;
	weft_stats_inc(qp->dev, WEFT_STAT_RNR_RETRIES);
	req_wait(send, weft_rules_rnr_ns(rnr_timer));
}

/* Timeout 0 means to wait for ever. */
static void req_lost(struct weft_send *send)
{
	send->unanswered = true;
	req_wait(send, send->timeout ? 4096ULL << send->timeout : 0);
}

/* The timer expired: the end of an RNR delay, or of the patience for an answer. */
static void req_timeout(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	if (!send->waiting)
		return;
	send->waiting = false;
	if (!send->unanswered)
		return;
	send->unanswered = false;
	if (weft_qp_state(qp) == IB_QPS_ERR)
		return; /* it will be flushed */
	if (send->retry_left == 0) {
		req_fault(qp, WEFT_FAULT_RETRY);
		return;
	}
	send->retry_left--;
	weft_stats_inc(qp->dev, WEFT_STAT_TRANSPORT_RETRIES);
}

static struct weft_accessor req_accessor(const struct weft_qp *qp)
{
	return (struct weft_accessor){
		.table = &qp->dev->regions,
		.pd = qp->pd,
		.qpn = qp->qpn,
		.kernel = qp->kernel,
	};
}

static void req_inline(struct weft_send *send)
{
	struct weft_sgl *sgl = &send->sgl;

	sgl->length = send->wqe.sqe.inline_length;
	sgl->num = sgl->length ? 1 : 0;
	sgl->span[0].region = NULL;
	sgl->span[0].addr = (uintptr_t)send->wqe.inline_data;
	sgl->span[0].length = sgl->length;
}

static enum weft_fault req_gather(struct weft_qp *qp)
{
	struct weft_accessor who = req_accessor(qp);
	struct weft_send *send = &qp->send;
	const struct weft_sqe *sqe = &send->wqe.sqe;
	bool response = req_is_response(sqe->opcode);

	if (sqe->flags & WEFT_SQE_INLINE)
		req_inline(send);
	else if (weft_sgl_resolve(&send->sgl, &who, send->wqe.sge, sqe->num_sge,
				  response ? IB_ACCESS_LOCAL_WRITE : 0))
		return WEFT_FAULT_LOCAL_PROTECTION;
	if (send->sgl.length > WEFT_MAX_MSG ||
	    (req_is_atomic(sqe->opcode) && send->sgl.length != sizeof(u64))) {
		weft_sgl_release(&send->sgl);
		return WEFT_FAULT_LOCAL_LENGTH;
	}
	return WEFT_FAULT_NONE;
}

static void req_build(const struct weft_swqe *wqe, u64 length,
		      struct weft_request *req)
{
	const struct weft_sqe *sqe = &wqe->sqe;

	*req = (struct weft_request){
		.opcode = sqe->opcode,
		.solicited = sqe->flags & WEFT_SQE_SOLICITED,
		.length = length,
		.ex = sqe->ex,
		.rkey = sqe->rkey,
		.remote_addr = sqe->remote_addr,
	};
	if (req_is_atomic(sqe->opcode)) {
		req->compare_add = sqe->atomic.compare_add;
		req->swap = sqe->atomic.swap;
	}
}

static void req_message(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	struct weft_answer answer = {};
	struct weft_request req;
	enum weft_fault fault;

	fault = req_gather(qp);
	if (fault) {
		req_fault(qp, fault);
		return;
	}
	req_build(&send->wqe, send->sgl.length, &req);
	qp->link->message(qp, &req, &send->sgl, &answer);
	weft_sgl_release(&send->sgl);
	switch (answer.outcome) {
	case WEFT_OUTCOME_DONE:
		budget->bytes -= req.length;
		weft_stats_inc(qp->dev, WEFT_STAT_SENT_MESSAGES);
		weft_stats_add(qp->dev, WEFT_STAT_SENT_BYTES, req.length);
		weft_requester_reset_retries(send);
		req_complete(qp, IB_WC_SUCCESS, WEFT_FAULT_NONE, req.length);
		break;
	case WEFT_OUTCOME_REFUSED:
		req_fail(qp, answer.status, answer.fault);
		break;
	case WEFT_OUTCOME_RNR:
		req_rnr(qp, answer.rnr_timer);
		break;
	case WEFT_OUTCOME_LOST:
		req_lost(send);
		break;
	case WEFT_OUTCOME_STOPPED:
		budget->wqes = 0;
		break;
	}
}

static int req_bind(const struct weft_accessor *who, const struct weft_sqe *sqe)
{
	struct weft_mw_request request = {
		.rkey = sqe->mw.rkey,
		.new_rkey = sqe->mw.new_rkey,
		.lkey = sqe->mw.lkey,
		.access = sqe->mw.access,
		.addr = sqe->mw.addr,
		.length = sqe->mw.length,
	};

	return weft_mw_bind(who, &request);
}

static void req_local(struct weft_qp *qp)
{
	const struct weft_sqe *sqe = &qp->send.wqe.sqe;
	struct weft_accessor who = req_accessor(qp);
	int ret;

	if (sqe->opcode == WEFT_SQE_LOCAL_INV)
		ret = weft_mw_invalidate(&who, sqe->ex);
	else
		ret = req_bind(&who, sqe);
	if (ret)
		req_fault(qp, WEFT_FAULT_BIND);
	else
		req_complete(qp, IB_WC_SUCCESS, WEFT_FAULT_NONE, 0);
}

static void req_execute(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	u8 opcode = send->wqe.sqe.opcode;

	if (unlikely(send->malformed))
		req_fault(qp, WEFT_FAULT_MALFORMED);
	else if (unlikely(!weft_rules_opcode_allowed(qp->type, opcode)))
		req_fault(qp, WEFT_FAULT_OPCODE);
	else if (opcode == WEFT_SQE_LOCAL_INV || opcode == WEFT_SQE_BIND_MW)
		req_local(qp);
	else if (unlikely(req_is_response(opcode) && !send->max_rd_atomic))
		req_fault(qp, WEFT_FAULT_NO_CREDIT);
	else
		req_message(qp, budget);
}

/*
 * The next work request into send->wqe. With an empty queue the client is
 * asked to ring before the last look, see the proof in weft-abi.h.
 */
static bool req_next(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	int pending = weft_ring_pending(send->ring);

	if (!pending) {
		weft_ring_arm_doorbell(send->ring);
		send->doorbell_armed = true;
		pending = weft_ring_pending(send->ring);
		if (!pending)
			return false;
	}
	if (unlikely(pending < 0)) {
		weft_qp_fatal(qp);
		return false;
	}
	if (send->doorbell_armed) {
		weft_ring_set_flags(send->ring, 0, WEFT_RING_NEED_DOORBELL);
		send->doorbell_armed = false;
	}
	send->malformed = weft_sq_next(send->ring, &send->wqe);
	send->active = true;
	return true;
}

/* ERR, or SQE: what is in the queue completes in order, as flushed. */
static void req_flush(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	send->waiting = false;
	send->unanswered = false;
	hrtimer_try_to_cancel(&send->timer);
	while (!weft_turn_stopping(&send->turn) && (send->active || req_next(qp))) {
		weft_stats_inc(qp->dev, WEFT_STAT_FLUSHED_WRS);
		req_complete(qp, IB_WC_WR_FLUSH_ERR, WEFT_FAULT_FLUSHED, 0);
		cond_resched();
	}
}

/* SQD with nothing in progress: the event after the last completion, once. */
static void req_drained(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	if (send->drained)
		return;
	send->drained = true;
	if (send->sqd_notify)
		weft_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/* Return: true when the rest is to be deferred. */
static bool req_work(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;

	for (;;) {
		switch (weft_qp_state(qp)) {
		case IB_QPS_RTS:
			break;
		case IB_QPS_SQD:
			if (send->active)
				break;
			req_drained(qp);
			return false;
		case IB_QPS_SQE:
		case IB_QPS_ERR:
			req_flush(qp);
			return false;
		default:
			return false;
		}
		if (send->waiting || weft_turn_stopping(&send->turn))
			return false;
		if (!budget->wqes || budget->bytes < 0)
			return true;
		if (!send->active && !req_next(qp))
			return false;
		budget->wqes--;
		req_execute(qp, budget);
	}
}

static void req_run(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	bool defer;

	if (weft_turn_take(&send->turn) & BIT(WEFT_EV_TIMER))
		req_timeout(qp);
	defer = req_work(qp, budget);
	if (defer)
		weft_turn_defer(&send->turn);
	else
		weft_turn_release(&send->turn);
}

void weft_requester_run(struct weft_qp *qp)
{
	struct req_budget budget = {
		.wqes = WEFT_WORK_WQES, .bytes = WEFT_DOORBELL_BYTES,
	};

	req_run(qp, &budget);
	cond_resched();
}

void weft_requester_doorbell(struct weft_qp *qp)
{
	struct req_budget budget = {
		.wqes = WEFT_DOORBELL_WQES, .bytes = WEFT_DOORBELL_BYTES,
	};

	weft_stats_inc(qp->dev, WEFT_STAT_DOORBELLS);
	if (weft_turn_try(&qp->send.turn))
		req_run(qp, &budget);
	else
		weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
}

void weft_requester_init(struct weft_qp *qp)
{
	hrtimer_setup(&qp->send.timer, req_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	weft_requester_reset(qp);
}

void weft_requester_reset(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	hrtimer_cancel(&send->timer);
	send->active = false;
	send->waiting = false;
	send->unanswered = false;
	send->drained = false;
	send->doorbell_armed = true;
	weft_requester_reset_retries(send);
	weft_ring_set_flags(send->ring, WEFT_RING_NEED_DOORBELL, 0);
}
