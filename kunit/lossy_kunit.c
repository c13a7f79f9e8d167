// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many requests over a path that loses packets at random, in virtual time: how long they take.
 *
 * Packets take time, and the clock goes on to the next thing that happens. The engine reads the
 * real clock, so in place of the clock the times that the engine waits for are moved. While it runs
 * the virtual clock stands still. Timers are looked at each LOSSY_TICK.
 */
#include "fake_link.h"

#include <linux/ip.h>
#include <linux/math64.h>

#include <kunit/test.h>

#include "verbs/qp.h"
#include "wire/headers.h"

/* PSNs wrap during the tests. */
#define LOSSY_PSN	0xfff000U
#define LOSSY_TICK	(250 * NSEC_PER_USEC)
/* The time that a packet takes on the wire. */
#define LOSSY_PACKET	(2 * NSEC_PER_USEC)
/* Some 1 s. */
#define LOSSY_TIMEOUT	18
#define LOSSY_MESSAGES	120
#define LOSSY_QUEUE	64
#define LOSSY_PART	(1 << 20)
/* Node 0 reads into, and writes from, the first half of its memory what is at the same offset. */
#define LOSSY_HALF	(FAKE_MEMORY / 2)
#ifndef LOSSY_SEEDS
#define LOSSY_SEEDS	8
#endif

/**
 * struct lossy_row - a path, and requests
 * @name: of the row
 * @loss: packets of a million after which one or more are lost
 * @burst: packets that are lost then at most
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
	{ "bursts, 10 ms", 2000, 400, false, 10000, 0, 64 * FAKE_MTU, 16 },
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
 * @foreign: node 1 does not show that it is a weft
 * @now: the virtual time
 * @tick: when timers are looked at
 * @busy: until when packets to each node are put on the wire
 * @lost: packets to each node that are lost next
 * @posted: requests
 * @done: requests that are complete
 */
struct lossy {
	struct kunit			*test;
	const struct lossy_row		*row;
	struct fake_link		*link;
	bool				foreign;
	s64				now;
	s64				tick;
	s64				busy[FAKE_NODES];
	u32				lost[FAKE_NODES];
	u32				posted;
	u32				done;
};

static void lossy_exit(struct kunit *test)
{
	fake_link_destroy(test->priv);
}

/* Move a time that the engine waits for, or remembers. */
static void lossy_move_time(ktime_t *time, s64 ns)
{
	if (*time && *time != KTIME_MAX)
		*time += ns;
}

static void lossy_move(struct lossy *lossy, s64 ns)
{
	u32 i;

	for (i = 0; i < FAKE_NODES; i++) {
		struct weft_qp *qp = lossy->link->node[i].qp;
		struct weft_retry *retry = &qp->send.retry;

		lossy_move_time(&retry->deadline, ns);
		lossy_move_time(&retry->silent, ns);
		lossy_move_time(&retry->quiet, ns);
		lossy_move_time(&retry->sample_at, ns);
		lossy_move_time(&retry->repair_due, ns);
		lossy_move_time(&qp->send.early.due, ns);
		lossy_move_time(&qp->recv.early.due, ns);
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
	if (lossy->row->answers && to)
		return false;
	if (!lossy->lost[to] && fake_random(lossy->link, 1000000) < lossy->row->loss)
		lossy->lost[to] = 1 + fake_random(lossy->link, lossy->row->burst);
	if (!lossy->lost[to])
		return false;
	lossy->lost[to]--;
	return true;
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
		if (lossy->foreign)
			skb->data[offsetof(struct weft_wire_bth, psn)] &=
				~(WEFT_BTH_MAPS >> 24);
		lossy->busy[to] = max(lossy->busy[to], lossy->now) + LOSSY_PACKET;
		if (lossy_loses(lossy, to)) {
			fake_link_drop(link, skb);
			continue;
		}
		skb->tstamp = lossy->busy[to] + lossy->row->round * NSEC_PER_USEC / 2;
		if (lossy->row->jitter)
			skb->tstamp += fake_random(link, lossy->row->jitter) * NSEC_PER_USEC;
	}
}

/* Let the next thing happen. */
static void lossy_step(struct lossy *lossy)
{
	struct sk_buff *skb, *first = NULL;
	ktime_t begin;
	s64 next;

	begin = ktime_get();
	lossy_settle(lossy);
	lossy_move(lossy, ktime_get() - begin);
	lossy_launch(lossy);
	skb_queue_walk(&lossy->link->wire, skb)
		if (!first || skb->tstamp < first->tstamp)
			first = skb;
	next = first ? min(first->tstamp, lossy->tick) : lossy->tick;
	lossy_move(lossy, lossy->now - next);
	lossy->now = next;
	begin = ktime_get();
	if (first && first->tstamp == next) {
		fake_link_arrive(lossy->link, first);
	} else {
		lossy->tick += LOSSY_TICK;
		fake_link_look(lossy->link);
	}
	lossy_move(lossy, ktime_get() - begin);
}

static void lossy_expect_memory(struct lossy *lossy)
{
	u8 bytes[2][64];
	u32 at, i;

	for (at = 0; at < FAKE_MEMORY; at += sizeof(bytes[0])) {
		for (i = 0; i < FAKE_NODES; i++)
			fake_node_read(&lossy->link->node[i], at, bytes[i], sizeof(bytes[i]));
		KUNIT_ASSERT_MEMEQ(lossy->test, bytes[0], bytes[1], sizeof(bytes[0]));
	}
}

/* Return: the virtual time in us that the requests take. */
static s64 lossy_run(struct kunit *test, const struct lossy_row *row, u64 seed, bool foreign)
{
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
		.foreign = foreign,
	};
	s64 end;
	u32 i;

	for (i = 0; i < FAKE_NODES; i++)
		lossy.link->node[i].qp->send.retry.timeout = LOSSY_TIMEOUT;
	while (lossy.done < LOSSY_MESSAGES) {
		lossy_step(&lossy);
		if (lossy.now > 300 * NSEC_PER_SEC) {
			kunit_info(test, "seed %llu: %u done\n", seed, lossy.done);
			break;
		}
	}
	end = lossy.now;
	while (!skb_queue_empty(&lossy.link->wire))
		lossy_step(&lossy);
	fake_link_expect_quiet(lossy.link);
	if (0)
	lossy_expect_memory(&lossy);
	fake_link_destroy(lossy.link);
	test->priv = NULL;
	return div_s64(end, NSEC_PER_USEC);
}

static void lossy_path(struct kunit *test)
{
	const struct lossy_row *row = test->param_value;
	s64 us, worst, sum, b;
	u64 seed, bad;
	u32 i;

	for (i = 0; i < 2; i++) {
		worst = 0; sum = 0; bad = 0;
		for (seed = 1; seed <= LOSSY_SEEDS; seed++) {
			us = lossy_run(test, row, seed, i);
			sum += us;
			if (us > worst) {
				worst = us;
				bad = seed;
			}
		}
		kunit_info(test, "%s: %s: worst %lld us (seed %llu), mean %lld us\n", row->name,
			   i ? "foreign" : "weft", worst, bad, div_s64(sum, LOSSY_SEEDS));
	}
	b = 0; (void)b;
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
