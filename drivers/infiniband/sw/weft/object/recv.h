/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The receive half of a QP: responder.
 */
#ifndef WEFT_OBJECT_RECV_H
#define WEFT_OBJECT_RECV_H

#include "mem/copy.h"
#include "object/turn.h"
#include "ring/sqe.h"

/**
 * struct weft_recv - the receive half
 *
 * Written by the owner of @turn only; attributes by modify_qp with the turn
 * stopped.
 *
 * @turn: who may
 * @ring: receive queue, NULL with an SRQ
 * @held: @wqe has been taken and is not complete
 * @malformed: @wqe could not be made sense of
 * @comm_est: the first message after RTR has been seen
 * @last_wqe: LAST_WQE_REACHED has been raised
 * @psn: expected PSN
 * @msn: messages completed, 24 bits
 * @rnr_timer: attribute: encoded time a sender shall wait
 * @max_dest_rd_atomic: attribute
 * @wqe: private copy of the receive work request
 * @sgl: memory of a SEND, while a message is in progress
 * @span: memory of a WRITE, READ or atomic, while a message is in progress
 * @iter: position in @sgl or @span
 */
struct weft_recv {
	struct weft_turn	turn;
	struct weft_ring	*ring;
	bool			held;
	bool			malformed;
	bool			comm_est;
	bool			last_wqe;
	u32			psn;
	u32			msn;
	u8			rnr_timer;
	u8			max_dest_rd_atomic;
	struct weft_iter	iter;
	struct weft_span	span;
	struct weft_rwqe	wqe;
	struct weft_sgl		sgl;
};

#endif /* WEFT_OBJECT_RECV_H */
