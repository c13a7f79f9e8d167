/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One end of a cable between two hosts, with automatic repeat request (ARQ). */
#ifndef WEFT_FABRIC_ARQ_H
#define WEFT_FABRIC_ARQ_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "fabric/frame.h"
#include "fabric/port.h"
#include "params.h"

struct weft_arq;

/**
 * struct weft_arq_ops - callbacks, all with bottom halves off
 *
 * None of them may call back into the cable end, but @deliver may send a packet.
 *
 * @send: put a frame on the wire; it has no underlay header yet and belongs to the callee.
 *	Called without the lock, in order, for one frame at a time.
 * @deliver: a packet has come; called like @send
 * @arm: call weft_arq_timeout() at @when and not at the time of an earlier @arm; the lock is held
 * @count: increment a counter of the port; the lock may be held
 * @more: call weft_arq_drain() soon, from a work item; the lock is held
 * @give_up: nothing has been acknowledged for WEFT_ARQ_GIVE_UP_US; called once, with the lock
 *	held
 */
struct weft_arq_ops {
	void (*send)(struct weft_arq *arq, struct sk_buff *frame);
	void (*deliver)(struct weft_arq *arq, struct sk_buff *packet);
	void (*arm)(struct weft_arq *arq, u64 when);
	void (*count)(struct weft_arq *arq, enum weft_ibport_counter counter);
	void (*more)(struct weft_arq *arq);
	void (*give_up)(struct weft_arq *arq);
};

/* A frame that may have to be repeated, and how to build it. */
struct weft_arq_slot {
	struct sk_buff	*packet; /* the slot of its last frame has the reference */
	u64		sent;	/* time of the last transmission; 0: not sent yet */
	u16		offset;	/* of the frame's first byte in @packet */
	u16		length;
	u8		flags;	/* WEFT_FRAME_FIRST, WEFT_FRAME_LAST */
	bool		resent;
};

/* Frames or packets to hand on in order, without the lock; see arq.c. */
struct weft_arq_fifo {
	struct sk_buff_head	queue;
	bool			busy;	/* a CPU is handing them on */
};

struct weft_arq_param {
	const struct weft_arq_ops *ops;
	u32			nonce;	/* of this end */
	u32			heard;	/* of the other end */
	u32			max_frame; /* bytes of a frame, with header, that both ends take */
	struct weft_frame_headroom	room;
};

struct weft_arq_load {
	u32	packets;
	u32	bytes;
};

/*
 * The sending half. Frame numbers below @una are acknowledged; @una to @tail - 1 have slots, of
 * which those from @next on are to be sent, for the first time or again.
 */
struct weft_arq_sender {
	struct weft_arq_slot	slot[WEFT_ARQ_WINDOW];	/* by frame number */
	u32			una;
	u32			next;
	u32			tail;
	u32			window;	/* frames that may be sent and not acknowledged */
	/* Packets without slots for all of their frames; @cut bytes of the first one have slots. */
	struct sk_buff_head	wait;
	struct weft_arq_load	owned;	/* of @wait: with a destructor, which paces a sender */
	struct weft_arq_load	loose;	/* of @wait: the others */
	u32			cut;
	u64			rtt;	/* smoothed round trip time, ns; 0: not known */
	u32			backoff; /* doublings of the ack timeout */
	u64			retry_at; /* end of the ack timeout of @una; 0: it does not run */
	u64			progress_at; /* when @una became the oldest frame */
	/* Frame, and time, of the last repetition because of a GAP. */
	u32			back_seq;
	u64			back_at;
};

struct weft_arq_receiver {
	u32			expected; /* number of the next frame */
	u32			owed;	/* frames that have come since the last acknowledgment */
	u64			ack_at;	/* when to acknowledge them; 0: there are none */
	/* Value of @expected, and time, of the last GAP that was sent. */
	u32			gap_seq;
	u64			gap_at;
	struct weft_reasm	reasm;
};

struct weft_arq {
	spinlock_t		lock;	/* protects everything but @param */
	struct weft_arq_param	param;	/* immutable but for max_frame */
	bool			stopped;
	u64			armed;	/* last time passed to arm(); 0: that is over */
	struct weft_arq_sender	sender;
	struct weft_arq_receiver receiver;
	struct weft_arq_fifo	out;	/* frames to send */
	struct weft_arq_fifo	in;	/* packets to deliver */
};

void weft_arq_init(struct weft_arq *arq, const struct weft_arq_param *param);
void weft_arq_resize(struct weft_arq *arq, u32 max_frame);
void weft_arq_xmit(struct weft_arq *arq, struct sk_buff *skb, u64 now);
void weft_arq_receive(struct weft_arq *arq, const struct weft_frame *frame,
		      struct sk_buff *skb, u64 now);
void weft_arq_timeout(struct weft_arq *arq, u64 now);
void weft_arq_drain(struct weft_arq *arq);
void weft_arq_stop(struct weft_arq *arq);
void weft_arq_destroy(struct weft_arq *arq);

#endif /* WEFT_FABRIC_ARQ_H */
