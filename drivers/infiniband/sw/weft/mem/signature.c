// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "mem/signature.h"

#include <linux/nospec.h>
#include <linux/string.h>
#include <net/checksum.h>

#include "compat/signature.h"
#include "compat/t10dif.h"

static u64 seed_as_it_is(u64 seed)
{
	return seed;
}

/* The CRC of T10 is not inverted. */
static u64 dif_crc_add(u64 sum, const void *at, u32 length, u32 done)
{
	return compat_crc_t10dif(sum, at, length);
}

static u64 dif_crc_end(u64 sum)
{
	return sum << 48;
}

static u64 dif_csum_begin(u64 seed)
{
	return (__force u16)cpu_to_be16(seed);
}

static u64 dif_csum_add(u64 sum, const void *at, u32 length, u32 done)
{
	return (__force u32)csum_block_add((__force __wsum)sum, csum_partial(at, length, 0), done);
}

static u64 dif_csum_end(u64 sum)
{
	return (u64)be16_to_cpu((__force __be16)csum_fold((__force __wsum)sum)) << 48;
}

static u64 crc32_add(u64 sum, const void *at, u32 length, u32 done)
{
	return crc32_le(sum, at, length);
}

static u64 crc32c_add(u64 sum, const void *at, u32 length, u32 done)
{
	return crc32c(sum, at, length);
}

static u64 crc32_end(u64 sum)
{
	return (u64)~(u32)sum << 32;
}

/* compat_crc64() inverts before and after. */
static u64 crc64_begin(u64 seed)
{
	return ~seed;
}

static u64 crc64_add(u64 sum, const void *at, u32 length, u32 done)
{
	return compat_crc64(sum, at, length);
}

static u64 crc64_end(u64 sum)
{
	return sum;
}

#define DIF_FORM(_begin, _add, _end)						\
	{ .size = 8, .bits = U64_MAX, .guard = GENMASK_ULL(63, 48),		\
	  .big_endian = true, .begin = _begin, .add = _add, .end = _end }

static const struct weft_signature_form forms[] = {
	[WEFT_SIGNATURE_NONE] = {},
	[WEFT_SIGNATURE_DIF_CRC] = DIF_FORM(seed_as_it_is, dif_crc_add, dif_crc_end),
	[WEFT_SIGNATURE_DIF_CSUM] = DIF_FORM(dif_csum_begin, dif_csum_add, dif_csum_end),
	[WEFT_SIGNATURE_CRC32] = {
		.size = 4, .bits = GENMASK_ULL(63, 32), .guard = GENMASK_ULL(63, 32),
		.begin = seed_as_it_is, .add = crc32_add, .end = crc32_end,
	},
	[WEFT_SIGNATURE_CRC32C] = {
		.size = 4, .bits = GENMASK_ULL(63, 32), .guard = GENMASK_ULL(63, 32),
		.begin = seed_as_it_is, .add = crc32c_add, .end = crc32_end,
	},
	[WEFT_SIGNATURE_CRC64] = {
		.size = 8, .bits = U64_MAX, .guard = U64_MAX,
		.begin = crc64_begin, .add = crc64_add, .end = crc64_end,
	},
};

/* NULL: there is no such type. */
const struct weft_signature_form *weft_signature_form(enum weft_signature_type type)
{
	if (type >= ARRAY_SIZE(forms))
		return NULL;
	/* a process chooses @type */
	return &forms[array_index_nospec(type, ARRAY_SIZE(forms))];
}
WEFT_EXPORT_FOR_TEST(weft_signature_form);

u64 weft_signature_get(const struct weft_signature_form *form, const u8 *from)
{
	__le64 low_first = 0;
	__be64 high_first;

	if (form->big_endian) {
		memcpy(&high_first, from, sizeof(high_first));
		return be64_to_cpu(high_first);
	}
	memcpy((u8 *)&low_first + sizeof(low_first) - form->size, from, form->size);
	return le64_to_cpu(low_first);
}
WEFT_EXPORT_FOR_TEST(weft_signature_get);

void weft_signature_put(const struct weft_signature_form *form, u8 *to, u64 signature)
{
	const __le64 low_first = cpu_to_le64(signature);
	const __be64 high_first = cpu_to_be64(signature);

	if (form->big_endian)
		memcpy(to, &high_first, sizeof(high_first));
	else
		memcpy(to, (const u8 *)&low_first + sizeof(low_first) - form->size, form->size);
}
WEFT_EXPORT_FOR_TEST(weft_signature_put);
