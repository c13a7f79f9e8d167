// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control: DCQCN (Zhu and others, SIGCOMM 2015), with the parameters of mlx5.
 *
 * A switch marks packets when its queue grows. The receiver of a marked packet tells the sender by
 * a congestion notification packet (CNP), which cuts the rate of its QP. Without CNPs the rate
 * grows again, with time and with each WEFT_RPG_BYTE_RESET bytes, until it is that of the port;
 * then there is no limit.
 *
 * Timers of some microseconds for each QP would cost too much. So nothing happens when time passes:
 * the state is brought up to date when a requester with a limit sends, and when a CNP arrives. The
 * result is the same.
 */
#include "engine/cc.h"

#include <linux/minmax.h>

#include "engine/inflight.h"
#include "engine/link.h"
#include "engine/pace.h"
#include "engine/pkt.h"
#include "object/dev.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"
#include "wire/opcode.h"

/* 1 as a value of weft_cc.alpha. */
#define CC_ONE			1024
/* A requester that has been idle for so many steps has no limit any more. */
#define CC_MAX_STEPS		1024
/* kbit/s of a port whose speed is not known. */
#define CC_UNKNOWN_LINE		10000000
#define CC_CNP_INTERVAL_NS	(WEFT_MIN_TIME_BETWEEN_CNPS * NSEC_PER_USEC)

/* How many periods of @us have passed since @since, which moves on by these. */
static u64 cc_periods(ktime_t *since, ktime_t now, u32 us)
{
	u64 ns = (u64)us * NSEC_PER_USEC, periods;

	if (now <= *since)
		return 0;
	periods = div64_u64(now - *since, ns);
	*since += periods * ns;
	return periods;
}

/* Go half of the way to the target, which moves if there have been enough steps. */
static void cc_increase(struct weft_cc *cc, u32 line)
{
	u32 most = max(cc->time_stage, cc->byte_stage);
	u32 least = min(cc->time_stage, cc->byte_stage);

	if (least > WEFT_RPG_THRESHOLD)
		cc->target += WEFT_RPG_HAI_RATE;
	else if (most >= WEFT_RPG_THRESHOLD)
		cc->target += WEFT_RPG_AI_RATE;
	cc->target = min(cc->target, line);
	cc->rate = DIV_ROUND_UP_ULL((u64)cc->rate + cc->target, 2);
	if (cc->rate >= line)
		cc->rate = 0;
}

/* Bring the state up to date. */
void weft_dcqcn_advance(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now)
{
	u64 steps;

	if (!cc->rate)
		return;
	steps = cc_periods(&cc->alpha_at, now, cc->period);
	for (; steps && (cc->alpha || cc->seen); steps--) {
		cc->alpha = (cc->alpha * WEFT_DCE_TCP_G +
			     (cc->seen ? CC_ONE * (CC_ONE - WEFT_DCE_TCP_G) : 0)) / CC_ONE;
		cc->seen = false;
	}
	steps = cc_periods(&cc->time_at, now, cc->period * WEFT_RPG_TIME_RESET);
	if (steps > CC_MAX_STEPS)
		cc->rate = 0;
	for (; steps && cc->rate; steps--) {
		cc->time_stage = min(cc->time_stage + 1, U16_MAX);
		cc_increase(cc, path->line);
		/* the round trip is shorter when a queue has gone */
		cc->period = path->period;
	}
}
WEFT_EXPORT_FOR_TEST(weft_dcqcn_advance);

/* @bytes have been sent. The state is up to date. */
void weft_dcqcn_sent(struct weft_cc *cc, const struct weft_cc_path *path, u32 bytes)
{
	u64 sent = (u64)cc->bytes + bytes;

	for (; cc->rate && sent >= WEFT_RPG_BYTE_RESET; sent -= WEFT_RPG_BYTE_RESET) {
		cc->byte_stage = min(cc->byte_stage + 1, U16_MAX);
		cc_increase(cc, path->line);
	}
	cc->bytes = cc->rate ? sent : 0;
}
WEFT_EXPORT_FOR_TEST(weft_dcqcn_sent);

/*
 * Cut the rate by half of @alpha, once in a period: what has been sent before a cut arrives, and is
 * marked, for another round trip.
 */
static void cc_cut(struct weft_cc *cc, const struct weft_cc_path *path, u32 alpha, ktime_t now)
{
	u32 cut = (u64)cc->rate * alpha / (2 * CC_ONE);

	if (ktime_before(now, ktime_add_us(cc->cut_at, path->period)))
		return;
	cc->period = path->period;
	/* mlx5: clamp_tgt_rate 0, clamp_tgt_rate_after_time_inc 1 */
	if (cc->time_stage)
		cc->target = cc->rate;
	cut = min(cut, (u32)((u64)cc->rate * WEFT_RPG_MIN_DEC_FAC / 100));
	cc->rate = max(cc->rate - cut, WEFT_RPG_MIN_RATE);
	cc->cut_at = now;
	cc->time_at = now;
	cc->time_stage = 0;
	cc->byte_stage = 0;
	cc->bytes = 0;
}

/* There has been no limit: begin with the rate at which the QP sends. */
static void cc_begin(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now)
{
	*cc = (struct weft_cc){
		.rate = clamp(path->rate, WEFT_RPG_MIN_RATE, path->line),
		.alpha = WEFT_INITIAL_ALPHA_VALUE,
		.alpha_at = now,
		.time_at = now,
		.cut_at = ktime_sub_us(now, path->period),
		.period = path->period,
	};
	cc->target = cc->rate;
}

/* A CNP has come. */
void weft_dcqcn_congested(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now)
{
	weft_dcqcn_advance(cc, path, now);
	if (!cc->rate)
		cc_begin(cc, path, now);
	cc->seen = true;
	cc_cut(cc, path, cc->alpha, now);
}
WEFT_EXPORT_FOR_TEST(weft_dcqcn_congested);

/* A packet has been lost, which says more than a mark. */
void weft_dcqcn_lost(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now)
{
	weft_dcqcn_advance(cc, path, now);
	if (!cc->rate)
		cc_begin(cc, path, now);
	cc_cut(cc, path, CC_ONE, now);
}
WEFT_EXPORT_FOR_TEST(weft_dcqcn_lost);

/* ---- QPs ---- */

static enum weft_cc_mode cc_mode(const struct weft_qp *qp)
{
	return READ_ONCE(qp->dev->cc);
}

/*
 * Without a limit a QP sends what is under way once in each round trip. The periods of DCQCN are
 * for networks with a round trip of microseconds.
 */
static struct weft_cc_path cc_path(const struct weft_qp *qp)
{
	u64 bytes = (u64)max(weft_inflight_unanswered(&qp->send.inflight), 1U) * qp->mtu;
	u64 line = READ_ONCE(qp->dev->speed) * 1000ULL ?: CC_UNKNOWN_LINE;
	u32 ns = qp->send.retry.round_trip;
	struct weft_cc_path path = {
		.line = clamp_t(u64, line, WEFT_RPG_MIN_RATE, WEFT_MAX_RATE),
		.period = max(ns / (u32)NSEC_PER_USEC, WEFT_DCE_TCP_RTT),
	};

	path.rate = ns ? min_t(u64, path.line, div_u64(bytes * BITS_PER_BYTE * NSEC_PER_MSEC, ns)) :
			 path.line;
	return path;
}

static void cc_apply(struct weft_qp *qp)
{
	weft_pace_limit(&qp->send, qp->send.cc.rate, qp->mtu);
}

/* Send a CNP to the peer. The turn of @tx is owned. */
static void cc_notify(struct weft_qp *qp, struct weft_tx *tx)
{
	static const u8 nothing[WEFT_CNP_LENGTH];
	struct weft_span span = { .addr = (uintptr_t)nothing, .length = sizeof(nothing) };
	struct weft_tx_batch batch;
	struct weft_iter payload;

	weft_span_iter(&span, &payload);
	batch = (struct weft_tx_batch){
		.qp = qp,
		.av = &qp->av,
		.tx = tx,
		.num = 1,
		.mtu = qp->mtu,
		.length = sizeof(nothing),
		.payload = &payload,
		.hdr = {
			.opcode = WEFT_OPCODE_CNP,
			.becn = true,
			.pkey = weft_qp_pkey(qp),
			.dqpn = qp->dest_qpn,
		},
	};
	if (qp->dev->wire->xmit(&batch))
		weft_stats_inc(qp, WEFT_STAT_NP_CNP_SENT);
}

/*
 * A packet of the QP came with a congestion mark: tell its sender, but not too often. A rule that
 * wants a CNP (@ce, enum weft_congestion) gets it in any case. The turn of @tx is owned.
 */
void weft_cc_marked(struct weft_qp *qp, struct weft_tx *tx, u8 ce)
{
	s64 now = ktime_get(), last = atomic64_read(&qp->cnp_at);

	if (ce & WEFT_CE_RULE)
		cc_notify(qp, tx);
	if (!(ce & WEFT_CE_MARKED))
		return;
	weft_stats_inc(qp, WEFT_STAT_NP_ECN_MARKED);
	if (cc_mode(qp) != WEFT_CC_OFF && now - last >= CC_CNP_INTERVAL_NS &&
	    atomic64_cmpxchg(&qp->cnp_at, last, now) == last)
		cc_notify(qp, tx);
}

/* A CNP has come from the peer. The send turn is owned. */
void weft_cc_notified(struct weft_qp *qp)
{
	struct weft_cc_path path;

	if (cc_mode(qp) == WEFT_CC_OFF) {
		weft_stats_inc(qp, WEFT_STAT_RP_CNP_IGNORED);
		return;
	}
	weft_stats_inc(qp, WEFT_STAT_RP_CNP_HANDLED);
	path = cc_path(qp);
	weft_dcqcn_congested(&qp->send.cc, &path, ktime_get());
	cc_apply(qp);
}

/* A packet of the QP is lost. The send turn is owned. */
void weft_cc_lost(struct weft_qp *qp)
{
	struct weft_cc_path path;

	if (cc_mode(qp) != WEFT_CC_DCQCN)
		return;
	path = cc_path(qp);
	weft_dcqcn_lost(&qp->send.cc, &path, ktime_get());
	cc_apply(qp);
}

/* Let the rate grow with the time, and with @bytes that have been sent. The send turn is owned. */
void weft_cc_advance(struct weft_qp *qp, u32 bytes)
{
	struct weft_cc *cc = &qp->send.cc;
	struct weft_cc_path path;

	if (!cc->rate)
		return;
	path = cc_path(qp);
	weft_dcqcn_advance(cc, &path, ktime_get());
	weft_dcqcn_sent(cc, &path, bytes);
	if (cc_mode(qp) == WEFT_CC_OFF)
		cc->rate = 0;
	cc_apply(qp);
}
