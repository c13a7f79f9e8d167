/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The details of a failure: a reason that is more precise than that of the rules, and a record. */
#ifndef WEFT_ENGINE_BLAME_H
#define WEFT_ENGINE_BLAME_H

#include "engine/opdef.h"
#include "engine/rules.h"
#include "object/send.h"

struct weft_qp;

enum weft_fault weft_blame_request(struct weft_qp *qp, const struct weft_slot *slot,
				   enum ib_wc_status status, enum weft_fault fault);
enum weft_fault weft_blame_refusal(struct weft_qp *qp, enum weft_fault fault);
void weft_blame_datagram(struct weft_qp *qp, u32 src_qpn, u32 got, u32 want);

#endif /* WEFT_ENGINE_BLAME_H */
