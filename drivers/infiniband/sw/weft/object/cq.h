/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queues. */
#ifndef WEFT_OBJECT_CQ_H
#define WEFT_OBJECT_CQ_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <rdma/ib_verbs.h>

#include "object/event.h"
#include "object/inject.h"
#include "ring/ring.h"

/* Event moderation (ibv_modify_cq(3)): one event for several completions. */
struct weft_moderation {
	u32		count;		/* completions per event; 0: no moderation */
	u64		ns;		/* limit of an event's delay; 0: no limit */
	u32		unraised;	/* completions since the last event */
	bool		solicited;	/* one of these counts as solicited */
	struct hrtimer	timer;		/* ends the delay @ns */
};

struct weft_cq {
	struct ib_cq		ibcq;		/* freed by the core */
	/* protects the device side of @ring, the pointer, @overrun and @moderation */
	spinlock_t		lock;
	spinlock_t		poll_lock;	/* kernel consumer: its side of @ring */
	struct mutex		resize_lock;	/* the core does not serialise resizes */
	bool			user;		/* consumer is a process; immutable */
	struct weft_ring	*ring;		/* replaced by resize */
	bool			overrun;	/* CQ error (IBA 11.6.3.1): takes no completion */
	bool			ignore_overrun;	/* drop completions that find no room */
	bool			timestamp;	/* set the timestamp of completions */
	struct weft_moderation	moderation;
	struct weft_events	events;
	struct weft_inject_owner owner;		/* for injection rules */
	u32			fault;		/* of weft_cq_fail(), or 0 */
	struct work_struct	fail_work;	/* moves the QPs of the CQ to ERR */

	/* for object/vector.c */
	int			cpu;		/* of the vector */
	struct tasklet_struct	local;		/* calls the handler of a kernel consumer */
	call_single_data_t	remote;		/* calls it, or schedules @local, on @cpu */
	unsigned long		on_way;		/* bit 0: @remote is queued */
	struct work_struct	work;		/* replaces @remote with PREEMPT_RT */
};

static inline struct weft_cq *to_weft_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct weft_cq, ibcq);
}

/* methods of ib_device_ops, with the signatures of the newest kernel */
int weft_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr, struct ib_udata *udata);
int weft_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int weft_modify_cq(struct ib_cq *ibcq, u16 count, u16 usec);
int weft_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata);
int weft_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int weft_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/* Steps of weft_cq_push() that follow without the lock. */
enum weft_cq_sequel {
	WEFT_CQ_NOTIFY	= 1,	/* call the completion handler */
	WEFT_CQ_ERROR	= 2,	/* raise CQ_ERR */
	WEFT_CQ_LOST	= 4,	/* tell the caller that the completion is lost */
};

void weft_cq_overrun(struct weft_cq *cq);
u32 weft_cq_settle(struct weft_cq *cq, bool pushed, bool solicited);
bool weft_cq_finish(struct weft_cq *cq, u32 sequel);
void weft_cq_fail(struct weft_cq *cq, u32 fault);

/*
 * Lock the CQ for weft_cq_push(), from any context. Inline, as is weft_cq_push(), so that the
 * compiler can store the members of a CQE that is filled in between directly into the ring.
 *
 * Return: flags for weft_cq_push().
 */
static __always_inline unsigned long weft_cq_begin(struct weft_cq *cq)
	__acquires(&cq->lock)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	return flags;
}

/*
 * Add a completion, raise the event that was requested, and unlock the CQ. Every error completion
 * counts as solicited (ibv_req_notify_cq(3)).
 *
 * An overflow puts the CQ into error and raises CQ_ERR, once; with ignore_overrun it only drops
 * the completion.
 *
 * Return: false: the CQ is in error and the completion is lost, see weft_qp_lost().
 */
static __always_inline bool weft_cq_push(struct weft_cq *cq, struct weft_cqe *cqe,
					 bool solicited, unsigned long flags)
	__releases(&cq->lock)
{
	struct weft_ring *ring = cq->ring;
	bool pushed;
	u32 sequel;

	lockdep_assert_held(&cq->lock);
	if (unlikely(cq->timestamp))
		cqe->timestamp = ktime_get_raw_ns();
	pushed = likely(!cq->overrun) && weft_ring_push(ring, cqe);
	if (likely(pushed && !cq->moderation.count))
		sequel = weft_ring_disarm(ring, solicited) ? WEFT_CQ_NOTIFY : 0;
	else
		sequel = weft_cq_settle(cq, pushed, solicited);
	spin_unlock_irqrestore(&cq->lock, flags);
	return likely(!sequel) || weft_cq_finish(cq, sequel);
}

#endif /* WEFT_OBJECT_CQ_H */
