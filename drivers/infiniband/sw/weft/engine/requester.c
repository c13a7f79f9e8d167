// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/requester.h"

#include "engine/completer.h"
#include "engine/datagram.h"
#include "engine/link.h"
#include "engine/migration.h"
#include "engine/pace.h"
#include "engine/odp.h"
#include "engine/sendq.h"
#include "engine/transmit.h"
#include "engine/inflight.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"

/**
 * struct req_budget - what is left to do before the rest is deferred
 * @bytes: bytes
 * @wqes: work requests
 * @atomic: nothing may sleep
 * @stalled: a packet did not fit, or ODP memory is on its way: an event will come
 */
struct req_budget {
	s64	bytes;
	u32	wqes;
	bool	atomic;
	bool	stalled;
};

/* The request in send->wqe, which travels whole, is complete. */
static void req_complete(struct weft_qp *qp, enum ib_wc_status status,
			 enum weft_fault fault, u32 byte_len)
{
	struct weft_send *send = &qp->send;

	send->active = false;
	weft_sendq_complete(qp, &send->wqe.sqe, send->wqe.index, status, fault, byte_len);
}

static void req_fail(struct weft_qp *qp, enum ib_wc_status status,
		     enum weft_fault fault)
{
	struct weft_send *send = &qp->send;

	send->active = false;
	send->done = 0;
	weft_sendq_fail(qp, &send->wqe.sqe, send->wqe.index, status, fault);
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

void weft_requester_wait(struct weft_send *send, u64 ns)
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
	weft_stats_inc(qp, WEFT_STAT_RNR_RETRIES);
	weft_requester_wait(send, weft_rules_rnr_ns(rnr_timer));
}

static void req_flush_one(struct weft_qp *qp)
{
	enum weft_fault fault = weft_rules_flushed(READ_ONCE(qp->fault));

	weft_stats_inc(qp, WEFT_STAT_FLUSHED_WRS);
	req_complete(qp, weft_rules_status(fault), fault, 0);
}

/* Timeout 0 means to wait for ever. */
static void req_lost(struct weft_send *send)
{
	send->unanswered = true;
	weft_requester_wait(send, send->timeout ? 4096ULL << send->timeout : 0);
}

/* No answer to the request in send->wqe. */
static void req_unanswered(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	send->unanswered = false;
	if (weft_qp_state(qp) == IB_QPS_ERR)
		return; /* it will be flushed */
	if (send->retry_left == 0) {
		if (!weft_migrate_on_error(qp))
			req_fault(qp, WEFT_FAULT_RETRY);
		return;
	}
	send->retry_left--;
	weft_stats_inc(qp, WEFT_STAT_TRANSPORT_RETRIES);
}

/* The timer expired: the end of an RNR delay, or of the ack timeout. */
static void req_timeout(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	/* what it expired for is over: it has been started again since */
	if (hrtimer_is_queued(&send->timer))
		return;
	if (!send->waiting) {
		if (!weft_inflight_is_empty(&send->inflight))
			weft_completer_timeout(qp);
		return;
	}
	send->waiting = false;
	if (send->unanswered)
		req_unanswered(qp);
	else if (!weft_inflight_is_empty(&send->inflight))
		weft_ack_timeout_start(qp);
}

/* @req: of what it has for datagrams only that it is none. */
static void req_build(const struct weft_send *send, struct weft_request *req)
{
	const struct weft_sqe *sqe = &send->wqe.sqe;

	req->opcode = sqe->opcode;
	req->solicited = sqe->flags & WEFT_SQE_SOLICITED;
	req->length = send->sgl.length;
	req->ex = sqe->ex;
	req->rkey = sqe->rkey;
	req->srqn = sqe->xrc.srqn;
	req->remote_addr = sqe->remote_addr;
	req->grh = NULL;
	if (weft_sendq_is_atomic(sqe->opcode)) {
		req->compare_add = sqe->atomic.compare_add;
		req->swap = sqe->atomic.swap;
		req->compare_add_mask = sqe->atomic.compare_add_mask;
		req->swap_mask = sqe->atomic.swap_mask;
	} else if (unlikely(sqe->opcode == WEFT_SQE_FLUSH)) {
		req->flush.length = sqe->flush.length;
		req->flush.placement = sqe->flush.placement;
		req->flush.selectivity = sqe->flush.selectivity;
	}
}

static void req_done(struct weft_qp *qp, u32 length, struct req_budget *budget)
{
	budget->bytes -= length;
	weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, length);
	weft_requester_reset_retries(&qp->send);
	req_complete(qp, IB_WC_SUCCESS, WEFT_FAULT_NONE, length);
}

static noinline void req_not_done(struct weft_qp *qp, const struct weft_answer *answer,
				  struct req_budget *budget)
{
	switch (answer->outcome) {
	case WEFT_OUTCOME_REFUSED:
		req_fail(qp, answer->status, answer->fault);
		break;
	case WEFT_OUTCOME_FLUSHED:
		req_flush_one(qp);
		break;
	case WEFT_OUTCOME_RNR:
		req_rnr(qp, answer->rnr_timer);
		break;
	case WEFT_OUTCOME_LOST:
		req_lost(&qp->send);
		break;
	case WEFT_OUTCOME_STOPPED:
		budget->wqes = 0;
		break;
	case WEFT_OUTCOME_STALLED:
		budget->stalled = true;
		break;
	case WEFT_OUTCOME_DONE:
		break;
	}
}

/* The next window of a message that has ODP memory. */
static enum weft_fault req_page(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	return weft_sendq_page(qp, &send->odp, &send->wqe.sqe, send->wqe.sge,
			       send->done, WEFT_ODP_CHUNK);
}

static __always_inline void req_connected(struct weft_qp *qp, bool atomic,
					  struct weft_answer *answer)
{
	struct weft_request req __uninitialized;

	req_build(&qp->send, &req);
	qp->link->message(qp, &req, &qp->send.sgl, atomic, answer);
}

static noinline void req_datagram(struct weft_qp *qp, bool atomic, struct weft_answer *answer)
{
	struct weft_datagram dgram = { .atomic = atomic };

	req_build(&qp->send, &dgram.req);
	weft_datagram_send(qp, &dgram, answer);
}

static void req_message(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	struct weft_answer answer = {};
	enum weft_fault fault;
	u32 length;

	fault = weft_sendq_gather(qp, &send->wqe.sqe, send->wqe.sge, send->wqe.inline_data);
	if (unlikely(fault == WEFT_FAULT_PAGES))
		fault = req_page(qp);
	if (unlikely(fault)) {
		budget->stalled = fault == WEFT_FAULT_PAGES;
		if (!budget->stalled)
			req_fault(qp, fault);
		return;
	}
	length = send->sgl.length;
	if (weft_qp_is_ud(qp))
		req_datagram(qp, budget->atomic, &answer);
	else
		req_connected(qp, budget->atomic, &answer);
	weft_sgl_release(&send->sgl);
	if (likely(answer.outcome == WEFT_OUTCOME_DONE))
		req_done(qp, length, budget);
	else
		req_not_done(qp, &answer, budget);
}

static void req_execute(struct weft_qp *qp, struct req_budget *budget)
{
	const struct weft_sqe *sqe = &qp->send.wqe.sqe;
	enum weft_fault fault = weft_sendq_check(qp);

	if (unlikely(fault)) {
		req_fault(qp, fault);
		return;
	}
	if (!weft_sendq_is_local(sqe->opcode)) {
		req_message(qp, budget);
		return;
	}
	if (budget->atomic && weft_sendq_may_sleep(sqe->opcode)) {
		budget->wqes = 0;
		return;
	}
	fault = weft_sendq_local(qp, sqe);
	if (fault)
		req_fault(qp, fault);
	else
		req_complete(qp, IB_WC_SUCCESS, WEFT_FAULT_NONE, 0);
}

static __always_inline bool req_next(struct weft_qp *qp)
{
	if (!weft_sendq_next(qp, 0))
		return false;
	qp->send.active = true;
	return true;
}

/* Is there something to be flushed? */
static noinline bool req_has_more(struct weft_qp *qp)
{
	return qp->send.active || req_next(qp);
}

static void req_forget_odp(struct weft_send *send)
{
	weft_odp_forget(&send->odp);
	weft_odp_forget(&send->placing);
	send->done = 0;
}

static void req_flush_inflight(struct weft_qp *qp)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	enum weft_fault fault = weft_rules_flushed(READ_ONCE(qp->fault));
	const struct weft_slot *slot;

	for (; !weft_inflight_is_empty(inflight); inflight->head++) {
		slot = weft_inflight_at(inflight, inflight->head);
		weft_stats_inc(qp, WEFT_STAT_FLUSHED_WRS);
		weft_sendq_complete(qp, &slot->sqe, slot->index,
				    weft_rules_status(fault), fault, 0);
	}
	weft_inflight_reset(qp);
}

static void req_flush_begun(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	send->waiting = false;
	send->unanswered = false;
	hrtimer_try_to_cancel(&send->timer);
	req_forget_odp(send);
	req_flush_inflight(qp);
}

/*
 * ERR, or SQE: what is in the queue completes in order, as flushed. Return: true: more has
 * been posted meanwhile.
 */
static bool req_flush(struct weft_qp *qp)
{
	/* an impossible index is found when the request in progress is done */
	int left = max(weft_ring_pending(qp->send.ring), 1);

	req_flush_begun(qp);
	for (; req_has_more(qp); left--) {
		if (!left)
			return true;
		req_flush_one(qp);
		cond_resched();
	}
	return false;
}

/* What is posted meanwhile need not be. */
void weft_requester_flush(struct weft_qp *qp)
{
	weft_assert_turn(&qp->send.turn);
	req_flush(qp);
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

/* The next step of the send queue. Return: false: nothing to do now. */
static bool req_step(struct weft_qp *qp, bool take, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;

	if (!qp->link->message)
		return weft_transmit_step(qp, take, &budget->bytes);
	if (!send->active && !(take && req_next(qp)))
		return false;
	req_execute(qp, budget);
	/* the usual end; who changes the state from here on posts an event after it */
	if (!send->active && weft_qp_state(qp) == IB_QPS_RTS && !weft_sendq_look(qp, 0))
		return false;
	return !budget->stalled;
}

/* The step of a QP whose rate is limited has taken @bytes. */
static void req_charge(struct weft_qp *qp, s64 bytes)
{
	struct weft_send *send = &qp->send;

	/* what a READ has brought was sent by the peer */
	if (bytes && !(qp->link->message && weft_sendq_is_response(send->wqe.sqe.opcode)))
		weft_pace_charge(&send->pace, ktime_get(), bytes);
}

/* Whether the next step would have to be made by a process. */
static bool req_may_sleep(const struct weft_qp *qp)
{
	/* the local link waits for the turn of each receiver; InfiniBand has packets, too */
	return (weft_qp_is_ud(qp) && !qp->dev->hca) || weft_transmit_may_sleep(qp);
}

/* Return: true when the rest is to be deferred. */
static bool req_work(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	bool take, more, paced;
	s64 before;

	for (;;) {
		switch (weft_qp_state(qp)) {
		case IB_QPS_RTS:
			take = true;
			break;
		case IB_QPS_SQD:
			take = false;
			if (weft_send_is_busy(send))
				break;
			req_drained(qp);
			return false;
		case IB_QPS_SQE:
		case IB_QPS_ERR:
			if (budget->atomic)
				return true;
			return req_flush(qp);
		default:
			return false;
		}
		if (send->waiting || weft_turn_stopping(&send->turn))
			return false;
		if (!budget->wqes || budget->bytes < 0 ||
		    (budget->atomic && req_may_sleep(qp)))
			return true;
		budget->wqes--;
		/* what drains a queue does not wait for its time */
		paced = unlikely(send->paced) && take;
		if (paced && weft_pace_holds(send))
			return false;
		before = budget->bytes;
		more = req_step(qp, take, budget);
		if (paced)
			req_charge(qp, before - budget->bytes);
		if (!more)
			return false;
		if (!budget->atomic)
			cond_resched();
	}
}

/*
 * What has come is not late: answers before the timer. Return: true when the rest is to be
 * deferred, and @events looked at then.
 */
static noinline bool req_answers(struct weft_qp *qp, const struct req_budget *budget,
				 unsigned long events)
{
	u32 most = budget->atomic ? WEFT_SOFTIRQ_WQES : WEFT_QUEUE_PACKETS;
	bool more = weft_completer_work(qp, most), timer = events & BIT(WEFT_EV_TIMER);

	if (more && timer)
		weft_turn_post(&qp->send.turn, WEFT_EV_TIMER);
	else if (timer)
		req_timeout(qp);
	return more;
}

/* Return: true when the rest is to be deferred. */
static bool req_turn(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	unsigned long events;

	budget->stalled = false;
	events = weft_turn_take(&send->turn);
	/* who defers a packet posts an event after it: none is overlooked */
	if (unlikely(events & BIT(WEFT_EV_TIMER) || !weft_backlog_is_empty(&send->packets)) &&
	    req_answers(qp, budget, events))
		return true;
	return req_work(qp, budget);
}

/*
 * On one host the answer to a packet is often there before the sender has looked up: an
 * event more is seen to here, for less than a work item costs.
 *
 * Return: true: the turn is still owned, and the rest is to be deferred.
 */
static bool req_run(struct weft_qp *qp, struct req_budget *budget)
{
	struct weft_send *send = &qp->send;
	bool defer;

	for (;;) {
		defer = req_turn(qp, budget);
		if (likely(defer || !weft_turn_has_events(&send->turn) || !budget->wqes))
			break;
		budget->wqes--;
		if (!budget->atomic)
			cond_resched();
	}
	if (!defer)
		weft_turn_release(&send->turn);
	return defer;
}

static bool req_run_atomic(struct weft_qp *qp)
{
	struct req_budget budget = {
		.wqes = WEFT_SOFTIRQ_WQES, .bytes = WEFT_SOFTIRQ_BYTES, .atomic = true,
	};

	return req_run(qp, &budget);
}

void weft_requester_run(struct weft_qp *qp)
{
	struct req_budget budget = {
		.wqes = WEFT_WORK_WQES, .bytes = WEFT_DOORBELL_BYTES,
	};

	if (req_run(qp, &budget))
		weft_turn_defer(&qp->send.turn);
	cond_resched();
}

/*
 * Somebody else has the turn. The caller has the QP, and not its device, which is freed
 * a grace period after the turns of its last QP have been stopped.
 */
static void req_leave_doorbell(struct weft_qp *qp)
{
	rcu_read_lock();
	if (!weft_turn_stopping(&qp->send.turn))
		weft_stats_inc(qp->dev, WEFT_STAT_DOORBELLS);
	rcu_read_unlock();
	weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
}

/*
 * A few packets. What they bring about on this host begins when the turn is free again, so
 * that no answer has to be put aside. Return: as of req_run().
 */
static noinline bool req_send_packets(struct weft_qp *qp)
{
	bool defer;

	local_bh_disable();
	defer = req_run_atomic(qp);
	local_bh_enable();
	return defer;
}

void weft_requester_doorbell(struct weft_qp *qp)
{
	struct req_budget budget = {
		.wqes = WEFT_DOORBELL_WQES, .bytes = WEFT_DOORBELL_BYTES,
	};

	if (unlikely(!weft_turn_try(&qp->send.turn))) {
		req_leave_doorbell(qp);
		return;
	}
	weft_stats_inc(qp->dev, WEFT_STAT_DOORBELLS);
	if (!qp->link->message && !req_send_packets(qp))
		return;
	if (unlikely(req_run(qp, &budget)))
		weft_turn_defer(&qp->send.turn);
}

void weft_requester_continue(struct weft_qp *qp)
{
	if (req_run_atomic(qp))
		weft_turn_defer(&qp->send.turn);
}

/* In a soft interrupt, or as if in one. */
static void req_posted(struct weft_qp *qp)
{
	if (weft_turn_try(&qp->send.turn))
		weft_requester_continue(qp);
	else
		weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
}

static void req_tasklet(struct tasklet_struct *tasklet)
{
	req_posted(container_of(tasklet, struct weft_qp, send.posted));
}

/*
 * With PREEMPT_RT, to disable bottom halves is to take a lock. The consumer may hold one that its
 * completion handler takes, which runs with bottom halves disabled: the order would be reversed.
 */
static bool req_may_disable_bh(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !in_softirq())
		return false;
	return !irqs_disabled();
}

void weft_requester_post(struct weft_qp *qp)
{
	if (!req_may_disable_bh()) {
		tasklet_schedule(&qp->send.posted);
		return;
	}
	/* completion handlers then run when all is done */
	local_bh_disable();
	req_posted(qp);
	local_bh_enable();
}

static u32 req_opcodes(const struct weft_qp *qp)
{
	u32 opcodes = 0;
	u8 opcode;

	for (opcode = 0; opcode < WEFT_SQE_OPCODES; opcode++)
		if (weft_sendq_allows(qp, opcode))
			opcodes |= BIT(opcode);
	return opcodes;
}

void weft_requester_init(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	send->opcodes = req_opcodes(qp);
	hrtimer_setup(&send->timer, req_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	tasklet_setup(&send->posted, req_tasklet);
	weft_pace_init(send);
	weft_backlog_init(&send->packets);
	send->tx.turn = &send->turn;
	weft_requester_reset(qp);
}

void weft_requester_reset(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	tasklet_kill(&send->posted);
	hrtimer_cancel(&send->timer);
	weft_pace_set(send, 0, 0, qp->mtu);
	weft_backlog_purge(&send->packets);
	qp->dev->wire->forget(&send->tx);
	req_forget_odp(send);
	weft_inflight_reset(qp);
	send->inflight.ssn = 0;
	send->inflight.limited = false;
	send->active = false;
	send->waiting = false;
	send->unanswered = false;
	send->drained = false;
	send->doorbell_armed = true;
	weft_requester_reset_retries(send);
	weft_ring_set_flags(send->ring, WEFT_RING_NEED_DOORBELL, 0);
}
WEFT_EXPORT_FOR_TEST(weft_requester_reset);

void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring)
{
	struct weft_send *send = &qp->send;

	send->ring = ring;
	/* of the request in progress, if it has any */
	send->wqe.inline_data = weft_sq_inline(ring, send->wqe.index);
	weft_inflight_follow(qp);
}
