/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared receive queues.
 */
#ifndef WEFT_OBJECT_SRQ_H
#define WEFT_OBJECT_SRQ_H

#include <rdma/ib_verbs.h>

#include "object/event.h"
#include "ring/sqe.h"

struct weft_xrc_name;

/**
 * struct weft_srq - a shared receive queue
 * @ibsrq: first, freed by the core
 * @lock: protects the device side of @ring, the pointer, @limit and @error
 * @post_lock: a kernel consumer's side of @ring
 * @modify_lock: serialises modify
 * @ring: the queue; replaced by resize
 * @max_sge: elements of a work request
 * @limit: raise an event below so many work requests; 0: disarmed
 * @error: the consumer's index was impossible; nothing is taken any more
 * @srqn: SRQ number
 * @events: asynchronous ones
 * @xrc: an XRC SRQ: what XRC target QPs find by the number; else NULL
 */
struct weft_srq {
	struct ib_srq		ibsrq;
	spinlock_t		lock;
	spinlock_t		post_lock;
	struct mutex		modify_lock;
	struct weft_ring	*ring;
	u32			max_sge;
	u32			limit;
	bool			error;
	u32			srqn;
	struct weft_events	events;
	struct weft_xrc_name	*xrc;
};

static inline struct weft_srq *to_weft_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct weft_srq, ibsrq);
}

int weft_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata);
int weft_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int weft_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int weft_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int weft_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);

/**
 * weft_srq_take - take a receive work request
 * @srq: the queue
 * @least: bytes that it must have room for; one with less stays in the queue
 * @wqe: result
 *
 * Raises the limit event when the queue falls below its limit, once.
 *
 * Return: 0; -EAGAIN: there is none; -EMSGSIZE: the next one is too short; -EINVAL:
 * malformed, but taken; -EIO: the queue is in error.
 */
int weft_srq_take(struct weft_srq *srq, u64 least, struct weft_rwqe *wqe);

/**
 * weft_rq_write - a kernel consumer posts a receive work request
 * @ring: the queue; the caller excludes other producers
 * @max_sge: elements it may have
 * @wr: the request
 *
 * Return: 0; -EINVAL: too many elements; -ENOMEM: full.
 */
int weft_rq_write(struct weft_ring *ring, u32 max_sge, const struct ib_recv_wr *wr);

#endif /* WEFT_OBJECT_SRQ_H */
