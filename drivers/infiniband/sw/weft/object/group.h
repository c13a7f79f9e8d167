/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* IP multicast memberships of a net device. */
#ifndef WEFT_OBJECT_GROUP_H
#define WEFT_OBJECT_GROUP_H

#include <linux/list.h>
#include <rdma/ib_verbs.h>

struct in_device;
struct inet6_dev;
struct net_device;

/* The membership of a net device in a group; under RTNL. */
struct weft_membership {
	struct list_head	node;		/* in a list of struct weft_memberships */
	/* IPv6, or IPv4-mapped (which rdma_cm uses for IPv4 groups on RoCEv2) */
	union ib_gid		mgid;
	bool			joined;		/* in the present configuration */
};

/* The memberships of one address family. */
struct weft_memberships {
	struct list_head	joined;		/* in the present configuration */
	struct list_head	lost;		/* with an earlier one, or not joined yet */
};

/* The memberships of a net device; under RTNL. */
struct weft_groups {
	struct net_device	*ndev;
	struct in_device	*in_dev;	/* at the last look, referenced, or NULL */
	struct inet6_dev	*in6_dev;	/* likewise */
	struct weft_memberships	ipv4;
	struct weft_memberships	ipv6;
};

/* All functions below run in process context, with RTNL held unless they say otherwise. */

void weft_groups_init(struct weft_groups *groups, struct net_device *ndev);
void weft_groups_put(struct weft_groups *groups);
bool weft_groups_look(struct weft_groups *groups);
int weft_groups_rejoin(struct weft_groups *groups, u32 *most);
int weft_groups_each(struct weft_groups *groups,
		     int (*visit)(struct weft_membership *membership, void *arg), void *arg);
int weft_group_join(struct weft_groups *groups, struct weft_membership *membership,
		    const union ib_gid *mgid);
void weft_group_await(struct weft_groups *groups, struct weft_membership *membership,
		      const union ib_gid *mgid);
void weft_group_leave(struct weft_groups *groups, struct weft_membership *membership);

#endif /* WEFT_OBJECT_GROUP_H */
