/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One end of a cable between two switches: packets go in frames that may get lost,
 * doubled or overtaken, and arrive complete, once and in order. Those of VL 15 may get
 * lost, as IBA has it.
 *
 * It knows neither net devices nor clocks: who has it gives it the frames and the time,
 * in ns of a clock that does not go back. Who comes first need not have looked at it first.
 */
#ifndef WEFT_FABRIC_ARQ_H
#define WEFT_FABRIC_ARQ_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "fabric/frame.h"
#include "fabric/port.h"
#include "params.h"

struct weft_arq;

/**
 * struct weft_arq_ops - what is done for an end of a cable
 *
 * All with bottom halves off. None of them calls back, but @deliver, which may send.
 *
 * @send: put a frame on the wire; it has no Ethernet header yet. Belongs to the callee.
 *	No lock is held; in order, never two at a time.
 * @deliver: a packet has come; as @send
 * @arm: weft_arq_timeout() is to be called at @when, and not at what was said before;
 *	the lock is held
 * @count: something is to be counted; the lock may be held
 * @more: weft_arq_drain() is to be called soon, in a work item; the lock is held
 * @give_up: nothing has been acknowledged for too long, once; the lock is held
 */
struct weft_arq_ops {
	void (*send)(struct weft_arq *arq, struct sk_buff *frame);
	void (*deliver)(struct weft_arq *arq, struct sk_buff *packet);
	void (*arm)(struct weft_arq *arq, u64 when);
	void (*count)(struct weft_arq *arq, enum weft_ibport_counter counter);
	void (*more)(struct weft_arq *arq);
	void (*give_up)(struct weft_arq *arq);
};

/**
 * struct weft_arq_slot - a frame that may have to be sent again
 * @packet: where its bytes are; the slot of the last frame of a packet has the reference
 * @sent: when it was sent last; 0: never
 * @offset: of its first byte in @packet
 * @length: bytes
 * @flags: WEFT_FRAME_FIRST, WEFT_FRAME_LAST
 * @resent: more than once
 */
struct weft_arq_slot {
	struct sk_buff	*packet;
	u64		sent;
	u16		offset;
	u16		length;
	u8		flags;
	bool		resent;
};

/**
 * struct weft_arq_fifo - what is to be handed on, in order, without the lock
 * @queue: it
 * @busy: somebody does it
 */
struct weft_arq_fifo {
	struct sk_buff_head	queue;
	bool			busy;
};

/**
 * struct weft_arq_param - what an end of a cable is made with
 * @ops: who has it
 * @nonce: of this end
 * @heard: of the other end
 * @max_frame: bytes of a frame, its header counted, that both ends take
 * @room: to leave around frames
 */
struct weft_arq_param {
	const struct weft_arq_ops *ops;
	u32			nonce;
	u32			heard;
	u32			max_frame;
	struct weft_frame_headroom	room;
};

/**
 * struct weft_arq_load - packets that wait
 * @packets: number of them
 * @bytes: in them
 */
struct weft_arq_load {
	u32	packets;
	u32	bytes;
};

/**
 * struct weft_arq_sender - the half that sends
 *
 * Slots from @una to @tail are used; those from @next on are to be sent again.
 *
 * @slot: by number of the frame
 * @una: the oldest frame without an acknowledgment
 * @next: the frame to be sent next
 * @tail: the first one that has never been sent
 * @window: that many may be under way
 * @wait: packets, the first perhaps in part in slots
 * @owned: of them those with a destructor: their sender waits until they are freed
 * @loose: the others
 * @cut: bytes of the first that are in slots
 * @rtt: smoothed time from frame to acknowledgment, ns; 0: not known
 * @backoff: times in a row that time was up
 * @retry_at: when @una is to be sent again, 0: nothing is under way
 * @progress_at: when @una became the oldest
 * @back_seq: the frame that was sent again last because of a gap
 * @back_at: when
 */
struct weft_arq_sender {
	struct weft_arq_slot	slot[WEFT_ARQ_WINDOW];
	u32			una;
	u32			next;
	u32			tail;
	u32			window;
	struct sk_buff_head	wait;
	struct weft_arq_load	owned;
	struct weft_arq_load	loose;
	u32			cut;
	u64			rtt;
	u32			backoff;
	u64			retry_at;
	u64			progress_at;
	u32			back_seq;
	u64			back_at;
};

/**
 * struct weft_arq_receiver - the half that receives
 * @expected: number of the next frame
 * @owed: frames that have come since the last acknowledgment
 * @ack_at: when to acknowledge them; 0: there are none
 * @gap_seq: what was expected when a gap was told last
 * @gap_at: when
 * @reasm: the packet that comes
 */
struct weft_arq_receiver {
	u32			expected;
	u32			owed;
	u64			ack_at;
	u32			gap_seq;
	u64			gap_at;
	struct weft_reasm	reasm;
};

/**
 * struct weft_arq - one end of a cable
 * @lock: protects all but @param
 * @param: immutable but @param.max_frame
 * @stopped: nothing is done any more
 * @armed: what weft_arq_ops.arm was told last; 0: it is over
 * @sender: the half that sends
 * @receiver: the half that receives
 * @out: frames to be sent
 * @in: packets to be delivered
 */
struct weft_arq {
	spinlock_t		lock;
	struct weft_arq_param	param;
	bool			stopped;
	u64			armed;
	struct weft_arq_sender	sender;
	struct weft_arq_receiver receiver;
	struct weft_arq_fifo	out;
	struct weft_arq_fifo	in;
};

/**
 * weft_arq_init - make an end of a cable
 * @arq: zeroed
 * @param: copied
 */
void weft_arq_init(struct weft_arq *arq, const struct weft_arq_param *param);

/**
 * weft_arq_resize - another length of frames from now on
 * @arq: an end of a cable
 * @max_frame: see struct weft_arq_param
 */
void weft_arq_resize(struct weft_arq *arq, u32 max_frame);

/**
 * weft_arq_xmit - send a packet
 * @arq: an end of a cable
 * @skb: belongs to the callee; not changed, and freed when all of it has arrived. At the other
 *	end its weft_hop.hops is one more.
 * @now: time
 *
 * Context: bottom halves off.
 */
void weft_arq_xmit(struct weft_arq *arq, struct sk_buff *skb, u64 now);

/**
 * weft_arq_receive - a frame has come
 * @arq: an end of a cable
 * @frame: its header: DATA or ACK, with the right nonces
 * @skb: what follows the header, no padding; not shared. Belongs to the callee.
 * @now: time
 *
 * Context: soft interrupt, RCU read side.
 */
void weft_arq_receive(struct weft_arq *arq, const struct weft_frame *frame,
		      struct sk_buff *skb, u64 now);

/**
 * weft_arq_timeout - the time has come that weft_arq_ops.arm was told
 * @arq: an end of a cable
 * @now: time
 *
 * Context: soft interrupt, RCU read side.
 */
void weft_arq_timeout(struct weft_arq *arq, u64 now);

/**
 * weft_arq_drain - hand on what waits
 * @arq: an end of a cable
 *
 * WEFT_ARQ_BUDGET of each fifo at most; weft_arq_ops.more is called if there is more.
 *
 * Context: bottom halves off, RCU read side.
 */
void weft_arq_drain(struct weft_arq *arq);

/**
 * weft_arq_stop - the cable is pulled out
 * @arq: an end of a cable
 *
 * When it returns, weft_arq_ops.arm and weft_arq_ops.more are not called any more.
 *
 * Context: any but hard interrupts.
 */
void weft_arq_stop(struct weft_arq *arq);

/**
 * weft_arq_destroy - free what has not been sent or delivered
 * @arq: stopped; a grace period has passed, and neither weft_arq_timeout() nor weft_arq_drain()
 *	is called
 */
void weft_arq_destroy(struct weft_arq *arq);

#endif /* WEFT_FABRIC_ARQ_H */
