// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A transmitter may have WEFT_TX_BYTES under way. Its packets are charged when they
 * are sent, by the owner of the turn, and discharged when they are freed, by
 * the context that frees them:
 *
 *	owner (credit_stall)              context that frees (credit_freed)
 *
 *	enough = ..., stalled = true    queued -= charge
 *	full barrier                    full barrier (atomic_sub_return)
 *	queued more than enough?        stalled, and no more than enough queued?
 *	   then leave                      stalled = false
 *	stalled = false, go on             full barrier
 *	                                   post WEFT_EV_RUN
 *
 * Both sides store, fence, then load what the other one stores. So if the owner
 * finds too much queued, the context that frees the packet that makes it little enough
 * finds the transmitter stalled; nothing is added meanwhile, as only the owner adds.
 * The barrier before the event keeps the flag from being cleared after the
 * owner, having seen the event, has set it again. An event too many is harmless.
 */
#include "link/tx_credit.h"

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/percpu-refcount.h>
#include <linux/skbuff.h>

#include "engine/link.h"
#include "object/dev.h"
#include "object/tx.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"

/*
 * What a packet is charged has to be known when it is freed, and its truesize
 * may be another by then (pskb_expand_head()). So it is charged a power of two,
 * and which one is kept in the lower bits of the pointer to its transmitter.
 */
#define CREDIT_CHARGE_CLASSES	8
#define CREDIT_CHARGE_MIN_ORDER	9

/*
 * A queue that others have filled tells nobody when it has room again: it is asked, as
 * often as that. A queue that takes nothing for so long, however often it is asked, and of so
 * many tries, however slow the machine, will not.
 */
#define CREDIT_BACKOFF_NS	NSEC_PER_MSEC
#define CREDIT_BACKOFF_JIFFIES	(HZ / 10)
#define CREDIT_BACKOFFS		100

/* One reference for the module, one for each packet, and each transmitter that backs off. */
static struct percpu_ref credit_packets;
static DECLARE_COMPLETION(credit_idle);

/**
 * struct credit_backoff_list - transmitters that back off
 * @waiting: they, the last one that came first
 * @timer: until they ask again
 */
struct credit_backoff_list {
	struct llist_head	waiting;
	struct hrtimer		timer;
};

/* By device: who sends by another one is in nobody's way. */
static struct credit_backoff_list credit_lists[16];

static int credit_charge(unsigned long class)
{
	return 1 << (class + CREDIT_CHARGE_MIN_ORDER);
}

/* The buffer is what counts; it is a power of two (or nearly) as allocated. */
static unsigned long credit_charge_class(const struct sk_buff *skb)
{
	u32 buffer = skb->truesize - SKB_DATA_ALIGN(sizeof(struct sk_buff));

	return clamp(order_base_2(buffer), CREDIT_CHARGE_MIN_ORDER,
		     CREDIT_CHARGE_MIN_ORDER + CREDIT_CHARGE_CLASSES - 1) -
	       CREDIT_CHARGE_MIN_ORDER;
}

static struct credit_backoff_list *credit_list_of(const struct weft_tx *tx)
{
	return &credit_lists[tx->turn->qp->dev_id % ARRAY_SIZE(credit_lists)];
}

/* Return: false: it does already. */
static bool credit_join_list(struct weft_tx *tx)
{
	struct credit_backoff_list *list = credit_list_of(tx);

	/* pairs with credit_wake_list(), which has done with tx->backoff */
	if (cmpxchg_acquire(&tx->backing_off, false, true))
		return false;
	weft_qp_hold(tx->turn->qp);
	percpu_ref_get(&credit_packets);
	/* others who join rely on the timer */
	preempt_disable();
	if (llist_add(&tx->backoff, &list->waiting))
		hrtimer_start(&list->timer, ns_to_ktime(CREDIT_BACKOFF_NS),
			      HRTIMER_MODE_REL_SOFT);
	preempt_enable();
	return true;
}

static void credit_wake_list(struct credit_backoff_list *list)
{
	struct llist_node *waiting = llist_reverse_order(llist_del_all(&list->waiting));
	struct weft_tx *tx, *next;

	llist_for_each_entry_safe(tx, next, waiting, backoff) {
		struct weft_qp *qp = tx->turn->qp;

		WRITE_ONCE(tx->backing_off, false);
		/*
		 * From here on it may be in the list again; and who has the event must not
		 * find it backing off, as no other one would come.
		 */
		smp_mb();
		weft_turn_post(tx->turn, WEFT_EV_RUN);
		weft_qp_put(qp);
		percpu_ref_put(&credit_packets);
	}
}

static enum hrtimer_restart credit_backoff_expired(struct hrtimer *timer)
{
	credit_wake_list(container_of(timer, struct credit_backoff_list, timer));
	return HRTIMER_NORESTART;
}

/*
 * As its packets leave a full queue a transmitter would fill the queue again before those
 * that back off have looked. So these go first.
 */
static bool credit_gives_way(struct weft_tx *tx)
{
	struct credit_backoff_list *list = credit_list_of(tx);

	if (!READ_ONCE(tx->refused) || llist_empty(&list->waiting))
		return false;
	credit_wake_list(list);
	return credit_join_list(tx);
}

static void credit_go_on(struct weft_tx *tx)
{
	WRITE_ONCE(tx->stalled, false);
	smp_mb(); /* see the top of this file */
	if (!credit_gives_way(tx))
		weft_turn_post(tx->turn, WEFT_EV_RUN);
}

/*
 * The destructor of our packets. The device may be gone; the reference to the
 * QP keeps the transmitter and its turn, and a turn that was stopped for good takes the
 * event and does nothing.
 */
static void credit_freed(struct sk_buff *skb)
{
	unsigned long arg = (unsigned long)skb_shinfo(skb)->destructor_arg;
	unsigned long class = arg % CREDIT_CHARGE_CLASSES;
	struct weft_tx *tx = (struct weft_tx *)(arg - class);
	struct weft_qp *qp = tx->turn->qp;
	int left;

	left = atomic_sub_return(credit_charge(class), &tx->queued);
	/* pairs with credit_stall() */
	if (smp_load_acquire(&tx->stalled) && left <= READ_ONCE(tx->enough))
		credit_go_on(tx);
	weft_qp_put(qp);
	percpu_ref_put(&credit_packets);
}

/* From here on credit_freed() is called when the packet is freed. */
void weft_tx_credit_take(struct weft_tx *tx, struct sk_buff *skb)
{
	unsigned long class = credit_charge_class(skb);

	BUILD_BUG_ON(__alignof__(struct weft_tx) < CREDIT_CHARGE_CLASSES);
	weft_qp_hold(tx->turn->qp);
	percpu_ref_get(&credit_packets);
	atomic_add(credit_charge(class), &tx->queued);
	/* nobody else looks at it while no flag says zerocopy */
	skb_shinfo(skb)->destructor_arg = (void *)((unsigned long)tx + class);
	skb->destructor = credit_freed;
}

/*
 * Return: true: more than @enough bytes are under way, and the event will come;
 * false: go on.
 */
static bool credit_stall(const struct weft_tx_batch *batch, int enough, bool refused)
{
	struct weft_tx *tx = batch->tx;

	WRITE_ONCE(tx->enough, enough);
	WRITE_ONCE(tx->refused, refused);
	/* pairs with credit_freed(): what is enough is seen first */
	smp_store_release(&tx->stalled, true);
	smp_mb(); /* see the top of this file */
	if (atomic_read(&tx->queued) > enough) {
		weft_stats_inc(batch->qp, WEFT_STAT_TX_STALLS);
		return true;
	}
	WRITE_ONCE(tx->stalled, false);
	return false;
}

bool weft_tx_credit_left(const struct weft_tx_batch *batch)
{
	const struct weft_tx *tx = batch->tx;

	/* the turn may run for another reason, before the event has come */
	if (READ_ONCE(tx->stalled) || READ_ONCE(tx->backing_off))
		return false;
	return atomic_read(&tx->queued) < WEFT_TX_BYTES ||
	       !credit_stall(batch, WEFT_TX_BYTES / 2, false);
}

void weft_tx_credit_forget(struct weft_tx *tx)
{
	tx->backoffs = 0;
	if (!READ_ONCE(tx->stalled))
		return;
	WRITE_ONCE(tx->stalled, false);
	smp_mb(); /* see the top of this file */
	weft_turn_post(tx->turn, WEFT_EV_RUN);
}

bool weft_tx_credit_is_used(const struct weft_tx_batch *batch)
{
	return atomic_read(&batch->tx->queued);
}

/* With another try for each packet that leaves it would be refused most of the time. */
bool weft_tx_credit_wait(const struct weft_tx_batch *batch)
{
	int queued;

	while ((queued = atomic_read(&batch->tx->queued)))
		if (credit_stall(batch, queued / 2, true))
			return true;
	return false;
}

bool weft_tx_credit_backoff(const struct weft_tx_batch *batch)
{
	struct weft_tx *tx = batch->tx;

	if (!tx->backoffs)
		tx->since = jiffies;
	if (tx->backoffs < CREDIT_BACKOFFS)
		tx->backoffs++;
	else if (time_after32(jiffies, tx->since + CREDIT_BACKOFF_JIFFIES))
		return false;
	if (credit_join_list(tx))
		weft_stats_inc(batch->qp, WEFT_STAT_TX_STALLS);
	return true;
}

static void credit_all_freed(struct percpu_ref *ref)
{
	complete(&credit_idle);
}

int weft_tx_credit_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(credit_lists); i++) {
		init_llist_head(&credit_lists[i].waiting);
		hrtimer_setup(&credit_lists[i].timer, credit_backoff_expired, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_SOFT);
	}
	return percpu_ref_init(&credit_packets, credit_all_freed, 0, GFP_KERNEL);
}

void weft_tx_credit_exit(void)
{
	unsigned int i;

	percpu_ref_kill(&credit_packets);
	wait_for_completion(&credit_idle);
	for (i = 0; i < ARRAY_SIZE(credit_lists); i++)
		hrtimer_cancel(&credit_lists[i].timer);
	/*
	 * A task may have given up the last reference, or another one, and not have returned from
	 * this module yet. It may be preempted there, outside any RCU read side.
	 */
	synchronize_rcu_tasks();
	percpu_ref_exit(&credit_packets);
}
