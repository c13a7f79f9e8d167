/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion vectors: weft's equivalent of a hardware interrupt. There is one per possible CPU,
 * and the completion handler of a CQ runs on the CPU of its vector. Code of a kernel
 * consumer is never called by the post that has made the completion.
 *
 * Exception: a process with vector 0, the one of programs that do not choose, is woken on the
 * CPU that has made the completion.
 */
#ifndef WEFT_OBJECT_VECTOR_H
#define WEFT_OBJECT_VECTOR_H

struct weft_cq;

/* @cq->user is set. @vector is less than the number of possible CPUs. */
void weft_vector_init(struct weft_cq *cq, unsigned int vector);

/* Have the completion handler called, from any context. */
void weft_vector_raise(struct weft_cq *cq);

void weft_vector_quiesce(struct weft_cq *cq);

#endif /* WEFT_OBJECT_VECTOR_H */
