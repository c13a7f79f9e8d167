/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The memory of ibv_alloc_null_mr(): reads return zeros, and writes have no effect. */
#ifndef WEFT_MEM_NULL_H
#define WEFT_MEM_NULL_H

#include <linux/types.h>

struct weft_region;

struct weft_region *weft_null_get(bool write);
void *weft_null_at(const struct weft_region *region, u64 addr, u64 *contiguous);

#endif /* WEFT_MEM_NULL_H */
