/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of the link protocol between the switches of two hosts. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM weft_fabric

#if !defined(WEFT_FABRIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define WEFT_FABRIC_TRACE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(weft_cable,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value),
	TP_STRUCT__entry(
		__field(u32, nonce)
		__field(u32, seq)
		__field(u32, value)
	),
	TP_fast_assign(
		__entry->nonce = nonce;
		__entry->seq = seq;
		__entry->value = value;
	),
	TP_printk("cable %#x seq %u value %u", __entry->nonce, __entry->seq, __entry->value)
);

/* A frame with data is sent; @value is how often the cable has backed off since its last progress. */
DEFINE_EVENT(weft_cable, weft_cable_send,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value)
);

/* Frames up to @seq are acknowledged; @value frames are still under way. */
DEFINE_EVENT(weft_cable, weft_cable_ack,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value)
);

/* The receiver misses frame @seq; frame @value has come instead. */
DEFINE_EVENT(weft_cable, weft_cable_gap,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value)
);

/* The sender goes back to frame @seq; its window is @value frames. */
DEFINE_EVENT(weft_cable, weft_cable_retry,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value)
);

/* Nothing has been acknowledged since frame @seq for too long: the cable is pulled out. */
DEFINE_EVENT(weft_cable, weft_cable_give_up,
	TP_PROTO(u32 nonce, u32 seq, u32 value),
	TP_ARGS(nonce, seq, value)
);

/* A HELLO of a known node has come; @actions are those of fabric/peer.h that follow. */
TRACE_EVENT(weft_hello,
	TP_PROTO(u64 guid, u32 nonce, u32 heard, u32 actions),
	TP_ARGS(guid, nonce, heard, actions),
	TP_STRUCT__entry(
		__field(u64, guid)
		__field(u32, nonce)
		__field(u32, heard)
		__field(u32, actions)
	),
	TP_fast_assign(
		__entry->guid = guid;
		__entry->nonce = nonce;
		__entry->heard = heard;
		__entry->actions = actions;
	),
	TP_printk("from %016llx nonce %#x heard %#x actions %#x", __entry->guid, __entry->nonce,
		  __entry->heard, __entry->actions)
);

#endif /* WEFT_FABRIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH fabric
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
