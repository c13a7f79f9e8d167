// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The window of a requester: when it grows, and when it shrinks. */
#include <linux/log2.h>

#include <kunit/test.h>

#include "engine/window.h"
#include "params.h"
#include "wire/psn.h"

#define WINDOW_LONG	(1000 * NSEC_PER_USEC)
#define WINDOW_SHORT	(20 * NSEC_PER_USEC)
#define WINDOW_QUEUE	(10 * NSEC_PER_MSEC)

static void window_measure(struct weft_window *window, bool full, u32 ns, u32 times)
{
	for (; times; times--) {
		window->full = full;
		weft_window_measured(window, ns);
	}
}

static struct weft_window window_create(u32 ns)
{
	struct weft_window window;

	weft_window_init(&window, false);
	window_measure(&window, true, ns, 1);
	return window;
}

/* Many that begin at once must not flood a queue: the window doubles until a packet is lost. */
static void window_begins(struct kunit *test)
{
	struct weft_window window;
	u32 packets;

	weft_window_init(&window, true);
	for (packets = WEFT_FIRST_WINDOW; packets < WEFT_INFLIGHT_PACKETS; packets *= 2) {
		window_measure(&window, false, WINDOW_SHORT, 1);
		KUNIT_ASSERT_EQ(test, window.packets, packets);
		KUNIT_ASSERT_EQ(test, window.ack_packets, min_t(u32, packets, WEFT_ACK_PACKETS));
		window_measure(&window, true, WINDOW_QUEUE, 1);
	}
	window_measure(&window, true, WINDOW_SHORT, 10);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	weft_window_init(&window, true);
	window_measure(&window, true, WINDOW_SHORT, 1);
	weft_window_begin(&window, 0, 0);
	weft_window_lost(&window, 0, window.packets, 0, WINDOW_SHORT, WINDOW_QUEUE);
	packets = window.packets;
	KUNIT_EXPECT_LT(test, packets, (u32)WEFT_FIRST_WINDOW);
	window_measure(&window, true, WINDOW_QUEUE, 1);
	KUNIT_EXPECT_EQ(test, window.packets, packets + 1);
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

/* A queue on the way makes it smaller, but not smaller than at first. */
static void window_shrinks(struct kunit *test)
{
	struct weft_window window = window_create(WINDOW_LONG);

	window_measure(&window, true, WINDOW_LONG, 20);
	window_measure(&window, true, 2 * WINDOW_LONG + WINDOW_LONG / 2, 1);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	window_measure(&window, true, 4 * WINDOW_LONG, 1);
	KUNIT_EXPECT_LT(test, window.packets, (u32)WEFT_LARGEST_WINDOW);
	window_measure(&window, true, 4 * WINDOW_LONG, 20);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
}

/* Without a queue each round trip brings a window, so losses do not reduce it. */
static void loss_without_queue(struct kunit *test)
{
	struct weft_window window = window_create(WINDOW_LONG);
	u32 una = 0xffff00, i;
	ktime_t now = 1;

	weft_window_begin(&window, una, now);
	for (i = 0; i < 100; i++) {
		/* the peer waits before it says so, and a repair takes some time, too */
		now += 3 * WINDOW_LONG / 2 + WEFT_EARLY_GAP_US * NSEC_PER_USEC;
		una = weft_psn_add(una, window.packets);
		weft_window_lost(&window, una, una + window.packets, 0, WINDOW_LONG, now);
		KUNIT_ASSERT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	}
	/* less is under way, but later more may be */
	now += 3 * WINDOW_LONG;
	una = weft_psn_add(una, WEFT_INFLIGHT_PACKETS);
	weft_window_lost(&window, una, una + 20, 15, WINDOW_LONG, now);
	KUNIT_EXPECT_GT(test, window.packets, 40U);
	/* nothing is known yet of the path, and nothing arrives */
	weft_window_init(&window, false);
	weft_window_begin(&window, 0, 0);
	weft_window_lost(&window, 0, WEFT_INFLIGHT_PACKETS, 0, 0, WINDOW_LONG);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS / 8);
}

/* The losses of a window count once, and the window never closes. */
static void window_is_reduced(struct kunit *test)
{
	struct weft_window window = window_create(WINDOW_SHORT);
	u32 una = 7, sent = 7 + WEFT_INFLIGHT_PACKETS, once, i;
	ktime_t now = 1;

	weft_window_begin(&window, una, now);
	weft_window_lost(&window, una, sent, 199, WINDOW_QUEUE, now + WINDOW_QUEUE - 1);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	now += WINDOW_QUEUE;
	weft_window_lost(&window, una, sent, 199, WINDOW_QUEUE, now);
	once = window.packets;
	KUNIT_EXPECT_EQ(test, once, (u32)WEFT_INFLIGHT_PACKETS * 3 / 4);
	now += WINDOW_QUEUE;
	una = sent - 1;
	sent += once;
	weft_window_lost(&window, una, sent, 0, WINDOW_QUEUE, now);
	KUNIT_EXPECT_EQ(test, window.packets, once);
	for (i = 0; i < 50; i++) {
		KUNIT_EXPECT_LE(test, 2 * window.ack_packets, window.packets);
		KUNIT_EXPECT_TRUE(test, is_power_of_2(window.ack_packets));
		now += WINDOW_QUEUE;
		una = sent;
		sent += window.packets;
		weft_window_lost(&window, una, sent, 0, WINDOW_QUEUE, now);
	}
	KUNIT_EXPECT_EQ(test, window.packets, 4U);
	/* it recovers slowly beside a queue, fast without one, and not if it is not used */
	window_measure(&window, false, WINDOW_SHORT, 10);
	KUNIT_EXPECT_EQ(test, window.packets, 4U);
	window_measure(&window, true, WINDOW_LONG, 6);
	KUNIT_EXPECT_EQ(test, window.packets, 10U);
	window_measure(&window, true, WINDOW_SHORT, 30);
	KUNIT_EXPECT_EQ(test, window.packets, (u32)WEFT_INFLIGHT_PACKETS);
	KUNIT_EXPECT_EQ(test, window.ack_packets, (u32)WEFT_ACK_PACKETS);
}

static struct kunit_case window_cases[] = {
	KUNIT_CASE(window_begins),
	KUNIT_CASE(window_grows),
	KUNIT_CASE(window_stays),
	KUNIT_CASE(window_shrinks),
	KUNIT_CASE(loss_without_queue),
	KUNIT_CASE(window_is_reduced),
	{}
};

static struct kunit_suite window_suite = {
	.name = "weft_window",
	.test_cases = window_cases,
};

kunit_test_suite(window_suite);
