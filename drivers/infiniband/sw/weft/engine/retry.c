// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ack timeout and retries of a requester (IBA 9.9.2), and the delays that an RNR NAK asks for
 * (IBA 9.9.3). All functions need the send turn, owned or stopped.
 *
 * A lost packet that no other follows, and a lost answer, leave no trace at the other end. So after
 * two round trips of silence (10 ms until one is known), long before the ack timeout, the requester
 * repeats one packet as a probe. The answer says what is missing, and is processed as any other: a
 * probe is no retry, and nothing is sent again because of it. Only a weft is asked for the next
 * missing part when the answer has come. The wait for the next probe doubles, and is halved with
 * each round trip that is measured; a packet that has been probed measures none (Karn and
 * Partridge, SIGCOMM 1987). So a path that has got slower is learnt. If the peer says that its
 * response is a repeated one, the first one was lost, and the wait is that of the beginning.
 */
#include "engine/retry.h"

#include "engine/cc.h"
#include "engine/inflight.h"
#include "engine/migration.h"
#include "engine/pace.h"
#include "engine/repair.h"
#include "engine/transmit.h"
#include "engine/window.h"
#include "mem/odp_pins.h"
#include "object/dev.h"
#include "stats.h"
#include "trace.h"

/* The rnr_retry value that means no limit. */
#define RETRY_RNR_FOR_EVER	7
/* Besides the round trip a peer needs time until its gap is old, and until it runs. */
#define RETRY_REPAIR_NS		(2 * WEFT_EARLY_GAP_US * NSEC_PER_USEC)
/* A round trip is taken for that long until one has been measured. */
#define RETRY_UNKNOWN_NS	(4 * NSEC_PER_MSEC)
/* The time to wait for a probe doubles as often. */
#define RETRY_MAX_BACKOFF	8
/* How often the local link looks whether a busy peer is free. */
#define RETRY_BUSY_NS		NSEC_PER_MSEC
/* A timer that has found answers runs for that long, because many QPs may be busy. */
#define RETRY_LOOK_NS		(8 * NSEC_PER_MSEC)

/* The time in which a peer answers if nothing is lost. */
u64 weft_retry_patience(const struct weft_retry *retry)
{
	return 2ULL * (retry->round_trip ?: RETRY_UNKNOWN_NS) + RETRY_REPAIR_NS;
}

/* When a probe is due, on a link with packets, if there is no answer. */
static ktime_t retry_probe_due(const struct weft_qp *qp)
{
	const struct weft_retry *retry = &qp->send.retry;

	if (!qp->link->xmit)
		return KTIME_MAX;
	return ktime_add_ns(retry->quiet, weft_retry_patience(retry) << retry->backoff);
}

/* When the timer has something to do, if there is no answer. */
static ktime_t retry_due(const struct weft_qp *qp)
{
	const struct weft_retry *retry = &qp->send.retry;
	ktime_t due = min(retry->deadline, retry_probe_due(qp));

	return qp->send.inflight.repair.state == WEFT_REPAIR_SENT ? min(due, retry->repair_due) :
								    due;
}

/* If @due has passed, the timer expires at once: a negative relative time would mean never. */
static void retry_start_timer(struct weft_retry *retry, ktime_t due)
{
	hrtimer_start(&retry->timer, due, HRTIMER_MODE_ABS_SOFT);
}

/* The timer has expired. Have answers come since it was started, so that it only has to go on? */
static bool retry_goes_on(struct weft_qp *qp)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	struct weft_retry *retry = &qp->send.retry;
	ktime_t now, due;

	if (retry->rnr_wait)
		return false;
	if (inflight->una == inflight->sent || !retry->timeout)
		return true;
	now = ktime_get();
	due = retry_due(qp);
	if (!ktime_before(now, due))
		return false;
	if (inflight->repair.state == WEFT_REPAIR_NONE)
		due = min(retry->deadline, max(due, ktime_add_ns(now, RETRY_LOOK_NS)));
	retry_start_timer(retry, due);
	return true;
}

/* That the timer goes on is so common that it must not take a work item. */
static enum hrtimer_restart retry_expired(struct hrtimer *timer)
{
	struct weft_send *send = container_of(timer, struct weft_send, retry.timer);
	struct weft_turn *turn = &send->turn;

	if (!weft_turn_try(turn)) {
		weft_turn_post(turn, WEFT_EV_TIMER);
		return HRTIMER_NORESTART;
	}
	if (!retry_goes_on(turn->qp))
		weft_turn_post(turn, WEFT_EV_TIMER);
	weft_turn_release(turn);
	return HRTIMER_NORESTART;
}

void weft_retry_init(struct weft_retry *retry)
{
	hrtimer_setup(&retry->timer, retry_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* Stop the timer, because nothing is waited for. Retries that are used up stay used up. */
void weft_retry_stop(struct weft_retry *retry)
{
	retry->rnr_wait = false;
	hrtimer_try_to_cancel(&retry->timer);
}

/* The attribute changes, or the path with it. A timer that runs would wait for the old time. */
void weft_retry_set_timeout(struct weft_send *send, u8 timeout)
{
	struct weft_retry *retry = &send->retry;

	retry->timeout = timeout;
	/* without it no round trip is measured, and the window would not grow */
	if (!timeout || !send->window.base) {
		weft_window_init(&send->window, timeout);
		weft_window_begin(&send->window, send->inflight.una, ktime_get());
	}
	if (!retry->rnr_wait)
		hrtimer_try_to_cancel(&retry->timer);
}
WEFT_EXPORT_FOR_TEST(weft_retry_set_timeout);

/* The QP is in RESET: no timer runs, and all retries are left. */
void weft_retry_reset(struct weft_retry *retry)
{
	hrtimer_cancel(&retry->timer);
	retry->rnr_wait = false;
	weft_retry_refill(retry);
}

/* Is the next packet to leave at once, for the first time? */
static bool retry_may_measure(const struct weft_send *send, ktime_t now)
{
	return !weft_inflight_is_rewound(&send->inflight) &&
	       !(send->paced && weft_pace_is_ahead(&send->pace, now));
}

/*
 * Measure the round trip, from when a packet is sent for the first time until it, or one behind it
 * that is before @end, is answered. The next one that is sent is measured then, see
 * weft_retry_sent(). Return: true: a probe is due earlier than before.
 */
static bool retry_measure(struct weft_send *send, u32 end, ktime_t now)
{
	const struct weft_inflight *inflight = &send->inflight;
	struct weft_retry *retry = &send->retry;
	bool earlier = false;
	u32 ns;

	if (retry->measuring && weft_psn_before(retry->sample_psn, end)) {
		ns = min_t(u64, ktime_sub(now, retry->sample_at), NSEC_PER_SEC);
		earlier = !retry->round_trip || retry->backoff;
		if (unlikely(retry->backoff))
			retry->backoff--;
		retry->round_trip = retry->round_trip ?
				    retry->round_trip - retry->round_trip / 8 + ns / 8 : ns;
		weft_window_measured(&send->window, ns);
		/* PSNs wrap, but not so soon */
		if (ktime_sub(now, send->window.since) > NSEC_PER_SEC)
			weft_window_begin(&send->window, inflight->una, now);
	} else if (retry->measuring && inflight->una != inflight->sent) {
		return false;
	}
	retry->measuring = retry_may_measure(send, now);
	retry->sample_psn = inflight->next;
	retry->sample_at = now;
	return earlier;
}

/*
 * A packet before @end has been answered, or sent: restart the ack timeout.
 *
 * The timer is not restarted for each answer: when it expires too early, retry_expired() starts it
 * again. But if a probe is due earlier than before, the timer would expire much too late.
 */
void weft_retry_heard(struct weft_qp *qp, u32 end)
{
	struct weft_retry *retry = &qp->send.retry;
	ktime_t now;
	bool earlier;

	if (!retry->timeout || !weft_qp_is_reliable(qp))
		return;
	now = ktime_get();
	earlier = retry_measure(&qp->send, end, now);
	retry->deadline = ktime_add_ns(now, 4096ULL << retry->timeout);
	retry->silent = now;
	retry->quiet = now;
	/*
	 * Not hrtimer_active(), which is also true while the callback of an expired timer runs. In
	 * an RNR delay the timer is left alone even if it has expired: its event is about to be
	 * processed.
	 */
	if (!retry->rnr_wait && (earlier || !hrtimer_is_queued(&retry->timer)))
		retry_start_timer(retry, retry_due(qp));
}

/* Everything before weft_inflight.una has been answered, or packets have been sent. */
void weft_retry_start(struct weft_qp *qp)
{
	weft_retry_heard(qp, qp->send.inflight.una);
}
WEFT_EXPORT_FOR_TEST(weft_retry_start);

/* weft_retry_start() for the first packets after a pause. */
void weft_retry_begin(struct weft_qp *qp)
{
	weft_retry_start(qp);
	weft_window_begin(&qp->send.window, qp->send.inflight.una, qp->send.retry.quiet);
}

/* weft_retry_start() for another try: as that is no answer, the peer stays silent. */
void weft_retry_restart(struct weft_qp *qp)
{
	struct weft_retry *retry = &qp->send.retry;
	ktime_t silent = retry->silent;

	weft_retry_start(qp);
	retry->silent = silent;
}

static void retry_lost(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	const struct weft_inflight *inflight = &send->inflight;
	const struct weft_repair *repair = &inflight->repair;
	u32 kept = skb_queue_len(&send->early.packets);

	weft_cc_lost(qp);
	/* without an ack timeout no round trip is measured, and nothing ends a wait */
	if (READ_ONCE(qp->dev->cc) == WEFT_CC_OFF || !send->retry.timeout)
		return;
	if (repair->state != WEFT_REPAIR_NONE && repair->gaps)
		kept += repair->gaps->num;
	weft_window_lost(&send->window, inflight->una, inflight->sent, kept,
			 send->retry.round_trip, ktime_get());
}

static bool retry_again(struct weft_qp *qp, bool repair)
{
	struct weft_send *send = &qp->send;
	struct weft_retry *retry = &send->retry;

	if (retry->left == 0) {
		if (!weft_migrate_on_error(qp)) {
			weft_inflight_fault(qp, WEFT_FAULT_RETRY);
			return false;
		}
		weft_retry_start(qp);
		return true;
	}
	retry->left--;
	/* an answer may be that to the first packet */
	retry->measuring = false;
	send->inflight.retried = true;
	WRITE_ONCE(retry->retries, retry->retries + 1);
	weft_stats_inc(qp, WEFT_STAT_TRANSPORT_RETRIES);
	retry_lost(qp);
	trace_weft_retry(qp->qpn, send->inflight.una, retry->left);
	if (!repair || !weft_repair_begin(qp))
		weft_inflight_rewind(qp, send->inflight.una);
	weft_retry_restart(qp);
	return true;
}

/*
 * A request is not answered: send again from the oldest PSN without an answer, or, if no retries
 * are left, migrate or fail the oldest request. Return: false: the request has failed.
 */
bool weft_retry(struct weft_qp *qp)
{
	return retry_again(qp, false);
}

/* weft_retry(), but the peer misses the packet with that PSN: it may have got those behind it. */
bool weft_retry_missing(struct weft_qp *qp)
{
	return retry_again(qp, true);
}

/* Packets or responses are lost, and only these are sent, or asked for, again: that is no retry. */
void weft_retry_lost(struct weft_qp *qp)
{
	retry_lost(qp);
	trace_weft_retry(qp->qpn, qp->send.inflight.una, qp->send.retry.left);
}

/*
 * A response is here that the peer has sent before, and the first one is not: it is lost, and the
 * path is no slower than it was. So the next probe need not wait longer.
 */
void weft_retry_repeated(struct weft_qp *qp)
{
	struct weft_retry *retry = &qp->send.retry;

	if (!retry->backoff)
		return;
	retry->backoff = 0;
	if (!retry->rnr_wait)
		retry_start_timer(retry, retry_due(qp));
}

/* weft_retry(), for the packets that a gap map says are lost; that is no retry. */
bool weft_retry_map(struct weft_qp *qp, const struct weft_map *map)
{
	if (!weft_repair_map(qp, map))
		return false;
	qp->send.retry.measuring = false;
	weft_retry_lost(qp);
	return true;
}

/*
 * The packet of a repair has been sent. If it is lost the peer does not say so (by IBA 9.7.5.1.1 it
 * sends one NAK), so it is sent again after two round trips, and that is no retry. The ack timeout
 * stays.
 */
void weft_retry_repair(struct weft_qp *qp)
{
	struct weft_retry *retry = &qp->send.retry;
	u64 ns = weft_retry_patience(retry) << qp->send.inflight.repair.again;
	ktime_t now = ktime_get();

	retry->repair_due = KTIME_MAX;
	if (!retry->round_trip || !retry->timeout || retry->rnr_wait ||
	    ktime_after(ktime_add_ns(now, ns), retry->deadline))
		return;
	retry->repair_due = ktime_add_ns(now, ns);
	retry_start_timer(retry, retry->repair_due);
}

/*
 * Is it the peer that lets the requester wait? A repair repeats itself, unless it waits for a
 * response of a weft. Other packets follow soon behind what the pace holds back, and the last ones
 * may still be in a queue of this host.
 */
static bool retry_may_probe(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	enum ib_qp_state state = weft_qp_state(qp);
	u8 repair = send->inflight.repair.state;

	return (state == IB_QPS_RTS || state == IB_QPS_SQD) &&
	       (repair == WEFT_REPAIR_NONE ||
		(repair == WEFT_REPAIR_SENT && weft_inflight_may_ask(&send->inflight))) &&
	       !weft_pace_is_holding(send) && !atomic_read(&send->tx.queued);
}

static void retry_probe(struct weft_qp *qp, ktime_t now)
{
	struct weft_retry *retry = &qp->send.retry;

	if (retry_may_probe(qp) && weft_transmit_probe(qp)) {
		retry->measuring = false;
		retry->backoff = min(retry->backoff + 1, RETRY_MAX_BACKOFF);
	}
	retry->quiet = now;
	/* without the pages of the packet nothing is sent: look soon if they are there */
	if (weft_odp_pins_pending(qp->send.odp.pins))
		retry->quiet = ktime_sub_ns(ktime_add_ns(now, RETRY_LOOK_NS),
					    weft_retry_patience(retry) << retry->backoff);
}

/* The ack timeout has not come yet: is it time to repeat a repair, or for a probe? */
static void retry_early(struct weft_qp *qp, ktime_t now)
{
	struct weft_retry *retry = &qp->send.retry;

	if (qp->send.inflight.repair.state == WEFT_REPAIR_SENT &&
	    !ktime_before(now, retry->repair_due)) {
		retry->measuring = false;
		retry->repair_due = KTIME_MAX;
		if (weft_inflight_may_ask(&qp->send.inflight)) {
			/* the repair was perhaps that of the READ which has no response */
			weft_repair_wait(qp);
			if (retry_may_probe(qp))
				weft_transmit_probe(qp);
			retry->quiet = now;
		} else {
			weft_repair_begin(qp);
		}
	}
	if (!ktime_before(now, retry_probe_due(qp)))
		retry_probe(qp, now);
	retry_start_timer(retry, retry_due(qp));
}

/*
 * The peer has no receive for a request: send it again after the delay that @timer (of the AETH)
 * encodes.
 */
void weft_retry_rnr(struct weft_qp *qp, u8 timer)
{
	struct weft_retry *retry = &qp->send.retry;

	if (retry->rnr_wait)
		return;
	if (retry->rnr_left == 0) {
		weft_inflight_fault(qp, WEFT_FAULT_RNR_RETRY);
		return;
	}
	if (retry->rnr_left < RETRY_RNR_FOR_EVER)
		retry->rnr_left--;
	WRITE_ONCE(retry->rnr_retries, retry->rnr_retries + 1);
	weft_stats_inc(qp, WEFT_STAT_RNR_RETRIES);
	weft_inflight_rewind(qp, qp->send.inflight.una);
	retry->rnr_wait = true;
	hrtimer_start(&retry->timer, ns_to_ktime(weft_rules_rnr_ns(timer)), HRTIMER_MODE_REL_SOFT);
}
WEFT_EXPORT_FOR_TEST(weft_retry_rnr);

/*
 * The peer is in the middle of a message of somebody else, who waits for pages: try again soon.
 * That is no retry.
 */
void weft_retry_busy(struct weft_qp *qp)
{
	struct weft_retry *retry = &qp->send.retry;

	if (retry->rnr_wait)
		return;
	retry->rnr_wait = true;
	hrtimer_start(&retry->timer, ns_to_ktime(RETRY_BUSY_NS), HRTIMER_MODE_REL_SOFT);
}

/* The timer has expired. */
void weft_retry_timeout(struct weft_qp *qp)
{
	struct weft_send *send = &qp->send;
	struct weft_retry *retry = &send->retry;
	ktime_t now = ktime_get();

	weft_assert_turn(&send->turn);
	/* the timer has been started again, so the event is out of date */
	if (hrtimer_is_queued(&retry->timer))
		return;
	if (retry->rnr_wait) {
		retry->rnr_wait = false;
		if (send->inflight.una != send->inflight.sent)
			weft_retry_start(qp);
		return;
	}
	if (send->inflight.una == send->inflight.sent || !retry->timeout)
		return; /* no answer is awaited */
	/* the response has come, but the pages that it goes to are still being pinned */
	if (weft_odp_pins_pending(send->placing.pins)) {
		/* a repair that is due must not make the timer expire at once, again and again */
		retry->repair_due = KTIME_MAX;
		weft_retry_start(qp);
		if (send->inflight.repair.state == WEFT_REPAIR_SENT)
			weft_retry_repair(qp);
	} else if (ktime_before(now, retry->deadline)) {
		retry_early(qp, now);
	} else if (weft_pace_is_holding(send) && send->inflight.next == send->inflight.una) {
		weft_retry_start(qp); /* the packets that would be answered still wait */
	} else if (send->inflight.repair.gaps ? weft_retry_missing(qp) : weft_retry(qp)) {
		weft_stats_inc(qp, WEFT_STAT_LOCAL_ACK_TIMEOUT_ERR);
	}
}
