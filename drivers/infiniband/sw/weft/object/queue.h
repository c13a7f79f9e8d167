/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The workqueues of the objects, for work that needs process context. */
#ifndef WEFT_OBJECT_QUEUE_H
#define WEFT_OBJECT_QUEUE_H

#include <linux/workqueue.h>

/*
 * Queue a work item, from any context. It must not wait for a user process (e.g. for a page
 * fault). Return: false: it was queued already.
 */
bool weft_queue_work(struct work_struct *work);

/*
 * Queue a short work item at high priority on a possible CPU, or on another one if that CPU is
 * offline. For PREEMPT_RT only. From any context. Return: false: it was queued already.
 */
bool weft_queue_work_on(int cpu, struct work_struct *work);

int weft_queue_init(void);
void weft_queue_exit(void);

#endif /* WEFT_OBJECT_QUEUE_H */
