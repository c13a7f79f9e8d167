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
 * @length: bytes of the message, valid once @psns is set
 * @first_psn: PSN of the first request packet
 * @psns: PSNs it takes (a READ: those of its responses); 0: it has not begun, or is a local
 *	operation
 * @ssn: its send sequence number, see struct weft_inflight; of a READ in parts, that of the last
 * @done: local link: bytes it has moved, if it moves ODP memory in chunks (see @done of the peer's
 *	struct weft_recv); LSO: bytes that have been sent
 * @fault: enum weft_fault: it fails when the requests before it are complete
 * @executed: this local operation has been executed; it is not repeated when packets before it are
 *	sent again
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
 * struct weft_inflight - the inflight requests of a QP, a ring of slots
 *
 * PSNs: @una <= @next <= @sent <= weft_send.psn. Indexes count up for ever (modulo 2^32):
 * @head <= @cur <= @tail.
 *
 * @slots: the slots: @first until the QP sends packets
 * @first: one slot in the QP's own memory
 * @stride: bytes of a slot with its list
 * @mask: number of slots minus one
 * @head: the oldest request
 * @cur: the request that is being executed; @tail: all have been
 * @tail: one after the youngest request
 * @una: oldest PSN without an answer
 * @next: PSN to be sent next, in the request at @cur
 * @sent: one after the highest PSN that was ever sent
 * @reads: request packets sent before @next that have a response, which is not complete
 * @ssn: requests taken since RESET, 24 bits (IBA: send sequence number)
 * @limit: the highest @ssn that the peer has a receive for
 * @limited: @limit is known
 * @retried: packets are being sent again, and no answer has come since
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
 * struct weft_retry - the ack timeout, RNR delays, and retries
 *
 * @timer: posts WEFT_EV_TIMER
 * @deadline: when the ack timeout ends; the timer may expire earlier, and is started again
 * @rnr_wait: nothing is sent before the timer expires
 * @left: transport retries left; @cnt again after each progress
 * @rnr_left: RNR retries left; @rnr_cnt again after each progress
 * @timeout: attribute: 4.096 us * 2^n; 0: for ever
 * @cnt: attribute
 * @rnr_cnt: attribute; 7: for ever
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
 * @rate: kbit/s of payload; 0: no limit
 * @burst: ns that @due may be ahead
 * @due: when all that has been sent would have been sent at @rate
 * @timer: runs until @due while nothing may be sent
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
 * Only the owner of @turn writes it; modify_qp writes attributes with the turn stopped.
 *
 * @turn: the send turn
 * @who: on whose behalf memory is accessed; immutable
 * @opcodes: bit per enum weft_sqe_opcode that it may execute; immutable
 * @ring: send queue
 * @tx: transmitter of its request packets
 * @packets: responses to be processed
 * @inflight: work requests that have been taken
 * @retry: timer and retry counters
 * @doorbell_armed: the client has been asked to ring
 * @drained: SQD: the drain has been reported
 * @paced: @pace limits the rate
 * @sqd_notify: attribute: raise SQ_DRAINED
 * @max_rd_atomic: attribute
 * @batch_packets: most packets in a tx batch
 * @psn: of the next request
 * @posted: runs the requester for a kernel consumer that has posted with interrupts disabled
 * @pace: limit of the rate
 * @sgl: memory of a request while it is being executed
 * @odp: ODP memory of the request that is being sent
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

/* Is there an inflight request? Needs no turn. */
static inline bool weft_send_is_busy(const struct weft_send *send)
{
	return READ_ONCE(send->inflight.head) != READ_ONCE(send->inflight.tail);
}

#endif /* WEFT_OBJECT_SEND_H */
