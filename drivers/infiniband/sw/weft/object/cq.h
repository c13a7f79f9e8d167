/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion queues.
 */
#ifndef WEFT_OBJECT_CQ_H
#define WEFT_OBJECT_CQ_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <rdma/ib_verbs.h>

#include "object/event.h"
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
 * @events: asynchronous ones
 * @fault: what weft_cq_fail() was told, or 0
 * @fail_work: takes its QPs to ERR
 * @cpu: where its handler runs (object/vector.h)
 * @local: calls a kernel consumer's, once at a time
 * @remote: calls it or schedules @local on @cpu
 * @on_way: bit 0: @remote is, and one that raises it leaves it at that
 * @work: in place of @remote with PREEMPT_RT
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
	struct weft_events	events;
	u32			fault;
	struct work_struct	fail_work;
	int			cpu;
	struct tasklet_struct	local;
	call_single_data_t	remote;
	unsigned long		on_way;
	struct work_struct	work;
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
 * enum weft_cq_sequel - what is still to be done for a completion, without the lock
 * @WEFT_CQ_NOTIFY: raise the event that was asked for
 * @WEFT_CQ_ERROR: raise CQ_ERR
 * @WEFT_CQ_LOST: tell whose completion it was that it is lost
 */
enum weft_cq_sequel {
	WEFT_CQ_NOTIFY	= 1,
	WEFT_CQ_ERROR	= 2,
	WEFT_CQ_LOST	= 4,
};

/* An overflow, or moderation: see weft_cq_push(). With the lock; returns what is to be done. */
u32 weft_cq_settle(struct weft_cq *cq, bool pushed, bool solicited);

/* Do it; returns what weft_cq_push() does. */
bool weft_cq_finish(struct weft_cq *cq, u32 sequel);

/**
 * weft_cq_fail - let all QPs of a CQ in error go into ERR, also those that do not know of it
 * @cq: in error
 * @fault: enum weft_fault: why
 *
 * Soon, and once. What is made afterwards finds out by its first completion.
 *
 * Context: any.
 */
void weft_cq_fail(struct weft_cq *cq, u32 fault);

/**
 * weft_cq_begin - a completion is about to be added
 * @cq: the queue; locked until weft_cq_push()
 *
 * What is filled in afterwards goes straight into the ring, if the compiler sees both.
 *
 * Context: any.
 * Return: flags for weft_cq_push().
 */
static __always_inline unsigned long weft_cq_begin(struct weft_cq *cq)
	__acquires(&cq->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	return flags;
}

/**
 * weft_cq_push - add a completion and raise the event if one was asked for
 * @cq: the queue
 * @cqe: copied; the timestamp is filled in here
 * @solicited: whether it counts as solicited; every error does
 *	(ibv_req_notify_cq(3))
 * @flags: from weft_cq_begin()
 *
 * On overflow the CQ goes into error and CQ_ERR is raised, once; one that may
 * overflow loses the completion and no more.
 *
 * Return: false when the CQ is in error: see weft_qp_lost().
 */
static __always_inline bool weft_cq_push(struct weft_cq *cq, struct weft_cqe *cqe,
					 bool solicited, unsigned long flags)
	__releases(&cq->lock)
{
	bool pushed;
	u32 sequel;

	lockdep_assert_held(&cq->lock);
	if (unlikely(cq->timestamp))
		cqe->timestamp = ktime_get_raw_ns();
	pushed = likely(!cq->overrun) && weft_ring_push(cq->ring, cqe);
	if (likely(pushed && !cq->moderation.count))
		sequel = weft_ring_disarm(cq->ring, solicited) ? WEFT_CQ_NOTIFY : 0;
	else
		sequel = weft_cq_settle(cq, pushed, solicited);
	spin_unlock_irqrestore(&cq->lock, flags);
	return likely(!sequel) || weft_cq_finish(cq, sequel);
}

#endif /* WEFT_OBJECT_CQ_H */
