// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/rules.h"

#include <linux/time64.h>

#include "object/dc.h"
#include "wire/aeth.h"

/* The services differ in whether the requester can be told. */
#define REFUSAL_NAK(_requester, _responder, _event) {			\
	.reply = WEFT_REPLY_NAK, .requester = (_requester),		\
	.responder = (_responder), .fatal = true,			\
	.has_event = true, .event = (_event) }
#define REFUSAL_FATAL(_responder, _event) {				\
	.responder = (_responder), .fatal = true,			\
	.has_event = true, .event = (_event) }
#define REFUSAL_DROP { .reply = WEFT_REPLY_NONE }

static const struct weft_refusal
rules_refusals[WEFT_FAULTS][WEFT_SERVICES] = {
	[WEFT_FAULT_RNR] = {
		{ .reply = WEFT_REPLY_RNR }, REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_REMOTE_ACCESS] = {
		REFUSAL_NAK(IB_WC_REM_ACCESS_ERR, IB_WC_SUCCESS, IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_NOT_ENABLED] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_SUCCESS, IB_EVENT_QP_REQ_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_MISALIGNED] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_SUCCESS, IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_NO_RESOURCES] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_SUCCESS, IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_RECV_LENGTH] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_LOC_LEN_ERR, IB_EVENT_QP_REQ_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_RECV_PROTECTION] = {
		REFUSAL_NAK(IB_WC_REM_OP_ERR, IB_WC_LOC_PROT_ERR, IB_EVENT_QP_FATAL),
		REFUSAL_FATAL(IB_WC_LOC_PROT_ERR, IB_EVENT_QP_FATAL),
		REFUSAL_FATAL(IB_WC_LOC_PROT_ERR, IB_EVENT_QP_FATAL),
	},
	[WEFT_FAULT_RECV_MALFORMED] = {
		REFUSAL_NAK(IB_WC_REM_OP_ERR, IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_FATAL),
		REFUSAL_FATAL(IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_FATAL),
		REFUSAL_FATAL(IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_FATAL),
	},
	[WEFT_FAULT_INVALIDATE] = {
		REFUSAL_NAK(IB_WC_REM_ACCESS_ERR, IB_WC_LOC_ACCESS_ERR,
			    IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_BAD_REQUEST] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR, IB_EVENT_QP_REQ_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_REQUEST_LENGTH] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR,
			    IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_XRC_SRQ] = {
		REFUSAL_NAK(IB_WC_REM_INV_REQ_ERR, IB_WC_SUCCESS, IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	[WEFT_FAULT_IMMEDIATE_ACCESS] = {
		REFUSAL_NAK(IB_WC_REM_ACCESS_ERR, IB_WC_LOC_ACCESS_ERR,
			    IB_EVENT_QP_ACCESS_ERR),
		REFUSAL_DROP, REFUSAL_DROP,
	},
	/* anybody may send a datagram while memory is short */
	[WEFT_FAULT_NO_MEMORY] = {
		REFUSAL_NAK(IB_WC_REM_OP_ERR, IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_FATAL),
		REFUSAL_FATAL(IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_FATAL), REFUSAL_DROP,
	},
};

/* A receive that fails by a rule; UC and UD have no answer. */
#define RECEIVE(_status, _requester) {					\
	{ .reply = WEFT_REPLY_NAK, .requester = (_requester),		\
	  .responder = (_status), .fatal = true },			\
	{ .responder = (_status), .fatal = true },			\
	{ .responder = (_status), .fatal = true } }
/* The QP is in ERR, as after modify_qp, or its device has failed: the requester hears nothing. */
#define SILENT(_status) { .responder = (_status), .fatal = true }
/* The message is given up, and the QP goes on with the next one. */
#define ABORTED { .responder = IB_WC_REM_ABORT_ERR }

static const struct weft_refusal rules_receives[][WEFT_SERVICES] = {
	[IB_WC_LOC_LEN_ERR] = RECEIVE(IB_WC_LOC_LEN_ERR, IB_WC_REM_INV_REQ_ERR),
	[IB_WC_LOC_QP_OP_ERR] = RECEIVE(IB_WC_LOC_QP_OP_ERR, IB_WC_REM_OP_ERR),
	[IB_WC_LOC_PROT_ERR] = RECEIVE(IB_WC_LOC_PROT_ERR, IB_WC_REM_OP_ERR),
	[IB_WC_WR_FLUSH_ERR] = {
		SILENT(IB_WC_WR_FLUSH_ERR), SILENT(IB_WC_WR_FLUSH_ERR), SILENT(IB_WC_WR_FLUSH_ERR),
	},
	[IB_WC_LOC_ACCESS_ERR] = RECEIVE(IB_WC_LOC_ACCESS_ERR, IB_WC_REM_ACCESS_ERR),
	[IB_WC_REM_INV_REQ_ERR] = RECEIVE(IB_WC_REM_INV_REQ_ERR, IB_WC_REM_INV_REQ_ERR),
	/* a reliable requester cannot be told that the message is given up */
	[IB_WC_REM_ABORT_ERR] = {
		{ .reply = WEFT_REPLY_NAK, .requester = IB_WC_REM_OP_ERR,
		  .responder = IB_WC_REM_ABORT_ERR, .fatal = true },
		ABORTED, ABORTED,
	},
	[IB_WC_FATAL_ERR] = {
		SILENT(IB_WC_FATAL_ERR), SILENT(IB_WC_FATAL_ERR), SILENT(IB_WC_FATAL_ERR),
	},
	[IB_WC_GENERAL_ERR] = RECEIVE(IB_WC_GENERAL_ERR, IB_WC_REM_OP_ERR),
};

static const enum ib_wc_status rules_status[WEFT_FAULTS] = {
	[WEFT_FAULT_FLUSHED]		= IB_WC_WR_FLUSH_ERR,
	[WEFT_FAULT_MALFORMED]		= IB_WC_LOC_QP_OP_ERR,
	[WEFT_FAULT_OPCODE]		= IB_WC_LOC_QP_OP_ERR,
	[WEFT_FAULT_LOCAL_LENGTH]	= IB_WC_LOC_LEN_ERR,
	[WEFT_FAULT_LOCAL_PROTECTION]	= IB_WC_LOC_PROT_ERR,
	[WEFT_FAULT_ADDRESS]		= IB_WC_LOC_QP_OP_ERR,
	[WEFT_FAULT_BIND]		= IB_WC_MW_BIND_ERR,
	[WEFT_FAULT_NO_CREDIT]		= IB_WC_LOC_QP_OP_ERR,
	[WEFT_FAULT_RETRY]		= IB_WC_RETRY_EXC_ERR,
	[WEFT_FAULT_RNR_RETRY]		= IB_WC_RNR_RETRY_EXC_ERR,
	[WEFT_FAULT_NAK_REQUEST]	= IB_WC_REM_INV_REQ_ERR,
	[WEFT_FAULT_NAK_ACCESS]		= IB_WC_REM_ACCESS_ERR,
	[WEFT_FAULT_NAK_OPERATION]	= IB_WC_REM_OP_ERR,
	[WEFT_FAULT_BAD_RESPONSE]	= IB_WC_BAD_RESP_ERR,
	[WEFT_FAULT_QUEUE_INDEX]	= IB_WC_WR_FLUSH_ERR,
	[WEFT_FAULT_CQ_OVERRUN]		= IB_WC_WR_FLUSH_ERR,
	[WEFT_FAULT_REMOVED]		= IB_WC_FATAL_ERR,
	[WEFT_FAULT_NO_MEMORY]		= IB_WC_GENERAL_ERR,
	[WEFT_FAULT_INJECTED]		= IB_WC_GENERAL_ERR,
};

enum weft_service weft_rules_service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
	case WEFT_QPT_DCI:
	case WEFT_QPT_DCT:
		return WEFT_SERVICE_RC;
	case IB_QPT_UC:
		return WEFT_SERVICE_UC;
	default:
		return WEFT_SERVICE_UD;
	}
}
WEFT_EXPORT_FOR_TEST(weft_rules_service);

const struct weft_refusal *weft_rules_refusal(enum weft_fault fault, enum weft_service service)
{
	return &rules_refusals[fault][service];
}
WEFT_EXPORT_FOR_TEST(weft_rules_refusal);

/*
 * Consequences of a rule that completes a receive with @status. NULL: no receive completes with it.
 */
const struct weft_refusal *weft_rules_receive(enum ib_wc_status status, enum weft_service service)
{
	if (status >= ARRAY_SIZE(rules_receives) || !rules_receives[status][service].responder)
		return NULL;
	return &rules_receives[status][service];
}
WEFT_EXPORT_FOR_TEST(weft_rules_receive);

/*
 * Completion status of a work request that failed at the requester. @fault: not WEFT_FAULT_NONE,
 * and not one that only responders find; or one of strict mode.
 */
enum ib_wc_status weft_rules_status(enum weft_fault fault)
{
	return fault < WEFT_FAULTS ? rules_status[fault] : IB_WC_GENERAL_ERR;
}
WEFT_EXPORT_FOR_TEST(weft_rules_status);

/* The reason that a NAK gives to the requester. @status: of struct weft_refusal. */
enum weft_fault weft_rules_nak(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_REM_ACCESS_ERR:
		return WEFT_FAULT_NAK_ACCESS;
	case IB_WC_REM_OP_ERR:
		return WEFT_FAULT_NAK_OPERATION;
	default:
		return WEFT_FAULT_NAK_REQUEST;
	}
}

/* Nanoseconds that an RNR NAK asks to wait (IBA table 45). @timer: five bits. */
u64 weft_rules_rnr_ns(u8 timer)
{
	return weft_aeth_rnr_usec(timer & WEFT_AETH_CODE) * (u64)NSEC_PER_USEC;
}
WEFT_EXPORT_FOR_TEST(weft_rules_rnr_ns);
