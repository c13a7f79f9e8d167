/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An inbound message at the responder: begin, data, end. */
#ifndef WEFT_ENGINE_MESSAGE_H
#define WEFT_ENGINE_MESSAGE_H

#include "engine/opdef.h"
#include "mem/copy.h"
#include "object/qp.h"

/* Bytes in front of the payload of a received datagram. */
#define WEFT_GRH_BYTES	40U
/* The destination QP of datagrams to a multicast group. */
#define WEFT_MCAST_QPN	0xffffff

/* A request, as the responder executes it. */
struct weft_request {
	const struct weft_opdef	*op;			/* the operation; never a local one */
	bool			solicited;		/* raise a solicited event */
	/* bytes of payload or of a READ, without GRH */
	u32			length;
	/* immediate data (network order) or rkey to invalidate */
	u32			ex;
	u32			rkey;
	u32			srqn;			/* XRC: SRQ that serves the request */
	u64			remote_addr;
	union {
		struct {
			u64	compare_add;		/* operand of an atomic */
			u64	swap;			/* operand of an atomic */
			u64	compare_add_mask;	/* operand of a masked atomic */
			u64	swap_mask;		/* operand of a masked atomic */
		};
		struct {
			u32	length;			/* bytes to flush, with WEFT_SELECT_RANGE */
			u8	placement;		/* enum weft_placement */
			u8	selectivity;		/* enum weft_selectivity */
		} flush;				/* FLUSH */
	};
	/*
	 * UD: 40 bytes put in front of the payload; NULL: no datagram, and the members below are
	 * not valid
	 */
	const void		*grh;
	u32			src_qpn;	/* UD; DC, also without @grh */
	/* the checksums of IP and TCP or UDP have been verified */
	bool			ip_csum_ok;
	bool			has_grh;		/* @grh is a global route header */
	u16			slid;			/* source LID, on an InfiniBand port */
	u16			dlid;			/* destination LID, on an InfiniBand port */
	u8			path_bits;		/* lower bits of the destination LID */
	/* QP 1: index of the P_Key in the port's table */
	u16			pkey_index;
	/* QP 1 of RoCE: VLAN of the destination address, or WEFT_VLAN_NONE */
	u16			vlan_id;
	u8			sl;
	u8			network_hdr_type;	/* enum rdma_network_type */
};

/* An Ethernet frame for a RAW_PACKET QP. */
struct weft_frame_in {
	u32	length;
	u32	tag;		/* of the rule that matched */
	u16	cvlan;		/* the tag of a VLAN that has been taken out, or 0 */
	bool	ip_csum_ok;	/* as in struct weft_request */
};

/* Called by weft_message_enter() and weft_message_leave(), for XRC targets. */
enum weft_fault weft_message_enter_srq(struct weft_qp *qp, u32 srqn);
void weft_message_leave_srq(struct weft_qp *qp);

/*
 * Bind an XRC target to the SRQ with number @srqn, which a request names; other responders are not
 * bound. The SRQ's protection domain, receives and CQ then serve the request (IBA A14). Call this
 * before weft_message_begin() or weft_message_resume(), and weft_message_leave() (whatever this
 * returned) after the memory of the message has been released. WEFT_FAULT_XRC_SRQ: the target's XRC
 * domain has no such SRQ. WEFT_FAULT_BAD_REQUEST: the message has begun with another SRQ; the
 * target is bound to neither.
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

struct weft_result weft_message_begin(struct weft_qp *qp, const struct weft_request *req);
enum weft_fault weft_message_begin_immediate(struct weft_qp *qp);
void weft_message_pause(struct weft_qp *qp);
void weft_message_look(struct weft_qp *qp, const struct weft_request *req,
		       const struct weft_iter *src);
struct weft_result weft_message_resume(struct weft_qp *qp, const struct weft_request *req,
				       u64 offset, u32 length);
struct weft_result weft_message_frame(struct weft_qp *qp, const struct weft_frame_in *frame,
				      struct weft_iter *src);
bool weft_message_bad_qkey(struct weft_qp *qp, const struct weft_request *req, u32 qkey);
struct weft_result weft_message_datagram(struct weft_qp *qp, const struct weft_request *req,
					 u32 qkey, struct weft_iter *src);

/*
 * Copy payload to the memory of the SEND or WRITE in progress, which has at least @length bytes
 * left.
 */
static inline void weft_message_place(struct weft_qp *qp, struct weft_iter *src, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(&qp->recv.iter, src, length);
}

/* Copy data from the memory of the READ in progress, which has at least @length bytes left. */
static inline void weft_message_fetch(struct weft_qp *qp, struct weft_iter *dst, u64 length)
{
	weft_assert_turn(&qp->recv.turn);
	weft_copy(dst, &qp->recv.iter, length);
}

/* weft_opdef.begin */
struct weft_result weft_begin_word(struct weft_qp *qp, const struct weft_request *req);
struct weft_result weft_begin_flush(struct weft_qp *qp, const struct weft_request *req);

enum weft_fault weft_message_end(struct weft_qp *qp, const struct weft_request *req);
const struct weft_refusal *weft_message_refuse(struct weft_qp *qp, enum weft_fault fault);
void weft_message_flush(struct weft_qp *qp);

#endif /* WEFT_ENGINE_MESSAGE_H */
