// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of link/ib.c: packets that wait at a port for the work item that receives them. */
#include <kunit/test.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>

#include "link/ib.h"
#include "object/dev.h"
#include "object/hca.h"
#include "stats.h"
#include "wire/codec.h"
#include "wire/headers.h"

#define IB_TEST_BYTES	64

/* A port whose work item does nothing. */
struct ib_bench {
	struct weft_dev	dev;
	struct weft_hca	hca;
	u32		freed;		/* packets whose destructors have been called */
};

static struct ib_bench *bench;

static void bench_idle(struct work_struct *work)
{
}

static void bench_freed(struct sk_buff *skb)
{
	bench->freed++;
}

static int ib_test_init(struct kunit *test)
{
	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->dev.stats = alloc_percpu(struct weft_stats);
	KUNIT_ASSERT_NOT_NULL(test, bench->dev.stats);
	bench->hca.dev = &bench->dev;
	weft_ib_open(&bench->hca);
	INIT_WORK(&bench->hca.rx_work, bench_idle);
	return 0;
}

static void ib_test_exit(struct kunit *test)
{
	if (!bench)
		return;
	if (bench->dev.stats)
		weft_ib_close(&bench->hca);
	free_percpu(bench->dev.stats);
	bench = NULL;
}

/* Receive packets from this host; returns how many of them have been queued. */
static u32 bench_receive(u32 num, void (*destructor)(struct sk_buff *skb))
{
	u32 before = skb_queue_len(&bench->hca.rx), i;
	struct sk_buff *skb;

	for (i = 0; i < num; i++) {
		skb = alloc_skb(IB_TEST_BYTES, GFP_KERNEL);
		if (!skb)
			break;
		skb->destructor = destructor;
		local_bh_disable();
		rcu_read_lock();
		weft_ib_receive(&bench->hca.port, skb, true);
		rcu_read_unlock();
		local_bh_enable();
	}
	return skb_queue_len(&bench->hca.rx) - before;
}

static u64 bench_dropped(void)
{
	return weft_stats_sum(&bench->dev, WEFT_STAT_RX_QUEUE_FULL);
}

/* Copies for a multicast group have no waiting sender, so their number is limited. */
static void copies_are_bounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bench_receive(WEFT_QUEUE_PACKETS, NULL), WEFT_QUEUE_PACKETS);
	KUNIT_EXPECT_EQ(test, bench_dropped(), 0);
	KUNIT_EXPECT_EQ(test, bench_receive(100, NULL), 0);
	KUNIT_EXPECT_EQ(test, bench_dropped(), 100);
}

/* Packets with a destructor are limited by their senders, and never dropped. */
static void others_are_not_dropped(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bench_receive(WEFT_QUEUE_PACKETS, NULL), WEFT_QUEUE_PACKETS);
	KUNIT_EXPECT_EQ(test, bench_receive(100, bench_freed), 100);
	KUNIT_EXPECT_EQ(test, bench->freed, 0);
	KUNIT_EXPECT_EQ(test, bench_dropped(), 0);
	weft_ib_close(&bench->hca);
	KUNIT_EXPECT_EQ(test, bench->freed, 100);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&bench->hca.rx), 0);
}

/* A packet without an LRH, and one for another LID, are errors of the port. */
static void strangers_are_counted(struct kunit *test)
{
	struct weft_lrh lrh = { .dlid = 5, .slid = 6, .lnh = WEFT_LNH_BTH, .length = 24 };
	struct sk_buff *skb;
	u32 i;

	bench->hca.port.lid = 4;
	for (i = 0; i < 2; i++) {
		skb = alloc_skb(IB_TEST_BYTES, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		if (i)
			weft_lrh_encode(skb_put_zero(skb, lrh.length), &lrh);
		else
			skb_put_zero(skb, 4);
		skb->destructor = bench_freed;
		local_bh_disable();
		rcu_read_lock();
		weft_ib_receive(&bench->hca.port, skb, false);
		rcu_read_unlock();
		local_bh_enable();
		KUNIT_EXPECT_EQ(test, bench->freed, i + 1);
		KUNIT_EXPECT_EQ(test, i + 1,
				atomic64_read(&bench->hca.port.counters[WEFT_IBC_RCV_ERRORS]));
	}
}

static struct kunit_case ib_cases[] = {
	KUNIT_CASE(copies_are_bounded),
	KUNIT_CASE(others_are_not_dropped),
	KUNIT_CASE(strangers_are_counted),
	{}
};

static struct kunit_suite ib_suite = {
	.name = "weft_ib",
	.init = ib_test_init,
	.exit = ib_test_exit,
	.test_cases = ib_cases,
};

kunit_test_suite(ib_suite);
