/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queues for work items that may wait for pages of a process. */
#ifndef WEFT_MEM_ODP_QUEUE_H
#define WEFT_MEM_ODP_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_odp_queue;

enum weft_odp_work_kind {
	WEFT_ODP_WORK_MESSAGES,		/* pins the pages of a message */
	WEFT_ODP_WORK_PREFETCHES,
	WEFT_ODP_WORK_RELEASES,		/* unpins pages */
	WEFT_ODP_WORK_KINDS,
};

struct weft_odp_work {
	struct work_struct	work;		/* ends with weft_odp_queue_leave() */
	struct list_head	waiting;	/* in the queue, until it may begin */
	struct weft_odp_queue	*odp_queue;
	enum weft_odp_work_kind	kind;
};

/* Create the queue of a user context, for the current process. NULL: no memory. */
struct weft_odp_queue *weft_odp_queue_create(void);

/* @queue may be NULL, and is returned. */
struct weft_odp_queue *weft_odp_queue_hold(struct weft_odp_queue *queue);

/* @queue may be NULL. Queued work items stay queued, and nobody waits for them. May sleep. */
void weft_odp_queue_put(struct weft_odp_queue *queue);

void weft_odp_queue_add(struct weft_odp_queue *queue, enum weft_odp_work_kind kind,
			struct weft_odp_work *item, work_func_t fn);
bool weft_odp_queue_cancel(struct weft_odp_work *item);

/* A work item of this kind ends. The item itself may have been freed already. */
void weft_odp_queue_leave(struct weft_odp_queue *queue, enum weft_odp_work_kind kind);

/* Drop the references of a canceled item to its queue and to the module. May sleep. */
void weft_odp_queue_drop(struct weft_odp_queue *queue);

int weft_odp_queue_init(void);

/* At module unload. No item is left. */
void weft_odp_queue_exit(void);

#endif /* WEFT_MEM_ODP_QUEUE_H */
