/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A fast crc32_le(). Before 6.14 only the crypto API has the implementation that uses the
 * processor's carry-less multiplication.
 */
#ifndef WEFT_COMPAT_CRC32_H
#define WEFT_COMPAT_CRC32_H

#include <linux/crc32.h>

#ifdef COMPAT_HAS_FAST_CRC32
static inline void compat_crc32_init(void)
{
}

static inline void compat_crc32_exit(void)
{
}
#else
#include <crypto/hash.h>

/* The length that is worth the call and the use of vector registers. */
#define COMPAT_CRC32_MIN	256

static struct crypto_shash *compat_crc32;

static inline void compat_crc32_init(void)
{
	struct crypto_shash *shash = crypto_alloc_shash("crc32", 0, 0);

	if (IS_ERR(shash))
		return;
	if (crypto_shash_descsize(shash) == sizeof(u32))
		compat_crc32 = shash;
	else
		crypto_free_shash(shash);
}

static inline void compat_crc32_exit(void)
{
	crypto_free_shash(compat_crc32);
}

static inline u32 compat_crc32_le(u32 crc, const void *data, size_t len)
{
	u8 buffer[sizeof(struct shash_desc) + sizeof(u32)]
		__aligned(__alignof__(struct shash_desc));
	struct shash_desc *desc = (struct shash_desc *)buffer;
	u32 *state = shash_desc_ctx(desc);

	if (len < COMPAT_CRC32_MIN || !compat_crc32)
		return crc32_le(crc, data, len);
	desc->tfm = compat_crc32;
	*state = crc;
	/* cannot fail, as the algorithm has no key */
	crypto_shash_update(desc, data, len);
	return *state;
}

#define crc32_le compat_crc32_le
#endif

#endif /* WEFT_COMPAT_CRC32_H */
