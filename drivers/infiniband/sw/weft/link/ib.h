/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * InfiniBand: packets of a QP by LID, through the fabric.
 */
#ifndef WEFT_LINK_IB_H
#define WEFT_LINK_IB_H

#include <linux/types.h>

struct sk_buff;
struct weft_hca;
struct weft_ibport;
struct weft_link;

/* Has xmit(), datagram() and forget(). */
extern const struct weft_link weft_link_ib;

/**
 * weft_ib_open - packets for a port may come
 * @hca: zeroed but for @hca->dev
 */
void weft_ib_open(struct weft_hca *hca);

/**
 * weft_ib_close - no packets come any more
 * @hca: its port is detached from the fabric
 *
 * Context: process, sleeps until what is under way has been received or freed.
 */
void weft_ib_close(struct weft_hca *hca);

/**
 * weft_ib_send - a packet that is made already leaves
 * @hca: by its port; or it comes back
 * @dlid: its destination
 * @skb: the packet, see fabric/port.h; belongs to the callee
 *
 * Context: bottom halves off, RCU read side; between weft_ib_open() and weft_ib_close().
 */
void weft_ib_send(struct weft_hca *hca, u16 dlid, struct sk_buff *skb);

/**
 * weft_ib_receive - a packet has come to a port
 * @port: of a channel adapter
 * @skb: the packet, see fabric/port.h; belongs to the callee
 * @nested: see struct weft_ibport_ops
 *
 * Context: bottom halves off, RCU read side.
 */
void weft_ib_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested);

#endif /* WEFT_LINK_IB_H */
