/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Work requests of a connected QP become request packets (IBA 9.7.2, 9.8.2).
 */
#ifndef WEFT_ENGINE_TRANSMIT_H
#define WEFT_ENGINE_TRANSMIT_H

#include <linux/types.h>

struct weft_qp;

/**
 * weft_transmit_step - send a batch of packets, or take a work request
 * @qp: with inflight requests, send turn owned, in RTS or SQD
 * @take: take new work requests, too
 * @bytes: decreased by what was sent
 *
 * Context: any but hard interrupts.
 * Return: false: there is nothing to do now; an event will come when there is.
 */
bool weft_transmit_step(struct weft_qp *qp, bool take, s64 *bytes);

/**
 * weft_transmit_may_sleep - whether the next step waits for accesses to end
 * @qp: its send turn is owned
 *
 * Return: true when weft_transmit_step() needs a process.
 */
bool weft_transmit_may_sleep(const struct weft_qp *qp);

/**
 * weft_ack_timeout_start - an answer may take so long from now on
 * @qp: with inflight requests, send turn owned
 */
void weft_ack_timeout_start(struct weft_qp *qp);

#endif /* WEFT_ENGINE_TRANSMIT_H */
