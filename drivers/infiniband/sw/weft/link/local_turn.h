/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The receiver of the local link: its address, and its turn.
 *
 * A process must not keep the turn of another one while its cgroup has no CPU time left (cpu.max).
 * So it is not preempted while it owns a receive turn, and leaves the rest of a long message to a
 * work item, which is in no such cgroup, as soon as another task is to have the CPU.
 */
#ifndef WEFT_LINK_LOCAL_TURN_H
#define WEFT_LINK_LOCAL_TURN_H

#include <linux/preempt.h>
#include <linux/sched.h>

#include "object/av.h"
#include "object/qp.h"
#include "object/table.h"
#include "object/turn.h"

/*
 * May the current task sleep while it owns the peer's turn? A work item may. On PREEMPT_RT all may,
 * because locks sleep, and while messages are shown (@show), because that reschedules.
 */
static inline bool weft_local_may_rest(bool show)
{
	return IS_ENABLED(CONFIG_PREEMPT_RT) || show || current->flags & PF_KTHREAD;
}

/* Own a receive turn until weft_local_leave(). With @no_preempt, do not sleep before that. */
static __always_inline int weft_local_enter(struct weft_turn *turn, bool no_preempt)
{
	int ret;

	if (!no_preempt)
		return weft_turn_own(turn);
	preempt_disable();
	if (likely(weft_turn_try(turn)))
		return 0;
	preempt_enable();
	ret = weft_turn_wait(turn);
	if (!ret)
		preempt_disable();
	return ret;
}

static __always_inline void weft_local_leave(struct weft_turn *turn, bool no_preempt)
{
	weft_turn_release(turn);
	if (no_preempt)
		preempt_enable();
}

/*
 * Does @peer have the destination address? Several devices on one net device have the same
 * addresses, and av->target is only one of them.
 */
static inline bool weft_local_has_address(const struct weft_av *av, const struct weft_qp *peer)
{
	return peer->dev_id == av->target ||
	       weft_dev_has_gid(peer->dev_id, av->net, &av->dgid, av->ifindex);
}

#endif /* WEFT_LINK_LOCAL_TURN_H */
