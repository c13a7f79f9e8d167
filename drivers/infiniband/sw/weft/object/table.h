/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names that may come from anywhere: device ids and QP numbers.
 *
 * QP numbers are unique on the host, so a local peer is found by one lookup,
 * whichever weft device it belongs to.
 */
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

/**
 * weft_dev_publish - give a device its id and let lookups find it
 * @dev: @dev->id is set
 *
 * Return: 0 or -ENOMEM.
 */
int weft_dev_publish(struct weft_dev *dev);

/**
 * weft_dev_unpublish - let lookups find a device no more
 * @dev: published; not freed before an RCU grace period
 */
void weft_dev_unpublish(struct weft_dev *dev);

/**
 * weft_dev_set_gid - change an entry of a device's GID table
 * @dev: the device
 * @index: of the entry
 * @gid: belongs to the table from here on; NULL: the entry is free
 *
 * The entry that was there is freed after a grace period.
 */
void weft_dev_set_gid(struct weft_dev *dev, u32 index, struct weft_gid *gid);

/**
 * weft_dev_find_gid - which device has an address
 * @net: namespace of the sender
 * @gid: of the destination
 * @ifindex: net device on whose link @gid is, if it is a link-local one
 *
 * Return: id of a device, 0 when there is none.
 */
u32 weft_dev_find_gid(const struct net *net, const union ib_gid *gid, int ifindex);

/**
 * weft_dev_find_lid - which device has a LID, and an active port
 * @fabric: in which it is
 * @lid: of the destination
 *
 * Return: id of a device, 0 when there is none.
 */
u32 weft_dev_find_lid(const struct weft_fabric *fabric, u16 lid);

/**
 * weft_dev_get_gid - the device that has an address
 * @net: namespace of the sender
 * @gid: of the destination
 * @ifindex: net device on whose link @gid is, if it is a link-local one
 *
 * Of several the first that @net sees, or if it sees none, the first.
 *
 * Context: RCU read side.
 * Return: the device, or NULL.
 */
struct weft_dev *weft_dev_get_gid(const struct net *net, const union ib_gid *gid,
				  int ifindex);

/**
 * weft_dev_has_gid - whether a device has an address
 * @id: of the device
 * @net: namespace of the sender
 * @gid: of the destination
 * @ifindex: net device on whose link @gid is, if it is a link-local one
 *
 * Return: true when it has.
 */
bool weft_dev_has_gid(u32 id, const struct net *net, const union ib_gid *gid, int ifindex);

/**
 * weft_dev_net_gone - a namespace ends: its addresses are nobody's any more
 * @net: the namespace
 *
 * The core takes the entries away later, in its own time. Nobody is at one of them any more
 * when this returns.
 *
 * Context: process.
 */
void weft_dev_net_gone(const struct net *net);

/**
 * weft_dev_gid_vlan - by which VLAN an address of a device is reached
 * @dev: the device
 * @net: namespace of the address
 * @gid: the address
 * @ifindex: net device, of a link-local address
 *
 * As the core sees it when it looks for the address of a received message: that of a
 * bond of VLANs, for one, has the id of the first of them, as long as it is there.
 *
 * Return: VLAN id, WEFT_VLAN_NONE: by none, or there is no such address.
 */
u16 weft_dev_gid_vlan(struct weft_dev *dev, const struct net *net,
		      const union ib_gid *gid, int ifindex);

/**
 * weft_dev_on - walk the devices on a net device
 * @ndev: the net device
 * @index: 0 to begin, kept by the walk
 *
 * Context: RCU read side.
 * Return: a device, or NULL at the end.
 */
struct weft_dev *weft_dev_on(const struct net_device *ndev, unsigned long *index);

/**
 * weft_qp_reserve - take a QP number
 * @qp: @qp->qpn is set, not soon one that was used before
 *
 * Return: 0 or -ENOMEM.
 */
int weft_qp_reserve(struct weft_qp *qp);

/**
 * weft_qp_publish - let lookups find a QP by its number
 * @qp: from weft_qp_reserve()
 */
void weft_qp_publish(struct weft_qp *qp);

/**
 * weft_qp_unpublish - let lookups find a QP no more and free its number
 * @qp: from weft_qp_reserve()
 */
void weft_qp_unpublish(struct weft_qp *qp);

/* The newest QP for each value of the low bits of its number: most lookups end here. */
extern struct weft_qp __rcu *weft_newest_qps[WEFT_NEWEST_QPS];

static inline struct weft_qp __rcu **weft_newest_qp(u32 qpn)
{
	return &weft_newest_qps[qpn % WEFT_NEWEST_QPS];
}

/* The part of weft_qp_get() for one that is not among them. */
struct weft_qp *weft_qp_find(u32 qpn);

/**
 * weft_qp_get - look a QP up
 * @qpn: its number
 *
 * Inline: a message on the local link does it twice.
 *
 * Return: the QP with a reference, or NULL.
 */
static inline struct weft_qp *weft_qp_get(u32 qpn)
{
	struct weft_qp *qp;

	/* a read side section, too, and no call */
	rcu_read_lock_sched();
	qp = rcu_dereference_sched(*weft_newest_qp(qpn));
	if (unlikely(!qp || qp->qpn != qpn))
		qp = weft_qp_find(qpn);
	weft_pause(WEFT_PAUSE_QP_FOUND);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	rcu_read_unlock_sched();
	return qp;
}

/**
 * weft_qp_next - the QPs of a device, one after the other
 * @dev_id: of the device
 * @index: where the last one was, 0 at first
 *
 * Return: the QP, referenced; NULL: there are no more.
 */
struct weft_qp *weft_qp_next(u32 dev_id, unsigned long *index);

/**
 * weft_qp_get_special - look QP 0 or QP 1 of a device up
 * @dev_id: of the device
 * @qpn: 0 or 1
 *
 * Return: the QP with a reference, or NULL.
 */
struct weft_qp *weft_qp_get_special(u32 dev_id, u32 qpn);

/**
 * weft_table_exit - at module unload, when no device is left
 */
void weft_table_exit(void);

#endif /* WEFT_OBJECT_TABLE_H */
