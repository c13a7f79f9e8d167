/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* InfiniBand: a QP's packets go by LID, through the fabric. */
#ifndef WEFT_LINK_IB_H
#define WEFT_LINK_IB_H

#include <linux/types.h>

struct sk_buff;
struct weft_hca;
struct weft_ibport;
struct weft_link;

extern const struct weft_link weft_link_ib;

/* Packets may arrive at the port from now on. @hca is zeroed except for @hca->dev. */
void weft_ib_open(struct weft_hca *hca);

/*
 * No packets arrive any more: the port is detached from the fabric. Context: process, sleeps until
 * packets that are under way have been received or freed.
 */
void weft_ib_close(struct weft_hca *hca);

/*
 * Send a complete packet (see fabric/port.h), which belongs to the callee, by the port of @hca; if
 * @dlid is the port's own LID, the packet is received there. Context: bottom halves off, RCU read
 * side; between weft_ib_open() and weft_ib_close().
 */
void weft_ib_send(struct weft_hca *hca, u16 dlid, struct sk_buff *skb);

/*
 * A packet (see fabric/port.h) has arrived at the port of an HCA; it belongs to the callee.
 * @nested: see struct weft_ibport_ops. Context: bottom halves off, RCU read side.
 */
void weft_ib_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested);

#endif /* WEFT_LINK_IB_H */
