/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The receive half at work: request packets in, answers out (IBA 9.7, 9.8).
 */
#ifndef WEFT_ENGINE_RESPONDER_H
#define WEFT_ENGINE_RESPONDER_H

struct weft_pkt;
struct weft_qp;

/**
 * weft_responder_packet - a request packet has come
 * @qp: destination
 * @pkt: decoded; its memory belongs to the callee
 *
 * Context: soft interrupts.
 */
void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt);

/**
 * weft_responder_run - work on what waits, or flush in ERR
 * @qp: any; the receive turn is owned and given back
 *
 * For the work item of the turn.
 */
void weft_responder_run(struct weft_qp *qp);

/**
 * weft_responder_doorbell - a receive was posted to a queue that asked to ring
 * @qp: any
 */
void weft_responder_doorbell(struct weft_qp *qp);

/**
 * weft_responder_init - at creation of a QP
 * @qp: its receive half is initialised
 */
void weft_responder_init(struct weft_qp *qp);

/**
 * weft_responder_resize - max_dest_rd_atomic has changed
 * @qp: receive turn stopped
 *
 * The answers that might be asked for again are forgotten.
 */
void weft_responder_resize(struct weft_qp *qp);

/**
 * weft_responder_reset - forget what is in progress and what waits
 * @qp: receive turn stopped, the receive queue not yet reset
 *
 * What has been executed is acknowledged before.
 */
void weft_responder_reset(struct weft_qp *qp);

#endif /* WEFT_ENGINE_RESPONDER_H */
