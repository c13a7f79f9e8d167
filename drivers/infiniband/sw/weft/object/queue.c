// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/queue.h"

/*
 * Unbound: a requester or responder that copies for long must not delay other work of its CPU.
 * MEM_RECLAIM: storage may depend on its progress.
 */
static struct workqueue_struct *queue;

/* With PREEMPT_RT only: for per-CPU work items that replace interrupts. */
static struct workqueue_struct *queue_of_cpus;

/*
 * Queue a work item, from any context. It must not wait for a user process (e.g. for a page
 * fault). Return: false: it was queued already.
 */
bool weft_queue_work(struct work_struct *work)
{
	return queue_work(queue, work);
}

/*
 * Queue a short work item at high priority on a possible CPU, or on another one if that CPU is
 * offline. For PREEMPT_RT only. From any context. Return: false: it was queued already.
 */
bool weft_queue_work_on(int cpu, struct work_struct *work)
{
	return queue_work_on(cpu, queue_of_cpus, work);
}

int weft_queue_init(void)
{
	queue = alloc_workqueue("weft", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!queue)
		return -ENOMEM;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		return 0;
	queue_of_cpus = alloc_workqueue("weft_cpu", COMPAT_WQ_PERCPU | WQ_HIGHPRI | WQ_MEM_RECLAIM,
					0);
	if (queue_of_cpus)
		return 0;
	destroy_workqueue(queue);
	return -ENOMEM;
}

void weft_queue_exit(void)
{
	if (queue_of_cpus)
		destroy_workqueue(queue_of_cpus);
	destroy_workqueue(queue);
}
