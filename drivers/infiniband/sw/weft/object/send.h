/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The requester of a QP.
 */
#ifndef WEFT_OBJECT_SEND_H
#define WEFT_OBJECT_SEND_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include "mem/copy.h"
#include "object/backlog.h"
#include "object/odp.h"
#include "object/turn.h"
#include "object/tx.h"
#include "ring/sqe.h"

struct weft_opdef;

/**
 * struct weft_slot - an inflight request
 *
 * The requester copies a work request out of the ring into a slot, once; the slot holds it
 * until its completion.
 *
 * @op: its operation
 * @length: bytes of the message, once @psns is set
 * @first_psn: PSN of the first request packet
 * @psns: PSNs it takes, of a READ those of the responses; 0: it has not been begun, or its
 *	operation is a local one
 * @ssn: requests up to this one, as @limit of struct weft_inflight counts them
 * @done: bytes of it that the local link has moved, if it moves ODP memory in chunks (see the
 *	same member of the peer's responder); bytes of an LSO that have left
 * @fault: enum weft_fault: it fails when those before it are complete
 * @executed: a local operation that has been; to send again does not repeat it
 * @wqe: the work request; its list is behind the slot
 */
struct weft_slot {
	const struct weft_opdef	*op;
	u32			length;
	u32			first_psn;
	u32			psns;
	u32			ssn;
	u32			done;
	u8			fault;
	bool			executed;
	struct weft_swqe	wqe;
};

/**
 * struct weft_inflight - work requests that have been taken and are not complete
 *
 * PSNs: @una <= @next <= @sent <= weft_send.psn. Indexes count up for ever:
 * @head <= @cur <= @tail.
 *
 * @slots: memory; until packets are to be sent it is @first
 * @first: one slot, which is part of the QP's memory
 * @stride: bytes of a slot and its list
 * @mask: number of slots minus one
 * @head: the oldest request
 * @cur: the request that is being executed; @tail: all have been
 * @tail: one after the youngest request
 * @una: oldest PSN without an answer
 * @next: PSN to be sent next, in @cur
 * @sent: one after the last PSN that ever was sent
 * @reads: requests sent before @next that have a response, and have not had all of it
 * @ssn: requests taken since RESET, 24 bits (IBA: send sequence number)
 * @limit: the last of them that the peer has a receive for
 * @limited: @limit is known
 * @retried: what is being sent is sent again; no progress since
 */
struct weft_inflight {
	void			*slots;
	void			*first;
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
};

/**
 * struct weft_retry - the ack timeout, RNR delays, and what retries are left
 *
 * @timer: posts WEFT_EV_TIMER
 * @deadline: when the ack timeout ends; the timer may expire before, and is started again
 * @rnr_wait: nothing is sent before the timer expires
 * @left: transport retries left; @cnt again when the peer has answered
 * @rnr_left: likewise of RNR retries
 * @timeout: attribute: 4.096 us * 2^n, 0: for ever
 * @cnt: attribute
 * @rnr_cnt: attribute, 7: for ever
 */
struct weft_retry {
	struct hrtimer		timer;
	ktime_t			deadline;
	bool			rnr_wait;
	u8			left;
	u8			rnr_left;
	u8			timeout;
	u8			cnt;
	u8			rnr_cnt;
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
 * struct weft_send - the requester
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
 * @inflight: work requests that have been taken
 * @retry: timers and retry counters
 * @doorbell_armed: the client has been asked to ring
 * @drained: SQD: the drain has been reported
 * @paced: @pace limits the rate
 * @sqd_notify: attribute: raise SQ_DRAINED
 * @max_rd_atomic: attribute
 * @batch_packets: that are sent at a time
 * @psn: of the next request
 * @posted: takes the turn, for a kernel consumer that has posted with interrupts disabled
 * @pace: limit of the rate
 * @sgl: memory of a request, only while it is being executed
 * @odp: ODP memory of what is being sent
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
	struct weft_retry	retry;
	bool			doorbell_armed;
	bool			drained;
	bool			paced;
	bool			sqd_notify;
	u8			max_rd_atomic;
	u32			batch_packets;
	u32			psn;
	struct tasklet_struct	posted;
	struct weft_pace	pace;
	struct weft_sgl		sgl;
	struct weft_odp		odp;
	struct weft_odp		placing;
};

/* Has a work request been taken that is not complete? Anybody may ask. */
static inline bool weft_send_is_busy(const struct weft_send *send)
{
	return READ_ONCE(send->inflight.head) != READ_ONCE(send->inflight.tail);
}

#endif /* WEFT_OBJECT_SEND_H */
