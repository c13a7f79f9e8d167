// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/mcast.h"

#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "params.h"
#include "pause.h"

/* A group with at least one member. */
struct weft_mcast_group {
	struct hlist_node	node;
	struct rcu_head		rcu;
	union ib_gid		gid;
	struct weft_hearing	hearing;	/* RoCE */
	/* NULL only within mcast_leave_in_place() */
	struct weft_mcast_members __rcu *members;
};

void weft_mcast_init(struct weft_mcast_table *table, struct net_device *ndev, bool ib)
{
	/* IPoIB leaves a group under RTNL, and only the tables of RoCE devices take RTNL */
	static struct lock_class_key ib_key;
	int i;

	weft_reach_init(&table->reach, ndev);
	mutex_init(&table->lock);
	if (ib)
		lockdep_set_class(&table->lock, &ib_key);
	for (i = 0; i < WEFT_MCAST_BUCKETS; i++)
		INIT_HLIST_HEAD(&table->bucket[i]);
}

static struct hlist_head *mcast_bucket(struct weft_mcast_table *table,
				       const union ib_gid *gid)
{
	return &table->bucket[jhash2((const u32 *)gid->raw, 4, 0) % WEFT_MCAST_BUCKETS];
}

static struct weft_mcast_group *mcast_find(struct weft_mcast_table *table,
					   const union ib_gid *gid)
{
	struct weft_mcast_group *group;

	hlist_for_each_entry_rcu(group, mcast_bucket(table, gid), node,
				 lockdep_is_held(&table->lock))
		if (!memcmp(&group->gid, gid, sizeof(*gid)))
			return group;
	return NULL;
}

/* Look up the members of group @gid. Return: referenced; NULL: no member. */
struct weft_mcast_members *weft_mcast_members_get(struct weft_mcast_table *table,
						  const union ib_gid *gid)
{
	struct weft_mcast_members *members = NULL;
	struct weft_mcast_group *group;

	rcu_read_lock();
	group = mcast_find(table, gid);
	weft_pause(WEFT_PAUSE_MCAST_FOUND);
	if (group)
		members = rcu_dereference(group->members);
	if (members && !refcount_inc_not_zero(&members->refs))
		members = NULL;
	rcu_read_unlock();
	return members;
}

static u32 members_all(const struct weft_mcast_members *members)
{
	return members->num + members->repeats;
}

void weft_mcast_members_put(struct weft_mcast_members *members)
{
	u32 i;

	if (!refcount_dec_and_test(&members->refs))
		return;
	for (i = 0; i < members_all(members); i++)
		weft_qp_put(members->qp[i]);
	kfree_rcu(members, rcu);
}

static struct weft_mcast_members *members_alloc(u32 num)
{
	struct weft_mcast_members *members;

	members = kzalloc(struct_size(members, qp, num), GFP_KERNEL_ACCOUNT);
	if (members)
		refcount_set(&members->refs, 1);
	return members;
}

/* Return: the index of the last attachment of @qp; members_all(): none. */
static u32 members_last(const struct weft_mcast_members *members, const struct weft_qp *qp)
{
	u32 all = members_all(members), i;

	for (i = all; i--;)
		if (members->qp[i] == qp)
			return i;
	return all;
}

/* @members has room. The first attachment of a QP is inserted before the repeats. */
static void members_add(struct weft_mcast_members *members, struct weft_qp *qp)
{
	u32 all = members_all(members);

	weft_qp_hold(qp);
	if (members_last(members, qp) < all) {
		members->qp[all] = qp;
		members->repeats++;
	} else {
		members->qp[all] = members->qp[members->num];
		members->qp[members->num++] = qp;
	}
}

/* Remove the attachment at @i, which is the last one of its QP. The order stays as it is. */
static void members_remove(struct weft_mcast_members *members, u32 i)
{
	struct weft_qp *qp = members->qp[i];
	u32 behind = members_all(members) - i - 1;

	memmove(&members->qp[i], &members->qp[i + 1], behind * sizeof(qp));
	if (i < members->num)
		members->num--;
	else
		members->repeats--;
	weft_qp_put(qp);
}

/* @to is empty and has room. */
static void members_copy(struct weft_mcast_members *to, const struct weft_mcast_members *from)
{
	u32 i;

	to->num = from->num;
	to->repeats = from->repeats;
	for (i = 0; i < members_all(from); i++) {
		weft_qp_hold(from->qp[i]);
		to->qp[i] = from->qp[i];
	}
}

static struct weft_mcast_members *group_members(struct weft_mcast_table *table,
						struct weft_mcast_group *group)
{
	return rcu_dereference_protected(group->members,
					 lockdep_is_held(&table->lock));
}

/* Make the host receive packets to the group. On InfiniBand the subnet manager does that. */
static int mcast_open(struct weft_mcast_table *table, struct weft_mcast_group *group)
{
	const struct weft_dev *dev = container_of(table, struct weft_dev, mcast);

	return dev->hca ? 0 : weft_reach_join(&table->reach, &group->hearing, &group->gid);
}

static void mcast_close(struct weft_mcast_table *table, struct weft_mcast_group *group)
{
	const struct weft_dev *dev = container_of(table, struct weft_dev, mcast);

	if (!dev->hca)
		weft_reach_leave(&table->reach, &group->hearing);
}

/*
 * A group is charged to the user of its oldest member (the first in the array), so no user is
 * charged for a group that has no QP of the user left.
 */
static u32 mcast_groups_of(struct weft_mcast_table *table, kuid_t user)
{
	struct weft_mcast_group *group;
	u32 i, num = 0;

	for (i = 0; i < WEFT_MCAST_BUCKETS; i++)
		hlist_for_each_entry(group, &table->bucket[i], node)
			num += uid_eq(group_members(table, group)->qp[0]->user, user);
	return num;
}

static u32 members_of(const struct weft_mcast_members *members, kuid_t user)
{
	u32 i, num = 0;

	for (i = 0; i < members_all(members); i++)
		num += uid_eq(members->qp[i]->user, user);
	return num;
}

/*
 * A user without CAP_SYS_RESOURCE may have at most as many groups as remain free. So the first
 * user gets half of all groups, the next one half of the rest, and so on: no user can take all.
 * If the groups of all users are fewer than the free ones, this user's need not be counted.
 */
static bool mcast_may_create(struct weft_mcast_table *table, const struct weft_qp *qp)
{
	u32 left = WEFT_MAX_MCAST_GRP - table->num_groups;

	return left && (qp->kernel || table->num_groups < left ||
			mcast_groups_of(table, qp->user) < left || capable(CAP_SYS_RESOURCE));
}

/* mcast_may_create() for the attachments to a group. */
static bool mcast_may_join(const struct weft_mcast_members *members, const struct weft_qp *qp)
{
	u32 all = members_all(members), left = WEFT_MAX_MCAST_ATTACH - all;

	return left && (qp->kernel || all < left ||
			members_of(members, qp->user) < left || capable(CAP_SYS_RESOURCE));
}

static int mcast_create(struct weft_mcast_table *table, const union ib_gid *gid,
			struct weft_qp *qp)
{
	struct weft_mcast_members *members;
	struct weft_mcast_group *group;
	int ret = -ENOMEM;

	if (!mcast_may_create(table, qp))
		return weft_refuse(&qp->dev->ibdev, -ENOMEM,
				   "attach multicast: %u of %u groups are in use, no more for user %u",
				   table->num_groups, WEFT_MAX_MCAST_GRP,
				   __kuid_val(qp->user));
	group = weft_inject_no_memory(qp->dev, qp, WEFT_ALLOC_GROUP) ? NULL :
		kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	members = members_alloc(1);
	if (!group || !members)
		goto err_free;
	group->gid = *gid;
	ret = mcast_open(table, group);
	if (ret) {
		ret = weft_refuse(&qp->dev->ibdev, ret,
				  "attach multicast: the net device cannot join %pI6c (%d)",
				  gid->raw, ret);
		goto err_free;
	}
	weft_pause(WEFT_PAUSE_MCAST_ATTACH_HEARS);
	members_add(members, qp);
	RCU_INIT_POINTER(group->members, members);
	hlist_add_head_rcu(&group->node, mcast_bucket(table, gid));
	table->num_groups++;
	return 0;

err_free:
	kfree(group);
	kfree(members);
	return ret;
}

static int mcast_join(struct weft_mcast_table *table,
		      struct weft_mcast_group *group, struct weft_qp *qp)
{
	struct weft_mcast_members *old = group_members(table, group), *new;

	if (!mcast_may_join(old, qp))
		return weft_refuse(&qp->dev->ibdev, -ENOMEM,
				   "attach multicast: %pI6c has %u of %u QPs, no more of user %u",
				   group->gid.raw, members_all(old), WEFT_MAX_MCAST_ATTACH,
				   __kuid_val(qp->user));
	new = members_alloc(members_all(old) + 1);
	if (!new)
		return -ENOMEM;
	members_copy(new, old);
	members_add(new, qp);
	rcu_assign_pointer(group->members, new);
	weft_mcast_members_put(old);
	return 0;
}

int weft_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct weft_mcast_table *table = &to_weft_dev(ibqp->device)->mcast;
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct weft_mcast_group *group;
	int ret;

	ret = weft_inject_qp_verb(ibqp, WEFT_VERB_ATTACH_MCAST, 0);
	if (ret)
		return ret;
	mutex_lock(&table->lock);
	group = mcast_find(table, gid);
	/* a QP may be attached several times, and gets one copy (C11-30.1.1) */
	ret = group ? mcast_join(table, group, qp) : mcast_create(table, gid, qp);
	if (!ret)
		atomic_inc(&qp->mcast_groups);
	mutex_unlock(&table->lock);
	return ret;
}

static void mcast_remove(struct weft_mcast_table *table, struct weft_mcast_group *group)
{
	struct weft_mcast_members *last = group_members(table, group);

	hlist_del_rcu(&group->node);
	table->num_groups--;
	mcast_close(table, group);
	weft_mcast_members_put(last);
	kfree_rcu(group, rcu);
}

/*
 * Detach without memory for a new snapshot. Detaching must not fail: the process may be dying
 * because the host is out of memory. The group has no members, and so loses packets, until
 * deliveries in progress are done and the old snapshot can be changed.
 */
static void mcast_leave_in_place(struct weft_mcast_group *group,
				 struct weft_mcast_members *members, u32 index)
{
	RCU_INIT_POINTER(group->members, NULL);
	synchronize_rcu();
	while (refcount_read(&members->refs) > 1)
		usleep_range(100, 1000);
	smp_mb(); /* pairs with refcount_dec_and_test() of the deliveries: they are done reading */
	members_remove(members, index);
	rcu_assign_pointer(group->members, members);
}

static void mcast_leave(struct weft_mcast_table *table,
			struct weft_mcast_group *group, u32 index)
{
	struct weft_mcast_members *old = group_members(table, group), *new;

	if (members_all(old) == 1) {
		mcast_remove(table, group);
		return;
	}
	new = members_alloc(members_all(old));
	if (!new) {
		mcast_leave_in_place(group, old, index);
		return;
	}
	members_copy(new, old);
	members_remove(new, index);
	rcu_assign_pointer(group->members, new);
	weft_mcast_members_put(old);
}

int weft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct weft_mcast_table *table = &to_weft_dev(ibqp->device)->mcast;
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct weft_mcast_members *members;
	struct weft_mcast_group *group;
	u32 index;
	int ret;

	mutex_lock(&table->lock);
	group = mcast_find(table, gid);
	members = group ? group_members(table, group) : NULL;
	index = members ? members_last(members, qp) : 0;
	if (members && index < members_all(members)) {
		mcast_leave(table, group, index);
		weft_pause(WEFT_PAUSE_MCAST_DETACH_GONE);
		atomic_dec(&qp->mcast_groups);
		ret = 0;
	} else {
		ret = weft_refuse(ibqp->device, -EINVAL,
				  "detach multicast: QP %u is not attached to %pI6c", qp->qpn,
				  gid->raw);
	}
	mutex_unlock(&table->lock);
	return ret;
}
