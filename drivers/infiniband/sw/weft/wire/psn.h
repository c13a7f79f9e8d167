/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Arithmetic of packet and message sequence numbers: 24 bits that wrap.
 *
 * A number comes before another if it is 1 to 2^23 steps (half of the circle) behind it. Exactly
 * half counts as behind, so a responder's duplicate region has 2^23 numbers and the region ahead
 * of it 2^23 - 1 (IBA 9.7).
 */
#ifndef WEFT_WIRE_PSN_H
#define WEFT_WIRE_PSN_H

#include <linux/bits.h>
#include <linux/types.h>

#define WEFT_PSN_MASK	GENMASK(23, 0)

/* A negative @count steps back. */
static inline u32 weft_psn_add(u32 psn, u32 count)
{
	return (psn + count) & WEFT_PSN_MASK;
}

/* Signed distance from @from to @to: -2^23 to 2^23 - 1. */
static inline s32 weft_psn_diff(u32 to, u32 from)
{
	return (s32)((to - from) << 8) >> 8;
}

static inline bool weft_psn_before(u32 a, u32 b)
{
	return weft_psn_diff(a, b) < 0;
}

/* Is @psn one of the @count (0 to 2^24) numbers from @first on? */
static inline bool weft_psn_in_window(u32 psn, u32 first, u32 count)
{
	return ((psn - first) & WEFT_PSN_MASK) < count;
}

#endif /* WEFT_WIRE_PSN_H */
