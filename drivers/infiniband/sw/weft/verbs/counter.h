/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of some QPs by themselves: "rdma statistic qp". A QP counts into the
 * device's counters or into one of these, never into both: the core adds them up.
 */
#ifndef WEFT_VERBS_COUNTER_H
#define WEFT_VERBS_COUNTER_H

#include <linux/types.h>

struct ib_qp;
struct rdma_counter;
struct rdma_hw_stats;

/**
 * weft_counter_alloc_stats - ib_device_ops.counter_alloc_stats
 * @counter: new
 *
 * Context: process, may sleep.
 * Return: for the core to free, or NULL.
 */
struct rdma_hw_stats *weft_counter_alloc_stats(struct rdma_counter *counter);

/**
 * weft_counter_bind_qp - ib_device_ops.counter_bind_qp: count a QP here from now on
 * @counter: gets an id when it is the first QP
 * @ibqp: the QP
 * @port: ignored, there is one
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM or -EBUSY.
 */
int weft_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);

/**
 * weft_counter_unbind_qp - ib_device_ops.counter_unbind_qp: count it with the device
 * @ibqp: a bound QP
 * @port: ignored
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int weft_counter_unbind_qp(struct ib_qp *ibqp, u32 port);

/**
 * weft_counter_dealloc - ib_device_ops.counter_dealloc
 * @counter: without QPs
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int weft_counter_dealloc(struct rdma_counter *counter);

/**
 * weft_counter_update_stats - ib_device_ops.counter_update_stats
 * @counter: its stats are filled in, under its lock
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int weft_counter_update_stats(struct rdma_counter *counter);

#endif /* WEFT_VERBS_COUNTER_H */
