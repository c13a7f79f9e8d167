/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <string.h>

#include "ring.h"

/*
 * The headers of all absent and all lost rings. They spare the data path a test
 * for NULL: without entries such a ring is always full and always empty. Only
 * weft_ring_arm() writes to them, which does no harm.
 */
static struct weft_ring_hdr absent_hdr;
static struct weft_ring_hdr lost_hdr = { .flags = WEFT_RING_DEAD };

static void ring_without_entries(struct weft_ring *ring,
				 struct weft_ring_hdr *hdr)
{
	ring->hdr = hdr;
	ring->slots = NULL;
	ring->entries = 0;
	ring->mask = 0;
	ring->stride = 0;
}

void weft_ring_absent(struct weft_ring *ring)
{
	memset(ring, 0, sizeof(*ring));
	ring_without_entries(ring, &absent_hdr);
}

/* The mapping stays until weft_ring_unmap(): other threads may still use it. */
void weft_ring_lost(struct weft_ring *ring)
{
	ring_without_entries(ring, &lost_hdr);
}

void weft_ring_place(struct weft_ring *ring, struct weft_map *map,
		     const struct weft_ring_resp *where)
{
	if (!where->mmap_size) {
		weft_ring_absent(ring);
		return;
	}

	ring->hdr = (void *)((uint8_t *)map->start + where->offset);
	ring->slots = (uint8_t *)ring->hdr + WEFT_RING_HDR_SIZE;
	ring->entries = where->entries;
	ring->mask = where->entries - 1;
	ring->stride = where->stride;
	ring->map = map;
	map->users++;
}

int weft_ring_map(struct weft_ring *ring, int fd,
		  const struct weft_ring_resp *where)
{
	struct weft_map *map;

	if (!where->mmap_size) {
		weft_ring_absent(ring);
		return 0;
	}

	map = weft_map_new(fd, where);
	if (!map)
		return errno;
	weft_ring_place(ring, map, where);
	weft_map_put(map);
	return 0;
}

void weft_ring_unmap(struct weft_ring *ring)
{
	if (ring->map)
		weft_map_put(ring->map);
	weft_ring_absent(ring);
}

int weft_ring_replace(struct weft_ring *ring, int fd,
		      const struct weft_ring_resp *where)
{
	struct weft_ring fresh;
	int ret;

	ret = weft_ring_map(&fresh, fd, where);
	weft_ring_unmap(ring);
	if (ret)
		weft_ring_lost(ring);
	else
		*ring = fresh;
	return ret;
}
