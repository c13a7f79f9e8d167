/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Answers of a responder, in packets.
 *
 * Only one is under way, in struct weft_response. The receive turn is owned in all
 * of it.
 */
#ifndef WEFT_ENGINE_REPLY_H
#define WEFT_ENGINE_REPLY_H

#include "engine/rules.h"
#include "object/recv.h"

struct weft_qp;

/**
 * weft_reply_new - begin an answer
 * @qp: responder
 * @psn: of the request packet that is answered, or of the first packet of the answer
 * @kind: what it is
 *
 * It acknowledges all that was before. The one before is forgotten.
 *
 * Return: the answer, with nothing that belongs to its kind only.
 */
struct weft_response *weft_reply_new(struct weft_qp *qp, u32 psn, enum weft_response_kind kind);

/**
 * weft_reply_nak - answer with something else than an acknowledge
 * @qp: responder
 * @psn: of the request packet
 * @syndrome: of the AETH
 */
void weft_reply_nak(struct weft_qp *qp, u32 psn, u8 syndrome);

/**
 * weft_reply_refuse - a request is refused: consequences here, and an answer
 * @qp: responder
 * @psn: of the request packet
 * @fault: why
 */
void weft_reply_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault);

/**
 * weft_reply_go_on - send what is to be sent next
 * @qp: responder, an answer is under way or none
 * @bytes: of payload; what was sent is subtracted
 *
 * Return: false: it cannot go on now, there will be an event.
 */
bool weft_reply_go_on(struct weft_qp *qp, s32 *bytes);

#endif /* WEFT_ENGINE_REPLY_H */
