// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire/psn.h: 24 bit sequence numbers.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "wire/psn.h"

#define PSN_SEED	0x9e3779b9
#define PSN_ROUNDS	20000

struct psn_row {
	const char	*name;
	u32		a;
	u32		b;
	s32		diff;
};

/* @diff is the distance from @b to @a. */
static const struct psn_row psn_rows[] = {
	{ "equal", 5, 5, 0 },
	{ "one ahead", 6, 5, 1 },
	{ "one behind", 5, 6, -1 },
	{ "ahead across the wrap", 0x000000, 0xffffff, 1 },
	{ "behind across the wrap", 0xffffff, 0x000000, -1 },
	{ "far ahead across the wrap", 0x000010, 0xfffff0, 32 },
	{ "most ahead", 0x7fffff, 0x000000, 0x7fffff },
	{ "half the circle is behind", 0x800000, 0x000000, -0x800000 },
	{ "half the circle, seen from there", 0x000000, 0x800000, -0x800000 },
	{ "one more than half", 0x800001, 0x000000, -0x7fffff },
};

static void psn_row_desc(const struct psn_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(psn_row, psn_rows, psn_row_desc);

static void psn_diff_row(struct kunit *test)
{
	const struct psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_psn_diff(row->a, row->b), row->diff);
}

static void psn_before_row(struct kunit *test)
{
	const struct psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_psn_before(row->a, row->b), row->diff < 0);
}

static void psn_add_undoes_diff(struct kunit *test)
{
	const struct psn_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_psn_add(row->b, row->diff), row->a);
}

static void psn_add_wraps(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, weft_psn_add(0xffffff, 1), 0U);
	KUNIT_EXPECT_EQ(test, weft_psn_add(0xfffffe, 4), 2U);
	KUNIT_EXPECT_EQ(test, weft_psn_add(0, -1), 0xffffffU);
	KUNIT_EXPECT_EQ(test, weft_psn_add(0x123456, 1 << 24), 0x123456U);
	KUNIT_EXPECT_EQ(test, weft_psn_add(7, 0), 7U);
}

/* Bits above the 24 must not affect the sign. */
static void psn_diff_ignores_upper_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, weft_psn_diff(0xab000001, 0x12000000), 1);
	KUNIT_EXPECT_EQ(test, weft_psn_diff(0x01000000, 0x00ffffff), 1);
}

struct psn_window_row {
	const char	*name;
	u32		psn;
	u32		first;
	u32		count;
	bool		in;
};

static const struct psn_window_row psn_window_rows[] = {
	{ "empty", 5, 5, 0, false },
	{ "first", 5, 5, 1, true },
	{ "last", 9, 5, 5, true },
	{ "behind the last", 10, 5, 5, false },
	{ "before the first", 4, 5, 5, false },
	{ "wraps, before", 0xffffff, 0xfffffe, 4, true },
	{ "wraps, behind", 0x000001, 0xfffffe, 4, true },
	{ "wraps, too far", 0x000002, 0xfffffe, 4, false },
	{ "half the circle, last", 0x800004, 5, 0x800000, true },
	{ "half the circle, too far", 0x800005, 5, 0x800000, false },
	{ "all, last", 4, 5, 0x1000000, true },
};

static void psn_window_row_desc(const struct psn_window_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(psn_window_row, psn_window_rows, psn_window_row_desc);

static void psn_in_window_row(struct kunit *test)
{
	const struct psn_window_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test,
			weft_psn_in_window(row->psn, row->first, row->count),
			row->in);
}

/* The distance in plain integers, the shorter way round the circle. */
static s32 psn_naive_diff(u32 to, u32 from)
{
	s64 diff = (s64)to - from;

	while (diff >= 0x800000)
		diff -= 0x1000000;
	while (diff < -0x800000)
		diff += 0x1000000;
	return diff;
}

static void psn_diff_random(struct kunit *test)
{
	struct rnd_state rnd;
	u32 from, to;
	int i;

	kunit_info(test, "seed %#x", PSN_SEED);
	prandom_seed_state(&rnd, PSN_SEED);
	for (i = 0; i < PSN_ROUNDS; i++) {
		to = prandom_u32_state(&rnd) & WEFT_PSN_MASK;
		from = prandom_u32_state(&rnd) & WEFT_PSN_MASK;
		KUNIT_ASSERT_EQ_MSG(test, weft_psn_diff(to, from),
				    psn_naive_diff(to, from),
				    "%#x - %#x", to, from);
		KUNIT_ASSERT_EQ(test,
				weft_psn_add(from, weft_psn_diff(to, from)),
				to);
	}
}

static struct kunit_case psn_cases[] = {
	KUNIT_CASE_PARAM(psn_diff_row, psn_row_gen_params),
	KUNIT_CASE_PARAM(psn_before_row, psn_row_gen_params),
	KUNIT_CASE_PARAM(psn_add_undoes_diff, psn_row_gen_params),
	KUNIT_CASE(psn_add_wraps),
	KUNIT_CASE(psn_diff_ignores_upper_bits),
	KUNIT_CASE_PARAM(psn_in_window_row, psn_window_row_gen_params),
	KUNIT_CASE(psn_diff_random),
	{}
};

static struct kunit_suite psn_suite = {
	.name = "weft_psn",
	.test_cases = psn_cases,
};

kunit_test_suite(psn_suite);
