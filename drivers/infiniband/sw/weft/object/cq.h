/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef WEFT_OBJECT_CQ_H
#define WEFT_OBJECT_CQ_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/smp.h>

#include <rdma/ib_verbs.h>

#include "ring/ring.h"

/**
 * struct weft_moderation - completions for which there is one event together
 * (ibv_modify_cq(3))
 * @count: that many; 0: no moderation
 * @ns: an event is no later than that after its first completion; 0: no matter
 * @unraised: completions since the last event
 * @solicited: one of them counts as solicited
 * @timer: runs while there are some
 */
struct weft_moderation {
	u32		count;
	u64		ns;
	u32		unraised;
	bool		solicited;
	struct hrtimer	timer;
};

/**
 * struct weft_cq - a completion queue
 * @ibcq: first, freed by the core
 * @lock: protects @ring (its device side, and the pointer), @overrun and
 *	@moderation
 * @poll_lock: a kernel consumer's side of @ring
 * @resize_lock: serialises resize: the core does not
 * @user: its consumer is a process; immutable
 * @ring: the ring; replaced by resize
 * @overrun: it overflowed once and takes nothing any more
 *	(IBA 11.6.3.1: CQ error)
 * @ignore_overrun: what finds no room is dropped instead
 * @timestamp: completions carry one
 * @moderation: of events
 * @cpu: of a kernel consumer: where its handler runs
 * @local: raises it on this CPU
 * @remote: raises it on another one
 */
struct weft_cq {
	struct ib_cq		ibcq;
	spinlock_t		lock;
	spinlock_t		poll_lock;
	struct mutex		resize_lock;
	bool			user;
	struct weft_ring	*ring;
	bool			overrun;
	bool			ignore_overrun;
	bool			timestamp;
	struct weft_moderation	moderation;
	int			cpu;
	struct irq_work		local;
	call_single_data_t	remote;
};

static inline struct weft_cq *to_weft_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct weft_cq, ibcq);
}

/* ib_device_ops, in the newest kernel's shape */
int weft_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct ib_udata *udata);
int weft_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int weft_modify_cq(struct ib_cq *ibcq, u16 count, u16 usec);
int weft_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int weft_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int weft_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/**
 * weft_cq_push - add a completion and raise the event if one was asked for
 * @cq: the queue
 * @cqe: copied; the timestamp is filled in here
 * @solicited: whether it counts as solicited; every error does
 *	(ibv_req_notify_cq(3))
 *
 * On overflow the CQ goes into error and CQ_ERR is raised, once; one that may
 * overflow loses the completion and no more.
 *
 * Context: any.
 * Return: false when the CQ is in error: the QP must go into ERR.
 */
bool weft_cq_push(struct weft_cq *cq, struct weft_cqe *cqe, bool solicited);

#endif /* WEFT_OBJECT_CQ_H */
