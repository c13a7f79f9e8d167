// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/rss.h"

#include <linux/slab.h>

#include "object/qp.h"

/* Without queues, which the caller adds and references. */
struct weft_rss *weft_rss_alloc(u32 log_entries)
{
	const u32 entries = 1U << log_entries;
	struct weft_rss *rss;

	rss = kzalloc(struct_size(rss, queues, entries), GFP_KERNEL_ACCOUNT);
	if (rss)
		rss->mask = entries - 1;
	return rss;
}

/* @rss may be NULL. */
void weft_rss_free(struct weft_rss *rss)
{
	u32 i;

	if (!rss)
		return;
	for (i = 0; i <= rss->mask; i++)
		if (rss->queues[i])
			weft_qp_put(rss->queues[i]);
	kfree(rss);
}

/* The queue for a frame; it may have been destroyed. The caller has a reference to the RSS QP. */
struct weft_qp *weft_rss_pick(const struct weft_rss *rss, const void *frame, u32 length)
{
	struct weft_flow_key key;

	weft_flow_parse(&key, frame, min(length, WEFT_FLOW_HEADERS));
	return rss->queues[weft_flow_hash(&rss->hash, &key) & rss->mask];
}
