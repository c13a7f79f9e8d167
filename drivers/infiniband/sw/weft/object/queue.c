// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/queue.h"

/*
 * Unbound: a half that copies for long must not keep a CPU's other work
 * waiting. MEM_RECLAIM: storage may depend on its progress.
 */
static struct workqueue_struct *queue;

bool weft_queue_work(struct work_struct *work)
{
	return queue_work(queue, work);
}

int weft_queue_init(void)
{
	queue = alloc_workqueue("weft", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return queue ? 0 : -ENOMEM;
}

void weft_queue_exit(void)
{
	destroy_workqueue(queue);
}
