/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that a requester or responder keeps because they have overtaken others. engine/early.h
 * fills and empties it.
 */
#ifndef WEFT_OBJECT_EARLY_H
#define WEFT_OBJECT_EARLY_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>

struct weft_turn;

/* The owner of @turn writes it; the timer reads @due and whether there are packets. */
struct weft_early {
	struct weft_turn	*turn;		/* gets WEFT_EV_TIMER when the gap is old */
	struct sk_buff_head	packets;	/* in the order of PSNs; its lock is not used */
	u32			bytes;		/* of memory in use */
	u32			gap;		/* the PSN that is missing */
	u32			later;		/* packets that have come while it is */
	ktime_t			due;		/* when the gap is old */
	bool			old;		/* it is; the timer sets it */
	/* weft_early_lost(): @due and @old are those of all gaps before this PSN */
	u32			mark;
	struct hrtimer		timer;		/* runs while there is a gap, perhaps longer */
};

static inline bool weft_early_is_empty(const struct weft_early *early)
{
	return skb_queue_empty(&early->packets);
}

#endif /* WEFT_OBJECT_EARLY_H */
