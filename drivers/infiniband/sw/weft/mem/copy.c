// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies between spans, atomics, and writing back to persistent memory.
 *
 * Programs poll memory that a peer writes: a flag of two, four or eight bytes, or the last byte of
 * a message. So a copy ascends. Its last aligned word (or the aligned parts of that word, if the
 * copy ends within it) is written by single stores, after a write barrier. The bulk may be copied
 * by a string instruction, which may store in any order (SDM 3A 9.2.4), so the last word is never
 * part of the bulk.
 */
#include "mem/copy.h"

#include <linux/atomic.h>
#include <linux/libnvdimm.h>
#include <linux/string.h>

#include "mem/pi.h"

/* With more words of eight bytes than this a string instruction is faster. */
#define COPY_BULK	8

/* Copy one @type with a single store, and advance. @dst is aligned to its size. */
#define copy_one(type, dst, src) do {			\
	type one;					\
							\
	memcpy(&one, src, sizeof(one));			\
	WRITE_ONCE(*(type *)(dst), one);		\
	(dst) += sizeof(one);				\
	(src) += sizeof(one);				\
} while (0)

/* Copy @words words, in any order, and advance. @words is not 0. */
static __always_inline void copy_bulk(void **dst, const void **src, size_t words)
{
#ifdef CONFIG_X86_64
	/* memcpy() of a variable length copies bytes on CPUs without fast short moves */
	asm volatile("rep movsq"
		     : "+D" (*dst), "+S" (*src), "+c" (words)
		     : : "memory");
#else
	memcpy(*dst, *src, words * sizeof(u64));
	*dst += words * sizeof(u64);
	*src += words * sizeof(u64);
#endif
}

/* Copy less than a word, with one store for each aligned part. @dst is aligned to eight. */
static __always_inline void copy_rest(void *dst, const void *src, size_t length)
{
	if (length & 4)
		copy_one(u32, dst, src);
	if (length & 2)
		copy_one(u16, dst, src);
	if (length & 1)
		copy_one(u8, dst, src);
}

/* Copy @length bytes to @dst, which is aligned to eight. */
static __always_inline void copy_aligned(void *dst, const void *src, size_t length)
{
	size_t words = length / sizeof(u64);

	if (words > COPY_BULK) {
		copy_bulk(&dst, &src, words - 1);
		words = 1;
	}
	for (; words > 1; words--)
		copy_one(u64, dst, src);
	/* a program that polls the last word sees all that comes before it */
	smp_wmb();
	if (words)
		copy_one(u64, dst, src);
	if (length % sizeof(u64)) {
		/* the same for the bytes after the last word */
		smp_wmb();
		copy_rest(dst, src, length);
	}
}

/* Copy up to the next word boundary of @dst, then the rest. */
static noinline void copy_unaligned(void *dst, const void *src, size_t length)
{
	void *const first = dst;

	/* these bytes may be the last ones, see copy_aligned() */
	smp_wmb();
	if ((uintptr_t)dst & 1)
		copy_one(u8, dst, src);
	if ((uintptr_t)dst & 2 && length - (dst - first) >= 2)
		copy_one(u16, dst, src);
	if ((uintptr_t)dst & 4 && length - (dst - first) >= 4)
		copy_one(u32, dst, src);
	copy_aligned(dst, src, length - (dst - first));
}

/* Copy the last, contiguous, piece of a copy. @length is not 0. */
static __always_inline void copy_piece(void *dst, const void *src, size_t length)
{
	if (likely(IS_ALIGNED((uintptr_t)dst, sizeof(u64))))
		copy_aligned(dst, src, length);
	else
		copy_unaligned(dst, src, length);
}

/* The same for mem/pi.c. */
void weft_copy_piece(void *dst, const void *src, size_t length)
{
	copy_piece(dst, src, length);
}

/* A weft_iter in a form that makes it cheap to go from block to block. */
struct copy_cursor {
	void	*at;		/* kernel address */
	u64	run;		/* contiguous bytes from @at on, at most to the end of the span */
	u64	left;		/* bytes of the span after these */
	void	**block;	/* the entry of @at in the region's blocks; NULL: it has none */
	u64	size;		/* of a block */
};

/* Go to the span of the next byte. There is one. */
static void copy_skip(struct weft_iter *iter)
{
	while (iter->offset == iter->span->length) {
		iter->span++;
		iter->left--;
		iter->offset = 0;
	}
}

/* The part of cursor_load() for memory without blocks. */
static void cursor_load_piece(struct copy_cursor *cursor, const struct weft_iter *iter)
{
	u64 contiguous;

	cursor->block = NULL;
	cursor->at = weft_region_at(iter->span, iter->span->addr + iter->offset, &contiguous);
	if (cursor->run > contiguous) {
		cursor->left = cursor->run - contiguous;
		cursor->run = contiguous;
	}
}

/* Set the cursor to the position of @iter. At least one byte is left. */
static void cursor_load(struct copy_cursor *cursor, struct weft_iter *iter)
{
	const struct weft_region *region;
	u64 at, offset;

	copy_skip(iter);
	region = iter->span->region;
	at = iter->span->addr + iter->offset;
	cursor->run = iter->span->length - iter->offset;
	cursor->left = 0;
	if (!region || !region->blocks) {
		cursor_load_piece(cursor, iter);
		return;
	}
	at -= region->base;
	cursor->size = 1ULL << region->page_shift;
	cursor->block = region->blocks + (at >> region->page_shift);
	offset = at & (cursor->size - 1);
	cursor->at = *cursor->block + offset;
	if (cursor->run > cursor->size - offset) {
		cursor->left = cursor->run - (cursor->size - offset);
		cursor->run = cursor->size - offset;
	}
}

static void cursor_store(const struct copy_cursor *cursor, struct weft_iter *iter)
{
	iter->offset = iter->span->length - cursor->left - cursor->run;
}

/* Advance by @length bytes, at most to the end of the run. More bytes follow. */
static __always_inline void cursor_advance(struct copy_cursor *cursor,
					   struct weft_iter *iter, u64 length)
{
	cursor->run -= length;
	if (cursor->run) {
		cursor->at += length;
	} else if (likely(cursor->left && cursor->block)) {
		cursor->at = *++cursor->block;
		cursor->run = min(cursor->size, cursor->left);
		cursor->left -= cursor->run;
	} else {
		cursor_store(cursor, iter);
		cursor_load(cursor, iter);
	}
}

/* Copy a piece that is not the last one, so the order of its stores does not matter. */
static __always_inline void copy_middle(void *dst, const void *src, size_t length)
{
	if (likely(IS_ALIGNED((uintptr_t)dst | length, sizeof(u64))))
		copy_bulk(&dst, &src, length / sizeof(u64));
	else
		copy_unaligned(dst, src, length);
}

static noinline void copy_pieces(struct weft_iter *dst, struct weft_iter *src,
				 u64 length)
{
	struct copy_cursor from, to;
	u64 piece;

	cursor_load(&to, dst);
	cursor_load(&from, src);
	for (;;) {
		piece = min(to.run, from.run);
		if (piece >= length)
			break;
		copy_middle(to.at, from.at, piece);
		length -= piece;
		cursor_advance(&to, dst, piece);
		cursor_advance(&from, src, piece);
	}
	copy_piece(to.at, from.at, length);
	to.run -= length;
	from.run -= length;
	cursor_store(&to, dst);
	cursor_store(&from, src);
}

/* Has any of the memory protection information? Only weft_copy() knows where such bytes are. */
bool weft_iter_has_pi(const struct weft_iter *iter)
{
	u32 i;

	for (i = 0; i < iter->left; i++)
		if (iter->span[i].region && iter->span[i].region->pi)
			return true;
	return false;
}

/* weft_copy() if some of the memory may have protection information: go from span to span. */
static noinline void copy_spans(struct weft_iter *dst, struct weft_iter *src, u64 length)
{
	u64 part;

	if (!weft_iter_has_pi(dst) && !weft_iter_has_pi(src)) {
		copy_pieces(dst, src, length);
		return;
	}
	for (; length; length -= part) {
		copy_skip(dst);
		copy_skip(src);
		part = min3(dst->span->length - dst->offset, src->span->length - src->offset,
			    length);
		weft_pi_copy(dst, src, part);
	}
}

/*
 * Shorten the list to @end bytes, as the rest of its memory cannot be accessed; @sgl->length stays
 * as it is.
 */
void weft_sgl_cut(struct weft_sgl *sgl, u64 end)
{
	struct weft_span *span = sgl->span;
	u32 i;

	for (i = 0; i < sgl->num && end; i++, span++) {
		span->length = min(span->length, end);
		end -= span->length;
	}
	for (; sgl->num > i; span++, sgl->num--)
		weft_region_put(span->region);
}
WEFT_EXPORT_FOR_TEST(weft_sgl_cut);

/* Bytes from the position to the end of the last span. */
u64 weft_iter_left(const struct weft_iter *iter)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < iter->left; i++)
		length += iter->span[i].length;
	return length - iter->offset;
}
WEFT_EXPORT_FOR_TEST(weft_iter_left);

/* At least @length bytes are left. */
void weft_iter_skip(struct weft_iter *iter, u64 length)
{
	while (length > iter->span->length - iter->offset) {
		length -= iter->span->length - iter->offset;
		iter->span++;
		iter->left--;
		iter->offset = 0;
	}
	iter->offset += length;
}
WEFT_EXPORT_FOR_TEST(weft_iter_skip);

/* The kernel address of the next byte, and in @length the contiguous bytes from there on. */
void *weft_iter_piece(struct weft_iter *iter, u64 *length)
{
	const struct weft_span *span;
	u64 contiguous;
	void *at;

	copy_skip(iter);
	span = iter->span;
	at = weft_region_at(span, span->addr + iter->offset, &contiguous);
	*length = min(span->length - iter->offset, contiguous);
	return at;
}

/*
 * Set @at to the address of a position if @length bytes, at least 1, are contiguous there and can
 * be found without a search; else return false.
 */
static __always_inline bool copy_at_once(const struct weft_iter *iter, u64 length, void **at)
{
	const struct weft_span *span = iter->span;
	const struct weft_region *region = span->region;
	u64 addr = span->addr + iter->offset, contiguous;

	if (unlikely(length > span->length - iter->offset))
		return false;
	if (likely(region && region->blocks)) {
		*at = weft_region_at_block(region, addr, &contiguous);
		return length <= contiguous;
	}
	*at = (void *)(uintptr_t)addr;
	return !region || !region->pieces;
}

/*
 * Copy bytes and advance both positions; each has at least @length bytes left.
 *
 * A consumer that polls the last byte of an RDMA WRITE finds all other bytes there when that byte
 * changes. IBA (o9-20) does not promise that, but every program relies on it.
 */
void weft_copy(struct weft_iter *dst, struct weft_iter *src, u64 length)
{
	void *to, *from;

	if (unlikely(!length))
		return;
	/* ODP memory behind the end of the list is not pinned */
	lockdep_assert(weft_iter_left(dst) >= length && weft_iter_left(src) >= length);
	/* most messages are small and contiguous */
	if (unlikely(!copy_at_once(dst, length, &to) || !copy_at_once(src, length, &from))) {
		if (static_branch_unlikely(&weft_pi_key.key))
			copy_spans(dst, src, length);
		else
			copy_pieces(dst, src, length);
		return;
	}
	dst->offset += length;
	src->offset += length;
	copy_piece(to, from, length);
}
WEFT_EXPORT_FOR_TEST(weft_copy);

/* The slow path of weft_sgl_resolve(). */
int weft_sgl_resolve_list(struct weft_sgl *sgl, const struct weft_accessor *who,
			  const struct weft_sge *sge, u32 num, u64 end, u32 access)
{
	struct weft_span *span = sgl->span;
	u64 length;
	int err;

	sgl->length = 0;
	sgl->num = 0;
	for (; num && end; num--, sge++) {
		length = min_t(u64, sge->length, end);
		if (!length)
			continue;
		err = weft_lookup_resolve(who, sge->lkey, sge->addr, length, access, false,
					  span++);
		if (unlikely(err)) {
			weft_sgl_release(sgl);
			return err;
		}
		end -= length;
		sgl->length += length;
		sgl->num++;
	}
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_sgl_resolve_list);

/* An aligned word is contiguous, as blocks are at least pages. */
static void *copy_word_at(const struct weft_span *span)
{
	u64 contiguous;

	return weft_region_at(span, span->addr, &contiguous);
}

/*
 * Atomics on the eight bytes of a span, which are aligned. They are atomic with respect to every
 * QP and to the CPUs (IB_ATOMIC_GLOB), and return the value before.
 */
u64 weft_atomic_cmp_swp(const struct weft_span *span, u64 compare, u64 swap)
{
	atomic64_t *word = copy_word_at(span);

	return atomic64_cmpxchg(word, compare, swap);
}
WEFT_EXPORT_FOR_TEST(weft_atomic_cmp_swp);

u64 weft_atomic_fetch_add(const struct weft_span *span, u64 add)
{
	atomic64_t *word = copy_word_at(span);

	return atomic64_fetch_add(add, word);
}
WEFT_EXPORT_FOR_TEST(weft_atomic_fetch_add);

/* Compare only the bits in @compare_mask, and swap only those in @swap_mask. */
u64 weft_atomic_masked_cmp_swp(const struct weft_span *span, u64 compare, u64 compare_mask,
			       u64 swap, u64 swap_mask)
{
	atomic64_t *word = copy_word_at(span);
	s64 before = atomic64_read(word);

	while (!((before ^ compare) & compare_mask) &&
	       !atomic64_try_cmpxchg(word, &before,
				     (before & ~swap_mask) | (swap & swap_mask)))
		;
	return before;
}
WEFT_EXPORT_FOR_TEST(weft_atomic_masked_cmp_swp);

/*
 * Without their top bits, the fields can be added as one number: the carry of a field ends up in
 * its own top bit. XOR then adds the top bits, and drops their carry.
 */
static u64 copy_add_fields(u64 a, u64 b, u64 ends)
{
	return ((a & ~ends) + (b & ~ends)) ^ ((a ^ b) & ends);
}

/* Add to several fields at once; no carry leaves a field, whose top bit is set in @ends. */
u64 weft_atomic_masked_fetch_add(const struct weft_span *span, u64 add, u64 ends)
{
	atomic64_t *word = copy_word_at(span);
	s64 before = atomic64_read(word);

	while (!atomic64_try_cmpxchg(word, &before, copy_add_fields(before, add, ends)))
		;
	return before;
}
WEFT_EXPORT_FOR_TEST(weft_atomic_masked_fetch_add);

/*
 * Are the first eight bytes of the span contiguous and aligned in memory, for one store? Never with
 * protection information, as the store would pass it by.
 */
bool weft_span_is_word(const struct weft_span *span)
{
	u64 contiguous;
	void *at;

	if (span->region && span->region->pi)
		return false;
	at = weft_region_at(span, span->addr, &contiguous);
	return IS_ALIGNED((uintptr_t)at, sizeof(u64)) && contiguous >= sizeof(u64);
}
WEFT_EXPORT_FOR_TEST(weft_span_is_word);

/*
 * Write the eight bytes of a span with one store, after all stores before it. @value is in the
 * byte order of the memory. The span satisfies weft_span_is_word().
 */
void weft_atomic_write(const struct weft_span *span, u64 value)
{
	u64 *word = copy_word_at(span);

	/* a program that sees the value sees all that was written before it */
	smp_store_release(word, value);
}
WEFT_EXPORT_FOR_TEST(weft_atomic_write);

/*
 * Write @length bytes of persistent memory back from the caches, and advance. They are persistent
 * when the function returns.
 */
void weft_write_back(struct weft_iter *iter, u64 length)
{
	u64 piece;
	void *at;

	while (length) {
		at = weft_iter_piece(iter, &piece);
		piece = min(piece, length);
		arch_wb_cache_pmem(at, piece);
		iter->offset += piece;
		length -= piece;
	}
	/* so far the writes have only been started */
	wmb();
}
WEFT_EXPORT_FOR_TEST(weft_write_back);
