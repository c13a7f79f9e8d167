/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared receive queues. */
#ifndef WEFT_OBJECT_SRQ_H
#define WEFT_OBJECT_SRQ_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "object/event.h"
#include "ring/sqe.h"

struct weft_tagged;
struct weft_tags;
struct weft_xrc_name;

struct weft_srq {
	struct ib_srq		ibsrq;		/* freed by the core */
	/* protects the device side of @ring, the pointer, @limit and @error */
	spinlock_t		lock;
	spinlock_t		post_lock;	/* kernel consumer: producer side of @ring */
	struct mutex		modify_lock;	/* modify and query */
	struct weft_ring	*ring;		/* replaced by resize */
	u32			max_sge;
	u32			limit;		/* 0: no SRQ_LIMIT_REACHED event is due */
	bool			error;		/* consumer's index was invalid: takes nothing */
	u32			srqn;
	struct weft_events	events;
	struct weft_xrc_name	*xrc;		/* XRC SRQ, else NULL */
	struct weft_tags	*tags;		/* SRQ with tags, else NULL */
};

static inline struct weft_srq *to_weft_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct weft_srq, ibsrq);
}

/* The driver's own methods of SRQs; those of tags are in object/tag.c. */
extern const struct uapi_definition weft_srq_uapi[];

int weft_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int weft_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int weft_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int weft_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int weft_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr);
int weft_srq_take(struct weft_srq *srq, u64 least, struct weft_rwqe *wqe);
int weft_srq_take_tagged(struct weft_srq *srq, struct weft_tagged *tagged, struct weft_rwqe *wqe);
void weft_srq_uncount(struct weft_srq *srq, const struct weft_tagged *tagged);
int weft_rq_write(struct weft_ring *ring, u32 max_sge, const struct ib_recv_wr *wr);

#endif /* WEFT_OBJECT_SRQ_H */
