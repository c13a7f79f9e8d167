/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints for the fate of each packet: "perf list weft:*", or /sys/kernel/tracing/events/weft.
 *
 * Those that each message passes take pointers, so that nothing is loaded for them while they are
 * off.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM weft

#if !defined(WEFT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WEFT_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/weft-why.h>

#include "stats.h"
#include "wire/codec.h"

struct weft_qp;
struct weft_slot;

/* Bytes for the name of a counter. */
#define WEFT_TRACE_NAME		32
/* enum ib_qp_state */
#define WEFT_TRACE_QP_STATES						\
	{ 0, "RESET" }, { 1, "INIT" }, { 2, "RTR" }, { 3, "RTS" },	\
	{ 4, "SQD" }, { 5, "SQE" }, { 6, "ERR" }

/* The transmitter handed a tx batch of @num packets to the link, which took @sent of them. */
TRACE_EVENT(weft_send,
	TP_PROTO(u32 qpn, const struct weft_hdr *hdr, u32 num, u32 sent, u32 length),
	TP_ARGS(qpn, hdr, num, sent, length),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u32, num)
		__field(u32, sent)
		__field(u32, length)
		__field(u8, opcode)
		__field(u8, syndrome)
		__field(bool, ackreq)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->dqpn = hdr->dqpn;
		__entry->psn = hdr->psn;
		__entry->num = num;
		__entry->sent = sent;
		__entry->length = length;
		__entry->opcode = hdr->opcode;
		__entry->syndrome = hdr->aeth.syndrome;
		__entry->ackreq = hdr->ackreq;
	),
	TP_printk("qp %#x to %#x opcode %#04x psn %u packets %u sent %u length %u%s syndrome %#04x",
		  __entry->qpn, __entry->dqpn, __entry->opcode, __entry->psn,
		  __entry->num, __entry->sent, __entry->length,
		  __entry->ackreq ? " ackreq" : "", __entry->syndrome)
);

DECLARE_EVENT_CLASS(weft_packet,
	TP_PROTO(u32 qpn, const struct weft_hdr *hdr, u32 expected),
	TP_ARGS(qpn, hdr, expected),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, expected)
		__field(u32, payload)
		__field(u8, opcode)
		__field(u8, syndrome)
		__field(bool, ackreq)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = hdr->psn;
		__entry->expected = expected;
		__entry->payload = hdr->payload;
		__entry->opcode = hdr->opcode;
		__entry->syndrome = hdr->aeth.syndrome;
		__entry->ackreq = hdr->ackreq;
	),
	TP_printk("qp %#x opcode %#04x psn %u expected %u payload %u%s syndrome %#04x",
		  __entry->qpn, __entry->opcode, __entry->psn, __entry->expected,
		  __entry->payload, __entry->ackreq ? " ackreq" : "",
		  __entry->syndrome)
);

/* The responder processes a request, or the completer a response. */
DEFINE_EVENT(weft_packet, weft_request,
	TP_PROTO(u32 qpn, const struct weft_hdr *hdr, u32 expected),
	TP_ARGS(qpn, hdr, expected)
);

DEFINE_EVENT(weft_packet, weft_response,
	TP_PROTO(u32 qpn, const struct weft_hdr *hdr, u32 expected),
	TP_ARGS(qpn, hdr, expected)
);

/* A packet has to wait, because another task owns the turn. */
DEFINE_EVENT(weft_packet, weft_defer,
	TP_PROTO(u32 qpn, const struct weft_hdr *hdr, u32 expected),
	TP_ARGS(qpn, hdr, expected)
);

/* A packet is dropped. The name of the counter that counts it tells the reason. */
TRACE_EVENT(weft_drop,
	TP_PROTO(const struct weft_hdr *hdr, enum weft_stat why),
	TP_ARGS(hdr, why),
	TP_STRUCT__entry(
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u8, opcode)
		__array(char, why, WEFT_TRACE_NAME)
	),
	TP_fast_assign(
		__entry->dqpn = hdr->dqpn;
		__entry->psn = hdr->psn;
		__entry->opcode = hdr->opcode;
		strscpy(__entry->why, weft_stats_name(why), WEFT_TRACE_NAME);
	),
	TP_printk("to qp %#x opcode %#04x psn %u: %s",
		  __entry->dqpn, __entry->opcode, __entry->psn, __entry->why)
);

/* The destination QP drops a datagram, which came in a packet or by the local link. */
TRACE_EVENT(weft_datagram_drop,
	TP_PROTO(u32 qpn, u32 src_qpn, enum weft_stat why),
	TP_ARGS(qpn, src_qpn, why),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, src_qpn)
		__array(char, why, WEFT_TRACE_NAME)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->src_qpn = src_qpn;
		strscpy(__entry->why, weft_stats_name(why), WEFT_TRACE_NAME);
	),
	TP_printk("qp %#x from qp %#x: %s", __entry->qpn, __entry->src_qpn, __entry->why)
);

/* The requester sends packets again, from @psn on. */
TRACE_EVENT(weft_retry,
	TP_PROTO(u32 qpn, u32 psn, u32 left),
	TP_ARGS(qpn, psn, left),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, left)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->left = left;
	),
	TP_printk("qp %#x from psn %u, %u retries left", __entry->qpn, __entry->psn,
		  __entry->left)
);

/* The requester has taken a work request from its ring. With a fault the work request will fail. */
TRACE_EVENT(weft_wr_begin,
	TP_PROTO(const struct weft_qp *qp, const struct weft_slot *slot),
	TP_ARGS(qp, slot),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, index)
		__field(u8, opcode)
		__field(u8, fault)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->index = slot->wqe.index;
		__entry->opcode = slot->wqe.sqe.opcode;
		__entry->fault = slot->fault;
	),
	TP_printk("qp %#x wqe %u opcode %u fault %u", __entry->qpn, __entry->index,
		  __entry->opcode, __entry->fault)
);

/* A send work request is complete, signaled or not. */
TRACE_EVENT(weft_wr_complete,
	TP_PROTO(const struct weft_qp *qp, const struct weft_slot *slot, u32 status, u8 fault,
		 u32 byte_len),
	TP_ARGS(qp, slot, status, fault, byte_len),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, index)
		__field(u32, status)
		__field(u32, byte_len)
		__field(u8, opcode)
		__field(u8, fault)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->index = slot->wqe.index;
		__entry->status = status;
		__entry->byte_len = byte_len;
		__entry->opcode = slot->wqe.sqe.opcode;
		__entry->fault = fault;
	),
	TP_printk("qp %#x wqe %u opcode %u status %u fault %u byte_len %u", __entry->qpn,
		  __entry->index, __entry->opcode, __entry->status, __entry->fault,
		  __entry->byte_len)
);

/* The local link has tried to deliver a message; the result is an enum weft_verdict. */
TRACE_DEFINE_ENUM(WEFT_DONE);
TRACE_DEFINE_ENUM(WEFT_DROP);
TRACE_DEFINE_ENUM(WEFT_LATER);
TRACE_DEFINE_ENUM(WEFT_STOPPED);
TRACE_DEFINE_ENUM(WEFT_FAILED);

TRACE_EVENT(weft_local,
	TP_PROTO(const struct weft_qp *qp, const struct weft_slot *slot, u32 verdict),
	TP_ARGS(qp, slot, verdict),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, dqpn)
		__field(u32, length)
		__field(u8, opcode)
		__field(u8, verdict)
	),
	TP_fast_assign(
		__entry->qpn = qp->qpn;
		__entry->dqpn = qp->dest_qpn;
		__entry->length = slot->length;
		__entry->opcode = slot->wqe.sqe.opcode;
		__entry->verdict = verdict;
	),
	TP_printk("qp %#x to %#x opcode %u length %u: %s", __entry->qpn, __entry->dqpn,
		  __entry->opcode, __entry->length,
		  __print_symbolic(__entry->verdict, { WEFT_DONE, "done" },
				   { WEFT_DROP, "no answer" }, { WEFT_LATER, "later" },
				   { WEFT_STOPPED, "stopped" }, { WEFT_FAILED, "refused" }))
);

/* A QP enters a state: enum ib_qp_state. */
TRACE_EVENT(weft_qp_state,
	TP_PROTO(u32 qpn, u32 from, u32 to),
	TP_ARGS(qpn, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, from)
		__field(u32, to)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qp %#x %s to %s", __entry->qpn,
		  __print_symbolic(__entry->from, WEFT_TRACE_QP_STATES),
		  __print_symbolic(__entry->to, WEFT_TRACE_QP_STATES))
);

/* Something fails on a QP: enum weft_why_kind and enum weft_fault of <rdma/weft-why.h>. */
TRACE_EVENT(weft_failure,
	TP_PROTO(u32 qpn, const struct weft_why_record *record),
	TP_ARGS(qpn, record),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, length)
		__field(u64, got)
		__field(u64, want)
		__field(u32, qpn)
		__field(u32, peer_qpn)
		__field(u32, key)
		__field(u8, kind)
		__field(u8, status)
		__field(u8, fault)
	),
	TP_fast_assign(
		__entry->addr = record->addr;
		__entry->length = record->length;
		__entry->got = record->got;
		__entry->want = record->want;
		__entry->qpn = qpn;
		__entry->peer_qpn = record->peer_qpn;
		__entry->key = record->key;
		__entry->kind = record->kind;
		__entry->status = record->status;
		__entry->fault = record->fault;
	),
	TP_printk("qp %#x kind %u status %u fault %u key %#x addr %#llx length %llu got %llu want %llu peer %#x",
		  __entry->qpn, __entry->kind, __entry->status, __entry->fault, __entry->key,
		  __entry->addr, __entry->length, __entry->got, __entry->want,
		  __entry->peer_qpn)
);

DECLARE_EVENT_CLASS(weft_turn,
	TP_PROTO(u32 qpn, bool requester, unsigned long bits),
	TP_ARGS(qpn, requester, bits),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(bool, requester)
		__field(unsigned long, bits)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->requester = requester;
		__entry->bits = bits;
	),
	TP_printk("qp %#x %s bits %#lx", __entry->qpn,
		  __entry->requester ? "requester" : "responder", __entry->bits)
);

/* A turn is handed over to its work item: an event is left, and no task owns the turn. */
DEFINE_EVENT(weft_turn, weft_turn_defer,
	TP_PROTO(u32 qpn, bool requester, unsigned long bits),
	TP_ARGS(qpn, requester, bits)
);

/* A task waits for a turn to end: modify_qp, destroy_qp, or a sender on this host. */
DEFINE_EVENT(weft_turn, weft_turn_wait,
	TP_PROTO(u32 qpn, bool requester, unsigned long bits),
	TP_ARGS(qpn, requester, bits)
);

#endif /* WEFT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
