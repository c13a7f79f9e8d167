/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access to payload: copies between spans, atomics, and writing back to persistent memory. No
 * other code touches payload.
 */
#ifndef WEFT_MEM_COPY_H
#define WEFT_MEM_COPY_H

#include <linux/lockdep.h>
#include <rdma/weft-abi.h>

#include "mem/lookup.h"
#include "mem/region.h"
#include "params.h"

/* A resolved scatter/gather list. */
struct weft_sgl {
	u64			length;	/* bytes that were checked */
	u32			num;	/* spans in use */
	/*
	 * Each span has a reference, and there is room for the longest list. The spans are @length
	 * bytes together, unless weft_sgl_cut() has made the list shorter.
	 */
	struct weft_span	*span;
};

/* A position in a list of spans. */
struct weft_iter {
	const struct weft_span	*span;	/* current one */
	u32			left;	/* spans left, including the current one */
	u64			offset;	/* bytes of the current span already done */
};

int weft_sgl_resolve_list(struct weft_sgl *sgl, const struct weft_accessor *who,
			  const struct weft_sge *sge, u32 num, u64 end, u32 access);

/*
 * Check and pin the elements of a work request. @sge is a private copy of the list, with at most
 * WEFT_MAX_SGE elements. @end: bytes of the list that the message uses; U64_MAX: all. @access:
 * IB_ACCESS_LOCAL_WRITE to write, 0 to read.
 *
 * Elements of length 0 are skipped, and so are the elements that the message does not reach:
 * programs post receives with elements that only long messages need. Returns 0, or an error of
 * weft_region_resolve(); @sgl is empty then.
 */
static __always_inline int weft_sgl_resolve(struct weft_sgl *sgl, const struct weft_accessor *who,
					    const struct weft_sge *sge, u32 num, u64 end,
					    u32 access)
{
	u64 length = num == 1 ? min_t(u64, sge->length, end) : 0;

	if (unlikely(!length || !weft_lookup_usual(who, sge->lkey, sge->addr, length, access,
						   sgl->span)))
		return weft_sgl_resolve_list(sgl, who, sge, num, end, access);
	sgl->length = length;
	sgl->num = 1;
	return 0;
}

/* Drop the references; the list is empty afterwards. */
static inline void weft_sgl_release(struct weft_sgl *sgl)
{
	const struct weft_span *span = sgl->span;
	u32 num = sgl->num;

	sgl->num = 0;
	sgl->length = 0;
	for (; num; num--, span++)
		weft_region_put(span->region);
}

static inline void weft_sgl_iter(const struct weft_sgl *sgl, struct weft_iter *iter)
{
	iter->span = sgl->span;
	iter->left = sgl->num;
	iter->offset = 0;
}

static inline void weft_span_iter(const struct weft_span *span, struct weft_iter *iter)
{
	iter->span = span;
	iter->left = 1;
	iter->offset = 0;
}

void weft_sgl_cut(struct weft_sgl *sgl, u64 end);
bool weft_iter_has_pi(const struct weft_iter *iter);
u64 weft_iter_left(const struct weft_iter *iter);
void weft_iter_skip(struct weft_iter *iter, u64 length);
void *weft_iter_piece(struct weft_iter *iter, u64 *length);
void weft_copy_piece(void *dst, const void *src, size_t length);
void weft_copy(struct weft_iter *dst, struct weft_iter *src, u64 length);
u64 weft_atomic_cmp_swp(const struct weft_span *span, u64 compare, u64 swap);
u64 weft_atomic_fetch_add(const struct weft_span *span, u64 add);
u64 weft_atomic_masked_cmp_swp(const struct weft_span *span, u64 compare, u64 compare_mask,
			       u64 swap, u64 swap_mask);
u64 weft_atomic_masked_fetch_add(const struct weft_span *span, u64 add, u64 ends);
bool weft_span_is_word(const struct weft_span *span);
void weft_atomic_write(const struct weft_span *span, u64 value);
void weft_write_back(struct weft_iter *iter, u64 length);

#endif /* WEFT_MEM_COPY_H */
