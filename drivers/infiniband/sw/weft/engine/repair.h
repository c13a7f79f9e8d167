/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The repair of a lost request packet. All functions need the send turn, owned or stopped. */
#ifndef WEFT_ENGINE_REPAIR_H
#define WEFT_ENGINE_REPAIR_H

#include "object/qp.h"

struct weft_map;

void weft_repair_wait(struct weft_qp *qp);
bool weft_repair_begin(struct weft_qp *qp);
void weft_repair_sent(struct weft_qp *qp);
void weft_repair_progress(struct weft_qp *qp, u32 from);
void weft_repair_acked(struct weft_qp *qp);
void weft_repair_unmap(struct weft_qp *qp);
bool weft_repair_map(struct weft_qp *qp, const struct weft_map *map);

#endif /* WEFT_ENGINE_REPAIR_H */
