/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The subnet management agent of a node (IBA 14.2). */
#ifndef WEFT_FABRIC_SMA_H
#define WEFT_FABRIC_SMA_H

#include "fabric/node.h"

enum weft_sma_verdict {
	WEFT_SMA_REPLY,		/* send the response */
	/* There is no response: a wrong M_Key, or its way out was just disabled. */
	WEFT_SMA_DROP,
	/* Not for the agent: a response, a trap, or SMInfo while a subnet manager runs here. */
	WEFT_SMA_PASS,
};

/* Side effects of a MAD, which the caller completes after it has made the response. */
struct weft_sma_effect {
	struct weft_ibport	*port;		/* for weft_ibport_event(); NULL: none */
	u32			events;		/* enum weft_ibport_event */
	bool			bad_mkey;	/* wrong M_Key: raise trap 256 */
	bool			represses;	/* TrapRepress of the trap with the same TID */
};

enum weft_sma_verdict weft_sma_process(struct weft_ibnode *node, u8 in_port,
				       const struct ib_smp *in, struct ib_smp *out,
				       struct weft_sma_effect *effect);

#endif /* WEFT_FABRIC_SMA_H */
