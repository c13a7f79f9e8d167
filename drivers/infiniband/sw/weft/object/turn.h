/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A turn decides which task runs the requester or the responder of a QP. */
#ifndef WEFT_OBJECT_TURN_H
#define WEFT_OBJECT_TURN_H

#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/workqueue.h>

struct weft_qp;

/* bits of struct weft_turn.bits */
enum weft_turn_bits {
	WEFT_TURN_OWNED		= 0,
	/* from weft_turn_stop() to weft_turn_resume(): the owner ends soon, no new one begins */
	WEFT_TURN_STOP		= 1,
	/* from weft_turn_stop() to weft_turn_resume() or weft_turn_end(): others wait */
	WEFT_TURN_CLAIMED	= 2,
	/* events */
	WEFT_EV_RUN		= 8,	/* there may be something to do */
	WEFT_EV_TIMER		= 9,	/* the timer expired */
	WEFT_EV_LATE		= 10,	/* a completion that has been late is due */
};

#define WEFT_TURN_TIMERS	(BIT(WEFT_EV_TIMER) | BIT(WEFT_EV_LATE))
#define WEFT_TURN_EVENTS	(BIT(WEFT_EV_RUN) | WEFT_TURN_TIMERS)

struct weft_turn {
	unsigned long		bits;		/* enum weft_turn_bits, atomic */
	atomic_t		waiters;	/* in weft_turn_own() or weft_turn_stop() */
	struct work_struct	work;		/* handles an event that no owner will see */
	/* called with the turn owned; ends with weft_turn_release() or weft_turn_defer() */
	void			(*run)(struct weft_qp *qp);
	struct weft_qp		*qp;		/* @work holds a reference while it is queued */
	struct lockdep_map	dep_map;
};

void weft_turn_init(struct weft_turn *turn, struct weft_qp *qp, const char *name,
		    struct lock_class_key *key, void (*run)(struct weft_qp *qp));
bool weft_turn_refuse(struct weft_turn *turn);

/* Own the turn, if it is free and not being stopped. */
static inline bool weft_turn_try(struct weft_turn *turn)
{
	if (test_and_set_bit_lock(WEFT_TURN_OWNED, &turn->bits))
		return false;
	mutex_acquire(&turn->dep_map, 0, 1, _RET_IP_);
	/* bits of one word need no barrier: we see STOP, or the stopping task waits for us */
	return likely(!test_bit(WEFT_TURN_STOP, &turn->bits)) || weft_turn_refuse(turn);
}

int weft_turn_wait(struct weft_turn *turn);

/*
 * Wait for a receive turn, and own it. Process context; the caller owns at most one turn, a send
 * turn.
 *
 * Returns 0; -EINTR: the task is being killed; -EAGAIN: the turn has just been stopped or has
 * ended. After -EAGAIN the caller looks the QP up again, and retries if it still exists.
 */
static inline int weft_turn_own(struct weft_turn *turn)
{
	/* only its check: might_sleep() also reschedules, which the callers' loops do already */
	if (IS_ENABLED(CONFIG_DEBUG_ATOMIC_SLEEP))
		might_sleep();
	return likely(weft_turn_try(turn)) ? 0 : weft_turn_wait(turn);
}

void weft_turn_stop(struct weft_turn *turn);
void weft_turn_resume(struct weft_turn *turn);
void weft_turn_end(struct weft_turn *turn);

/* The owner, which is the caller, should end soon. */
static inline bool weft_turn_stopping(const struct weft_turn *turn)
{
	return test_bit(WEFT_TURN_STOP, &turn->bits);
}

void weft_turn_post(struct weft_turn *turn, int event);

/* Take the posted events of a turn that the caller owns. Returns bits of WEFT_TURN_EVENTS. */
static inline unsigned long weft_turn_take(struct weft_turn *turn)
{
	unsigned long events = READ_ONCE(turn->bits) & WEFT_TURN_EVENTS;

	if (events & BIT(WEFT_EV_RUN))
		clear_bit(WEFT_EV_RUN, &turn->bits);
	if (events & WEFT_TURN_TIMERS) {
		if (events & BIT(WEFT_EV_TIMER))
			clear_bit(WEFT_EV_TIMER, &turn->bits);
		if (events & BIT(WEFT_EV_LATE))
			clear_bit(WEFT_EV_LATE, &turn->bits);
	}
	if (events)
		smp_mb__after_atomic(); /* pairs with weft_turn_post(): clear, then look */
	return events;
}

/* The owner should go on: a new event was posted, and the turn is not being stopped. */
static inline bool weft_turn_has_events(const struct weft_turn *turn)
{
	return unlikely(READ_ONCE(turn->bits) & WEFT_TURN_EVENTS) &&
	       !weft_turn_stopping(turn);
}

/* The caller owns the turn. */
#define weft_assert_turn(turn)	lockdep_assert_held(turn)

void weft_turn_pass(struct weft_turn *turn);

/* Events that were posted meanwhile are left to a work item. */
static inline void weft_turn_release(struct weft_turn *turn)
{
	weft_assert_turn(turn);
	mutex_release(&turn->dep_map, _RET_IP_);
	clear_bit_unlock(WEFT_TURN_OWNED, &turn->bits);
	/*
	 * Pairs with turn_wait(): we see the waiter, or the waiting task sees that the turn is
	 * free. For events the same holds without a barrier, as they are bits of one word.
	 */
	smp_mb__after_atomic();
	if (unlikely(atomic_read(&turn->waiters) ||
		     READ_ONCE(turn->bits) & WEFT_TURN_EVENTS))
		weft_turn_pass(turn);
}

void weft_turn_defer(struct weft_turn *turn);
void weft_turn_queue_work(struct weft_qp *qp, struct work_struct *work);

#endif /* WEFT_OBJECT_TURN_H */
