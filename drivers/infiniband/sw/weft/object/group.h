/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * IP multicast: a net device has to take the frames of a group, and routers
 * and switches have to be told (IGMP, MLD).
 *
 * IP keeps that in the net device's configuration of the family, and forgets it with
 * that: when the MTU becomes too small for the family, or the net device moves to
 * another namespace. Its memberships are taken again in the next one, and only what was
 * taken in the present one is given back: the others are somebody else's.
 */
#ifndef WEFT_OBJECT_GROUP_H
#define WEFT_OBJECT_GROUP_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

struct in_device;
struct inet6_dev;
struct net_device;

/**
 * struct weft_membership - of a net device in a group, under RTNL
 * @node: in one of the lists of its family
 * @mgid: IPv6 multicast address, or a mapped IPv4 one (what rdma_cm makes of an IPv4
 *	group for RoCEv2)
 * @joined: in the configuration that was there at the last look
 */
struct weft_membership {
	struct list_head	node;
	union ib_gid		mgid;
	bool			joined;
};

/**
 * struct weft_memberships - those of a family
 * @joined: in the present configuration
 * @lost: with the one before
 */
struct weft_memberships {
	struct list_head	joined;
	struct list_head	lost;
};

/**
 * struct weft_groups - groups that a device has had its net device join, under RTNL
 * @ndev: the net device, alive as long as this
 * @in_dev: its configuration of IPv4 at the last look, with a reference; NULL: none
 * @in6_dev: of IPv6, likewise
 * @ipv4: memberships
 * @ipv6: likewise
 * @rejoin: takes again what was lost
 */
struct weft_groups {
	struct net_device	*ndev;
	struct in_device	*in_dev;
	struct inet6_dev	*in6_dev;
	struct weft_memberships	ipv4;
	struct weft_memberships	ipv6;
	struct delayed_work	rejoin;
};

/**
 * weft_groups_init - prepare a device's groups
 * @groups: zeroed
 * @ndev: the net device
 */
void weft_groups_init(struct weft_groups *groups, struct net_device *ndev);

/**
 * weft_groups_stop - nobody joins any more, or tells of events
 * @groups: of a device that will be freed
 *
 * Context: process, without RTNL.
 */
void weft_groups_stop(struct weft_groups *groups);

/**
 * weft_groups_look - something has happened to the net device
 * @groups: of a device on it
 *
 * IP has been told before. References to what it has done away with are dropped, so
 * that no net device waits for them.
 *
 * Context: RTNL is held.
 */
void weft_groups_look(struct weft_groups *groups);

/**
 * weft_groups_address - the net device has got an IPv6 address
 * @groups: of a device on it, which weft_groups_stop() will stop after a grace period
 * @in6_dev: the address's, which may have been made for it
 *
 * Context: any, RCU read side.
 */
void weft_groups_address(struct weft_groups *groups, const struct inet6_dev *in6_dev);

/**
 * weft_group_join - a net device shall receive a group's packets
 * @groups: the net device's
 * @membership: of the caller, who keeps it until weft_group_leave()
 * @mgid: the group
 *
 * IP counts: others may join the same group.
 *
 * Context: process, takes RTNL.
 * Return: 0; -EINVAL: no multicast address, or there is no IPv6; -ENODEV: the
 * net device has no addresses of that family; -ENOMEM.
 */
int weft_group_join(struct weft_groups *groups, struct weft_membership *membership,
		    const union ib_gid *mgid);

/**
 * weft_group_leave - undo weft_group_join()
 * @groups: the net device's; it may have lost its membership meanwhile
 * @membership: that was joined
 *
 * Context: process, takes RTNL.
 */
void weft_group_leave(struct weft_groups *groups, struct weft_membership *membership);

#endif /* WEFT_OBJECT_GROUP_H */
