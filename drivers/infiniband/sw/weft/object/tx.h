/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Transmitters: the packets that a requester or responder has under way. */
#ifndef WEFT_OBJECT_TX_H
#define WEFT_OBJECT_TX_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/types.h>

struct dst_entry;
struct weft_turn;

/**
 * struct weft_tx - a transmitter
 *
 * The owner of @turn writes it, except @queued, @stalled, @backing_off and @backoff.
 *
 * @turn: turn of the requester or responder; gets WEFT_EV_RUN when it may go on
 * @queued: bytes of packets that have been sent and not freed
 * @enough: a stalled transmitter goes on when no more than that is @queued
 * @sender_cpu: number of a CPU plus 1, which selects the queue of the net device (XPS)
 * @stalled: it waits for tx credit; cleared by whoever posts the event
 * @refused: it is stalled because the queue of the net device has refused a packet
 * @backing_off: it waits for others to empty that queue, which raises no event; holds a
 *	reference to the QP
 * @backoff: entry in the list of transmitters that back off
 * @backoffs: times it has backed off since the queue last took a packet
 * @since: when it first backed off, in jiffies
 * @dst: route to the destination of a connected QP; NULL: to be looked up
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
