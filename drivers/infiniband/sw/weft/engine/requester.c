// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/requester.h"

#include "engine/cc.h"
#include "engine/completer.h"
#include "engine/early.h"
#include "engine/inflight.h"
#include "engine/inject.h"
#include "engine/late.h"
#include "engine/link.h"
#include "engine/odp.h"
#include "engine/pace.h"
#include "engine/path.h"
#include "engine/pipeline.h"
#include "engine/retry.h"
#include "engine/strict.h"
#include "engine/transmit.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"
#include "trace.h"

/*
 * Count the work requests in the ring that have not been taken. If there is none, arm the doorbell
 * (unless it is armed), and look again: weft-abi.h proves that no work request is overlooked.
 * req_take() relies on the count, and does not read shared memory again. Negative: the
 * client's index is impossible.
 */
static __always_inline int req_look(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	int ahead = send->inflight.tail - send->inflight.head;
	int pending = weft_ring_pending(send->ring);

	weft_assert_turn(&send->turn);
	if (!send->doorbell_armed && pending >= 0 && pending <= ahead) {
		weft_ring_arm_doorbell(send->ring);
		send->doorbell_armed = true;
		pending = weft_ring_pending(send->ring);
	}
	return pending < 0 ? pending : max(pending - ahead, 0);
}

static __always_inline enum weft_fault req_check(const struct weft_send *send,
						 const struct weft_sqe *sqe,
						 const struct weft_opdef *op, int malformed)
{
	if (unlikely(malformed || (sqe->flags & WEFT_SQE_INLINE && !weft_opdef_may_inline(op))))
		return WEFT_FAULT_MALFORMED;
	if (unlikely(!(BIT(sqe->opcode) & send->opcodes)))
		return WEFT_FAULT_OPCODE;
	if (unlikely(weft_opdef_responds(op) && !send->max_rd_atomic))
		return WEFT_FAULT_NO_CREDIT;
	return WEFT_FAULT_NONE;
}

/*
 * Copy the next work request into a slot. Its @fault is set if the request cannot be executed:
 * because of its form, its operation, or a max_rd_atomic of 0. Returns NULL if there is no work
 * request, or no free slot.
 */
static __always_inline struct weft_slot *req_take(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;
	const struct weft_opdef *op;
	struct weft_slot *slot;
	int more, malformed;

	if (inflight->tail - inflight->head > inflight->mask)
		return NULL;
	more = req_look(qp);
	if (!more)
		return NULL;
	if (unlikely(more < 0)) {
		weft_qp_fatal(qp, WEFT_FAULT_QUEUE_INDEX);
		return NULL;
	}
	if (more > 1)
		weft_inflight_disarm(qp);
	if (weft_latency_is_on())
		weft_latency_found(qp, more);
	slot = weft_inflight_at(inflight, inflight->tail);
	malformed = weft_sq_next(send->ring, inflight->tail - inflight->head, &slot->wqe);
	op = weft_opdef(slot->wqe.sqe.opcode);
	slot->op = op;
	slot->first_psn = send->psn;
	slot->ssn = inflight->ssn;
	slot->psns = 0;
	slot->done = 0;
	slot->executed = false;
	slot->status = 0;
	slot->late = false;
	slot->fault = req_check(send, &slot->wqe.sqe, op, malformed);
	trace_weft_wr_begin(qp, slot);
	inflight->tail++;
	return slot;
}

/*
 * In ERR or SQE: complete all work requests in order, as flushed. Return: true: clients have posted
 * more meanwhile.
 */
static bool req_flush(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;
	/* if the index is impossible, flush the slots; req_take() then finds the index */
	int left = max3(weft_ring_pending(send->ring), (int)(inflight->tail - inflight->head), 1);

	weft_retry_stop(&send->retry);
	/* what has failed, or drains, does not wait for a rule */
	weft_late_deliver(qp, KTIME_MAX);
	weft_odp_forget(&send->odp);
	weft_odp_forget(&send->placing);
	weft_early_purge(&send->early, qp->dev);
	for (;; left--) {
		if (weft_inflight_is_empty(inflight) && !req_take(qp))
			break;
		if (!left)
			return true;
		weft_inflight_flush(qp);
		cond_resched();
	}
	weft_inflight_reset(qp);
	return false;
}

/*
 * Complete all work requests that are posted now as flushed. The send turn is stopped. Context:
 * process, may sleep.
 */
void weft_requester_flush(struct weft_qp *qp)
{
	weft_assert_turn(&qp->send.turn);
	req_flush(qp);
}

/*
 * The QP is in SQD, and nothing is in progress: raise SQ_DRAINED once, after the last completion.
 */
static void req_drained(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	if (send->drained)
		return;
	send->drained = true;
	send->stopped = false;
	if (send->sqd_notify)
		weft_qp_event(qp, IB_EVENT_SQ_DRAINED);
}

/*
 * A fence waits for outstanding responses (IBA 10.8.3.3), and that of LOCAL_INV for all requests
 * before it, which may have to be sent again from that memory (10.6.5.1).
 */
static bool req_fence_waits(const struct weft_inflight *inflight, const struct weft_slot *slot)
{
	return slot->wqe.sqe.flags & WEFT_SQE_FENCE && !slot->executed &&
	       (inflight->reads || (slot->wqe.sqe.opcode == WEFT_SQE_LOCAL_INV &&
				    inflight->cur != inflight->head));
}

/* Execute a local operation (LOCAL_INV, BIND_MW, REG_MR or MKEY). */
static noinline enum weft_verdict req_local(struct weft_qp *qp, struct weft_slot *slot,
					    const struct weft_budget *budget)
{
	/* I/O of a kernel consumer, for which reclaim would wait, may need this work item */
	gfp_t gfp = (budget->atomic ? GFP_ATOMIC : GFP_NOIO) | __GFP_NOWARN |
		    (qp->kernel ? 0 : __GFP_ACCOUNT);
	struct weft_inflight *inflight = &qp->send.inflight;
	int err;

	if (req_fence_waits(inflight, slot))
		return WEFT_LATER;
	if (budget->atomic && slot->op->flags & WEFT_OPF_SLEEPS)
		return WEFT_STOPPED;
	err = slot->executed ? 0 : slot->op->local(&qp->send.who, &slot->wqe, gfp);
	if (err == -ENOMEM && budget->atomic)
		return WEFT_STOPPED;
	if (err)
		slot->fault = WEFT_FAULT_BIND;
	slot->executed = true;
	if (!slot->fault)
		inflight->cur++;
	weft_inflight_retire(qp);
	return WEFT_DONE;
}

/* SQD, SQE and ERR. Return: WEFT_DONE: go on with what has been begun. */
static noinline enum weft_verdict req_not_rts(struct weft_qp *qp, enum ib_qp_state state,
					      const struct weft_budget *budget)
{
	switch (state) {
	case IB_QPS_SQD:
		if (!weft_inflight_is_empty(&qp->send.inflight))
			return WEFT_DONE;
		if (!weft_late_is_empty(&qp->send))
			return WEFT_LATER;
		req_drained(qp);
		return WEFT_LATER;
	case IB_QPS_SQE:
	case IB_QPS_ERR:
		/* flushing sleeps */
		return budget->atomic || req_flush(qp) ? WEFT_STOPPED : WEFT_LATER;
	default:
		return WEFT_LATER;
	}
}

/* The step of a requester whose rate is limited has sent something, perhaps. */
static noinline void req_charge(struct weft_qp *qp, bool rts, struct weft_budget *budget)
{
	/* a run counts what it sends without a limit, too, and forgets that at its end */
	if (rts && budget->sent && !qp->send.pace.begins) {
		weft_pace_charge(&qp->send.pace, ktime_get(), budget->sent);
		weft_cc_advance(qp, budget->sent);
	}
	qp->send.pace.begins = false;
	budget->sent = 0;
}

/* Must the requester wait, because its rate is limited? */
static noinline bool req_is_held(struct weft_qp *qp)
{
	weft_cc_advance(qp, 0);
	return weft_pace_holds(&qp->send);
}

/*
 * One step: take a work request if none is being executed, and execute it, or send a batch of its
 * packets.
 */
static __always_inline enum weft_verdict req_step(struct weft_qp *qp, struct weft_budget *budget)
{
	struct weft_send *send = &qp->send;
	struct weft_inflight *inflight = &send->inflight;
	enum ib_qp_state state = weft_qp_state(qp);
	bool rts = likely(state == IB_QPS_RTS);
	bool take = inflight->cur == inflight->tail, held = false;
	enum weft_verdict verdict;
	struct weft_slot *slot;

	if (!rts) {
		verdict = req_not_rts(qp, state, budget);
		if (verdict != WEFT_DONE)
			return verdict;
	}
	if (send->retry.rnr_wait || weft_turn_stopping(&send->turn))
		return WEFT_LATER;
	if (!budget->wqes || budget->bytes < 0)
		return WEFT_STOPPED;
	budget->wqes--;
	/* the pace does not delay a queue that drains */
	if (unlikely(send->paced) && rts && req_is_held(qp))
		return WEFT_LATER;
	if (take) {
		slot = rts ? req_take(qp) : NULL;
		if (weft_strict_is_on() && slot)
			held = weft_strict_request(qp, slot);
		if (weft_inject_is_on() && slot)
			held |= weft_inject_request(qp, slot);
		if (held)
			return WEFT_LATER;
	} else {
		slot = weft_inflight_at(inflight, inflight->cur);
	}
	if (!slot)
		return WEFT_LATER;
	if (unlikely(slot->fault)) {
		/* it fails when the requests before it are complete */
		verdict = inflight->cur == inflight->head ? WEFT_DONE : WEFT_LATER;
		weft_inflight_retire(qp);
		return verdict;
	}
	if (unlikely(send->pipelines && slot->wqe.sqe.flags & WEFT_SQE_FENCE)) {
		verdict = weft_pipeline_fence(qp, slot);
		if (verdict != WEFT_DONE)
			return verdict == WEFT_DROP ? WEFT_DONE : WEFT_LATER;
	}
	if (unlikely(slot->op->flags & WEFT_OPF_LOCAL))
		verdict = req_local(qp, slot, budget);
	else
		verdict = qp->link->execute(qp, slot, budget);
	if (unlikely(send->pipelines))
		weft_pipeline_watch(qp, slot);
	if (unlikely(send->paced))
		req_charge(qp, rts, budget);
	/*
	 * The usual end. This step has taken the only work request, and if the doorbell is armed,
	 * a client that has posted more since then rings, which posts an event. Otherwise looking
	 * at the empty ring arms the doorbell. If the state changes after this check, an event is
	 * posted afterwards.
	 */
	if (verdict == WEFT_DONE && inflight->cur == inflight->tail &&
	    weft_qp_state(qp) == IB_QPS_RTS &&
	    (likely(take && send->doorbell_armed) || !req_look(qp)))
		return WEFT_LATER;
	return verdict;
}

/*
 * Process responses before the expired timer: a response that is here is not late. Return: true:
 * more responses are left, and then the timer is posted again to be looked at after them.
 */
static noinline bool req_responses(struct weft_qp *qp, const struct weft_budget *budget,
				   unsigned long events)
{
	u32 most = budget->atomic ? WEFT_SOFTIRQ_WQES : WEFT_QUEUE_PACKETS;
	bool more = weft_completer_work(qp, most), timer = events & BIT(WEFT_EV_TIMER);

	if (events & BIT(WEFT_EV_LATE))
		weft_late_deliver(qp, ktime_get());
	if (more && timer) {
		weft_turn_post(&qp->send.turn, WEFT_EV_TIMER);
	} else if (timer) {
		weft_completer_overdue(qp);
		weft_retry_timeout(qp);
	}
	return more;
}

/*
 * Run until there is nothing to do now, or the budget is used up. If the peer is on this host, its
 * response often arrives before this loop ends: handling its event here is cheaper than a work
 * item.
 *
 * Return: true: the turn is still owned, and the caller defers the rest.
 */
static bool req_run(struct weft_qp *qp, struct weft_budget *budget)
{
	struct weft_send *send = &qp->send;
	enum weft_verdict verdict;
	unsigned long events;

	for (;;) {
		events = weft_turn_take(&send->turn);
		/*
		 * a packet that is deferred after this look posts an event, so it is not overlooked
		 */
		if (unlikely(events & WEFT_TURN_TIMERS ||
			     !weft_backlog_is_empty(&send->packets)) &&
		    req_responses(qp, budget, events))
			return true;
		while ((verdict = req_step(qp, budget)) == WEFT_DONE)
			if (!budget->atomic)
				cond_resched();
		if (unlikely(budget->held && budget->held->packets))
			weft_transmit_release(qp, budget);
		if (verdict == WEFT_STOPPED)
			return true;
		if (likely(!weft_turn_has_events(&send->turn) || !budget->wqes))
			break;
		budget->wqes--;
		if (!budget->atomic)
			cond_resched();
	}
	weft_turn_release(&send->turn);
	return false;
}

static bool req_run_atomic(struct weft_qp *qp)
{
	struct weft_held held __uninitialized;
	struct weft_budget budget = {
		.wqes = WEFT_SOFTIRQ_WQES, .bytes = WEFT_SOFTIRQ_BYTES, .atomic = true,
		.held = &held,
	};

	held.packets = 0;
	return req_run(qp, &budget);
}

/* Run the requester in the work item of the send turn, which is owned, and given back. */
void weft_requester_run(struct weft_qp *qp)
{
	struct weft_budget budget = { .wqes = WEFT_WORK_WQES, .bytes = WEFT_DOORBELL_BYTES };

	if (req_run(qp, &budget))
		weft_turn_defer(&qp->send.turn);
	cond_resched();
}

/*
 * Another context owns the turn. The caller has a reference to the QP but not to its device, which
 * is freed a grace period after the turns of its last QP have been stopped.
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
 * Send some packets with bottom halves off. A peer on this host receives and answers them when
 * bottom halves are enabled again: then the turn is free, so its responses need not wait in the
 * backlog.
 *
 * Return: as req_run().
 */
static noinline bool req_send_packets(struct weft_qp *qp)
{
	bool defer;

	local_bh_disable();
	defer = req_run_atomic(qp);
	local_bh_enable();
	return defer;
}

/*
 * Something was posted to the send queue: execute it now, within a budget. Context: process, may
 * sleep.
 */
void weft_requester_doorbell(struct weft_qp *qp)
{
	struct weft_budget budget = {
		.wqes = WEFT_DOORBELL_WQES, .bytes = WEFT_DOORBELL_BYTES,
		.no_preempt = !IS_ENABLED(CONFIG_PREEMPT_RT),
	};

	if (unlikely(!weft_turn_try(&qp->send.turn))) {
		req_leave_doorbell(qp);
		return;
	}
	weft_stats_inc(qp->dev, WEFT_STAT_DOORBELLS);
	if (qp->link->xmit && !req_send_packets(qp))
		return;
	if (unlikely(req_run(qp, &budget)))
		weft_turn_defer(&qp->send.turn);
}

/* Run the requester in a soft interrupt. The send turn is owned, and given back. */
void weft_requester_continue(struct weft_qp *qp)
{
	if (req_run_atomic(qp))
		weft_turn_defer(&qp->send.turn);
}

/* Run the requester after a kernel consumer's post, with bottom halves off. */
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
 * With PREEMPT_RT, disabling bottom halves takes a lock. The consumer may hold a lock that its
 * completion handler takes; the handler runs with bottom halves off, so the order would be
 * reversed.
 */
static bool req_may_disable_bh(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && !in_softirq())
		return false;
	return !irqs_disabled();
}

/*
 * A kernel consumer has posted something: execute it now, within a small budget, but leave
 * operations that may sleep to a work item. Context: any. If interrupts are disabled, a tasklet
 * executes it; with PREEMPT_RT also if bottom halves are enabled.
 */
void weft_requester_post(struct weft_qp *qp)
{
	if (!req_may_disable_bh()) {
		tasklet_schedule(&qp->send.posted);
		return;
	}
	/* completion handlers (tasklets) run when bottom halves are enabled */
	local_bh_disable();
	req_posted(qp);
	local_bh_enable();
}

static u32 req_opcodes(const struct weft_qp *qp)
{
	u32 opcodes = 0;
	u8 opcode;

	for (opcode = 0; opcode < WEFT_SQE_OPCODES; opcode++)
		if (weft_opdef_allowed(qp->type, qp->kernel, qp->create_flags, opcode))
			opcodes |= BIT(opcode);
	return opcodes;
}

void weft_requester_init(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	send->opcodes = req_opcodes(qp);
	tasklet_setup(&send->posted, req_tasklet);
	weft_retry_init(&send->retry);
	weft_pace_init(send);
	weft_backlog_init(&send->packets);
	weft_early_init(&send->early, &send->turn);
	send->tx.turn = &send->turn;
	weft_requester_reset(qp);
}

/*
 * Forget all that is in progress. Both turns are stopped, and the send queue has not been reset
 * yet. Context: process, may sleep.
 */
void weft_requester_reset(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;

	tasklet_kill(&send->posted);
	weft_retry_reset(&send->retry);
	weft_path_forget(qp);
	weft_pace_set(send, 0, 0, qp->mtu);
	weft_backlog_purge(&send->packets);
	weft_early_reset(&send->early, qp->dev);
	weft_odp_forget(&send->odp);
	weft_odp_forget(&send->placing);
	weft_late_end(qp);
	weft_inflight_reset(qp);
	send->inflight.ssn = 0;
	send->inflight.taking = 0;
	send->inflight.limited = false;
	send->drained = false;
	send->unsound = false;
	send->stopped = false;
	send->doorbell_armed = true;
	weft_ring_set_flags(send->ring, WEFT_RING_NEED_DOORBELL, 0);
}
WEFT_EXPORT_FOR_TEST(weft_requester_reset);

/* The send queue has moved to another ring. The send turn is stopped. */
void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring)
{
	qp->send.ring = ring;
	weft_inflight_follow(qp);
}
