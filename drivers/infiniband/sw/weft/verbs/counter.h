/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of selected QPs, for "rdma statistic qp". A QP counts either into the counters of the
 * device or into these, never into both, because the core adds them up.
 */
#ifndef WEFT_VERBS_COUNTER_H
#define WEFT_VERBS_COUNTER_H

#include <linux/types.h>

struct ib_qp;
struct rdma_counter;
struct rdma_hw_stats;

/* Members of struct ib_device_ops. */
struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter);
/* The first QP gives @counter its id. -EBUSY: all ids are in use. */
int weft_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int weft_counter_unbind_qp(struct ib_qp *ibqp, u32 port);
int weft_counter_dealloc(struct rdma_counter *counter);
int weft_counter_update_stats(struct rdma_counter *counter);

#endif /* WEFT_VERBS_COUNTER_H */
