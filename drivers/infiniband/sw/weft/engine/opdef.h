/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The operations of a send queue, one row each. */
#ifndef WEFT_ENGINE_OPDEF_H
#define WEFT_ENGINE_OPDEF_H

#include "engine/verdict.h"
#include "object/recv.h"

struct weft_accessor;
struct weft_iter;
struct weft_opdef;
struct weft_pkt;
struct weft_qp;
struct weft_request;
struct weft_slot;
struct weft_swqe;
struct weft_tx_batch;

/* Properties of an operation. */
enum weft_opdef_flags {
	WEFT_OPF_LOCAL		= BIT(0),	/* the requester executes it without its peer */
	WEFT_OPF_SLEEPS		= BIT(1),	/* with LOCAL: the execution may sleep */
	/* it takes a receive work request of the responder */
	WEFT_OPF_RECEIVE	= BIT(2),
	WEFT_OPF_SEND		= BIT(3),	/* with RECEIVE: the payload goes to that receive */
	WEFT_OPF_INVALIDATE	= BIT(4),	/* it carries an rkey to invalidate */
	/*
	 * it moves any number of bytes between the requester's list and the responder's memory;
	 * without MOVE, weft_opdef.execute does the work
	 */
	WEFT_OPF_MOVE		= BIT(5),
	WEFT_OPF_PIECES		= BIT(6),	/* weft_opdef.execute may need several calls */
	WEFT_OPF_FETCH		= BIT(7),	/* data come back to the requester's list */
	WEFT_OPF_KERNEL		= BIT(8),	/* only for RC QPs of kernel consumers */
	/* its packets have opcodes that IBA leaves to manufacturers */
	WEFT_OPF_OWN		= BIT(9),
};

/**
 * struct weft_opdef - an operation
 * @flags: enum weft_opdef_flags
 * @services: bit per enum weft_service that has it (IBA table 82, 10.8.2, A19)
 * @response: enum weft_response_kind of the answer, which the responder keeps in a replay slot;
 *	0: an acknowledge is enough
 * @first: enum weft_operation of the first of several packets
 * @middle: of the packets between
 * @last: of the last one
 * @only: of the packet of a message that has one
 * @create_flag: flag that the QP must be created with
 * @access: IB_ACCESS_REMOTE_x that the responder's QP and region must grant
 * @min_length: least bytes of a message
 * @max_length: most bytes of a message
 * @wc_opcode: enum ib_wc_opcode of the requester's completion
 * @recv_opcode: of the responder's completion, with WEFT_OPF_RECEIVE
 * @recv_flags: enum weft_wc_flags of that completion
 * @counted: enum weft_counted of the requester's completion
 * @counted_remote: of the responder, which counts successes
 * @rcvd_stat: enum weft_stat that counts the operation at the responder; 0: none
 * @build: fill in the headers of a request that has a response; @packets: responses it asks for
 * @begin: the responder checks a request and resolves its memory; NULL: @access and the length of
 *	the request say all
 * @execute: the responder executes the operation, with an iterator at the payload, or at the
 *	memory that data are returned to. Returns the bytes that are left for another call.
 * @respond: the responder executes a request that came as one packet
 * @local: the requester executes the operation, with WEFT_OPF_LOCAL
 */
struct weft_opdef {
	u16	flags;
	u8	services;
	u8	response;
	u8	first;
	u8	middle;
	u8	last;
	u8	only;
	u32	create_flag;
	u32	access;
	u32	min_length;
	u32	max_length;
	u8	wc_opcode;
	u8	recv_opcode;
	u8	recv_flags;
	u8	rcvd_stat;
	u8	counted;
	u8	counted_remote;
	void (*build)(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch);
	struct weft_result (*begin)(struct weft_qp *qp, const struct weft_request *req);
	u64 (*execute)(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io);
	struct weft_result (*respond)(struct weft_qp *qp, const struct weft_pkt *pkt);
	int (*local)(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);
};

extern const struct weft_opdef weft_opdefs[];

/* @opcode: enum weft_sqe_opcode, or WEFT_SQE_OPCODES: an empty row, no operation */
static __always_inline const struct weft_opdef *weft_opdef(u8 opcode)
{
	return &weft_opdefs[opcode];
}

/* Does the peer answer with more than an acknowledge, and keep the answer in a replay slot? */
static __always_inline bool weft_opdef_responds(const struct weft_opdef *op)
{
	return op->response;
}

static __always_inline bool weft_opdef_length_valid(const struct weft_opdef *op, u64 length)
{
	return length >= op->min_length && length <= op->max_length;
}

/* Returned data go to the list of a work request, so it must have one. */
static __always_inline bool weft_opdef_may_inline(const struct weft_opdef *op)
{
	return !(op->flags & WEFT_OPF_FETCH);
}

/* The right that a work request needs to the memory of its own list. */
static __always_inline u32 weft_opdef_local_access(const struct weft_opdef *op)
{
	return op->flags & WEFT_OPF_FETCH ? IB_ACCESS_LOCAL_WRITE : 0;
}

bool weft_opdef_allowed(enum ib_qp_type type, bool kernel, u32 create_flags, u32 opcode);

#endif /* WEFT_ENGINE_OPDEF_H */
