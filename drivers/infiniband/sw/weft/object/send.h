/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The send half of a QP: requester.
 */
#ifndef WEFT_OBJECT_SEND_H
#define WEFT_OBJECT_SEND_H

#include <linux/hrtimer.h>

#include "mem/copy.h"
#include "object/turn.h"
#include "ring/sqe.h"

/**
 * struct weft_send - the send half
 *
 * Written by the owner of @turn only; attributes by modify_qp with the turn
 * stopped.
 *
 * @turn: who may
 * @ring: send queue
 * @active: @wqe is not complete yet
 * @malformed: @wqe could not be made sense of
 * @waiting: for the timer, or (without a timer) for ever
 * @unanswered: what is waited for is an answer, not the end of an RNR delay
 * @doorbell_armed: the client has been asked to ring
 * @drained: SQD: the drain has been reported
 * @retry_left: transport retries left for @wqe
 * @rnr_left: RNR retries left for @wqe
 * @psn: of the next request
 * @timer: ends @waiting
 * @timeout: attribute, 4.096 us * 2^n, 0: for ever
 * @retry_cnt: attribute
 * @rnr_retry: attribute, 7: for ever
 * @max_rd_atomic: attribute
 * @sqd_notify: attribute: raise SQ_DRAINED
 * @wqe: private copy of the current work request
 * @sgl: its memory, only while it is being executed
 */
struct weft_send {
	struct weft_turn	turn;
	struct weft_ring	*ring;
	bool			active;
	bool			malformed;
	bool			waiting;
	bool			unanswered;
	bool			doorbell_armed;
	bool			drained;
	u8			retry_left;
	u8			rnr_left;
	u32			psn;
	struct hrtimer		timer;
	u8			timeout;
	u8			retry_cnt;
	u8			rnr_retry;
	u8			max_rd_atomic;
	bool			sqd_notify;
	struct weft_swqe	wqe;
	struct weft_sgl		sgl;
};

#endif /* WEFT_OBJECT_SEND_H */
