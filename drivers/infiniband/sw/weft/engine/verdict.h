/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Verdicts: the outcome of a message, a packet or a step of the requester.
 */
#ifndef WEFT_ENGINE_VERDICT_H
#define WEFT_ENGINE_VERDICT_H

#include "engine/rules.h"

/**
 * enum weft_verdict - the outcome
 * @WEFT_DONE: it is executed, or (unreliable) has left, or may go on
 * @WEFT_DROP: it is not for this QP in its present state; nothing else happened
 * @WEFT_LATER: nothing happened; the turn gets WEFT_EV_RUN when it is worth to try again.
 *	ODP memory is being pinned, a packet had no tx credit, or the path is about to change.
 * @WEFT_STOPPED: somebody wants one of the turns, or the task is being killed, or the step may
 *	sleep and must not: a work item does it again, from the start or from weft_slot.done
 * @WEFT_AS_PACKETS: the local link cannot carry it; packets can
 * @WEFT_FAILED: for the reason in &struct weft_result.fault
 */
enum weft_verdict {
	WEFT_DONE,
	WEFT_DROP,
	WEFT_LATER,
	WEFT_STOPPED,
	WEFT_AS_PACKETS,
	WEFT_FAILED,
};

/* A verdict, and why with WEFT_FAILED. It fits into a register. */
struct weft_result {
	u8	verdict;
	u8	fault;
};

static_assert(WEFT_FAULTS <= U8_MAX);

static __always_inline struct weft_result weft_result(enum weft_verdict verdict)
{
	return (struct weft_result){ .verdict = verdict };
}

/* WEFT_FAULT_NONE is WEFT_DONE. */
static __always_inline struct weft_result weft_failed(enum weft_fault fault)
{
	return (struct weft_result){ .verdict = fault ? WEFT_FAILED : WEFT_DONE, .fault = fault };
}

#endif /* WEFT_ENGINE_VERDICT_H */
