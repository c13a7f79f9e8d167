/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The turn of a QP half: who may write its state.
 *
 * A turn is an ownership bit with event bits beside it. Whoever owns the turn
 * runs that half; everybody else posts an event and leaves. Owners may sleep
 * (between pieces of a long copy), so a turn is not a spinlock; nobody holds
 * one across a return to user space.
 *
 * Order: the owner of a send turn may wait for one receive turn; the owner of
 * a receive turn waits for no turn. weft_turn_stop() of a QP takes its send
 * turn, then its receive turn, holding no other. So there is no cycle. Lockdep
 * knows a turn as a lock, with a class for each of the two.
 *
 * weft_turn_stop() goes before everybody else: senders on this host, of which there may be
 * many, wait in weft_turn_own() until it has been served.
 */
#ifndef WEFT_OBJECT_TURN_H
#define WEFT_OBJECT_TURN_H

#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/workqueue.h>

struct weft_qp;

/* bits of struct weft_turn.bits */
enum weft_turn_bits {
	WEFT_TURN_OWNED		= 0,
	/* somebody waits in weft_turn_stop(), or did: end soon, take no new turn */
	WEFT_TURN_STOP		= 1,
	/* and there will be weft_turn_resume() or weft_turn_end(): wait for that */
	WEFT_TURN_CLAIMED	= 2,
	/* events */
	WEFT_EV_RUN		= 8,	/* there may be something to do */
	WEFT_EV_TIMER		= 9,	/* the timer expired */
};

#define WEFT_TURN_EVENTS	(BIT(WEFT_EV_RUN) | BIT(WEFT_EV_TIMER))

/**
 * struct weft_turn - a turn
 * @bits: enum weft_turn_bits, atomic
 * @waiters: tasks in weft_turn_own() or weft_turn_stop()
 * @work: runs the half when no owner is there to see an event
 * @run: called with the turn owned; ends with weft_turn_release() or
 *	weft_turn_defer()
 * @qp: whose half it is; @work holds a reference while queued
 * @dep_map: held by the owner, for lockdep
 */
struct weft_turn {
	unsigned long		bits;
	atomic_t		waiters;
	struct work_struct	work;
	void			(*run)(struct weft_qp *qp);
	struct weft_qp		*qp;
	struct lockdep_map	dep_map;
};

/**
 * weft_turn_init - prepare a turn that nobody owns
 * @turn: of a QP half
 * @qp: the QP
 * @name: "weft_send_turn" or "weft_recv_turn"
 * @key: one for each of the two
 * @run: what the work item does with the turn
 */
void weft_turn_init(struct weft_turn *turn, struct weft_qp *qp, const char *name,
		    struct lock_class_key *key, void (*run)(struct weft_qp *qp));

/* Give a stopped turn back. Return: false. */
bool weft_turn_refuse(struct weft_turn *turn);

/**
 * weft_turn_try - own the turn if it is free and nobody wants it stopped
 * @turn: any
 *
 * Return: true when the caller owns it.
 */
static inline bool weft_turn_try(struct weft_turn *turn)
{
	if (test_and_set_bit_lock(WEFT_TURN_OWNED, &turn->bits))
		return false;
	mutex_acquire(&turn->dep_map, 0, 1, _RET_IP_);
	smp_mb__after_atomic(); /* either we see STOP, or who has set it waits for us */
	return likely(!test_bit(WEFT_TURN_STOP, &turn->bits)) || weft_turn_refuse(turn);
}

/* Somebody else has it, or wants it stopped: see weft_turn_own(). */
int weft_turn_wait(struct weft_turn *turn);

/**
 * weft_turn_own - wait for the turn
 * @turn: a receive turn
 *
 * Context: process; the caller owns at most one send turn.
 * Return: 0; -EINTR: the task is being killed; -EAGAIN: somebody stops it just now, or has
 * ended it; to be tried again, if its QP is still there.
 */
static inline int weft_turn_own(struct weft_turn *turn)
{
	might_sleep();
	return likely(weft_turn_try(turn)) ? 0 : weft_turn_wait(turn);
}

/**
 * weft_turn_stop - make the owner end soon, and own the turn
 * @turn: the send turn of a QP, or its receive turn after that
 *
 * Until weft_turn_resume() only events collect. The caller holds the QP's
 * modify_lock.
 */
void weft_turn_stop(struct weft_turn *turn);

/**
 * weft_turn_resume - let the half run again, and run it
 * @turn: stopped
 */
void weft_turn_resume(struct weft_turn *turn);

/**
 * weft_turn_end - give a turn back that nobody will own any more
 * @turn: stopped, of a QP that is being destroyed
 */
void weft_turn_end(struct weft_turn *turn);

/**
 * weft_turn_stopping - whether the owner should end soon
 * @turn: owned by the caller
 *
 * Return: true when somebody waits in weft_turn_stop().
 */
static inline bool weft_turn_stopping(const struct weft_turn *turn)
{
	return test_bit(WEFT_TURN_STOP, &turn->bits);
}

/**
 * weft_turn_post - post an event
 * @turn: any
 * @event: WEFT_EV_x
 *
 * The owner sees it, or a work item is queued.
 *
 * Context: any.
 */
void weft_turn_post(struct weft_turn *turn, int event);

/**
 * weft_turn_take - take the events
 * @turn: owned by the caller
 *
 * Return: bits of WEFT_TURN_EVENTS.
 */
static inline unsigned long weft_turn_take(struct weft_turn *turn)
{
	unsigned long events = READ_ONCE(turn->bits) & WEFT_TURN_EVENTS;

	if (events & BIT(WEFT_EV_RUN))
		clear_bit(WEFT_EV_RUN, &turn->bits);
	if (events & BIT(WEFT_EV_TIMER))
		clear_bit(WEFT_EV_TIMER, &turn->bits);
	if (events)
		smp_mb__after_atomic(); /* pairs with weft_turn_post(): taken, then looked at */
	return events;
}

/**
 * weft_turn_has_events - whether there is more to do already
 * @turn: owned by the caller
 *
 * Return: true when an event has come since weft_turn_take(), and nobody waits in
 * weft_turn_stop().
 */
static inline bool weft_turn_has_events(const struct weft_turn *turn)
{
	return unlikely(READ_ONCE(turn->bits) & WEFT_TURN_EVENTS) &&
	       !weft_turn_stopping(turn);
}

/* The caller owns the turn. */
#define weft_assert_turn(turn)	lockdep_assert_held(turn)

/* Somebody waits for it, or has left an event: see weft_turn_release(). */
void weft_turn_pass(struct weft_turn *turn);

/**
 * weft_turn_release - give the turn back
 * @turn: owned by the caller
 *
 * Events that came meanwhile are left to a work item.
 */
static inline void weft_turn_release(struct weft_turn *turn)
{
	weft_assert_turn(turn);
	mutex_release(&turn->dep_map, _RET_IP_);
	clear_bit_unlock(WEFT_TURN_OWNED, &turn->bits);
	/* either we see the waiter or the event, or they see the free bit */
	smp_mb__after_atomic();
	if (unlikely(atomic_read(&turn->waiters) ||
		     READ_ONCE(turn->bits) & WEFT_TURN_EVENTS))
		weft_turn_pass(turn);
}

/**
 * weft_turn_defer - give the turn back and go on in a work item
 * @turn: owned by the caller
 */
void weft_turn_defer(struct weft_turn *turn);

/**
 * weft_turn_queue_work - have something done that takes both turns of a QP
 * @qp: the QP; the queued work holds a reference, so that it outlives it without a flush
 * @work: ends with weft_qp_put()
 *
 * Context: any.
 */
void weft_turn_queue_work(struct weft_qp *qp, struct work_struct *work);

#endif /* WEFT_OBJECT_TURN_H */
