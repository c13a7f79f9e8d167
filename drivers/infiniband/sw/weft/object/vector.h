/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion vectors: weft's equivalent of a hardware interrupt. */
#ifndef WEFT_OBJECT_VECTOR_H
#define WEFT_OBJECT_VECTOR_H

struct weft_cq;

void weft_vector_init(struct weft_cq *cq, unsigned int vector);
void weft_vector_raise(struct weft_cq *cq);
void weft_vector_quiesce(struct weft_cq *cq);

#endif /* WEFT_OBJECT_VECTOR_H */
