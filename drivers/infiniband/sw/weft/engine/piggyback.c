// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many processes send a message soon after each one that they receive: a client and its server, or
 * two that play ping-pong. Then the acknowledge waits for that message, and both packets leave
 * together, as one buffer for the network stack at either end.
 *
 * Whether a process does so shows only afterwards. Once it has sent something after each of the
 * last @needed messages, and before the next one came, an acknowledge waits. If nothing has been
 * sent for one to two periods of WEFT_PIGGYBACK_US, the acknowledge leaves alone, and @needed
 * doubles; with each one that does not wait in vain it gets smaller again. So few acknowledges of a
 * process that often takes longer are delayed. The next packet that asks for an acknowledge ends
 * the wait, and so does a packet of the requester that it cannot leave with.
 *
 * Responder and requester write struct weft_piggyback without a common turn. A wrong count only
 * makes an acknowledge leave too early, or lets it wait in vain.
 */
#include "engine/piggyback.h"

#include <linux/interrupt.h>

#include "engine/link.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "params.h"

/* A period ends. Return: the timer goes on. */
bool weft_piggyback_tick(struct weft_qp *qp)
{
	struct weft_piggyback *piggyback = &qp->recv.piggyback;

	/*
	 * Pairs with weft_piggyback_wait(): we see that an acknowledge waits, or the responder sees
	 * that the timer does not run, and starts it.
	 */
	smp_mb();
	if (!READ_ONCE(piggyback->waits))
		return false;
	if (READ_ONCE(piggyback->old)) {
		tasklet_schedule(&qp->late);
		return false;
	}
	WRITE_ONCE(piggyback->old, true);
	return true;
}
WEFT_EXPORT_FOR_TEST(weft_piggyback_tick);

static void piggyback_start(struct weft_piggyback *piggyback)
{
	hrtimer_start(&piggyback->timer, ns_to_ktime(WEFT_PIGGYBACK_US * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
}

/* The responder may start the timer at the same time, so it is started anew, not forwarded. */
static enum hrtimer_restart piggyback_expired(struct hrtimer *timer)
{
	struct weft_qp *qp = container_of(timer, struct weft_qp, recv.piggyback.timer);

	if (weft_piggyback_tick(qp))
		piggyback_start(&qp->recv.piggyback);
	return HRTIMER_NORESTART;
}

/* The process is not known yet. The receive turn is stopped. */
void weft_piggyback_reset(struct weft_qp *qp)
{
	struct weft_piggyback *piggyback = &qp->recv.piggyback;

	hrtimer_cancel(&piggyback->timer);
	piggyback->messages = 0;
	piggyback->fresh = false;
	piggyback->pairs = 0;
	piggyback->needed = WEFT_PIGGYBACK_PAIRS;
	piggyback->waits = false;
}

/* At creation of a QP. */
void weft_piggyback_init(struct weft_qp *qp)
{
	hrtimer_setup(&qp->recv.piggyback.timer, piggyback_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	weft_piggyback_reset(qp);
}

/* The slow path of weft_piggyback_sent(). */
void weft_piggyback_pair(struct weft_piggyback *piggyback)
{
	if (piggyback->pairs < piggyback->needed)
		piggyback->pairs++;
	else if (piggyback->needed > WEFT_PIGGYBACK_PAIRS)
		piggyback->needed--;
	WRITE_ONCE(piggyback->messages, 0);
	/* pairs with weft_piggyback_wait() */
	smp_mb();
}

/*
 * Shall the acknowledge that is due wait? It does if the packet that has just been executed is the
 * end of a message, the only one since a packet left. The receive turn is owned. Context: soft
 * interrupts.
 */
bool weft_piggyback_wait(struct weft_qp *qp)
{
	struct weft_piggyback *piggyback = &qp->recv.piggyback;
	bool fresh = piggyback->fresh;

	weft_assert_turn(&qp->recv.turn);
	piggyback->fresh = false;
	if (!fresh || piggyback->pairs < piggyback->needed || piggyback->waits ||
	    !qp->dev->wire->hold || weft_qp_state(qp) != IB_QPS_RTS || weft_inject_is_on() ||
	    weft_monitor_is_on())
		return false;
	WRITE_ONCE(piggyback->old, false);
	WRITE_ONCE(piggyback->waits, true);
	/*
	 * Pairs with weft_piggyback_tick(), and with weft_piggyback_pair(): we see that something
	 * has been sent, or the requester sees that the acknowledge waits.
	 */
	smp_mb();
	if (!hrtimer_is_queued(&piggyback->timer))
		piggyback_start(piggyback);
	if (READ_ONCE(piggyback->messages))
		return true;
	piggyback->waits = false;
	return false;
}

/* The acknowledge that waits leaves alone now. The receive turn is owned. */
void weft_piggyback_alone(struct weft_piggyback *piggyback)
{
	if (READ_ONCE(piggyback->old)) {
		piggyback->pairs = 0;
		piggyback->needed = min_t(u32, 2 * piggyback->needed, WEFT_PIGGYBACK_MOST_PAIRS);
	}
	piggyback->waits = false;
}
