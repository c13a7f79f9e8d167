/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester's loop: it takes work requests and has links execute them.
 */
#ifndef WEFT_ENGINE_REQUESTER_H
#define WEFT_ENGINE_REQUESTER_H

#include <linux/types.h>

struct weft_qp;
struct weft_ring;

/* Run the requester in the work item of the send turn, which is owned, and given back. */
void weft_requester_run(struct weft_qp *qp);

/**
 * weft_requester_doorbell - something was posted to the send queue
 * @qp: any
 *
 * Runs to completion in the caller's time, within a budget.
 *
 * Context: process, may sleep.
 */
void weft_requester_doorbell(struct weft_qp *qp);

/**
 * weft_requester_post - a kernel consumer has posted something
 * @qp: any
 *
 * Runs in the caller's time what need not sleep, within a small budget.
 *
 * Context: any. In hard interrupts, and with interrupts disabled, it is left to
 * the soft interrupt that follows; with PREEMPT_RT as well if bottom halves are enabled.
 */
void weft_requester_post(struct weft_qp *qp);

/* Go on in a soft interrupt. The send turn is owned, and given back. */
void weft_requester_continue(struct weft_qp *qp);

/* At creation of a QP. */
void weft_requester_init(struct weft_qp *qp);

/**
 * weft_requester_reset - forget what is in progress
 * @qp: send turn stopped, the send queue not yet reset
 *
 * Context: process, may sleep.
 */
void weft_requester_reset(struct weft_qp *qp);

/**
 * weft_requester_flush - complete all work requests that are posted now, as flushed
 * @qp: send turn stopped
 *
 * Context: process, may sleep.
 */
void weft_requester_flush(struct weft_qp *qp);

/* The send queue continues in another ring. The send turn is stopped. */
void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring);

#endif /* WEFT_ENGINE_REQUESTER_H */
