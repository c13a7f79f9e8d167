/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The speed of a RoCE port: the speed of its net device in the terms of InfiniBand. */
#ifndef WEFT_VERBS_SPEED_H
#define WEFT_VERBS_SPEED_H

#include <rdma/ib_verbs.h>

struct weft_dev;

void weft_speed_init(struct weft_dev *dev);
void weft_speed_stop(struct weft_dev *dev);
void weft_speed_changed(struct weft_dev *dev);
u32 weft_speed_mbps(struct weft_dev *dev);
void weft_speed_query(struct weft_dev *dev, struct ib_port_attr *attr);

#endif /* WEFT_VERBS_SPEED_H */
