/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Kernel memory that the process has mapped: one ring, or both rings of a QP.
 *
 * The memory of a destroyed QP stays mapped for a while. If the kernel uses it
 * again for another QP, it has the same id, and need not be mapped again. If
 * the kernel does not, the mapping does no harm.
 */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/weft-abi.h>

#include "lock.h"

struct weft_map {
	void *start;
	size_t size;
	/* the kernel's id of the memory; 0: the kernel does not use it again */
	uint64_t id;
	/*
	 * References. All of them are of one object, so its lock or its
	 * destruction serializes them.
	 */
	unsigned int users;
	/* where the map goes when @users is 0; NULL: it is unmapped */
	struct weft_map_cache *page_cache;
	struct weft_map *next;
};

/* The unused mappings of a context, the newest first. */
struct weft_map_cache {
	struct weft_lock lock;
	struct weft_map *first;
};

/*
 * Map the memory of a ring. @fd is the command file descriptor of the context.
 * Returns a map for weft_map_put(), or NULL and errno.
 */
struct weft_map *weft_map_new(int fd, const struct weft_ring_resp *where);

/*
 * weft_map_new() for memory with an @id, whose map may still be in the cache.
 * An @id of 0 names no memory.
 */
struct weft_map *weft_map_get(struct weft_map_cache *page_cache, int fd,
			      const struct weft_ring_resp *where, uint64_t id);

/* Drop a reference. With the last one the map is unmapped, or kept in its cache. */
void weft_map_put(struct weft_map *map);

void weft_map_cache_init(struct weft_map_cache *page_cache);

/* All maps are unused. */
void weft_map_cache_destroy(struct weft_map_cache *page_cache);

#endif /* WEFT_MAP_H */
