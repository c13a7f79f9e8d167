/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Signatures: what is behind each block of data in a region with protection information, a tuple of
 * T10 or a CRC. A signature is handled as one number of 64 bits, whose bytes are those that a mask
 * of verbs names by bits: bit 7 stands for the most significant one. What has fewer bytes begins
 * there.
 */
#ifndef WEFT_MEM_SIGNATURE_H
#define WEFT_MEM_SIGNATURE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/weft-abi.h>

/* Bytes of the longest signature. */
#define WEFT_SIGNATURE_MAX	8U

/* The tags in the number of a tuple. */
#define WEFT_SIGNATURE_APP	GENMASK_ULL(47, 32)
#define WEFT_SIGNATURE_REF	GENMASK_ULL(31, 0)

struct weft_signature_form {
	u32	size;	/* bytes; 0: there is no signature */
	u64	bits;	/* of the number that the signature has */
	u64	guard;	/* those that are computed of the data; the others are tags */
	bool	big_endian;
	u64	(*begin)(u64 seed);
	/* @done bytes of the block have been added before */
	u64	(*add)(u64 sum, const void *at, u32 length, u32 done);
	u64	(*end)(u64 sum);	/* the guard */
};

const struct weft_signature_form *weft_signature_form(enum weft_signature_type type);
u64 weft_signature_get(const struct weft_signature_form *form, const u8 *from);
void weft_signature_put(const struct weft_signature_form *form, u8 *to, u64 signature);

#endif /* WEFT_MEM_SIGNATURE_H */
