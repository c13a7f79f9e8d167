/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Received packets: from a link to a requester or a responder.
 *
 * Context: soft interrupts, or bottom halves off; RCU read side.
 */
#ifndef WEFT_ENGINE_RX_H
#define WEFT_ENGINE_RX_H

#include "engine/pkt.h"
#include "stats.h"

/**
 * weft_rx - a packet has come
 * @pkt: from weft_pkt_init(), see weft_pkt_decode(); its memory belongs to the callee
 *
 * Finds the QP or the group, checks the packet, and has it processed, or drops it.
 */
void weft_rx(struct weft_pkt *pkt);

/* The part of weft_rx() behind the checks: process a packet with its QP, or for a group. */
void weft_rx_deliver(struct weft_pkt *pkt);

/* Copy a datagram to each member of a group on @dev. Return: how many there are. */
u32 weft_rx_members(struct weft_dev *dev, const struct weft_pkt *pkt);

/**
 * weft_rx_drop - count a packet whose headers cannot be decoded, and free it
 * @pkt: from weft_pkt_init(); the network header is in memory
 * @why: counter
 */
void weft_rx_drop(struct weft_pkt *pkt, enum weft_stat why);

#endif /* WEFT_ENGINE_RX_H */
