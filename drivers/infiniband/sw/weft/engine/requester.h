/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester's loop: it takes work requests and has links execute them. */
#ifndef WEFT_ENGINE_REQUESTER_H
#define WEFT_ENGINE_REQUESTER_H

#include <linux/types.h>

struct weft_qp;
struct weft_ring;

/* Run the requester in the work item of the send turn, which is owned, and given back. */
void weft_requester_run(struct weft_qp *qp);

/*
 * Something was posted to the send queue: execute it now, within a budget. Context: process, may
 * sleep.
 */
void weft_requester_doorbell(struct weft_qp *qp);

/*
 * A kernel consumer has posted something: execute it now, within a small budget, but leave
 * operations that may sleep to a work item. Context: any. If interrupts are disabled, a tasklet
 * executes it; with PREEMPT_RT also if bottom halves are enabled.
 */
void weft_requester_post(struct weft_qp *qp);

/* Run the requester in a soft interrupt. The send turn is owned, and given back. */
void weft_requester_continue(struct weft_qp *qp);

void weft_requester_init(struct weft_qp *qp);

/*
 * Forget all that is in progress. The send turn is stopped, and the send queue has not been reset
 * yet. Context: process, may sleep.
 */
void weft_requester_reset(struct weft_qp *qp);

/*
 * Complete all work requests that are posted now as flushed. The send turn is stopped. Context:
 * process, may sleep.
 */
void weft_requester_flush(struct weft_qp *qp);

/* The send queue has moved to another ring. The send turn is stopped. */
void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring);

#endif /* WEFT_ENGINE_REQUESTER_H */
