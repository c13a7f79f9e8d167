/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The responder: request packets in, answers out (IBA 9.7, 9.8). */
#ifndef WEFT_ENGINE_RESPONDER_H
#define WEFT_ENGINE_RESPONDER_H

struct weft_pkt;
struct weft_qp;

/* A request packet has arrived. The callee owns the memory of @pkt. Context: soft interrupts. */
void weft_responder_packet(struct weft_qp *qp, struct weft_pkt *pkt);

void weft_responder_run(struct weft_qp *qp);

/* A receive was posted to a queue whose doorbell is armed. */
void weft_responder_doorbell(struct weft_qp *qp);

/* At creation of a QP, after its receive turn has been initialised. */
void weft_responder_init(struct weft_qp *qp);

/* max_dest_rd_atomic has changed: forget the replay slots. The receive turn is stopped. */
void weft_responder_resize(struct weft_qp *qp);

void weft_responder_reset(struct weft_qp *qp);

#endif /* WEFT_ENGINE_RESPONDER_H */
