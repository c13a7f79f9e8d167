/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Arithmetic of packet and message sequence numbers: 24 bits that wrap.
 *
 * Of two numbers the one that is less than half of the circle (2^23) behind
 * the other comes first. Exactly half counts as behind, so that the duplicate
 * region of a responder has 2^23 numbers and what is ahead of it 2^23 - 1
 * (IBA 9.7).
 */
#ifndef WEFT_WIRE_PSN_H
#define WEFT_WIRE_PSN_H

#include <linux/bits.h>
#include <linux/types.h>

#define WEFT_PSN_MASK	GENMASK(23, 0)

/**
 * weft_psn_add - step forward
 * @psn: sequence number
 * @count: steps; a negative number of them steps back
 *
 * Context: Any.
 * Return: The number @count steps behind @psn.
 */
static inline u32 weft_psn_add(u32 psn, u32 count)
{
	return (psn + count) & WEFT_PSN_MASK;
}

/**
 * weft_psn_diff - signed distance
 * @to: sequence number
 * @from: sequence number
 *
 * Context: Any.
 * Return: Steps from @from to @to: -2^23 to 2^23 - 1.
 */
static inline s32 weft_psn_diff(u32 to, u32 from)
{
	return (s32)((to - from) << 8) >> 8;
}

/**
 * weft_psn_before - compare two sequence numbers
 * @a: sequence number
 * @b: sequence number
 *
 * Context: Any.
 * Return: Whether @a comes before @b.
 */
static inline bool weft_psn_before(u32 a, u32 b)
{
	return weft_psn_diff(a, b) < 0;
}

/**
 * weft_psn_in_window - is a number in a range that may wrap?
 * @psn: sequence number
 * @first: first number of the range
 * @count: numbers in the range, 0 to 2^24
 *
 * Context: Any.
 * Return: Whether @psn is one of the @count numbers from @first on.
 */
static inline bool weft_psn_in_window(u32 psn, u32 first, u32 count)
{
	return ((psn - first) & WEFT_PSN_MASK) < count;
}

#endif /* WEFT_WIRE_PSN_H */
