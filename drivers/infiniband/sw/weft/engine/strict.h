/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The rules of strict mode that need a work request. All functions need the send turn. */
#ifndef WEFT_ENGINE_STRICT_H
#define WEFT_ENGINE_STRICT_H

#include "object/strict.h"

struct weft_qp;
struct weft_slot;

bool weft_strict_request(struct weft_qp *qp, struct weft_slot *slot);
bool weft_strict_changed(struct weft_qp *qp, const struct weft_slot *slot);

#endif /* WEFT_ENGINE_STRICT_H */
