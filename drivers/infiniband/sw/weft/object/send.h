/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester of a QP. */
#ifndef WEFT_OBJECT_SEND_H
#define WEFT_OBJECT_SEND_H

#include <linux/bitmap.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>

#include "mem/copy.h"
#include "object/backlog.h"
#include "object/cc.h"
#include "object/early.h"
#include "object/odp.h"
#include "object/turn.h"
#include "object/tx.h"
#include "ring/sqe.h"
#include "wire/headers.h"

struct weft_latency;
struct weft_opdef;

/*
 * An inflight request. The requester copies a work request out of the ring into a slot, once; the
 * slot holds it until its completion.
 */
struct weft_slot {
	const struct weft_opdef	*op;
	u32			length;		/* of the message, once @psns is set */
	u32			first_psn;	/* of the first request packet */
	/* send sequence number, see struct weft_inflight; of a READ in parts, that of the last */
	u32			ssn;
	/* PSNs it takes (a READ: those of its responses); 0: not begun, or a local operation */
	u32			psns;
	/* weft_inflight.taking in front of it */
	u32			taking;
	/*
	 * local link: bytes it has moved, if it moves ODP memory in chunks (see @done of the peer's
	 * struct weft_recv); LSO: bytes that have been sent
	 */
	u32			done;
	/* a local operation, which is not repeated when packets before it are sent again */
	bool			executed;
	/* enum ib_wc_status of @fault if an injection rule says so; 0: that of @fault */
	u8			status;
	u8			fault;		/* the request fails after those before it */
	bool			late;		/* an injection rule says so of its completion */
	u32			rule;		/* number of the injection rule, with @status */
	u32			sum;		/* strict mode: checksum of its memory */
	/* the weft_strict.generation in which @sum was made; 0: it was not */
	u32			sum_of;
	struct weft_swqe	wqe;		/* the work request; its list is behind the slot */
};

enum weft_repair_state {
	WEFT_REPAIR_NONE,
	WEFT_REPAIR_WANTED,	/* packets are still to be sent; nothing else is sent before them */
	WEFT_REPAIR_SENT,	/* the answer is awaited */
};

/* The state of packets by the peer's gap maps; the bit of one is its PSN % WEFT_MAP_PACKETS. */
struct weft_gaps {
	u32	num;		/* packets that the peer keeps, from una on */
	u32	lost;		/* packets before this PSN that it does not keep are lost */
	DECLARE_BITMAP(kept, WEFT_MAP_PACKETS);
	DECLARE_BITMAP(again, WEFT_MAP_PACKETS);	/* sent again, and not answered since */
	/* those of @again that were sent before the others and before the new ones from @mark on */
	DECLARE_BITMAP(older, WEFT_MAP_PACKETS);
	u32	mark;
};

/* The repair of lost packets, see engine/repair.c. */
struct weft_repair {
	u8	state;		/* enum weft_repair_state */
	u8	again;		/* how often it has been sent early, because no answer came */
	/* the peer keeps no packets that overtake others: all of them are sent again */
	bool	goes_back;
	bool	named;		/* the peer has named the packet by a NAK */
	u32	psn;		/* of the lost packet, or of the first of several */
	u32	end;		/* one after the last packet that is sent */
	u32	last;		/* that packet; of a READ the one that asks */
	u32	next;		/* weft_inflight.next before the repair */
	u32	cur;		/* weft_inflight.cur before the repair */
	struct weft_gaps *gaps;	/* NULL: the peer has sent no gap map; else valid in a repair */
};

/*
 * The inflight requests of a QP, a ring of slots.
 *
 * PSNs: @una <= @next <= @sent <= weft_send.psn. Indexes count up for ever (modulo 2^32): @head <=
 * @cur <= @tail.
 */
struct weft_inflight {
	void			*slots;		/* the slots: @first until the QP sends packets */
	void			*first;		/* one slot in the QP's own memory */
	u32			stride;		/* bytes of a slot with its list */
	u32			mask;		/* number of slots minus one */
	u32			head;		/* the oldest request */
	/* the request that is being executed; @tail: all have been */
	u32			cur;
	u32			tail;		/* one after the youngest request */
	u32			una;		/* oldest PSN without an answer */
	u32			next;		/* PSN to be sent next, in the request at @cur */
	u32			sent;		/* one after the highest PSN that was ever sent */
	/* request packets sent before @next that have a response, which is not complete */
	u32			reads;
	u32			epoch;		/* how often the indexes have begun at 0 */
	/* requests taken since RESET, 24 bits (IBA: send sequence number) */
	u32			ssn;
	/*
	 * WEFT_QP_PACKET_CREDITS: what requests have taken of the peer's receives since RESET, 24
	 * bits: each packet of a SEND, and each WRITE with immediate
	 */
	u32			taking;
	bool			ackreq;		/* the last packet asks for an answer */
	/* the highest @ssn (or with that flag @taking) that the peer has a receive for */
	u32			limit;
	bool			limited;	/* @limit is known */
	/* packets are being sent again, and no answer has come since */
	bool			retried;
	/* missing responses before this PSN have been asked for at least once */
	u32			asked;
	/* the latest ask that counts was for those before @asked_end, when @sent was @asked_next */
	u32			asked_end;
	u32			asked_next;
	ktime_t			asked_at;	/* when, or when something came since */
	u8			asked_again;	/* more asks since then */
	/*
	 * the answer to a probe is awaited, which has asked for responses before @probed at
	 * @probed_at; the next new PSN was @probed_next
	 */
	bool			probing;
	u32			probed;
	u32			probed_next;
	ktime_t			probed_at;
	/* the peer is a weft, which answers requests for parts of a READ in any order */
	bool			parts;
	struct weft_repair	repair;
};

/* How many request packets may be unanswered, see engine/window.c. */
struct weft_window {
	u32	packets;
	u32	ack_packets;	/* after so many an acknowledge is asked for; a power of two */
	u32	shortest;	/* recent round trip in ns; 0: none has been measured */
	u32	base;		/* the shortest one on this path */
	bool	full;		/* it has kept a request waiting since the last measurement */
	bool	reduced;	/* @recovered is valid */
	u32	recovered;	/* when this PSN is answered the last loss is over */
	u32	arrived;	/* what arrives from @since on is counted from this PSN */
	ktime_t	since;		/* the last loss, the first packet after a pause, or 1 s ago */
};

/* The ack timeout, RNR delays, and retries. */
struct weft_retry {
	struct hrtimer		timer;		/* posts WEFT_EV_TIMER */
	/* when the ack timeout ends; the timer may expire earlier, and is started again */
	ktime_t			deadline;
	ktime_t			silent;		/* since when there has been no answer */
	/* since when a probe is waited for: the last answer, try or probe */
	ktime_t			quiet;
	bool			rnr_wait;	/* nothing is sent before the timer expires */
	/* transport retries left; @cnt again after each progress */
	u8			left;
	/* RNR retries left; @rnr_cnt again after each progress */
	u8			rnr_left;
	u8			timeout;	/* attribute: 4.096 us * 2^n; 0: for ever */
	u8			cnt;
	u8			rnr_cnt;	/* attribute; 7: for ever */
	u32			retries;	/* since the QP was made */
	u32			rnr_retries;	/* likewise */
	bool			measuring;	/* @sample_at and @sample_psn are valid */
	u32			sample_psn;	/* its packet was not sent before @sample_at */
	ktime_t			sample_at;
	u32			round_trip;	/* smoothed, in ns; 0: not known */
	ktime_t			repair_due;	/* when a repair without an answer is repeated */
	u8			backoff;	/* the wait for a probe has doubled as often */
};

/*
 * A limit of the rate: the attribute (ibv_modify_qp_rate_limit(3)), or less because of congestion.
 */
struct weft_pace {
	u32			set;	/* the attribute in kbit/s; 0: none */
	u32			set_burst;	/* its burst in bytes; 0: the default */
	u32			rate;	/* the limit, kbit/s of payload; 0: none */
	u64			burst;	/* ns that @due may be ahead */
	/* the time at which, at exactly @rate, all that has been sent would have left */
	ktime_t			due;
	bool			begins;	/* the limit is new; what has been sent does not count */
	struct hrtimer		timer;	/* runs until @due while nothing may be sent */
};

/*
 * The requester.
 *
 * Only the owner of @turn writes it; modify_qp writes attributes with the turn stopped.
 */
struct weft_send {
	struct weft_turn	turn;		/* the send turn */
	struct weft_accessor	who;		/* on whose behalf memory is accessed; immutable */
	/* bit per enum weft_sqe_opcode that it may execute; immutable */
	u32			opcodes;
	struct weft_ring	*ring;		/* send queue */
	struct weft_tx		tx;		/* transmitter of its request packets */
	struct weft_backlog	packets;	/* responses to be processed */
	struct weft_inflight	inflight;	/* work requests that have been taken */
	/* of their completions; NULL: they go elsewhere (weft_inflight_push_elsewhere()) */
	struct weft_cq		*cq;
	struct weft_retry	retry;		/* timer and retry counters */
	struct weft_window	window;		/* request packets that may be unanswered */
	/* local link: number of the peer's path, if this QP's path leads there; else 0 */
	u64			met;
	bool			doorbell_armed;	/* the client has been asked to ring */
	bool			drained;	/* SQD: the drain has been reported */
	bool			paced;		/* @pace limits the rate, or delays a request */
	bool			sqd_notify;	/* attribute: raise SQ_DRAINED */
	bool			pipelines;	/* WEFT_QP_SIG_PIPELINING; immutable */
	bool			unsound;	/* @pipelines: a signature was wrong */
	bool			stopped;	/* because of that, and has not drained yet */
	u8			max_rd_atomic;
	u32			batch_packets;	/* most packets in a tx batch */
	u32			psn;		/* of the next request */
	/* runs the requester for a kernel consumer that has posted with interrupts disabled */
	struct tasklet_struct	posted;
	struct weft_pace	pace;		/* limit of the rate */
	struct weft_cc		cc;		/* its part that congestion control sets */
	struct weft_sgl		sgl;		/* memory of a request while it is being executed */
	struct weft_odp		odp;		/* ODP memory of the request that is being sent */
	struct weft_odp		placing;	/* ODP memory that a response goes to */
	struct weft_early	early;		/* responses that have overtaken others */
	struct weft_late	*late;		/* completions that wait; NULL: none ever did */
	struct weft_latency	*latency;	/* NULL: has never been measured */
};

/* Is there an inflight request? Needs no turn. */
static inline bool weft_send_is_busy(const struct weft_send *send)
{
	return READ_ONCE(send->inflight.head) != READ_ONCE(send->inflight.tail);
}

#endif /* WEFT_OBJECT_SEND_H */
