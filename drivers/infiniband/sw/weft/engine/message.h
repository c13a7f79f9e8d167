/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An inbound message at the responder: begin, data, end.
 *
 * The only code that takes a receive work request, resolves an rkey, runs an
 * atomic or completes a receive. Every link calls it, so that what a message
 * means does not depend on how it travels. Unless it says otherwise a function
 * needs the QP's receive turn.
 *
 * weft_message_begin() decides everything that can be refused; after it a
 * message may only end, pause, or fail in SEND_INV.
 *
 * When ODP memory is missing begin and resume return WEFT_FAULT_PAGES: nothing has
 * happened, the receive half will get WEFT_EV_RUN, and then the same is to be tried
 * again. When they find it, WEFT_ODP_CHUNK bytes of it may be moved before the next
 * weft_message_resume().
 */
#ifndef WEFT_ENGINE_MESSAGE_H
#define WEFT_ENGINE_MESSAGE_H

#include "engine/rules.h"
#include "mem/copy.h"
#include "object/qp.h"

/* Bytes a receiver of a datagram finds before the payload. */
#define WEFT_GRH_BYTES	40U
/* What all datagrams to a multicast group are sent to. */
#define WEFT_MCAST_QPN	0xffffff

/**
 * struct weft_request - what a requester asks of a responder
 * @opcode: enum weft_sqe_opcode; none that is executed without a peer
 * @solicited: the receiver shall be notified
 * @length: bytes of payload or read, without GRH
 * @ex: immediate data (network order) or rkey to invalidate
 * @rkey: remote key
 * @srqn: XRC: SRQ that serves the request
 * @remote_addr: remote address
 * @compare_add: operand of an atomic
 * @swap: operand of an atomic
 * @compare_add_mask: of a masked one
 * @swap_mask: of a masked one
 * @flush: FLUSH
 * @flush.length: bytes it is about, with WEFT_SELECT_RANGE
 * @flush.placement: enum weft_placement
 * @flush.selectivity: enum weft_selectivity
 * @grh: UD: 40 bytes put before the payload; NULL: it is no datagram, and what follows
 *	is not looked at
 * @src_qpn: UD: sender
 * @ip_csum_ok: UD: the checksums of IP and above have been verified
 * @has_grh: UD: they are a global route header
 * @slid: UD: source LID, on an InfiniBand port
 * @dlid: UD: destination LID, on an InfiniBand port
 * @path_bits: UD: lower bits of the destination LID
 * @pkey_index: UD: QP 1: where the P_Key is in the port's table
 * @vlan_id: UD: QP 1 of RoCE: of the destination address, WEFT_VLAN_NONE: it has none
 * @sl: UD: service level
 * @network_hdr_type: UD: enum rdma_network_type
 */
struct weft_request {
	u8		opcode;
	bool		solicited;
	u32		length;
	u32		ex;
	u32		rkey;
	u32		srqn;
	u64		remote_addr;
	union {
		struct {
			u64	compare_add;
			u64	swap;
			u64	compare_add_mask;
			u64	swap_mask;
		};
		struct {
			u32	length;
			u8	placement;
			u8	selectivity;
		} flush;
	};
	const void	*grh;
	u32		src_qpn;
	bool		ip_csum_ok;
	bool		has_grh;
	u16		slid;
	u16		dlid;
	u8		path_bits;
	u16		pkey_index;
	u16		vlan_id;
	u8		sl;
	u8		network_hdr_type;
};

/* The part of weft_message_enter() that is about XRC. */
enum weft_fault weft_message_enter_srq(struct weft_qp *qp, u32 srqn);

/* The same of weft_message_leave(). */
void weft_message_leave_srq(struct weft_qp *qp);

/**
 * weft_message_enter - an XRC target turns to the SRQ that a request names
 * @qp: any responder; nothing is done for one of another type
 * @srqn: its number
 *
 * Whose protection domain, receives and CQ serve the request (IBA A14). Before
 * weft_message_begin() or weft_message_resume(), and weft_message_leave() after
 * what follows. What is said of all functions here holds in between.
 *
 * Return: WEFT_FAULT_NONE; WEFT_FAULT_XRC_SRQ: there is no such SRQ in the
 * target's XRC domain; WEFT_FAULT_BAD_REQUEST: another one than at the beginning
 * of the message.
 */
static inline enum weft_fault weft_message_enter(struct weft_qp *qp, u32 srqn)
{
	weft_assert_turn(&qp->recv.turn);
	if (likely(qp->type != IB_QPT_XRC_TGT))
		return WEFT_FAULT_NONE;
	return weft_message_enter_srq(qp, srqn);
}

/**
 * weft_message_leave - end what weft_message_enter() has begun
 * @qp: any responder, whatever weft_message_enter() returned
 *
 * The memory of the message has been let go of.
 */
static inline void weft_message_leave(struct weft_qp *qp)
{
	weft_assert_turn(&qp->recv.turn);
	if (unlikely(qp->recv.name))
		weft_message_leave_srq(qp);
}

/**
 * weft_message_begin - accept or refuse a message
 * @qp: responder, in a state that receives, no message in progress
 * @req: the request
 *
 * Return: WEFT_FAULT_NONE, or why it is refused; then weft_message_refuse()
 * is due.
 */
enum weft_fault weft_message_begin(struct weft_qp *qp, const struct weft_request *req);

/**
 * weft_message_begin_immediate - take the receive of a WRITE that turns out to
 *	have immediate data
 * @qp: responder, WRITE paused
 *
 * Return: as weft_message_begin().
 */
enum weft_fault weft_message_begin_immediate(struct weft_qp *qp);

/**
 * weft_message_pause - let go of the memory, between two packets or for good
 * @qp: responder, SEND, WRITE, READ or FLUSH in progress
 *
 * A reference to memory is never kept while waiting for a peer. Whoever does
 * not resume has aborted the message: the receive work request stays with the
 * QP, for the next one or to be flushed.
 */
void weft_message_pause(struct weft_qp *qp);

/**
 * weft_message_resume - get hold of the memory again
 * @qp: responder, SEND, WRITE, READ or FLUSH paused
 * @req: the request; of all but a SEND @req->remote_addr, of a WRITE or READ
 *	@req->length, of a FLUSH its placement, of all @req->opcode and @req->rkey
 * @offset: bytes of the message that are done
 * @length: bytes that come now
 *
 * Return: as weft_message_begin(); paused still if there is a fault.
 */
enum weft_fault weft_message_resume(struct weft_qp *qp, const struct weft_request *req,
				    u64 offset, u32 length);

/**
 * weft_message_datagram - a datagram, from begin to end
 * @qp: UD QP
 * @req: the request
 * @qkey: Q_Key it carries
 * @src: payload
 *
 * Return: WEFT_FAULT_BAD_REQUEST: not for this QP in its state, or the Q_Key is
 * wrong; WEFT_FAULT_PAGES: not yet. All other faults have their consequences here, too,
 * but are not the link's concern.
 */
enum weft_fault weft_message_datagram(struct weft_qp *qp, const struct weft_request *req,
				      u32 qkey, struct weft_iter *src);

/**
 * weft_message_place - put payload where it belongs
 * @qp: responder, SEND or WRITE in progress
 * @src: payload
 * @length: bytes, not more than are left
 */
static inline void weft_message_place(struct weft_qp *qp, struct weft_iter *src, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(&qp->recv.iter, src, length);
}

/**
 * weft_message_fetch - get data that is being read
 * @qp: responder, READ in progress
 * @dst: where to
 * @length: bytes, not more than are left
 */
static inline void weft_message_fetch(struct weft_qp *qp, struct weft_iter *dst, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(dst, &qp->recv.iter, length);
}

/**
 * weft_message_atomic - execute an atomic
 * @qp: responder, atomic in progress
 * @req: the request
 *
 * Return: the value before.
 */
u64 weft_message_atomic(struct weft_qp *qp, const struct weft_request *req);

/**
 * weft_message_atomic_write - execute an ATOMIC WRITE
 * @qp: responder, ATOMIC WRITE in progress
 * @src: payload of eight bytes
 */
void weft_message_atomic_write(struct weft_qp *qp, struct weft_iter *src);

/**
 * weft_message_write_back - execute a FLUSH, or WEFT_COPY_CHUNK bytes of one
 * @qp: responder, FLUSH in progress
 * @req: the request
 *
 * What was written by messages before is seen by whoever looks; to persistence it
 * goes piece by piece.
 *
 * Return: bytes that are left, for another call.
 */
u64 weft_message_write_back(struct weft_qp *qp, const struct weft_request *req);

/**
 * weft_message_end - complete a message
 * @qp: responder
 * @req: the request
 *
 * Return: WEFT_FAULT_NONE; WEFT_FAULT_INVALIDATE: weft_message_refuse() is
 * due.
 */
enum weft_fault weft_message_end(struct weft_qp *qp, const struct weft_request *req);

/**
 * weft_message_refuse - consequences of a fault at the responder
 * @qp: responder
 * @fault: from weft_message_begin() or weft_message_end()
 *
 * Return: what the requester is told.
 */
const struct weft_verdict *weft_message_refuse(struct weft_qp *qp,
					       enum weft_fault fault);

/**
 * weft_message_flush - complete what is in the receive queue, as flushed
 * @qp: in ERR
 *
 * Context: process, may sleep.
 */
void weft_message_flush(struct weft_qp *qp);

#endif /* WEFT_ENGINE_MESSAGE_H */
