// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A transmitter may have WEFT_TX_BYTES under way. The owner of the turn charges it for packets when
 * they are sent; the context that frees a packet discharges it:
 *
 *	owner (credit_stall)              context that frees (credit_freed)
 *
 *	enough = ..., stalled = true    queued -= charge
 *	full barrier                    full barrier (atomic_sub_return)
 *	queued more than enough?        stalled, and no more than enough queued?
 *	   then leave                      stalled = false
 *	stalled = false, go on             post WEFT_EV_RUN
 *
 * Each side stores, has a full barrier, and then loads the word that the other side stores. So if
 * the owner finds too much queued, the context that frees the packet that makes it little enough
 * finds the transmitter stalled. Only the owner adds packets, so none is added meanwhile.
 *
 * weft_turn_post() has a barrier before the event: clearing the flag cannot take effect after the
 * owner, which has seen the event, has set the flag again. An event too many is harmless.
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
 * The charge of a packet must be known when the packet is freed, but its truesize may have changed
 * by then (pskb_expand_head()). So the charge is a power of two, whose class is kept in the lower
 * bits of the pointer to the transmitter.
 */
#define CREDIT_CHARGE_CLASSES	8
#define CREDIT_CHARGE_MIN_ORDER	9

/*
 * A queue that others have filled raises no event when it has room, so it is asked again after each
 * CREDIT_BACKOFF_NS. The packet is lost if the queue has taken nothing for CREDIT_BACKOFF_JIFFIES
 * and in CREDIT_BACKOFFS tries (on a slow machine the tries take longer).
 */
#define CREDIT_BACKOFF_NS	NSEC_PER_MSEC
#define CREDIT_BACKOFF_JIFFIES	(HZ / 10)
#define CREDIT_BACKOFFS		100

/*
 * One reference for the module, one for each packet, and one for each transmitter that backs off.
 */
static struct percpu_ref credit_packets;
static DECLARE_COMPLETION(credit_idle);

/**
 * struct credit_backoff_list - transmitters that back off
 * @waiting: the transmitters, the last one first
 * @timer: expires when they try again
 */
struct credit_backoff_list {
	struct llist_head	waiting;
	struct hrtimer		timer;
};

/* One list serves a few devices, so transmitters of most other devices are not affected. */
static struct credit_backoff_list credit_lists[16];

static int credit_charge(unsigned long class)
{
	return 1 << (class + CREDIT_CHARGE_MIN_ORDER);
}

/* Only the buffer is charged, whose allocated size is nearly a power of two. */
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

/* Return: false: it is in the list already. */
static bool credit_join_list(struct weft_tx *tx)
{
	struct credit_backoff_list *list = credit_list_of(tx);

	/* pairs with credit_wake_list() */
	if (cmpxchg_acquire(&tx->backing_off, false, true))
		return false;
	weft_qp_hold(tx->turn->qp);
	percpu_ref_get(&credit_packets);
	/* no preemption before the timer runs: transmitters that join later rely on it */
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

		/* from here on it may join the list again, which changes tx->backoff */
		smp_store_release(&tx->backing_off, false);
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
 * When packets of a refused transmitter leave the full queue, it would fill the queue again before
 * the transmitters that back off look at it. So it wakes these, and backs off itself.
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
	if (!credit_gives_way(tx))
		weft_turn_post(tx->turn, WEFT_EV_RUN);
}

/*
 * The destructor of weft's packets. The device may be gone. The reference to the QP keeps the
 * transmitter and its turn; a turn that was stopped for good ignores the event.
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

/*
 * Charge a transmitter, whose turn is owned, for a packet of weft's, until that is freed. Sets the
 * packet's destructor.
 */
void weft_tx_credit_take(struct weft_tx *tx, struct sk_buff *skb)
{
	unsigned long class = credit_charge_class(skb);

	BUILD_BUG_ON(__alignof__(struct weft_tx) < CREDIT_CHARGE_CLASSES);
	weft_qp_hold(tx->turn->qp);
	percpu_ref_get(&credit_packets);
	atomic_add(credit_charge(class), &tx->queued);
	/* the network stack uses destructor_arg only if a flag says zerocopy */
	skb_shinfo(skb)->destructor_arg = (void *)((unsigned long)tx + class);
	skb->destructor = credit_freed;
}
WEFT_EXPORT_FOR_TEST(weft_tx_credit_take);

/* The transmitter that a packet is charged to, or NULL. */
const struct weft_tx *weft_tx_credit_of(const struct sk_buff *skb)
{
	unsigned long arg;

	if (skb->destructor != credit_freed)
		return NULL;
	arg = (unsigned long)skb_shinfo(skb)->destructor_arg;
	return (const struct weft_tx *)(arg - arg % CREDIT_CHARGE_CLASSES);
}

/* Return: true: more than @enough bytes are under way, and the event will come; false: go on. */
static bool credit_stall(const struct weft_tx_batch *batch, int enough, bool refused)
{
	struct weft_tx *tx = batch->tx;

	WRITE_ONCE(tx->enough, enough);
	WRITE_ONCE(tx->refused, refused);
	/* pairs with smp_load_acquire() in credit_freed(), which then sees @enough */
	smp_store_release(&tx->stalled, true);
	smp_mb(); /* see the top of this file */
	if (atomic_read(&tx->queued) > enough) {
		weft_stats_inc(batch->qp, WEFT_STAT_TX_STALLS);
		return true;
	}
	WRITE_ONCE(tx->stalled, false);
	return false;
}

/* Is there credit for a packet? If not, the turn (which is owned) will get WEFT_EV_RUN. */
bool weft_tx_credit_left(const struct weft_tx_batch *batch)
{
	const struct weft_tx *tx = batch->tx;

	/* the turn may have been run for another reason, before the event has come */
	if (READ_ONCE(tx->stalled) || READ_ONCE(tx->backing_off))
		return false;
	return atomic_read(&tx->queued) < WEFT_TX_BYTES ||
	       !credit_stall(batch, WEFT_TX_BYTES / 2, false);
}
WEFT_EXPORT_FOR_TEST(weft_tx_credit_left);

/*
 * The transmitter leaves its path, so it need not wait any more: if it waited, its turn gets
 * WEFT_EV_RUN. The turn is owned or stopped.
 */
void weft_tx_credit_forget(struct weft_tx *tx)
{
	tx->backoffs = 0;
	if (!READ_ONCE(tx->stalled))
		return;
	WRITE_ONCE(tx->stalled, false);
	weft_turn_post(tx->turn, WEFT_EV_RUN);
}
WEFT_EXPORT_FOR_TEST(weft_tx_credit_forget);

/* May packets of the transmitter be under way? Its turn is owned. */
bool weft_tx_credit_is_used(const struct weft_tx_batch *batch)
{
	return atomic_read(&batch->tx->queued);
}
WEFT_EXPORT_FOR_TEST(weft_tx_credit_is_used);

/*
 * A batch could not be sent, for another reason than tx credit: wait until half of the packets
 * under way have left, because a try for each packet that leaves would be refused most of the time.
 * The turn is owned. True: it will get WEFT_EV_RUN; false: nothing is under way.
 */
bool weft_tx_credit_wait(const struct weft_tx_batch *batch)
{
	int queued;

	while ((queued = atomic_read(&batch->tx->queued)))
		if (credit_stall(batch, queued / 2, true))
			return true;
	return false;
}
WEFT_EXPORT_FOR_TEST(weft_tx_credit_wait);

/*
 * A batch could not be sent although the transmitter has nothing under way: wait a moment for
 * others to empty the queue. The turn is owned. True: it will get WEFT_EV_RUN; false: it has waited
 * long enough, and the packet is lost.
 */
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
WEFT_EXPORT_FOR_TEST(weft_tx_credit_backoff);

static void credit_all_freed(struct percpu_ref *ref)
{
	complete(&credit_idle);
}

/* At module load, before there is a device. Returns 0 or -ENOMEM. */
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

/*
 * At module unload, when no QP is left: wait until the last packet has been freed, because its
 * destructor is code of this module, and may post an event to a turn. Context: process, sleeps as
 * long as a queue keeps a packet.
 */
void weft_tx_credit_exit(void)
{
	unsigned int i;

	percpu_ref_kill(&credit_packets);
	wait_for_completion(&credit_idle);
	for (i = 0; i < ARRAY_SIZE(credit_lists); i++)
		hrtimer_cancel(&credit_lists[i].timer);
	/*
	 * A task that has dropped the last or another reference may not have returned from this
	 * module yet, and be preempted there outside any RCU read side.
	 */
	synchronize_rcu_tasks();
	percpu_ref_exit(&credit_packets);
}
