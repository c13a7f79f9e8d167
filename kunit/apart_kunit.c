// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages between one pair of QPs write no memory of the device or of another pair of QPs, so
 * CPUs that work on different pairs do not contend for cache lines.
 */
#include <kunit/test.h>
#include <linux/cache.h>
#include <linux/string.h>

#include "consumer.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/qp.h"

#define APART_MESSAGES	16

/* A piece of memory, and a copy of its content before the messages. */
struct apart_view {
	const char	*name;
	const void	*at;
	size_t		length;
	void		*before;
};

static void apart_look(struct kunit *test, struct apart_view *view)
{
	view->before = kunit_kmalloc(test, view->length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, view->before);
	memcpy(view->before, view->at, view->length);
}

static bool apart_share_line(const struct apart_view *a, const struct apart_view *b)
{
	return PTR_ALIGN_DOWN(a->at, SMP_CACHE_BYTES) < b->at + b->length &&
	       PTR_ALIGN_DOWN(b->at, SMP_CACHE_BYTES) < a->at + a->length;
}

static void apart_talk(struct kunit *test, struct consumer *consumer)
{
	struct consumer_end *from = &consumer->end[0], *to = &consumer->end[1];
	u32 i, end = from->send.done + APART_MESSAGES;

	for (i = from->send.done; i < end; i++) {
		KUNIT_EXPECT_EQ(test, consumer_post_recv(to, i), 0);
		KUNIT_EXPECT_EQ(test, consumer_post_send(from, i), 0);
	}
	KUNIT_EXPECT_TRUE(test, consumer_wait(from, &from->send, end));
	KUNIT_EXPECT_TRUE(test, consumer_wait(to, &to->recv, end));
	consumer_expect(test, &from->send, end, 0);
	consumer_expect(test, &to->recv, end, 0);
}

static void others_are_untouched(struct kunit *test)
{
	struct consumer *busy = consumer_pair(test, IB_POLL_DIRECT);
	struct consumer *quiet = consumer_pair(test, IB_POLL_DIRECT);
	struct weft_dev *dev = to_weft_dev(consumer_dev);
	const struct apart_view own[] = {
		{ "sender", to_weft_qp(busy->end[0].qp), sizeof(struct weft_qp) },
		{ "receiver", to_weft_qp(busy->end[1].qp), sizeof(struct weft_qp) },
		{ "sender's CQ", to_weft_cq(busy->end[0].cq), sizeof(struct weft_cq) },
		{ "receiver's CQ", to_weft_cq(busy->end[1].cq), sizeof(struct weft_cq) },
	};
	struct apart_view other[] = {
		{ "device", &dev->ibdev + 1, sizeof(*dev) - sizeof(dev->ibdev) },
		{ "sender", to_weft_qp(quiet->end[0].qp), sizeof(struct weft_qp) },
		{ "receiver", to_weft_qp(quiet->end[1].qp), sizeof(struct weft_qp) },
		{ "sender's CQ", to_weft_cq(quiet->end[0].cq), sizeof(struct weft_cq) },
		{ "receiver's CQ", to_weft_cq(quiet->end[1].cq), sizeof(struct weft_cq) },
	};
	u32 i, j;

	apart_talk(test, quiet);
	/* turns may be released after the last completion */
	consumer_quiet();
	for (i = 0; i < ARRAY_SIZE(other); i++)
		apart_look(test, &other[i]);
	apart_talk(test, busy);
	for (i = 0; i < ARRAY_SIZE(other); i++) {
		KUNIT_EXPECT_EQ_MSG(test, memcmp(other[i].at, other[i].before, other[i].length), 0,
				    "%s", other[i].name);
		for (j = 0; j < ARRAY_SIZE(own); j++)
			KUNIT_EXPECT_FALSE_MSG(test, apart_share_line(&other[i], &own[j]),
					       "%s and %s", other[i].name, own[j].name);
	}
	consumer_exit(test);
	test->priv = busy;
}

static struct kunit_case apart_cases[] = {
	KUNIT_CASE(others_are_untouched),
	{}
};

static struct kunit_suite apart_suite = {
	.name = "weft_apart",
	.suite_init = consumer_suite_init,
	.suite_exit = consumer_suite_exit,
	.exit = consumer_exit,
	.test_cases = apart_cases,
};

kunit_test_suite(apart_suite);
