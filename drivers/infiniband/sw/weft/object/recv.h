/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder of a QP. */
#ifndef WEFT_OBJECT_RECV_H
#define WEFT_OBJECT_RECV_H

#include "mem/copy.h"
#include "object/backlog.h"
#include "object/tx.h"
#include "object/odp.h"
#include "object/turn.h"
#include "ring/sqe.h"

struct ib_pd;
struct weft_cq;
struct weft_qp;
struct weft_srq;
struct weft_xrc_name;

/**
 * enum weft_response_kind - what is still to be sent to the requester
 * @WEFT_RESPONSE_NOTHING: nothing
 * @WEFT_RESPONSE_ACK: an acknowledge, positive or negative
 * @WEFT_RESPONSE_ATOMIC: the answer to an atomic
 * @WEFT_RESPONSE_DONE: the answer to an ATOMIC WRITE or a FLUSH
 * @WEFT_RESPONSE_READ: data
 * @WEFT_RESPONSE_FLUSH: DONE, as soon as the FLUSH is done
 */
enum weft_response_kind {
	WEFT_RESPONSE_NOTHING,
	WEFT_RESPONSE_ACK,
	WEFT_RESPONSE_ATOMIC,
	WEFT_RESPONSE_DONE,
	WEFT_RESPONSE_READ,
	WEFT_RESPONSE_FLUSH,
};

/**
 * struct weft_replay_slot - the answer to a request (IBA 9.7.5.1.5, A19)
 * @psn: PSN of the request
 * @psns: PSNs of the responses; 0: not in use
 * @kind: WEFT_RESPONSE_READ, WEFT_RESPONSE_ATOMIC or WEFT_RESPONSE_DONE
 * @srqn: READ on XRC: SRQ that it names
 * @rkey: READ: key
 * @va: READ: first address
 * @length: READ: bytes
 * @value: atomic: value before
 */
struct weft_replay_slot {
	u32			psn;
	u32			psns;
	enum weft_response_kind	kind;
	u32			srqn;
	u32			rkey;
	u64			va;
	u32			length;
	u64			value;
};

/**
 * struct weft_response - the answer under way
 * @kind: what it is
 * @again: a repeated answer
 * @syndrome: of an ACK
 * @psn: of the next packet of the answer
 * @msn: messages complete when the request was executed
 * @value: atomic: value before; FLUSH: bytes left
 * @srqn: READ, FLUSH on XRC: SRQ that it names
 * @rkey: READ, FLUSH: key
 * @va: READ: first address; FLUSH: first address that is left
 * @length: READ: bytes
 * @done: READ: bytes sent
 */
struct weft_response {
	enum weft_response_kind	kind;
	bool			again;
	u8			syndrome;
	u32			psn;
	u32			msn;
	u64			value;
	u32			srqn;
	u32			rkey;
	u64			va;
	u32			length;
	u32			done;
};

/**
 * struct weft_progress - a message that arrives in several packets
 * @opcode: of the previous packet; WEFT_OPCODE_NONE: no message is in progress
 * @rkey: WRITE: key
 * @va: WRITE: first address
 * @length: WRITE: bytes
 * @done: bytes placed
 */
struct weft_progress {
	u8	opcode;
	u32	rkey;
	u64	va;
	u32	length;
	u32	done;
};

/**
 * struct weft_recv - the responder
 *
 * Only the owner of @turn writes it; modify_qp writes attributes with the turn stopped.
 *
 * @turn: the receive turn
 * @who: on whose behalf the peer accesses memory by its rkey; immutable, except for the protection
 *	domain of an XRC target, see @srq
 * @taker: on whose behalf receives are filled: @who, in the protection domain of @srq
 * @ring: receive queue; NULL with an SRQ and on XRC
 * @srq: where receives come from; NULL: from @ring. An XRC target has the SRQ that a request
 *	names while that is executed, otherwise NULL; the same goes for @cq, @who.pd and @taker.pd.
 * @cq: completions
 * @name: XRC target: holds @srq
 * @srqn: XRC target: number of the SRQ that the receive which is held came from
 * @tx: transmitter of its answers
 * @packets: requests to be processed
 * @progress: message that arrives in packets
 * @response: answer under way; no request is processed meanwhile
 * @replay: ring of answers for repeated requests, or NULL
 * @replay_slots: entries of @replay
 * @replay_next: the oldest entry
 * @nak_sent: the requester has been told to go back to @psn
 * @ack_due: an acknowledge of @ack_psn is due, but may wait for more to acknowledge
 * @unanswered: packets executed since the last answer
 * @softirq: number of the soft interrupt in which an acknowledge was last sent at once
 * @held: @wqe has been taken and is not complete
 * @malformed: @wqe is malformed
 * @comm_est: the first message in RTR has arrived
 * @last_wqe: LAST_WQE_REACHED has been raised
 * @psn: expected PSN
 * @ack_psn: PSN of the last executed packet that an acknowledge answers. An acknowledge with the
 *	PSN of a READ or atomic whose answer was lost would make the peer go back (IBA 9.7.5.2.5),
 *	and would make rdma_rxe complete the atomic.
 * @msn: messages completed, 24 bits
 * @done: bytes of a message that the local link has moved, if it moves ODP memory in chunks. It
 *	goes on there if @done of the sender's slot is the same.
 * @rnr_timer: attribute: encoded delay in an RNR NAK
 * @max_dest_rd_atomic: attribute
 * @wqe: private copy of the receive work request
 * @sgl: memory of a SEND, while a message is in progress
 * @span: memory of any other message, while it is in progress
 * @iter: position in @sgl or @span
 * @odp: ODP memory of a message
 * @waiter: QP whose requester waits for this responder, referenced, or NULL
 */
struct weft_recv {
	struct weft_turn	turn;
	struct weft_accessor	who;
	struct weft_accessor	taker;
	struct weft_ring	*ring;
	struct weft_srq		*srq;
	struct weft_cq		*cq;
	struct weft_xrc_name	*name;
	u32			srqn;
	struct weft_tx		tx;
	struct weft_backlog	packets;
	struct weft_progress	progress;
	struct weft_response	response;
	struct weft_replay_slot	*replay;
	u32			replay_slots;
	u32			replay_next;
	bool			nak_sent;
	bool			ack_due;
	u32			unanswered;
	u32			softirq;
	bool			held;
	bool			malformed;
	bool			comm_est;
	bool			last_wqe;
	u32			psn;
	u32			ack_psn;
	u32			msn;
	u32			done;
	u8			rnr_timer;
	u8			max_dest_rd_atomic;
	struct weft_iter	iter;
	struct weft_span	span;
	struct weft_rwqe	wqe;
	struct weft_sgl		sgl;
	struct weft_odp		odp;
	struct weft_qp		*waiter;
};

#endif /* WEFT_OBJECT_RECV_H */
