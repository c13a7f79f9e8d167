// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* engine/pace.h: what a limited rate lets through, in virtual time. */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "engine/pace.h"

#define PACE_SEED	0x70616365
#define PACE_MESSAGES	2000

struct pace_ns_row {
	const char	*name;
	u64		bytes;
	u32		rate;
	u64		ns;
};

static const struct pace_ns_row pace_ns_rows[] = {
	{ "nothing", 0, 1, 0 },
	{ "1 kbit/s", 125, 1, NSEC_PER_SEC },
	{ "1 Mbit/s", 125, 1000, NSEC_PER_MSEC },
	{ "1 Gbit/s", 1000, 1000000, 8000 },
	{ "400 Gbit/s", 5000000, 400000000, 100000 },
	{ "longest message", 1ULL << 31, 1, 17179869184000000 },
	{ "longest message, fast", 1ULL << 31, 400000000, 42949672 },
};

static void pace_ns_row_desc(const struct pace_ns_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pace_ns_row, pace_ns_rows, pace_ns_row_desc);

static void time_of_bytes(struct kunit *test)
{
	const struct pace_ns_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, weft_pace_ns(row->bytes, row->rate), row->ns);
}

/**
 * struct pace_row - a limit, and what is sent
 * @name: of the row
 * @rate: kbit/s
 * @burst: bytes
 * @longest: messages have 1 to @longest bytes
 * @idle: ns for which there is now and then nothing to send
 * @late: ns by which the end of a wait is noticed too late, at most
 */
struct pace_row {
	const char	*name;
	u32		rate;
	u32		burst;
	u32		longest;
	u32		idle;
	u32		late;
};

static const struct pace_row pace_rows[] = {
	{ "slow", 8, 0, 1000, 0, 0 },
	{ "fast", 10000000, 65536, 4096, 0, 0 },
	{ "fast, in long messages", 10000000, 4096, 1 << 20, 0, 0 },
	{ "late timers", 1000000, 65536, 4096, 0, 200000 },
	{ "idle times", 1000000, 65536, 4096, 5000000, 0 },
	{ "all of it", 50000, 10000, 10000, 3000000, 500000 },
};

static void pace_row_desc(const struct pace_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pace_row, pace_rows, pace_row_desc);

/* Wait as weft_pace_holds() does: until weft_pace.due. */
static void pace_wait(struct weft_pace *pace, ktime_t *now, u32 late)
{
	if (!weft_pace_is_ahead(pace, *now))
		return;
	*now = ktime_add_ns(pace->due, late);
}

/*
 * From the start, and from the end of each idle time, not more is sent than the rate, a burst and
 * the last message allow. If there is always something to send, and no wait ends late, not less is
 * sent than the rate without a burst.
 */
static void rate_is_kept(struct kunit *test)
{
	const struct pace_row *row = test->param_value;
	struct weft_pace pace = {
		.rate = row->rate,
		.burst = weft_pace_ns(row->burst, row->rate),
	};
	ktime_t start = NSEC_PER_SEC, now = start;
	u64 sent = 0, takes, most;
	struct rnd_state rnd;
	u32 i, length;

	prandom_seed_state(&rnd, PACE_SEED);
	for (i = 0; i < PACE_MESSAGES; i++) {
		if (row->idle && !(prandom_u32_state(&rnd) % 50)) {
			now = max(now, pace.due) + prandom_u32_state(&rnd) % row->idle;
			start = now;
			sent = 0;
		}
		pace_wait(&pace, &now, row->late ? prandom_u32_state(&rnd) % row->late : 0);
		length = 1 + prandom_u32_state(&rnd) % row->longest;
		takes = weft_pace_ns(sent, row->rate);
		/* each division may have rounded down by a ns */
		KUNIT_ASSERT_GE(test, now - start + pace.burst + i + 1, takes);
		weft_pace_charge(&pace, now, length);
		sent += length;
	}
	most = weft_pace_ns(sent, row->rate);
	if (!row->idle && !row->late)
		KUNIT_EXPECT_LE(test, now - start, most + pace.burst);
}

/* Idle time does not allow more to be sent later. */
static void no_credit_for_silence(struct kunit *test)
{
	struct weft_pace pace = { .rate = 8000, .burst = 1000 };
	ktime_t now = NSEC_PER_SEC;

	weft_pace_charge(&pace, now, 1);
	KUNIT_EXPECT_FALSE(test, weft_pace_is_ahead(&pace, now));
	now += NSEC_PER_SEC;
	weft_pace_charge(&pace, now, 1);
	KUNIT_EXPECT_FALSE(test, weft_pace_is_ahead(&pace, now));
	weft_pace_charge(&pace, now, 1);
	KUNIT_EXPECT_TRUE(test, weft_pace_is_ahead(&pace, now));
	KUNIT_EXPECT_TRUE(test, weft_pace_is_ahead(&pace, now + 999));
	KUNIT_EXPECT_FALSE(test, weft_pace_is_ahead(&pace, now + 1000));
}

static struct kunit_case pace_cases[] = {
	KUNIT_CASE_PARAM(time_of_bytes, pace_ns_row_gen_params),
	KUNIT_CASE_PARAM(rate_is_kept, pace_row_gen_params),
	KUNIT_CASE(no_credit_for_silence),
	{}
};

static struct kunit_suite pace_suite = {
	.name = "weft_pace",
	.test_cases = pace_cases,
};

kunit_test_suite(pace_suite);
