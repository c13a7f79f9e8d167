/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory that is none (ibv_alloc_null_mr()): what is read is 0, what is written is gone.
 *
 * One key of every device names it, WEFT_NULL_KEY, in every protection domain, for any
 * address. It is two regions, so that nobody reads what another one has written.
 */
#ifndef WEFT_MEM_NULL_H
#define WEFT_MEM_NULL_H

#include <linux/types.h>

struct weft_region;

/**
 * weft_null_get - the region of an access to no memory
 * @write: to be written, else to be read
 *
 * Context: any.
 * Return: the region with a reference.
 */
struct weft_region *weft_null_get(bool write);

/**
 * weft_null_at - weft_region_at() of it
 * @region: from weft_null_get()
 * @addr: any
 * @contiguous: result: bytes that follow in one piece
 *
 * Return: kernel address, as far into its page as @addr is.
 */
void *weft_null_at(const struct weft_region *region, u64 addr, u64 *contiguous);

#endif /* WEFT_MEM_NULL_H */
