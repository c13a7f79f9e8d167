/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fast registration: regions whose memory is registered and invalidated by work requests (IBA
 * 10.6.4, ib_map_mr_sg()).
 *
 * Such a region stays published. It is free, valid, or ending: no access begins any more, but one
 * may not have ended yet. Lookups find only a valid region, because a free one has no reference
 * that they could add to. So a work request allocates nothing and does not write to the key
 * table. The next registration is prepared aside, possibly while the region is still valid.
 */
#ifndef WEFT_MEM_FASTREG_H
#define WEFT_MEM_FASTREG_H

#include <linux/atomic.h>
#include <linux/types.h>

struct weft_accessor;
struct weft_piece;
struct weft_region;

/**
 * struct weft_fastreg - the next registration of a region
 * @state: of the region, private to fastreg.c
 * @pd: protection domain; the region itself has it only while it is valid
 * @blocks: kernel address of each block, or NULL
 * @pieces: a list with gaps: its pieces; else NULL
 * @max: room in @blocks or @pieces
 * @num: blocks or pieces in use
 * @page_shift: log2 of the size of a block
 * @offset: of the first byte in the first block
 * @length: bytes
 * @rcu: to free it after a grace period, as a SEND with invalidate may be looking at it
 */
struct weft_fastreg {
	atomic_t		state;
	const void		*pd;
	void			**blocks;
	struct weft_piece	*pieces;
	u32			max;
	u32			num;
	u32			page_shift;
	u32			offset;
	u64			length;
	struct rcu_head		rcu;
};

/* A REG_MR work request. */
struct weft_fastreg_request {
	u32	key;		/* of the region; the low eight bits may be outdated */
	u32	new_key;	/* has the same index */
	u32	access;		/* enum ib_access_flags */
	u64	iova;
};

/*
 * Prepare an unpublished region for fast registration of up to @max blocks, or pieces if @gaps.
 * Returns 0 or -ENOMEM.
 */
int weft_fastreg_create(struct weft_region *region, const void *pd, u32 max, bool gaps);

/*
 * Unpublish the region, wait for the last access to end, and free it after a grace period. May
 * sleep.
 */
void weft_fastreg_destroy(struct weft_region *region);

/*
 * Execute a REG_MR work request of the QP @who. Returns 0; -EINVAL: no such region, wrong
 * protection domain, another index, not free, nothing prepared, or memory beyond the end of the
 * address space; -EACCES: remote write or atomic access without local write access (IBA 10.6.3.2).
 * Any context.
 */
int weft_fastreg_register(const struct weft_accessor *who,
			  const struct weft_fastreg_request *request);

/**
 * weft_fastreg_invalidate - take the memory of a region away
 * @who: the QP that executes LOCAL_INV or has received a SEND with invalidate
 * @key: current key of the region
 * @wait: may sleep until all accesses have ended
 *
 * After success nobody accesses the memory any more. A free region stays free.
 *
 * Return: 0; -ENOENT: the key does not name a region for fast registration; -EINVAL: wrong
 * protection domain or outdated key; -EBUSY (without @wait): an access has not ended yet, the
 * caller tries again. No access begins any more.
 */
int weft_fastreg_invalidate(const struct weft_accessor *who, u32 key, bool wait);

#endif /* WEFT_MEM_FASTREG_H */
