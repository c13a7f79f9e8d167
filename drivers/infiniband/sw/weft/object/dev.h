/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A weft device: one ib_device with one port, RoCE or InfiniBand, on a net device. */
#ifndef WEFT_OBJECT_DEV_H
#define WEFT_OBJECT_DEV_H

#include <rdma/ib_verbs.h>

#include "mem/region.h"
#include "object/advise.h"
#include "object/inject.h"
#include "object/mcast.h"
#include "object/strict.h"
#include "object/why.h"
#include "params.h"
#include "stats.h"

struct weft_hca;
struct weft_link;
struct weft_port_ops;
struct weft_parent;
struct weft_qp;
struct weft_steering;

#define WEFT_VLAN_NONE	0xffff

/* An entry of a port's GID table, as set by the core. Immutable but @gone; read under RCU. */
struct weft_gid {
	struct hlist_node	node;		/* in the hash of object/table.c, by address */
	struct rcu_head		rcu;
	struct weft_dev		*dev;
	u32			index;
	union ib_gid		gid;
	struct net		*net;		/* of the entry's net device; valid until @gone */
	int			ifindex;	/* of the entry's net device */
	bool			gone;		/* @net has ended before the entry */
};

/* A device. Members are immutable after registration unless a lock or writer is named. */
struct weft_dev {
	struct ib_device	ibdev;		/* allocated and freed by the core, with RCU */
	struct net_device	*ndev;		/* referenced */
	struct weft_parent	*parent;	/* under RTNL */
	const struct weft_link	*wire;		/* the link that sends packets */
	const struct weft_port_ops *port_ops;	/* the kind of port */
	struct weft_hca		*hca;		/* InfiniBand port, else NULL */
	u32			id;		/* not reused soon; may name a removed device */
	__be64			guid;		/* of the node */
	/*
	 * enum ib_port_state, read without a lock. RoCE: written under RTNL; InfiniBand: under
	 * the lock of the port.
	 */
	u32			port_state;
	u32			speed;		/* RoCE: Mbit/s last reported; 0: not yet */
	struct work_struct	speed_work;	/* reports a change of @speed */
	struct weft_region_table regions;	/* memory keys */
	struct xarray		ahs;		/* id to struct weft_ah_entry, RCU */
	struct xarray		counters;	/* of rdma_counters, see verbs/counter.c */
	u32			ah_next;	/* next id in @ahs, under its lock */
	struct weft_advices	advices;
	struct weft_gid __rcu	*gids[WEFT_GID_TBL_LEN];	/* see weft_dev_set_gid() */
	bool			rxe;		/* rdma_rxe's provider may use it, see device.h */
	bool			local_link;	/* use no packets between QPs of this host */
	/* RoCEv2: send an ICRC with unicast packets, and check theirs; multicast always does */
	bool			icrc;
	u8			cc;	/* RoCEv2: enum weft_cc_mode */
	bool			uso;	/* RoCEv2: use USO of the net device, link/uso.c */
	bool			latency;	/* see object/latency.h */
	struct weft_qp __rcu	*special[2];	/* QP 0 (InfiniBand only) and QP 1 */
	struct weft_mcast_table	mcast;
	struct weft_inject	inject;
	struct weft_why		why;
	struct weft_strict	strict;
	/* from the first rule of flow steering on; under RTNL */
	struct weft_steering __rcu *steering;
	struct net_device __rcu	*monitor;	/* written under RTNL; NULL: there is none */
	atomic_t		num_qp;
	atomic_t		num_cq;
	atomic_t		num_srq;
	atomic_t		num_rwq_tables;
	atomic_t		num_comp_cntr;
	atomic_t		num_pd;
	atomic_t		num_mr;
	atomic_t		num_mw;
	atomic_t		early_bytes;	/* of memory of all packets in struct weft_early */
	atomic64_t		dm_size;	/* bytes of device memory in use */
	atomic64_t		counts[WEFT_DEV_STAT_NUM];	/* by enum weft_dev_stat */
	struct weft_stats __percpu *stats;	/* of the port */
};

static inline struct weft_dev *to_weft_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct weft_dev, ibdev);
}

/* Whether messages may be sent and received. */
static inline bool weft_dev_port_active(const struct weft_dev *dev)
{
	return READ_ONCE(dev->port_state) == IB_PORT_ACTIVE;
}

#endif /* WEFT_OBJECT_DEV_H */
