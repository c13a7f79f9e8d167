/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How many frames have matched rules. */
#ifndef WEFT_FLOW_COUNT_H
#define WEFT_FLOW_COUNT_H

#include <linux/atomic.h>

struct weft_flow_count {
	atomic64_t	packets;
	atomic64_t	bytes;
};

static inline void weft_flow_count_add(struct weft_flow_count *count, u32 packets, u32 bytes)
{
	atomic64_add(packets, &count->packets);
	atomic64_add(bytes, &count->bytes);
}

#endif /* WEFT_FLOW_COUNT_H */
