/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Traps of a node: what there is to tell the subnet manager, until it has heard it.
 *
 * Of each trap there is one notice at most, the last one; so what comes in floods costs
 * one packet in an interval.
 */
#ifndef WEFT_FABRIC_TRAP_H
#define WEFT_FABRIC_TRAP_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/notice.h"

/* Kinds of traps that there are: 128, 144, 256 to 259. */
#define WEFT_TRAP_KINDS		6

struct weft_traps;

/**
 * struct weft_traps_ops - what the node that has traps does
 * @wanted: is a notice still worth to be told? NULL: always. Process context.
 * @send: a packet to a LID. Bottom halves off, RCU read side; belongs to the callee.
 */
struct weft_traps_ops {
	bool (*wanted)(struct weft_traps *traps, const struct weft_notice *notice);
	void (*send)(struct weft_traps *traps, u16 dlid, struct sk_buff *skb);
};

/**
 * struct weft_trap - one kind of trap
 * @notice: what there is to tell
 * @number: of it, see weft_notice_tid()
 * @left: times it will be sent yet; 0: there is nothing to tell
 * @due: when it will be sent, jiffies (64 bits, as @rest)
 * @rest: no new one is sent before, unless it is urgent
 */
struct weft_trap {
	struct weft_notice	notice;
	u32			number;
	u8			left;
	u64			due;
	u64			rest;
};

/**
 * struct weft_traps - all of a node
 * @node: whose; a channel adapter has one port
 * @ops: of it
 * @workqueue: runs @work
 * @work: sends what is due
 * @lock: protects the rest
 * @closed: nothing is told any more
 * @number: of the last notice
 * @trap: by kind
 */
struct weft_traps {
	struct weft_ibnode		*node;
	const struct weft_traps_ops	*ops;
	struct workqueue_struct		*workqueue;
	struct delayed_work		work;
	spinlock_t			lock;
	bool				closed;
	u32				number;
	struct weft_trap		trap[WEFT_TRAP_KINDS];
};

/**
 * weft_traps_init - nothing to tell
 * @traps: zeroed memory
 * @node: whose; need not be complete before weft_traps_raise()
 * @ops: of it
 * @workqueue: for what is to be sent
 */
void weft_traps_init(struct weft_traps *traps, struct weft_ibnode *node,
		     const struct weft_traps_ops *ops, struct workqueue_struct *workqueue);

/**
 * weft_traps_raise - tell the subnet manager
 * @traps: of the node
 * @notice: what; takes the place of an earlier one of the same trap
 *
 * It is sent soon, and again each SubnetTimeOut (a second at least) until it is
 * repressed or has been sent often enough. If then the port is down, or it or its subnet
 * manager has no LID, it is forgotten.
 *
 * Context: any.
 */
void weft_traps_raise(struct weft_traps *traps, const struct weft_notice *notice);

/**
 * weft_traps_violation - a packet was refused because of a key
 * @traps: of the node
 * @trap: WEFT_TRAP_BAD_PKEY or WEFT_TRAP_BAD_QKEY
 * @violation: the packet
 *
 * The port counts it, and it is told.
 *
 * Context: any; no lock of the port is held.
 */
void weft_traps_violation(struct weft_traps *traps, u16 trap,
			  const struct weft_violation *violation);

/**
 * weft_traps_refused - a MAD was refused because of its M_Key
 * @traps: of the node
 * @slid: who has sent it
 * @smp: the MAD
 *
 * It is told, but of a TrapRepress: that would be an answer to an answer, for ever.
 *
 * Context: any.
 */
void weft_traps_refused(struct weft_traps *traps, u16 slid, const struct ib_smp *smp);

/**
 * weft_traps_repress - the subnet manager has heard
 * @traps: of the node
 * @tid: transaction ID of its TrapRepress
 *
 * Context: any.
 */
void weft_traps_repress(struct weft_traps *traps, __be64 tid);

/**
 * weft_traps_close - tell nothing any more
 * @traps: of the node; the functions above do nothing from now on
 *
 * Context: process, sleeps until what is being sent is.
 */
void weft_traps_close(struct weft_traps *traps);

#endif /* WEFT_FABRIC_TRAP_H */
