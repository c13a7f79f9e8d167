/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * As much of the kernel as drivers/infiniband/sw/weft/wire wants of it, for a program
 * that has those files in it. To be included in front of each.
 */
#ifndef TESTS_KERNEL_H
#define TESTS_KERNEL_H

#include <assert.h>
#include <endian.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define U32_MAX			UINT32_MAX
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define BIT(n)			(1U << (n))
#define GENMASK(high, low)	(~0U >> (31 - (high)) & ~0U << (low))
#define FIELD_GET(mask, value)	(((value) & (mask)) >> __builtin_ctz(mask))
#define FIELD_PREP(mask, value)	((u32)(value) << __builtin_ctz(mask) & (mask))

#define cpu_to_be16(value)	htobe16(value)
#define cpu_to_be32(value)	htobe32(value)
#define cpu_to_be64(value)	htobe64(value)
#define cpu_to_le16(value)	htole16(value)
#define cpu_to_le32(value)	htole32(value)
#define be16_to_cpu(value)	be16toh(value)
#define be32_to_cpu(value)	be32toh(value)
#define be64_to_cpu(value)	be64toh(value)

#define __uninitialized
#define unlikely(condition)	(condition)
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define __packed		__attribute__((__packed__))
#define __aligned(bytes)	__attribute__((__aligned__(bytes)))
#define __force
#define __init
#define __initconst
#define __ro_after_init
#define DEFINE_PER_CPU(type, name) type name
#define this_cpu_ptr(pointer)	(pointer)
/* as a soft interrupt, which keeps the CRCs of headers that it has seen */
#define in_softirq()		true
#define IS_ENABLED(option)	false
#define WEFT_EXPORT_FOR_TEST(symbol) static_assert(true, #symbol)

#define BITMAP_LONGS(bits)	(((bits) + 63) / 64)
#define DECLARE_BITMAP(name, bits) u64 name[BITMAP_LONGS(bits)]
#define for_each_set_bit(bit, map, bits) \
	for ((bit) = 0; (bit) < (bits); (bit)++) \
		if ((map)[(bit) / 64] >> (bit) % 64 & 1)

static inline void bitmap_zero(u64 *map, size_t bits)
{
	memset(map, 0, BITMAP_LONGS(bits) * sizeof(*map));
}

static inline void __set_bit(size_t bit, u64 *map)
{
	map[bit / 64] |= 1ULL << bit % 64;
}

static inline u32 hash_64(u64 value, int bits)
{
	return value * 0x61c8864680b583ebULL >> (64 - bits);
}

#define ilog2(value)		(31 - __builtin_clz(value))

static inline u32 crc32_le(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

static inline void compat_crc32_init(void)
{
}

static inline void compat_crc32_exit(void)
{
}

#endif /* TESTS_KERNEL_H */
