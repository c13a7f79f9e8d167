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
 * struct weft_groups - groups that a net device has been made to join, under RTNL
 * @ndev: the net device, alive as long as this
 * @in_dev: its configuration of IPv4 at the last look, with a reference; NULL: none
 * @in6_dev: of IPv6, likewise
 * @ipv4: memberships
 * @ipv6: likewise
 */
struct weft_groups {
	struct net_device	*ndev;
	struct in_device	*in_dev;
	struct inet6_dev	*in6_dev;
	struct weft_memberships	ipv4;
	struct weft_memberships	ipv6;
};

/**
 * weft_groups_init - prepare a net device's groups
 * @groups: zeroed
 * @ndev: the net device
 */
void weft_groups_init(struct weft_groups *groups, struct net_device *ndev);

/**
 * weft_groups_put - nobody uses them any more
 * @groups: without a membership
 */
void weft_groups_put(struct weft_groups *groups);

/**
 * weft_groups_look - something has happened to the net device
 * @groups: the net device's
 *
 * IP has been told before. References to what it has done away with are dropped, so
 * that no net device waits for them.
 *
 * Context: RTNL is held.
 * Return: whether there is something to be taken again by weft_groups_rejoin().
 */
bool weft_groups_look(struct weft_groups *groups);

/**
 * weft_groups_rejoin - take again what was lost
 * @groups: after weft_groups_look()
 * @most: how many; becomes less
 *
 * Context: process, RTNL is held.
 * Return: 0 or -ENOMEM.
 */
int weft_groups_rejoin(struct weft_groups *groups, u32 *most);

/**
 * weft_groups_each - visit each membership, joined or lost
 * @groups: the net device's
 * @visit: called for each until it returns what is not 0; may end that membership
 * @arg: for @visit
 *
 * Context: RTNL is held.
 * Return: what @visit has returned last; 0: there was none.
 */
int weft_groups_each(struct weft_groups *groups,
		     int (*visit)(struct weft_membership *membership, void *arg), void *arg);

/**
 * weft_group_join - a net device shall receive a group's packets
 * @groups: the net device's
 * @membership: of the caller, who keeps it until weft_group_leave()
 * @mgid: the group
 *
 * IP counts: others may join the same group.
 *
 * Context: process, RTNL is held.
 * Return: 0; -EINVAL: no multicast address, or there is no IPv6; -ENODEV: the
 * net device has no addresses of that family; -ENOMEM.
 */
int weft_group_join(struct weft_groups *groups, struct weft_membership *membership,
		    const union ib_gid *mgid);

/**
 * weft_group_await - the same, and if it cannot be now it is as if it was lost
 * @groups: the net device's
 * @membership: of the caller, who keeps it until weft_group_leave()
 * @mgid: the group, which some net device has joined
 *
 * Context: process, RTNL is held.
 */
void weft_group_await(struct weft_groups *groups, struct weft_membership *membership,
		      const union ib_gid *mgid);

/**
 * weft_group_leave - undo weft_group_join() or weft_group_await()
 * @groups: the net device's; it may have lost its membership meanwhile
 * @membership: that was joined
 *
 * Context: process, RTNL is held.
 */
void weft_group_leave(struct weft_groups *groups, struct weft_membership *membership);

#endif /* WEFT_OBJECT_GROUP_H */
