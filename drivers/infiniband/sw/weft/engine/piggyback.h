/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An acknowledge that waits for a packet which it can leave with. */
#ifndef WEFT_ENGINE_PIGGYBACK_H
#define WEFT_ENGINE_PIGGYBACK_H

#include "object/recv.h"

struct weft_qp;

void weft_piggyback_init(struct weft_qp *qp);
void weft_piggyback_reset(struct weft_qp *qp);
void weft_piggyback_pair(struct weft_piggyback *piggyback);
bool weft_piggyback_tick(struct weft_qp *qp);
bool weft_piggyback_wait(struct weft_qp *qp);
void weft_piggyback_alone(struct weft_piggyback *piggyback);

/*
 * A message that takes a receive is about to be completed: afterwards the process may answer it at
 * any time. The receive turn is owned.
 */
static inline void weft_piggyback_message(struct weft_piggyback *piggyback)
{
	piggyback->fresh = true;
	if (READ_ONCE(piggyback->messages))
		piggyback->pairs = 0;
	else
		WRITE_ONCE(piggyback->messages, 1);
}

/* A packet leaves that an acknowledge could leave with. The send turn is owned. */
static inline void weft_piggyback_sent(struct weft_piggyback *piggyback)
{
	if (READ_ONCE(piggyback->messages))
		weft_piggyback_pair(piggyback);
}

#endif /* WEFT_ENGINE_PIGGYBACK_H */
