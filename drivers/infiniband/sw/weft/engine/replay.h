/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder resources: what requests were answered with, for those that come again
 * (IBA 9.7.5.1.5, A19).
 *
 * The receive turn is owned or stopped in all of it.
 */
#ifndef WEFT_ENGINE_REPLAY_H
#define WEFT_ENGINE_REPLAY_H

#include "object/recv.h"

/**
 * weft_replay_prepare - get memory for the slots
 * @recv: receive half, its max_dest_rd_atomic is not 0
 *
 * Does nothing when there is some.
 *
 * Return: false: there is none.
 */
bool weft_replay_prepare(struct weft_recv *recv);

/**
 * weft_replay_keep - keep an answer, in the place of the oldest one
 * @recv: receive half, prepared
 * @psn: of the request
 * @psns: PSNs of the responses
 * @kind: of the answer
 *
 * Return: the slot, for what else is to be kept.
 */
struct weft_replay_slot *weft_replay_keep(struct weft_recv *recv, u32 psn, u32 psns,
					  enum weft_response_kind kind);

/**
 * weft_replay_find - what was a request answered with?
 * @recv: receive half
 * @psn: of a request, or of a packet that answers it
 *
 * Return: the slot, or NULL.
 */
const struct weft_replay_slot *weft_replay_find(const struct weft_recv *recv, u32 psn);

/**
 * weft_replay_free - forget all answers, give the memory back
 * @recv: receive half
 */
void weft_replay_free(struct weft_recv *recv);

#endif /* WEFT_ENGINE_REPLAY_H */
