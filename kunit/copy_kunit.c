// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies between spans, compared with a naive copy, and atomics.
 */
#include "mem/copy.h"

#include "rdma/weft-abi.h"

#include <linux/prandom.h>
#include <linux/slab.h>

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define PAGES	16
#define SIZE	(PAGES * PAGE_SIZE)
#define IOVA	0x7f0000000000ULL
#define SEED	20240229
#define ROUNDS	30
/* Bytes before and after a copy that must not change. */
#define MARGIN	16
#define FILL	0xcc

/* A region whose memory is not contiguous. */
struct buffer {
	struct weft_region	region;		/* SIZE bytes from IOVA on */
	void			*blocks[PAGES];	/* of @region, in another order than in memory */
	void			*memory;
};

struct fixture {
	struct buffer		src;		/* random bytes */
	struct buffer		dst;		/* random bytes */
	struct rnd_state	random;		/* with a constant seed */
};

static void buffer_init(struct kunit *test, struct buffer *buffer, u32 step)
{
	u32 i;

	buffer->memory = kunit_kmalloc(test, SIZE + PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buffer->memory);
	buffer->memory = PTR_ALIGN(buffer->memory, PAGE_SIZE);
	for (i = 0; i < PAGES; i++)
		buffer->blocks[i] = buffer->memory + i * step % PAGES * PAGE_SIZE;
	buffer->region.iova = IOVA;
	buffer->region.base = IOVA;
	buffer->region.length = SIZE;
	buffer->region.blocks = buffer->blocks;
	buffer->region.page_shift = PAGE_SHIFT;
}

static int copy_test_init(struct kunit *test)
{
	struct fixture *fixture;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture);
	test->priv = fixture;
	buffer_init(test, &fixture->src, 5);
	buffer_init(test, &fixture->dst, 11);
	kunit_info(test, "seed %d\n", SEED);
	prandom_seed_state(&fixture->random, SEED);
	prandom_bytes_state(&fixture->random, fixture->src.memory, SIZE);
	return 0;
}

static u8 *byte_at(const struct weft_span *span, u64 offset)
{
	u64 contiguous;

	return weft_region_at(span, span->addr + offset, &contiguous);
}

/* Returns the offset of the first byte that differs, or @length. */
static u64 first_difference(const struct weft_span *dst, const struct weft_span *src,
			    u64 length)
{
	u64 i;

	for (i = 0; i < length; i++)
		if (*byte_at(dst, i) != *byte_at(src, i))
			break;
	return i;
}

/* Copy, and check every byte of the target and around it. */
static void check_copy(struct kunit *test, u64 dst_offset, u64 src_offset, u64 length)
{
	struct fixture *fixture = test->priv;
	struct weft_span src = { &fixture->src.region, IOVA + src_offset, length };
	struct weft_span dst = { &fixture->dst.region, IOVA + dst_offset, length };
	struct weft_span around = dst;
	struct weft_iter from, to;
	u64 i;

	around.addr -= MARGIN;
	for (i = 0; i < length + 2 * MARGIN; i++)
		*byte_at(&around, i) = FILL;
	weft_span_iter(&src, &from);
	weft_span_iter(&dst, &to);
	weft_copy(&to, &from, length);
	KUNIT_EXPECT_EQ(test, length, first_difference(&dst, &src, length));
	KUNIT_EXPECT_EQ(test, length, to.offset);
	KUNIT_EXPECT_EQ(test, length, from.offset);
	for (i = 0; i < MARGIN; i++)
		if (*byte_at(&around, i) != FILL ||
		    *byte_at(&around, MARGIN + length + i) != FILL)
			break;
	KUNIT_EXPECT_EQ_MSG(test, (u64)MARGIN, i, "%llu bytes from %llu to %llu",
			    length, src_offset, dst_offset);
}

/* All lengths for which the handling of words and odd ends differs, then some longer ones. */
static u64 next_length(u64 length)
{
	return length + (length < 40 ? 1 : 11);
}

static void copy_all_alignments(struct kunit *test)
{
	u64 dst, src, length;

	for (dst = 0; dst < 8; dst++)
		for (src = 0; src < 8; src++)
			for (length = 0; length <= 150; length = next_length(length))
				check_copy(test, 64 + dst, 128 + src, length);
}

static void copy_across_blocks(struct kunit *test)
{
	u64 dst, src, length;

	for (dst = 1; dst < 60; dst += 7)
		for (src = 1; src < 60; src += 5)
			for (length = 1; length < 200; length += 11)
				check_copy(test, PAGE_SIZE - dst, PAGE_SIZE - src, length);
}

static void copy_many_blocks(struct kunit *test)
{
	u64 offset;

	for (offset = 0; offset < 4000; offset += 1333) {
		check_copy(test, PAGE_SIZE, offset, SIZE - 2 * PAGE_SIZE);
		check_copy(test, MARGIN + offset, 0, SIZE - 2 * PAGE_SIZE);
	}
}

static struct weft_sgl copy_list(struct kunit *test)
{
	struct weft_sgl sgl = {
		.span = kunit_kcalloc(test, WEFT_MAX_SGE, sizeof(*sgl.span), GFP_KERNEL),
	};

	KUNIT_ASSERT_NOT_NULL(test, sgl.span);
	return sgl;
}

/* Make a list of @length bytes from @offset on, of spans with random sizes. */
static void cut(struct fixture *fixture, struct weft_sgl *sgl, struct buffer *buffer,
		u64 offset, u64 length)
{
	u64 piece;

	sgl->num = 0;
	sgl->length = length;
	while (length) {
		piece = 1 + prandom_u32_state(&fixture->random) % (length / 4 + 1);
		if (piece > length || sgl->num == WEFT_MAX_SGE - 1)
			piece = length;
		sgl->span[sgl->num].region = &buffer->region;
		sgl->span[sgl->num].addr = IOVA + offset;
		sgl->span[sgl->num++].length = piece;
		offset += piece;
		length -= piece;
	}
}

static void copy_lists(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span src = { &fixture->src.region };
	struct weft_span dst = { &fixture->dst.region };
	struct weft_sgl lists[] = { copy_list(test), copy_list(test) };
	struct weft_iter from, to;
	u64 length, left, piece;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		length = 1 + prandom_u32_state(&fixture->random) % (i & 1 ? SIZE / 2 : 99);
		src.addr = IOVA + prandom_u32_state(&fixture->random) % (SIZE / 2);
		dst.addr = IOVA + prandom_u32_state(&fixture->random) % (SIZE / 2);
		memset(fixture->dst.memory, i, SIZE);
		cut(fixture, &lists[0], &fixture->dst, dst.addr - IOVA, length);
		cut(fixture, &lists[1], &fixture->src, src.addr - IOVA, length);
		weft_sgl_iter(&lists[0], &to);
		weft_sgl_iter(&lists[1], &from);
		for (left = length; left; left -= piece) {
			piece = 1 + prandom_u32_state(&fixture->random) % left;
			weft_copy(&to, &from, piece);
		}
		KUNIT_ASSERT_EQ_MSG(test, length, first_difference(&dst, &src, length),
				    "round %d", i);
	}
}

static void copy_overlapping(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span src = { &fixture->src.region, IOVA, SIZE / 2 };
	struct weft_span dst = src;
	struct weft_iter from, to;

	for (dst.addr = IOVA; dst.addr < IOVA + 100; dst.addr++) {
		weft_span_iter(&src, &from);
		weft_span_iter(&dst, &to);
		weft_copy(&to, &from, src.length);
		KUNIT_EXPECT_EQ(test, src.length, to.offset);
	}
}

static void copy_kernel_address(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span src = { &fixture->src.region, IOVA + 100, 2 * PAGE_SIZE };
	struct weft_span dst = { NULL, (uintptr_t)fixture->dst.memory, 2 * PAGE_SIZE };
	struct weft_iter from, to;

	weft_span_iter(&src, &from);
	weft_span_iter(&dst, &to);
	weft_copy(&to, &from, dst.length);
	KUNIT_EXPECT_EQ(test, dst.length, first_difference(&dst, &src, dst.length));
}

static void sgl_resolve_failure_releases(struct kunit *test)
{
	struct weft_region_table table;
	struct weft_accessor who = { .table = &table, .kernel = true };
	struct weft_sge sge[] = { { 1, 5, 0 }, { 2, 0, 99 }, { 3, 7, 0 }, { 4, 1, 0 } };
	struct weft_sgl sgl = copy_list(test);
	struct weft_region *region;

	weft_region_table_init(&table);
	region = weft_region_alloc(&table, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	region->length = 100;
	weft_region_publish(region);
	sge[2].lkey = region->key;

	KUNIT_EXPECT_EQ(test, 0, weft_sgl_resolve(&sgl, &who, sge, ARRAY_SIZE(sge), U64_MAX, 0));
	KUNIT_EXPECT_EQ(test, 3u, sgl.num);
	KUNIT_EXPECT_EQ(test, 13ULL, sgl.length);
	KUNIT_EXPECT_EQ(test, 2u, refcount_read(&region->refs));
	weft_sgl_release(&sgl);
	KUNIT_EXPECT_EQ(test, 0u, sgl.num);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region->refs));

	sge[3].lkey = region->key ^ 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_sgl_resolve(&sgl, &who, sge,
							ARRAY_SIZE(sge), U64_MAX, 0));
	KUNIT_EXPECT_EQ(test, 0u, sgl.num);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region->refs));
	/* a message of 11 bytes ends within the third element */
	KUNIT_EXPECT_EQ(test, 0, weft_sgl_resolve(&sgl, &who, sge, ARRAY_SIZE(sge), 11, 0));
	KUNIT_EXPECT_EQ(test, 2u, sgl.num);
	KUNIT_EXPECT_EQ(test, 11ULL, sgl.length);
	KUNIT_EXPECT_EQ(test, 6ULL, sgl.span[1].length);
	weft_sgl_release(&sgl);
	KUNIT_EXPECT_EQ(test, 0, weft_sgl_resolve(&sgl, &who, sge, ARRAY_SIZE(sge), 0, 0));
	KUNIT_EXPECT_EQ(test, 0u, sgl.num);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region->refs));
	weft_region_kill(region);
	weft_region_table_destroy(&table);
}

/* Cut a list of three elements everywhere; check the bytes and the references that remain. */
static void sgl_cut_anywhere(struct kunit *test)
{
	struct weft_region region = { .refs = REFCOUNT_INIT(1), .length = 100 };
	struct weft_sgl sgl = copy_list(test);
	struct weft_iter iter;
	u32 end, i;

	for (end = 0; end < 20; end++) {
		for (i = 0; i < 3; i++) {
			refcount_inc(&region.refs);
			sgl.span[i] = (struct weft_span){ &region, 10 * i, 5 };
		}
		sgl.num = 3;
		sgl.length = 15;
		weft_sgl_cut(&sgl, end);
		KUNIT_EXPECT_EQ(test, min(DIV_ROUND_UP(end, 5), 3U), sgl.num);
		KUNIT_EXPECT_EQ(test, 1 + sgl.num, refcount_read(&region.refs));
		KUNIT_EXPECT_EQ(test, 15ULL, sgl.length);
		weft_sgl_iter(&sgl, &iter);
		KUNIT_EXPECT_EQ(test, (u64)min(end, 15U), weft_iter_left(&iter));
		weft_iter_skip(&iter, min(end, 3U));
		KUNIT_EXPECT_EQ(test, (u64)min(end, 15U) - min(end, 3U), weft_iter_left(&iter));
		weft_sgl_release(&sgl);
		KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region.refs));
	}
}

/* Resolve a list of one element, of a region that has no reference but the owner's. */
static void resolve_single(struct kunit *test, const struct weft_accessor *who,
			   struct weft_region *region, struct weft_sge sge, u32 access, int ret)
{
	struct weft_sgl sgl = copy_list(test);
	u32 num = !ret && sge.length ? 1 : 0;

	KUNIT_EXPECT_EQ(test, ret, weft_sgl_resolve(&sgl, who, &sge, 1, U64_MAX, access));
	KUNIT_ASSERT_EQ(test, num, sgl.num);
	KUNIT_EXPECT_EQ(test, num ? sge.length : 0ULL, sgl.length);
	KUNIT_EXPECT_EQ(test, 1 + num, refcount_read(&region->refs));
	if (num) {
		KUNIT_EXPECT_PTR_EQ(test, region, sgl.span[0].region);
		KUNIT_EXPECT_EQ(test, sge.addr, sgl.span[0].addr);
		KUNIT_EXPECT_EQ(test, (u64)sge.length, sgl.span[0].length);
	}
	weft_sgl_release(&sgl);
	KUNIT_EXPECT_EQ(test, 0u, sgl.num);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region->refs));
}

static void resolve_singles(struct kunit *test, const struct weft_accessor *who,
			    struct weft_region *region)
{
	struct weft_accessor other = { .table = who->table, .pd = test };
	u32 key = region->key;

	resolve_single(test, who, region, (struct weft_sge){ 10, 20, key }, 0, 0);
	resolve_single(test, who, region, (struct weft_sge){ 0, 100, key }, 0, 0);
	resolve_single(test, who, region, (struct weft_sge){ 10, 0, key }, 0, 0);
	resolve_single(test, who, region, (struct weft_sge){ 10, 0, key ^ 1 }, 0, 0);
	resolve_single(test, who, region, (struct weft_sge){ 10, 20, key ^ 1 }, 0, -EINVAL);
	resolve_single(test, &other, region, (struct weft_sge){ 10, 20, key }, 0, -EINVAL);
	resolve_single(test, who, region, (struct weft_sge){ 10, 20, key },
		       IB_ACCESS_LOCAL_WRITE, -EACCES);
	resolve_single(test, who, region, (struct weft_sge){ 81, 20, key }, 0, -ERANGE);
	/* as weft_region_publish() would make it */
	region->mm = (struct mm_struct *)test;
	region->usual = false;
	resolve_single(test, who, region, (struct weft_sge){ 10, 20, key }, 0, -EFAULT);
	region->mm = NULL;
	region->usual = true;
}

/*
 * The two regions share an entry of the cache of newest regions, so one of them is found there and
 * the other one is not.
 */
static void sgl_resolve_single(struct kunit *test)
{
	struct weft_region_table *table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	struct weft_accessor who = { .table = table };
	struct weft_region *regions[2];
	int i;

	KUNIT_ASSERT_NOT_NULL(test, table);
	weft_region_table_init(table);
	for (i = 0; i < 2; i++) {
		regions[i] = weft_region_alloc(table, GFP_KERNEL);
		KUNIT_ASSERT_FALSE(test, IS_ERR(regions[i]));
		regions[i]->length = 100;
		weft_region_publish(regions[i]);
		table->next = (regions[i]->key >> 8) + WEFT_NEWEST_REGIONS;
	}
	for (i = 0; i < 2; i++)
		resolve_singles(test, &who, regions[i]);
	for (i = 0; i < 2; i++)
		weft_region_kill(regions[i]);
	weft_region_table_destroy(table);
}

static void atomic_returns_the_old_value(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span span = { &fixture->dst.region, IOVA + 2 * PAGE_SIZE - 8, 8 };
	u64 *word = (u64 *)byte_at(&span, 0);

	*word = 5;
	KUNIT_EXPECT_EQ(test, 5ULL, weft_atomic_cmp_swp(&span, 4, 9));
	KUNIT_EXPECT_EQ(test, 5ULL, *word);
	KUNIT_EXPECT_EQ(test, 5ULL, weft_atomic_cmp_swp(&span, 5, 9));
	KUNIT_EXPECT_EQ(test, 9ULL, *word);
	KUNIT_EXPECT_EQ(test, 9ULL, weft_atomic_fetch_add(&span, U64_MAX));
	KUNIT_EXPECT_EQ(test, 8ULL, *word);
	KUNIT_EXPECT_EQ(test, 8ULL, weft_atomic_fetch_add(&span, 1ULL << 63));
	KUNIT_EXPECT_EQ(test, (1ULL << 63) + 8, *word);
}

/* Fields of several widths, and the ends of the word. */
static const struct masked_add_row {
	const char	*name;
	u64		before;
	u64		add;
	u64		ends;
	u64		after;
} masked_add_rows[] = {
	{ "one field, as without a mask", U64_MAX, 2, 0, 1 },
	{ "one field with its end", U64_MAX, 2, 1ULL << 63, 1 },
	{ "carry within a field", 0x00ff, 0x0001, 0x8000, 0x0100 },
	{ "no carry out of a field", 0x00ff, 0x0001, 0x0080, 0x0000 },
	{ "two carries, one stopped", 0xffff, 0x0101, 0x0080, 0x10000 },
	{ "the field above takes its own addend only", 0x01ff, 0x0101, 0x0080, 0x0200 },
	{ "end set in both", 0x80, 0x80, 0x80, 0 },
	{ "end set in one, carry from below", 0xc0, 0x40, 0x80, 0 },
	{ "end becomes set", 0x40, 0x40, 0x80, 0x80 },
	{ "each byte a field", 0xfffefdfcfbfaf9f8ULL, 0x0303030303030303ULL,
	  0x8080808080808080ULL, 0x020100fffefdfcfbULL },
	{ "each bit a field", 0xf0f0, 0xff00, U64_MAX, 0x0ff0 },
	{ "field of the lowest bit", 1, 1, 1, 0 },
	{ "field of the highest bit", 1ULL << 63, 1ULL << 63, 3ULL << 62, 0 },
};

static void masked_add_row_desc(const struct masked_add_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(masked_add_row, masked_add_rows, masked_add_row_desc);

static void masked_add_of_fields(struct kunit *test)
{
	const struct masked_add_row *row = test->param_value;
	u64 words[3] = { 1, row->before, 1 };
	struct weft_span span = { .addr = (uintptr_t)&words[1], .length = 8 };

	KUNIT_EXPECT_EQ(test, row->before,
			weft_atomic_masked_fetch_add(&span, row->add, row->ends));
	KUNIT_EXPECT_EQ(test, row->after, words[1]);
	KUNIT_EXPECT_EQ(test, 1ULL, words[0]);
	KUNIT_EXPECT_EQ(test, 1ULL, words[2]);
}

static const struct masked_swap_row {
	const char	*name;
	u64		before;
	u64		compare;
	u64		compare_mask;
	u64		swap;
	u64		swap_mask;
	u64		after;
} masked_swap_rows[] = {
	{ "all bits, equal", 5, 5, U64_MAX, 9, U64_MAX, 9 },
	{ "all bits, not equal", 5, 4, U64_MAX, 9, U64_MAX, 5 },
	{ "only the highest differs", 1ULL << 63, 0, U64_MAX, 9, U64_MAX, 1ULL << 63 },
	{ "what differs does not count", 0x1234, 0xff34, 0xff, 0xabcd, U64_MAX, 0xabcd },
	{ "what differs counts", 0x1234, 0xff34, 0x100, 0xabcd, U64_MAX, 0x1234 },
	{ "nothing counts", 0x1234, 0, 0, 0xabcd, U64_MAX, 0xabcd },
	{ "some are swapped", 0x1234, 0x1234, U64_MAX, 0xabcd, 0x0ff0, 0x1bc4 },
	{ "none is swapped", 0x1234, 0x1234, U64_MAX, 0xabcd, 0, 0x1234 },
	{ "half is compared, the other swapped", 0x1111111122222222ULL, 0x22222222, U32_MAX,
	  0x3333333344444444ULL, 0xffffffff00000000ULL, 0x3333333322222222ULL },
};

static void masked_swap_row_desc(const struct masked_swap_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(masked_swap_row, masked_swap_rows, masked_swap_row_desc);

static void masked_swap_of_bits(struct kunit *test)
{
	const struct masked_swap_row *row = test->param_value;
	u64 words[3] = { 1, row->before, 1 };
	struct weft_span span = { .addr = (uintptr_t)&words[1], .length = 8 };

	KUNIT_EXPECT_EQ(test, row->before,
			weft_atomic_masked_cmp_swp(&span, row->compare, row->compare_mask,
						   row->swap, row->swap_mask));
	KUNIT_EXPECT_EQ(test, row->after, words[1]);
	KUNIT_EXPECT_EQ(test, 1ULL, words[0]);
	KUNIT_EXPECT_EQ(test, 1ULL, words[2]);
}

static void atomic_write_of_a_word(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span span = { &fixture->dst.region, IOVA + 2 * PAGE_SIZE - 8, 8 };
	u64 words[2] = { 1, 2 };
	struct weft_span kernel = { .addr = (uintptr_t)&words[1], .length = 8 };

	KUNIT_EXPECT_TRUE(test, weft_span_is_word(&span));
	weft_atomic_write(&span, 0x0123456789abcdefULL);
	KUNIT_EXPECT_EQ(test, 0x0123456789abcdefULL, *(u64 *)byte_at(&span, 0));
	/* half of these eight bytes is in the next block */
	span.addr += 4;
	KUNIT_EXPECT_FALSE(test, weft_span_is_word(&span));
	KUNIT_EXPECT_TRUE(test, weft_span_is_word(&kernel));
	weft_atomic_write(&kernel, 3);
	KUNIT_EXPECT_EQ(test, 1ULL, words[0]);
	KUNIT_EXPECT_EQ(test, 3ULL, words[1]);
	kernel.addr -= 1;
	KUNIT_EXPECT_FALSE(test, weft_span_is_word(&kernel));
}

static struct kunit_case copy_test_cases[] = {
	KUNIT_CASE(copy_all_alignments),
	KUNIT_CASE(copy_across_blocks),
	KUNIT_CASE(copy_many_blocks),
	KUNIT_CASE(copy_lists),
	KUNIT_CASE(copy_overlapping),
	KUNIT_CASE(copy_kernel_address),
	KUNIT_CASE(sgl_resolve_failure_releases),
	KUNIT_CASE(sgl_cut_anywhere),
	KUNIT_CASE(sgl_resolve_single),
	KUNIT_CASE(atomic_returns_the_old_value),
	KUNIT_CASE_PARAM(masked_add_of_fields, masked_add_row_gen_params),
	KUNIT_CASE_PARAM(masked_swap_of_bits, masked_swap_row_gen_params),
	KUNIT_CASE(atomic_write_of_a_word),
	{ }
};

static struct kunit_suite copy_test_suite = {
	.name = "weft_copy",
	.init = copy_test_init,
	.test_cases = copy_test_cases,
};

kunit_test_suite(copy_test_suite);
