/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion vectors: what an interrupt is to hardware.
 *
 * A kernel consumer's completion handler runs from the vector of its CQ, a
 * work item bound to the vector's CPU, never on the stack of whoever pushed
 * the completion: handlers post, and posting may push. A user's handler only
 * wakes a task up and is called at once.
 */
#ifndef WEFT_OBJECT_VECTOR_H
#define WEFT_OBJECT_VECTOR_H

#include <linux/types.h>

struct weft_cq;
struct weft_dev;

/**
 * weft_vectors_create - make a device's vectors, one per possible CPU
 * @dev: with num_comp_vectors set
 *
 * Return: 0 or -ENOMEM.
 */
int weft_vectors_create(struct weft_dev *dev);

/**
 * weft_vectors_destroy - free them
 * @dev: without CQs; may have none
 */
void weft_vectors_destroy(struct weft_dev *dev);

/**
 * weft_vector_raise - have the CQ's handler called
 * @cq: of a kernel consumer
 *
 * Context: any.
 */
void weft_vector_raise(struct weft_cq *cq);

/**
 * weft_vector_quiesce - make sure that the CQ's handler is not called again
 * @cq: nobody pushes to it any more
 *
 * Context: process, may sleep.
 */
void weft_vector_quiesce(struct weft_cq *cq);

#endif /* WEFT_OBJECT_VECTOR_H */
