// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/mcast.h"

#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "object/dev.h"
#include "object/qp.h"
#include "params.h"

/**
 * struct weft_mcast_group - a group that somebody is attached to
 * @node: in a bucket
 * @rcu: freed after a grace period
 * @gid: of the group
 * @hearing: of RoCE only
 * @members: never empty, RCU; NULL for a moment, see mcast_leave_in_place()
 */
struct weft_mcast_group {
	struct hlist_node	node;
	struct rcu_head		rcu;
	union ib_gid		gid;
	struct weft_hearing	hearing;
	struct weft_mcast_members __rcu *members;
};

void weft_mcast_init(struct weft_mcast_table *table, struct net_device *ndev)
{
	int i;

	weft_reach_init(&table->reach, ndev);
	mutex_init(&table->lock);
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

struct weft_mcast_members *weft_mcast_members_get(struct weft_mcast_table *table,
						  const union ib_gid *gid)
{
	struct weft_mcast_members *members = NULL;
	struct weft_mcast_group *group;

	rcu_read_lock();
	group = mcast_find(table, gid);
	if (group)
		members = rcu_dereference(group->members);
	if (members && !refcount_inc_not_zero(&members->refs))
		members = NULL;
	rcu_read_unlock();
	return members;
}

void weft_mcast_members_put(struct weft_mcast_members *members)
{
	u32 i;

	if (!refcount_dec_and_test(&members->refs))
		return;
	for (i = 0; i < members->num; i++)
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

static void members_add(struct weft_mcast_members *members, struct weft_qp *qp)
{
	weft_qp_hold(qp);
	members->qp[members->num++] = qp;
}

static bool members_has(const struct weft_mcast_members *members,
			const struct weft_qp *qp)
{
	u32 i;

	for (i = 0; i < members->num; i++)
		if (members->qp[i] == qp)
			return true;
	return false;
}

static struct weft_mcast_members *group_members(struct weft_mcast_table *table,
						struct weft_mcast_group *group)
{
	return rcu_dereference_protected(group->members,
					 lockdep_is_held(&table->lock));
}

/* So that packets to it arrive at all. On InfiniBand the subnet manager sees to that. */
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
 * A group is on the account of the user whose QP is its member for the longest time, so
 * nobody pays for one that he has left.
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

	for (i = 0; i < members->num; i++)
		num += uid_eq(members->qp[i]->user, user);
	return num;
}

/*
 * A user without CAP_SYS_RESOURCE may have as many as he leaves to others. So the first one
 * gets half of all, the next one half of the rest, and none gets nothing. With no more than
 * that in use altogether there is no need to count.
 */
static bool mcast_may_create(struct weft_mcast_table *table, const struct weft_qp *qp)
{
	u32 left = WEFT_MAX_MCAST_GRP - table->num_groups;

	return left && (qp->kernel || table->num_groups < left ||
			mcast_groups_of(table, qp->user) < left || capable(CAP_SYS_RESOURCE));
}

/* The same of the QPs in a group. */
static bool mcast_may_join(const struct weft_mcast_members *members, const struct weft_qp *qp)
{
	u32 left = WEFT_MAX_MCAST_ATTACH - members->num;

	return left && (qp->kernel || members->num < left ||
			members_of(members, qp->user) < left || capable(CAP_SYS_RESOURCE));
}

static int mcast_create(struct weft_mcast_table *table, const union ib_gid *gid,
			struct weft_qp *qp)
{
	struct weft_mcast_members *members;
	struct weft_mcast_group *group;
	int ret = -ENOMEM;

	if (!mcast_may_create(table, qp))
		return -ENOMEM;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	members = members_alloc(1);
	if (!group || !members)
		goto err_free;
	group->gid = *gid;
	ret = mcast_open(table, group);
	if (ret)
		goto err_free;
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
	u32 i;

	if (!mcast_may_join(old, qp))
		return -ENOMEM;
	new = members_alloc(old->num + 1);
	if (!new)
		return -ENOMEM;
	for (i = 0; i < old->num; i++)
		members_add(new, old->qp[i]);
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
	int ret = 0;

	mutex_lock(&table->lock);
	group = mcast_find(table, gid);
	/* attached twice is attached once (C11-30.1.1: one copy) */
	if (group && members_has(group_members(table, group), qp))
		goto out_unlock;
	ret = group ? mcast_join(table, group, qp) : mcast_create(table, gid, qp);
	if (!ret)
		atomic_inc(&qp->mcast_groups);
out_unlock:
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
 * Without memory for other members, as leaving must not fail: the process may be about to
 * end for want of memory. Nobody hears the group until those who deliver to it are done.
 */
static void mcast_leave_in_place(struct weft_mcast_group *group,
				 struct weft_mcast_members *members, struct weft_qp *qp)
{
	u32 i, num = 0;

	RCU_INIT_POINTER(group->members, NULL);
	synchronize_rcu();
	while (refcount_read(&members->refs) > 1)
		usleep_range(100, 1000);
	smp_mb(); /* they have read the members before they let go */
	for (i = 0; i < members->num; i++)
		if (members->qp[i] != qp)
			members->qp[num++] = members->qp[i];
	members->num = num;
	rcu_assign_pointer(group->members, members);
	weft_qp_put(qp);
}

static void mcast_leave(struct weft_mcast_table *table,
			struct weft_mcast_group *group, struct weft_qp *qp)
{
	struct weft_mcast_members *old = group_members(table, group), *new;
	u32 i;

	if (old->num == 1) {
		mcast_remove(table, group);
		return;
	}
	new = members_alloc(old->num - 1);
	if (!new) {
		mcast_leave_in_place(group, old, qp);
		return;
	}
	for (i = 0; i < old->num; i++)
		if (old->qp[i] != qp)
			members_add(new, old->qp[i]);
	rcu_assign_pointer(group->members, new);
	weft_mcast_members_put(old);
}

int weft_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct weft_mcast_table *table = &to_weft_dev(ibqp->device)->mcast;
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct weft_mcast_group *group;
	int ret = -EINVAL;

	mutex_lock(&table->lock);
	group = mcast_find(table, gid);
	if (group && members_has(group_members(table, group), qp)) {
		mcast_leave(table, group, qp);
		atomic_dec(&qp->mcast_groups);
		ret = 0;
	}
	mutex_unlock(&table->lock);
	return ret;
}
