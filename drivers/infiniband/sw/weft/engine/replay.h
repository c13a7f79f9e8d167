/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Responder resources: the answers that repeated requests get (IBA 9.7.5.1.5, A19). The receive
 * turn is owned or stopped.
 */
#ifndef WEFT_ENGINE_REPLAY_H
#define WEFT_ENGINE_REPLAY_H

#include "object/recv.h"

bool weft_replay_prepare(struct weft_recv *recv);
struct weft_replay_slot *weft_replay_keep(struct weft_recv *recv, u32 psn, u32 psns,
					  enum weft_response_kind kind);
const struct weft_replay_slot *weft_replay_find(const struct weft_recv *recv, u32 psn);
void weft_replay_free(struct weft_recv *recv);

#endif /* WEFT_ENGINE_REPLAY_H */
