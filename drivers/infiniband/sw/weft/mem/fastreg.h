/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Fast registration: a region that work requests give memory to and take it from
 * (IBA 10.6.4, ib_map_mr_sg()).
 *
 * Such a region stays published, and is free, valid, or ending: no access begins
 * any more, one may not have ended yet. Only a valid one gets a reference from a
 * lookup, since a free one has none. So nothing is allocated, and no table is
 * written, for a work request. What is registered next is prepared aside, while
 * the region may still be valid.
 */
#ifndef WEFT_MEM_FASTREG_H
#define WEFT_MEM_FASTREG_H

#include <linux/atomic.h>
#include <linux/types.h>

struct weft_accessor;
struct weft_piece;
struct weft_region;

/**
 * struct weft_fastreg - what is registered next
 * @state: of the region, private
 * @pd: protection domain; that of the region while it is valid, which has none
 *	otherwise
 * @blocks: kernel address of each block, or NULL
 * @pieces: where each piece of a list with gaps begins, or NULL
 * @max: blocks or pieces there is room for
 * @num: blocks or pieces
 * @page_shift: log2 of the size of a block
 * @offset: of the first byte in the first block
 * @length: bytes
 * @rcu: freed after a grace period: a SEND with invalidate may just look at it
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

/**
 * struct weft_fastreg_request - a REG_MR work request
 * @key: of the region; the low eight bits may be outdated
 * @new_key: from now on; the index cannot change
 * @access: enum ib_access_flags
 * @iova: first address
 */
struct weft_fastreg_request {
	u32	key;
	u32	new_key;
	u32	access;
	u64	iova;
};

/**
 * weft_fastreg_create - make a region one for fast registration, free
 * @region: from weft_region_alloc(), not yet published
 * @pd: protection domain
 * @max: blocks or pieces
 * @gaps: it is pieces
 *
 * Return: 0 or -ENOMEM.
 */
int weft_fastreg_create(struct weft_region *region, const void *pd, u32 max, bool gaps);

/**
 * weft_fastreg_destroy - end a region for fast registration
 * @region: published, or never published; freed after a grace period
 *
 * Context: process, may sleep.
 */
void weft_fastreg_destroy(struct weft_region *region);

/**
 * weft_fastreg_register - carry a REG_MR work request out
 * @who: of the QP
 * @request: what the consumer wants
 *
 * Context: any.
 * Return: 0; -EINVAL: no such region, another PD, another index, not free, nothing
 * prepared, or access beyond the end of the address space; -EACCES: remote write
 * or atomic access without local write access (IBA 10.6.3.2).
 */
int weft_fastreg_register(const struct weft_accessor *who,
			  const struct weft_fastreg_request *request);

/**
 * weft_fastreg_invalidate - take the memory away
 * @who: of the QP: of the LOCAL_INV work request, or that received the SEND with
 *	invalidate
 * @key: current key of the region
 * @wait: for accesses to end: process context, may sleep
 *
 * Nobody touches the memory any more when it succeeds. A region that is free
 * already stays so.
 *
 * Return: 0; -ENOENT: the key is not one of a region for fast registration;
 * -EINVAL: another PD; -EBUSY: without @wait, an access has not ended yet: to be
 * tried again, none begins any more.
 */
int weft_fastreg_invalidate(const struct weft_accessor *who, u32 key, bool wait);

#endif /* WEFT_MEM_FASTREG_H */
