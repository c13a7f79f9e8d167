/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Threads for work items that wait for pages.
 *
 * Such a work item may be stuck for as long as a process pleases (userfaultfd, FUSE), and a
 * thread of the kernel with it. So may one that lets go of pages: dirty ones are locked for
 * that, and a FUSE server may hold up the owner of the lock. So threads are shared out: all of
 * them to users, and those of a user to its contexts, each of which has a lane. On both levels
 * the same rule holds (see share_has_room()):
 *
 *	- a share without a thread gets one as long as there is any;
 *	- more than one each comes from one half only, and no share takes more of it than it
 *	  leaves to the others.
 *
 * A work item that may not begin yet waits in its lane. Each kind of work items is counted
 * apart, so prefetches do not hold up messages. The sum has a fixed limit.
 */
#ifndef WEFT_MEM_LANE_H
#define WEFT_MEM_LANE_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_lane;

/**
 * enum weft_lane_kind - what a work item does
 * @WEFT_LANE_MESSAGES: it pins the pages of a message
 * @WEFT_LANE_PREFETCHES: it prefetches
 * @WEFT_LANE_RELEASES: it lets go of pages
 * @WEFT_LANE_KINDS: how many there are
 */
enum weft_lane_kind {
	WEFT_LANE_MESSAGES,
	WEFT_LANE_PREFETCHES,
	WEFT_LANE_RELEASES,
	WEFT_LANE_KINDS,
};

/**
 * struct weft_lane_item - a work item of a lane
 * @work: does it; ends with weft_lane_leave()
 * @waiting: among those of the lane that may not begin yet
 * @lane: which one
 * @kind: what it does
 */
struct weft_lane_item {
	struct work_struct	work;
	struct list_head	waiting;
	struct weft_lane	*lane;
	enum weft_lane_kind	kind;
};

/**
 * weft_lane_create - make a lane, for a user context of the current process
 *
 * Context: process.
 * Return: it, with a reference; NULL: no memory.
 */
struct weft_lane *weft_lane_create(void);

/**
 * weft_lane_hold - take one more reference
 * @lane: may be NULL
 *
 * Return: @lane.
 */
struct weft_lane *weft_lane_hold(struct weft_lane *lane);

/**
 * weft_lane_put - drop a reference
 * @lane: may be NULL
 *
 * Work items that are queued stay. Nobody waits for them.
 *
 * Context: process.
 */
void weft_lane_put(struct weft_lane *lane);

/**
 * weft_lane_queue - have something done that may wait for pages
 * @lane: of the memory; NULL: of kernel consumers
 * @kind: what it does
 * @item: not queued; need not be initialized
 * @fn: of its work item; calls weft_lane_leave() last
 *
 * The module stays until then.
 *
 * Context: any.
 */
void weft_lane_queue(struct weft_lane *lane, enum weft_lane_kind kind,
		     struct weft_lane_item *item, work_func_t fn);

/**
 * weft_lane_cancel - do it only if it has begun
 * @item: queued, not freed by its work item meanwhile
 *
 * Context: any.
 * Return: true: it never begins, and weft_lane_drop() is due; false: it has begun.
 */
bool weft_lane_cancel(struct weft_lane_item *item);

/**
 * weft_lane_leave - a work item is done
 * @lane: of the item, which may be freed already
 * @kind: of the item
 */
void weft_lane_leave(struct weft_lane *lane, enum weft_lane_kind kind);

/**
 * weft_lane_drop - an item that was canceled needs its lane no more
 * @lane: of the item
 *
 * Context: process.
 */
void weft_lane_drop(struct weft_lane *lane);

/**
 * weft_lane_init - at module load
 *
 * Return: 0 or -ENOMEM.
 */
int weft_lane_init(void);

/**
 * weft_lane_exit - at module unload, when no item is left
 */
void weft_lane_exit(void);

#endif /* WEFT_MEM_LANE_H */
