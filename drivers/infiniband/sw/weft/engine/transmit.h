/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Request packets of a connected QP, made of its inflight requests (IBA 9.7.2, 9.8.2). */
#ifndef WEFT_ENGINE_TRANSMIT_H
#define WEFT_ENGINE_TRANSMIT_H

#include "engine/link.h"

enum weft_verdict weft_transmit(struct weft_qp *qp, struct weft_slot *slot,
				struct weft_budget *budget);
enum weft_verdict weft_transmit_ask(struct weft_qp *qp, u32 *psn, u32 end, u32 *requests);
bool weft_transmit_oldest(struct weft_qp *qp);
bool weft_transmit_release(struct weft_qp *qp, struct weft_budget *budget);
bool weft_transmit_probe(struct weft_qp *qp);
void weft_transmit_describe(struct weft_qp *qp, const struct weft_slot *slot, u32 from, u32 to,
			    struct weft_tx_batch *batch);

/* weft_opdef.build */
void weft_build_read(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch);
void weft_build_cmp_swp(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch);
void weft_build_fetch_add(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch);
void weft_build_masked_cmp_swp(const struct weft_slot *slot, u32 packets,
			       struct weft_tx_batch *batch);
void weft_build_masked_fetch_add(const struct weft_slot *slot, u32 packets,
				 struct weft_tx_batch *batch);
void weft_build_flush(const struct weft_slot *slot, u32 packets, struct weft_tx_batch *batch);
void weft_build_atomic_write(const struct weft_slot *slot, u32 packets,
			     struct weft_tx_batch *batch);

#endif /* WEFT_ENGINE_TRANSMIT_H */
