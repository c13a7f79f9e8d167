/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules of the transport, as tables and pure functions. */
#ifndef WEFT_ENGINE_RULES_H
#define WEFT_ENGINE_RULES_H

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>
#include <rdma/weft-why.h>

/*
 * The rules know the reasons below this one; those above it are details, see engine/blame.h, or
 * of strict mode.
 */
#define WEFT_FAULTS	(WEFT_FAULT_REQUEST_LENGTH + 1)

/* Transport services that differ in their error rules. */
enum weft_service {
	WEFT_SERVICE_RC,	/* reliable, also XRC and DC: the requester is told */
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

/*
 * Consequences of a fault at the responder (IBA table 59). The event is for a fault that no receive
 * completes with (IBA C9-222.1.1); which one it is, 11.6.3.2 says.
 */
struct weft_refusal {
	enum weft_reply		reply;		/* to the requester */
	/* status of the requester's work request, with WEFT_REPLY_NAK */
	enum ib_wc_status	requester;
	/* status of the receive work request that was taken; 0: it is kept for the next message */
	enum ib_wc_status	responder;
	bool			fatal;		/* the responder's QP goes to ERR */
	bool			has_event;	/* unless a receive completes with the fault */
	/* asynchronous event at the responder, if @has_event */
	enum ib_event_type	event;
};

enum weft_service weft_rules_service(enum ib_qp_type type);
const struct weft_refusal *weft_rules_refusal(enum weft_fault fault, enum weft_service service);
const struct weft_refusal *weft_rules_receive(enum ib_wc_status status, enum weft_service service);
enum ib_wc_status weft_rules_status(enum weft_fault fault);
enum weft_fault weft_rules_nak(enum ib_wc_status status);

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
