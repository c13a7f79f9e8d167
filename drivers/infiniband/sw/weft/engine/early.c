// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets that have overtaken others.
 *
 * A packet that arrives ahead of the expected one waits here until the gap before it is closed. A
 * gap is old, and its packet taken for lost, when WEFT_EARLY_GAP_PACKETS others have come since it
 * opened, or after WEFT_EARLY_GAP_US without progress. No packet is looked at before its gap is
 * closed: each is processed as if it arrived then, so all rules hold as without reordering.
 */
#include "engine/early.h"

#include "engine/pkt.h"
#include "object/dev.h"
#include "object/turn.h"
#include "params.h"
#include "wire/psn.h"

#define EARLY_GAP_NS	(WEFT_EARLY_GAP_US * NSEC_PER_USEC)
/* Packets that come before the next look for gaps that many have overtaken. */
#define EARLY_LOOK	8

/*
 * The timer is not restarted when a gap moves: when it expires too early, the owner of the turn
 * starts it again.
 */
static enum hrtimer_restart early_expired(struct hrtimer *timer)
{
	struct weft_early *early = container_of(timer, struct weft_early, timer);

	if (skb_queue_empty_lockless(&early->packets))
		return HRTIMER_NORESTART;
	if (!ktime_before(ktime_get(), READ_ONCE(early->due)))
		WRITE_ONCE(early->old, true);
	weft_turn_post(early->turn, WEFT_EV_TIMER);
	return HRTIMER_NORESTART;
}

void weft_early_init(struct weft_early *early, struct weft_turn *turn)
{
	early->turn = turn;
	__skb_queue_head_init(&early->packets);
	hrtimer_setup(&early->timer, early_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/*
 * The packet that an early one follows; the head of the queue: none. NULL: it is here already. An
 * acknowledge that has the PSN of a response is behind it.
 */
static struct sk_buff *early_before(struct weft_early *early, const struct weft_pkt *pkt)
{
	struct sk_buff *skb;
	s32 ahead;

	skb_queue_reverse_walk(&early->packets, skb) {
		ahead = weft_psn_diff(pkt->hdr.psn, weft_pkt_kept_psn(skb)) ?:
			weft_pkt_kept_is_ack(pkt->skb) - weft_pkt_kept_is_ack(skb);
		if (ahead > 0)
			return skb;
		if (!ahead)
			return NULL;
	}
	return (struct sk_buff *)&early->packets;
}

/* As with backlogs, none gets more than a part of what is left. */
static bool early_has_room(struct weft_early *early, struct weft_dev *dev, u32 bytes)
{
	s32 left = WEFT_EARLY_DEV_BYTES - atomic_read(&dev->early_bytes);

	return skb_queue_len(&early->packets) < WEFT_EARLY_PACKETS &&
	       (s32)(early->bytes + bytes) <= min_t(s32, WEFT_EARLY_BYTES, left / WEFT_QUEUE_PART);
}

/*
 * Keep a packet, which then belongs to @early; a second one with its PSN is freed. False: there is
 * no room.
 */
bool weft_early_keep(struct weft_early *early, struct weft_dev *dev, struct weft_pkt *pkt)
{
	struct sk_buff *before = early_before(early, pkt);
	u32 bytes = pkt->skb->truesize;

	if (!before) {
		weft_pkt_free(pkt);
		return true;
	}
	if (!early_has_room(early, dev, bytes))
		return false;
	pkt->counted = true;
	weft_pkt_keep(pkt);
	early->bytes += bytes;
	early->later++;
	atomic_add(bytes, &dev->early_bytes);
	__skb_queue_after(&early->packets, before, pkt->skb);
	return true;
}

/* Is no packet kept that is behind the one with @psn? */
bool weft_early_is_newest(const struct weft_early *early, u32 psn)
{
	struct sk_buff *skb = skb_peek_tail(&early->packets);

	return !skb || weft_psn_diff(psn, weft_pkt_kept_psn(skb)) >= 0;
}

/* Is there a packet that need not wait, because @psn is expected? */
bool weft_early_is_ready(const struct weft_early *early, u32 psn)
{
	struct sk_buff *skb = skb_peek(&early->packets);

	return skb && weft_psn_diff(weft_pkt_kept_psn(skb), psn) <= 0;
}

/* Take the first packet, of which there is one, and decode it as weft_pkt_next() does. */
void weft_early_take(struct weft_early *early, struct weft_dev *dev, struct weft_pkt *pkt)
{
	struct sk_buff *skb = __skb_dequeue(&early->packets);

	early->bytes -= skb->truesize;
	atomic_sub(skb->truesize, &dev->early_bytes);
	weft_pkt_again(skb, pkt);
}

/* Gaps are old WEFT_EARLY_GAP_US from now. */
static void early_set_due(struct weft_early *early)
{
	WRITE_ONCE(early->old, false);
	WRITE_ONCE(early->due, ktime_add_ns(ktime_get(), EARLY_GAP_NS));
}

static void early_start_timer(struct weft_early *early)
{
	if (!hrtimer_is_queued(&early->timer))
		hrtimer_start(&early->timer, early->due, HRTIMER_MODE_ABS_SOFT);
}

/*
 * There are packets, and the one with @psn is missing. Has it been for so long, or have so many
 * later ones come, that it is lost? If not yet, an event will come when it is. After
 * weft_early_map(): the same for packets that are missing before those that have come since.
 */
bool weft_early_is_old(struct weft_early *early, u32 psn)
{
	if (early->gap == psn && !early->later)
		return false;
	if (early->gap != psn || !early->due) {
		early->gap = psn;
		early->later = 1;
		early_set_due(early);
	}
	if (READ_ONCE(early->old) || early->later >= WEFT_EARLY_GAP_PACKETS)
		return true;
	early_start_timer(early);
	return false;
}

/* The PSN of the first packet that is no acknowledge; @none: there is no such packet. */
u32 weft_early_response(const struct weft_early *early, u32 none)
{
	struct sk_buff *skb;

	skb_queue_walk(&early->packets, skb)
		if (!weft_pkt_kept_is_ack(skb))
			return weft_pkt_kept_psn(skb);
	return none;
}

/*
 * There are packets, and one or more are missing, the first of which has @psn. Return: the PSN
 * before which all that are missing are lost; @psn: none is yet. A gap is old when
 * WEFT_EARLY_GAP_PACKETS are kept behind it, or one to two WEFT_EARLY_GAP_US after the first of
 * these has come. If a gap is not old yet, the timer runs.
 */
u32 weft_early_lost(struct weft_early *early, u32 psn)
{
	struct sk_buff *skb = skb_peek_tail(&early->packets);
	u32 last = weft_pkt_kept_psn(skb), lost = psn, left = WEFT_EARLY_GAP_PACKETS;
	bool marked = weft_psn_in_window(early->mark, psn, ((last - psn) & WEFT_PSN_MASK) + 1);
	bool old = READ_ONCE(early->old);

	if (marked && old)
		lost = early->mark;
	if (!marked || (old && early->mark != last)) {
		early->mark = last;
		old = false;
		early_set_due(early);
	}
	if (!old)
		early_start_timer(early);
	if (skb_queue_len(&early->packets) < left || early->later < EARLY_LOOK)
		return lost;
	early->later = 0;
	while (--left)
		skb = skb_queue_prev(&early->packets, skb);
	return weft_psn_before(lost, weft_pkt_kept_psn(skb)) ? weft_pkt_kept_psn(skb) : lost;
}

/* Lost responses cannot be asked for now: an event will come for another try. */
void weft_early_later(struct weft_early *early)
{
	early_set_due(early);
	early_start_timer(early);
}

/*
 * Tell which packets are kept, of those from @psn on, which is missing. All that are missing before
 * the last of these are lost if @all, or if the gap is old because of the time; otherwise those
 * that WEFT_EARLY_GAP_PACKETS others may have overtaken. weft_early_is_old() then is true when
 * later packets make it so. There are packets.
 */
void weft_early_map(struct weft_early *early, u32 psn, bool all, struct weft_map *map)
{
	struct sk_buff *skb;
	u32 i = 0;

	bitmap_zero(map->kept, WEFT_MAP_PACKETS);
	skb_queue_walk(&early->packets, skb) {
		i = (weft_pkt_kept_psn(skb) - psn) & WEFT_PSN_MASK;
		if (i >= WEFT_MAP_PACKETS)
			break;
		__set_bit(i, map->kept);
	}
	if (all || READ_ONCE(early->old))
		map->lost = i;
	else
		map->lost = max_t(s32, i - WEFT_EARLY_GAP_PACKETS + 1, 1);
	early->gap = psn;
	early->later = 0;
	early->due = 0;
}

void weft_early_purge(struct weft_early *early, struct weft_dev *dev)
{
	atomic_sub(early->bytes, &dev->early_bytes);
	early->bytes = 0;
	early->due = 0;
	__skb_queue_purge(&early->packets);
}
WEFT_EXPORT_FOR_TEST(weft_early_purge);

/* Forget all packets, and stop the timer. The turn is stopped. Context: process, may sleep. */
void weft_early_reset(struct weft_early *early, struct weft_dev *dev)
{
	hrtimer_cancel(&early->timer);
	weft_early_purge(early, dev);
}
