/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The only code that touches payload: copies between spans, atomics, and the way
 * to persistence.
 */
#ifndef WEFT_MEM_COPY_H
#define WEFT_MEM_COPY_H

#include <linux/lockdep.h>
#include <rdma/weft-abi.h>

#include "mem/lookup.h"
#include "mem/region.h"
#include "params.h"

/**
 * struct weft_sgl - a resolved scatter/gather list
 * @length: bytes of the elements that were checked
 * @num: spans in use
 * @span: each with a reference, see struct weft_span; room for the longest list it is
 *	used for. Together they are @length bytes, unless weft_sgl_cut() took some away.
 */
struct weft_sgl {
	u64			length;
	u32			num;
	struct weft_span	*span;
};

/**
 * struct weft_iter - a position in a list of spans
 * @span: current
 * @left: spans left, the current one included
 * @offset: bytes of the current span already done
 */
struct weft_iter {
	const struct weft_span	*span;
	u32			left;
	u64			offset;
};

/* What weft_sgl_resolve() does for a list that is not as most of them are. */
int weft_sgl_resolve_list(struct weft_sgl *sgl, const struct weft_accessor *who,
			  const struct weft_sge *sge, u32 num, u64 end, u32 access);

/**
 * weft_sgl_resolve - check and pin each element of a work request
 * @sgl: result; nothing is pinned on failure
 * @who: on whose behalf
 * @sge: private copy of the list
 * @num: elements, at most WEFT_MAX_SGE
 * @end: bytes of the list that a message takes, U64_MAX: all
 * @access: IB_ACCESS_LOCAL_WRITE to write, 0 to read
 *
 * Elements of length 0 are left out, and so is the memory that a message does not get to:
 * programs post receives with elements that only long messages need.
 *
 * Return: 0 or what weft_region_resolve() returned.
 */
static __always_inline int weft_sgl_resolve(struct weft_sgl *sgl,
					    const struct weft_accessor *who,
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

/**
 * weft_sgl_release - drop the references of a list
 * @sgl: resolved; is empty afterwards
 */
static inline void weft_sgl_release(struct weft_sgl *sgl)
{
	const struct weft_span *span = sgl->span;

	for (; sgl->num; sgl->num--, span++)
		weft_region_put(span->region);
	sgl->length = 0;
}

/**
 * weft_sgl_iter - start at the first byte of a list
 * @sgl: resolved
 * @iter: result
 */
static inline void weft_sgl_iter(const struct weft_sgl *sgl, struct weft_iter *iter)
{
	iter->span = sgl->span;
	iter->left = sgl->num;
	iter->offset = 0;
}

/**
 * weft_span_iter - start at the first byte of one span
 * @span: resolved
 * @iter: result
 */
static inline void weft_span_iter(const struct weft_span *span, struct weft_iter *iter)
{
	iter->span = span;
	iter->left = 1;
	iter->offset = 0;
}

/**
 * weft_sgl_cut - drop the end of a list, which may not be accessed
 * @sgl: resolved
 * @end: bytes of it that stay; @sgl->length says what it said
 */
void weft_sgl_cut(struct weft_sgl *sgl, u64 end);

/**
 * weft_iter_left - how many bytes may be accessed from a position on
 * @iter: any
 *
 * Return: bytes, to the end of the last span.
 */
u64 weft_iter_left(const struct weft_iter *iter);

/**
 * weft_iter_skip - advance a position
 * @iter: at least @length bytes left
 * @length: bytes
 */
void weft_iter_skip(struct weft_iter *iter, u64 length);

/**
 * weft_iter_piece - where the next bytes are
 * @iter: at least a byte left
 * @length: result: how many there are in one piece
 *
 * Return: kernel address of the first one.
 */
void *weft_iter_piece(struct weft_iter *iter, u64 *length);

/**
 * weft_copy - copy bytes from one position to another, advance both
 * @dst: at least @length bytes left
 * @src: at least @length bytes left
 * @length: bytes
 *
 * Bytes become visible in ascending order at the granularity of eight bytes
 * for the last eight: a consumer that polls the last byte of an RDMA WRITE
 * finds all the others (IBA o9-20 leaves that open, every program relies on
 * it).
 */
void weft_copy(struct weft_iter *dst, struct weft_iter *src, u64 length);

/**
 * weft_atomic_cmp_swp - compare and swap eight bytes of a span
 * @span: eight bytes at an address that is a multiple of eight
 * @compare: expected value
 * @swap: new value
 *
 * Atomic with respect to every QP and to the CPUs (IB_ATOMIC_GLOB).
 *
 * Return: the value before.
 */
u64 weft_atomic_cmp_swp(const struct weft_span *span, u64 compare, u64 swap);

/**
 * weft_atomic_fetch_add - add to eight bytes of a span
 * @span: eight bytes at an address that is a multiple of eight
 * @add: addend
 *
 * Return: the value before.
 */
u64 weft_atomic_fetch_add(const struct weft_span *span, u64 add);

/**
 * weft_atomic_masked_cmp_swp - compare and swap some bits of eight bytes of a span
 * @span: eight bytes at an address that is a multiple of eight
 * @compare: expected value
 * @compare_mask: bits of it that count
 * @swap: new value
 * @swap_mask: bits of it that are stored
 *
 * Return: the value before.
 */
u64 weft_atomic_masked_cmp_swp(const struct weft_span *span, u64 compare, u64 compare_mask,
			       u64 swap, u64 swap_mask);

/**
 * weft_atomic_masked_fetch_add - add to fields of eight bytes of a span
 * @span: eight bytes at an address that is a multiple of eight
 * @add: addends, each where its field is
 * @ends: uppermost bit of each field: no carry leaves it
 *
 * Return: the value before.
 */
u64 weft_atomic_masked_fetch_add(const struct weft_span *span, u64 add, u64 ends);

/**
 * weft_span_is_word - whether one store can write eight bytes of a span
 * @span: at least eight bytes
 *
 * Return: true when they are aligned in memory, and in one piece.
 */
bool weft_span_is_word(const struct weft_span *span);

/**
 * weft_atomic_write - write eight bytes of a span with one store
 * @span: weft_span_is_word()
 * @value: as it lies in memory
 *
 * After all stores before it.
 */
void weft_atomic_write(const struct weft_span *span, u64 value);

/**
 * weft_write_back - make what was stored persistent, advance
 * @iter: in persistent memory, at least @length bytes left
 * @length: bytes
 *
 * From the caches to what keeps its content without power. On return they are
 * there.
 */
void weft_write_back(struct weft_iter *iter, u64 length);

#endif /* WEFT_MEM_COPY_H */
