/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion vectors: what an interrupt is to hardware. Each stands for a CPU.
 *
 * A kernel consumer's completion handler runs in a soft interrupt of the CPU that its CQ's
 * vector stands for, and never twice at a time. It is not called by whoever pushed the
 * completion: handlers post, and posting may push (Documentation/infiniband/core_locking.rst).
 * The handler of a CQ from ib_alloc_cq() only schedules the poll that calls the consumer, on
 * the CPU it is called on: that one may be called in a hard interrupt, and more than once at
 * a time. So may a process's, which only wakes a task up. But vector 0 is what programs take
 * that do not care: a process that has it is woken where the completion was made.
 *
 * With PREEMPT_RT, where locks sleep, no handler is called in a hard interrupt: what comes from
 * another CPU is left to a work item.
 */
#ifndef WEFT_OBJECT_VECTOR_H
#define WEFT_OBJECT_VECTOR_H

struct weft_cq;

/**
 * weft_vector_init - give a CQ its vector
 * @cq: whose consumer is known
 * @vector: number, less than that of possible CPUs
 */
void weft_vector_init(struct weft_cq *cq, unsigned int vector);

/**
 * weft_vector_raise - have the CQ's handler called
 * @cq: has a vector
 *
 * Context: any.
 */
void weft_vector_raise(struct weft_cq *cq);

/**
 * weft_vector_quiesce - make sure that the CQ's handler is not called again
 * @cq: has a vector; nobody pushes to it any more
 *
 * Context: process, may sleep.
 */
void weft_vector_quiesce(struct weft_cq *cq);

#endif /* WEFT_OBJECT_VECTOR_H */
