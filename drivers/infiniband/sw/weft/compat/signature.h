/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The CRCs of signatures, under one name. A kernel may be built without one of them, and then a
 * process's mkeys have no signatures (COMPAT_SIGNATURES).
 */
#ifndef WEFT_COMPAT_SIGNATURE_H
#define WEFT_COMPAT_SIGNATURE_H

#include <linux/crc32.h>
#include <linux/crc32c.h>
#include <linux/crc64.h>

#ifdef COMPAT_HAS_CRC64_NVME
#define COMPAT_CRC64	IS_ENABLED(CONFIG_CRC64)
#define COMPAT_CRC32C	1
#define compat_crc64	crc64_nvme
#else
#define COMPAT_CRC64	IS_ENABLED(CONFIG_CRC64_ROCKSOFT)
#define COMPAT_CRC32C	IS_ENABLED(CONFIG_LIBCRC32C)
#define compat_crc64	crc64_rocksoft_update
#endif

#define COMPAT_SIGNATURES (IS_ENABLED(CONFIG_CRC_T10DIF) && COMPAT_CRC32C && COMPAT_CRC64)

/* There is no region whose blocks the functions that are missing could be called for. */
#if !COMPAT_SIGNATURES
#undef compat_crc64

static inline u64 compat_crc64(u64 crc, const void *at, size_t length)
{
	return crc;
}

#define crc32c(crc, at, length) (crc)
#endif

#endif /* WEFT_COMPAT_SIGNATURE_H */
