// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/vector.h"

#include <linux/cpumask.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "object/cq.h"
#include "object/dev.h"

/**
 * struct weft_vector - a completion vector
 * @lock: protects @pending
 * @pending: CQs whose handler is to be called
 * @work: calls them
 * @cpu: where
 */
struct weft_vector {
	spinlock_t		lock;
	struct list_head	pending;
	struct work_struct	work;
	int			cpu;
};

struct weft_vectors {
	unsigned int		num;
	struct weft_vector	vector[];
};

static struct weft_cq *vector_next(struct weft_vector *vector)
{
	struct weft_cq *cq;
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	cq = list_first_entry_or_null(&vector->pending, struct weft_cq, raised);
	if (cq)
		list_del_init(&cq->raised);
	spin_unlock_irqrestore(&vector->lock, flags);
	return cq;
}

static void vector_worker(struct work_struct *work)
{
	struct weft_vector *vector = container_of(work, struct weft_vector, work);
	struct weft_cq *cq;

	/* cq stays: weft_vector_quiesce() flushes this work */
	while ((cq = vector_next(vector))) {
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
		cond_resched();
	}
}

static struct weft_vector *vector_of(struct weft_cq *cq)
{
	struct weft_vectors *vectors = to_weft_dev(cq->ibcq.device)->vectors;

	return &vectors->vector[cq->vector];
}

void weft_vector_raise(struct weft_cq *cq)
{
	struct weft_vector *vector = vector_of(cq);
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	if (list_empty(&cq->raised))
		list_add_tail(&cq->raised, &vector->pending);
	spin_unlock_irqrestore(&vector->lock, flags);
	if (cpu_online(vector->cpu))
		queue_work_on(vector->cpu, system_highpri_wq, &vector->work);
	else
		queue_work(system_highpri_wq, &vector->work);
}

void weft_vector_quiesce(struct weft_cq *cq)
{
	struct weft_vector *vector = vector_of(cq);
	unsigned long flags;

	spin_lock_irqsave(&vector->lock, flags);
	list_del_init(&cq->raised);
	spin_unlock_irqrestore(&vector->lock, flags);
	flush_work(&vector->work);
}

int weft_vectors_create(struct weft_dev *dev)
{
	unsigned int num = dev->ibdev.num_comp_vectors, i;
	int cpu = cpumask_first(cpu_possible_mask);
	struct weft_vectors *vectors;

	vectors = kvzalloc(struct_size(vectors, vector, num), GFP_KERNEL);
	if (!vectors)
		return -ENOMEM;
	vectors->num = num;
	for (i = 0; i < num; i++) {
		struct weft_vector *vector = &vectors->vector[i];

		spin_lock_init(&vector->lock);
		INIT_LIST_HEAD(&vector->pending);
		INIT_WORK(&vector->work, vector_worker);
		vector->cpu = cpu;
		cpu = cpumask_next(cpu, cpu_possible_mask);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpu_possible_mask);
	}
	dev->vectors = vectors;
	return 0;
}

void weft_vectors_destroy(struct weft_dev *dev)
{
	unsigned int i;

	if (!dev->vectors)
		return;
	for (i = 0; i < dev->vectors->num; i++)
		cancel_work_sync(&dev->vectors->vector[i].work);
	kvfree(dev->vectors);
	dev->vectors = NULL;
}
