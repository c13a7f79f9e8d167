/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * By which net devices a group's packets reach a device: its own, and the VLAN interfaces
 * on that, whose addresses are GIDs of the device, too. What comes with a tag IP takes
 * only if the VLAN interface itself has joined the group.
 *
 * The VLAN interfaces come and go. Each joins all that the own one has joined.
 */
#ifndef WEFT_OBJECT_REACH_H
#define WEFT_OBJECT_REACH_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include "object/group.h"

/**
 * struct weft_reach - the net devices of a device, under RTNL
 * @own: groups of the device's net device
 * @vlans: of the VLAN interfaces on it
 * @rejoin: takes again what was lost, and looks for VLAN interfaces
 */
struct weft_reach {
	struct weft_groups	own;
	struct list_head	vlans;
	struct delayed_work	rejoin;
};

/**
 * struct weft_hearing - of a device in a group, under RTNL
 * @own: membership of its net device
 * @tagged: those of VLAN interfaces
 */
struct weft_hearing {
	struct weft_membership	own;
	struct list_head	tagged;
};

/**
 * weft_reach_init - prepare a device
 * @reach: zeroed
 * @ndev: its net device
 */
void weft_reach_init(struct weft_reach *reach, struct net_device *ndev);

/**
 * weft_reach_start - from here on weft_reach_upper() is told
 * @reach: of a device that will be registered
 *
 * Context: process, RTNL is held.
 */
void weft_reach_start(struct weft_reach *reach);

/**
 * weft_reach_stop - nobody joins any more, or tells of events
 * @reach: of a device that will be freed; no group is joined
 *
 * Context: process, takes RTNL.
 */
void weft_reach_stop(struct weft_reach *reach);

/**
 * weft_reach_look - something has happened to the net device, or to a VLAN interface
 * @reach: of a device on it
 *
 * IP has been told before. References to what it has done away with are dropped, so
 * that no net device waits for them.
 *
 * Context: RTNL is held.
 */
void weft_reach_look(struct weft_reach *reach);

/**
 * weft_reach_later - look soon, also for VLAN interfaces that are there already
 * @reach: of a device that weft_reach_stop() will stop after a grace period
 *
 * Context: any, RCU read side.
 */
void weft_reach_later(struct weft_reach *reach);

/**
 * weft_reach_upper - something has been put onto the net device, or taken away
 * @reach: of a device on it
 * @upper: perhaps a VLAN interface
 * @linked: it is there now
 *
 * Context: process, RTNL is held.
 */
void weft_reach_upper(struct weft_reach *reach, struct net_device *upper, bool linked);

/**
 * weft_reach_join - a device shall receive a group's packets
 * @reach: the device's
 * @hearing: of the caller, who keeps it until weft_reach_leave()
 * @mgid: the group
 *
 * Context: process, takes RTNL.
 * Return: as weft_group_join() for its net device. A VLAN interface that cannot join now
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
