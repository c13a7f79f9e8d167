/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder: request packets in, answers out (IBA 9.7, 9.8). */
#ifndef WEFT_ENGINE_RESPONDER_H
#define WEFT_ENGINE_RESPONDER_H

#include <linux/types.h>

struct weft_held;
struct weft_pkt;
struct weft_qp;

void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt);
bool weft_responder_join(struct weft_qp *qp, struct weft_held *held);
void weft_responder_joined(struct weft_qp *qp, bool left);
void weft_responder_alone(struct weft_qp *qp);
void weft_responder_run(struct weft_qp *qp);
void weft_responder_doorbell(struct weft_qp *qp);
void weft_responder_init(struct weft_qp *qp);
void weft_responder_resize(struct weft_qp *qp);
void weft_responder_reset(struct weft_qp *qp);

#endif /* WEFT_ENGINE_RESPONDER_H */
