/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completions of send work requests that come late, because a rule of injection says so. */
#ifndef WEFT_ENGINE_LATE_H
#define WEFT_ENGINE_LATE_H

#include <linux/ktime.h>
#include <linux/list.h>

#include "object/send.h"

struct weft_cqe;
struct weft_qp;
struct weft_slot;

void weft_late_begin(struct weft_qp *qp, struct weft_slot *slot, u64 ns);
void weft_late_push(struct weft_qp *qp, struct weft_cqe *cqe, bool late);
void weft_late_deliver(struct weft_qp *qp, ktime_t until);
void weft_late_end(struct weft_qp *qp);
bool weft_late_is_empty(const struct weft_send *send);

#endif /* WEFT_ENGINE_LATE_H */
