// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/turn.h"

#include <linux/wait_bit.h>

#include "object/qp.h"
#include "object/queue.h"

/* The queued work holds a reference: the QP outlives it without a flush. */
void weft_turn_queue_work(struct weft_qp *qp, struct work_struct *work)
{
	weft_qp_hold(qp);
	if (!weft_queue_work(work))
		weft_qp_put(qp);
}

static void turn_queue(struct weft_turn *turn)
{
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

void weft_turn_init(struct weft_turn *turn, struct weft_qp *qp,
		    void (*run)(struct weft_qp *qp))
{
	turn->bits = 0;
	turn->qp = qp;
	turn->run = run;
	atomic_set(&turn->waiters, 0);
	INIT_WORK(&turn->work, turn_worker);
}

bool weft_turn_refuse(struct weft_turn *turn)
{
	weft_turn_release(turn);
	return false;
}
WEFT_EXPORT_FOR_TEST(weft_turn_refuse);

static int turn_wait(struct weft_turn *turn, unsigned int mode)
{
	int ret;

	/* full barrier, pairs with the one in weft_turn_release() */
	atomic_inc_return(&turn->waiters);
	ret = wait_on_bit_lock(&turn->bits, WEFT_TURN_OWNED, mode);
	atomic_dec(&turn->waiters);
	return ret;
}

int weft_turn_wait(struct weft_turn *turn)
{
	return turn_wait(turn, TASK_KILLABLE) ? -EINTR : 0;
}

void weft_turn_pass(struct weft_turn *turn)
{
	if (atomic_read(&turn->waiters))
		wake_up_bit(&turn->bits, WEFT_TURN_OWNED);
	if (READ_ONCE(turn->bits) & WEFT_TURN_EVENTS && !weft_turn_stopping(turn))
		turn_queue(turn);
}
WEFT_EXPORT_FOR_TEST(weft_turn_pass);

void weft_turn_defer(struct weft_turn *turn)
{
	weft_assert_turn(turn);
	set_bit(WEFT_EV_RUN, &turn->bits);
	weft_turn_release(turn);
}

void weft_turn_post(struct weft_turn *turn, int event)
{
	set_bit(event, &turn->bits);
	smp_mb__after_atomic(); /* pairs with weft_turn_release() */
	if (!(READ_ONCE(turn->bits) & (BIT(WEFT_TURN_OWNED) | BIT(WEFT_TURN_STOP))))
		turn_queue(turn);
}
WEFT_EXPORT_FOR_TEST(weft_turn_post);

void weft_turn_stop(struct weft_turn *turn)
{
	set_bit(WEFT_TURN_STOP, &turn->bits);
	smp_mb__after_atomic(); /* STOP is seen before we wait for the owner */
	turn_wait(turn, TASK_UNINTERRUPTIBLE);
}

void weft_turn_resume(struct weft_turn *turn)
{
	clear_bit(WEFT_TURN_STOP, &turn->bits);
	weft_turn_defer(turn);
}
