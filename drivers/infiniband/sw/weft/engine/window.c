// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window: how many request packets of a QP may be unanswered.
 *
 * WEFT_INFLIGHT_PACKETS keep a network of some hundred microseconds busy. On a longer path the
 * window grows while a requester that fills it sees no round trip that is much longer than the
 * shortest one, because then no queue on the way does. It never is smaller than without that.
 */
#include "engine/window.h"

#include <linux/minmax.h>
#include <linux/time64.h>

#include "params.h"

#define WINDOW_LONG_NS		(WEFT_LONG_PATH_US * NSEC_PER_USEC)
/* The shortest round trip is that of some hundred samples: the path may change. */
#define WINDOW_AGE		256

/* A round trip of @ns has been measured. */
void weft_window_measured(struct weft_window *window, u32 ns)
{
	bool full = window->full;

	window->full = false;
	window->cut = false;
	if (!window->shortest || ns < window->shortest) {
		/* one sample alone tells nothing of a queue */
		full &= window->shortest != 0;
		window->shortest = ns;
	}
	window->shortest += (ns - window->shortest) / WINDOW_AGE;
	if (window->shortest < WINDOW_LONG_NS)
		window->packets = WEFT_INFLIGHT_PACKETS;
	else if (ns / 3 >= window->shortest)
		window->packets = max_t(u32, window->packets - window->packets / 8,
					WEFT_INFLIGHT_PACKETS);
	else if (full && ns / 2 < window->shortest)
		window->packets = min_t(u32, window->packets + window->packets / 4,
					WEFT_LARGEST_WINDOW);
}
WEFT_EXPORT_FOR_TEST(weft_window_measured);

/* A packet is lost, perhaps in a queue that is too long. Several of one round trip count once. */
void weft_window_lost(struct weft_window *window)
{
	if (window->cut)
		return;
	window->cut = true;
	window->packets = max_t(u32, window->packets - window->packets / 4,
				WEFT_INFLIGHT_PACKETS);
}
WEFT_EXPORT_FOR_TEST(weft_window_lost);
