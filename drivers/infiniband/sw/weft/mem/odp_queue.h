/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Queues for work items that may wait for pages of a process. */
#ifndef WEFT_MEM_ODP_QUEUE_H
#define WEFT_MEM_ODP_QUEUE_H

#include <linux/list.h>
#include <linux/workqueue.h>

struct weft_odp_queue;
struct weft_odp_room;

enum weft_odp_work_kind {
	WEFT_ODP_WORK_MESSAGES,		/* pins the pages of a message */
	WEFT_ODP_WORK_SECONDS,		/* those of its second end, see mem/odp_room.c */
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

struct weft_odp_queue *weft_odp_queue_create(void);
struct weft_odp_queue *weft_odp_queue_hold(struct weft_odp_queue *queue);
void weft_odp_queue_put(struct weft_odp_queue *queue);
struct weft_odp_room *weft_odp_queue_room(struct weft_odp_queue *queue);
void weft_odp_queue_add(struct weft_odp_queue *queue, enum weft_odp_work_kind kind,
			struct weft_odp_work *item, work_func_t fn);
bool weft_odp_queue_cancel(struct weft_odp_work *item, enum weft_odp_work_kind kind);
void weft_odp_queue_leave(struct weft_odp_queue *queue, enum weft_odp_work_kind kind);
void weft_odp_queue_drop(struct weft_odp_queue *queue);
int weft_odp_queue_init(void);
void weft_odp_queue_exit(void);

#endif /* WEFT_MEM_ODP_QUEUE_H */
