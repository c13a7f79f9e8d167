// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One end of a cable between two hosts. The underlay may lose, duplicate or reorder frames.
 * Packets nevertheless arrive complete, once and in order, by automatic repeat request (ARQ). Only
 * packets on VL 15 may get lost, as IBA allows.
 *
 * This code uses neither net devices nor clocks. Its caller passes in the frames and the time, in
 * ns of a monotonic clock. The caller reads the clock before the lock is taken, so the times of
 * two calls need not be in the order of the calls.
 *
 * Go-back-N: the receiver accepts frames only in order. Each frame that it sends acknowledges what
 * has come. If it has no frame to send, it sends an ACK after some frames or a short time. When a
 * frame has been lost, it reports that once (GAP), and the sender goes back to that frame. If the
 * report is lost, too, the ack timeout of the sender expires.
 *
 * Frames and packets leave through a FIFO. They are queued with the lock held. A CPU that finds no
 * other CPU at work on the FIFO hands them on without the lock. That keeps the order, and no net
 * device or switch is called with the lock held, so they may call back. A CPU hands on
 * WEFT_ARQ_BUDGET entries at most, as other CPUs may fill the FIFO as fast as it is emptied, and
 * leaves the rest to a work item.
 */
#include "fabric/arq.h"

#include <linux/time64.h>

#include "fabric/trace.h"

#define ARQ_US(us)	((u64)(us) * NSEC_PER_USEC)

static_assert((WEFT_ARQ_WINDOW & (WEFT_ARQ_WINDOW - 1)) == 0);

/* Initialize zeroed memory; copies @param. */
void weft_arq_init(struct weft_arq *arq, const struct weft_arq_param *param)
{
	struct weft_arq_sender *sender = &arq->sender;

	spin_lock_init(&arq->lock);
	arq->param = *param;
	sender->una = WEFT_FRAME_FIRST_SEQ;
	sender->next = WEFT_FRAME_FIRST_SEQ;
	sender->tail = WEFT_FRAME_FIRST_SEQ;
	sender->back_seq = WEFT_FRAME_FIRST_SEQ - 1;
	sender->window = WEFT_ARQ_WINDOW;
	__skb_queue_head_init(&sender->wait);
	arq->receiver.expected = WEFT_FRAME_FIRST_SEQ;
	arq->receiver.gap_seq = WEFT_FRAME_FIRST_SEQ - 1;
	__skb_queue_head_init(&arq->out.queue);
	__skb_queue_head_init(&arq->in.queue);
}
WEFT_EXPORT_FOR_TEST(weft_arq_init);

/* Use another weft_arq_param.max_frame for packets that have no frames yet. */
void weft_arq_resize(struct weft_arq *arq, u32 max_frame)
{
	WRITE_ONCE(arq->param.max_frame, max_frame);
}

static void arq_drain(struct weft_arq *arq, struct weft_arq_fifo *fifo,
		      void (*hand_on)(struct weft_arq *arq, struct sk_buff *skb))
{
	u32 budget = WEFT_ARQ_BUDGET;
	struct sk_buff *skb;

	spin_lock_bh(&arq->lock);
	if (!fifo->busy) {
		fifo->busy = true;
		while (budget-- && (skb = __skb_dequeue(&fifo->queue))) {
			spin_unlock_bh(&arq->lock);
			hand_on(arq, skb);
			spin_lock_bh(&arq->lock);
		}
		fifo->busy = false;
		if (!skb_queue_empty(&fifo->queue) && !arq->stopped)
			arq->param.ops->more(arq);
	}
	spin_unlock_bh(&arq->lock);
}

/* Hand on what the FIFOs hold, within a budget. Bottom halves are off, RCU read side. */
void weft_arq_drain(struct weft_arq *arq)
{
	arq_drain(arq, &arq->out, arq->param.ops->send);
	arq_drain(arq, &arq->in, arq->param.ops->deliver);
}
WEFT_EXPORT_FOR_TEST(weft_arq_drain);

static bool arq_fifo_is_full(const struct weft_arq_fifo *fifo)
{
	return skb_queue_len(&fifo->queue) >= WEFT_ARQ_FIFO;
}

/* @now was read before the lock was taken, so it may be earlier than @then. */
static u64 arq_since(u64 then, u64 now)
{
	return (s64)(now - then) > 0 ? now - then : 0;
}

static struct weft_arq_slot *arq_slot(struct weft_arq *arq, u32 seq)
{
	return &arq->sender.slot[seq % WEFT_ARQ_WINDOW];
}

/*
 * The two halves share a timer. It is harmless if it expires early, so a running timer is never
 * postponed.
 */
static void arq_arm(struct weft_arq *arq)
{
	u64 when = min_not_zero(arq->receiver.ack_at, arq->sender.retry_at);

	if (!when || (arq->armed && arq->armed <= when))
		return;
	arq->armed = when;
	arq->param.ops->arm(arq, when);
}

/* Queue a frame. Returns false without room or memory, which counts as a loss on the wire. */
static bool arq_put(struct weft_arq *arq, struct weft_frame *frame,
		    const struct sk_buff *packet, u32 offset)
{
	struct sk_buff *skb = NULL;

	lockdep_assert_held(&arq->lock);
	frame->nonce = arq->param.nonce;
	frame->heard = arq->param.heard;
	frame->ack = arq->receiver.expected;
	if (!arq_fifo_is_full(&arq->out))
		skb = weft_frame_build(frame, packet, offset, &arq->param.room);
	if (!skb)
		return false;
	__skb_queue_tail(&arq->out.queue, skb);
	arq->receiver.owed = 0;
	arq->receiver.ack_at = 0;
	return true;
}

static void arq_put_ack(struct weft_arq *arq, u8 flags)
{
	struct weft_frame frame = { .type = WEFT_FRAME_ACK, .flags = flags };

	arq_put(arq, &frame, NULL, 0);
}

/*
 * The ack timeout: twice the round trip time, because that varies, and the time for which the
 * receiver may delay an ACK. Doubled each time it expires.
 */
static u64 arq_retry_time(const struct weft_arq *arq)
{
	u64 time = 2 * arq->sender.rtt + ARQ_US(WEFT_ARQ_RETRY_US);

	return min(time << arq->sender.backoff, ARQ_US(WEFT_ARQ_MAX_RETRY_US));
}

static void arq_put_slot(struct weft_arq *arq, u32 seq, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;
	struct weft_arq_slot *slot = arq_slot(arq, seq);
	struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .flags = slot->flags, .length = slot->length,
		.hops = weft_hop(slot->packet)->hops + 1, .seq = seq,
	};

	trace_weft_cable_send(arq->param.nonce, seq, sender->backoff);
	slot->resent = slot->sent;
	slot->sent = now;
	if (!sender->retry_at) {
		sender->progress_at = now;
		sender->retry_at = now + arq_retry_time(arq);
	}
	arq_put(arq, &frame, slot->packet, slot->offset);
}

static struct weft_arq_load *arq_load(struct weft_arq_sender *sender,
				      const struct sk_buff *packet)
{
	return packet->destructor ? &sender->owned : &sender->loose;
}

static void arq_enqueue(struct weft_arq_sender *sender, struct sk_buff *packet)
{
	struct weft_arq_load *load = arq_load(sender, packet);

	__skb_queue_tail(&sender->wait, packet);
	load->packets++;
	load->bytes += packet->len;
}

static void arq_dequeue(struct weft_arq_sender *sender, struct sk_buff *packet)
{
	struct weft_arq_load *load = arq_load(sender, packet);

	__skb_unlink(packet, &sender->wait);
	load->packets--;
	load->bytes -= packet->len;
}

/* Make the next part of the first waiting packet a frame, with a slot. */
static bool arq_cut(struct weft_arq *arq)
{
	struct weft_arq_sender *sender = &arq->sender;
	struct sk_buff *packet = skb_peek(&sender->wait);
	u32 room = READ_ONCE(arq->param.max_frame) - sizeof(struct weft_wire_frame);
	struct weft_arq_slot *slot = arq_slot(arq, sender->tail);
	struct weft_lrh lrh;

	if (!packet || WARN_ON_ONCE(!weft_frame_lrh(&lrh, packet)))
		return false;
	*slot = (struct weft_arq_slot) {
		.packet = packet, .offset = sender->cut,
		.length = min(room, lrh.length - sender->cut),
		.flags = sender->cut ? 0 : WEFT_FRAME_FIRST,
	};
	sender->tail++;
	sender->cut += slot->length;
	if (sender->cut == lrh.length) {
		slot->flags |= WEFT_FRAME_LAST;
		arq_dequeue(sender, packet);
		sender->cut = 0;
	}
	return true;
}

/* Send as many frames as the window allows. */
static void arq_pump(struct weft_arq *arq, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;

	while (sender->next - sender->una < sender->window) {
		if (sender->next == sender->tail && !arq_cut(arq))
			break;
		arq_put_slot(arq, sender->next++, now);
	}
	arq_arm(arq);
}

static void arq_go_back(struct weft_arq *arq, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;

	trace_weft_cable_retry(arq->param.nonce, sender->una, sender->window);
	sender->next = sender->una;
	sender->retry_at = now + arq_retry_time(arq);
	arq->param.ops->count(arq, WEFT_IBC_LINK_RECOVERIES);
}

/*
 * After a repetition it is not known which transmission was acknowledged, so only frames that were
 * sent once are measured.
 */
static void arq_measure(struct weft_arq *arq, const struct weft_arq_slot *slot, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;
	u64 time = min(arq_since(slot->sent, now), ARQ_US(WEFT_ARQ_MAX_RETRY_US));

	if (slot->resent)
		return;
	sender->rtt = sender->rtt ? sender->rtt - sender->rtt / 8 + time / 8 : time;
	sender->backoff = 0;
}

/* Frames before @ack have arrived. Packets of which all frames have arrived are moved to @done. */
static void arq_acknowledge(struct weft_arq *arq, u32 ack, u64 now, struct sk_buff_head *done)
{
	struct weft_arq_sender *sender = &arq->sender;
	const struct weft_arq_slot *slot;

	if ((s32)(ack - sender->tail) > 0) {
		arq->param.ops->count(arq, WEFT_IBC_SYMBOL_ERRORS);
		return;
	}
	if ((s32)(ack - sender->una) <= 0)
		return;
	trace_weft_cable_ack(arq->param.nonce, ack, sender->next - ack);
	arq_measure(arq, arq_slot(arq, ack - 1), now);
	sender->window = min(sender->window + (ack - sender->una), WEFT_ARQ_WINDOW);
	for (; sender->una != ack; sender->una++) {
		slot = arq_slot(arq, sender->una);
		if (slot->flags & WEFT_FRAME_LAST)
			__skb_queue_tail(done, slot->packet);
	}
	if ((s32)(sender->next - ack) < 0)
		sender->next = ack;
	sender->progress_at = now;
	sender->retry_at = ack == sender->tail ? 0 : now + arq_retry_time(arq);
}

/*
 * The other end misses a frame. Another report of the same frame within WEFT_ARQ_GAP_US is ignored,
 * because the frame has already been repeated.
 */
static void arq_missing(struct weft_arq *arq, u32 seq, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;

	if (seq != sender->una || sender->next == seq ||
	    (sender->back_seq == seq &&
	     arq_since(sender->back_at, now) < ARQ_US(WEFT_ARQ_GAP_US)))
		return;
	sender->back_seq = seq;
	sender->back_at = now;
	sender->window = max(sender->window / 2, WEFT_ARQ_MIN_WINDOW);
	arq_go_back(arq, now);
}

static void arq_owe_ack(struct weft_arq *arq, u64 now)
{
	struct weft_arq_receiver *receiver = &arq->receiver;

	if (!receiver->ack_at)
		receiver->ack_at = now + ARQ_US(WEFT_ARQ_ACK_US);
	if (++receiver->owed >= WEFT_ARQ_ACK_FRAMES)
		arq_put_ack(arq, 0);
}

/* Report a gap, but not for each of the later frames that are already under way. */
static void arq_tell_gap(struct weft_arq *arq, u32 seq, u64 now)
{
	struct weft_arq_receiver *receiver = &arq->receiver;

	if (receiver->gap_seq == receiver->expected &&
	    arq_since(receiver->gap_at, now) < ARQ_US(WEFT_ARQ_GAP_US))
		return;
	trace_weft_cable_gap(arq->param.nonce, receiver->expected, seq);
	receiver->gap_seq = receiver->expected;
	receiver->gap_at = now;
	arq_put_ack(arq, WEFT_FRAME_GAP);
}

/* @frame was the last frame of @packet. */
static void arq_hand_in(struct weft_arq *arq, const struct weft_frame *frame,
			struct sk_buff *packet)
{
	weft_hop(packet)->hops = frame->hops;
	__skb_queue_tail(&arq->in.queue, packet);
}

static void arq_accept(struct weft_arq *arq, const struct weft_frame *frame,
		       struct sk_buff *skb, u64 now)
{
	struct sk_buff *packet;
	int ret;

	/* the frame is not acknowledged, which slows the sender down */
	if (arq_fifo_is_full(&arq->in)) {
		kfree_skb(skb);
		return;
	}
	ret = weft_reasm_add(&arq->receiver.reasm, skb, frame->flags, &packet);
	if (ret == -ENOMEM)
		return;
	if (ret)
		arq->param.ops->count(arq, WEFT_IBC_SYMBOL_ERRORS);
	if (packet)
		arq_hand_in(arq, frame, packet);
	arq->receiver.expected++;
	arq_owe_ack(arq, now);
}

static void arq_accept_vl15(struct weft_arq *arq, const struct weft_frame *frame,
			    struct sk_buff *skb)
{
	struct weft_reasm whole = {};
	struct sk_buff *packet;
	int ret = -ENOMEM;

	if (arq_fifo_is_full(&arq->in))
		kfree_skb(skb);
	else
		ret = weft_reasm_add(&whole, skb, frame->flags, &packet);
	if (!ret)
		arq_hand_in(arq, frame, packet);
	else
		arq->param.ops->count(arq, ret == -ENOMEM ? WEFT_IBC_VL15_DROPPED :
							    WEFT_IBC_SYMBOL_ERRORS);
}

static void arq_data(struct weft_arq *arq, const struct weft_frame *frame,
		     struct sk_buff *skb, u64 now)
{
	s32 ahead = frame->seq - arq->receiver.expected;

	if (frame->flags & WEFT_FRAME_VL15) {
		arq_accept_vl15(arq, frame, skb);
		return;
	}
	if (!ahead) {
		arq_accept(arq, frame, skb, now);
		return;
	}
	if (ahead < 0)
		arq_owe_ack(arq, now); /* our acknowledgment may have been lost */
	else if (ahead < WEFT_ARQ_WINDOW)
		arq_tell_gap(arq, frame->seq, now);
	else
		arq->param.ops->count(arq, WEFT_IBC_SYMBOL_ERRORS);
	kfree_skb(skb);
}

static void arq_consume(struct sk_buff_head *done)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(done)))
		consume_skb(skb);
}

/*
 * A DATA or ACK frame with the nonces of the cable has come. @skb is its body without padding; it
 * is not shared, and belongs to the callee. Soft interrupt, RCU read side.
 */
void weft_arq_receive(struct weft_arq *arq, const struct weft_frame *frame,
		      struct sk_buff *skb, u64 now)
{
	struct sk_buff_head done;

	__skb_queue_head_init(&done);
	spin_lock_bh(&arq->lock);
	if (arq->stopped) {
		__skb_queue_tail(&done, skb);
		goto out_unlock;
	}
	arq_acknowledge(arq, frame->ack, now, &done);
	if (frame->flags & WEFT_FRAME_GAP && frame->type == WEFT_FRAME_ACK)
		arq_missing(arq, frame->ack, now);
	if (frame->type == WEFT_FRAME_DATA)
		arq_data(arq, frame, skb, now);
	else
		__skb_queue_tail(&done, skb);
	arq_pump(arq, now);
out_unlock:
	spin_unlock_bh(&arq->lock);
	/* without the lock: their destructors may have their senders send more */
	arq_consume(&done);
	weft_arq_drain(arq);
}
WEFT_EXPORT_FOR_TEST(weft_arq_receive);

static bool arq_retry(struct weft_arq *arq, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;

	if (arq_since(sender->progress_at, now) >= ARQ_US(WEFT_ARQ_GIVE_UP_US)) {
		arq->stopped = true;
		trace_weft_cable_give_up(arq->param.nonce, sender->una, sender->next - sender->una);
		arq->param.ops->give_up(arq);
		return false;
	}
	/* only limits the shift: WEFT_ARQ_MAX_RETRY_US bounds the timeout */
	sender->backoff = min(sender->backoff + 1, 8U);
	sender->window = WEFT_ARQ_MIN_WINDOW;
	arq_go_back(arq, now);
	return true;
}

/* The time that weft_arq_ops.arm asked for has come. Soft interrupt, RCU read side. */
void weft_arq_timeout(struct weft_arq *arq, u64 now)
{
	spin_lock_bh(&arq->lock);
	arq->armed = 0;
	if (arq->stopped)
		goto out_unlock;
	if (arq->sender.retry_at && now >= arq->sender.retry_at && !arq_retry(arq, now))
		goto out_unlock;
	arq_pump(arq, now);
	/* unless a frame of arq_pump() has acknowledged them */
	if (arq->receiver.ack_at && now >= arq->receiver.ack_at) {
		arq->receiver.ack_at = now + ARQ_US(WEFT_ARQ_ACK_US);
		arq_put_ack(arq, 0);
	}
	arq_arm(arq);
out_unlock:
	spin_unlock_bh(&arq->lock);
	arq_drain(arq, &arq->out, arq->param.ops->send);
}
WEFT_EXPORT_FOR_TEST(weft_arq_timeout);

/*
 * A copy for a multicast group, made by a switch of this host or another one. No sender waits for
 * it.
 */
static bool arq_is_copy(const struct sk_buff *skb, const struct weft_lrh *lrh)
{
	return lrh->dlid >= WEFT_LID_MCAST && !skb->destructor;
}

/*
 * A packet with a destructor belongs to a sender that limits what it has under way, and dropping it
 * would cost a retry, so there is room for the packets of many such senders. Other packets have
 * limits of their own, so that neither kind takes room from the other.
 */
static bool arq_has_room(struct weft_arq_sender *sender, const struct sk_buff *skb,
			 const struct weft_lrh *lrh)
{
	const struct weft_arq_load *load = arq_load(sender, skb);
	u32 part = arq_is_copy(skb, lrh) ? WEFT_ARQ_COPY_PART : 1;
	struct weft_arq_load most = { WEFT_ARQ_WAIT_PACKETS / part, WEFT_ARQ_WAIT_BYTES / part };

	if (skb->destructor)
		most = (struct weft_arq_load){ WEFT_ARQ_OWNED_PACKETS, WEFT_ARQ_OWNED_BYTES };
	return load->packets < most.packets && load->bytes + skb->len <= most.bytes;
}

static void arq_wait(struct weft_arq *arq, struct sk_buff *skb, u64 now)
{
	struct weft_arq_sender *sender = &arq->sender;

	arq_enqueue(sender, skb);
	arq_pump(arq, now);
	if (!skb_queue_empty(&sender->wait))
		arq->param.ops->count(arq, WEFT_IBC_XMIT_WAIT);
}

/* Returns false if the packet is lost. The caller frees the packet in any case. */
static bool arq_put_vl15(struct weft_arq *arq, struct sk_buff *skb, u32 length)
{
	struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .length = length,
		.flags = WEFT_FRAME_FIRST | WEFT_FRAME_LAST | WEFT_FRAME_VL15,
		.hops = weft_hop(skb)->hops + 1,
	};

	if (length > READ_ONCE(arq->param.max_frame) - sizeof(struct weft_wire_frame))
		return false;
	return arq_put(arq, &frame, skb, 0);
}

/* Returns false if the packet was sent or dropped, and the caller has to free it. */
static bool arq_xmit(struct weft_arq *arq, struct sk_buff *skb, u64 now)
{
	struct weft_lrh lrh;

	if (arq->stopped || !weft_frame_lrh(&lrh, skb) || lrh.length > skb->len) {
		arq->param.ops->count(arq, WEFT_IBC_XMIT_DISCARDS);
		return false;
	}
	if (lrh.vl == 15) {
		if (!arq_put_vl15(arq, skb, lrh.length))
			arq->param.ops->count(arq, WEFT_IBC_XMIT_DISCARDS);
		return false;
	}
	if (!arq_has_room(&arq->sender, skb, &lrh)) {
		arq->param.ops->count(arq, WEFT_IBC_XMIT_DISCARDS);
		return false;
	}
	arq_wait(arq, skb, now);
	return true;
}

/*
 * Send a packet, which belongs to the callee. It is not changed, and freed when all of it has
 * been acknowledged. At the other end its weft_hop.hops is one more. Bottom halves are off.
 */
void weft_arq_xmit(struct weft_arq *arq, struct sk_buff *skb, u64 now)
{
	bool queued;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return;
	spin_lock_bh(&arq->lock);
	queued = arq_xmit(arq, skb, now);
	spin_unlock_bh(&arq->lock);
	if (!queued)
		kfree_skb(skb);
	arq_drain(arq, &arq->out, arq->param.ops->send);
}
WEFT_EXPORT_FOR_TEST(weft_arq_xmit);

/*
 * Stop for good, because the cable is pulled out. When it returns, weft_arq_ops.arm and
 * weft_arq_ops.more are not called any more. Any context but hard interrupts.
 */
void weft_arq_stop(struct weft_arq *arq)
{
	spin_lock_bh(&arq->lock);
	arq->stopped = true;
	spin_unlock_bh(&arq->lock);
}
WEFT_EXPORT_FOR_TEST(weft_arq_stop);

/* Free everything, after a grace period. The timer and the work item must have ended. */
void weft_arq_destroy(struct weft_arq *arq)
{
	struct weft_arq_sender *sender = &arq->sender;
	const struct weft_arq_slot *slot;

	for (; sender->una != sender->tail; sender->una++) {
		slot = arq_slot(arq, sender->una);
		if (slot->flags & WEFT_FRAME_LAST)
			kfree_skb(slot->packet);
	}
	__skb_queue_purge(&sender->wait);
	weft_reasm_reset(&arq->receiver.reasm);
	__skb_queue_purge(&arq->out.queue);
	__skb_queue_purge(&arq->in.queue);
}
WEFT_EXPORT_FOR_TEST(weft_arq_destroy);
