/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The net devices through which multicast packets reach a RoCE device. */
#ifndef WEFT_OBJECT_REACH_H
#define WEFT_OBJECT_REACH_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "object/group.h"

struct weft_dev;
struct weft_reach;

/* A net device of a struct weft_reach; under RTNL. */
struct weft_reach_netdev {
	struct list_head	node;		/* in weft_reach.netdevs */
	struct hlist_node	hash;		/* for weft_reach_next(), RCU */
	struct rcu_head		rcu;
	struct weft_reach	*reach;
	struct weft_groups	groups;		/* joined; keeps the reference to the net device */
	bool			found;		/* the last reach_follow() has found it */
};

/* The net devices of a device; under RTNL. */
struct weft_reach {
	struct list_head	list;		/* among those that are started */
	struct weft_reach_netdev own;		/* the device's own net device */
	struct list_head	netdevs;	/* @own, then those above */
	struct delayed_work	rejoin;		/* finds new net devices, joins lost groups again */
};

/* The membership of a device in a group; under RTNL. */
struct weft_hearing {
	struct weft_membership	own;		/* of the device's own net device */
	struct list_head	uppers;		/* of the net devices above */
};

void weft_reach_init(struct weft_reach *reach, struct net_device *ndev);
void weft_reach_start(struct weft_reach *reach);
void weft_reach_stop(struct weft_reach *reach);
void weft_reach_exit(struct weft_reach *reach);
struct weft_dev *weft_reach_next(const struct net_device *ndev, u32 *id);
void weft_reach_event(const struct net_device *ndev, unsigned long event);
void weft_reach_later(struct weft_reach *reach);
int weft_reach_join(struct weft_reach *reach, struct weft_hearing *hearing,
		    const union ib_gid *mgid);
void weft_reach_leave(struct weft_reach *reach, struct weft_hearing *hearing);

#endif /* WEFT_OBJECT_REACH_H */
