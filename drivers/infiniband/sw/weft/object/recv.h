/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder of a QP. */
#ifndef WEFT_OBJECT_RECV_H
#define WEFT_OBJECT_RECV_H

#include <linux/hrtimer.h>

#include "mem/copy.h"
#include "object/backlog.h"
#include "object/early.h"
#include "object/tx.h"
#include "object/odp.h"
#include "object/turn.h"
#include "ring/sqe.h"

struct ib_pd;
struct weft_cq;
struct weft_qp;
struct weft_srq;
struct weft_tagged;
struct weft_xrc_name;

/* The response that is still to be sent to the requester. */
enum weft_response_kind {
	WEFT_RESPONSE_NOTHING,
	WEFT_RESPONSE_ACK,	/* an acknowledge, positive or negative */
	WEFT_RESPONSE_ATOMIC,	/* the answer to an atomic */
	WEFT_RESPONSE_DONE,	/* the answer to an ATOMIC WRITE or a FLUSH */
	WEFT_RESPONSE_READ,
	WEFT_RESPONSE_FLUSH,	/* DONE, as soon as the FLUSH is done */
};

/* The answer to a request (IBA 9.7.5.1.5, A19). */
struct weft_replay_slot {
	u32			psn;	/* PSN of the request */
	u32			psns;	/* PSNs of the responses; 0: not in use */
	/* WEFT_RESPONSE_READ, WEFT_RESPONSE_ATOMIC or WEFT_RESPONSE_DONE */
	enum weft_response_kind	kind;
	u32			srqn;	/* READ on XRC: SRQ that it names */
	u32			rkey;	/* READ: key */
	u64			va;	/* READ: first address */
	u32			length;	/* READ: bytes */
	u64			value;	/* atomic: value before */
};

/* The answer under way. */
struct weft_response {
	enum weft_response_kind	kind;
	bool			again;		/* a repeated answer */
	bool			map;		/* ACK: a gap map */
	u8			syndrome;	/* of an ACK */
	u32			psn;		/* of the next packet of the answer */
	/* messages complete when the request was executed */
	u32			msn;
	u64			value;		/* atomic: value before; FLUSH: bytes left */
	u32			srqn;		/* READ, FLUSH on XRC: SRQ that it names */
	u32			rkey;		/* READ, FLUSH: key */
	/* READ: first address; FLUSH: first address that is left */
	u64			va;
	u32			length;		/* READ: bytes */
	u32			done;		/* READ: bytes sent */
};

/* A message that arrives in several packets. */
struct weft_progress {
	u8	opcode;	/* of the previous packet; WEFT_OPCODE_NONE: no message is in progress */
	bool	dropped; /* UC: a message was dropped, and the rest of it may come */
	u32	rkey;	/* WRITE: key */
	u64	va;	/* WRITE: first address */
	u32	length;	/* WRITE: bytes */
	u32	done;	/* bytes placed */
};

/*
 * The last refusal of the responder: the access that was to be made, and the reason (enum
 * weft_fault: that of the rules, and the one in detail; 0: there was no refusal).
 */
struct weft_refused {
	u64	addr;
	u64	length;		/* also that of a message without an rkey */
	u32	key;
	u32	access;
	u32	src_qpn;	/* of a datagram */
	u8	rule;
	u8	detail;
};

/* The end that an injection rule gives the receive that is held, with WEFT_FAULT_INJECTED. */
struct weft_injected {
	u8	status;		/* enum ib_wc_status */
	u8	fault;		/* enum weft_fault */
	u32	rule;		/* its number */
};

/*
 * Does the process send a message soon after each one that it receives? See engine/piggyback.c. The
 * owner of the receive turn writes what the comments do not say that others write.
 */
struct weft_piggyback {
	/* 1: some have taken receives since a packet left; the owner of the send turn clears it */
	u8		messages;
	u8		pairs;		/* of one message and a packet that left; of both turns */
	u8		needed;		/* so many make the next acknowledge wait; of both turns */
	bool		fresh;		/* the packet that was executed last took a receive */
	bool		waits;		/* the acknowledge that is due waits */
	bool		old;		/* it has waited for a whole period; the timer sets it */
	struct hrtimer	timer;		/* runs while acknowledges wait, and one period longer */
};

/*
 * The responder.
 *
 * Only the owner of @turn writes it; modify_qp writes attributes with the turn stopped.
 */
struct weft_recv {
	struct weft_turn	turn;			/* the receive turn */
	/*
	 * on whose behalf the peer accesses memory by its rkey; immutable, except for the
	 * protection domain of an XRC target, see @srq
	 */
	struct weft_accessor	who;
	/* on whose behalf receives are filled: @who, in the protection domain of @srq */
	struct weft_accessor	taker;
	/* receive queue; NULL with an SRQ and on XRC */
	struct weft_ring	*ring;
	/*
	 * where receives come from; NULL: from @ring. An XRC target has the SRQ that a request
	 * names while that is executed, otherwise NULL; the same goes for @cq, @who.pd and
	 * @taker.pd.
	 */
	struct weft_srq		*srq;
	struct weft_cq		*cq;
	/* the message that arrives, if @srq has tags; else NULL; immutable */
	struct weft_tagged	*tagged;
	struct weft_xrc_name	*name;			/* XRC target: holds @srq */
	/* XRC target: number of the SRQ that the receive which is held came from */
	u32			srqn;
	struct weft_tx		tx;			/* transmitter of its answers */
	struct weft_backlog	packets;		/* requests to be processed */
	struct weft_progress	progress;		/* message that arrives in packets */
	/* answer under way; no request is processed meanwhile */
	struct weft_response	response;
	/* ring of answers for repeated requests, or NULL */
	struct weft_replay_slot	*replay;
	u32			replay_slots;		/* entries of @replay */
	u32			replay_next;		/* the oldest entry */
	/* the requester has been told to go back to @psn */
	bool			nak_sent;
	/* an acknowledge of @ack_psn is due, but may wait for more to acknowledge */
	bool			ack_due;
	u32			unanswered;		/* packets executed since the last answer */
	struct weft_piggyback	piggyback;
	/* number of the soft interrupt in which an acknowledge was last sent at once */
	u32			softirq;
	/* @wqe has been taken and is not complete */
	bool			held;
	bool			malformed;		/* @wqe is malformed */
	bool			comm_est;		/* the first message in RTR has arrived */
	bool			last_wqe;		/* LAST_WQE_REACHED has been raised */
	u32			psn;			/* expected PSN */
	/*
	 * PSN of the last executed packet that an acknowledge answers. An acknowledge with the PSN
	 * of a READ or atomic whose answer was lost would make the peer go back (IBA 9.7.5.2.5),
	 * and would make rdma_rxe complete the atomic.
	 */
	u32			ack_psn;
	u32			msn;			/* messages completed, 24 bits */
	/*
	 * bytes of a message that the local link has moved, if it moves ODP memory in chunks. It
	 * goes on there if @done of the sender's slot is the same.
	 */
	u32			done;
	u8			rnr_timer;		/* attribute: encoded delay in an RNR NAK */
	u8			max_dest_rd_atomic;
	struct weft_iter	iter;			/* position in @sgl or @span */
	/* memory of any other message, while it is in progress */
	struct weft_span	span;
	/* private copy of the receive work request */
	struct weft_rwqe	wqe;
	/* memory of a SEND, while a message is in progress */
	struct weft_sgl		sgl;
	struct weft_odp		odp;			/* ODP memory of a message */
	/* QP whose requester waits for this responder, referenced, or NULL */
	struct weft_qp		*waiter;
	/* a NAK has asked for the packet that closed the last gap: the next gap is as old */
	bool			nak_again;
	bool			maps;		/* the requester understands gap maps */
	struct weft_early	early;		/* requests that have overtaken others */
	struct weft_refused	refused;
	struct weft_injected	injected;
};

#endif /* WEFT_OBJECT_RECV_H */
