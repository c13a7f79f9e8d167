/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The local link between a DC initiator and the target that a request names. */
#ifndef WEFT_LINK_DC_H
#define WEFT_LINK_DC_H

#include "engine/message.h"

struct weft_slot;

bool weft_dc_begin(struct weft_qp *dci, struct weft_slot *slot);
struct weft_result weft_dc_enter(struct weft_qp *dci, struct weft_qp *dct, struct weft_slot *slot,
				 struct weft_request *req);
void weft_dc_leave(struct weft_qp *dci, struct weft_qp *dct, enum weft_verdict verdict);

#endif /* WEFT_LINK_DC_H */
