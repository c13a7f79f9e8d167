/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The send half at work: send queue, retries, completions.
 */
#ifndef WEFT_ENGINE_REQUESTER_H
#define WEFT_ENGINE_REQUESTER_H

#include <linux/types.h>

struct weft_qp;
struct weft_ring;
struct weft_send;

/**
 * weft_requester_run - work on the send queue
 * @qp: any; the send turn is owned and given back
 *
 * For the work item of the turn.
 */
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

/**
 * weft_requester_continue - go on with the send queue
 * @qp: any; the send turn is owned and given back
 *
 * Context: soft interrupts.
 */
void weft_requester_continue(struct weft_qp *qp);

/**
 * weft_requester_wait - send nothing for some time
 * @send: turn owned
 * @ns: how long; 0: for ever
 */
void weft_requester_wait(struct weft_send *send, u64 ns);

/**
 * weft_requester_init - at creation of a QP
 * @qp: its send half is initialised
 */
void weft_requester_init(struct weft_qp *qp);

/**
 * weft_requester_reset - forget the current work request and the retries
 * @qp: send turn stopped
 */
void weft_requester_reset(struct weft_qp *qp);

/**
 * weft_requester_flush - complete all that has been posted as flushed
 * @qp: in SQE; send turn stopped
 *
 * Context: process, may sleep.
 */
void weft_requester_flush(struct weft_qp *qp);

/**
 * weft_requester_follow - go on in another ring
 * @qp: send turn stopped
 * @ring: with all that was in the QP's, which nobody looks at any more
 */
void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring);

/**
 * weft_requester_reset_retries - begin to count retries anew
 * @send: turn owned or stopped
 */
void weft_requester_reset_retries(struct weft_send *send);

#endif /* WEFT_ENGINE_REQUESTER_H */
