/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Mkeys: keys of a process whose memory is a layout of other regions. To the core an mkey is a
 * memory window, which has the same life: weft_alloc_mw() and weft_dealloc_mw().
 */
#ifndef WEFT_OBJECT_MKEY_H
#define WEFT_OBJECT_MKEY_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct weft_accessor;
struct weft_layout_request;
struct weft_pi_request;
struct weft_region;

/* The method that reads the error of an mkey. */
extern const struct uapi_definition weft_mkey_uapi[];

void weft_mkey_init(struct weft_region *mkey, u32 max_entries);
int weft_mkey_configure(const struct weft_accessor *who, u32 key,
			const struct weft_layout_request *request,
			const struct weft_pi_request *signatures, gfp_t gfp);
void weft_mkey_part_ends(struct weft_region *leaf);
int weft_mkey_invalidate(const struct weft_accessor *who, u32 key, gfp_t gfp);

#endif /* WEFT_OBJECT_MKEY_H */
