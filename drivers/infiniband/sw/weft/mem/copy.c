// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies between spans, atomics, and the way to persistence.
 *
 * Programs poll memory that a peer writes, a flag of two, four or eight bytes
 * or the last byte of a message. So a copy ascends, each aligned word (or
 * aligned part of it, at the ends) is stored at once, and the last word by
 * itself after a write barrier. The bulk is no such store: a string
 * instruction may store in any order (SDM 3A 9.2.4), which is why the last
 * word never belongs to it.
 */
#include "mem/copy.h"

#include <linux/atomic.h>
#include <linux/libnvdimm.h>
#include <linux/string.h>

/* Words of eight bytes from which on a string instruction is shorter. */
#define COPY_BULK	8

/* Load and store one piece; @type is the size, @dst is aligned to it. */
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
	/* a variable memcpy() is byte-wise on CPUs without fast short moves */
	asm volatile("rep movsq"
		     : "+D" (*dst), "+S" (*src), "+c" (words)
		     : : "memory");
#else
	memcpy(*dst, *src, words * sizeof(u64));
	*dst += words * sizeof(u64);
	*src += words * sizeof(u64);
#endif
}

/* Copy a word aligned at @dst, or less, with one store for each part. */
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
	/* whoever polls the last bytes finds all that come before them */
	smp_wmb();
	if (words)
		copy_one(u64, dst, src);
	if (length % sizeof(u64)) {
		/* likewise, these are the last ones */
		smp_wmb();
		copy_rest(dst, src, length);
	}
}

/* Copy up to the next aligned word, then the rest. */
static noinline void copy_unaligned(void *dst, const void *src, size_t length)
{
	void *const first = dst;

	/* what follows may be the last bytes, see copy_aligned() */
	smp_wmb();
	if ((uintptr_t)dst & 1)
		copy_one(u8, dst, src);
	if ((uintptr_t)dst & 2 && length - (dst - first) >= 2)
		copy_one(u16, dst, src);
	if ((uintptr_t)dst & 4 && length - (dst - first) >= 4)
		copy_one(u32, dst, src);
	copy_aligned(dst, src, length - (dst - first));
}

/* Copy one piece of contiguous memory. @length is not 0. */
static __always_inline void copy_piece(void *dst, const void *src, size_t length)
{
	if (likely(IS_ALIGNED((uintptr_t)dst, sizeof(u64))))
		copy_aligned(dst, src, length);
	else
		copy_unaligned(dst, src, length);
}

/**
 * struct copy_cursor - a position taken apart, for the time of a copy
 * @at: kernel address
 * @run: bytes in one piece from @at on, at most to the end of the span
 * @left: bytes of the span after those
 * @block: the block of @at, the next one follows; NULL: look it up
 * @size: of a block
 */
struct copy_cursor {
	void	*at;
	u64	run;
	u64	left;
	void	**block;
	u64	size;
};

/* Go to the first byte that is not done yet. There is one. */
static void copy_skip(struct weft_iter *iter)
{
	while (iter->offset == iter->span->length) {
		iter->span++;
		iter->left--;
		iter->offset = 0;
	}
}

/* The rest of cursor_load() for memory that is not in blocks. */
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

/* Take the position of @iter apart. There is a byte at or after it. */
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

/* Go on by @length bytes, at most to the end of the piece. More follow. */
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

/* Copy a piece that is not the last: nobody minds the order. */
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

u64 weft_iter_left(const struct weft_iter *iter)
{
	u64 length = 0;
	u32 i;

	for (i = 0; i < iter->left; i++)
		length += iter->span[i].length;
	return length - iter->offset;
}
WEFT_EXPORT_FOR_TEST(weft_iter_left);

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
 * Return: where a position is, if @length bytes follow there that are easily found in one
 * piece; or NULL. @length is not 0.
 */
static __always_inline void *copy_at_once(const struct weft_iter *iter, u64 length)
{
	const struct weft_span *span = iter->span;
	const struct weft_region *region = span->region;
	u64 addr = span->addr + iter->offset, contiguous;
	void *at;

	if (unlikely(length > span->length - iter->offset))
		return NULL;
	if (likely(region && region->blocks)) {
		at = weft_region_at_block(region, addr, &contiguous);
		return likely(length <= contiguous) ? at : NULL;
	}
	return region && region->pieces ? NULL : (void *)(uintptr_t)addr;
}

void weft_copy(struct weft_iter *dst, struct weft_iter *src, u64 length)
{
	const void *from;
	void *to;

	if (unlikely(!length))
		return;
	/* a list of ODP memory ends where its pages do: nothing behind may be touched */
	lockdep_assert(weft_iter_left(dst) >= length && weft_iter_left(src) >= length);
	/* most messages are small and cross no boundary */
	to = copy_at_once(dst, length);
	from = copy_at_once(src, length);
	if (unlikely(!to || !from)) {
		copy_pieces(dst, src, length);
		return;
	}
	dst->offset += length;
	src->offset += length;
	copy_piece(to, from, length);
}
WEFT_EXPORT_FOR_TEST(weft_copy);

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

/* An aligned word never crosses a block: blocks are pages or more. */
static void *copy_word_at(const struct weft_span *span)
{
	u64 contiguous;

	return weft_region_at(span, span->addr, &contiguous);
}

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

/* Nothing is carried out of a bit that is 0 in both; the sum there is without a carry. */
static u64 copy_add_fields(u64 a, u64 b, u64 ends)
{
	return ((a & ~ends) + (b & ~ends)) ^ ((a ^ b) & ends);
}

u64 weft_atomic_masked_fetch_add(const struct weft_span *span, u64 add, u64 ends)
{
	atomic64_t *word = copy_word_at(span);
	s64 before = atomic64_read(word);

	while (!atomic64_try_cmpxchg(word, &before, copy_add_fields(before, add, ends)))
		;
	return before;
}
WEFT_EXPORT_FOR_TEST(weft_atomic_masked_fetch_add);

bool weft_span_is_word(const struct weft_span *span)
{
	u64 contiguous;
	void *at = weft_region_at(span, span->addr, &contiguous);

	return IS_ALIGNED((uintptr_t)at, sizeof(u64)) && contiguous >= sizeof(u64);
}
WEFT_EXPORT_FOR_TEST(weft_span_is_word);

void weft_atomic_write(const struct weft_span *span, u64 value)
{
	u64 *word = copy_word_at(span);

	/* whoever finds the value finds all that was written before it */
	smp_store_release(word, value);
}
WEFT_EXPORT_FOR_TEST(weft_atomic_write);

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
	/* a write back is only begun so far */
	wmb();
}
WEFT_EXPORT_FOR_TEST(weft_write_back);
