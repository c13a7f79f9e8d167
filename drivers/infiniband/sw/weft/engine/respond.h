/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * weft_opdef.respond: requests that are one packet and have a response. The receive turn is owned,
 * the packet has the expected PSN, and replay slots are allocated.
 */
#ifndef WEFT_ENGINE_RESPOND_H
#define WEFT_ENGINE_RESPOND_H

#include "engine/verdict.h"

struct weft_pkt;
struct weft_qp;

struct weft_result weft_respond_read(struct weft_qp *qp, const struct weft_pkt *pkt);
struct weft_result weft_respond_atomic(struct weft_qp *qp, const struct weft_pkt *pkt);
struct weft_result weft_respond_atomic_write(struct weft_qp *qp, const struct weft_pkt *pkt);
struct weft_result weft_respond_flush(struct weft_qp *qp, const struct weft_pkt *pkt);

#endif /* WEFT_ENGINE_RESPOND_H */
