/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The CRC of T10-DIF. A kernel may be built without it, and then a device has no protection
 * information.
 */
#ifndef WEFT_COMPAT_T10DIF_H
#define WEFT_COMPAT_T10DIF_H

#include <linux/crc-t10dif.h>
#include <rdma/ib_verbs.h>

#if IS_ENABLED(CONFIG_CRC_T10DIF)
#define COMPAT_INTEGRITY_CAPS	IBK_INTEGRITY_HANDOVER
#define COMPAT_INTEGRITY_OPS						\
	.alloc_mr_integrity = weft_alloc_mr_integrity,			\
	.check_mr_status = weft_check_mr_status,			\
	.map_mr_sg_pi = weft_map_mr_sg_pi,

/* crc_t10dif() would do for a block in one piece, but is not exported by every kernel. */
#define compat_crc_t10dif crc_t10dif_update
#else
#define COMPAT_INTEGRITY_CAPS	0
#define COMPAT_INTEGRITY_OPS

/* There is no region whose blocks it could be called for. */
static inline u16 compat_crc_t10dif(u16 crc, const u8 *buffer, size_t length)
{
	return crc;
}
#endif

#endif /* WEFT_COMPAT_T10DIF_H */
