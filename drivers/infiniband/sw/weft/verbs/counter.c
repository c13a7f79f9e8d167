// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/counter.h"

#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "object/dev.h"
#include "object/qp.h"
#include "pause.h"
#include "stats.h"

/* The counters that bound QPs count into; dev->counters finds it by the id of the rdma_counter. */
struct counter_block {
	struct weft_stats __percpu *stats;
};

static void counter_block_free(struct counter_block *block)
{
	free_percpu(block->stats);
	kfree(block);
}

static struct counter_block *counter_block_create(struct weft_dev *dev, u32 *id)
{
	struct counter_block *block = kzalloc(sizeof(*block), GFP_KERNEL);
	int ret;

	if (!block)
		return ERR_PTR(-ENOMEM);
	block->stats = alloc_percpu(struct weft_stats);
	ret = block->stats ? xa_alloc(&dev->counters, id, block, xa_limit_31b, GFP_KERNEL) :
			     -ENOMEM;
	if (ret) {
		counter_block_free(block);
		return ERR_PTR(ret);
	}
	return block;
}

/* Only the owner of a turn uses qp->stats, so the pointer may change while both are stopped. */
static void counter_count_into(struct weft_qp *qp, struct weft_stats __percpu *stats)
{
	mutex_lock(&qp->modify_lock);
	weft_turn_stop(&qp->send.turn);
	weft_turn_stop(&qp->recv.turn);
	qp->stats = stats;
	weft_turn_resume(&qp->recv.turn);
	weft_turn_resume(&qp->send.turn);
	mutex_unlock(&qp->modify_lock);
}

struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter)
{
	return weft_alloc_hw_port_stats(counter->device, counter->port);
}

int weft_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port)
{
	struct weft_dev *dev = to_weft_dev(counter->device);
	struct counter_block *block;

	if (counter->id) {
		block = xa_load(&dev->counters, counter->id);
	} else {
		block = counter_block_create(dev, &counter->id);
		if (IS_ERR(block))
			return PTR_ERR(block);
	}
	weft_pause(WEFT_PAUSE_COUNTER_BIND);
	counter_count_into(to_weft_qp(ibqp), block->stats);
	/* the core reads the pointer, but the driver has to set it */
	ibqp->counter = counter;
	return 0;
}

int weft_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	counter_count_into(to_weft_qp(ibqp), to_weft_dev(ibqp->device)->stats);
	weft_pause(WEFT_PAUSE_COUNTER_UNBIND);
	ibqp->counter = NULL;
	return 0;
}

int weft_counter_dealloc(struct rdma_counter *counter)
{
	struct weft_dev *dev = to_weft_dev(counter->device);

	weft_pause(WEFT_PAUSE_COUNTER_DEALLOC);
	counter_block_free(xa_erase(&dev->counters, counter->id));
	return 0;
}

int weft_counter_update_stats(struct rdma_counter *counter)
{
	struct weft_dev *dev = to_weft_dev(counter->device);
	struct counter_block *block = xa_load(&dev->counters, counter->id);

	weft_pause(WEFT_PAUSE_COUNTER_READ);
	weft_stats_fill(block->stats, counter->stats);
	return 0;
}
