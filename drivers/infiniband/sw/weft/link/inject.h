/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The actions of rules (object/inject.h) on packets that leave. */
#ifndef WEFT_LINK_INJECT_H
#define WEFT_LINK_INJECT_H

#include <linux/types.h>

struct weft_tx_batch;

u32 weft_inject_xmit(struct weft_tx_batch *batch, u32 (*xmit)(struct weft_tx_batch *batch));

#endif /* WEFT_LINK_INJECT_H */
