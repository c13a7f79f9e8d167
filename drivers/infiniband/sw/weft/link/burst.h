/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that go through IP as one buffer. */
#ifndef WEFT_LINK_BURST_H
#define WEFT_LINK_BURST_H

#include <linux/types.h>

#include "object/tx.h"

struct net_device;
struct sk_buff;

/*
 * Headroom of each packet but the first, in addition to that of the route's net device. A later hop
 * may take the burst apart inside a tunnel, or with VLAN tags: the kernel then checks the headroom
 * of the first packet only, and copies that packet's headers to the headroom of the others. The
 * longest headers are: Ethernet with two tags, IPv6, UDP and GENEVE with all options, and Ethernet
 * again.
 */
#define WEFT_BURST_HEADROOM	384U

/* The largest IPv4 packet, also inside a tunnel. */
#define WEFT_BURST_MAX_LENGTH	(65535U - WEFT_BURST_HEADROOM)

bool weft_burst_takes(const struct weft_burst *burst, u32 size);
void weft_burst_add(struct weft_burst *burst, struct sk_buff *skb);
struct sk_buff *weft_burst_close(const struct weft_burst *burst, const struct net_device *ndev);
void weft_burst_mark(struct sk_buff *skb, u32 packets, bool whole);
bool weft_burst_open(struct sk_buff *head);

#endif /* WEFT_LINK_BURST_H */
