/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Answers of a responder, in packets. One answer is sent at a time, the one in weft_recv.response.
 * All functions need the receive turn.
 */
#ifndef WEFT_ENGINE_REPLY_H
#define WEFT_ENGINE_REPLY_H

#include "engine/rules.h"
#include "object/recv.h"

struct weft_qp;

struct weft_response *weft_reply_new(struct weft_qp *qp, u32 psn, enum weft_response_kind kind);
u8 weft_reply_credits(const struct weft_qp *qp);
u8 weft_reply_syndrome(const struct weft_refusal *refusal, u8 rnr_timer);
void weft_reply_nak(struct weft_qp *qp, u32 psn, u8 syndrome);
void weft_reply_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault);
bool weft_reply_join(struct weft_qp *qp, struct weft_held *held);
bool weft_reply_go_on(struct weft_qp *qp, s32 *bytes);

#endif /* WEFT_ENGINE_REPLY_H */
