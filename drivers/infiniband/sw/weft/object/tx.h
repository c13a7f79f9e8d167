/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Transmitters: the packets that a requester or responder has under way. */
#ifndef WEFT_OBJECT_TX_H
#define WEFT_OBJECT_TX_H

#include <linux/atomic.h>
#include <linux/llist.h>
#include <linux/types.h>

struct dst_entry;
struct sk_buff;
struct weft_turn;

/* A list of packets that is being collected (link/burst.c); all zero: none. */
struct weft_burst {
	struct sk_buff	*head;		/* the first packet, which has the others in its list */
	struct sk_buff	*last;		/* the last packet */
	u32		packets;	/* number of packets */
	/* bytes of the first packet, from the BTH to the ICRC; no other one is larger */
	u32		size;
	u32		length;		/* bytes of all packets, with one IP and one UDP header */
};

/* A buffer that is being filled (link/uso.c). It is empty if all but @skb is zero. */
struct weft_uso {
	struct sk_buff	*skb;		/* has headers of IP and UDP, and no payload at first */
	u32		size;		/* bytes of the first packet, from the BTH to the ICRC */
	u32		packets;
	u8		*at;		/* the next byte of the last fragment */
	u32		room;		/* bytes from there to its end */
	bool		ended;		/* no packet can follow a shorter one */
};

/*
 * Packets of a run of a requester that wait to leave together, in one of both forms; the last one
 * may be an acknowledge of the responder. If @packets is 0 nothing else is valid.
 */
struct weft_held {
	u32			packets;
	u32			psn;	/* of the first one */
	bool			ackreq;	/* the last packet before them asks for an answer */
	struct weft_burst	burst;
	struct weft_uso		uso;	/* @skb is NULL: @burst is used */
};

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
	u8			alone;		/* packets that go alone: the queue is short */
	u32			since;		/* jiffies of the first of these backoffs */
	struct llist_node	backoff;	/* in the list of transmitters that back off */
	struct dst_entry	*dst;		/* connected: route; NULL: to be looked up */
};

#endif /* WEFT_OBJECT_TX_H */
