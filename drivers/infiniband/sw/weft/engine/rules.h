/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules of the transport, as tables and pure functions. */
#ifndef WEFT_ENGINE_RULES_H
#define WEFT_ENGINE_RULES_H

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

/*
 * The reason of a failure: vendor_err of an error completion. "responder" marks faults that the
 * responder finds.
 */
enum weft_fault {
	WEFT_FAULT_NONE,
	WEFT_FAULT_FLUSHED,			/* the QP was in ERR (or SQE) already */
	WEFT_FAULT_MALFORMED,			/* the work request makes no sense */
	WEFT_FAULT_OPCODE,			/* operation not defined for the service */
	WEFT_FAULT_LOCAL_LENGTH,		/* longer than a message may be */
	/* lkey, address, length or right of a local element */
	WEFT_FAULT_LOCAL_PROTECTION,
	/* address handle of another protection domain, or gone */
	WEFT_FAULT_ADDRESS,
	WEFT_FAULT_BIND,			/* BIND_MW, LOCAL_INV or REG_MR refused */
	WEFT_FAULT_NO_CREDIT,			/* max_rd_atomic is 0 */
	WEFT_FAULT_RETRY,			/* no answer, retries used up */
	WEFT_FAULT_RNR_RETRY,			/* no receive work request, retries used up */
	WEFT_FAULT_RNR,				/* responder: no receive work request */
	WEFT_FAULT_REMOTE_ACCESS,		/* responder: rkey, address, length or right */
	WEFT_FAULT_NOT_ENABLED,			/* responder: the QP does not allow the operation */
	/* responder: atomic or ATOMIC WRITE to an address that is no multiple of eight */
	WEFT_FAULT_MISALIGNED,
	WEFT_FAULT_NO_RESOURCES,		/* responder: max_dest_rd_atomic is 0 */
	/* responder: longer than the receive work request */
	WEFT_FAULT_RECV_LENGTH,
	WEFT_FAULT_RECV_PROTECTION,		/* responder: element of the receive work request */
	/* responder: the receive work request makes no sense */
	WEFT_FAULT_RECV_MALFORMED,
	WEFT_FAULT_INVALIDATE,			/* responder: SEND_INV names no window of the QP */
	/* responder: opcode, order or length of a packet, or what a FLUSH wants */
	WEFT_FAULT_BAD_REQUEST,
	WEFT_FAULT_NAK_REQUEST,			/* the peer calls the request invalid */
	WEFT_FAULT_NAK_ACCESS,			/* the peer does not allow the access */
	WEFT_FAULT_NAK_OPERATION,		/* the peer could not execute the request */
	WEFT_FAULT_BAD_RESPONSE,		/* the peer's response is not what was asked for */
	/* flushed, as the consumer's ring index is impossible */
	WEFT_FAULT_QUEUE_INDEX,
	WEFT_FAULT_CQ_OVERRUN,			/* flushed, as a completion was lost */
	WEFT_FAULT_XRC_SRQ,			/* responder: no such SRQ in the XRC domain */
	WEFT_FAULT_REMOVED,			/* the device has been removed */
	/* there is no memory for ODP memory, of a local element, or at the responder */
	WEFT_FAULT_NO_MEMORY,
	/* responder: REMOTE_ACCESS of a WRITE that has taken a receive */
	WEFT_FAULT_IMMEDIATE_ACCESS,
	WEFT_FAULT_IMMEDIATE_NOT_ENABLED,	/* responder: NOT_ENABLED of such a WRITE */
	/* by an injection rule, with a status that has no other cause */
	WEFT_FAULT_INJECTED,
	WEFT_FAULTS
};

/* Transport services that differ in their error rules. */
enum weft_service {
	WEFT_SERVICE_RC,	/* reliable, also XRC: the requester is told */
	WEFT_SERVICE_UC,	/* a broken message is dropped */
	WEFT_SERVICE_UD,	/* a broken datagram is dropped */
	WEFT_SERVICES
};

/* The responder's answer to a request it refuses. */
enum weft_reply {
	WEFT_REPLY_NONE,	/* none, the request is dropped */
	WEFT_REPLY_RNR,		/* RNR NAK */
	WEFT_REPLY_NAK,		/* a NAK that fails the requester's work request */
};

/* Consequences of a fault at the responder (IBA table 59). */
struct weft_refusal {
	enum weft_reply		reply;		/* to the requester */
	/* status of the requester's work request, with WEFT_REPLY_NAK */
	enum ib_wc_status	requester;
	/* status of the receive work request that was taken; 0: it is kept for the next message */
	enum ib_wc_status	responder;
	bool			fatal;		/* the responder's QP goes to ERR */
	bool			has_event;	/* there is one */
	/* asynchronous event at the responder, if @has_event */
	enum ib_event_type	event;
};

enum weft_service weft_rules_service(enum ib_qp_type type);
const struct weft_refusal *weft_rules_refusal(enum weft_fault fault, enum weft_service service);
enum ib_wc_status weft_rules_status(enum weft_fault fault);

/*
 * The fault in the completions of flushed work requests: @fault (see weft_qp.fault) if it is not 0.
 */
static inline enum weft_fault weft_rules_flushed(u32 fault)
{
	if (likely(!fault))
		return WEFT_FAULT_FLUSHED;
	return fault;
}

u64 weft_rules_rnr_ns(u8 timer);

/* Number of PSNs that a message takes, at least 1. @mtu: a power of two. */
static inline u32 weft_rules_psn_count(u32 length, u32 mtu)
{
	if (likely(length <= mtu))
		return 1;
	/* 64 bits, so that 2^31 + 4095 does not overflow; @mtu is a power of two */
	return ((u64)length + mtu - 1) >> __ffs(mtu);
}

#endif /* WEFT_ENGINE_RULES_H */
