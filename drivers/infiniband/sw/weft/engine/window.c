// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The window: how many request packets, or packets of READ responses, of a QP may be unanswered.
 *
 * The window begins with WEFT_FIRST_WINDOW, lest many QPs that begin at once flood a queue, and
 * doubles with each round trip that has filled it, until a loss reduces it. (The first part of a
 * READ is asked for whatever the window is.) WEFT_INFLIGHT_PACKETS keep a network of some hundred
 * microseconds busy. On a longer path the window grows on while a requester that fills it sees no
 * round trip that is much longer than the shortest one, because then no queue on the way does.
 *
 * A window that only fills a queue takes room from others, and a queue that is full drops packets.
 * But packets also get lost without a queue. So a loss reduces the window to a part of what was
 * under way, but not below twice what the path would hold without a queue: what has arrived in the
 * time since the last loss, in as much time as the shortest round trip is long. If there is no
 * queue that is more than what was under way. A window that has been reduced grows by one packet in
 * a round trip, as that of TCP does, and faster while there is no queue.
 */
#include "engine/window.h"

#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "params.h"
#include "wire/psn.h"

#define WINDOW_LONG_NS		(WEFT_LONG_PATH_US * NSEC_PER_USEC)
/* The recent shortest round trip is that of some hundred samples: the path may change. */
#define WINDOW_AGE		256
/* The shortest one of the path is forgotten much more slowly than a queue lasts. */
#define WINDOW_BASE_AGE		65536
#define WINDOW_SMALLEST		4U
#define WINDOW_GAP_NS		(WEFT_EARLY_GAP_US * NSEC_PER_USEC)

static void window_set(struct weft_window *window, u32 packets)
{
	window->packets = packets;
	/* two in each window, so that packets go on leaving; but one in each of the first ones */
	if (window->reduced)
		packets /= 2;
	window->ack_packets = min_t(u32, rounddown_pow_of_two(packets), WEFT_ACK_PACKETS);
}

/* The path is new. @measured: there are round trips that make the window grow. */
void weft_window_init(struct weft_window *window, bool measured)
{
	*window = (struct weft_window){};
	window_set(window, measured ? WEFT_FIRST_WINDOW : WEFT_INFLIGHT_PACKETS);
}
WEFT_EXPORT_FOR_TEST(weft_window_init);

/* The window after a round trip of @ns; @full: it has kept a request waiting. */
static u32 window_next(const struct weft_window *window, u32 ns, bool full)
{
	u32 packets = window->packets;
	bool queue = ns >= window->base + window->base / 2;

	if (packets < WEFT_INFLIGHT_PACKETS) {
		if (!full)
			return packets;
		if (!window->reduced)
			return 2 * packets;
		return min_t(u32, packets + (queue ? 1 : packets / 4), WEFT_INFLIGHT_PACKETS);
	}
	if (window->shortest < WINDOW_LONG_NS)
		return WEFT_INFLIGHT_PACKETS;
	if (ns / 3 >= window->shortest)
		return max_t(u32, packets - packets / 8, WEFT_INFLIGHT_PACKETS);
	if (full && ns / 2 < window->shortest)
		return min_t(u32, packets + packets / 4, WEFT_LARGEST_WINDOW);
	return packets;
}

/* A round trip of @ns has been measured. */
void weft_window_measured(struct weft_window *window, u32 ns)
{
	bool full = window->full;
	u32 packets;

	window->full = false;
	if (!window->base || ns < window->base)
		window->base = ns;
	window->base += (ns - window->base) / WINDOW_BASE_AGE;
	if (!window->shortest || ns < window->shortest) {
		/* one sample alone shows no queue, but it does show that nothing was lost */
		full &= window->shortest || window->packets < WEFT_INFLIGHT_PACKETS;
		window->shortest = ns;
	}
	window->shortest += (ns - window->shortest) / WINDOW_AGE;
	packets = window_next(window, ns, full);
	if (packets != window->packets)
		window_set(window, packets);
}
WEFT_EXPORT_FOR_TEST(weft_window_measured);

/* Packets from @una on are counted, from @now on. */
void weft_window_begin(struct weft_window *window, u32 una, ktime_t now)
{
	window->arrived = una;
	window->since = now;
}
WEFT_EXPORT_FOR_TEST(weft_window_begin);

/*
 * A packet from @una on, and before @sent, is lost. @kept: of those the peer has so many; or so
 * many responses are here. @round_trip is the present one in ns; 0: it is not known. The losses
 * among the packets that were under way at a loss count as that one.
 */
void weft_window_lost(struct weft_window *window, u32 una, u32 sent, u32 kept, u32 round_trip,
		      ktime_t now)
{
	u32 flight = min((sent - una) & WEFT_PSN_MASK, window->packets), less, got;
	s64 ns = ktime_sub(now, window->since);
	u64 room;

	if ((window->reduced && weft_psn_before(una, window->recovered)) ||
	    ns < max(round_trip, window->base))
		return;
	got = max(weft_psn_diff(una, window->arrived), 0) + kept;
	window->reduced = true;
	window->recovered = sent;
	weft_window_begin(window, weft_psn_add(una, kept), now);
	/* the peer waits that long before it says what is lost */
	ns = max3(ns - WINDOW_GAP_NS, (s64)window->base, 1LL);
	room = div64_u64(2ULL * got * window->base, ns);
	less = flight - DIV_ROUND_UP(flight, 4);
	/* most of it is lost: many have begun to fill the queue */
	if (got < flight / 2)
		less = max(got, flight / 8);
	less = max_t(u64, max(less, WINDOW_SMALLEST), room);
	if (less < window->packets)
		window_set(window, less);
}
WEFT_EXPORT_FOR_TEST(weft_window_lost);
