/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The traps of a node, which are repeated until the subnet manager represses them. */
#ifndef WEFT_FABRIC_TRAP_H
#define WEFT_FABRIC_TRAP_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "fabric/node.h"
#include "fabric/notice.h"

/* Traps 128, 144 and 256 to 259. */
#define WEFT_TRAP_KINDS		6

struct weft_traps;

/**
 * struct weft_traps_ops - callbacks to the node
 * @wanted: is the notice still of use to the subnet manager? NULL: always. Process context.
 * @send: send a packet, which belongs to the callee, to a LID. Bottom halves off, RCU read side.
 */
struct weft_traps_ops {
	bool (*wanted)(struct weft_traps *traps, const struct weft_notice *notice);
	void (*send)(struct weft_traps *traps, u16 dlid, struct sk_buff *skb);
};

/* One kind of trap. Times are jiffies of 64 bits. */
struct weft_trap {
	struct weft_notice	notice;
	u32			number;	/* see weft_notice_tid() */
	u8			left;	/* times that it will still be sent; 0: idle */
	u64			due;	/* when it will be sent next */
	u64			rest;	/* a new notice is not sent before, unless it is urgent */
};

struct weft_traps {
	struct weft_ibnode		*node;	/* a switch, or a channel adapter with one port */
	const struct weft_traps_ops	*ops;
	struct workqueue_struct		*workqueue;
	struct delayed_work		work;	/* sends the traps that are due */
	spinlock_t			lock;	/* protects the members below */
	bool				closed;
	u32				number;	/* of the last notice */
	struct weft_trap		trap[WEFT_TRAP_KINDS];
};

void weft_traps_init(struct weft_traps *traps, struct weft_ibnode *node,
		     const struct weft_traps_ops *ops, struct workqueue_struct *workqueue);
void weft_traps_raise(struct weft_traps *traps, const struct weft_notice *notice);
void weft_traps_violation(struct weft_traps *traps, u16 trap,
			  const struct weft_violation *violation);
void weft_traps_refused(struct weft_traps *traps, u16 slid, const struct ib_smp *smp);
void weft_traps_repress(struct weft_traps *traps, __be64 tid);
void weft_traps_close(struct weft_traps *traps);

#endif /* WEFT_FABRIC_TRAP_H */
