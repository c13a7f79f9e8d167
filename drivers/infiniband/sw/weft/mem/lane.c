// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "mem/lane.h"

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

/*
 * Threads of all, and of each user. Of prefetches a user has fewer than a workqueue runs on
 * any node (WQ_DFL_MIN_ACTIVE), as its messages use the same workqueue.
 */
#define LANE_ALL_MESSAGES	512
#define LANE_ALL_PREFETCHES	128
#define LANE_ALL_RELEASES	256
#define LANE_USER_MESSAGES	128
#define LANE_USER_PREFETCHES	6
#define LANE_USER_RELEASES	64

/**
 * struct share - a share of the threads
 * @above: of whose threads it is a share; NULL: of all
 * @node: in @below of @above, when something waits here
 * @below: shares where something waits; of a lane: the items
 * @running: threads it has
 * @most: threads it may have; of a lane: unused
 */
struct share {
	struct share		*above;
	struct list_head	node;
	struct list_head	below;
	u32			running;
	u32			most;
};

/**
 * struct lane_user - the user who answers for processes
 *
 * @refs: one of each lane
 * @list: in lane_users
 * @uid: the user, or the owner of a user namespace
 * @ns: of a user namespace that belongs to root: its number; else 0
 * @workqueue: where work items run
 * @end: frees it
 * @share: threads it has, by enum weft_lane_kind
 */
struct lane_user {
	refcount_t		refs;
	struct list_head	list;
	kuid_t			uid;
	unsigned int		ns;
	struct workqueue_struct	*workqueue;
	struct work_struct	end;
	struct share		share[WEFT_LANE_KINDS];
};

/**
 * struct weft_lane - the lane of a user context
 * @refs: one of the context, one of each work item, one of each pins
 * @user: who answers for it
 * @share: threads it has, by enum weft_lane_kind
 */
struct weft_lane {
	refcount_t		refs;
	struct lane_user	*user;
	struct share		share[WEFT_LANE_KINDS];
};

static const u32 lane_user_most[WEFT_LANE_KINDS] = {
	[WEFT_LANE_MESSAGES] = LANE_USER_MESSAGES,
	[WEFT_LANE_PREFETCHES] = LANE_USER_PREFETCHES,
	[WEFT_LANE_RELEASES] = LANE_USER_RELEASES,
};

/* Protects all shares, and the lists of what waits. */
static DEFINE_SPINLOCK(lane_lock);

static struct share lane_all[WEFT_LANE_KINDS] = {
	[WEFT_LANE_MESSAGES] = {
		.below = LIST_HEAD_INIT(lane_all[WEFT_LANE_MESSAGES].below),
		.most = LANE_ALL_MESSAGES,
	},
	[WEFT_LANE_PREFETCHES] = {
		.below = LIST_HEAD_INIT(lane_all[WEFT_LANE_PREFETCHES].below),
		.most = LANE_ALL_PREFETCHES,
	},
	[WEFT_LANE_RELEASES] = {
		.below = LIST_HEAD_INIT(lane_all[WEFT_LANE_RELEASES].below),
		.most = LANE_ALL_RELEASES,
	},
};

/* Protects the list; held while a user is made. */
static DEFINE_MUTEX(lane_users_lock);
static LIST_HEAD(lane_users);

/* For what waits for no process: to free users. */
static struct workqueue_struct *lane_workqueue;

/* The lane of kernel consumers. */
static struct weft_lane *lane_kernel;

/*
 * ---- Shares ----
 */

static void share_init(struct share *share, struct share *above, u32 most)
{
	share->above = above;
	INIT_LIST_HEAD(&share->node);
	INIT_LIST_HEAD(&share->below);
	share->running = 0;
	share->most = most;
}

/* May it have one more thread, of those above it? */
static bool share_has_room(const struct share *share)
{
	const struct share *above = share->above;
	u32 half = above->most / 2;

	if (!share->running)
		return above->running < above->most;
	return above->running < half && share->running < half - above->running;
}

/* Stand in line for one more: the share in those above it, too. */
static void share_line_up(struct share *share, struct list_head *node)
{
	bool first;

	do {
		first = list_empty(&share->below);
		list_add_tail(node, &share->below);
		node = &share->node;
		share = share->above;
	} while (first && share);
}

static void share_step_out(struct share *share, struct list_head *node)
{
	list_del_init(node);
	for (; share->above && list_empty(&share->below); share = share->above)
		list_del_init(&share->node);
}

/*
 * Return: a lane that waits and may go on, or NULL. Those that are passed over have a thread
 * each, so they are not many.
 */
static struct share *share_next(const struct share *all)
{
	struct share *user, *lane;

	if (all->running >= all->most)
		return NULL;
	list_for_each_entry(user, &all->below, node) {
		if (user->running >= user->most || !share_has_room(user))
			continue;
		list_for_each_entry(lane, &user->below, node)
			if (share_has_room(lane))
				return lane;
	}
	return NULL;
}

/*
 * ---- Items ----
 */

static struct share *item_share(const struct weft_lane_item *item)
{
	return &item->lane->share[item->kind];
}

static void item_begin(struct weft_lane_item *item)
{
	struct share *share;

	for (share = item_share(item); share; share = share->above)
		share->running++;
	queue_work(item->lane->user->workqueue, &item->work);
}

/* A thread is free: let others begin, in turns. */
static void lane_end(struct weft_lane *lane, enum weft_lane_kind kind)
{
	struct weft_lane_item *item;
	struct share *share;

	lockdep_assert_held(&lane_lock);
	for (share = &lane->share[kind]; share; share = share->above)
		share->running--;
	while ((share = share_next(&lane_all[kind]))) {
		item = list_first_entry(&share->below, struct weft_lane_item, waiting);
		list_move_tail(&share->node, &share->above->below);
		list_move_tail(&share->above->node, &lane_all[kind].below);
		share_step_out(share, &item->waiting);
		item_begin(item);
	}
}

void weft_lane_queue(struct weft_lane *lane, enum weft_lane_kind kind,
		     struct weft_lane_item *item, work_func_t fn)
{
	struct share *share;
	unsigned long flags;

	if (!lane)
		lane = lane_kernel;
	refcount_inc(&lane->refs);
	__module_get(THIS_MODULE);
	INIT_WORK(&item->work, fn);
	INIT_LIST_HEAD(&item->waiting);
	item->lane = lane;
	item->kind = kind;
	share = item_share(item);
	spin_lock_irqsave(&lane_lock, flags);
	if (list_empty(&share->below) && share_has_room(share) && share_has_room(share->above))
		item_begin(item);
	else
		share_line_up(share, &item->waiting);
	spin_unlock_irqrestore(&lane_lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_lane_queue);

bool weft_lane_cancel(struct weft_lane_item *item)
{
	bool canceled = true;
	unsigned long flags;

	spin_lock_irqsave(&lane_lock, flags);
	if (!list_empty(&item->waiting))
		share_step_out(item_share(item), &item->waiting);
	else if (cancel_work(&item->work))
		lane_end(item->lane, item->kind);
	else
		canceled = false;
	spin_unlock_irqrestore(&lane_lock, flags);
	return canceled;
}
WEFT_EXPORT_FOR_TEST(weft_lane_cancel);

void weft_lane_leave(struct weft_lane *lane, enum weft_lane_kind kind)
{
	unsigned long flags;

	spin_lock_irqsave(&lane_lock, flags);
	lane_end(lane, kind);
	spin_unlock_irqrestore(&lane_lock, flags);
	weft_lane_drop(lane);
}
WEFT_EXPORT_FOR_TEST(weft_lane_leave);

void weft_lane_drop(struct weft_lane *lane)
{
	weft_lane_put(lane);
	module_put(THIS_MODULE);
}
WEFT_EXPORT_FOR_TEST(weft_lane_drop);

/*
 * ---- Users ----
 */

static void user_free(struct lane_user *user)
{
	if (user->workqueue)
		destroy_workqueue(user->workqueue);
	kfree(user);
}

static void user_end(struct work_struct *work)
{
	user_free(container_of(work, struct lane_user, end));
}

static struct lane_user *user_create(kuid_t uid, unsigned int ns)
{
	struct lane_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	int kind;

	if (!user)
		return NULL;
	refcount_set(&user->refs, 1);
	user->uid = uid;
	user->ns = ns;
	INIT_WORK(&user->end, user_end);
	for (kind = 0; kind < WEFT_LANE_KINDS; kind++)
		share_init(&user->share[kind], &lane_all[kind], lane_user_most[kind]);
	user->workqueue = alloc_workqueue("weft_pins", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!user->workqueue) {
		user_free(user);
		return NULL;
	}
	list_add(&user->list, &lane_users);
	return user;
}

static struct lane_user *user_find(kuid_t uid, unsigned int ns)
{
	struct lane_user *user;

	list_for_each_entry(user, &lane_users, list) {
		if (uid_eq(user->uid, uid) && user->ns == ns) {
			refcount_inc(&user->refs);
			return user;
		}
	}
	return NULL;
}

static struct lane_user *user_get(kuid_t uid, unsigned int ns)
{
	struct lane_user *user;

	mutex_lock(&lane_users_lock);
	user = user_find(uid, ns) ?: user_create(uid, ns);
	mutex_unlock(&lane_users_lock);
	return user;
}

/*
 * A user namespace has as many users as its owner pleases, so the owner answers for them.
 * But root makes them for others: each of its namespaces answers for itself.
 */
static struct lane_user *user_get_current(void)
{
	const struct user_namespace *ns;
	kuid_t uid = current_uid();
	unsigned int number = 0;

	for (ns = current_user_ns(); ns != &init_user_ns; ns = ns->parent) {
		uid = ns->owner;
		number = ns->ns.inum;
	}
	return user_get(uid, uid_eq(uid, GLOBAL_ROOT_UID) ? number : 0);
}

static void user_put(struct lane_user *user)
{
	bool last;

	mutex_lock(&lane_users_lock);
	last = refcount_dec_and_test(&user->refs);
	if (last)
		list_del(&user->list);
	mutex_unlock(&lane_users_lock);
	/* it may be a work item of the user's workqueue */
	if (last)
		queue_work(lane_workqueue, &user->end);
}

/*
 * ---- Lanes ----
 */

/* @user: a reference of it moves; NULL: no memory. */
static struct weft_lane *lane_create(struct lane_user *user)
{
	struct weft_lane *lane;
	int kind;

	if (!user)
		return NULL;
	lane = kzalloc(sizeof(*lane), GFP_KERNEL_ACCOUNT);
	if (!lane) {
		user_put(user);
		return NULL;
	}
	refcount_set(&lane->refs, 1);
	lane->user = user;
	for (kind = 0; kind < WEFT_LANE_KINDS; kind++)
		share_init(&lane->share[kind], &user->share[kind], 0);
	return lane;
}

struct weft_lane *weft_lane_create(void)
{
	return lane_create(user_get_current());
}
WEFT_EXPORT_FOR_TEST(weft_lane_create);

struct weft_lane *weft_lane_hold(struct weft_lane *lane)
{
	if (lane)
		refcount_inc(&lane->refs);
	return lane;
}

void weft_lane_put(struct weft_lane *lane)
{
	if (!lane || !refcount_dec_and_test(&lane->refs))
		return;
	user_put(lane->user);
	kfree(lane);
}
WEFT_EXPORT_FOR_TEST(weft_lane_put);

int weft_lane_init(void)
{
	lane_workqueue = alloc_workqueue("weft_lane", WQ_UNBOUND, 0);
	if (!lane_workqueue)
		return -ENOMEM;
	lane_kernel = lane_create(user_get(INVALID_UID, 0));
	if (lane_kernel)
		return 0;
	/* which frees the user first */
	destroy_workqueue(lane_workqueue);
	return -ENOMEM;
}

void weft_lane_exit(void)
{
	weft_lane_put(lane_kernel);
	/* which frees what users are left first */
	destroy_workqueue(lane_workqueue);
}
