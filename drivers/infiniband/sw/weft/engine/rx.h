/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Received packets: from a link to a requester or responder.
 *
 * Context: soft interrupts, or bottom halves off; RCU read side.
 */
#ifndef WEFT_ENGINE_RX_H
#define WEFT_ENGINE_RX_H

#include "engine/pkt.h"
#include "stats.h"

bool weft_rx_accept(struct weft_pkt *pkt);
void weft_rx_accepted(struct weft_pkt *pkt);
void weft_rx(struct weft_pkt *pkt);
void weft_rx_again(struct weft_pkt *pkt);
bool weft_rx_changed(struct weft_pkt *pkt);
void weft_rx_deliver(struct weft_pkt *pkt);
u32 weft_rx_members(struct weft_dev *dev, const struct weft_pkt *pkt);
void weft_rx_drop(struct weft_pkt *pkt, enum weft_stat why);

#endif /* WEFT_ENGINE_RX_H */
