// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The window of a requester: when it grows, and when it shrinks. */
#include <kunit/test.h>

#include "engine/window.h"
#include "params.h"

#define WINDOW_LONG	(1000 * NSEC_PER_USEC)
#define WINDOW_SHORT	(20 * NSEC_PER_USEC)

static void window_measure(struct weft_window *window, bool full, u32 ns, u32 times)
{
	for (; times; times--) {
		window->full = full;
		weft_window_measured(window, ns);
	}
}

static struct weft_window window_create(u32 ns)
{
	struct weft_window window = { .packets = WEFT_INFLIGHT_PACKETS };

	window_measure(&window, true, ns, 1);
	return window;
}

/* A requester that fills its window on a long path gets a larger one, up to the limit. */
static void window_grows(struct kunit *test)
{
	struct weft_window window = window_create(WINDOW_LONG);

	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	window_measure(&window, true, WINDOW_LONG, 1);
	KUNIT_EXPECT_GT(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	window_measure(&window, true, WINDOW_LONG, 20);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	KUNIT_EXPECT_LT(test, WEFT_LARGEST_WINDOW, WEFT_QUEUE_PACKETS);
	KUNIT_EXPECT_LT(test, WEFT_LARGEST_WINDOW, WEFT_EARLY_PACKETS);
}

/* One that does not, and one on a short path, keep theirs. */
static void window_stays(struct kunit *test)
{
	struct weft_window idle = window_create(WINDOW_LONG);
	struct weft_window near = window_create(WINDOW_SHORT);

	window_measure(&idle, false, WINDOW_LONG, 20);
	KUNIT_EXPECT_EQ(test, idle.packets, (u32)WEFT_INFLIGHT_PACKETS);
	window_measure(&near, true, WINDOW_SHORT, 20);
	KUNIT_EXPECT_EQ(test, near.packets, (u32)WEFT_INFLIGHT_PACKETS);
}

/* A queue on the way makes it smaller, and so does a loss; it never is smaller than at first. */
static void window_shrinks(struct kunit *test)
{
	struct weft_window window = window_create(WINDOW_LONG);
	u32 once, i;

	window_measure(&window, true, WINDOW_LONG, 20);
	window_measure(&window, true, 2 * WINDOW_LONG + WINDOW_LONG / 2, 1);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	window_measure(&window, true, 4 * WINDOW_LONG, 1);
	KUNIT_EXPECT_LT(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	window_measure(&window, true, 4 * WINDOW_LONG, 20);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	window.packets = WEFT_LARGEST_WINDOW;
	weft_window_lost(&window);
	KUNIT_EXPECT_LT(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	once = window.packets;
	weft_window_lost(&window);
	KUNIT_EXPECT_EQ(test, window.packets, once);
	for (i = 0; i < 4; i++) {
		window_measure(&window, false, WINDOW_LONG, 1);
		weft_window_lost(&window);
	}
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(window_grows),
	KUNIT_CASE(window_stays),
	KUNIT_CASE(window_shrinks),
	{}
};

static struct kunit_suite window_suite = {
	.name = "weft_window",
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
