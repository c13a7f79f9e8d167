/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets that are processed, or dropped: each is counted, and a dropped one is traced. */
#ifndef WEFT_ENGINE_DROP_H
#define WEFT_ENGINE_DROP_H

#include "engine/pkt.h"
#include "engine/verdict.h"
#include "object/qp.h"
#include "stats.h"
#include "trace.h"

/* Count a packet that is dropped, and trace it. @whose: as in weft_stats_inc(). Context: any. */
#define weft_stats_drop(whose, hdr, why)		\
	do {						\
		enum weft_stat why_ = (why);		\
							\
		weft_stats_inc(whose, why_);		\
		trace_weft_drop(hdr, why_);		\
	} while (0)

/* The same for each packet of a run; it is traced once. */
#define weft_stats_drop_run(whose, pkt, why)			\
	do {							\
		const struct weft_pkt *pkt_ = (pkt);		\
								\
		weft_stats_add(whose, why, pkt_->psns);		\
		trace_weft_drop(&pkt_->hdr, why);		\
	} while (0)

/* The requester or responder of @qp has processed a packet. One of its turns is owned. */
static inline void weft_pkt_count(struct weft_qp *qp, const struct weft_pkt *pkt)
{
	weft_stats_add(qp, WEFT_STAT_RX_PACKETS, pkt->psns);
	if (unlikely(pkt->psns > 1))
		weft_stats_add(qp, WEFT_STAT_RX_MERGED, pkt->psns - 1);
}

/*
 * The requester or responder of @qp drops a packet without looking into it. One that has waited
 * for others has been counted already.
 */
static inline enum weft_verdict weft_pkt_reject(struct weft_qp *qp, const struct weft_pkt *pkt,
						enum weft_stat why)
{
	if (!pkt->counted)
		weft_stats_drop_run(qp, pkt, why);
	return WEFT_DROP;
}

/*
 * Free a packet that neither requester nor responder has looked at. @dev counts it; NULL: no device
 * does.
 */
static inline void weft_pkt_drop(struct weft_pkt *pkt, struct weft_dev *dev, enum weft_stat why)
{
	if (dev)
		weft_stats_add(dev, why, pkt->psns);
	trace_weft_drop(&pkt->hdr, why);
	/* kfree_skb(), not consume_skb(): tools that watch for drops see it */
	kfree_skb(pkt->skb);
}

#endif /* WEFT_ENGINE_DROP_H */
