/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Transmitters: the packets that a requester or responder has under way. */
#ifndef WEFT_OBJECT_TX_H
#define WEFT_OBJECT_TX_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/types.h>

struct dst_entry;
struct weft_turn;

/*
 * A transmitter. The owner of @turn writes it, except @queued, @stalled, @backing_off and @backoff.
 */
struct weft_tx {
	struct weft_turn	*turn;		/* gets WEFT_EV_RUN when it may go on */
	atomic_t		queued;		/* bytes of packets sent and not freed */
	int			enough;		/* @queued at which it goes on when stalled */
	u32			sender_cpu;	/* CPU plus 1, for the choice of a queue (XPS) */
	bool			stalled;	/* waits for tx credit, until the event */
	bool			refused;	/* stalled: the net device's queue is full */
	bool			again;		/* the net device refused this frame before */
	/* waits for others to empty that queue, which raises no event; has a reference to the QP */
	bool			backing_off;
	u8			backoffs;	/* since the queue last took a packet */
	u32			since;		/* jiffies of the first of these backoffs */
	struct llist_node	backoff;	/* in the list of transmitters that back off */
	struct dst_entry	*dst;		/* connected: route; NULL: to be looked up */
};

#endif /* WEFT_OBJECT_TX_H */
