// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The room that backlogs share. */
#include <kunit/test.h>
#include <linux/mm.h>

#include "object/backlog.h"
#include "params.h"

#define BACKLOG_MANY	4000U
/* The memory that a packet seems to take, so that tests need not have it. */
#define BACKLOG_PACKET	SZ_8K
/* CPUs count so much by themselves. */
#define BACKLOG_SLACK	((u64)num_possible_cpus() * SZ_256K)

struct backlog_many {
	struct weft_backlog	each[BACKLOG_MANY];
};

static u64 backlog_most(void)
{
	return min_t(u64, WEFT_QUEUE_TOTAL_BYTES,
		     ((u64)totalram_pages() << PAGE_SHIFT) / WEFT_QUEUE_MEMORY_PART);
}

static struct sk_buff *backlog_skb(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(0, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb->truesize = BACKLOG_PACKET;
	return skb;
}

/* Put packets in until one does not fit. Return: their bytes. */
static u32 backlog_fill(struct kunit *test, struct weft_backlog *backlog)
{
	struct sk_buff *skb;

	for (;;) {
		skb = backlog_skb(test);
		if (!weft_backlog_add(backlog, skb))
			break;
	}
	kfree_skb(skb);
	return backlog->bytes;
}

static struct backlog_many *backlog_create(struct kunit *test)
{
	struct backlog_many *many = kvmalloc(sizeof(*many), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, many);
	for (i = 0; i < BACKLOG_MANY; i++)
		weft_backlog_init(&many->each[i]);
	test->priv = many;
	return many;
}

static void backlog_exit(struct kunit *test)
{
	struct backlog_many *many = test->priv;
	u32 i;

	for (i = 0; many && i < BACKLOG_MANY; i++)
		weft_backlog_purge(&many->each[i]);
	kvfree(many);
}

/* A single one has room for all that a peer may send, and never for more packets than its limit. */
static void alone(struct kunit *test)
{
	struct weft_backlog *backlog = &backlog_create(test)->each[0];
	u64 share = backlog_most() / WEFT_QUEUE_PART;
	u32 bytes = backlog_fill(test, backlog);

	KUNIT_EXPECT_LE(test, bytes, WEFT_QUEUE_BYTES);
	KUNIT_EXPECT_GE(test, bytes + BACKLOG_SLACK,
			min_t(u64, WEFT_QUEUE_PACKETS * BACKLOG_PACKET, share) - BACKLOG_PACKET);
	KUNIT_EXPECT_LE(test, skb_queue_len(&backlog->queue), WEFT_QUEUE_PACKETS);
}

/* However many are full, the next one has its own room, and all together keep the limit. */
static void many(struct kunit *test)
{
	struct backlog_many *many = backlog_create(test);
	u64 sum = 0, first;
	u32 i, bytes;

	for (i = 0; i < BACKLOG_MANY; i++) {
		bytes = backlog_fill(test, &many->each[i]);
		sum += bytes;
		KUNIT_EXPECT_GE(test, bytes, WEFT_QUEUE_OWN_BYTES);
		if (!i)
			first = bytes;
	}
	KUNIT_EXPECT_EQ(test, bytes, WEFT_QUEUE_OWN_BYTES);
	KUNIT_EXPECT_LE(test, sum, backlog_most() + (u64)BACKLOG_MANY * WEFT_QUEUE_OWN_BYTES +
				   BACKLOG_SLACK);
	/* what they give back another gets */
	for (i = 0; i < BACKLOG_MANY; i++)
		weft_backlog_purge(&many->each[i]);
	KUNIT_EXPECT_GE(test, backlog_fill(test, &many->each[0]) + BACKLOG_SLACK, first);
}

/* A packet that was taken out goes back at the head, full or not, and each byte is counted once. */
static void back_at_the_head(struct kunit *test)
{
	struct weft_backlog *backlog = &backlog_create(test)->each[0];
	u32 bytes = backlog_fill(test, backlog);
	struct sk_buff *first = weft_backlog_take(backlog);

	KUNIT_EXPECT_EQ(test, backlog->bytes, bytes - BACKLOG_PACKET);
	weft_backlog_push(backlog, first);
	weft_backlog_push(backlog, backlog_skb(test));
	KUNIT_EXPECT_EQ(test, backlog->bytes, bytes + BACKLOG_PACKET);
	kfree_skb(weft_backlog_take(backlog));
	KUNIT_EXPECT_PTR_EQ(test, skb_peek(&backlog->queue), first);
	while (!weft_backlog_is_empty(backlog))
		kfree_skb(weft_backlog_take(backlog));
	KUNIT_EXPECT_EQ(test, backlog->bytes, 0U);
	KUNIT_EXPECT_NULL(test, weft_backlog_take(backlog));
}

static struct kunit_case backlog_cases[] = {
	KUNIT_CASE(alone),
	KUNIT_CASE(many),
	KUNIT_CASE(back_at_the_head),
	{}
};

static struct kunit_suite backlog_suite = {
	.name = "weft_backlog",
	.exit = backlog_exit,
	.test_cases = backlog_cases,
};

kunit_test_suite(backlog_suite);
