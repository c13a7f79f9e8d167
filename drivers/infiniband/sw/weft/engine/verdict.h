/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The result of handling a message, of a packet, or of a step of the requester. */
#ifndef WEFT_ENGINE_VERDICT_H
#define WEFT_ENGINE_VERDICT_H

#include "engine/rules.h"

/**
 * enum weft_verdict - the result
 * @WEFT_DONE: executed, or (unreliable) sent; or the caller may go on
 * @WEFT_KEPT: the packet has overtaken others, and waits for them; its memory is no longer the
 *	caller's
 * @WEFT_DROP: the QP does not accept it in its present state; nothing has changed
 * @WEFT_LATER: nothing has changed, and the turn will get WEFT_EV_RUN when it is worth trying
 *	again: ODP memory is being pinned, there is no tx credit, or the path is about to change
 * @WEFT_STOPPED: a context wants one of the turns, or the task is being killed, or the step may
 *	sleep and must not: a work item does it again, from the start or from weft_slot.done
 * @WEFT_AS_PACKETS: the local link cannot carry it, but packets can
 * @WEFT_FAILED: for the reason in &struct weft_result.fault
 */
enum weft_verdict {
	WEFT_DONE,
	WEFT_KEPT,
	WEFT_DROP,
	WEFT_LATER,
	WEFT_STOPPED,
	WEFT_AS_PACKETS,
	WEFT_FAILED,
};

/* A verdict, with the fault if it is WEFT_FAILED. It fits into a register. */
struct weft_result {
	u8	verdict;
	u8	fault;
};

static_assert(WEFT_FAULTS <= U8_MAX);

static __always_inline struct weft_result weft_result(enum weft_verdict verdict)
{
	return (struct weft_result){ .verdict = verdict };
}

/* WEFT_FAULT_NONE becomes WEFT_DONE. */
static __always_inline struct weft_result weft_failed(enum weft_fault fault)
{
	return (struct weft_result){ .verdict = fault ? WEFT_FAILED : WEFT_DONE, .fault = fault };
}

#endif /* WEFT_ENGINE_VERDICT_H */
