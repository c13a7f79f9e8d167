/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The workqueues of the objects: what is left to a process.
 */
#ifndef WEFT_OBJECT_QUEUE_H
#define WEFT_OBJECT_QUEUE_H

#include <linux/workqueue.h>

/**
 * weft_queue_work - have a work item done soon
 * @work: waits for no process, but to be scheduled
 *
 * Context: any.
 * Return: false when it was queued already.
 */
bool weft_queue_work(struct work_struct *work);

/**
 * weft_queue_work_on - have a work item done at once, on a CPU
 * @cpu: possible; if it is offline another one does it
 * @work: short
 *
 * Context: any; with PREEMPT_RT only.
 * Return: false when it was queued already.
 */
bool weft_queue_work_on(int cpu, struct work_struct *work);

/**
 * weft_queue_init - at module load
 *
 * Return: 0 or -ENOMEM.
 */
int weft_queue_init(void);

/**
 * weft_queue_exit - at module unload, when no object is left
 */
void weft_queue_exit(void);

#endif /* WEFT_OBJECT_QUEUE_H */
