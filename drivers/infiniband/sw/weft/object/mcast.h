/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Multicast groups of a device: which QPs get a copy.
 */
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

/**
 * struct weft_mcast_table - groups of a device
 * @lock: serialises changes
 * @bucket: groups by hash of their GID, RCU
 * @num_groups: under @lock
 * @reach: net devices that have joined them
 */
struct weft_mcast_table {
	struct mutex		lock;
	struct hlist_head	bucket[WEFT_MCAST_BUCKETS];
	u32			num_groups;
	struct weft_reach	reach;
};

/**
 * struct weft_mcast_members - the members of a group at one time
 *
 * Immutable while more than the group refers to it: a change makes a new one.
 *
 * The core counts an attachment for each GID and LID, and detaches each of them when the QP
 * goes, while a RoCE group is its GID alone: one QP may be attached several times.
 *
 * @rcu: freed after a grace period
 * @refs: one for the group, one for each delivery in progress
 * @num: QPs
 * @repeats: attachments of these QPs beyond the first one
 * @qp: the QPs, then one entry for each repeat; each entry has a reference
 */
struct weft_mcast_members {
	struct rcu_head		rcu;
	refcount_t		refs;
	u32			num;
	u32			repeats;
	struct weft_qp		*qp[];
};

/**
 * weft_mcast_init - prepare a device's table
 * @table: of the device
 * @ndev: its net device
 */
void weft_mcast_init(struct weft_mcast_table *table, struct net_device *ndev);

int weft_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int weft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/**
 * weft_mcast_members_get - who gets a message to a group
 * @table: of the device
 * @gid: of the group
 *
 * Return: the members with a reference, NULL: nobody.
 */
struct weft_mcast_members *weft_mcast_members_get(struct weft_mcast_table *table,
						  const union ib_gid *gid);

/**
 * weft_mcast_members_put - drop a reference
 * @members: from weft_mcast_members_get()
 */
void weft_mcast_members_put(struct weft_mcast_members *members);

#endif /* WEFT_OBJECT_MCAST_H */
