/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Threads for work items that wait for pages.
 *
 * Such a work item may be stuck for as long as a process pleases (userfaultfd, FUSE), and a
 * thread of the kernel with it. So may one that lets go of pages: dirty ones are locked for
 * that, and a FUSE server may hold up the owner of the lock. So threads are shared out: all of
 * them to users, and those of a user to its contexts, each of which has a queue. On both levels
 * the same rule holds (see share_has_room()):
 *
 *	- a share without a thread gets one as long as there is any;
 *	- more than one each comes from one half only, and no share takes more of it than it
 *	  leaves to the others.
 *
 * A work item that may not begin yet waits in its queue. Each kind of work items is counted
 * apart, so prefetches do not hold up messages. The sum has a fixed limit.
 */
#ifndef WEFT_MEM_ODP_QUEUE_H
#define WEFT_MEM_ODP_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_odp_queue;

/**
 * enum weft_odp_work_kind - what a work item does
 * @WEFT_ODP_WORK_MESSAGES: it pins the pages of a message
 * @WEFT_ODP_WORK_PREFETCHES: it prefetches
 * @WEFT_ODP_WORK_RELEASES: it lets go of pages
 * @WEFT_ODP_WORK_KINDS: how many there are
 */
enum weft_odp_work_kind {
	WEFT_ODP_WORK_MESSAGES,
	WEFT_ODP_WORK_PREFETCHES,
	WEFT_ODP_WORK_RELEASES,
	WEFT_ODP_WORK_KINDS,
};

/**
 * struct weft_odp_work - a work item of a queue
 * @work: does it; ends with weft_odp_queue_leave()
 * @waiting: among those of the queue that may not begin yet
 * @odp_queue: which one
 * @kind: what it does
 */
struct weft_odp_work {
	struct work_struct	work;
	struct list_head	waiting;
	struct weft_odp_queue	*odp_queue;
	enum weft_odp_work_kind	kind;
};

/**
 * weft_odp_queue_create - make a queue, for a user context of the current process
 *
 * Context: process.
 * Return: it, with a reference; NULL: no memory.
 */
struct weft_odp_queue *weft_odp_queue_create(void);

/**
 * weft_odp_queue_hold - take one more reference
 * @odp_queue: may be NULL
 *
 * Return: @odp_queue.
 */
struct weft_odp_queue *weft_odp_queue_hold(struct weft_odp_queue *queue);

/**
 * weft_odp_queue_put - drop a reference
 * @odp_queue: may be NULL
 *
 * Work items that are queued stay. Nobody waits for them.
 *
 * Context: process.
 */
void weft_odp_queue_put(struct weft_odp_queue *queue);

/**
 * weft_odp_queue_add - have something done that may wait for pages
 * @odp_queue: of the memory; NULL: of kernel consumers
 * @kind: what it does
 * @item: not queued; need not be initialized
 * @fn: of its work item; calls weft_odp_queue_leave() last
 *
 * The module stays until then.
 *
 * Context: any.
 */
void weft_odp_queue_add(struct weft_odp_queue *queue, enum weft_odp_work_kind kind,
			struct weft_odp_work *item, work_func_t fn);

/**
 * weft_odp_queue_cancel - do it only if it has begun
 * @item: queued, not freed by its work item meanwhile
 *
 * Context: any.
 * Return: true: it never begins, and weft_odp_queue_drop() is due; false: it has begun.
 */
bool weft_odp_queue_cancel(struct weft_odp_work *item);

/**
 * weft_odp_queue_leave - a work item is done
 * @odp_queue: of the item, which may be freed already
 * @kind: of the item
 */
void weft_odp_queue_leave(struct weft_odp_queue *queue, enum weft_odp_work_kind kind);

/**
 * weft_odp_queue_drop - an item that was canceled needs its queue no more
 * @odp_queue: of the item
 *
 * Context: process.
 */
void weft_odp_queue_drop(struct weft_odp_queue *queue);

/**
 * weft_odp_queue_init - at module load
 *
 * Return: 0 or -ENOMEM.
 */
int weft_odp_queue_init(void);

/**
 * weft_odp_queue_exit - at module unload, when no item is left
 */
void weft_odp_queue_exit(void);

#endif /* WEFT_MEM_ODP_QUEUE_H */
