// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Limits of the rate at which QPs send.
 *
 * Each transmission moves a point in time (weft_pace.due) ahead by as long as it takes at that
 * rate. If that point is too far ahead, the requester begins nothing until it has come. Waiting for
 * short times would cost more than it is worth, so a burst is sent at a time.
 */
#include "engine/pace.h"

#include <linux/minmax.h>

#include "params.h"

/* Not the timer of struct weft_retry: WEFT_EV_TIMER counts as a timeout. */
static enum hrtimer_restart pace_expired(struct hrtimer *timer)
{
	struct weft_send *send = container_of(timer, struct weft_send, pace.timer);

	weft_turn_post(&send->turn, WEFT_EV_RUN);
	return HRTIMER_NORESTART;
}

void weft_pace_init(struct weft_send *send)
{
	hrtimer_setup(&send->pace.timer, pace_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

static void pace_apply(struct weft_send *send, u32 rate, u32 mtu)
{
	struct weft_pace *pace = &send->pace;
	u32 burst = rate == pace->set && pace->set_burst ? pace->set_burst : rate / BITS_PER_BYTE;

	pace->rate = rate;
	send->batch_packets = WEFT_TX_BATCH_PACKETS;
	if (!rate)
		return;
	pace->burst = weft_pace_ns(burst, rate);
	send->batch_packets = clamp_t(u32, burst / mtu, 1, WEFT_TX_BATCH_PACKETS);
}

/*
 * Limit the rate to @rate kbit/s; 0: remove the limit. @burst: bytes that may be sent at a time; 0:
 * the bytes of a millisecond. The send turn is stopped; may sleep.
 */
void weft_pace_set(struct weft_send *send, u32 rate, u32 burst, u32 mtu)
{
	struct weft_pace *pace = &send->pace;

	hrtimer_cancel(&pace->timer);
	pace->set = rate;
	pace->set_burst = burst;
	pace->due = 0;
	pace_apply(send, min_not_zero(rate, send->cc.rate), mtu);
	send->paced = pace->rate;
}
WEFT_EXPORT_FOR_TEST(weft_pace_set);

/* Besides the attribute, limit the rate to @rate kbit/s; 0: do not. The send turn is owned. */
void weft_pace_limit(struct weft_send *send, u32 rate, u32 mtu)
{
	struct weft_pace *pace = &send->pace;

	rate = min_not_zero(rate, pace->set);
	if (rate != pace->rate)
		pace_apply(send, rate, mtu);
	/* without a limit, weft_pace_holds() clears it when nothing waits any more */
	if (rate && !send->paced) {
		pace->begins = true;
		send->paced = true;
	}
}
WEFT_EXPORT_FOR_TEST(weft_pace_limit);

/*
 * Must the requester wait? Then an event will come when it may go on. The send turn is owned, and
 * there is a limit, or there was a delay.
 */
bool weft_pace_holds(struct weft_send *send)
{
	struct weft_pace *pace = &send->pace;

	if (hrtimer_is_queued(&pace->timer))
		return true;
	if (!pace->rate) {
		send->paced = false;
		return false;
	}
	if (!weft_pace_is_ahead(pace, ktime_get()))
		return false;
	hrtimer_start(&pace->timer, pace->due, HRTIMER_MODE_ABS_SOFT);
	return true;
}

/* Begin nothing for @ns. The send turn is owned. */
void weft_pace_delay(struct weft_send *send, u64 ns)
{
	send->paced = true;
	hrtimer_start(&send->pace.timer, ktime_add_ns(ktime_get(), ns), HRTIMER_MODE_ABS_SOFT);
}
WEFT_EXPORT_FOR_TEST(weft_pace_delay);
