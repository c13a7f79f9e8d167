// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many requests over a path that loses packets at random, in virtual time: how long they take.
 *
 * Packets take time, and the clock goes on to the next thing that happens. The engine reads the
 * real clock, so in place of the clock the times that the engine waits for are moved. While it runs
 * the virtual clock stands still. Timers are looked at each LOSSY_TICK.
 */
#include "fake_link.h"

#include <linux/bitmap.h>
#include <linux/ip.h>
#include <linux/math64.h>

#include <kunit/test.h>

#include "verbs/qp.h"

/* PSNs wrap during the tests. */
#define LOSSY_PSN	0xfff000U
#define LOSSY_TICK	(250 * NSEC_PER_USEC)
/* The time that a packet takes on the wire. */
#define LOSSY_PACKET	(2 * NSEC_PER_USEC)
/* Some 1 s. */
#define LOSSY_TIMEOUT	18
/* All must be complete by then. Some 0.2 s are seen on long paths. */
#define LOSSY_END	NSEC_PER_SEC
#define LOSSY_MESSAGES	100
#define LOSSY_QUEUE	64
/* See lossy_times(). */
#define LOSSY_TIMES	9
#define LOSSY_HAPPENED	5
#define LOSSY_DUE	7
/* Node 0 reads into, and writes from, the first half of its memory what is at the same offset. */
#define LOSSY_HALF	(FAKE_MEMORY / 2)
/* Runs of each row; more find more. */
#define LOSSY_SEEDS	2

/**
 * struct lossy_row - a path, and requests
 * @name: of the row
 * @loss: packets of a million after which one or more are lost
 * @burst: of how many packets the time is in which all are lost, at most
 * @answers: only responses are lost
 * @round: round trip in us
 * @jitter: time in us that a packet may take longer
 * @length: of a message, at most
 * @reads: READs at a time
 * @mixed: half of the requests are WRITEs
 */
struct lossy_row {
	const char	*name;
	u32		loss;
	u32		burst;
	bool		answers;
	u32		round;
	u32		jitter;
	u32		length;
	u32		reads;
	bool		mixed;
};

static const struct lossy_row lossy_rows[] = {
	{ "1 % of all", 10000, 1, false, 600, 0, 64 * FAKE_MTU, 16 },
	{ "1 % of responses", 10000, 1, true, 600, 0, 64 * FAKE_MTU, 16 },
	{ "5 % of all", 50000, 1, false, 600, 0, 64 * FAKE_MTU, 16 },
	{ "1 % of all, 10 ms", 10000, 1, false, 10000, 0, 64 * FAKE_MTU, 16 },
	{ "1 % of all, long READs", 10000, 1, false, 600, 0, LOSSY_HALF, 4 },
	{ "1 % of all, one READ at a time", 10000, 1, false, 600, 0, 64 * FAKE_MTU, 1 },
	{ "short READs", 20000, 1, false, 600, 0, FAKE_MTU, 16 },
	{ "bursts", 2000, 200, false, 600, 0, 64 * FAKE_MTU, 16 },
	{ "bursts, 10 ms", 1000, 4000, false, 10000, 0, 64 * FAKE_MTU, 16 },
	{ "1 % of all, jitter", 10000, 1, false, 2000, 300, 64 * FAKE_MTU, 16 },
	{ "1 % of all, WRITEs too", 10000, 1, false, 600, 0, 64 * FAKE_MTU, 16, true },
	{ "bursts, WRITEs too", 2000, 200, false, 600, 0, 64 * FAKE_MTU, 16, true },
};

static void lossy_row_desc(const struct lossy_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lossy_row, lossy_rows, lossy_row_desc);

/**
 * struct lossy - a run
 * @test: the test
 * @row: what happens
 * @link: two nodes
 * @now: the virtual time
 * @tick: when timers are looked at
 * @busy: until when packets to each node are put on the wire
 * @flying: packets to each node that are on the wire
 * @lost: until when packets to each node are lost
 * @used: a bit for each byte that is read or written
 * @posted: requests
 * @done: requests that are complete
 * @since: when the engine was let run
 * @frozen: its times then
 */
struct lossy {
	struct kunit			*test;
	const struct lossy_row		*row;
	struct fake_link		*link;
	s64				now;
	s64				tick;
	s64				busy[FAKE_NODES];
	u32				flying[FAKE_NODES];
	s64				lost[FAKE_NODES];
	unsigned long			*used;
	u32				posted;
	u32				done;
	ktime_t				since;
	ktime_t				frozen[FAKE_NODES][LOSSY_TIMES];
};

static void lossy_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* The times of a node: when things happened, and then those that it waits for. */
static void lossy_times(struct weft_qp *qp, ktime_t **times)
{
	struct weft_retry *retry = &qp->send.retry;

	*times++ = &retry->silent;
	*times++ = &retry->quiet;
	*times++ = &retry->sample_at;
	*times++ = &qp->send.inflight.asked_at;
	*times++ = &qp->send.inflight.probed_at;
	*times++ = &qp->send.early.due;
	*times++ = &qp->recv.early.due;
	*times++ = &retry->deadline;
	*times = &retry->repair_due;
}

/* Does a time mean something? */
static bool lossy_is_time(ktime_t time)
{
	return time && time != KTIME_MAX;
}

/* Let the virtual clock go on. */
static void lossy_pass(struct lossy *lossy, s64 ns)
{
	ktime_t *times[LOSSY_TIMES];
	u32 i, j;

	for (i = 0; i < FAKE_NODES; i++) {
		lossy_times(lossy->link->node[i].qp, times);
		for (j = 0; j < LOSSY_TIMES; j++)
			if (lossy_is_time(*times[j]))
				*times[j] -= ns;
	}
}

/* Remember the real time, and the times of the nodes. */
static void lossy_freeze(struct lossy *lossy)
{
	ktime_t *times[LOSSY_TIMES];
	u32 i, j;

	for (i = 0; i < FAKE_NODES; i++) {
		lossy_times(lossy->link->node[i].qp, times);
		for (j = 0; j < LOSSY_TIMES; j++)
			lossy->frozen[i][j] = *times[j];
	}
	lossy->since = ktime_get();
}

/* The engine has run, in no time: what it has set is set as of now. */
static void lossy_thaw(struct lossy *lossy)
{
	ktime_t now = ktime_get(), *times[LOSSY_TIMES];
	s64 ran = ktime_sub(now, lossy->since);
	u32 i, j;

	for (i = 0; i < FAKE_NODES; i++) {
		lossy_times(lossy->link->node[i].qp, times);
		for (j = 0; j < LOSSY_TIMES; j++) {
			if (!lossy_is_time(*times[j]))
				continue;
			if (*times[j] == lossy->frozen[i][j])
				*times[j] += ran;
			else if (j < LOSSY_HAPPENED)
				*times[j] = now;
			else if (j < LOSSY_DUE)
				*times[j] = now + WEFT_EARLY_GAP_US * NSEC_PER_USEC;
		}
	}
}

static void lossy_post(struct lossy *lossy)
{
	struct fake_node *node = &lossy->link->node[0], *peer = &lossy->link->node[1];
	u32 length = 1 + fake_random(lossy->link, lossy->row->length), at;
	bool write = lossy->row->mixed && fake_random(lossy->link, 2);
	const struct ib_send_wr *bad;
	struct ib_sge sge = { .length = length, .lkey = node->region->key };
	struct ib_rdma_wr wr = {
		.wr.opcode = write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.rkey = peer->region->key,
	};

	at = fake_random(lossy->link, LOSSY_HALF - length + 1) + (write ? LOSSY_HALF : 0);
	bitmap_set(lossy->used, at, length);
	sge.addr = fake_node_addr(node, at);
	wr.remote_addr = fake_node_addr(peer, at);
	KUNIT_ASSERT_EQ(lossy->test, 0, weft_post_send(&node->ib_qp.ibqp, &wr.wr, &bad));
	lossy->posted++;
}

/* Post and run all that can be, in no time. */
static void lossy_settle(struct lossy *lossy)
{
	struct fake_node *node = &lossy->link->node[0];
	struct ib_wc wc;

	fake_link_run_halves(lossy->link);
	while (weft_poll_cq(&node->send_cq.ibcq, 1, &wc) == 1) {
		KUNIT_ASSERT_EQ(lossy->test, (int)wc.status, IB_WC_SUCCESS);
		lossy->done++;
	}
	while (lossy->posted < LOSSY_MESSAGES && lossy->posted < lossy->done + LOSSY_QUEUE)
		lossy_post(lossy);
	fake_link_run_halves(lossy->link);
}

static bool lossy_loses(struct lossy *lossy, u32 to)
{
	const struct lossy_row *row = lossy->row;
	s64 at = lossy->busy[to];

	if (row->answers && to)
		return false;
	if (at > lossy->lost[to] && fake_random(lossy->link, 1000000) < row->loss)
		lossy->lost[to] = at + fake_random(lossy->link, row->burst) * LOSSY_PACKET;
	return at <= lossy->lost[to];
}

/* Put the packets that have been sent on the wire. */
static void lossy_launch(struct lossy *lossy)
{
	struct fake_link *link = lossy->link;
	struct sk_buff *skb, *more;
	u32 to;

	skb_queue_walk_safe(&link->wire, skb, more) {
		if (skb->tstamp)
			continue;
		to = ip_hdr(skb)->daddr == link->node[1].ip;
		lossy->busy[to] = max(lossy->busy[to], lossy->now) + LOSSY_PACKET;
		if (lossy_loses(lossy, to)) {
			fake_link_drop(link, skb);
			continue;
		}
		lossy->flying[to]++;
		skb->tstamp = lossy->busy[to] + lossy->row->round * NSEC_PER_USEC / 2;
		if (lossy->row->jitter)
			skb->tstamp += fake_random(link, lossy->row->jitter) * NSEC_PER_USEC;
	}
}

static u32 lossy_to(const struct lossy *lossy, const struct sk_buff *skb)
{
	return ip_hdr(skb)->daddr == lossy->link->node[1].ip;
}

/* The packet that arrives next; NULL: there is none. Without jitter, each way keeps the order. */
static struct sk_buff *lossy_first(struct lossy *lossy)
{
	struct sk_buff *skb, *first = skb_peek(&lossy->link->wire);
	u32 way;

	if (!first)
		return NULL;
	way = lossy_to(lossy, first);
	if (!lossy->row->jitter && !lossy->flying[!way])
		return first;
	skb_queue_walk(&lossy->link->wire, skb) {
		if (skb->tstamp < first->tstamp)
			first = skb;
		if (!lossy->row->jitter && lossy_to(lossy, skb) != way)
			break;
	}
	return first;
}

/* Let the next thing happen. */
static void lossy_step(struct lossy *lossy)
{
	struct sk_buff *first;
	s64 next;

	lossy_freeze(lossy);
	lossy_settle(lossy);
	lossy_thaw(lossy);
	lossy_launch(lossy);
	first = lossy_first(lossy);
	next = first ? min(first->tstamp, lossy->tick) : lossy->tick;
	lossy_pass(lossy, next - lossy->now);
	lossy->now = next;
	lossy_freeze(lossy);
	if (first && first->tstamp == next) {
		lossy->flying[lossy_to(lossy, first)]--;
		fake_link_arrive(lossy->link, first);
	} else {
		lossy->tick += LOSSY_TICK;
		fake_link_look(lossy->link);
	}
	lossy_thaw(lossy);
}

/* All that has been read or written is the same at both nodes. */
static void lossy_expect_memory(struct lossy *lossy)
{
	u8 bytes[FAKE_NODES];
	u32 at, i;

	for_each_set_bit(at, lossy->used, FAKE_MEMORY) {
		for (i = 0; i < FAKE_NODES; i++)
			fake_node_read(&lossy->link->node[i], at, &bytes[i], 1);
		KUNIT_ASSERT_EQ_MSG(lossy->test, bytes[0], bytes[1], "byte %u", at);
	}
}

/* Return: the virtual time in us that the requests take. */
static s64 lossy_run(struct kunit *test, u64 seed)
{
	const struct lossy_row *row = test->param_value;
	const struct fake_attr attr = {
		.type = IB_QPT_RC,
		.psn = { LOSSY_PSN, 0 },
		.retry_cnt = 7,
		.max_rd_atomic = row->reads,
		.max_wr = LOSSY_QUEUE,
		.sig_all = true,
	};
	struct lossy lossy = {
		.test = test,
		.row = row,
		.link = fake_link_create(test, &attr, seed),
		.used = kunit_kcalloc(test, BITS_TO_LONGS(FAKE_MEMORY), sizeof(long),
				      GFP_KERNEL),
	};
	s64 end;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, lossy.used);
	for (i = 0; i < FAKE_NODES; i++)
		lossy.link->node[i].qp->send.retry.timeout = LOSSY_TIMEOUT;
	while (lossy.done < LOSSY_MESSAGES) {
		lossy_step(&lossy);
		KUNIT_ASSERT_LT_MSG(test, lossy.now, LOSSY_END, "seed %llu: %u are complete", seed,
				    lossy.done);
	}
	end = lossy.now;
	while (!skb_queue_empty(&lossy.link->wire))
		lossy_step(&lossy);
	fake_link_run_halves(lossy.link);
	fake_link_expect_quiet(lossy.link);
	lossy_expect_memory(&lossy);
	fake_link_destroy(lossy.link);
	test->priv = NULL;
	kunit_kfree(test, lossy.used);
	return div_s64(end, NSEC_PER_USEC);
}

/* Whatever is lost, the requests end soon. */
static void lossy_path(struct kunit *test)
{
	const struct lossy_row *row = test->param_value;
	s64 us, sum = 0, worst = 0;
	u64 seed;

	for (seed = 1; seed <= LOSSY_SEEDS; seed++) {
		us = lossy_run(test, seed);
		sum += us;
		worst = max(worst, us);
	}
	kunit_info(test, "%s: %lld us, at most %lld us\n", row->name, div_s64(sum, LOSSY_SEEDS),
		   worst);
}

static struct kunit_case lossy_cases[] = {
	KUNIT_CASE_PARAM(lossy_path, lossy_row_gen_params),
	{}
};

static struct kunit_suite lossy_suite = {
	.name = "weft_rc_lossy",
	.exit = lossy_exit,
	.test_cases = lossy_cases,
};

kunit_test_suite(lossy_suite);
