/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * An inbound message at the responder: begin, data, end.
 *
 * The only code that takes a receive work request, resolves an rkey, runs an
 * atomic or completes a receive. Every link calls it, so that what a message
 * means does not depend on how it travels. All of it needs the QP's receive turn.
 *
 * weft_message_begin() decides everything that can be refused; after it a
 * message may only end, pause, or fail in SEND_INV.
 *
 * When begin and resume return WEFT_LATER, ODP memory is missing. When they find it,
 * WEFT_ODP_CHUNK bytes of it may be moved before the next weft_message_resume().
 */
#ifndef WEFT_ENGINE_MESSAGE_H
#define WEFT_ENGINE_MESSAGE_H

#include "engine/opdef.h"
#include "mem/copy.h"
#include "object/qp.h"

/* Bytes a receiver of a datagram finds before the payload. */
#define WEFT_GRH_BYTES	40U
/* All datagrams to a multicast group are sent to this QP. */
#define WEFT_MCAST_QPN	0xffffff

/**
 * struct weft_request - what a requester asks of a responder
 * @op: the operation; none that is executed without a peer
 * @solicited: the receiver shall be notified
 * @length: bytes of payload or read, without GRH
 * @ex: immediate data (network order) or rkey to invalidate
 * @rkey: remote key
 * @srqn: XRC: SRQ that serves the request
 * @remote_addr: remote address
 * @compare_add: operand of an atomic
 * @swap: operand of an atomic
 * @compare_add_mask: operand of a masked atomic
 * @swap_mask: operand of a masked atomic
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
	const struct weft_opdef	*op;
	bool			solicited;
	u32			length;
	u32			ex;
	u32			rkey;
	u32			srqn;
	u64			remote_addr;
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
	const void		*grh;
	u32			src_qpn;
	bool			ip_csum_ok;
	bool			has_grh;
	u16			slid;
	u16			dlid;
	u8			path_bits;
	u16			pkey_index;
	u16			vlan_id;
	u8			sl;
	u8			network_hdr_type;
};

/* weft_message_enter() and weft_message_leave() of an XRC target. */
enum weft_fault weft_message_enter_srq(struct weft_qp *qp, u32 srqn);
void weft_message_leave_srq(struct weft_qp *qp);

/**
 * weft_message_enter - an XRC target turns to the SRQ that a request names
 * @qp: any responder; nothing is done for one of another type
 * @srqn: its number
 *
 * The SRQ's protection domain, receives and CQ serve the request (IBA A14). Goes before
 * weft_message_begin() or weft_message_resume(); weft_message_leave() comes when the memory of
 * the message has been let go of, whatever this returned.
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
 * Return: WEFT_DONE, WEFT_LATER, or WEFT_FAILED: weft_message_refuse() is due.
 */
struct weft_result weft_message_begin(struct weft_qp *qp, const struct weft_request *req);

/* A paused WRITE turns out to have immediate data: take a receive. */
enum weft_fault weft_message_begin_immediate(struct weft_qp *qp);

/**
 * weft_message_pause - let go of the memory, between two packets or for good
 * @qp: responder, SEND, WRITE, READ or FLUSH in progress
 *
 * A reference to memory is never kept while waiting for a peer. A message that is not
 * resumed is aborted: the receive work request stays with the
 * QP, for the next message or to be flushed.
 */
void weft_message_pause(struct weft_qp *qp);

/**
 * weft_message_resume - get hold of the memory again
 * @qp: responder, SEND, WRITE, READ or FLUSH paused
 * @req: the request; of all but a SEND @req->remote_addr, of a WRITE or READ
 *	@req->length, of a FLUSH its placement, of all @req->op and @req->rkey
 * @offset: bytes of the message that are done
 * @length: bytes that come now
 *
 * Return: as weft_message_begin(); paused still unless WEFT_DONE.
 */
struct weft_result weft_message_resume(struct weft_qp *qp, const struct weft_request *req,
				       u64 offset, u32 length);

/**
 * weft_message_datagram - a datagram, from begin to end
 * @qp: UD QP
 * @req: the request
 * @qkey: Q_Key it carries
 * @src: payload
 *
 * Return: WEFT_DONE; WEFT_DROP: not for this QP in its state, or the Q_Key is wrong;
 * WEFT_LATER. Other faults have their consequences here, and are WEFT_DONE for the link.
 */
struct weft_result weft_message_datagram(struct weft_qp *qp, const struct weft_request *req,
					 u32 qkey, struct weft_iter *src);

/* Put payload where it belongs: a SEND or WRITE is in progress, with so many bytes left. */
static inline void weft_message_place(struct weft_qp *qp, struct weft_iter *src, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(&qp->recv.iter, src, length);
}

/* Get data that is being read: a READ is in progress, with so many bytes left. */
static inline void weft_message_fetch(struct weft_qp *qp, struct weft_iter *dst, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(dst, &qp->recv.iter, length);
}

/* weft_opdef.begin */
struct weft_result weft_begin_word(struct weft_qp *qp, const struct weft_request *req);
struct weft_result weft_begin_flush(struct weft_qp *qp, const struct weft_request *req);

/* weft_opdef.execute */
u64 weft_execute_cmp_swp(struct weft_qp *qp, const struct weft_request *req,
			 struct weft_iter *io);
u64 weft_execute_fetch_add(struct weft_qp *qp, const struct weft_request *req,
			   struct weft_iter *io);
u64 weft_execute_masked_cmp_swp(struct weft_qp *qp, const struct weft_request *req,
				struct weft_iter *io);
u64 weft_execute_masked_fetch_add(struct weft_qp *qp, const struct weft_request *req,
				  struct weft_iter *io);
u64 weft_execute_atomic_write(struct weft_qp *qp, const struct weft_request *req,
			      struct weft_iter *io);
u64 weft_execute_flush(struct weft_qp *qp, const struct weft_request *req,
		       struct weft_iter *io);

/* Complete a message. Return: WEFT_FAULT_NONE, or weft_message_refuse() is due. */
enum weft_fault weft_message_end(struct weft_qp *qp, const struct weft_request *req);

/* The consequences of a fault at the responder. Return: what the requester is told. */
const struct weft_refusal *weft_message_refuse(struct weft_qp *qp, enum weft_fault fault);

/**
 * weft_message_flush - complete what is in the receive queue, as flushed
 * @qp: in ERR
 *
 * Context: process, may sleep.
 */
void weft_message_flush(struct weft_qp *qp);

#endif /* WEFT_ENGINE_MESSAGE_H */
