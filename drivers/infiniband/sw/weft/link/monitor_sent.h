/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Copies of RoCE packets for a monitor (object/monitor.h), kept until the packets have left. */
#ifndef WEFT_LINK_MONITOR_SENT_H
#define WEFT_LINK_MONITOR_SENT_H

#include <linux/types.h>

struct sk_buff;
struct sk_buff_head;
struct weft_dev;

void weft_monitor_hold(const struct weft_dev *dev, struct sk_buff *skb, struct sk_buff_head *held);
void weft_monitor_release(const struct weft_dev *dev, struct sk_buff_head *held, bool sent);

#endif /* WEFT_LINK_MONITOR_SENT_H */
