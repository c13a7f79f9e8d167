/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory of the kernel that is mapped here: one ring, or both of a QP.
 *
 * That of a QP that was destroyed stays mapped for a while: the kernel may give
 * it to another one, and says so by its id. If it does not, no harm is done.
 */
#ifndef WEFT_MAP_H
#define WEFT_MAP_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/weft-abi.h>

/**
 * struct weft_map - memory that is mapped
 * @start: where
 * @size: bytes
 * @id: what the kernel calls it, 0: never the same again
 * @users: rings in it, and whoever else has a reference; those of one object,
 *	which its destruction or a lock serialises
 * @page_cache: where it goes when there are none, or NULL
 * @next: in @page_cache
 */
struct weft_map {
	void *start;
	size_t size;
	uint64_t id;
	unsigned int users;
	struct weft_map_cache *page_cache;
	struct weft_map *next;
};

/**
 * struct weft_map_cache - mappings of a context that nobody uses
 * @lock: protects the list
 * @first: the one that came last
 */
struct weft_map_cache {
	pthread_spinlock_t lock;
	struct weft_map *first;
};

/**
 * weft_map_new - map memory
 * @fd: command file descriptor of the context
 * @where: a ring in it
 *
 * Return: the map, for weft_map_put(); NULL and errno.
 */
struct weft_map *weft_map_new(int fd, const struct weft_ring_resp *where);

/**
 * weft_map_get - map memory, if it is not mapped still
 * @page_cache: of the context
 * @fd: command file descriptor of the context
 * @where: a ring in it
 * @id: of the memory, 0: it has none
 *
 * Return: the map, for weft_map_put(); NULL and errno.
 */
struct weft_map *weft_map_get(struct weft_map_cache *page_cache, int fd,
			      const struct weft_ring_resp *where, uint64_t id);

/**
 * weft_map_put - drop a reference
 * @map: unmapped or kept with the last one
 */
void weft_map_put(struct weft_map *map);

void weft_map_cache_init(struct weft_map_cache *page_cache);

/* Nobody uses any of its maps. */
void weft_map_cache_destroy(struct weft_map_cache *page_cache);

#endif /* WEFT_MAP_H */
