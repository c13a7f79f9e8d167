/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Multicast groups of a device, and the QPs attached to them. */
#ifndef WEFT_OBJECT_MCAST_H
#define WEFT_OBJECT_MCAST_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

#include "object/reach.h"

struct net_device;
struct weft_dev;
struct weft_qp;

#define WEFT_MCAST_BUCKETS 64

struct weft_mcast_table {
	struct mutex		lock;		/* serialises changes */
	struct hlist_head	bucket[WEFT_MCAST_BUCKETS];	/* groups by MGID, RCU */
	u32			num_groups;	/* under @lock */
	struct weft_reach	reach;		/* RoCE: net devices that join the groups */
};

/*
 * A snapshot of the members of a group. It is immutable while anybody but the group has a
 * reference, so a change makes a new one (but see mcast_leave_in_place()).
 *
 * A QP may be attached to a group several times: the core counts an attachment per MGID and
 * LID, and detaches each of them when the QP is destroyed, while a RoCE group is its MGID alone.
 */
struct weft_mcast_members {
	struct rcu_head		rcu;
	refcount_t		refs;		/* of the group, and of deliveries in progress */
	u32			num;		/* of QPs */
	u32			repeats;	/* attachments of these QPs beyond the first */
	struct weft_qp		*qp[];		/* @num QPs, then @repeats; each referenced */
};

void weft_mcast_init(struct weft_mcast_table *table, struct net_device *ndev, bool ib);
int weft_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int weft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
struct weft_mcast_members *weft_mcast_members_get(struct weft_mcast_table *table,
						  const union ib_gid *gid);
void weft_mcast_members_put(struct weft_mcast_members *members);

#endif /* WEFT_OBJECT_MCAST_H */
