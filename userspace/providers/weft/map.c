/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The kernel keeps no more memory than this for a context. */
#define MAP_CACHE_MAX	16

struct weft_map *weft_map_new(int fd, const struct weft_ring_resp *where)
{
	struct weft_map *map;

	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;

	map->start = mmap(NULL, where->mmap_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, where->mmap_key);
	if (map->start == MAP_FAILED) {
		free(map);
		return NULL;
	}
	map->size = where->mmap_size;
	map->users = 1;
	return map;
}

static void map_destroy(struct weft_map *map)
{
	munmap(map->start, map->size);
	free(map);
}

static struct weft_map *map_take(struct weft_map_cache *page_cache, uint64_t id)
{
	struct weft_map **at;
	struct weft_map *map;

	weft_lock(&page_cache->lock);
	for (at = &page_cache->first; *at && (*at)->id != id; at = &(*at)->next)
		;
	map = *at;
	if (map)
		*at = map->next;
	weft_unlock(&page_cache->lock);
	return map;
}

struct weft_map *weft_map_get(struct weft_map_cache *page_cache, int fd,
			      const struct weft_ring_resp *where, uint64_t id)
{
	struct weft_map *map;

	if (!id)
		return weft_map_new(fd, where);

	map = map_take(page_cache, id);
	if (map) {
		map->users = 1;
		return map;
	}

	map = weft_map_new(fd, where);
	if (map) {
		map->id = id;
		map->page_cache = page_cache;
	}
	return map;
}

/* Put a map into its cache. Returns the oldest one to be unmapped if the cache is full, or NULL. */
static struct weft_map *map_keep(struct weft_map *map)
{
	struct weft_map_cache *page_cache = map->page_cache;
	struct weft_map *oldest;
	struct weft_map **at;
	int num = 0;

	weft_lock(&page_cache->lock);
	map->next = page_cache->first;
	page_cache->first = map;
	for (at = &page_cache->first; *at && num < MAP_CACHE_MAX; at = &(*at)->next)
		num++;
	oldest = *at;
	*at = NULL;
	weft_unlock(&page_cache->lock);
	return oldest;
}

void weft_map_put(struct weft_map *map)
{
	if (--map->users)
		return;
	if (map->page_cache)
		map = map_keep(map);
	if (map)
		map_destroy(map);
}

void weft_map_cache_init(struct weft_map_cache *page_cache)
{
	weft_lock_init(&page_cache->lock, true);
	page_cache->first = NULL;
}

void weft_map_cache_destroy(struct weft_map_cache *page_cache)
{
	struct weft_map *map;

	while ((map = page_cache->first)) {
		page_cache->first = map->next;
		map_destroy(map);
	}
}
