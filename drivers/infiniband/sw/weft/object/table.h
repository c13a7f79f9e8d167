/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Lookups of devices by id or address, and of QPs by number, which is unique on the host. */
#ifndef WEFT_OBJECT_TABLE_H
#define WEFT_OBJECT_TABLE_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include "object/qp.h"
#include "params.h"
#include "pause.h"

struct net;
struct net_device;
struct weft_dev;
struct weft_fabric;
struct weft_gid;
union ib_gid;

/* Set @dev->id, and let lookups find the device. Return: 0 or -ENOMEM. */
int weft_dev_publish(struct weft_dev *dev);
void weft_dev_unpublish(struct weft_dev *dev);

void weft_dev_set_gid(struct weft_dev *dev, u32 index, struct weft_gid *gid);
u32 weft_dev_find_gid(const struct net *net, const union ib_gid *gid, int ifindex);
u32 weft_dev_find_lid(const struct weft_fabric *fabric, u16 lid);
struct weft_dev *weft_dev_get_gid(const struct net *net, const union ib_gid *gid, int ifindex);
bool weft_dev_has_gid(u32 id, const struct net *net, const union ib_gid *gid, int ifindex);
void weft_dev_net_gone(const struct net *net);
u16 weft_dev_gid_vlan(struct weft_dev *dev, const struct net *net,
		      const union ib_gid *gid, int ifindex);
struct weft_dev *weft_dev_on(const struct net_device *ndev, unsigned long *index);

/* Allocate @qp->qpn; numbers are not reused soon. Return: 0 or -ENOMEM. */
int weft_qp_reserve(struct weft_qp *qp);
/* Let lookups find a QP from weft_qp_reserve(). */
void weft_qp_publish(struct weft_qp *qp);
void weft_qp_unpublish(struct weft_qp *qp);

/* The newest QP for each value of the low bits of QP numbers; most lookups end here. */
extern struct weft_qp __rcu *weft_newest_qps[WEFT_NEWEST_QPS];

static inline struct weft_qp __rcu **weft_newest_qp(u32 qpn)
{
	return &weft_newest_qps[qpn % WEFT_NEWEST_QPS];
}

struct weft_qp *weft_qp_find(u32 qpn);

/*
 * Look a QP up, under rcu_read_lock_sched(). It may have been destroyed, unless the caller owns one
 * of its turns, and is not freed before the caller leaves RCU.
 */
static inline struct weft_qp *weft_qp_peek(u32 qpn)
{
	struct weft_qp *qp = rcu_dereference_sched(*weft_newest_qp(qpn));

	if (unlikely(!qp || qp->qpn != qpn))
		qp = weft_qp_find(qpn);
	weft_pause(WEFT_PAUSE_QP_FOUND);
	return qp;
}

/* Look a QP up. Inline, as each message of the local link needs it. Takes a reference. */
static inline struct weft_qp *weft_qp_get(u32 qpn)
{
	struct weft_qp *qp;

	/* also an RCU read-side section, and needs no function call */
	rcu_read_lock_sched();
	qp = weft_qp_peek(qpn);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	rcu_read_unlock_sched();
	return qp;
}

struct weft_qp *weft_qp_next(u32 dev_id, unsigned long *index);
struct weft_qp *weft_qp_get_special(u32 dev_id, u32 qpn);
void weft_table_exit(void);

#endif /* WEFT_OBJECT_TABLE_H */
