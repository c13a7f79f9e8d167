/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The end of a packet that goes no further: it is counted, and told of.
 */
#ifndef WEFT_ENGINE_DROP_H
#define WEFT_ENGINE_DROP_H

#include "engine/pkt.h"
#include "stats.h"
#include "trace.h"

/**
 * weft_stats_drop - count a packet that is dropped, and trace it
 * @whose: as of weft_stats_inc()
 * @hdr: its headers
 * @why: counter
 *
 * Context: any.
 */
#define weft_stats_drop(whose, hdr, why)		\
	do {						\
		enum weft_stat why_ = (why);		\
							\
		weft_stats_inc(whose, why_);		\
		trace_weft_drop(hdr, why_);		\
	} while (0)

/* Drop a packet that no requester or responder has looked at. @dev counts it, if there is one. */
static inline void weft_pkt_drop(struct weft_pkt *pkt, struct weft_dev *dev, enum weft_stat why)
{
	if (dev)
		weft_stats_inc(dev, why);
	trace_weft_drop(&pkt->hdr, why);
	/* not consumed: tools that watch for drops see it */
	kfree_skb(pkt->skb);
}

#endif /* WEFT_ENGINE_DROP_H */
