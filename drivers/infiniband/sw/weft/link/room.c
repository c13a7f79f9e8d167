// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A flow may have WEFT_TX_BYTES under way. Its packets are charged when they
 * are sent, by the owner of the turn, and discharged when they are freed, by
 * whoever frees them:
 *
 *	owner (room_stall)              whoever frees (room_freed)
 *
 *	enough = ..., stalled = true    queued -= charge
 *	full barrier                    full barrier (atomic_sub_return)
 *	queued more than enough?        stalled, and no more than enough queued?
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

/*
 * What a packet is charged has to be known when it is freed, and its truesize
 * may be another by then (pskb_expand_head()). So it is charged a power of two,
 * and which one is kept in the lower bits of the pointer to its flow.
 */
#define ROOM_CHARGE_CLASSES	8
#define ROOM_CHARGE_MIN_ORDER	9

/*
 * A queue that others have filled tells nobody when it has room again: it is asked, as
 * often as that. A queue that takes nothing for so long, however often it is asked, and of so
 * many tries, however slow the machine, will not.
 */
#define ROOM_HOPE_NS		NSEC_PER_MSEC
#define ROOM_HOPE_JIFFIES	(HZ / 10)
#define ROOM_HOPES		100

/* One reference for the module, one for each packet, and each flow that hopes. */
static struct percpu_ref room_packets;
static DECLARE_COMPLETION(room_idle);

/**
 * struct room_hoping - flows that hope for room
 * @flows: of them, who came last is first
 * @timer: until they ask again
 */
struct room_hoping {
	struct llist_head	flows;
	struct hrtimer		timer;
};

/* By device: who sends by another one is in nobody's way. */
static struct room_hoping room_hoping[16];

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

static struct room_hoping *room_hoping_of(const struct weft_flow *flow)
{
	return &room_hoping[flow->turn->qp->dev_id % ARRAY_SIZE(room_hoping)];
}

/* Return: false: it does already. */
static bool room_join_hoping(struct weft_flow *flow)
{
	struct room_hoping *hoping = room_hoping_of(flow);

	/* pairs with room_wake_hoping(), which has done with flow->hope */
	if (cmpxchg_acquire(&flow->hoping, false, true))
		return false;
	weft_qp_hold(flow->turn->qp);
	percpu_ref_get(&room_packets);
	/* others who join rely on the timer */
	preempt_disable();
	if (llist_add(&flow->hope, &hoping->flows))
		hrtimer_start(&hoping->timer, ns_to_ktime(ROOM_HOPE_NS),
			      HRTIMER_MODE_REL_SOFT);
	preempt_enable();
	return true;
}

static void room_wake_hoping(struct room_hoping *hoping)
{
	struct llist_node *flows = llist_reverse_order(llist_del_all(&hoping->flows));
	struct weft_flow *flow, *next;

	llist_for_each_entry_safe(flow, next, flows, hope) {
		struct weft_qp *qp = flow->turn->qp;

		WRITE_ONCE(flow->hoping, false);
		/*
		 * From here on it may be in the list again; and who has the event must not
		 * find it hoping, as no other one would come.
		 */
		smp_mb();
		weft_turn_post(flow->turn, WEFT_EV_RUN);
		weft_qp_put(qp);
		percpu_ref_put(&room_packets);
	}
}

static enum hrtimer_restart room_hoped(struct hrtimer *timer)
{
	room_wake_hoping(container_of(timer, struct room_hoping, timer));
	return HRTIMER_NORESTART;
}

/*
 * What a flow has sent into a full queue leaves it, and the flow would fill it again before
 * those who can only hope have looked. So these go first.
 */
static bool room_gives_way(struct weft_flow *flow)
{
	struct room_hoping *hoping = room_hoping_of(flow);

	if (!READ_ONCE(flow->refused) || llist_empty(&hoping->flows))
		return false;
	room_wake_hoping(hoping);
	return room_join_hoping(flow);
}

static void room_go_on(struct weft_flow *flow)
{
	WRITE_ONCE(flow->stalled, false);
	smp_mb(); /* see the top of this file */
	if (!room_gives_way(flow))
		weft_turn_post(flow->turn, WEFT_EV_RUN);
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
	/* pairs with room_stall() */
	if (smp_load_acquire(&flow->stalled) && left <= READ_ONCE(flow->enough))
		room_go_on(flow);
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
static bool room_stall(const struct weft_run *run, int enough, bool refused)
{
	struct weft_flow *flow = run->flow;

	WRITE_ONCE(flow->enough, enough);
	WRITE_ONCE(flow->refused, refused);
	/* pairs with room_freed(): what is enough is seen first */
	smp_store_release(&flow->stalled, true);
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
	const struct weft_flow *flow = run->flow;

	/* the turn may run for another reason, before the event has come */
	if (READ_ONCE(flow->stalled) || READ_ONCE(flow->hoping))
		return false;
	return atomic_read(&flow->queued) < WEFT_TX_BYTES ||
	       !room_stall(run, WEFT_TX_BYTES / 2, false);
}

void weft_room_forget(struct weft_flow *flow)
{
	flow->hopes = 0;
	if (!READ_ONCE(flow->stalled))
		return;
	WRITE_ONCE(flow->stalled, false);
	smp_mb(); /* see the top of this file */
	weft_turn_post(flow->turn, WEFT_EV_RUN);
}

bool weft_room_is_used(const struct weft_run *run)
{
	return atomic_read(&run->flow->queued);
}

/* With another try for each packet that leaves it would be refused most of the time. */
bool weft_room_wait(const struct weft_run *run)
{
	int queued;

	while ((queued = atomic_read(&run->flow->queued)))
		if (room_stall(run, queued / 2, true))
			return true;
	return false;
}

bool weft_room_hope(const struct weft_run *run)
{
	struct weft_flow *flow = run->flow;

	if (!flow->hopes)
		flow->since = jiffies;
	if (flow->hopes < ROOM_HOPES)
		flow->hopes++;
	else if (time_after32(jiffies, flow->since + ROOM_HOPE_JIFFIES))
		return false;
	if (room_join_hoping(flow))
		weft_stats_inc(run->qp, WEFT_STAT_TX_STALLS);
	return true;
}

static void room_all_freed(struct percpu_ref *ref)
{
	complete(&room_idle);
}

int weft_room_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(room_hoping); i++) {
		init_llist_head(&room_hoping[i].flows);
		hrtimer_setup(&room_hoping[i].timer, room_hoped, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_SOFT);
	}
	return percpu_ref_init(&room_packets, room_all_freed, 0, GFP_KERNEL);
}

void weft_room_exit(void)
{
	unsigned int i;

	percpu_ref_kill(&room_packets);
	wait_for_completion(&room_idle);
	for (i = 0; i < ARRAY_SIZE(room_hoping); i++)
		hrtimer_cancel(&room_hoping[i].timer);
	/*
	 * A task may have given up the last reference, or another one, and not have returned from
	 * this module yet. It may be preempted there, outside any RCU read side.
	 */
	synchronize_rcu_tasks();
	percpu_ref_exit(&room_packets);
}
