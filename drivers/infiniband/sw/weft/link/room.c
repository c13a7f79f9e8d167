// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A flow may have WEFT_TX_BYTES under way. Its packets are charged when they
 * are sent, by the owner of the turn, and discharged when they are freed, by
 * whoever frees them:
 *
 *	owner (room_stall)              whoever frees (room_freed)
 *
 *	stalled = true                  queued -= charge
 *	full barrier                    full barrier (atomic_sub_return)
 *	queued still too much?          stalled, and little enough queued?
 *	   then leave                      stalled = false
 *	stalled = false, go on             full barrier
 *	                                   post WEFT_EV_RUN
 *
 * Both sides store, fence, then load what the other one stores. So if the owner
 * finds too much queued, whoever frees the packet that makes it little enough
 * finds the flow stalled; nothing is added meanwhile, as only the owner adds.
 * The barrier before the event keeps the flag from being cleared after the
 * owner, having seen the event, has set it again. An event too many is harmless.
 */
#include "link/room.h"

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/percpu-refcount.h>
#include <linux/skbuff.h>

#include "engine/link.h"
#include "object/dev.h"
#include "object/flow.h"
#include "object/qp.h"
#include "params.h"
#include "stats.h"

/* A stalled flow goes on when no more than this is under way. */
#define ROOM_TX_LOW		(WEFT_TX_BYTES / 2)

/*
 * What a packet is charged has to be known when it is freed, and its truesize
 * may be another by then (pskb_expand_head()). So it is charged a power of two,
 * and which one is kept in the lower bits of the pointer to its flow.
 */
#define ROOM_CHARGE_CLASSES	8
#define ROOM_CHARGE_MIN_ORDER	9

/*
 * A queue that others have filled tells nobody when it has room again: it is asked, as
 * often as that. A queue that takes nothing in all that time will not.
 */
#define ROOM_HOPE_NS		NSEC_PER_MSEC
#define ROOM_HOPES		100

/* One reference for the module, one for each packet, and each flow that hopes. */
static struct percpu_ref room_packets;
static DECLARE_COMPLETION(room_idle);

static LLIST_HEAD(room_hoping);
static struct hrtimer room_timer;

static int room_charge(unsigned long class)
{
	return 1 << (class + ROOM_CHARGE_MIN_ORDER);
}

/* The buffer is what counts; it is a power of two (or nearly) as allocated. */
static unsigned long room_charge_class(const struct sk_buff *skb)
{
	u32 buffer = skb->truesize - SKB_DATA_ALIGN(sizeof(struct sk_buff));

	return clamp(order_base_2(buffer), ROOM_CHARGE_MIN_ORDER,
		     ROOM_CHARGE_MIN_ORDER + ROOM_CHARGE_CLASSES - 1) -
	       ROOM_CHARGE_MIN_ORDER;
}

/*
 * The destructor of our packets. The device may be gone; the reference to the
 * QP keeps the flow and its turn, and a turn that was stopped for good takes the
 * event and does nothing.
 */
static void room_freed(struct sk_buff *skb)
{
	unsigned long arg = (unsigned long)skb_shinfo(skb)->destructor_arg;
	unsigned long class = arg % ROOM_CHARGE_CLASSES;
	struct weft_flow *flow = (struct weft_flow *)(arg - class);
	struct weft_qp *qp = flow->turn->qp;
	int left;

	left = atomic_sub_return(room_charge(class), &flow->queued);
	if (left <= ROOM_TX_LOW && READ_ONCE(flow->stalled)) {
		WRITE_ONCE(flow->stalled, false);
		smp_mb(); /* see the top of this file */
		weft_turn_post(flow->turn, WEFT_EV_RUN);
	}
	weft_qp_put(qp);
	percpu_ref_put(&room_packets);
}

/* From here on room_freed() is called when the packet is freed. */
void weft_room_take(struct weft_flow *flow, struct sk_buff *skb)
{
	unsigned long class = room_charge_class(skb);

	BUILD_BUG_ON(__alignof__(struct weft_flow) < ROOM_CHARGE_CLASSES);
	weft_qp_hold(flow->turn->qp);
	percpu_ref_get(&room_packets);
	atomic_add(room_charge(class), &flow->queued);
	/* nobody else looks at it while no flag says zerocopy */
	skb_shinfo(skb)->destructor_arg = (void *)((unsigned long)flow + class);
	skb->destructor = room_freed;
}

/*
 * Return: true: more than @enough bytes are under way, and the event will come;
 * false: go on.
 */
static bool room_stall(const struct weft_run *run, int enough)
{
	struct weft_flow *flow = run->flow;

	WRITE_ONCE(flow->stalled, true);
	smp_mb(); /* see the top of this file */
	if (atomic_read(&flow->queued) > enough) {
		weft_stats_inc(run->qp, WEFT_STAT_TX_STALLS);
		return true;
	}
	WRITE_ONCE(flow->stalled, false);
	return false;
}

bool weft_room_left(const struct weft_run *run)
{
	return atomic_read(&run->flow->queued) < WEFT_TX_BYTES ||
	       !room_stall(run, ROOM_TX_LOW);
}

bool weft_room_is_used(const struct weft_run *run)
{
	return atomic_read(&run->flow->queued);
}

bool weft_room_wait(const struct weft_run *run)
{
	return room_stall(run, 0);
}

static enum hrtimer_restart room_hoped(struct hrtimer *timer)
{
	struct llist_node *hoping = llist_del_all(&room_hoping);
	struct weft_flow *flow, *next;

	llist_for_each_entry_safe(flow, next, hoping, hope) {
		struct weft_qp *qp = flow->turn->qp;

		/* from here on it may be in the list again, when the turn has the event */
		smp_store_release(&flow->hoping, false);
		weft_turn_post(flow->turn, WEFT_EV_RUN);
		weft_qp_put(qp);
		percpu_ref_put(&room_packets);
	}
	return HRTIMER_NORESTART;
}

bool weft_room_hope(const struct weft_run *run)
{
	struct weft_flow *flow = run->flow;

	if (flow->hopes == ROOM_HOPES)
		return false;
	/* the turn may run for another reason, before it has been long enough */
	if (smp_load_acquire(&flow->hoping))
		return true;
	flow->hopes++;
	flow->hoping = true;
	weft_stats_inc(run->qp, WEFT_STAT_TX_STALLS);
	weft_qp_hold(flow->turn->qp);
	percpu_ref_get(&room_packets);
	if (llist_add(&flow->hope, &room_hoping))
		hrtimer_start(&room_timer, ns_to_ktime(ROOM_HOPE_NS), HRTIMER_MODE_REL_SOFT);
	return true;
}

static void room_all_freed(struct percpu_ref *ref)
{
	complete(&room_idle);
}

int weft_room_init(void)
{
	hrtimer_setup(&room_timer, room_hoped, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	return percpu_ref_init(&room_packets, room_all_freed, 0, GFP_KERNEL);
}

void weft_room_exit(void)
{
	percpu_ref_kill(&room_packets);
	wait_for_completion(&room_idle);
	hrtimer_cancel(&room_timer);
	/* whoever freed the last one may not have returned yet */
	synchronize_rcu();
	percpu_ref_exit(&room_packets);
}
