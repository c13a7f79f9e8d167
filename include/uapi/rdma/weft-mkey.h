/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * Mkeys, and their signatures: what is behind each block of data in memory or on the wire. A part
 * of weft-abi.h.
 */
#ifndef WEFT_MKEY_USER_H
#define WEFT_MKEY_USER_H

#include <linux/types.h>

/* struct weft_signature.type: what is behind each block of data */
enum weft_signature_type {
	WEFT_SIGNATURE_NONE	= 0,
	/*
	 * eight bytes of T10-DIF: guard, application tag and reference tag, the most significant
	 * byte of each first. The guard is the CRC of T10, or the checksum of IP.
	 */
	WEFT_SIGNATURE_DIF_CRC	= 1,
	WEFT_SIGNATURE_DIF_CSUM	= 2,
	/* inverted CRCs, the least significant byte first: of Ethernet, of iSCSI, of NVMe */
	WEFT_SIGNATURE_CRC32	= 3,
	WEFT_SIGNATURE_CRC32C	= 4,
	WEFT_SIGNATURE_CRC64	= 5,
};

/* struct weft_signature.flags; but for the first one, of T10-DIF only */
enum weft_signature_flags {
	/* the computation begins with ones (else with zeros) */
	WEFT_SIGNATURE_SEED	= 1 << 0,
	/* the reference tag is one more in each block */
	WEFT_SIGNATURE_REF_REMAP = 1 << 1,
	/* a block whose application tag is 0xffff is not checked */
	WEFT_SIGNATURE_APP_ESCAPE = 1 << 2,
	/* only if the reference tag is 0xffffffff, too */
	WEFT_SIGNATURE_REF_ESCAPE = 1 << 3,
	WEFT_SIGNATURE_FLAGS	= (1 << 4) - 1,
};

/**
 * struct weft_signature - the signatures of an mkey in one domain
 * @type: enum weft_signature_type
 * @flags: enum weft_signature_flags
 * @app_tag: T10-DIF, else 0
 * @ref_tag: T10-DIF: of the first block, else 0
 */
struct weft_signature {
	__u8		type;
	__u8		flags;
	__u16		app_tag;
	__u32		ref_tag;
};

/* WEFT_MKEY_BLOCK: bytes of data in front of each signature */
enum weft_signature_block {
	WEFT_SIGNATURE_BLOCK_512 = 0,
	WEFT_SIGNATURE_BLOCK_520 = 1,
	WEFT_SIGNATURE_BLOCK_4048 = 2,
	WEFT_SIGNATURE_BLOCK_4096 = 3,
	WEFT_SIGNATURE_BLOCK_4160 = 4,
};

/*
 * struct weft_sqe.mkey.flags. The masks have a bit for each byte of a signature, the most
 * significant one for the most significant byte; a CRC of 32 bits has the upper half of a mask.
 */
#define WEFT_MKEY_INTERLEAVED	(1U << 0)
/* there are signatures, if the mkey has been created for them; the others need this one */
#define WEFT_MKEY_SIGNED	(1U << 1)
/* WEFT_MKEY_COPY_MASK is valid, and both domains have signatures of one structure */
#define WEFT_MKEY_COPY		(1U << 2)
/* the bytes that are checked */
#define WEFT_MKEY_CHECK_MASK	0xff00U
/* the bytes that are copied to the other domain; else those that the domains have alike */
#define WEFT_MKEY_COPY_MASK	0xff0000U
#define WEFT_MKEY_BLOCK		0xff000000U
#define WEFT_MKEY_FLAGS		0xffffff07U

/* struct weft_alloc_mw_req.flags */
enum weft_mkey_create_flags {
	/* if WEFT_UCONTEXT_SIGNATURES is set */
	WEFT_MKEY_SIGNATURES	= 1 << 0,
};

/* The most elements of a WEFT_SQE_MKEY, with those that have the bytes to skip. */
#define WEFT_MKEY_ENTRIES	32

/**
 * struct weft_alloc_mw_req - creation of an mkey, in place of a memory window of
 *	type 2
 * @comp_mask: 0, for extensions
 * @max_entries: the most elements that describe its memory, up to WEFT_MKEY_ENTRIES;
 *	those with the bytes to skip do not count
 * @flags: enum weft_mkey_create_flags
 *
 * Without this request, or with one that is all zeros, alloc_mw creates a memory
 * window. The key of an mkey, both lkey and rkey, never changes.
 */
struct weft_alloc_mw_req {
	__aligned_u64	comp_mask;
	__u32		max_entries;
	__u32		flags;
};

/* struct weft_mkey_error.type */
enum weft_mkey_error_type {
	WEFT_MKEY_NO_ERROR	= 0,
	WEFT_MKEY_BAD_GUARD	= 1,
	WEFT_MKEY_BAD_REF_TAG	= 2,
	WEFT_MKEY_BAD_APP_TAG	= 3,
};

/**
 * struct weft_mkey_error - the first wrong signature since the last WEFT_METHOD_MW_CHECK
 * @computed: the guard of the data, or the tag that was expected
 * @found: what the signature has in its place
 * @offset: of the block, in the stream of the domain that was checked
 * @type: enum weft_mkey_error_type; if it is 0 so are the others
 * @reserved_1c: 0
 */
struct weft_mkey_error {
	__aligned_u64	computed;
	__aligned_u64	found;
	__aligned_u64	offset;
	__u32		type;
	__u32		reserved_1c;
};

#endif /* WEFT_MKEY_USER_H */
