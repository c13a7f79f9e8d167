/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester's loop: it takes work requests and has links execute them. */
#ifndef WEFT_ENGINE_REQUESTER_H
#define WEFT_ENGINE_REQUESTER_H

#include <linux/types.h>

struct weft_qp;
struct weft_ring;

void weft_requester_run(struct weft_qp *qp);
void weft_requester_doorbell(struct weft_qp *qp);
void weft_requester_post(struct weft_qp *qp);
void weft_requester_continue(struct weft_qp *qp);
void weft_requester_init(struct weft_qp *qp);
void weft_requester_reset(struct weft_qp *qp);
void weft_requester_flush(struct weft_qp *qp);
void weft_requester_follow(struct weft_qp *qp, struct weft_ring *ring);

#endif /* WEFT_ENGINE_REQUESTER_H */
