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

/*
 * Begin an answer; @psn is that of the request packet, or of the answer's first packet. It
 * acknowledges all requests before it, and replaces an answer that has not been sent. The caller
 * fills in the members that only some kinds have.
 */
struct weft_response *weft_reply_new(struct weft_qp *qp, u32 psn, enum weft_response_kind kind);

/* Answer the request packet with PSN @psn by a NAK or RNR NAK, as @syndrome (of the AETH) says. */
void weft_reply_nak(struct weft_qp *qp, u32 psn, u8 syndrome);

/*
 * Refuse the request packet with PSN @psn: apply the consequences of the fault here, and begin the
 * answer that the requester gets.
 */
void weft_reply_refuse(struct weft_qp *qp, u32 psn, enum weft_fault fault);

/*
 * Send the next part of the answer under way, if there is one, and subtract its payload from
 * @bytes. False: it cannot go on before the next event.
 */
bool weft_reply_go_on(struct weft_qp *qp, s32 *bytes);

#endif /* WEFT_ENGINE_REPLY_H */
