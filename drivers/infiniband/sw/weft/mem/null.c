// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory of ibv_alloc_null_mr(): reads return zeros, and writes have no effect.
 *
 * WEFT_NULL_KEY of every device names it, in every protection domain and for any address. There
 * is one region to read and one to write, so that nobody reads the data of another writer.
 */
#include "mem/null.h"

#include <linux/mm.h>

#include "mem/region.h"

/* One page serves for all addresses. */
static const u8 null_zeros[PAGE_SIZE] __aligned(PAGE_SIZE);
static u8 null_sink[PAGE_SIZE] __aligned(PAGE_SIZE);

static struct weft_piece null_source_piece = { .addr = (void *)null_zeros };
static struct weft_piece null_sink_piece = { .addr = null_sink };

/* The initial reference is never dropped. */
static struct weft_region null_source = {
	.refs = REFCOUNT_INIT(1),
	.length = U64_MAX,
	.num_pieces = 1,
	.pieces = &null_source_piece,
	.kind = WEFT_REGION_NULL,
};

static struct weft_region null_target = {
	.refs = REFCOUNT_INIT(1),
	.length = U64_MAX,
	.num_pieces = 1,
	.pieces = &null_sink_piece,
	.kind = WEFT_REGION_NULL,
};

/* Returns the region to write or to read, with a reference. Any context. */
struct weft_region *weft_null_get(bool write)
{
	struct weft_region *region = write ? &null_target : &null_source;

	refcount_inc(&region->refs);
	return region;
}

/* weft_region_at() for the null regions; the offset in the page is the same as in @addr. */
void *weft_null_at(const struct weft_region *region, u64 addr, u64 *contiguous)
{
	*contiguous = PAGE_SIZE - offset_in_page(addr);
	return region->pieces->addr + offset_in_page(addr);
}
