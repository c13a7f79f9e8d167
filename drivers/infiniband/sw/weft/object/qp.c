// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A queue pair: identity, attributes, requester (send) and responder (recv). The
 * scatter/gather arrays of both follow struct weft_qp in the same allocation; their size is
 * that of the QP's largest work requests.
 *
 * The core's struct ib_qp, which the core frees as soon as destroy_qp returns, is only a
 * handle to struct weft_qp. A peer may look a QP up by its number at any time, so struct
 * weft_qp has a reference count and is freed after a grace period. A reference keeps the
 * memory of the QP and nothing else. Before the requester or responder uses anything else it
 * checks the QP's state with its turn owned: destroy_qp stops both turns and sets RESET before
 * it releases what the QP uses.
 */
#include "object/qp.h"

#include <linux/pid.h>
#include <linux/slab.h>

#include "object/cq.h"
#include "object/dev.h"
#include "object/rss.h"
#include "object/tag.h"
#include "object/srq.h"
#include "trace.h"

/* Slow path of weft_qp_put(). */
void weft_qp_free(struct weft_qp *qp)
{
	/* a lookup before destroy_qp may have queued a packet after it */
	weft_backlog_purge(&qp->send.packets);
	weft_backlog_purge(&qp->recv.packets);
	weft_rss_free(qp->rss);
	kfree(qp->dc);
	kfree(qp->recv.tagged);
	kfree(qp->cntrs);
	put_pid(qp->maker.pid);
	kfree(qp->send.latency);
	kfree_rcu(qp, rcu);
}

/*
 * Move a QP from RTR, RTS, SQD or SQE to ERR, with either turn owned, and make requester and
 * responder flush.
 *
 * Return: whether this call has changed the state.
 */
bool weft_qp_set_error(struct weft_qp *qp)
{
	u32 state = READ_ONCE(qp->state), old;
	bool changed = false;

	/* the owner of the other turn may set ERR or SQE at the same time */
	while (state >= IB_QPS_RTR && state <= IB_QPS_SQE) {
		old = cmpxchg(&qp->state, state, IB_QPS_ERR);
		changed = old == state;
		if (changed)
			break;
		state = old;
	}
	if (changed) {
		trace_weft_qp_state(qp->qpn, state, IB_QPS_ERR);
		weft_why_state(qp, state, IB_QPS_ERR);
		weft_dev_stats_inc(qp->dev, WEFT_DEV_STAT_QP_ERRORS);
	}
	weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
	weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
	return changed;
}

/* Move a UC or UD QP from RTS or SQD to SQE, with the send turn owned. */
void weft_qp_set_sqe(struct weft_qp *qp)
{
	trace_weft_qp_state(qp->qpn, READ_ONCE(qp->state), IB_QPS_SQE);
	weft_why_state(qp, READ_ONCE(qp->state), IB_QPS_SQE);
	/* modify_qp waits for the send turn, so RTS or SQD can only change to ERR meanwhile */
	if (cmpxchg(&qp->state, IB_QPS_RTS, IB_QPS_SQE) == IB_QPS_SQD)
		cmpxchg(&qp->state, IB_QPS_SQD, IB_QPS_SQE);
}

/* Move an RC QP from RTS to SQD, with the send turn owned. Return: false: it is in ERR by now. */
bool weft_qp_set_sqd(struct weft_qp *qp)
{
	if (cmpxchg(&qp->state, IB_QPS_RTS, IB_QPS_SQD) != IB_QPS_RTS)
		return false;
	trace_weft_qp_state(qp->qpn, IB_QPS_RTS, IB_QPS_SQD);
	weft_why_state(qp, IB_QPS_RTS, IB_QPS_SQD);
	return true;
}

static void qp_tell(struct weft_events *events, enum ib_event_type type)
{
	struct weft_qp *qp = container_of(events, struct weft_qp, events);
	struct ib_event event = {
		.device = qp->ibqp->device,
		.element.qp = qp->ibqp,
		.event = type,
	};

	if (qp->ibqp->event_handler)
		qp->ibqp->event_handler(&event, qp->ibqp->qp_context);
}

/* Undone by weft_events_end(). */
void weft_qp_events_init(struct weft_qp *qp)
{
	weft_events_init(&qp->events, qp->kernel, qp_tell);
}

/*
 * Raise an affiliated asynchronous event, from any context. Either turn is owned and the state
 * is RTR or later.
 */
void weft_qp_event(struct weft_qp *qp, enum ib_event_type type)
{
	weft_why_event(qp, type);
	weft_events_raise(&qp->events, type);
}

/*
 * Those of the QP, its send CQ or its SRQ, or of the WQ that it is, whichever the event is about;
 * NULL: there is none.
 */
static struct weft_events *qp_events_of(struct weft_qp *qp, enum ib_event_type type)
{
	switch (type) {
	case IB_EVENT_CQ_ERR:
		return qp->send_cq ? &qp->send_cq->events : NULL;
	case IB_EVENT_WQ_FATAL:
		return qp->wq ? &qp->events : NULL;
	case IB_EVENT_SRQ_ERR:
	case IB_EVENT_SRQ_LIMIT_REACHED:
		/* an XRC target has one only while it executes a request */
		return qp->recv.srq && !qp->xrcd ? &qp->recv.srq->events : NULL;
	default:
		return &qp->events;
	}
}

/*
 * Raise an event of the QP, of its send CQ or of its SRQ, for a caller who owns no turn but has a
 * reference. -EINVAL: the QP is in RESET or INIT; -ENOENT: it has no such queue. Takes the
 * modify_lock and stops the send turn, so it may sleep.
 */
int weft_qp_event_now(struct weft_qp *qp, enum ib_event_type type)
{
	struct weft_events *events;
	int ret = -EINVAL;

	mutex_lock(&qp->modify_lock);
	/* as in weft_qp_fatal_now() */
	if (weft_qp_state(qp) >= IB_QPS_RTR) {
		weft_turn_stop(&qp->send.turn);
		events = qp_events_of(qp, type);
		if (events)
			/* a WQ translates it */
			weft_events_raise(events, type == IB_EVENT_WQ_FATAL ? IB_EVENT_QP_FATAL :
									      type);
		weft_turn_resume(&qp->send.turn);
		ret = events ? 0 : -ENOENT;
	}
	mutex_unlock(&qp->modify_lock);
	return ret;
}

/* Raise QP_FATAL and move to ERR, unless in ERR already; @fault: enum weft_fault. Either turn. */
void weft_qp_fatal(struct weft_qp *qp, u32 fault)
{
	struct weft_why_entry entry = {
		.record = { .kind = WEFT_WHY_QP, .fault = fault },
	};

	if (weft_qp_state(qp) == IB_QPS_ERR)
		return;
	/* the owner of the other turn may do the same: the first fault counts */
	cmpxchg(&qp->fault, 0, fault);
	if (!weft_qp_set_error(qp))
		return;
	weft_why_failure(qp, &entry);
	weft_qp_event(qp, IB_EVENT_QP_FATAL);
}

/*
 * weft_qp_fatal(), because a completion of the QP was lost: weft_cq_push() has found @cq in
 * error. All other QPs of @cq follow soon.
 */
void weft_qp_lost(struct weft_qp *qp, struct weft_cq *cq, u32 fault)
{
	weft_qp_fatal(qp, fault);
	weft_cq_fail(cq, fault);
}

/*
 * weft_qp_fatal() for a caller who owns no turn but has a reference. Leaves a QP in RESET, INIT
 * or ERR as it is. Takes the modify_lock and stops the send turn, so it may sleep.
 */
void weft_qp_fatal_now(struct weft_qp *qp, u32 fault)
{
	mutex_lock(&qp->modify_lock);
	/* after destroy_qp the state is RESET; qp->ibqp and qp->dev are invalid */
	if (weft_qp_can_receive(qp)) {
		weft_turn_stop(&qp->send.turn);
		weft_qp_fatal(qp, fault);
		weft_turn_resume(&qp->send.turn);
	}
	mutex_unlock(&qp->modify_lock);
}
