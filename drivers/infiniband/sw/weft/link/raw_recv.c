// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames wait in the backlog of the receive turn while another context owns the turn, or memory of
 * on-demand paging is missing. engine/responder.c does all else for the turn: create, reset.
 */
#include "link/raw_recv.h"

#include <linux/skbuff.h>

#include "engine/message.h"
#include "engine/odp.h"
#include "link/raw_shape.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"

/* Kept in a frame that waits. */
struct raw_cb {
	struct weft_frame_in	frame;
};

static struct raw_cb *raw_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct raw_cb) > sizeof(skb->cb));
	return (struct raw_cb *)skb->cb;
}

/* The turn is owned. @skb is linear. WEFT_LATER: the frame has to wait. */
static enum weft_verdict raw_take(struct weft_qp *qp, const struct sk_buff *skb,
				  struct weft_frame_in frame)
{
	struct weft_raw_shape shape __uninitialized;
	enum weft_verdict verdict;
	struct weft_iter src;

	weft_raw_shape(&shape, skb->data, skb->len, READ_ONCE(qp->create_flags));
	src = (struct weft_iter){ .span = shape.part, .left = shape.num };
	frame.length = shape.length;
	frame.cvlan = shape.cvlan;
	verdict = weft_message_frame(qp, &frame, &src).verdict;
	if (verdict == WEFT_DROP)
		weft_stats_inc(qp, WEFT_STAT_RX_NOT_READY);
	else if (verdict != WEFT_LATER)
		weft_stats_inc(qp, WEFT_STAT_RX_PACKETS);
	return verdict;
}

/*
 * Receive what waits, up to a budget. Only the owner of the turn, which is the caller, takes frames
 * out. Return: true: the caller defers the rest.
 */
static bool raw_work(struct weft_qp *qp)
{
	struct weft_backlog *backlog = &qp->recv.packets;
	struct sk_buff *skb;
	u32 left;

	for (left = WEFT_QUEUE_PACKETS; left; left--) {
		if (weft_turn_stopping(&qp->recv.turn))
			return false;
		skb = skb_peek(&backlog->queue);
		if (!skb || raw_take(qp, skb, raw_cb(skb)->frame) == WEFT_LATER)
			return false;
		consume_skb(weft_backlog_take(backlog));
		cond_resched();
	}
	return !weft_backlog_is_empty(backlog);
}

/* The receive turn is owned, and given back. Context: a work item. */
void weft_raw_recv_run(struct weft_qp *qp)
{
	bool defer;

	weft_turn_take(&qp->recv.turn);
	weft_odp_wake(&qp->recv);
	defer = raw_work(qp);
	if (weft_qp_state(qp) == IB_QPS_ERR)
		weft_message_flush(qp);
	if (defer)
		weft_turn_defer(&qp->recv.turn);
	else
		weft_turn_release(&qp->recv.turn);
	cond_resched();
}

/* A full backlog drops the frame, as a network adapter does. */
static void raw_defer(struct weft_qp *qp, struct sk_buff *frame, const struct weft_frame_in *in)
{
	struct sk_buff *skb = skb_clone(frame, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb) {
		weft_stats_inc(qp->dev, WEFT_STAT_RX_NO_MEMORY);
		return;
	}
	raw_cb(skb)->frame = *in;
	if (!weft_backlog_add(&qp->recv.packets, skb)) {
		weft_stats_inc(qp->dev, WEFT_STAT_RX_QUEUE_FULL);
		kfree_skb(skb);
	}
	weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
}

/*
 * A frame has arrived. It is linear, and stays the caller's. Context: bottom halves are off, under
 * RCU; the device exists, and the caller has a reference to @qp.
 */
void weft_raw_recv(struct weft_qp *qp, struct sk_buff *frame, u32 tag, bool ip_csum_ok)
{
	const struct weft_frame_in in = { .tag = tag, .ip_csum_ok = ip_csum_ok };

	if (!weft_turn_try(&qp->recv.turn)) {
		raw_defer(qp, frame, &in);
		return;
	}
	if (!weft_backlog_is_empty(&qp->recv.packets) ||
	    raw_take(qp, frame, in) == WEFT_LATER)
		raw_defer(qp, frame, &in);
	weft_turn_release(&qp->recv.turn);
}
