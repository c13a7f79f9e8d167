// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ack timeout of a send queue, and its wait after an RNR NAK. The tests do not wait: they read
 * the expiry time of a timer that was started between two known moments.
 */
#include "fake_link.h"

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/math64.h>

#include <kunit/test.h>

#include "engine/inflight.h"
#include "engine/link.h"
#include "engine/retry.h"
#include "verbs/qp.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

/* Attempts to measure a timer so quickly that its time differs from whole ticks. */
#define TIMERS_LOOKS	100
/* For a test that works with any timeout. */
#define TIMERS_TIMEOUT	14

struct timers_way {
	const char	*name;
	/* requests go as whole messages, by a link of this test; else as packets */
	bool		local;
};

static const struct timers_way timers_ways[] = {
	{ "packets" },
	{ "local link", .local = true },
};

static void timers_way_desc(const struct timers_way *way, char *desc)
{
	strscpy(desc, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(timers_way, timers_ways, timers_way_desc);

/* On the local link: the code of the peer's RNR NAK; -1: the peer does not answer. */
static int timers_rnr;

static enum weft_verdict timers_execute(struct weft_qp *qp, struct weft_slot *slot,
					struct weft_budget *budget)
{
	struct weft_inflight *inflight = &qp->send.inflight;

	if (inflight->cur != inflight->head)
		return WEFT_LATER;
	slot->psns = 1;
	if (timers_rnr >= 0) {
		weft_retry_rnr(qp, timers_rnr);
		return WEFT_LATER;
	}
	inflight->cur++;
	inflight->next = weft_slot_end(slot);
	inflight->sent = inflight->next;
	weft_retry_start(qp);
	return WEFT_LATER;
}

static const struct weft_link timers_local_link = {
	.execute = timers_execute,
};

static struct fake_link *timers_create(struct kunit *test)
{
	static const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_wr = 4,
	};
	const struct timers_way *way = test->param_value;
	struct fake_link *link = fake_link_create(test, &attr, 1);

	if (way && way->local)
		link->node[0].qp->link = &timers_local_link;
	return link;
}

/* The peer does not respond. */
static struct fake_link *timers_create_silent(struct kunit *test, u8 timeout)
{
	struct fake_link *link = timers_create(test);

	link->node[0].qp->send.retry.timeout = timeout;
	timers_rnr = -1;
	return link;
}

/* The peer has no receive. */
static struct fake_link *timers_create_not_ready(struct kunit *test, u8 code)
{
	struct fake_link *link = timers_create(test);

	link->node[1].qp->recv.rnr_timer = code;
	timers_rnr = code;
	return link;
}

static void timers_destroy(struct fake_link *link)
{
	link->test->priv = NULL;
	fake_link_destroy(link);
}

static void timers_post(struct fake_link *link)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(link->test, 0, weft_post_send(&link->node[0].ib_qp.ibqp, &wr, &bad));
}

/*
 * A timer that was started between the moments @before and @after; all times are in ns. One for the
 * ack timeout also expires earlier, for probes.
 */
struct timers_look {
	s64	before;
	s64	after;
	s64	expires;	/* when that is over which the timer was started for */
	/* it is running or has expired */
	bool	started;
};

static void timers_begin(struct timers_look *look)
{
	look->before = ktime_get_ns();
}

static void timers_end(struct fake_node *node, struct timers_look *look)
{
	const struct weft_retry *retry = &node->qp->send.retry;
	const struct hrtimer *timer = &retry->timer;

	look->after = ktime_get_ns();
	/* in this order: when an expired timer is not active any more, @expired is set */
	look->started = hrtimer_active(timer) || READ_ONCE(node->expired);
	look->expires = ktime_to_ns(hrtimer_get_expires(timer));
	/* the timer has no slack */
	KUNIT_EXPECT_EQ(node->link->test, look->expires,
			ktime_to_ns(hrtimer_get_softexpires(timer)));
	if (node->qp->link->xmit && !retry->rnr_wait) {
		KUNIT_EXPECT_LE(node->link->test, look->expires, ktime_to_ns(retry->deadline));
		look->expires = ktime_to_ns(retry->deadline);
	}
}

/* Whether a timer that ends at @end can have been started with @ns. */
static bool timers_fits(const struct timers_look *look, s64 end, u64 ns)
{
	return end >= look->before + (s64)ns && end <= look->after + (s64)ns;
}

/* Whether the timer cannot be mistaken for one that expires at the tick before or after it. */
static bool timers_is_sharp(const struct timers_look *look, u64 ns)
{
	u32 past;

	div_u64_rem(look->expires, TICK_NSEC, &past);
	return !timers_fits(look, look->expires - past, ns) &&
	       !timers_fits(look, look->expires - past + TICK_NSEC, ns);
}

static void timers_expect_look(struct kunit *test, const struct timers_look *look, u64 ns)
{
	KUNIT_EXPECT_TRUE_MSG(test, look->started, "no timer, not %llu ns", ns);
	KUNIT_EXPECT_TRUE_MSG(test, timers_fits(look, look->expires, ns),
			      "%lld to %lld ns, not %llu", look->expires - look->after,
			      look->expires - look->before, ns);
}

typedef void (*timers_start_t)(struct kunit *test, u8 value, struct timers_look *look);

/* A timer for @value of an attribute takes @ns, with an error of much less than a tick. */
static void timers_expect(struct kunit *test, timers_start_t start, u8 value, u64 ns)
{
	struct timers_look look;
	bool sharp = false;
	u32 i;

	for (i = 0; !sharp && i < TIMERS_LOOKS; i++) {
		start(test, value, &look);
		timers_expect_look(test, &look, ns);
		sharp = timers_is_sharp(&look, ns);
	}
	KUNIT_EXPECT_TRUE_MSG(test, sharp, "value %u: whole ticks would have done", value);
}

static u64 timers_timeout_ns(u8 timeout)
{
	return 4096ULL << timeout;
}

static void timers_send(struct kunit *test, u8 timeout, struct timers_look *look)
{
	struct fake_link *link = timers_create_silent(test, timeout);

	timers_begin(look);
	timers_post(link);
	fake_link_run_halves(link);
	timers_end(&link->node[0], look);
	timers_destroy(link);
}

static void timers_send_again(struct kunit *test, u8 timeout, struct timers_look *look)
{
	struct fake_link *link = timers_create_silent(test, timeout);
	struct weft_send *send = &link->node[0].qp->send;
	u8 left;

	timers_post(link);
	fake_link_run_halves(link);
	for (left = 7; left > 5; left--) {
		KUNIT_EXPECT_EQ(test, send->retry.left, left);
		KUNIT_EXPECT_TRUE(test, fake_link_pass_time(link));
		timers_begin(look);
		fake_link_run_halves(link);
		timers_end(&link->node[0], look);
	}
	KUNIT_EXPECT_EQ(test, send->retry.left, left);
	timers_destroy(link);
}

/* IBA 9.7.6.1.3: 4.096 us * 2^timeout. */
static void answer_is_waited_for(struct kunit *test)
{
	static const u8 timeouts[] = { 1, 8, 14, 20, 31 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(timeouts); i++)
		timers_expect(test, timers_send, timeouts[i], timers_timeout_ns(timeouts[i]));
}

/* Each retry has the same timeout. */
static void answer_to_retry_is_waited_for(struct kunit *test)
{
	timers_expect(test, timers_send_again, TIMERS_TIMEOUT,
		      timers_timeout_ns(TIMERS_TIMEOUT));
}

static void timers_expect_none(struct fake_link *link)
{
	struct kunit *test = link->test;

	KUNIT_EXPECT_FALSE(test, hrtimer_active(&link->node[0].qp->send.retry.timer));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(link->node[0].expired));
	KUNIT_EXPECT_FALSE(test, fake_link_pass_time(link));
	KUNIT_EXPECT_TRUE(test, weft_send_is_busy(&link->node[0].qp->send));
}

static void timers_ack(struct fake_link *link, u32 psn)
{
	struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK),
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = link->node[0].qp->qpn,
		.psn = psn,
		.aeth.syndrome = WEFT_AETH_NO_CREDIT,
	};

	fake_link_deliver(&link->node[1], &hdr, NULL, 0);
	fake_link_run_halves(link);
}

/* Timeout 0 means no timer, even after the response to another request. */
static void answer_is_waited_for_without_end(struct kunit *test)
{
	const struct timers_way *way = test->param_value;
	struct fake_link *link = timers_create_silent(test, 0);

	timers_post(link);
	timers_post(link);
	fake_link_run_halves(link);
	timers_expect_none(link);
	if (way->local)
		return;
	timers_ack(link, 0);
	KUNIT_EXPECT_EQ(test, link->node[0].qp->send.inflight.una, 1);
	timers_expect_none(link);
}

/*
 * Each response restarts the timeout. The running timer is not changed; when it expires, it is
 * started again for the remaining time.
 */
static void answer_to_rest_is_waited_for(struct kunit *test)
{
	struct fake_link *link = timers_create(test);
	struct fake_node *node = &link->node[0];
	struct weft_send *send = &node->qp->send;
	struct timers_look look;
	s64 deadline;

	timers_post(link);
	timers_post(link);
	fake_link_run_halves(link);
	timers_begin(&look);
	timers_ack(link, 0);
	timers_end(node, &look);
	deadline = ktime_to_ns(send->retry.deadline);
	KUNIT_EXPECT_TRUE(test, timers_fits(&look, deadline,
					    timers_timeout_ns(send->retry.timeout)));
	/* it expires too early */
	hrtimer_cancel(&send->retry.timer);
	weft_turn_post(&send->turn, WEFT_EV_TIMER);
	timers_begin(&look);
	fake_link_run_halves(link);
	timers_end(node, &look);
	KUNIT_EXPECT_TRUE(test, look.started);
	KUNIT_EXPECT_EQ(test, look.expires, deadline);
	KUNIT_EXPECT_EQ(test, send->retry.left, 7);
}

/* The last step starts the timer, so the moments around each step are taken. */
static void timers_send_not_ready(struct kunit *test, u8 code, struct timers_look *look)
{
	struct fake_link *link = timers_create_not_ready(test, code);
	struct fake_node *node = &link->node[0];

	timers_begin(look);
	timers_post(link);
	timers_end(node, look);
	while (!node->qp->send.retry.rnr_wait) {
		timers_begin(look);
		KUNIT_ASSERT_TRUE(test, fake_link_step(link));
		timers_end(node, look);
	}
	timers_destroy(link);
}

/* IBA table 45, in units of 0.01 ms. */
static const u16 timers_rnr_delays[32] = {
	[1] = 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static void rnr_delay_of_each_code(struct kunit *test)
{
	u32 delay;
	u8 code;

	for (code = 0; code < ARRAY_SIZE(timers_rnr_delays); code++) {
		/* code 0 is 655.36 ms, one more than fits a u16 */
		delay = timers_rnr_delays[code] ?: 65536;
		timers_expect(test, timers_send_not_ready, code, delay * 10000ULL);
	}
}

static void timers_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

static struct kunit_case timers_cases[] = {
	KUNIT_CASE_PARAM(answer_is_waited_for, timers_way_gen_params),
	KUNIT_CASE_PARAM(answer_to_retry_is_waited_for, timers_way_gen_params),
	KUNIT_CASE_PARAM(answer_is_waited_for_without_end, timers_way_gen_params),
	KUNIT_CASE(answer_to_rest_is_waited_for),
	KUNIT_CASE_PARAM(rnr_delay_of_each_code, timers_way_gen_params),
	{}
};

static struct kunit_suite timers_suite = {
	.name = "weft_timers",
	.exit = timers_exit,
	.test_cases = timers_cases,
};

kunit_test_suite(timers_suite);
