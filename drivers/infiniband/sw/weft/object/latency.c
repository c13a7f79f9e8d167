// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A QP gets its histogram when the first work request is found while its device measures, and
 * keeps it. The time at which a work request was found is kept beside the ring, by its index: the
 * ring is shared with the process, which could change a time there.
 */
#include "object/latency.h"

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "object/dev.h"
#include "object/qp.h"

DEFINE_STATIC_KEY_FALSE(weft_latency_key);

static DEFINE_MUTEX(latency_lock);

/* Begin or cease to measure. May sleep. */
void weft_latency_set(struct weft_dev *dev, bool on)
{
	mutex_lock(&latency_lock);
	if (on && !dev->latency)
		static_branch_inc(&weft_latency_key);
	else if (!on && dev->latency)
		static_branch_dec(&weft_latency_key);
	WRITE_ONCE(dev->latency, on);
	mutex_unlock(&latency_lock);
}

static struct weft_latency *latency_create(struct weft_qp *qp)
{
	struct weft_latency *latency;

	latency = kzalloc(sizeof(*latency), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!latency)
		return NULL;
	latency->seen = qp->send.inflight.head;
	/* a reader of the figures finds them zeroed */
	smp_store_release(&qp->send.latency, latency);
	return latency;
}

/* @more work requests are in the send queue that have not been taken. The send turn is owned. */
void weft_latency_found(struct weft_qp *qp, u32 more)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	const u32 room = inflight->head + WEFT_LATENCY_REQUESTS;
	u32 end = inflight->tail + more;
	struct weft_latency *latency;
	u64 now;

	if (!READ_ONCE(qp->dev->latency))
		return;
	latency = qp->send.latency ?: latency_create(qp);
	if (!latency)
		return;
	now = ktime_get_ns();
	/* those before, perhaps billions, have completed unseen while the device did not measure */
	if (latency->seen - inflight->head > WEFT_LATENCY_REQUESTS)
		latency->seen = inflight->head;
	if ((s32)(end - room) > 0)
		end = room;
	for (; (s32)(end - latency->seen) > 0; latency->seen++)
		latency->at[latency->seen % WEFT_LATENCY_REQUESTS] = now;
}

/* The oldest request is complete. The send turn is owned. */
void weft_latency_done(struct weft_qp *qp, u32 bytes)
{
	struct weft_latency *latency = qp->send.latency;
	const u32 index = qp->send.inflight.head;
	u64 ns, *count;

	/* those from @index to before @seen have a time */
	if (!latency || !READ_ONCE(qp->dev->latency) ||
	    latency->seen - index - 1 >= WEFT_LATENCY_REQUESTS)
		return;
	ns = ktime_get_ns() - latency->at[index % WEFT_LATENCY_REQUESTS];
	count = &latency->count[min_t(u32, ilog2(ns | 1), WEFT_TOP_BUCKETS - 1)];
	WRITE_ONCE(*count, *count + 1);
	WRITE_ONCE(latency->sum, latency->sum + ns);
	WRITE_ONCE(latency->bytes, latency->bytes + bytes);
}

/* The indexes of requests begin again. The send turn is owned, or stopped. */
void weft_latency_reset(struct weft_qp *qp)
{
	if (qp->send.latency)
		qp->send.latency->seen = 0;
}
