/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits of the rate at which QPs send. */
#ifndef WEFT_ENGINE_PACE_H
#define WEFT_ENGINE_PACE_H

#include <linux/math64.h>

#include "object/send.h"

/* ns that @bytes (at most 2^32) take at @rate, which is in kbit/s and not 0. */
static inline u64 weft_pace_ns(u64 bytes, u32 rate)
{
	return div_u64(bytes * BITS_PER_BYTE * NSEC_PER_MSEC, rate);
}

/* Has more than a burst been sent ahead of the rate? */
static inline bool weft_pace_is_ahead(const struct weft_pace *pace, ktime_t now)
{
	return pace->due > ktime_add_ns(now, pace->burst);
}

/* @bytes of payload have been sent. There may be no limit, only a delay. */
static inline void weft_pace_charge(struct weft_pace *pace, ktime_t now, u64 bytes)
{
	if (pace->rate)
		pace->due = ktime_add_ns(max(pace->due, now), weft_pace_ns(bytes, pace->rate));
}

void weft_pace_init(struct weft_send *send);
void weft_pace_set(struct weft_send *send, u32 rate, u32 burst, u32 mtu);
void weft_pace_limit(struct weft_send *send, u32 rate, u32 mtu);
bool weft_pace_holds(struct weft_send *send);
void weft_pace_delay(struct weft_send *send, u64 ns);

/* Does the requester wait for weft_pace.due? The send turn is owned. */
static inline bool weft_pace_is_holding(struct weft_send *send)
{
	return send->paced && hrtimer_is_queued(&send->pace.timer);
}

#endif /* WEFT_ENGINE_PACE_H */
