// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process that writes what it likes to the rings it shares with the kernel.
 * It may only harm itself: a witness of ours, a process with a connection of
 * its own, has to work all the time.
 */
#include "witness.h"
#include "xrc.h"

#include <pthread.h>
#include <sys/ioctl.h>

#include <rdma/weft-abi.h>

static struct end a, b;
static int bell;

/* rings of an end, in the order in which they are made */
struct rings {
	struct map scq, rcq, sq, rq;
};

static struct rings ra, rb;

/* work requests of a queue */
static uint32_t depth = 16;

static struct ibv_cq *cq_seen(struct map *map)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);

	CHECK(cq);
	SAME(new_maps(map, 1), 1);
	return cq;
}

static volatile struct weft_ring_hdr *hdr(struct map *map)
{
	return map->start;
}

/* Where its rings are: in new memory, or in what a QP had that is gone. */
static struct map qp_seen(struct end *e, struct ibv_qp_init_attr *attr)
{
	struct map map, old[64];
	bool dead[64];
	int i, num;

	num = all_maps(old, 64);
	for (i = 0; i < num; i++)
		dead[i] = hdr(&old[i])->flags & WEFT_RING_DEAD;
	e->qp = ibv_create_qp(pd, attr);
	CHECK(e->qp);
	for (i = 0; i < num; i++)
		if (dead[i] && !(hdr(&old[i])->flags & WEFT_RING_DEAD))
			return old[i];
	SAME(new_maps(&map, 1), 1);
	return map;
}

static void make_seen(struct end *e, struct rings *r)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { depth, depth, 2, 2, 64 },
	};
	struct map both;
	size_t sq;

	memset(e, 0, sizeof(*e));
	e->conf = *CONF(.timeout = 12, .retry = 3);
	e->conf.gid = gid4;
	e->psn = 100;
	e->buf = memory(BUF);
	e->mr = ibv_reg_mr(pd, e->buf, BUF, ACCESS_ALL);
	e->scq = cq_seen(&r->scq);
	e->rcq = cq_seen(&r->rcq);
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	CHECK(e->mr);
	both = qp_seen(e, &attr);
	/* a slot has just the room for the inline data, and the rings begin at 256 bytes */
	sq = WEFT_RING_HDR_SIZE + attr.cap.max_send_wr *
	     (sizeof(struct weft_sqe) + attr.cap.max_inline_data);
	sq = (sq + WEFT_RING_HDR_SIZE - 1) & -WEFT_RING_HDR_SIZE;
	r->sq = (struct map){ both.start, sq, both.offset };
	r->rq = (struct map){ (char *)both.start + sq, both.size - sq, both.offset };
	/* only a send queue asks for a doorbell from the start */
	SAME(hdr(&r->sq)->flags, WEFT_RING_NEED_DOORBELL);
	SAME(hdr(&r->rq)->flags, 0);
}

static void make_both(void)
{
	struct map old[64];

	bell = doorbell_fd();
	new_maps(old, 64);
	make_seen(&a, &ra);
	make_seen(&b, &rb);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

static int ring(struct end *e, unsigned long cmd)
{
	return ioctl(bell, cmd, (unsigned long)e->qp->qp_num);
}

static void expect_fatal(struct end *e)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	expect_event(IBV_EVENT_QP_FATAL, e->qp);
	while (state_of(e) != IBV_QPS_ERR)
		CHECK(now_ns() < end);
}

/*
 * ---- One lie at a time ----
 */

static const uint32_t lies[] = {
	0x80000000, 0xffffffff, 0x7fffffff, 17, 1000, 0xdeadbeef,
};

static void send_producer(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("producer %#x", lies[i]);
		make_both();
		post_recv(&a, 7, 0, 10);
		/* relative to where it is, so that it is a lie for sure */
		hdr(&ra.sq)->producer += lies[i];
		SAME(ring(&a, WEFT_DOORBELL_SEND), 0);
		expect_fatal(&a);
		/* flushed, and why */
		SAME(expect_wc(a.rcq, 7, IBV_WC_WR_FLUSH_ERR).vendor_err, 25);
		expect_state(&b, IBV_QPS_RTS);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

/* the kernel does not read what it writes itself */
static void send_consumer_and_flags(void)
{
	int i;

	make_both();
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("consumer and flags %#x", lies[i]);
		hdr(&ra.sq)->consumer = lies[i];
		hdr(&ra.sq)->flags = lies[i] & ~WEFT_RING_DEAD & ~WEFT_RING_OVERRUN;
		hdr(&ra.sq)->flags |= WEFT_RING_NEED_DOORBELL;
		check_works(&a, &b);
	}
	expect_no_event();
}

static void send_entries(void)
{
	static const struct {
		const char *name;
		uint8_t opcode, flags;
		uint16_t num_sge;
		uint32_t inline_length;
	} bad[] = {
		{ "first opcode that is none", WEFT_SQE_OPCODES, WEFT_SQE_SIGNALED, 0, 0 },
		{ "opcode 255", 255, WEFT_SQE_SIGNALED, 0, 0 },
		/* of kernel consumers */
		{ "LSO", WEFT_SQE_LSO, WEFT_SQE_SIGNALED, 0, 0 },
		{ "masked Compare and Swap", WEFT_SQE_MASKED_CMP_SWP, WEFT_SQE_SIGNALED, 1, 0 },
		{ "masked Fetch and Add", WEFT_SQE_MASKED_FETCH_ADD, WEFT_SQE_SIGNALED, 1, 0 },
		{ "flags", WEFT_SQE_SEND, 0xff, 0, 0 },
		{ "num_sge 33", WEFT_SQE_SEND, WEFT_SQE_SIGNALED, 33, 0 },
		{ "num_sge 65535", WEFT_SQE_SEND, WEFT_SQE_SIGNALED, 65535, 0 },
		{ "more than the stride", WEFT_SQE_SEND, WEFT_SQE_SIGNALED, 30, 0 },
		{ "inline_length", WEFT_SQE_SEND, WEFT_SQE_SIGNALED | WEFT_SQE_INLINE, 0, 4096 },
		{ "inline_length -1", WEFT_SQE_SEND, WEFT_SQE_SIGNALED | WEFT_SQE_INLINE, 0, -1U },
		{ "both", WEFT_SQE_SEND, WEFT_SQE_SIGNALED | WEFT_SQE_INLINE, 1, 8 },
		{ "inline, not flagged", WEFT_SQE_SEND, WEFT_SQE_SIGNALED, 0, 8 },
	};
	volatile struct weft_sqe *sqe;
	struct ibv_wc wc;
	uint32_t index;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		note("%s", bad[i].name);
		make_both();
		/* in each place where an entry may begin */
		index = hdr(&ra.sq)->producer;
		memset((char *)ra.sq.start + WEFT_RING_HDR_SIZE, 0,
		       ra.sq.size - WEFT_RING_HDR_SIZE);
		for (size_t off = WEFT_RING_HDR_SIZE; off + 64 <= ra.sq.size; off += 64) {
			sqe = (void *)((char *)ra.sq.start + off);
			sqe->wr_id = 4242;
			sqe->opcode = bad[i].opcode;
			sqe->flags = bad[i].flags;
			sqe->num_sge = bad[i].num_sge;
			sqe->inline_length = bad[i].inline_length;
		}
		hdr(&ra.sq)->producer = index + 1;
		SAME(ring(&a, WEFT_DOORBELL_SEND), 0);
		wc = next_wc(a.scq);
		SAME(wc.status, IBV_WC_LOC_QP_OP_ERR);
		expect_state(&a, IBV_QPS_ERR);
		expect_state(&b, IBV_QPS_RTS);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

/* an impossible index: the QP is lost, its peer finds nobody */
static void receive_producer(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("producer %#x", lies[i]);
		make_both();
		hdr(&rb.rq)->producer += lies[i];
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 10));
		expect_fatal(&b);
		expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
		expect_no_event();
		/* late posts to it must not loop either */
		SAME(ring(&b, WEFT_DOORBELL_RECV), 0);
		SAME(ring(&b, WEFT_DOORBELL_SEND), 0);
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

static void receive_entries(void)
{
	static const uint32_t nums[] = { 3, 33, 255, 0x10000000, -1U };
	volatile struct weft_rqe *rqe;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		note("num_sge %#x", nums[i]);
		make_both();
		/* in each place where an entry may begin */
		for (size_t off = WEFT_RING_HDR_SIZE; off + 16 <= rb.rq.size; off += 16) {
			rqe = (void *)((char *)rb.rq.start + off);
			rqe->wr_id = 4242;
			rqe->num_sge = nums[i];
		}
		hdr(&rb.rq)->producer++;
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 10));
		expect_wc(a.scq, 1, IBV_WC_REM_OP_ERR);
		wc = next_wc(b.rcq);
		SAME(wc.status, IBV_WC_LOC_QP_OP_ERR);
		SAME(wc.wr_id, 4242);
		expect_state(&b, IBV_QPS_ERR);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

/**
 * struct poster - posts without end, and without any work request
 * @ring: always full
 * @over: enough
 */
struct poster {
	volatile struct weft_ring_hdr	*ring;
	volatile bool			over;
};

static void *post_on(void *arg)
{
	struct poster *poster = arg;

	while (!poster->over)
		poster->ring->producer = poster->ring->consumer + depth;
	return NULL;
}

/*
 * A QP in ERR flushes what is there. More than that, of which nobody tells it, it does not
 * look at in its receive queue: others wait for it meanwhile.
 */
static void flushed_without_end(void)
{
	struct map *queues[] = { &rb.rq, &rb.sq };
	struct poster poster;
	pthread_t thread;
	uint32_t before;
	int i;

	/* so that the poster is the faster one */
	depth = 16384;
	for (i = 0; i < 2; i++) {
		note(i ? "send queue" : "receive queue");
		make_both();
		poster.ring = hdr(queues[i]);
		poster.over = false;
		before = poster.ring->consumer;
		SAME(pthread_create(&thread, NULL, post_on, &poster), 0);
		while (poster.ring->producer == poster.ring->consumer)
			;
		to_state(&b, IBV_QPS_ERR);
		/* until there is no room for what is flushed, and beyond */
		expect_event(IBV_EVENT_CQ_ERR, i ? b.scq : b.rcq);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 8));
		expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
		poster.over = true;
		pthread_join(thread, NULL);
		if (!i)
			SAME(poster.ring->consumer, before + depth);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
	depth = 16;
	note(NULL);
}

/* an impossible consumer index is a full queue */
static void completion_consumer(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		note("consumer %#x", lies[i]);
		make_both();
		hdr(&ra.scq)->consumer += lies[i] ^ 0x10000;
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 8), &b, 0));
		expect_event(IBV_EVENT_CQ_ERR, a.scq);
		expect_fatal(&a);
		expect_state(&b, IBV_QPS_RTS);
		expect_no_event();
		SAME(ibv_destroy_qp(a.qp), 0);
		SAME(ibv_destroy_qp(b.qp), 0);
	}
}

static void completion_arm(void)
{
	int i;

	make_both();
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		hdr(&ra.scq)->arm = lies[i];
		hdr(&ra.scq)->flags = 0;
		check_works(&a, &b);
	}
	expect_no_event();
}

static void srq_ring(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct map map;

	CHECK(srq);
	SAME(new_maps(&map, 1), 1);
	make(&a, CONF());
	make(&b, CONF(.srq = srq));
	connect_ends(&a, &b);
	post_srq(srq, &b, 1, 0, 100);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, 10));
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	hdr(&map)->producer += 0x40000000;
	post(&a, swr(&a, 3, IBV_WR_SEND, 0, 10));
	expect_event(IBV_EVENT_SRQ_ERR, srq);
	/* nobody waits for a receive that cannot come */
	expect_fatal(&b);
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, b.qp);
	expect_wc(a.scq, 3, IBV_WC_RETRY_EXC_ERR);
	expect_no_event();
}

/* the target may be others', too: it refuses a request for such an SRQ */
static void xrc_srq_ring(void)
{
	struct map maps[64], *map;
	struct sink sink = {};
	uint32_t before;

	make_connected();
	new_maps(maps, 64);
	make_sink(&sink, xrcd);
	/* its own, and its CQ's */
	SAME(new_maps(maps, 64), 2);
	before = hdr(&maps[0])->producer;
	sink_post(&sink, 1, 0, 100);
	map = hdr(&maps[0])->producer == before ? &maps[1] : &maps[0];
	send_to(sink.num, IBV_WR_SEND, 0, 50, 2);
	expect_ok(scq, 2);
	expect_received(&sink, 1, 50, 0);
	hdr(map)->producer += 0x40000000;
	send_to(sink.num, IBV_WR_SEND, 0, 50, 3);
	expect_event(IBV_EVENT_SRQ_ERR, sink.srq);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, tgt);
	expect_wc(scq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_no_event();
}

/*
 * ---- All lies at once, while it works ----
 */

static struct map maps[16];
static int num_maps;
static volatile bool over;
/* of all processes */
static struct {
	unsigned long lies, doorbells;
} *told;

static void *scribble(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	unsigned long num = 0;
	struct map *map;
	size_t off;

	for (; !over; num++) {
		map = &maps[rand_r(&seed) % num_maps];
		/* the header as often as all the rest */
		off = rand_r(&seed) % (rand_r(&seed) % 2 ? 192 : map->size) & ~3UL;
		switch (rand_r(&seed) % 4) {
		case 0:
			*(uint32_t *)((char *)map->start + off) = rand_r(&seed);
			break;
		case 1:
			*(uint32_t *)((char *)map->start + off) += 1;
			break;
		case 2:
			*(uint32_t *)((char *)map->start + off) = 0;
			break;
		case 3:
			*((uint8_t *)map->start + off) = rand_r(&seed);
			break;
		}
	}
	__atomic_fetch_add(&told->lies, num, __ATOMIC_RELAXED);
	return NULL;
}

static uint32_t *numbers;
static int num_numbers;

static void *ring_all(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	unsigned long num;

	for (num = 0; !over; num++)
		ioctl(bell, rand_r(&seed) % 2 ? WEFT_DOORBELL_SEND : WEFT_DOORBELL_RECV,
		      (unsigned long)numbers[rand_r(&seed) % num_numbers]);
	__atomic_fetch_add(&told->doorbells, num, __ATOMIC_RELAXED);
	return NULL;
}

/* QPs made anew while threads lie; the provider's own data may be hurt as well */
static void liar(int seed, int ms)
{
	uint32_t qpns[4];
	pthread_t thread[3];
	struct end c, d, *ends[] = { &a, &b, &c, &d };
	struct rings r;
	uint64_t end;
	int i;

	open_device();
	bell = doorbell_fd();
	for (i = 0; i < 4; i++) {
		make_seen(ends[i], &r);
		maps[num_maps++] = r.scq;
		maps[num_maps++] = r.rcq;
		maps[num_maps++] = r.sq;
		maps[num_maps++] = r.rq;
	}
	connect_ends(&a, &b);
	connect_ends(&c, &d);
	qpns[0] = a.qp->qp_num;
	qpns[1] = b.qp->qp_num;
	qpns[2] = c.qp->qp_num;
	qpns[3] = d.qp->qp_num;
	numbers = qpns;
	num_numbers = 4;
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, scribble, (void *)(uintptr_t)(seed * 10 + i));
	pthread_create(&thread[2], NULL, ring_all, (void *)(uintptr_t)seed);
	end = now_ns() + ms * 1000000ULL;
	while (now_ns() < end) {
		struct ibv_send_wr *bad;
		struct ibv_recv_wr *bad_recv;

		ibv_post_send(a.qp, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 64), &b, 0), &bad);
		ibv_post_send(c.qp, swr(&c, 1, IBV_WR_SEND, 0, 64), &bad);
		ibv_post_recv(d.qp, rwr(&d, 1, 0, 64), &bad_recv);
		if (state_of(&a) == IBV_QPS_ERR || state_of(&b) == IBV_QPS_ERR) {
			try_state(&a, IBV_QPS_RESET);
			try_state(&b, IBV_QPS_RESET);
			connect_ends(&a, &b);
		}
		if (state_of(&c) == IBV_QPS_ERR || state_of(&d) == IBV_QPS_ERR) {
			try_state(&c, IBV_QPS_RESET);
			try_state(&d, IBV_QPS_RESET);
			connect_ends(&c, &d);
		}
	}
	over = true;
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

static void all_at_once(void)
{
	int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 3, i;
	pid_t pid;

	told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(told != MAP_FAILED);
	witness_start();
	for (i = 0; i < rounds; i++) {
		note("round %d", i);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			alarm(0);
			CHECK(freopen("/dev/null", "w", stdout));
			liar(i + 1, 1000);
		}
		end_liar(pid, 1500);
	}
	note(NULL);
	witness_end();
	printf("%lu words of rings were changed, %lu doorbells rung\n", told->lies,
	       told->doorbells);
}

TESTS(
	TEST(send_producer), TEST(send_consumer_and_flags), TEST(send_entries),
	TEST(receive_producer), TEST(receive_entries), TEST(flushed_without_end),
	TEST(completion_consumer), TEST(completion_arm), TEST(srq_ring), TEST(xrc_srq_ring),
	TEST(all_at_once)
)
