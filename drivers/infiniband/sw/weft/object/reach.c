// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/reach.h"

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "params.h"

/**
 * struct reach_vlan - a VLAN interface
 * @node: in struct weft_reach.vlans
 * @groups: what it has joined; it is referenced
 */
struct reach_vlan {
	struct list_head	node;
	struct weft_groups	groups;
};

/**
 * struct reach_tagged - membership of a VLAN interface
 * @membership: of @vlan
 * @node: in struct weft_hearing.tagged
 * @vlan: whose
 */
struct reach_tagged {
	struct weft_membership	membership;
	struct list_head	node;
	struct reach_vlan	*vlan;
};

static int tagged_add(struct reach_vlan *vlan, struct weft_hearing *hearing)
{
	struct reach_tagged *tagged = kzalloc(sizeof(*tagged), GFP_KERNEL);

	if (!tagged)
		return -ENOMEM;
	tagged->vlan = vlan;
	list_add_tail(&tagged->node, &hearing->tagged);
	weft_group_await(&vlan->groups, &tagged->membership, &hearing->own.mgid);
	return 0;
}

static void tagged_remove(struct reach_tagged *tagged)
{
	weft_group_leave(&tagged->vlan->groups, &tagged->membership);
	list_del(&tagged->node);
	kfree(tagged);
}

/* Of the own net device: the VLAN interface joins the same. */
static int vlan_follow(struct weft_membership *own, void *vlan)
{
	return tagged_add(vlan, container_of(own, struct weft_hearing, own));
}

static int vlan_leave(struct weft_membership *membership, void *unused)
{
	tagged_remove(container_of(membership, struct reach_tagged, membership));
	return 0;
}

static void vlan_remove(struct reach_vlan *vlan)
{
	weft_groups_each(&vlan->groups, vlan_leave, NULL);
	weft_groups_put(&vlan->groups);
	dev_put(vlan->groups.ndev);
	list_del(&vlan->node);
	kfree(vlan);
}

static int vlan_add(struct weft_reach *reach, struct net_device *ndev)
{
	struct reach_vlan *vlan = kzalloc(sizeof(*vlan), GFP_KERNEL);
	int ret;

	if (!vlan)
		return -ENOMEM;
	dev_hold(ndev);
	weft_groups_init(&vlan->groups, ndev);
	list_add_tail(&vlan->node, &reach->vlans);
	ret = weft_groups_each(&reach->own, vlan_follow, vlan);
	if (ret)
		vlan_remove(vlan);
	return ret;
}

static struct reach_vlan *reach_find(struct weft_reach *reach,
				     const struct net_device *ndev)
{
	struct reach_vlan *vlan;

	list_for_each_entry(vlan, &reach->vlans, node)
		if (vlan->groups.ndev == ndev)
			return vlan;
	return NULL;
}

/* Return: whether it is a VLAN interface on the device's net device. */
static bool reach_has(const struct weft_reach *reach, const struct net_device *ndev)
{
	return is_vlan_dev(ndev) && vlan_dev_real_dev(ndev) == reach->own.ndev;
}

static int reach_add(struct weft_reach *reach, struct net_device *ndev)
{
	if (!reach_has(reach, ndev) || reach_find(reach, ndev))
		return 0;
	return vlan_add(reach, ndev);
}

/* Those that are missing, for whatever reason. */
static int reach_add_all(struct weft_reach *reach)
{
	struct net_device *upper;
	struct list_head *i;
	int ret = 0;

	ASSERT_RTNL(); /* and that will do for RCU */
	netdev_for_each_upper_dev_rcu(reach->own.ndev, upper, i)
		ret = reach_add(reach, upper) ?: ret;
	return ret;
}

/* Return: whether there is something to be taken again. */
static bool reach_look(struct weft_reach *reach)
{
	bool lost = weft_groups_look(&reach->own);
	struct reach_vlan *vlan;

	list_for_each_entry(vlan, &reach->vlans, node)
		lost |= weft_groups_look(&vlan->groups);
	return lost;
}

static int reach_rejoin(struct weft_reach *reach, u32 *most)
{
	int ret = weft_groups_rejoin(&reach->own, most);
	struct reach_vlan *vlan;

	list_for_each_entry(vlan, &reach->vlans, node)
		ret = weft_groups_rejoin(&vlan->groups, most) ?: ret;
	return ret;
}

/* Not all at once: each costs IP a walk through those that are there. */
static void reach_worker(struct work_struct *work)
{
	struct weft_reach *reach = container_of(work, struct weft_reach, rejoin.work);
	u32 most = WEFT_REJOIN_GROUPS;
	bool lost;
	int ret;

	rtnl_lock();
	ret = reach_add_all(reach);
	reach_look(reach);
	ret = reach_rejoin(reach, &most) ?: ret;
	lost = reach_look(reach);
	rtnl_unlock();
	/* there was no memory: later */
	if (lost || ret)
		schedule_delayed_work(&reach->rejoin, ret ? HZ : 0);
}

void weft_reach_init(struct weft_reach *reach, struct net_device *ndev)
{
	weft_groups_init(&reach->own, ndev);
	INIT_LIST_HEAD(&reach->vlans);
	INIT_DELAYED_WORK(&reach->rejoin, reach_worker);
}

/* What is missing then is looked for again. */
void weft_reach_start(struct weft_reach *reach)
{
	if (reach_add_all(reach))
		schedule_delayed_work(&reach->rejoin, HZ);
}

void weft_reach_stop(struct weft_reach *reach)
{
	struct reach_vlan *vlan, *next;

	cancel_delayed_work_sync(&reach->rejoin);
	rtnl_lock();
	list_for_each_entry_safe(vlan, next, &reach->vlans, node)
		vlan_remove(vlan);
	rtnl_unlock();
	weft_groups_put(&reach->own);
}

void weft_reach_look(struct weft_reach *reach)
{
	if (reach_look(reach))
		schedule_delayed_work(&reach->rejoin, 0);
}

void weft_reach_later(struct weft_reach *reach)
{
	schedule_delayed_work(&reach->rejoin, 0);
}

void weft_reach_upper(struct weft_reach *reach, struct net_device *upper, bool linked)
{
	struct reach_vlan *vlan;

	ASSERT_RTNL();
	if (linked) {
		if (reach_add(reach, upper))
			schedule_delayed_work(&reach->rejoin, HZ);
		return;
	}
	vlan = reach_find(reach, upper);
	if (vlan)
		vlan_remove(vlan);
}

static void reach_leave(struct weft_reach *reach, struct weft_hearing *hearing)
{
	struct reach_tagged *tagged, *next;

	list_for_each_entry_safe(tagged, next, &hearing->tagged, node)
		tagged_remove(tagged);
	weft_group_leave(&reach->own, &hearing->own);
}

int weft_reach_join(struct weft_reach *reach, struct weft_hearing *hearing,
		    const union ib_gid *mgid)
{
	struct reach_vlan *vlan;
	int ret;

	INIT_LIST_HEAD(&hearing->tagged);
	rtnl_lock();
	ret = weft_group_join(&reach->own, &hearing->own, mgid);
	if (ret)
		goto out_unlock;
	list_for_each_entry(vlan, &reach->vlans, node) {
		ret = tagged_add(vlan, hearing);
		if (ret)
			break;
	}
	if (ret)
		reach_leave(reach, hearing);
	weft_reach_look(reach);
out_unlock:
	rtnl_unlock();
	return ret;
}

void weft_reach_leave(struct weft_reach *reach, struct weft_hearing *hearing)
{
	rtnl_lock();
	reach_leave(reach, hearing);
	weft_reach_look(reach);
	rtnl_unlock();
}
