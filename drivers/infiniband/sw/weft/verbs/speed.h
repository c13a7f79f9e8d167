/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The speed of a RoCE port: that of its net device, in the words of InfiniBand.
 *
 * Nobody tells when ethtool has set another one, and a net device is asked for it with
 * locks that a notifier may hold already. So a work item looks, when the net device says
 * anything, or when who queries the port finds another speed than the one before.
 */
#ifndef WEFT_VERBS_SPEED_H
#define WEFT_VERBS_SPEED_H

#include <rdma/ib_verbs.h>

struct weft_dev;

/**
 * weft_speed_init - before the device is registered
 * @dev: the device
 */
void weft_speed_init(struct weft_dev *dev);

/**
 * weft_speed_stop - wait for the work item
 * @dev: not registered any more
 *
 * Context: process, may sleep.
 */
void weft_speed_stop(struct weft_dev *dev);

/**
 * weft_speed_changed - the speed may be another one
 * @dev: the device. Nothing happens when it is not registered.
 *
 * IB_EVENT_DEVICE_SPEED_CHANGE follows, if it is, and the core knows that event.
 *
 * Context: any.
 */
void weft_speed_changed(struct weft_dev *dev);

/**
 * weft_speed_mbps - the speed of the net device
 * @dev: with a RoCE port
 *
 * Context: process, takes RTNL.
 * Return: Mbit/s, not 0.
 */
u32 weft_speed_mbps(struct weft_dev *dev);

/**
 * weft_speed_query - what ib_query_port() says of it
 * @dev: with a RoCE port
 * @attr: active_speed and active_width are set: what InfiniBand has a word for
 *
 * Context: process, takes RTNL.
 */
void weft_speed_query(struct weft_dev *dev, struct ib_port_attr *attr);

#endif /* WEFT_VERBS_SPEED_H */
