/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The queues over which an RSS QP spreads the frames that it receives. */
#ifndef WEFT_OBJECT_RSS_H
#define WEFT_OBJECT_RSS_H

#include "flow/hash.h"

struct weft_qp;

/*
 * The QP has a copy of its indirection table: frames that are being steered may outlive the table.
 * A reference keeps the memory of a queue, as with any QP.
 */
struct weft_rss {
	struct weft_flow_hash	hash;
	u32			mask;		/* entries - 1 */
	struct weft_qp		*queues[];	/* of WQs, referenced */
};

struct weft_rss *weft_rss_alloc(u32 log_entries);
void weft_rss_free(struct weft_rss *rss);
struct weft_qp *weft_rss_pick(const struct weft_rss *rss, const void *frame, u32 length);

#endif /* WEFT_OBJECT_RSS_H */
