// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Why an access to memory was refused.
 *
 * The check of an access (mem/lookup.h) is on the path of every message and only says yes or no.
 * After a no this code looks again. A region that has come, gone or changed meanwhile makes the
 * answer less precise, not the check.
 */
#include "mem/blame.h"

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "mem/lookup.h"

/* Regions that are looked at for an unknown key: no more, as this runs in soft interrupts, too. */
#define BLAME_REGIONS	256

/* The same order of checks as weft_lookup_check(). */
static enum weft_blame_cause blame_check(const struct weft_region *region,
					 const struct weft_accessor *who, u64 addr, u64 length,
					 u32 access)
{
	if (region->pd != who->pd)
		return WEFT_BLAME_DOMAIN;
	if (weft_lookup_is_window(region) && !weft_lookup_window_open(region, who, access))
		return WEFT_BLAME_WINDOW;
	if (access & ~region->access)
		return WEFT_BLAME_RIGHT;
	return weft_region_contains(region, addr, length) ? WEFT_BLAME_NOTHING : WEFT_BLAME_RANGE;
}

/* Keys that weft_lookup_resolve() accepts without a region. */
static bool blame_is_free(const struct weft_accessor *who, u32 key, u32 access)
{
	return !(access & WEFT_LOOKUP_REMOTE) &&
	       ((!key && who->kernel) || key == WEFT_NULL_KEY);
}

/* How far @addr is from a region; 0: inside. */
static u64 blame_distance(const struct weft_region *region, u64 addr)
{
	if (addr < region->iova)
		return region->iova - addr;
	return addr - region->iova < region->length ? 0 : addr - region->iova - region->length + 1;
}

/* The region of the same protection domain whose memory is nearest to @addr. RCU read side. */
static const struct weft_region *blame_nearest(const struct weft_accessor *who, u64 addr)
{
	const struct weft_region *region, *nearest = NULL;
	unsigned long index;
	u32 left = BLAME_REGIONS;

	xa_for_each(&who->table->xa, index, region) {
		if (!left--)
			break;
		if (region->pd == who->pd && region->length &&
		    (!nearest || blame_distance(region, addr) < blame_distance(nearest, addr)))
			nearest = region;
	}
	return nearest;
}

/*
 * Look at a refused access again. A key that differs from a region's only in the bits that the
 * consumer chooses means that region.
 */
void weft_blame_access(const struct weft_accessor *who, u32 key, u64 addr, u64 length,
		       u32 access, struct weft_blame *blame)
{
	const struct weft_region *region;

	*blame = (struct weft_blame){};
	if (!length || blame_is_free(who, key, access))
		return;
	rcu_read_lock();
	region = xa_load(&who->table->xa, weft_lookup_index(key));
	if (region && region->key == key) {
		blame->cause = blame_check(region, who, addr, length, access);
	} else {
		blame->cause = WEFT_BLAME_KEY;
		region = region ?: blame_nearest(who, addr);
	}
	if (region && blame->cause) {
		blame->found = true;
		blame->key = region->key;
		blame->access = region->access;
		blame->addr = region->iova;
		blame->length = region->length;
		blame->by = region->by;
	}
	rcu_read_unlock();
}
