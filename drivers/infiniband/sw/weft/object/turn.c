// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A turn decides which task runs the requester or the responder of a QP, and so may write its
 * state. The send turn belongs to the requester, the receive turn to the responder.
 *
 * A turn is an ownership bit with event bits beside it. The owner of the turn runs the requester
 * (or responder); any other task posts an event and returns. An owner may sleep (a work item does
 * between the pieces of a long copy), so a turn is not a spinlock. No task returns to user space
 * with a turn owned.
 *
 * Lock order: the owner of a send turn may wait for one receive turn; the owner of a receive turn
 * waits for no turn. weft_turn_stop() is called for the send turn of a QP, then for its receive
 * turn, by a task that owns no other turn. So there is no cycle. Lockdep knows each turn as a lock,
 * with one class for send turns and one for receive turns.
 *
 * A task in weft_turn_stop() is served before all tasks in weft_turn_own(). There may be many of
 * the latter: every sender on this host that has a message for the QP.
 */
#include "object/turn.h"

#include <linux/wait_bit.h>

#include "object/qp.h"
#include "object/queue.h"
#include "trace.h"

/*
 * Queue a work item that takes both turns of a QP, from any context. The queued work holds a
 * reference to the QP and drops it with weft_qp_put(), so destroy_qp need not flush it.
 */
void weft_turn_queue_work(struct weft_qp *qp, struct work_struct *work)
{
	weft_qp_hold(qp);
	if (!weft_queue_work(work))
		weft_qp_put(qp);
}

static bool turn_is_requester(const struct weft_turn *turn)
{
	return turn == &turn->qp->send.turn;
}

static void turn_queue(struct weft_turn *turn)
{
	trace_weft_turn_defer(turn->qp->qpn, turn_is_requester(turn), turn->bits);
	weft_turn_queue_work(turn->qp, &turn->work);
}

static void turn_worker(struct work_struct *work)
{
	struct weft_turn *turn = container_of(work, struct weft_turn, work);
	struct weft_qp *qp = turn->qp;

	if (weft_turn_try(turn))
		turn->run(qp);
	weft_qp_put(qp);
}

/* @key: one for all send turns, one for all receive turns */
void weft_turn_init(struct weft_turn *turn, struct weft_qp *qp, const char *name,
		    struct lock_class_key *key, void (*run)(struct weft_qp *qp))
{
	lockdep_init_map(&turn->dep_map, name, key, 0);
	turn->bits = 0;
	turn->qp = qp;
	turn->run = run;
	atomic_set(&turn->waiters, 0);
	INIT_WORK(&turn->work, turn_worker);
}

/*
 * The slow path of weft_turn_try(): release the turn of a QP that is being stopped. Returns false.
 */
bool weft_turn_refuse(struct weft_turn *turn)
{
	weft_turn_release(turn);
	return false;
}
WEFT_EXPORT_FOR_TEST(weft_turn_refuse);

static int turn_wait(struct weft_turn *turn)
{
	int ret;

	trace_weft_turn_wait(turn->qp->qpn, turn_is_requester(turn), turn->bits);
	mutex_acquire(&turn->dep_map, 0, 0, _RET_IP_);
	/* full barrier, pairs with weft_turn_release() */
	atomic_inc_return(&turn->waiters);
	ret = wait_on_bit_lock(&turn->bits, WEFT_TURN_OWNED, TASK_KILLABLE);
	atomic_dec(&turn->waiters);
	if (ret)
		mutex_release(&turn->dep_map, _RET_IP_);
	return ret;
}

/* Slow path of weft_turn_own(). */
int weft_turn_wait(struct weft_turn *turn)
{
	if (wait_on_bit(&turn->bits, WEFT_TURN_CLAIMED, TASK_KILLABLE) || turn_wait(turn))
		return -EINTR;
	if (likely(!weft_turn_stopping(turn)))
		return 0;
	weft_turn_release(turn);
	return -EAGAIN;
}

/*
 * Slow path of weft_turn_release(): wake a waiter, queue the work item for an event. If the caller
 * has no reference to the QP, but RCU, the QP may have been destroyed since the release.
 */
void weft_turn_pass(struct weft_turn *turn)
{
	struct weft_qp *qp = turn->qp;

	if (atomic_read(&turn->waiters))
		wake_up_bit(&turn->bits, WEFT_TURN_OWNED);
	if (READ_ONCE(turn->bits) & WEFT_TURN_EVENTS && !weft_turn_stopping(turn) &&
	    refcount_inc_not_zero(&qp->refs)) {
		turn_queue(turn);
		weft_qp_put(qp);
	}
}
WEFT_EXPORT_FOR_TEST(weft_turn_pass);

/* Release the turn, and continue in a work item. */
void weft_turn_defer(struct weft_turn *turn)
{
	weft_assert_turn(turn);
	set_bit(WEFT_EV_RUN, &turn->bits);
	weft_turn_release(turn);
}

/* Post WEFT_EV_*, from any context. The owner sees the event, or a work item is queued. */
void weft_turn_post(struct weft_turn *turn, int event)
{
	/* pairs with weft_turn_take(): after taking the event, the owner sees its cause */
	smp_mb__before_atomic();
	set_bit(event, &turn->bits);
	if (!(READ_ONCE(turn->bits) & (BIT(WEFT_TURN_OWNED) | BIT(WEFT_TURN_STOP))))
		turn_queue(turn);
}
WEFT_EXPORT_FOR_TEST(weft_turn_post);

/*
 * Make the owner end soon, and own the turn. Until weft_turn_resume(), posted events are only
 * recorded. The caller holds the QP's modify_lock.
 *
 * A release wakes only one of the tasks in turn_wait(), which may then wait for a CPU. But each
 * release wakes the task that is here, as it is to be served before them.
 */
void weft_turn_stop(struct weft_turn *turn)
{
	set_bit(WEFT_TURN_CLAIMED, &turn->bits);
	set_bit(WEFT_TURN_STOP, &turn->bits);
	trace_weft_turn_wait(turn->qp->qpn, turn_is_requester(turn), turn->bits);
	mutex_acquire(&turn->dep_map, 0, 0, _RET_IP_);
	/*
	 * Full barrier, pairs with weft_turn_release(). A new owner sees STOP, or we wait for it to
	 * end: see weft_turn_try().
	 */
	atomic_inc_return(&turn->waiters);
	while (test_and_set_bit_lock(WEFT_TURN_OWNED, &turn->bits))
		wait_on_bit(&turn->bits, WEFT_TURN_OWNED, TASK_UNINTERRUPTIBLE);
	atomic_dec(&turn->waiters);
}

/* Let the tasks that wait in weft_turn_own() try again. */
static void turn_unclaim(struct weft_turn *turn)
{
	clear_bit_unlock(WEFT_TURN_CLAIMED, &turn->bits);
	smp_mb__after_atomic(); /* required before wake_up_bit() */
	wake_up_bit(&turn->bits, WEFT_TURN_CLAIMED);
}

/* Undo weft_turn_stop(), and let a work item handle the events posted meanwhile. */
void weft_turn_resume(struct weft_turn *turn)
{
	clear_bit(WEFT_TURN_STOP, &turn->bits);
	turn_unclaim(turn);
	weft_turn_defer(turn);
}

/*
 * Release a stopped turn of a QP that is being destroyed. The turn stays stopped, so no task owns
 * it again; waiters in weft_turn_own() get -EAGAIN.
 */
void weft_turn_end(struct weft_turn *turn)
{
	turn_unclaim(turn);
	weft_turn_release(turn);
}
