/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of one length as one buffer, which the net device cuts up (tx-udp-segmentation). */
#ifndef WEFT_LINK_USO_H
#define WEFT_LINK_USO_H

#include <linux/types.h>

#include "object/tx.h"

struct net_device;
struct sk_buff;

bool weft_uso_fits(const struct net_device *ndev, bool ipv4);
void *weft_uso_add(struct weft_uso *uso, const struct net_device *ndev, u32 size, u32 left);
void weft_uso_close(struct weft_uso *uso, u16 id);
struct sk_buff *weft_uso_open(struct sk_buff *skb);

#endif /* WEFT_LINK_USO_H */
