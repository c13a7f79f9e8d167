// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The net devices through which multicast packets reach a RoCE device: its own net device, and
 * those above it. All of them join the groups of the device.
 *
 * Above the net device of a device there may be VLAN interfaces, the bridge or bond that it is a
 * port of, and net devices above these. Their addresses are GIDs of the device, too. IP sees
 * a frame only at the topmost net device that takes it, and accepts it only if that one has
 * joined the group. So every one of these net devices joins all groups that the device's own one
 * has joined; they may be added and removed at any time.
 *
 * A macvlan or ipvlan interface is not among them: it gets copies of frames that the net device
 * below it receives as well. A bond with an active slave takes frames from that slave only; the
 * core applies the same rule to GIDs (is_eth_port_of_netdev_filter()).
 */
#include "object/reach.h"

#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/bonding.h>
#include <net/rtnetlink.h>

#include "object/dev.h"
#include "params.h"
#include "pause.h"

/* Every started struct weft_reach, under RTNL. */
static LIST_HEAD(reach_started);

/* Their struct weft_reach_netdev, by net device; written under RTNL, read under RCU. */
static DEFINE_HASHTABLE(reach_netdevs, 10);

/* The membership of a net device above the device's own one. */
struct reach_upper {
	struct weft_membership	membership;
	struct list_head	node;		/* in weft_hearing.uppers */
	struct weft_reach_netdev *netdev;
};

static int upper_join(struct weft_reach_netdev *netdev, struct weft_hearing *hearing)
{
	struct reach_upper *upper = kzalloc(sizeof(*upper), GFP_KERNEL_ACCOUNT);

	if (!upper)
		return -ENOMEM;
	upper->netdev = netdev;
	list_add_tail(&upper->node, &hearing->uppers);
	weft_group_await(&netdev->groups, &upper->membership, &hearing->own.mgid);
	return 0;
}

static void upper_leave(struct reach_upper *upper)
{
	weft_group_leave(&upper->netdev->groups, &upper->membership);
	list_del(&upper->node);
	kfree(upper);
}

/* Let @netdev join a group that the device's own net device has joined. */
static int netdev_follow(struct weft_membership *own, void *netdev)
{
	return upper_join(netdev, container_of(own, struct weft_hearing, own));
}

static int netdev_leave(struct weft_membership *membership, void *unused)
{
	upper_leave(container_of(membership, struct reach_upper, membership));
	return 0;
}

static void netdev_remove(struct weft_reach_netdev *netdev)
{
	hash_del_rcu(&netdev->hash);
	weft_groups_each(&netdev->groups, netdev_leave, NULL);
	weft_groups_put(&netdev->groups);
	dev_put(netdev->groups.ndev);
	list_del(&netdev->node);
	kfree_rcu(netdev, rcu);
}

static void netdev_insert(struct weft_reach_netdev *netdev)
{
	hash_add_rcu(reach_netdevs, &netdev->hash, (unsigned long)netdev->groups.ndev);
}

static int netdev_add(struct weft_reach *reach, struct net_device *ndev)
{
	struct weft_reach_netdev *netdev = kzalloc(sizeof(*netdev), GFP_KERNEL);
	int ret;

	if (!netdev)
		return -ENOMEM;
	dev_hold(ndev);
	netdev->reach = reach;
	netdev->found = true;
	weft_groups_init(&netdev->groups, ndev);
	list_add_tail(&netdev->node, &reach->netdevs);
	netdev_insert(netdev);
	ret = weft_groups_each(&reach->own.groups, netdev_follow, netdev);
	if (ret)
		netdev_remove(netdev);
	return ret;
}

static struct weft_reach_netdev *reach_find(const struct weft_reach *reach,
					    const struct net_device *ndev)
{
	struct weft_reach_netdev *netdev;

	hash_for_each_possible(reach_netdevs, netdev, hash, (unsigned long)ndev)
		if (netdev->groups.ndev == ndev && netdev->reach == reach)
			return netdev;
	return NULL;
}

static bool bond_takes(const struct net_device *bond, const struct net_device *slave)
{
	const struct net_device *active;

	rcu_read_lock();
	active = bond_option_active_slave_get_rcu(netdev_priv(bond));
	rcu_read_unlock();
	return !active || active == slave;
}

/* Whether @upper gets copies of multicast frames that the net device below it takes, too. */
static bool netdev_gets_copies(const struct net_device *upper)
{
	static const char * const kinds[] = { "macvlan", "macvtap", "ipvlan", "ipvtap" };
	int i;

	for (i = 0; upper->rtnl_link_ops && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(upper->rtnl_link_ops->kind, kinds[i]))
			return true;
	return false;
}

/* Whether @upper takes frames away from @lower, so that IP sees them at @upper only. */
static bool netdev_takes(const struct net_device *upper, const struct net_device *lower)
{
	return !netdev_gets_copies(upper) &&
	       (!netif_is_bond_master(upper) || bond_takes(upper, lower));
}

static int reach_meet(struct weft_reach *reach, struct net_device *ndev, bool add)
{
	struct weft_reach_netdev *netdev = reach_find(reach, ndev);

	if (!netdev)
		return add ? netdev_add(reach, ndev) : -EAGAIN;
	if (!netdev->found) {
		netdev->found = true;
		list_move_tail(&netdev->node, &reach->netdevs);
	}
	return 0;
}

/*
 * Find all net devices above the own one, breadth first: each one found is moved to the end of
 * the list, whose next elements are examined in turn. Remove those that are not found any more.
 * Without @add, new ones are not added.
 *
 * Return: 0; -EAGAIN: there are new ones to be added; -ENOMEM.
 */
static int reach_follow(struct weft_reach *reach, bool add)
{
	struct weft_reach_netdev *netdev, *next;
	struct net_device *upper;
	struct list_head *i;
	int ret = 0;

	ASSERT_RTNL(); /* also protects the RCU list of upper devices */
	list_for_each_entry(netdev, &reach->netdevs, node)
		netdev->found = netdev == &reach->own;
	list_for_each_entry(netdev, &reach->netdevs, node) {
		if (!netdev->found)
			continue;
		netdev_for_each_upper_dev_rcu(netdev->groups.ndev, upper, i)
			if (netdev_takes(upper, netdev->groups.ndev))
				ret = reach_meet(reach, upper, add) ?: ret;
	}
	list_for_each_entry_safe(netdev, next, &reach->netdevs, node)
		if (!netdev->found)
			netdev_remove(netdev);
	return ret;
}

/* Return: whether reach_rejoin() has something to do. */
static bool reach_look(struct weft_reach *reach)
{
	struct weft_reach_netdev *netdev;
	bool lost = false;

	list_for_each_entry(netdev, &reach->netdevs, node)
		lost |= weft_groups_look(&netdev->groups);
	return lost;
}

static int reach_rejoin(struct weft_reach *reach, u32 *most)
{
	struct weft_reach_netdev *netdev;
	int ret = 0;

	list_for_each_entry(netdev, &reach->netdevs, node)
		ret = weft_groups_rejoin(&netdev->groups, most) ?: ret;
	return ret;
}

/*
 * Join a limited number of groups per run, and release RTNL in between: for each join, IP walks
 * all groups of the net device.
 */
static void reach_worker(struct work_struct *work)
{
	struct weft_reach *reach = container_of(work, struct weft_reach, rejoin.work);
	u32 most = WEFT_REJOIN_GROUPS;
	bool lost = false;
	int ret = 0;

	rtnl_lock();
	if (!list_empty(&reach->list)) {
		ret = reach_follow(reach, true);
		reach_look(reach);
		ret = reach_rejoin(reach, &most) ?: ret;
		lost = reach_look(reach);
	}
	rtnl_unlock();
	/* after an error (no memory), try again later */
	if (lost || ret)
		schedule_delayed_work(&reach->rejoin, ret ? HZ : 0);
}

/* @reach is zeroed. */
void weft_reach_init(struct weft_reach *reach, struct net_device *ndev)
{
	INIT_LIST_HEAD(&reach->list);
	INIT_LIST_HEAD(&reach->netdevs);
	reach->own.reach = reach;
	weft_groups_init(&reach->own.groups, ndev);
	list_add(&reach->own.node, &reach->netdevs);
	INIT_DELAYED_WORK(&reach->rejoin, reach_worker);
}

/*
 * Let weft_reach_next() find the device, and weft_reach_event() follow changes. The device is
 * published, and not registered yet. RTNL is held.
 */
void weft_reach_start(struct weft_reach *reach)
{
	ASSERT_RTNL();
	list_add_tail(&reach->list, &reach_started);
	netdev_insert(&reach->own);
	/* no memory for a net device: try again */
	if (reach_follow(reach, true))
		schedule_delayed_work(&reach->rejoin, HZ);
}

/* Undo weft_reach_start(), if that was called. No group is joined. RTNL is held. */
void weft_reach_stop(struct weft_reach *reach)
{
	struct weft_reach_netdev *netdev, *next;

	ASSERT_RTNL();
	list_for_each_entry_safe(netdev, next, &reach->netdevs, node)
		if (netdev != &reach->own)
			netdev_remove(netdev);
	hash_del_rcu(&reach->own.hash);
	list_del_init(&reach->list);
	weft_groups_put(&reach->own.groups);
}

/* A grace period after weft_reach_stop(), so that nobody calls weft_reach_later() any more. */
void weft_reach_exit(struct weft_reach *reach)
{
	cancel_delayed_work_sync(&reach->rejoin);
}

/*
 * Walk the devices that multicast packets reach through @ndev, in the order of their creation.
 * *@id is 0 for the first call, then the id of the last device. Devices with an InfiniBand port
 * are not among them: their packets come from their switch or cable.
 *
 * Context: RCU read side, which may be left between two calls.
 * Return: NULL: no more.
 */
struct weft_dev *weft_reach_next(const struct net_device *ndev, u32 *id)
{
	struct weft_dev *dev, *next = NULL;
	struct weft_reach_netdev *netdev;

	hash_for_each_possible_rcu(reach_netdevs, netdev, hash, (unsigned long)ndev) {
		if (netdev->groups.ndev != ndev)
			continue;
		dev = container_of(netdev->reach, struct weft_dev, mcast.reach);
		if (dev->id > *id && (!next || dev->id < next->id))
			next = dev;
	}
	weft_pause(WEFT_PAUSE_REACH_FOUND);
	if (next)
		*id = next->id;
	return next;
}

/*
 * A netdev notifier event, after IP has handled it. Drops references to what IP has removed, as the
 * removal of the net device waits for them. RTNL is held.
 *
 * Leave it to the work item to add net devices: during the event the net device below may not be
 * completely linked yet.
 */
void weft_reach_event(const struct net_device *ndev, unsigned long event)
{
	struct weft_reach *reach;
	bool missing;

	ASSERT_RTNL();
	list_for_each_entry(reach, &reach_started, list) {
		/* a failover: @reach of a device on the new active slave lacks the bond so far */
		if (event != NETDEV_BONDING_FAILOVER && !reach_find(reach, ndev))
			continue;
		missing = (event == NETDEV_CHANGEUPPER || event == NETDEV_BONDING_FAILOVER) &&
			  reach_follow(reach, false);
		if (reach_look(reach) || missing)
			schedule_delayed_work(&reach->rejoin, 0);
	}
}

/* Let the work item look for net devices to add and groups to join again. RCU read side. */
void weft_reach_later(struct weft_reach *reach)
{
	schedule_delayed_work(&reach->rejoin, 0);
}

static void reach_leave(struct weft_reach *reach, struct weft_hearing *hearing)
{
	struct reach_upper *upper, *next;

	list_for_each_entry_safe(upper, next, &hearing->uppers, node)
		upper_leave(upper);
	weft_group_leave(&reach->own.groups, &hearing->own);
	if (reach_look(reach))
		schedule_delayed_work(&reach->rejoin, 0);
}

static int reach_join(struct weft_reach *reach, struct weft_hearing *hearing,
		      const union ib_gid *mgid)
{
	struct weft_reach_netdev *netdev;
	int ret;

	ret = weft_group_join(&reach->own.groups, &hearing->own, mgid);
	if (ret)
		return ret;
	list_for_each_entry(netdev, &reach->netdevs, node) {
		if (netdev != &reach->own)
			ret = upper_join(netdev, hearing);
		if (ret) {
			reach_leave(reach, hearing);
			return ret;
		}
	}
	if (reach_look(reach))
		schedule_delayed_work(&reach->rejoin, 0);
	return 0;
}

/*
 * Let the device receive packets to group @mgid. @hearing belongs to the caller, who keeps it
 * until weft_reach_leave(). Process context, takes RTNL.
 *
 * Return: -ENOMEM, or that of weft_group_join() for the device's own net device. Joins of net
 * devices above that fail for other reasons are tried again later.
 */
int weft_reach_join(struct weft_reach *reach, struct weft_hearing *hearing,
		    const union ib_gid *mgid)
{
	int ret;

	INIT_LIST_HEAD(&hearing->uppers);
	rtnl_lock();
	ret = reach_join(reach, hearing, mgid);
	rtnl_unlock();
	return ret;
}

/* Undo weft_reach_join(). Process context, takes RTNL. */
void weft_reach_leave(struct weft_reach *reach, struct weft_hearing *hearing)
{
	rtnl_lock();
	reach_leave(reach, hearing);
	rtnl_unlock();
}
