/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Congestion control: DCQCN, and the packets that it takes. */
#ifndef WEFT_ENGINE_CC_H
#define WEFT_ENGINE_CC_H

#include "object/cc.h"

struct weft_qp;
struct weft_tx;

/* The path of a QP, as DCQCN sees it. */
struct weft_cc_path {
	u32	line;	/* kbit/s of the port: no limit is above */
	u32	rate;	/* kbit/s at which the QP sends without a limit; used if it has none */
	u32	period;	/* us: the round trip, at least WEFT_DCE_TCP_RTT */
};

/* The arithmetic. */
void weft_dcqcn_advance(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now);
void weft_dcqcn_sent(struct weft_cc *cc, const struct weft_cc_path *path, u32 bytes);
void weft_dcqcn_congested(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now);
void weft_dcqcn_lost(struct weft_cc *cc, const struct weft_cc_path *path, ktime_t now);

void weft_cc_marked(struct weft_qp *qp, struct weft_tx *tx, u8 ce);
void weft_cc_notified(struct weft_qp *qp);
void weft_cc_lost(struct weft_qp *qp);
void weft_cc_advance(struct weft_qp *qp, u32 bytes);

#endif /* WEFT_ENGINE_CC_H */
