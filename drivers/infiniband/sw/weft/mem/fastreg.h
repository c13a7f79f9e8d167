/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Fast registration of memory by work requests (IBA 10.6.4, ib_map_mr_sg()). */
#ifndef WEFT_MEM_FASTREG_H
#define WEFT_MEM_FASTREG_H

#include <linux/atomic.h>
#include <linux/types.h>

struct weft_accessor;
struct weft_piece;
struct weft_region;

/* The next registration of a region. */
struct weft_fastreg {
	atomic_t		state;		/* of the region, private to fastreg.c */
	const void		*pd;		/* the region has it only while it is valid */
	void			**blocks;	/* kernel address of each block, or NULL */
	/* instead of @blocks, for a list with gaps, or with protection information */
	struct weft_piece	*pieces;
	u32			max;		/* room in @blocks or @pieces */
	u32			num;		/* blocks or pieces in use */
	u32			page_shift;	/* log2 of the size of a block */
	u32			offset;		/* of the first byte in the first block */
	u64			length;
	struct rcu_head		rcu;		/* SEND with invalidate may look at it */
};

/* A REG_MR work request. */
struct weft_fastreg_request {
	u32	key;		/* of the region; the low eight bits may be outdated */
	u32	new_key;	/* has the same index */
	u32	access;		/* enum ib_access_flags */
	u64	iova;
};

int weft_fastreg_create(struct weft_region *region, const void *pd, u32 max, bool gaps);
void weft_fastreg_destroy(struct weft_region *region);
int weft_fastreg_register(const struct weft_accessor *who,
			  const struct weft_fastreg_request *request);
int weft_fastreg_invalidate(const struct weft_accessor *who, u32 key, bool wait);

#endif /* WEFT_MEM_FASTREG_H */
