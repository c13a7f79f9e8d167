/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The net devices by which a group's packets reach a device: its own one, and those above:
 * VLAN interfaces, the bridge or bond whose port it is, and what is above these. Their
 * addresses are GIDs of the device, too. IP sees a frame only at the net device where it
 * comes up in the end, and takes it only if that has joined the group. A macvlan or ipvlan
 * interface gets copies of what the net device below sees as well, so it is none of them.
 *
 * A bond with one active slave takes the frames of that slave only. The core has the same
 * rule for GIDs (is_eth_port_of_netdev_filter()).
 *
 * These net devices come and go. Each joins all that the own one has joined.
 */
#ifndef WEFT_OBJECT_REACH_H
#define WEFT_OBJECT_REACH_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "object/group.h"

struct weft_dev;
struct weft_reach;

/**
 * struct weft_reach_netdev - a net device that packets reach a device by, under RTNL
 * @node: in struct weft_reach.netdevs
 * @hash: for weft_reach_next(), RCU
 * @rcu: freed after a grace period
 * @reach: of the device
 * @groups: what the net device has joined; it is referenced
 * @found: weft_reach still leads there
 */
struct weft_reach_netdev {
	struct list_head	node;
	struct hlist_node	hash;
	struct rcu_head		rcu;
	struct weft_reach	*reach;
	struct weft_groups	groups;
	bool			found;
};

/**
 * struct weft_reach - the net devices of a device, under RTNL
 * @list: all that are started
 * @own: the device's net device
 * @netdevs: all by which packets reach the device, @own first
 * @rejoin: takes again what was lost, and looks for net devices that are new
 */
struct weft_reach {
	struct list_head	list;
	struct weft_reach_netdev own;
	struct list_head	netdevs;
	struct delayed_work	rejoin;
};

/**
 * struct weft_hearing - of a device in a group, under RTNL
 * @own: membership of its net device
 * @uppers: those of the net devices above
 */
struct weft_hearing {
	struct weft_membership	own;
	struct list_head	uppers;
};

/**
 * weft_reach_init - prepare a device
 * @reach: zeroed
 * @ndev: its net device
 */
void weft_reach_init(struct weft_reach *reach, struct net_device *ndev);

/**
 * weft_reach_start - from here on packets find the device, and weft_reach_event() is told
 * @reach: of a device that is published, and will be registered
 *
 * Context: process, RTNL is held.
 */
void weft_reach_start(struct weft_reach *reach);

/**
 * weft_reach_stop - packets find the device no more
 * @reach: started or not; no group is joined
 *
 * Context: process, RTNL is held.
 */
void weft_reach_stop(struct weft_reach *reach);

/**
 * weft_reach_exit - nobody calls weft_reach_later() any more
 * @reach: a grace period after weft_reach_stop()
 *
 * Context: process.
 */
void weft_reach_exit(struct weft_reach *reach);

/**
 * weft_reach_next - walk the devices that packets reach by a net device
 * @ndev: the net device
 * @id: 0 to begin, kept by the walk: the device's id
 *
 * In the order in which the devices were added. No device with an InfiniBand port is among
 * them: it has a link of its own, the cable to its switch.
 *
 * Context: RCU read side; between two steps it may be left.
 * Return: a device, or NULL at the end.
 */
struct weft_dev *weft_reach_next(const struct net_device *ndev, u32 *id);

/**
 * weft_reach_event - something has happened to a net device
 * @ndev: the net device
 * @event: NETDEV_CHANGEUPPER and so on
 *
 * IP has been told before. References to what it has done away with are dropped, so
 * that no net device waits for them.
 *
 * Context: RTNL is held.
 */
void weft_reach_event(const struct net_device *ndev, unsigned long event);

/**
 * weft_reach_later - look soon whether something is missing
 * @reach: of a device that weft_reach_exit() is called for after a grace period
 *
 * Context: any, RCU read side.
 */
void weft_reach_later(struct weft_reach *reach);

/**
 * weft_reach_join - a device shall receive a group's packets
 * @reach: the device's
 * @hearing: of the caller, who keeps it until weft_reach_leave()
 * @mgid: the group
 *
 * Context: process, takes RTNL.
 * Return: as weft_group_join() for its net device. A net device above that cannot join now
 * is tried again.
 */
int weft_reach_join(struct weft_reach *reach, struct weft_hearing *hearing,
		    const union ib_gid *mgid);

/**
 * weft_reach_leave - undo weft_reach_join()
 * @reach: the device's
 * @hearing: that was joined
 *
 * Context: process, takes RTNL.
 */
void weft_reach_leave(struct weft_reach *reach, struct weft_hearing *hearing);

#endif /* WEFT_OBJECT_REACH_H */
