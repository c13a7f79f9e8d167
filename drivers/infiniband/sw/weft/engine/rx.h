/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * From a link to a half of a QP: the checks that need no half (IBA 9.6), and
 * the way there.
 */
#ifndef WEFT_ENGINE_RX_H
#define WEFT_ENGINE_RX_H

#include "engine/pkt.h"
#include "stats.h"

/**
 * weft_rx_admit - who is to get a packet, and may he?
 * @pkt: from weft_pkt_init(), see weft_pkt_decode(); the ICRC is not checked yet
 *
 * Decodes the packet and checks its form, destination QP, service and P_Key;
 * what needs the half's turn is checked there. Sets @pkt->dev and @pkt->qp.
 * What is refused is counted here.
 *
 * Context: soft interrupts, RCU read side up to weft_rx_deliver().
 * Return: false: not welcome, the caller frees it.
 */
bool weft_rx_admit(struct weft_pkt *pkt);

/**
 * weft_rx_deliver - process a packet, or have it processed
 * @pkt: admitted, its ICRC is right; belongs to the callee, with
 *	the reference to @pkt->qp
 *
 * Context: soft interrupts.
 */
void weft_rx_deliver(struct weft_pkt *pkt);

/**
 * weft_rx_dismiss - count a packet that cannot even be admitted
 * @pkt: from weft_pkt_init(), the network header is in memory; the caller frees it
 * @why: counter
 *
 * Context: soft interrupts, RCU read side.
 */
void weft_rx_dismiss(struct weft_pkt *pkt, enum weft_stat why);

/**
 * weft_rx_drop - an admitted packet goes no further
 * @pkt: admitted; belongs to the callee, with the reference to @pkt->qp
 * @why: counter
 */
void weft_rx_drop(struct weft_pkt *pkt, enum weft_stat why);

#endif /* WEFT_ENGINE_RX_H */
