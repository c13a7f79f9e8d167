/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Limits of the rate at which QPs send.
 *
 * What is sent takes its time: that moves a point in time ahead. When it is too
 * far ahead, nothing is begun until it has come. To wait for a little would cost
 * more than it is worth, so what goes is a burst at a time.
 */
#ifndef WEFT_ENGINE_PACE_H
#define WEFT_ENGINE_PACE_H

#include <linux/math64.h>

#include "object/send.h"

/**
 * weft_pace_ns - how long it takes
 * @bytes: at most 2^32
 * @rate: kbit/s, not 0
 *
 * Return: ns.
 */
static inline u64 weft_pace_ns(u64 bytes, u32 rate)
{
	return div_u64(bytes * BITS_PER_BYTE * NSEC_PER_MSEC, rate);
}

/**
 * weft_pace_is_ahead - has too much been sent?
 * @pace: with a rate
 * @now: time
 *
 * Return: true when it has.
 */
static inline bool weft_pace_is_ahead(const struct weft_pace *pace, ktime_t now)
{
	return pace->due > ktime_add_ns(now, pace->burst);
}

/**
 * weft_pace_charge - something has been sent
 * @pace: with a rate
 * @now: time
 * @bytes: of payload
 */
static inline void weft_pace_charge(struct weft_pace *pace, ktime_t now, u64 bytes)
{
	pace->due = ktime_add_ns(max(pace->due, now), weft_pace_ns(bytes, pace->rate));
}

/**
 * weft_pace_init - at creation of a QP
 * @send: its send half
 */
void weft_pace_init(struct weft_send *send);

/**
 * weft_pace_set - set a limit, or take it away
 * @send: turn stopped
 * @rate: kbit/s; 0: no limit
 * @burst: bytes that may go at a time; 0: what goes in a millisecond
 * @mtu: path MTU, bytes
 *
 * Context: process, may sleep.
 */
void weft_pace_set(struct weft_send *send, u32 rate, u32 burst, u32 mtu);

/**
 * weft_pace_holds - may nothing be sent now?
 * @send: with a limit, turn owned
 *
 * Return: true: an event will come when something may.
 */
bool weft_pace_holds(struct weft_send *send);

/**
 * weft_pace_is_holding - does something wait for its time?
 * @send: turn owned
 *
 * Return: true when it does.
 */
static inline bool weft_pace_is_holding(struct weft_send *send)
{
	return send->paced && hrtimer_is_queued(&send->pace.timer);
}

#endif /* WEFT_ENGINE_PACE_H */
