/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* QPs that stop at a wrong signature (WEFT_QP_SIG_PIPELINING). */
#ifndef WEFT_ENGINE_PIPELINE_H
#define WEFT_ENGINE_PIPELINE_H

#include "engine/verdict.h"

struct weft_qp;
struct weft_slot;

void weft_pipeline_watch(struct weft_qp *qp, const struct weft_slot *slot);
enum weft_verdict weft_pipeline_fence(struct weft_qp *qp, const struct weft_slot *slot);

#endif /* WEFT_ENGINE_PIPELINE_H */
