// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A rule of injection can let the completion of a request come late, although the request is
 * executed at once. The completions behind it wait with it, as those of a send queue come in order.
 *
 * From the first such request of a QP on, until the QP is reset, weft_send.cq is NULL, which leads
 * all of its completions here; other QPs pay nothing. All functions need the send turn, owned or
 * stopped.
 */
#include "engine/late.h"

#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "object/cq.h"
#include "object/qp.h"
#include "params.h"

/* A completion that waits. */
struct late_cqe {
	struct list_head	node;
	ktime_t			due;
	struct weft_cqe		cqe;
};

/* The completions of a QP that wait, in their order, which is also that of their times. */
struct weft_late {
	struct weft_send	*send;
	struct hrtimer		timer;		/* posts WEFT_EV_LATE when the first is due */
	u64			ns;		/* how late; of the rule that has fired last */
	struct list_head	cqes;
	u32			num;
};

static enum hrtimer_restart late_expired(struct hrtimer *timer)
{
	struct weft_late *late = container_of(timer, struct weft_late, timer);

	weft_turn_post(&late->send->turn, WEFT_EV_LATE);
	return HRTIMER_NORESTART;
}

/* Let the completion of the request of @slot come @ns late; without memory it does not. */
void weft_late_begin(struct weft_qp *qp, struct weft_slot *slot, u64 ns)
{
	struct weft_late *late = qp->send.late;

	weft_assert_turn(&qp->send.turn);
	/* its SRQ has tags, so what it sends completes receives */
	if (!qp->send_cq)
		return;
	if (!late) {
		late = kzalloc(sizeof(*late), GFP_ATOMIC | __GFP_NOWARN);
		if (!late)
			return;
		late->send = &qp->send;
		INIT_LIST_HEAD(&late->cqes);
		hrtimer_setup(&late->timer, late_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		qp->send.late = late;
		qp->send.cq = NULL;
	}
	late->ns = ns;
	slot->late = true;
}

static void late_push_now(struct weft_qp *qp, struct weft_cqe *cqe)
{
	unsigned long flags = weft_cq_begin(qp->send_cq);

	if (!weft_cq_push(qp->send_cq, cqe, cqe->status, flags))
		weft_qp_lost(qp, qp->send_cq, WEFT_FAULT_CQ_OVERRUN);
}

/* Deliver the completions that are due at @until; KTIME_MAX: all. */
void weft_late_deliver(struct weft_qp *qp, ktime_t until)
{
	struct weft_late *late = qp->send.late;
	struct late_cqe *entry;

	weft_assert_turn(&qp->send.turn);
	/* the event may be of before a reset */
	if (!late)
		return;
	while ((entry = list_first_entry_or_null(&late->cqes, struct late_cqe, node))) {
		if (entry->due > until) {
			hrtimer_start(&late->timer, entry->due, HRTIMER_MODE_ABS_SOFT);
			return;
		}
		late_push_now(qp, &entry->cqe);
		list_del(&entry->node);
		late->num--;
		kfree(entry);
	}
}

/*
 * A request is complete. @late: a rule has fired for it. Others come behind those that wait. None
 * waits any longer when there are too many, or when one has failed.
 */
void weft_late_push(struct weft_qp *qp, struct weft_cqe *cqe, bool late)
{
	struct weft_late *queue = qp->send.late;
	struct late_cqe *entry = NULL;

	weft_assert_turn(&qp->send.turn);
	if ((late || queue->num) && !cqe->status)
		entry = kmalloc(sizeof(*entry), GFP_ATOMIC | __GFP_NOWARN |
				(qp->kernel ? 0 : __GFP_ACCOUNT));
	if (!entry || queue->num == WEFT_LATE_CQES) {
		kfree(entry);
		weft_late_deliver(qp, KTIME_MAX);
		late_push_now(qp, cqe);
		return;
	}
	entry->cqe = *cqe;
	entry->due = late ? ktime_add_ns(ktime_get(), queue->ns) : 0;
	if (queue->num)
		entry->due = max(entry->due,
				 list_last_entry(&queue->cqes, struct late_cqe, node)->due);
	else
		hrtimer_start(&queue->timer, entry->due, HRTIMER_MODE_ABS_SOFT);
	list_add_tail(&entry->node, &queue->cqes);
	queue->num++;
}

/* The QP is reset: nothing waits any longer, and its next requests are as those of others. */
void weft_late_end(struct weft_qp *qp)
{
	struct weft_late *late = qp->send.late;

	if (late) {
		hrtimer_cancel(&late->timer);
		weft_late_deliver(qp, KTIME_MAX);
		kfree(late);
	}
	qp->send.late = NULL;
	qp->send.cq = qp->send_cq;
}

/* Does no completion wait? */
bool weft_late_is_empty(const struct weft_send *send)
{
	return !send->late || !send->late->num;
}
