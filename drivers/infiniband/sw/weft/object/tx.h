/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What one half of a QP has under way on the wire.
 */
#ifndef WEFT_OBJECT_TX_H
#define WEFT_OBJECT_TX_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/types.h>

struct dst_entry;
struct weft_turn;

/**
 * struct weft_tx - a half's packets, and the way they go
 *
 * Written by the owner of @turn only, but @queued, @stalled, @backing_off and @backoff.
 *
 * @turn: of the half; gets WEFT_EV_RUN when there is room again
 * @queued: bytes of packets that have been sent and not been freed
 * @enough: a half that waits goes on when no more than that is @queued
 * @sender_cpu: which of the net device's queues it goes through (XPS): number of a CPU,
 *	and 1
 * @stalled: the half waits for room; cleared by whoever makes it
 * @refused: it does as the queue of the net device has refused a packet
 * @backing_off: the half waits for room that others make, who tell nobody; a reference to
 *	the QP goes with it
 * @backoff: in the list of those
 * @backoffs: how often the transmitter backed off since the queue last took a packet, or enough
 * @since: when it first backed off, in jiffies
 * @dst: route to the QP's destination; NULL: to be looked up. Connected QPs
 *	only.
 */
struct weft_tx {
	struct weft_turn	*turn;
	atomic_t		queued;
	int			enough;
	u32			sender_cpu;
	bool			stalled;
	bool			refused;
	bool			backing_off;
	u8			backoffs;
	u32			since;
	struct llist_node	backoff;
	struct dst_entry	*dst;
};

#endif /* WEFT_OBJECT_TX_H */
