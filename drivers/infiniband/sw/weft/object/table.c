// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Lookups of devices by id or address, and of QPs by number.
 *
 * QP numbers are unique on the host, so one lookup finds a local peer, whichever weft device
 * it belongs to.
 */
#include "object/table.h"

#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "object/dev.h"
#include "object/hca.h"
#include "pause.h"

/* id to struct weft_dev; an id is reused only after 2^31 others */
static DEFINE_XARRAY_ALLOC1(table_devices);
static u32 table_next_device;

/*
 * The struct weft_gid of all devices, by namespace and address, RCU. A hash, because every
 * received packet costs a lookup, even if it is for none of them.
 */
static DEFINE_HASHTABLE(table_gids, 10);
static DEFINE_SPINLOCK(table_gids_lock);

/* QP number to struct weft_qp; NULL while reserved */
static DEFINE_XARRAY_FLAGS(table_qps, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
static u32 table_next_qpn;
/*
 * The number of the last destroyed QP stays reserved; 0: none yet. This keeps the nodes of the
 * tree allocated: numbers ascend, so a program that creates and destroys one QP at a time would
 * allocate and free nodes for each of them.
 */
static u32 table_last_qpn;

/* Written under the lock of table_qps. */
struct weft_qp __rcu *weft_newest_qps[WEFT_NEWEST_QPS];

int weft_dev_publish(struct weft_dev *dev)
{
	int ret = xa_alloc_cyclic(&table_devices, &dev->id, dev,
				  XA_LIMIT(1, INT_MAX), &table_next_device,
				  GFP_KERNEL);

	return ret < 0 ? ret : 0;
}

/* Lookups may find the device until an RCU grace period has passed. */
void weft_dev_unpublish(struct weft_dev *dev)
{
	xa_erase(&table_devices, dev->id);
}

static u32 gid_hash(const struct net *net, const union ib_gid *gid)
{
	return jhash2((const u32 *)gid->raw, sizeof(*gid) / sizeof(u32), hash_ptr(net, 32));
}

/*
 * Replace an entry of a device's GID table; @gid is NULL to clear it. The table owns @gid from
 * here on, and frees the previous entry after a grace period.
 */
void weft_dev_set_gid(struct weft_dev *dev, u32 index, struct weft_gid *gid)
{
	struct weft_gid *before;

	spin_lock(&table_gids_lock);
	before = rcu_replace_pointer(dev->gids[index], gid, lockdep_is_held(&table_gids_lock));
	if (before)
		hash_del_rcu(&before->node);
	if (gid)
		hash_add_rcu(table_gids, &gid->node, gid_hash(gid->net, &gid->gid));
	spin_unlock(&table_gids_lock);
	if (before)
		kfree_rcu(before, rcu);
}
WEFT_EXPORT_FOR_TEST(weft_dev_set_gid);

/* Several links may have the same link-local address; @ifindex tells them apart. */
static bool gid_matches(const struct weft_gid *entry, const struct net *net,
			const union ib_gid *gid, int ifindex)
{
	return entry->net == net && !READ_ONCE(entry->gone) &&
	       !memcmp(&entry->gid, gid, sizeof(*gid)) &&
	       (!rdma_link_local_addr((struct in6_addr *)gid->raw) ||
		entry->ifindex == ifindex);
}

/* RCU read side. Return: the matching entry with the lowest index, or NULL. */
static const struct weft_gid *dev_find_gid(u32 id, const struct net *net,
					   const union ib_gid *gid, int ifindex)
{
	const struct weft_gid *entry, *first = NULL;

	hash_for_each_possible_rcu(table_gids, entry, node, gid_hash(net, gid))
		if (entry->dev->id == id && gid_matches(entry, net, gid, ifindex) &&
		    (!first || entry->index < first->index))
			first = entry;
	return first;
}

/* Whether device @id has the address; arguments as for weft_dev_find_gid(). */
bool weft_dev_has_gid(u32 id, const struct net *net, const union ib_gid *gid, int ifindex)
{
	bool found;

	rcu_read_lock();
	found = dev_find_gid(id, net, gid, ifindex);
	rcu_read_unlock();
	return found;
}

/*
 * A namespace ends: lookups no longer find its addresses, although the core removes the entries
 * only later. Waits for the readers that have found one. Process context.
 */
void weft_dev_net_gone(const struct net *net)
{
	struct weft_gid *entry;
	bool found = false;
	int bucket;

	spin_lock(&table_gids_lock);
	hash_for_each(table_gids, bucket, entry, node) {
		if (entry->net != net)
			continue;
		WRITE_ONCE(entry->gone, true);
		found = true;
	}
	spin_unlock(&table_gids_lock);
	if (found)
		synchronize_rcu();
}

/*
 * The VLAN id of an address. WEFT_VLAN_NONE: untagged, or the device does not have it.
 *
 * The id is that by which the core looks up the destination address of a received message. For
 * example, an address of a bond of VLANs has the id of the first VLAN of the bond.
 */
u16 weft_dev_gid_vlan(struct weft_dev *dev, const struct net *net,
		      const union ib_gid *gid, int ifindex)
{
	const struct weft_gid *entry;
	const struct ib_gid_attr *attr;
	u16 vlan_id = WEFT_VLAN_NONE;

	rcu_read_lock();
	entry = dev_find_gid(dev->id, net, gid, ifindex);
	attr = entry ? rdma_get_gid_attr(&dev->ibdev, 1, entry->index) : ERR_PTR(-ENOENT);
	rcu_read_unlock();
	if (IS_ERR(attr))
		return vlan_id;
	rdma_read_gid_l2_fields(attr, &vlan_id, NULL);
	rdma_put_gid_attr(attr);
	return vlan_id;
}

/*
 * weft_dev_find_gid() for a caller in an RCU read-side section. If several devices have the
 * address, the result is the oldest one that is accessible in @net, else the oldest one.
 *
 * Devices on one net device have the same addresses. The result is the device that rdma_cm would
 * choose: the first that is accessible in the namespace.
 */
struct weft_dev *weft_dev_get_gid(const struct net *net, const union ib_gid *gid,
				  int ifindex)
{
	const struct weft_gid *entry;
	struct weft_dev *dev = NULL;
	bool seen = false, sees;

	hash_for_each_possible_rcu(table_gids, entry, node, gid_hash(net, gid)) {
		if (!gid_matches(entry, net, gid, ifindex))
			continue;
		sees = rdma_dev_access_netns(&entry->dev->ibdev, net);
		if (dev && (sees == seen ? dev->id < entry->dev->id : seen))
			continue;
		dev = entry->dev;
		seen = sees;
	}
	return dev;
}

/*
 * Find the device that has address @gid in namespace @net. For a link-local address @ifindex is
 * the net device on whose link it is; otherwise it is ignored. If several devices have the
 * address, see weft_dev_get_gid(). Return: the device's id; 0: none.
 */
u32 weft_dev_find_gid(const struct net *net, const union ib_gid *gid, int ifindex)
{
	struct weft_dev *dev;
	u32 id;

	rcu_read_lock();
	dev = weft_dev_get_gid(net, gid, ifindex);
	weft_pause(WEFT_PAUSE_GID_FOUND);
	id = dev ? dev->id : 0;
	rcu_read_unlock();
	return id;
}

static bool dev_has_lid(const struct weft_dev *dev, const struct weft_fabric *fabric, u16 lid)
{
	const struct weft_hca *hca = dev->hca;

	return hca && READ_ONCE(hca->fabric) == fabric && weft_dev_port_active(dev) &&
	       weft_ibport_has_lid(&hca->port, lid);
}

/* Find the device with a LID and an active port in @fabric. Return: its id; 0: none. */
u32 weft_dev_find_lid(const struct weft_fabric *fabric, u16 lid)
{
	struct weft_dev *dev;
	unsigned long index;
	u32 id = 0;

	rcu_read_lock();
	xa_for_each(&table_devices, index, dev) {
		if (!dev_has_lid(dev, fabric, lid))
			continue;
		weft_pause(WEFT_PAUSE_IB_LID_FOUND);
		id = dev->id;
		break;
	}
	rcu_read_unlock();
	return id;
}

/*
 * Walk the devices whose own net device is @ndev, in an RCU read-side section. *@index is 0 for
 * the first call. Return: NULL: no more.
 */
struct weft_dev *weft_dev_on(const struct net_device *ndev, unsigned long *index)
{
	struct weft_dev *dev;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "not in an RCU read section");
	while ((dev = xa_find_after(&table_devices, index, ULONG_MAX, XA_PRESENT)))
		if (dev->ndev == ndev)
			break;
	return dev;
}

int weft_qp_reserve(struct weft_qp *qp)
{
	int ret = xa_alloc_cyclic(&table_qps, &qp->qpn, NULL,
				  XA_LIMIT(WEFT_MIN_QPN, WEFT_MAX_QPN),
				  &table_next_qpn, GFP_KERNEL_ACCOUNT);

	return ret < 0 ? -ENOMEM : 0;
}

void weft_qp_publish(struct weft_qp *qp)
{
	xa_lock(&table_qps);
	/* cannot fail, as the slot is reserved */
	__xa_store(&table_qps, qp->qpn, qp, 0);
	rcu_assign_pointer(*weft_newest_qp(qp->qpn), qp);
	xa_unlock(&table_qps);
}

/* Undo weft_qp_reserve(), and weft_qp_publish() if that was called. */
void weft_qp_unpublish(struct weft_qp *qp)
{
	struct weft_qp __rcu **newest = weft_newest_qp(qp->qpn);

	xa_lock(&table_qps);
	/* in an allocating array, NULL leaves the slot reserved */
	__xa_store(&table_qps, qp->qpn, NULL, 0);
	if (table_last_qpn)
		__xa_erase(&table_qps, table_last_qpn);
	table_last_qpn = qp->qpn;
	if (rcu_access_pointer(*newest) == qp)
		RCU_INIT_POINTER(*newest, NULL);
	xa_unlock(&table_qps);
}

/* Slow path of weft_qp_get(). */
struct weft_qp *weft_qp_find(u32 qpn)
{
	return xa_load(&table_qps, qpn);
}

/*
 * Walk the QPs of a device. *@index is 0 for the first call. Return: the next QP, referenced;
 * NULL: no more.
 */
struct weft_qp *weft_qp_next(u32 dev_id, unsigned long *index)
{
	struct weft_qp *qp;

	rcu_read_lock();
	while ((qp = xa_find_after(&table_qps, index, ULONG_MAX, XA_PRESENT)))
		if (qp->dev_id == dev_id && refcount_inc_not_zero(&qp->refs))
			break;
	rcu_read_unlock();
	return qp;
}

/* Look QP 0 or QP 1 of a device up. Takes a reference. */
struct weft_qp *weft_qp_get_special(u32 dev_id, u32 qpn)
{
	struct weft_qp *qp = NULL;
	struct weft_dev *dev;

	rcu_read_lock();
	dev = xa_load(&table_devices, dev_id);
	if (dev)
		qp = rcu_dereference(dev->special[qpn]);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	rcu_read_unlock();
	weft_pause(WEFT_PAUSE_QP_FOUND);
	return qp;
}

void weft_table_exit(void)
{
	xa_destroy(&table_devices);
	xa_destroy(&table_qps);
}
