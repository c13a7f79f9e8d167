// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The traps of a node, which are repeated until the subnet manager represses them.
 *
 * Each kind of trap has at most one notice, the last one. So a flood of events sends one packet
 * in an interval.
 */
#include "fabric/trap.h"

#include <linux/bottom_half.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <rdma/ib_mad.h>

#include "fabric/mad.h"

/*
 * Times that a trap is sent. An urgent trap is sent more often, so that the subnet manager need
 * not find the change by its next sweep.
 */
#define TRAP_TIMES		5
#define TRAP_TIMES_URGENT	10
/* Delay of a new trap, as events come in groups. */
#define TRAP_DELAY		(HZ / 50)
/* SubnetTimeOut: 4.096 us * 2^n */
#define TRAP_TIME_NS		4096ULL
#define TRAP_TIME_MASK		31

static const u16 trap_kinds[] = {
	WEFT_TRAP_LINK_CHANGE, WEFT_TRAP_LOCAL_CHANGE, WEFT_TRAP_BAD_MKEY,
	WEFT_TRAP_BAD_PKEY, WEFT_TRAP_BAD_QKEY, WEFT_TRAP_FILTERED,
};

static_assert(ARRAY_SIZE(trap_kinds) == WEFT_TRAP_KINDS);

/* How a trap gets to the subnet manager. */
struct trap_way {
	bool				known;	/* the port is up, and both LIDs are set */
	struct weft_notice_issuer	issuer;
	u16				sm_lid;	/* destination */
	u64				period;	/* until the trap is repeated, jiffies */
};

static struct weft_ibport *trap_port(const struct weft_traps *traps)
{
	return traps->node->port[traps->node->type == WEFT_NODE_SWITCH ? 0 : 1];
}

static struct weft_trap *trap_find(struct weft_traps *traps, const struct weft_notice *notice)
{
	u32 i;

	for (i = 0; i < WEFT_TRAP_KINDS; i++)
		if (trap_kinds[i] == be16_to_cpu(notice->trap))
			return &traps->trap[i];
	return NULL;
}

static u64 trap_period(const struct ib_port_info *info)
{
	u8 time = info->clientrereg_resv_subnetto & TRAP_TIME_MASK;

	return max_t(u64, nsecs_to_jiffies64(TRAP_TIME_NS << time), HZ);
}

static struct trap_way trap_way(const struct weft_traps *traps)
{
	struct weft_ibport *port = trap_port(traps);
	struct trap_way way;
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	way = (struct trap_way){
		.issuer.producer = traps->node->type,
		.issuer.lid = be16_to_cpu(port->info.lid),
		.issuer.cap_mask = port->info.cap_mask,
		.sm_lid = be16_to_cpu(port->info.sm_lid),
		.period = trap_period(&port->info),
		.known = port->state != IB_PORT_DOWN,
	};
	spin_unlock_irqrestore(&port->lock, flags);
	way.known = way.known && way.issuer.lid && way.sm_lid;
	return way;
}

/* Schedule the work item for the trap that is due first. */
static void trap_arm(struct weft_traps *traps)
{
	u64 now = get_jiffies_64(), first = U64_MAX;
	const struct weft_trap *trap;

	lockdep_assert_held(&traps->lock);
	for (trap = traps->trap; trap < traps->trap + WEFT_TRAP_KINDS; trap++)
		if (trap->left)
			first = min(first, trap->due);
	if (first != U64_MAX && !traps->closed)
		mod_delayed_work(traps->workqueue, &traps->work,
				 first > now ? first - now : 0);
}

/* Copy a trap that is due to @due, and schedule its repetition. Returns false if none is due. */
static bool trap_take(struct weft_traps *traps, u64 period, struct weft_trap *due)
{
	u64 now = get_jiffies_64();
	struct weft_trap *trap;
	bool found = false;
	unsigned long flags;

	spin_lock_irqsave(&traps->lock, flags);
	for (trap = traps->trap; trap < traps->trap + WEFT_TRAP_KINDS && !found; trap++) {
		if (!trap->left || trap->due > now)
			continue;
		*due = *trap;
		trap->left--;
		trap->due = now + period;
		trap->rest = trap->due;
		found = true;
	}
	spin_unlock_irqrestore(&traps->lock, flags);
	return found;
}

/* Without memory the trap counts as lost on the way. */
static void trap_send(struct weft_traps *traps, const struct trap_way *way,
		      const struct weft_trap *trap)
{
	const struct weft_mad_address address = {
		.slid = way->issuer.lid,
		.dlid = way->sm_lid,
		.vl = WEFT_VL_SMP,
		.pkey = IB_DEFAULT_PKEY_FULL,
	};
	struct sk_buff *skb;
	struct ib_smp smp;

	weft_notice_smp(&smp, &trap->notice, &way->issuer, trap->number);
	skb = weft_mad_build(&address, (const struct ib_mad *)&smp, GFP_NOIO);
	if (!skb)
		return;
	local_bh_disable();
	rcu_read_lock();
	traps->ops->send(traps, way->sm_lid, skb);
	rcu_read_unlock();
	local_bh_enable();
}

static bool trap_is_wanted(struct weft_traps *traps, const struct weft_trap *trap)
{
	return !traps->ops->wanted || traps->ops->wanted(traps, &trap->notice);
}

static void trap_work(struct work_struct *work)
{
	struct weft_traps *traps = container_of(to_delayed_work(work), struct weft_traps, work);
	struct trap_way way = trap_way(traps);
	struct weft_trap trap;
	unsigned long flags;

	while (trap_take(traps, way.period, &trap)) {
		if (way.known && trap_is_wanted(traps, &trap))
			trap_send(traps, &way, &trap);
		else
			weft_traps_repress(traps, weft_notice_tid(trap.number));
	}
	spin_lock_irqsave(&traps->lock, flags);
	trap_arm(traps);
	spin_unlock_irqrestore(&traps->lock, flags);
}

/* Initialize zeroed memory. @node need not be complete before the first trap is raised. */
void weft_traps_init(struct weft_traps *traps, struct weft_ibnode *node,
		     const struct weft_traps_ops *ops, struct workqueue_struct *workqueue)
{
	traps->node = node;
	traps->ops = ops;
	traps->workqueue = workqueue;
	INIT_DELAYED_WORK(&traps->work, trap_work);
	spin_lock_init(&traps->lock);
}
WEFT_EXPORT_FOR_TEST(weft_traps_init);

/*
 * A trap that is already scheduled is not postponed. Returns true if the trap is due earlier than
 * before, or was idle.
 */
static bool trap_replace(struct weft_trap *trap, const struct weft_notice *notice, u32 number)
{
	bool urgent = notice->type == IB_NOTICE_TYPE_URGENT;
	u64 due = get_jiffies_64() + TRAP_DELAY;
	struct weft_notice old = trap->notice;
	bool sooner;

	trap->notice = *notice;
	trap->number = number;
	if (!urgent)
		due = max(due, trap->rest);
	if (trap->left)
		weft_notice_merge(&trap->notice, &old);
	sooner = !trap->left || due < trap->due;
	trap->left = urgent ? TRAP_TIMES_URGENT : TRAP_TIMES;
	if (sooner)
		trap->due = due;
	return sooner;
}

/*
 * Send a trap soon, and again each SubnetTimeOut (at least a second) until it is repressed or has
 * been sent often enough. Replaces an earlier notice of the same kind. The trap is dropped if it
 * is due while the port is down or has no LID, or the LID of the subnet manager is not known. Any
 * context.
 */
void weft_traps_raise(struct weft_traps *traps, const struct weft_notice *notice)
{
	struct weft_trap *trap = trap_find(traps, notice);
	unsigned long flags;

	if (WARN_ON_ONCE(!trap))
		return;
	spin_lock_irqsave(&traps->lock, flags);
	/* a flood of notices must not rearm the timer each time */
	if (trap_replace(trap, notice, ++traps->number))
		trap_arm(traps);
	spin_unlock_irqrestore(&traps->lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_traps_raise);

/* Count a packet with a wrong key at the port, and raise @trap. The lock is not held. */
void weft_traps_violation(struct weft_traps *traps, u16 trap,
			  const struct weft_violation *violation)
{
	struct weft_notice notice = weft_notice_bad_key(trap, violation);

	weft_ibport_violation(trap_port(traps), trap == WEFT_TRAP_BAD_QKEY);
	weft_traps_raise(traps, &notice);
}
WEFT_EXPORT_FOR_TEST(weft_traps_violation);

/* A MAD from @slid had a wrong M_Key: raise trap 256, but not for a TrapRepress. Any context. */
void weft_traps_refused(struct weft_traps *traps, u16 slid, const struct ib_smp *smp)
{
	struct weft_notice notice = weft_notice_bad_mkey(slid, smp);

	if (smp->method != IB_MGMT_METHOD_TRAP_REPRESS)
		weft_traps_raise(traps, &notice);
}
WEFT_EXPORT_FOR_TEST(weft_traps_refused);

/* End the repetitions of the trap with this transaction ID. Any context. */
void weft_traps_repress(struct weft_traps *traps, __be64 tid)
{
	struct weft_trap *trap;
	unsigned long flags;

	spin_lock_irqsave(&traps->lock, flags);
	for (trap = traps->trap; trap < traps->trap + WEFT_TRAP_KINDS; trap++)
		if (trap->left && weft_notice_tid(trap->number) == tid)
			trap->left = 0;
	spin_unlock_irqrestore(&traps->lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_traps_repress);

/* Send no more traps: traps that are raised after this have no effect. Sleeps. */
void weft_traps_close(struct weft_traps *traps)
{
	unsigned long flags;

	spin_lock_irqsave(&traps->lock, flags);
	traps->closed = true;
	spin_unlock_irqrestore(&traps->lock, flags);
	cancel_delayed_work_sync(&traps->work);
}
WEFT_EXPORT_FOR_TEST(weft_traps_close);
