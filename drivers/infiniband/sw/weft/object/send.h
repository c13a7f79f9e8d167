/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The send half of a QP: requester.
 */
#ifndef WEFT_OBJECT_SEND_H
#define WEFT_OBJECT_SEND_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include "mem/copy.h"
#include "object/backlog.h"
#include "object/tx.h"
#include "object/odp.h"
#include "object/turn.h"
#include "ring/sqe.h"

/**
 * struct weft_slot - a send work request that travels in packets
 * @sqe: the request
 * @inline_data: its payload when WEFT_SQE_INLINE, see struct weft_swqe
 * @index: ring index
 * @length: bytes of the message
 * @first_psn: PSN of the first request packet
 * @psns: PSNs it takes, of a READ those of the responses; 0: a local operation
 * @ssn: requests up to this one, as @limit counts them
 * @fault: enum weft_fault: it fails when those before it are complete
 * @executed: a local operation that has been; sending again does not repeat it
 * @sge: its scatter/gather list
 */
struct weft_slot {
	struct weft_sqe		sqe;
	const void		*inline_data;
	u32			index;
	u32			length;
	u32			first_psn;
	u32			psns;
	u32			ssn;
	u32			fault;
	bool			executed;
	struct weft_sge		sge[];
};

/**
 * struct weft_inflight - work requests that have been begun and are not complete
 *
 * PSNs: @una <= @next <= @sent <= weft_send.psn. Indexes count up for ever:
 * @head <= @cur <= @tail.
 *
 * @slots: memory, NULL: the QP has sent no packet yet
 * @stride: bytes of an inflight request
 * @mask: number of slots minus one
 * @head: oldest inflight request
 * @cur: slot whose packets are being sent; @tail: all are
 * @tail: one after the youngest inflight request
 * @una: oldest PSN without an answer
 * @next: PSN to be sent next, in @cur
 * @sent: one after the last PSN that ever was sent
 * @reads: requests sent before @next, of READs, atomics, FLUSHs and ATOMIC WRITEs,
 *	that are not wholly answered
 * @ssn: requests taken since RESET, 24 bits (IBA: send sequence number)
 * @limit: the last of them that the peer has a receive for
 * @limited: @limit is known
 * @retried: what is being sent is sent again; no progress since
 * @deadline: when the ack timeout ends
 */
struct weft_inflight {
	void			*slots;
	u32			stride;
	u32			mask;
	u32			head;
	u32			cur;
	u32			tail;
	u32			una;
	u32			next;
	u32			sent;
	u32			reads;
	u32			ssn;
	u32			limit;
	bool			limited;
	bool			retried;
	ktime_t			deadline;
};

/**
 * struct weft_pace - a limit of the rate (ibv_modify_qp_rate_limit(3))
 *
 * @rate: kbit/s of payload, 0: there is no limit
 * @burst: ns that @due may be ahead
 * @due: when all that has been sent would have been at @rate
 * @timer: runs until @due when nothing may be sent before
 */
struct weft_pace {
	u32			rate;
	u64			burst;
	ktime_t			due;
	struct hrtimer		timer;
};

/**
 * struct weft_send - the send half
 *
 * Written by the owner of @turn only; attributes by modify_qp with the turn
 * stopped.
 *
 * @turn: who may
 * @who: on whose behalf memory is accessed; immutable
 * @opcodes: bit per enum weft_sqe_opcode that it executes; immutable
 * @ring: send queue
 * @tx: packets under way
 * @packets: responses to be processed
 * @inflight: work requests that travel in packets
 * @active: @wqe is not complete yet
 * @malformed: @wqe could not be made sense of
 * @waiting: for the timer, or (without a timer) for ever
 * @unanswered: what is waited for is an answer, not the end of an RNR delay
 * @doorbell_armed: the client has been asked to ring
 * @drained: SQD: the drain has been reported
 * @retry_left: transport retries left for @wqe
 * @rnr_left: RNR retries left for @wqe
 * @paced: @pace limits the rate
 * @batch_packets: that are sent at a time
 * @psn: of the next request
 * @done: bytes of @wqe that the local link has moved, if it moves an ODP message in
 *	windows; see the same of the peer's receive half. Bytes of an LSO that have left.
 * @timer: ends @waiting
 * @posted: takes the turn, for a kernel consumer that has posted with interrupts disabled
 * @timeout: attribute, 4.096 us * 2^n, 0: for ever
 * @retry_cnt: attribute
 * @rnr_retry: attribute, 7: for ever
 * @max_rd_atomic: attribute
 * @sqd_notify: attribute: raise SQ_DRAINED
 * @pace: limit of the rate
 * @wqe: private copy of the current work request
 * @sgl: its memory, only while it is being executed
 * @iter: position in @sgl on the local link
 * @odp: ODP memory of what is being sent, or of @wqe
 * @placing: ODP memory that a response goes to
 */
struct weft_send {
	struct weft_turn	turn;
	struct weft_accessor	who;
	u32			opcodes;
	struct weft_ring	*ring;
	struct weft_tx		tx;
	struct weft_backlog	packets;
	struct weft_inflight	inflight;
	bool			active;
	bool			malformed;
	bool			waiting;
	bool			unanswered;
	bool			doorbell_armed;
	bool			drained;
	u8			retry_left;
	u8			rnr_left;
	bool			paced;
	u32			batch_packets;
	u32			psn;
	u32			done;
	struct hrtimer		timer;
	struct tasklet_struct	posted;
	u8			timeout;
	u8			retry_cnt;
	u8			rnr_retry;
	u8			max_rd_atomic;
	bool			sqd_notify;
	struct weft_pace	pace;
	struct weft_swqe	wqe;
	struct weft_sgl		sgl;
	struct weft_iter	iter;
	struct weft_odp		odp;
	struct weft_odp		placing;
};

/**
 * weft_send_is_busy - has some work request been begun and is not complete?
 * @send: any
 *
 * Return: true when one has.
 */
static inline bool weft_send_is_busy(const struct weft_send *send)
{
	return READ_ONCE(send->active) ||
	       READ_ONCE(send->inflight.head) != READ_ONCE(send->inflight.tail);
}

#endif /* WEFT_OBJECT_SEND_H */
