// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * link/tx_credit.c: how many bytes a transmitter may have under way, and when its turn gets an
 * event because there is credit again.
 *
 * The work items of both QPs are disabled (see fake_link.h), so an event stays in the turn until
 * the test takes it.
 */
#include "fake_link.h"

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include <kunit/test.h>

#include "link/tx_credit.h"
#include "object/tx.h"
#include "params.h"
#include "stats.h"

/*
 * Two devices with different queues. The ids are larger than those of real devices in a test guest.
 */
#define CREDIT_DEV		1000
#define CREDIT_OTHER_DEV	1001
/* jiffies after which an event counts as lost. */
#define CREDIT_PATIENCE		(10 * HZ)
/* tx_credit.c gives up after this number of tries, if they took longer than HZ / 10. */
#define CREDIT_LONG_MS		150
#define CREDIT_TRIES		100
/* Packets that another task frees, and the longest delay before the transmitter waits for them. */
#define CREDIT_RACES		20000
#define CREDIT_RACE_SPINS	100

/**
 * struct credit_bench - transmitters
 * @link: has the QPs
 * @batch: of the requester of each QP
 * @sent: packets that are not freed, of all transmitters
 * @work: frees packets, in the order in which they were sent
 * @ended: @work returns when @sent is empty
 */
struct credit_bench {
	struct fake_link	*link;
	struct weft_tx_batch	batch[FAKE_NODES];
	struct sk_buff_head	sent;
	struct work_struct	work;
	bool			ended;
};

static struct credit_bench *bench;

static int credit_test_init(struct kunit *test)
{
	static const struct fake_attr attr = { .type = IB_QPT_RC, .max_wr = 4 };
	struct weft_qp *qp;
	u32 i;

	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	skb_queue_head_init(&bench->sent);
	bench->link = fake_link_create(test, &attr, 1);
	for (i = 0; i < FAKE_NODES; i++) {
		qp = bench->link->node[i].qp;
		qp->dev_id = CREDIT_DEV;
		bench->batch[i] = (struct weft_tx_batch) { .qp = qp, .tx = &qp->send.tx };
	}
	return 0;
}

static bool credit_event(u32 i)
{
	return weft_turn_take(bench->batch[i].tx->turn) & BIT(WEFT_EV_RUN);
}

static bool credit_wait_event(u32 i)
{
	unsigned long end = jiffies + CREDIT_PATIENCE;

	while (!credit_event(i)) {
		if (time_after(jiffies, end))
			return false;
		cond_resched();
	}
	return true;
}

/* A transmitter that backs off holds a reference to its QP until the timer expires. */
static void credit_test_exit(struct kunit *test)
{
	u32 i;

	if (!bench)
		return;
	skb_queue_purge(&bench->sent);
	for (i = 0; i < FAKE_NODES; i++)
		if (bench->batch[i].tx && READ_ONCE(bench->batch[i].tx->backing_off))
			KUNIT_EXPECT_TRUE(test, credit_wait_event(i));
	/* the timer drops the reference just after it has posted the event */
	msleep(20);
	fake_link_destroy(test->priv);
	bench = NULL;
}

/* A packet whose buffer has @buffer bytes, as its truesize says. */
static struct sk_buff *credit_packet(struct kunit *test, u32 buffer)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb->truesize = SKB_DATA_ALIGN(sizeof(struct sk_buff)) + buffer;
	return skb;
}

static struct sk_buff *credit_send(struct kunit *test, u32 i, u32 buffer)
{
	struct sk_buff *skb = credit_packet(test, buffer);

	weft_tx_credit_take(bench->batch[i].tx, skb);
	skb_queue_tail(&bench->sent, skb);
	return skb;
}

static void credit_free(struct sk_buff *skb)
{
	skb_unlink(skb, &bench->sent);
	kfree_skb(skb);
}

/* Free the oldest packet. */
static void credit_free_next(void)
{
	kfree_skb(skb_dequeue(&bench->sent));
}

static void credit_free_random(void)
{
	u32 i = fake_random(bench->link, skb_queue_len(&bench->sent));
	struct sk_buff *skb = skb_peek(&bench->sent);

	while (i--)
		skb = skb_peek_next(skb, &bench->sent);
	credit_free(skb);
}

static int credit_queued(u32 i)
{
	return atomic_read(&bench->batch[i].tx->queued);
}

static bool credit_left(u32 i)
{
	return weft_tx_credit_left(&bench->batch[i]);
}

static u64 credit_stalls(u32 i)
{
	return weft_stats_sum(&bench->link->node[i].dev, WEFT_STAT_TX_STALLS);
}

static int credit_refs(u32 i)
{
	return refcount_read(&bench->batch[i].qp->refs);
}

/* Send packets until the limit is reached. */
static void credit_fill(struct kunit *test, u32 i, u32 packet)
{
	u32 bytes;

	for (bytes = 0; bytes < WEFT_TX_BYTES; bytes += packet) {
		KUNIT_EXPECT_TRUE(test, credit_left(i));
		credit_send(test, i, packet);
	}
}

static void charge_covers_the_buffer(struct kunit *test)
{
	static const struct {
		u32	buffer;
		int	charge;
	} charges[] = {
		{ 1, 512 }, { 512, 512 }, { 513, 1024 }, { 1024, 1024 }, { 4096, 4096 },
		{ 4097, 8192 }, { SZ_64K, SZ_64K },
		/* longer than any packet */
		{ SZ_1M, SZ_64K },
	};
	int sum = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(charges); i++) {
		credit_send(test, 0, charges[i].buffer);
		KUNIT_EXPECT_EQ(test, credit_queued(0) - sum, charges[i].charge);
		sum += charges[i].charge;
	}
	KUNIT_EXPECT_EQ(test, credit_queued(1), 0);
	for (i = 0; i < ARRAY_SIZE(charges); i++) {
		credit_free_next();
		sum -= charges[i].charge;
		KUNIT_EXPECT_EQ(test, credit_queued(0), sum);
	}
	KUNIT_EXPECT_FALSE(test, credit_event(0));
}

/* On its way a packet may get a longer buffer, and a packet socket may clone it. */
static void packets_change_on_their_way(struct kunit *test)
{
	struct sk_buff *skb = credit_send(test, 0, 1024), *clone;
	u32 truesize = skb->truesize;

	KUNIT_ASSERT_EQ(test, pskb_expand_head(skb, 4000, 4000, GFP_KERNEL), 0);
	KUNIT_EXPECT_NE(test, skb->truesize, truesize);
	clone = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clone);
	credit_free(skb);
	KUNIT_EXPECT_EQ(test, credit_queued(0), 0);
	kfree_skb(clone);
	KUNIT_EXPECT_EQ(test, credit_queued(0), 0);
}

static void packets_keep_the_qp(struct kunit *test)
{
	int refs = credit_refs(0);
	u32 i;

	for (i = 1; i <= 5; i++) {
		credit_send(test, 0, 512);
		KUNIT_EXPECT_EQ(test, credit_refs(0), refs + i);
	}
	while (i-- > 1) {
		KUNIT_EXPECT_EQ(test, credit_refs(0), refs + i);
		credit_free_next();
	}
	KUNIT_EXPECT_EQ(test, credit_refs(0), refs);
}

static void stalls_at_the_limit(struct kunit *test)
{
	credit_fill(test, 0, SZ_4K);
	KUNIT_EXPECT_EQ(test, credit_stalls(0), 0);
	KUNIT_EXPECT_FALSE(test, credit_left(0));
	KUNIT_EXPECT_EQ(test, credit_stalls(0), 1);
	/* the limit of the other transmitter is not reached */
	KUNIT_EXPECT_TRUE(test, credit_left(1));
	/* the turn may run for another reason before half of the packets have left */
	credit_free_next();
	KUNIT_EXPECT_LT(test, credit_queued(0), WEFT_TX_BYTES);
	KUNIT_EXPECT_FALSE(test, credit_left(0));
	KUNIT_EXPECT_FALSE(test, credit_event(0));
	KUNIT_EXPECT_EQ(test, credit_stalls(0), 1);
	while (credit_queued(0) > WEFT_TX_BYTES / 2) {
		KUNIT_EXPECT_FALSE(test, credit_event(0));
		credit_free_next();
	}
	KUNIT_EXPECT_TRUE(test, credit_event(0));
	KUNIT_EXPECT_TRUE(test, credit_left(0));
	/* there is one event for each stall */
	while (!skb_queue_empty(&bench->sent))
		credit_free_next();
	KUNIT_EXPECT_FALSE(test, credit_event(0));
	KUNIT_EXPECT_FALSE(test, credit_event(1));
}

/*
 * The packet that brings the queued bytes down to half of the limit causes the event, in any order.
 */
static void freed_in_any_order(struct kunit *test)
{
	u32 round, events, queued;

	for (round = 1; round <= 20; round++) {
		while (credit_left(0))
			credit_send(test, 0, 1 + fake_random(bench->link, SZ_16K));
		KUNIT_EXPECT_EQ(test, credit_stalls(0), round);
		KUNIT_EXPECT_FALSE(test, credit_event(0));
		for (events = 0; !events; ) {
			KUNIT_ASSERT_FALSE(test, skb_queue_empty(&bench->sent));
			queued = credit_queued(0);
			credit_free_random();
			events += credit_event(0);
			KUNIT_EXPECT_EQ(test, events, credit_queued(0) <= WEFT_TX_BYTES / 2);
			KUNIT_EXPECT_GT(test, queued, WEFT_TX_BYTES / 2);
		}
	}
}

/* The queue of the net device is full of the transmitter's own packets. */
static void waits_for_half_to_leave(struct kunit *test)
{
	u32 i;

	KUNIT_EXPECT_FALSE(test, weft_tx_credit_is_used(&bench->batch[0]));
	KUNIT_EXPECT_FALSE(test, weft_tx_credit_wait(&bench->batch[0]));
	for (i = 0; i < 8; i++)
		credit_send(test, 0, SZ_2K);
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_is_used(&bench->batch[0]));
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_wait(&bench->batch[0]));
	KUNIT_EXPECT_EQ(test, credit_stalls(0), 1);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_FALSE(test, credit_event(0));
		KUNIT_EXPECT_FALSE(test, credit_left(0));
		credit_free_random();
	}
	KUNIT_EXPECT_TRUE(test, credit_event(0));
	KUNIT_EXPECT_TRUE(test, credit_left(0));
	/* a single packet */
	for (i = 0; i < 3; i++)
		credit_free_next();
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_wait(&bench->batch[0]));
	credit_free_next();
	KUNIT_EXPECT_TRUE(test, credit_event(0));
	KUNIT_EXPECT_FALSE(test, weft_tx_credit_is_used(&bench->batch[0]));
}

/* A transmitter that changes its path need not wait for packets on the old one. */
static void forgets_what_it_waits_for(struct kunit *test)
{
	weft_tx_credit_forget(bench->batch[0].tx);
	KUNIT_EXPECT_FALSE(test, credit_event(0));
	credit_send(test, 0, SZ_4K);
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_wait(&bench->batch[0]));
	weft_tx_credit_forget(bench->batch[0].tx);
	KUNIT_EXPECT_TRUE(test, credit_event(0));
	KUNIT_EXPECT_TRUE(test, credit_left(0));
	/* its packets are still under way */
	KUNIT_EXPECT_EQ(test, credit_queued(0), SZ_4K);
	credit_free_next();
	KUNIT_EXPECT_EQ(test, credit_queued(0), 0);
	KUNIT_EXPECT_FALSE(test, credit_event(0));
	/* and they count against the limit */
	credit_fill(test, 0, SZ_64K);
	KUNIT_EXPECT_FALSE(test, credit_left(0));
	weft_tx_credit_forget(bench->batch[0].tx);
	KUNIT_EXPECT_TRUE(test, credit_event(0));
	KUNIT_EXPECT_FALSE(test, credit_left(0));
}

/*
 * The timer is a soft interrupt, so it does not expire while bottom halves are off. A failed
 * expectation allocates memory, so results are collected first.
 */
static void backs_off_for_a_moment(struct kunit *test)
{
	int refs = credit_refs(0), held[2];
	bool more[2], told, left[2];

	local_bh_disable();
	more[0] = weft_tx_credit_backoff(&bench->batch[0]);
	held[0] = credit_refs(0);
	told = credit_event(0);
	left[0] = credit_left(0);
	left[1] = credit_left(1);
	/* the turn has run for another reason */
	more[1] = weft_tx_credit_backoff(&bench->batch[0]);
	held[1] = credit_refs(0);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, more[0] && more[1]);
	KUNIT_EXPECT_EQ(test, held[0], refs + 1);
	KUNIT_EXPECT_EQ(test, held[1], refs + 1);
	KUNIT_EXPECT_FALSE(test, told);
	KUNIT_EXPECT_FALSE(test, left[0]);
	KUNIT_EXPECT_TRUE(test, left[1]);
	KUNIT_EXPECT_EQ(test, credit_stalls(0), 1);
	KUNIT_EXPECT_TRUE(test, credit_wait_event(0));
	KUNIT_EXPECT_TRUE(test, credit_left(0));
	msleep(20);
	KUNIT_EXPECT_EQ(test, credit_refs(0), refs);
	KUNIT_EXPECT_FALSE(test, credit_event(0));
	KUNIT_EXPECT_FALSE(test, credit_event(1));
}

static void backs_off_together(struct kunit *test)
{
	bool more[FAKE_NODES];
	u32 i;

	local_bh_disable();
	for (i = 0; i < FAKE_NODES; i++)
		more[i] = weft_tx_credit_backoff(&bench->batch[i]);
	local_bh_enable();
	for (i = 0; i < FAKE_NODES; i++) {
		KUNIT_EXPECT_TRUE(test, more[i]);
		KUNIT_EXPECT_TRUE(test, credit_wait_event(i));
	}
}

/*
 * A transmitter gives up after many tries that took long; many tries, or a long time, are not
 * enough.
 */
static void backing_off_has_an_end(struct kunit *test)
{
	unsigned long began = jiffies;
	bool more = true;
	u32 i;

	for (i = 0; i <= CREDIT_TRIES; i++)
		more &= weft_tx_credit_backoff(&bench->batch[0]);
	/* on a stalled machine the tries alone may have taken long */
	if (time_before(jiffies, began + HZ / 10))
		KUNIT_EXPECT_TRUE(test, more);
	msleep(CREDIT_LONG_MS);
	KUNIT_EXPECT_FALSE(test, weft_tx_credit_backoff(&bench->batch[0]));

	KUNIT_EXPECT_TRUE(test, weft_tx_credit_backoff(&bench->batch[1]));
	msleep(CREDIT_LONG_MS);
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_backoff(&bench->batch[1]));

	/* another path has another queue */
	weft_tx_credit_forget(bench->batch[0].tx);
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_backoff(&bench->batch[0]));
}

/**
 * struct credit_way - result of credit_way()
 * @valid: the first transmitter waited, and the second one backed off
 * @told: by transmitter: its turn got an event when the packets left
 * @left: by transmitter: it had credit then
 */
struct credit_way {
	bool	valid;
	bool	told[FAKE_NODES];
	bool	left[FAKE_NODES];
};

/*
 * The second transmitter backs off, then the packets of the first one leave, before the timer can
 * expire. @refused: the first one waits since the queue has refused a packet, else at its limit.
 */
static struct credit_way credit_way(bool refused)
{
	struct credit_way way;
	u32 i;

	local_bh_disable();
	way.valid = weft_tx_credit_backoff(&bench->batch[1]);
	way.valid &= refused ? weft_tx_credit_wait(&bench->batch[0]) : !credit_left(0);
	while (!skb_queue_empty(&bench->sent))
		credit_free_next();
	for (i = 0; i < FAKE_NODES; i++) {
		way.told[i] = credit_event(i);
		way.left[i] = credit_left(i);
	}
	local_bh_enable();
	return way;
}

/* When packets leave a full queue, the transmitter that backed off may send. */
static void gives_way_to_those_that_back_off(struct kunit *test)
{
	struct credit_way way;

	credit_send(test, 0, SZ_4K);
	way = credit_way(true);
	KUNIT_EXPECT_TRUE(test, way.valid);
	KUNIT_EXPECT_TRUE(test, way.told[1] && way.left[1]);
	KUNIT_EXPECT_FALSE(test, way.told[0] || way.left[0]);
	KUNIT_EXPECT_TRUE(test, credit_wait_event(0));
	KUNIT_EXPECT_TRUE(test, credit_left(0));
	/* now no transmitter backs off */
	credit_send(test, 0, SZ_4K);
	KUNIT_EXPECT_TRUE(test, weft_tx_credit_wait(&bench->batch[0]));
	credit_free_next();
	KUNIT_EXPECT_TRUE(test, credit_event(0));
}

static void credit_expect_no_way(struct kunit *test, bool refused)
{
	struct credit_way way = credit_way(refused);

	KUNIT_EXPECT_TRUE(test, way.valid);
	KUNIT_EXPECT_TRUE(test, way.told[0] && way.left[0]);
	KUNIT_EXPECT_FALSE(test, way.told[1] || way.left[1]);
	KUNIT_EXPECT_TRUE(test, credit_wait_event(1));
}

/* Another device has another queue, and a stall at the limit says nothing about the queue. */
static void gives_way_to_nobody_else(struct kunit *test)
{
	bench->batch[1].qp->dev_id = CREDIT_OTHER_DEV;
	credit_send(test, 0, SZ_4K);
	credit_expect_no_way(test, true);
	bench->batch[1].qp->dev_id = CREDIT_DEV;
	credit_fill(test, 0, SZ_64K);
	credit_expect_no_way(test, false);
}

static void credit_free_all(struct work_struct *work)
{
	while (!READ_ONCE(bench->ended) || !skb_queue_empty(&bench->sent)) {
		credit_free_next();
		cond_resched();
	}
}

/* Another task frees a packet at about the time when the packet's transmitter begins to wait. */
static void no_event_is_lost(struct kunit *test)
{
	/* on one CPU each round takes a tick, and none is a race */
	u32 races = num_online_cpus() > 1 ? CREDIT_RACES : 100;
	u32 i, spins, lost = 0;
	struct sk_buff *skb;

	INIT_WORK(&bench->work, credit_free_all);
	queue_work(system_unbound_wq, &bench->work);
	for (i = 0; i < races && !lost; i++) {
		skb = alloc_skb(64, GFP_KERNEL);
		if (!skb)
			break;
		weft_tx_credit_take(bench->batch[0].tx, skb);
		skb_queue_tail(&bench->sent, skb);
		for (spins = fake_random(bench->link, CREDIT_RACE_SPINS); spins; spins--)
			cpu_relax();
		if (weft_tx_credit_wait(&bench->batch[0]) && !credit_wait_event(0))
			lost++;
	}
	WRITE_ONCE(bench->ended, true);
	flush_work(&bench->work);
	KUNIT_EXPECT_EQ(test, i, races);
	KUNIT_EXPECT_EQ(test, lost, 0);
	KUNIT_EXPECT_EQ(test, credit_queued(0), 0);
	KUNIT_EXPECT_GT(test, credit_stalls(0), 0);
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(charge_covers_the_buffer),
	KUNIT_CASE(packets_change_on_their_way),
	KUNIT_CASE(packets_keep_the_qp),
	KUNIT_CASE(stalls_at_the_limit),
	KUNIT_CASE(freed_in_any_order),
	KUNIT_CASE(waits_for_half_to_leave),
	KUNIT_CASE(forgets_what_it_waits_for),
	KUNIT_CASE(backs_off_for_a_moment),
	KUNIT_CASE(backs_off_together),
	KUNIT_CASE(backing_off_has_an_end),
	KUNIT_CASE(gives_way_to_those_that_back_off),
	KUNIT_CASE(gives_way_to_nobody_else),
	KUNIT_CASE_SLOW(no_event_is_lost),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "weft_tx_credit",
	.init = credit_test_init,
	.exit = credit_test_exit,
	.test_cases = credit_cases,
};

kunit_test_suite(credit_suite);
