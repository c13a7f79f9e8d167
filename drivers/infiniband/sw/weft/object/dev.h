/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A weft device: one ib_device with one port, RoCE or InfiniBand, on a net device.
 */
#ifndef WEFT_OBJECT_DEV_H
#define WEFT_OBJECT_DEV_H

#include <rdma/ib_verbs.h>

#include "mem/region.h"
#include "object/advise.h"
#include "object/mcast.h"
#include "params.h"
#include "stats.h"

struct weft_hca;
struct weft_link;
struct weft_port_ops;
struct weft_parent;
struct weft_qp;

#define WEFT_VLAN_NONE	0xffff

/**
 * struct weft_gid - an entry of the port's GID table, as the core set it
 *
 * Immutable but @gone; read under RCU.
 *
 * @node: for lookups by address, of object/table.c
 * @rcu: freed after a grace period
 * @dev: whose entry
 * @index: in the table
 * @gid: the address
 * @net: namespace of the entry's net device, alive as long as the entry
 * @ifindex: of the entry's net device
 * @gone: the namespace has ended before its entry
 */
struct weft_gid {
	struct hlist_node	node;
	struct rcu_head		rcu;
	struct weft_dev		*dev;
	u32			index;
	union ib_gid		gid;
	struct net		*net;
	int			ifindex;
	bool			gone;
};

/**
 * struct weft_dev - a device
 *
 * Immutable after registration unless a lock is named.
 *
 * @ibdev: first, allocated and freed by the core (after a grace period)
 * @ndev: the net device, with a reference
 * @parent: our virtual parent device, of object/parent.c; under RTNL
 * @wire: link that carries packets
 * @port_ops: the kind of port it has
 * @hca: with an InfiniBand port, else NULL
 * @id: never used twice, names the device where a pointer could dangle
 * @guid: node GUID, network order
 * @port_state: enum ib_port_state; written under RTNL, of an InfiniBand port under its
 *	lock, by what happens to it; read by anybody
 * @speed: of a RoCE port, in Mbit/s: what was told of it last; 0: nothing yet
 * @speed_work: looks whether it is another one
 * @regions: memory keys
 * @ahs: address handles, id to struct weft_ah_entry, RCU
 * @counters: of QPs counted by themselves, by id; of verbs/counter.c
 * @ah_next: cyclic allocation of @ahs, under its lock
 * @advices: calls that wait for a prefetch
 * @gids: what the core put into the GID table, RCU; set by weft_dev_set_gid()
 * @local_link: peers on this host are reached without packets
 * @icrc: RoCEv2 packets for one QP are sent with an ICRC, which those that come are
 *	checked by; those for a group always are
 * @special: QP 0 (of an InfiniBand port only) and QP 1, RCU
 * @mcast: multicast groups
 * @num_qp: QPs of this device
 * @num_cq: likewise
 * @num_srq: likewise
 * @num_pd: likewise
 * @num_mr: likewise
 * @num_mw: likewise
 * @dm_size: bytes of device memory that are allocated
 * @counts: counters of the device, by enum weft_dev_stat
 * @stats: counters of the port, per CPU
 */
struct weft_dev {
	struct ib_device	ibdev;
	struct net_device	*ndev;
	struct weft_parent	*parent;
	const struct weft_link	*wire;
	const struct weft_port_ops *port_ops;
	struct weft_hca		*hca;
	u32			id;
	__be64			guid;
	u32			port_state;
	u32			speed;
	struct work_struct	speed_work;
	struct weft_region_table regions;
	struct xarray		ahs;
	struct xarray		counters;
	u32			ah_next;
	struct weft_advices	advices;
	struct weft_gid __rcu	*gids[WEFT_GID_TBL_LEN];
	bool			local_link;
	bool			icrc;
	struct weft_qp __rcu	*special[2];
	struct weft_mcast_table	mcast;
	atomic_t		num_qp;
	atomic_t		num_cq;
	atomic_t		num_srq;
	atomic_t		num_pd;
	atomic_t		num_mr;
	atomic_t		num_mw;
	atomic64_t		dm_size;
	atomic64_t		counts[WEFT_DEV_STAT_NUM];
	struct weft_stats __percpu *stats;
};

static inline struct weft_dev *to_weft_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct weft_dev, ibdev);
}

/**
 * weft_dev_port_active - whether messages may leave and arrive
 * @dev: the device
 *
 * Return: true when the port's state is ACTIVE.
 */
static inline bool weft_dev_port_active(const struct weft_dev *dev)
{
	return READ_ONCE(dev->port_state) == IB_PORT_ACTIVE;
}

#endif /* WEFT_OBJECT_DEV_H */
