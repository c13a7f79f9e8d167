/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of a region that has no memory of its own: parts of other regions, in an interleaved
 * pattern (WEFT_REGION_MKEY).
 */
#ifndef WEFT_MEM_LAYOUT_H
#define WEFT_MEM_LAYOUT_H

#include <linux/types.h>

struct weft_accessor;
struct weft_region;
struct weft_sge;

/*
 * A part of the pattern. Each pass takes @length bytes of the leaf; @stride bytes lie between the
 * first bytes of two passes.
 */
struct weft_layout_part {
	struct weft_region	*leaf;	/* referenced */
	struct weft_layout	*layout; /* that has this part */
	struct hlist_node	beside;	/* in weft_region.parts of the leaf, while published */
	u64			addr;	/* of the first pass, in the leaf */
	u64			stride;
	u64			start;	/* offset in the pass */
	u64			length;
};

/* The passes follow each other; a list is a pattern of one pass. */
struct weft_layout {
	struct weft_region	*mkey;	/* that has this layout; set by weft_layout_publish() */
	u64			pass;	/* bytes of a pass, not 0 */
	u64			length;	/* bytes of all passes */
	u32			num;
	struct weft_layout_part	parts[];
};

/* A process asks for this layout. The request is a private copy, not checked yet. */
struct weft_layout_request {
	const struct weft_sge	*sge;	/* of the parts; if @interleaved, a skip is behind each */
	u32			num_sge;
	u32			passes;
	u32			access;	/* rights of the mkey */
	bool			interleaved;
};

struct weft_layout *weft_layout_create(const struct weft_accessor *who,
				       const struct weft_layout_request *request, u32 max,
				       gfp_t gfp);
bool weft_layout_publish(struct weft_region *mkey);
void weft_layout_unpublish(struct weft_region *mkey);
struct weft_region *weft_layout_user(struct weft_region *leaf);
void weft_layout_free(struct weft_layout *layout);
void *weft_layout_at(const struct weft_layout *layout, u64 offset, u64 *contiguous);

#endif /* WEFT_MEM_LAYOUT_H */
