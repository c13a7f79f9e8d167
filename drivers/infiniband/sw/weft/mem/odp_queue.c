// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues for work items that may wait for pages of a process.
 *
 * A process can block such a work item, and with it a kernel thread, for as long as it likes
 * (userfaultfd, FUSE). That includes work items that release pages: they lock dirty pages, and a
 * FUSE server can block the current owner of a page lock. So the number of threads has a fixed
 * limit, and the threads are shared out: all of them among the users, and those of a user among
 * its contexts, each of which has a queue. Both levels have the same rule (share_has_room()):
 *
 *	- a share without a thread gets one as long as there is any;
 *	- further threads come from only half of the total, and no share takes more of that half
 *	  than it leaves to the others.
 *
 * A work item that may not begin yet waits in its queue. Each kind of work item has its own count,
 * so that prefetches do not delay messages.
 */
#include "mem/odp_queue.h"

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "mem/odp_room.h"

/*
 * The most threads of all users, and of one user. A user has fewer threads for prefetches than a
 * workqueue guarantees on any node (WQ_DFL_MIN_ACTIVE), as its messages use the same workqueue.
 */
#define ODP_QUEUE_ALL_MESSAGES	512
#define ODP_QUEUE_ALL_PREFETCHES	128
#define ODP_QUEUE_ALL_RELEASES	256
#define ODP_QUEUE_USER_MESSAGES	128
#define ODP_QUEUE_USER_PREFETCHES	6
#define ODP_QUEUE_USER_RELEASES	64

/* A share of the threads: three levels, of all users, of a user, of a queue. */
struct share {
	struct share		*above;	/* the share that this is a part of; NULL: the top */
	struct list_head	node;	/* in @below of @above, if items wait below this share */
	struct list_head	below;	/* shares with waiting items; of a queue: the items */
	u32			running;	/* threads in use */
	u32			most;	/* limit of @running; unused in a queue */
};

/* The user that threads are accounted to, see user_get_current(). */
struct odp_queue_user {
	refcount_t		refs;	/* one for each queue */
	struct list_head	list;	/* in odp_queue_users */
	kuid_t			uid;	/* the user, or the owner of a user namespace */
	unsigned int		ns;	/* number of a user namespace that root owns, else 0 */
	struct workqueue_struct	*workqueue;
	/* of its own, because the others may wait for pages to be released */
	struct workqueue_struct	*releases;
	struct work_struct	end;	/* frees the user */
	struct share		share[WEFT_ODP_WORK_KINDS];
	struct weft_odp_room	room;
};

/* The queue of a user context. */
struct weft_odp_queue {
	refcount_t		refs;	/* the context, each work item, each struct weft_odp_pins */
	struct odp_queue_user	*user;
	struct share		share[WEFT_ODP_WORK_KINDS];
};

static const u32 odp_queue_user_most[WEFT_ODP_WORK_KINDS] = {
	[WEFT_ODP_WORK_MESSAGES] = ODP_QUEUE_USER_MESSAGES,
	[WEFT_ODP_WORK_SECONDS] = ODP_QUEUE_USER_MESSAGES,
	[WEFT_ODP_WORK_PREFETCHES] = ODP_QUEUE_USER_PREFETCHES,
	[WEFT_ODP_WORK_RELEASES] = ODP_QUEUE_USER_RELEASES,
};

/* Protects all shares, and the lists of waiting items. */
static DEFINE_SPINLOCK(odp_queue_lock);

static struct share odp_queue_all[WEFT_ODP_WORK_KINDS] = {
	[WEFT_ODP_WORK_MESSAGES] = {
		.below = LIST_HEAD_INIT(odp_queue_all[WEFT_ODP_WORK_MESSAGES].below),
		.most = ODP_QUEUE_ALL_MESSAGES,
	},
	[WEFT_ODP_WORK_SECONDS] = {
		.below = LIST_HEAD_INIT(odp_queue_all[WEFT_ODP_WORK_SECONDS].below),
		.most = ODP_QUEUE_ALL_MESSAGES,
	},
	[WEFT_ODP_WORK_PREFETCHES] = {
		.below = LIST_HEAD_INIT(odp_queue_all[WEFT_ODP_WORK_PREFETCHES].below),
		.most = ODP_QUEUE_ALL_PREFETCHES,
	},
	[WEFT_ODP_WORK_RELEASES] = {
		.below = LIST_HEAD_INIT(odp_queue_all[WEFT_ODP_WORK_RELEASES].below),
		.most = ODP_QUEUE_ALL_RELEASES,
	},
};

/* Protects odp_queue_users; held while a user is created. */
static DEFINE_MUTEX(odp_queue_users_lock);
static LIST_HEAD(odp_queue_users);

/* Frees users; its work items never wait for a process. */
static struct workqueue_struct *odp_queue_workqueue;

/* The queue of kernel consumers. */
static struct weft_odp_queue *odp_queue_kernel;

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

/* May the share take one more of the threads above it? odp_queue.h explains the rule. */
static bool share_has_room(const struct share *share)
{
	const struct share *above = share->above;
	u32 half = above->most / 2;

	if (!share->running)
		return above->running < above->most;
	return above->running < half && share->running < half - above->running;
}

/* Add an item to the waiting ones, and the shares above it to the lists above them. */
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
 * Find a queue with a waiting item that may begin, or NULL. The loops are short: each user and each
 * queue that they skip already has a thread.
 */
static struct share *share_next(const struct share *all)
{
	struct share *user, *queue;

	if (all->running >= all->most)
		return NULL;
	list_for_each_entry(user, &all->below, node) {
		if (user->running >= user->most || !share_has_room(user))
			continue;
		list_for_each_entry(queue, &user->below, node)
			if (share_has_room(queue))
				return queue;
	}
	return NULL;
}

/*
 * ---- Items ----
 */

static struct share *item_share(const struct weft_odp_work *item)
{
	return &item->odp_queue->share[item->kind];
}

static void item_begin(struct weft_odp_work *item)
{
	struct odp_queue_user *user = item->odp_queue->user;
	struct share *share;

	for (share = item_share(item); share; share = share->above)
		share->running++;
	queue_work(item->kind == WEFT_ODP_WORK_RELEASES ? user->releases : user->workqueue,
		   &item->work);
}

/* A thread is free: begin waiting items, taking users and their queues in turns. */
static void odp_queue_end(struct weft_odp_queue *queue, enum weft_odp_work_kind kind)
{
	struct weft_odp_work *item;
	struct share *share;

	lockdep_assert_held(&odp_queue_lock);
	for (share = &queue->share[kind]; share; share = share->above)
		share->running--;
	while ((share = share_next(&odp_queue_all[kind]))) {
		item = list_first_entry(&share->below, struct weft_odp_work, waiting);
		list_move_tail(&share->node, &share->above->below);
		list_move_tail(&share->above->node, &odp_queue_all[kind].below);
		share_step_out(share, &item->waiting);
		item_begin(item);
	}
}

/*
 * Queue a work item, which need not be initialized, in any context. @queue belongs to the memory
 * that @fn may wait for; NULL: the queue of kernel consumers. @fn calls weft_odp_queue_leave() at
 * its end; until then the module cannot be unloaded.
 */
void weft_odp_queue_add(struct weft_odp_queue *queue, enum weft_odp_work_kind kind,
			struct weft_odp_work *item, work_func_t fn)
{
	struct share *share;
	unsigned long flags;

	if (!queue)
		queue = odp_queue_kernel;
	refcount_inc(&queue->refs);
	__module_get(THIS_MODULE);
	spin_lock_irqsave(&odp_queue_lock, flags);
	INIT_WORK(&item->work, fn);
	INIT_LIST_HEAD(&item->waiting);
	item->odp_queue = queue;
	item->kind = kind;
	share = item_share(item);
	if (list_empty(&share->below) && share_has_room(share) && share_has_room(share->above))
		item_begin(item);
	else
		share_line_up(share, &item->waiting);
	spin_unlock_irqrestore(&odp_queue_lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_add);

/*
 * Cancel a work item of @kind that has not begun, in any context. The item must not be freed
 * meanwhile. Returns false if it has begun, or even ended and been queued for another kind of work;
 * after true the caller has to call weft_odp_queue_drop().
 */
bool weft_odp_queue_cancel(struct weft_odp_work *item, enum weft_odp_work_kind kind)
{
	bool canceled = true;
	unsigned long flags;

	spin_lock_irqsave(&odp_queue_lock, flags);
	if (item->kind != kind)
		canceled = false;
	else if (!list_empty(&item->waiting))
		share_step_out(item_share(item), &item->waiting);
	else if (cancel_work(&item->work))
		odp_queue_end(item->odp_queue, item->kind);
	else
		canceled = false;
	spin_unlock_irqrestore(&odp_queue_lock, flags);
	return canceled;
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_cancel);

/* A work item of this kind ends. The item itself may have been freed already. */
void weft_odp_queue_leave(struct weft_odp_queue *queue, enum weft_odp_work_kind kind)
{
	unsigned long flags;

	spin_lock_irqsave(&odp_queue_lock, flags);
	odp_queue_end(queue, kind);
	spin_unlock_irqrestore(&odp_queue_lock, flags);
	weft_odp_queue_drop(queue);
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_leave);

/* Drop the references of a canceled item to its queue and to the module. May sleep. */
void weft_odp_queue_drop(struct weft_odp_queue *queue)
{
	weft_odp_queue_put(queue);
	module_put(THIS_MODULE);
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_drop);

/*
 * ---- Users ----
 */

static void user_free(struct odp_queue_user *user)
{
	if (user->workqueue)
		destroy_workqueue(user->workqueue);
	if (user->releases)
		destroy_workqueue(user->releases);
	kfree(user);
}

static void user_end(struct work_struct *work)
{
	user_free(container_of(work, struct odp_queue_user, end));
}

static struct odp_queue_user *user_create(kuid_t uid, unsigned int ns)
{
	struct odp_queue_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	int kind;

	if (!user)
		return NULL;
	refcount_set(&user->refs, 1);
	user->uid = uid;
	user->ns = ns;
	INIT_WORK(&user->end, user_end);
	for (kind = 0; kind < WEFT_ODP_WORK_KINDS; kind++)
		share_init(&user->share[kind], &odp_queue_all[kind], odp_queue_user_most[kind]);
	weft_odp_room_init(&user->room);
	user->workqueue = alloc_workqueue("weft_odp_pins", WQ_UNBOUND, WQ_MAX_ACTIVE);
	user->releases = alloc_workqueue("weft_odp_releases", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (!user->workqueue || !user->releases) {
		user_free(user);
		return NULL;
	}
	list_add(&user->list, &odp_queue_users);
	return user;
}

static struct odp_queue_user *user_find(kuid_t uid, unsigned int ns)
{
	struct odp_queue_user *user;

	list_for_each_entry(user, &odp_queue_users, list) {
		if (uid_eq(user->uid, uid) && user->ns == ns) {
			refcount_inc(&user->refs);
			return user;
		}
	}
	return NULL;
}

static struct odp_queue_user *user_get(kuid_t uid, unsigned int ns)
{
	struct odp_queue_user *user;

	mutex_lock(&odp_queue_users_lock);
	user = user_find(uid, ns) ?: user_create(uid, ns);
	mutex_unlock(&odp_queue_users_lock);
	return user;
}

/*
 * The owner of a user namespace can create any number of users in it, so their threads are
 * accounted to the owner. But root creates namespaces for others, so each namespace that root owns
 * has an account of its own.
 */
static struct odp_queue_user *user_get_current(void)
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

static void user_put(struct odp_queue_user *user)
{
	bool last;

	mutex_lock(&odp_queue_users_lock);
	last = refcount_dec_and_test(&user->refs);
	if (last)
		list_del(&user->list);
	mutex_unlock(&odp_queue_users_lock);
	/* not here: this may run in a work item of the user's own workqueue */
	if (last)
		queue_work(odp_queue_workqueue, &user->end);
}

/*
 * ---- Queues ----
 */

/* The queue takes over the caller's reference to @user; NULL: the user could not be created. */
static struct weft_odp_queue *odp_queue_create(struct odp_queue_user *user)
{
	struct weft_odp_queue *queue;
	int kind;

	if (!user)
		return NULL;
	queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	if (!queue) {
		user_put(user);
		return NULL;
	}
	refcount_set(&queue->refs, 1);
	queue->user = user;
	for (kind = 0; kind < WEFT_ODP_WORK_KINDS; kind++)
		share_init(&queue->share[kind], &user->share[kind], 0);
	return queue;
}

/* Create the queue of a user context, for the current process. NULL: no memory. */
struct weft_odp_queue *weft_odp_queue_create(void)
{
	return odp_queue_create(user_get_current());
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_create);

/* @queue may be NULL, and is returned. */
struct weft_odp_queue *weft_odp_queue_hold(struct weft_odp_queue *queue)
{
	if (queue)
		refcount_inc(&queue->refs);
	return queue;
}

/* @queue may be NULL. Queued work items stay queued, and nobody waits for them. May sleep. */
void weft_odp_queue_put(struct weft_odp_queue *queue)
{
	if (!queue || !refcount_dec_and_test(&queue->refs))
		return;
	user_put(queue->user);
	kfree(queue);
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_put);

/* The room of the user. @queue may be NULL: the queue of kernel consumers. */
struct weft_odp_room *weft_odp_queue_room(struct weft_odp_queue *queue)
{
	return &(queue ?: odp_queue_kernel)->user->room;
}
WEFT_EXPORT_FOR_TEST(weft_odp_queue_room);

int weft_odp_queue_init(void)
{
	weft_odp_rooms_init();
	odp_queue_workqueue = alloc_workqueue("weft_odp_queue", WQ_UNBOUND, 0);
	if (!odp_queue_workqueue)
		return -ENOMEM;
	odp_queue_kernel = odp_queue_create(user_get(INVALID_UID, 0));
	if (odp_queue_kernel)
		return 0;
	/* destroying it first runs the work item that frees the user */
	destroy_workqueue(odp_queue_workqueue);
	return -ENOMEM;
}

/* At module unload. No item is left. */
void weft_odp_queue_exit(void)
{
	weft_odp_queue_put(odp_queue_kernel);
	/* destroying it first runs the work items that free the remaining users */
	destroy_workqueue(odp_queue_workqueue);
}
