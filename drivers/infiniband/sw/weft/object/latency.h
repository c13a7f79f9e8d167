/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How long the send work requests of a QP take, from when the device finds them in the send queue
 * until they complete. Measured while a device has its attribute "latency"; without such a device
 * a static key skips all of this.
 */
#ifndef WEFT_OBJECT_LATENCY_H
#define WEFT_OBJECT_LATENCY_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <rdma/weft-top.h>

struct weft_dev;
struct weft_qp;

/* Work requests of a QP whose time is kept; those that wait behind them count from later on. */
#define WEFT_LATENCY_REQUESTS	256U

/* The owner of the send turn writes it. */
struct weft_latency {
	u64	sum;				/* ns */
	u64	bytes;
	u64	count[WEFT_TOP_BUCKETS];
	u32	seen;				/* index after the last request that has a time */
	u64	at[WEFT_LATENCY_REQUESTS];	/* by the index of a request */
};

/* Counts the devices that measure. */
DECLARE_STATIC_KEY_FALSE(weft_latency_key);

static __always_inline bool weft_latency_is_on(void)
{
	return static_branch_unlikely(&weft_latency_key);
}

void weft_latency_set(struct weft_dev *dev, bool on);
void weft_latency_found(struct weft_qp *qp, u32 more);
void weft_latency_done(struct weft_qp *qp, u32 bytes);
void weft_latency_reset(struct weft_qp *qp);

#endif /* WEFT_OBJECT_LATENCY_H */
