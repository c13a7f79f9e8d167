// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much paged memory the messages of one user keep pinned, on many QPs at a time.
 *
 *	hoard NAMESPACE PEER4 PEER6 [CASE]...
 *
 * In most cases each QP has a peer that sends the first packet of a message of 4 MiB, and stops. It
 * comes from raw sockets in NAMESPACE.
 */
#include "packet.h"

/* more than can have the pages of an end at a time, and threads that wait for them */
#define PAIRS		128
#define MAX_QPS		1024
#define MESSAGE		(4UL << 20)
#define PAGE		4096UL
#define PSN		1000
#define ROUNDS		3
/* the pages of a message, and others that the kernel has not counted yet */
#define SLACK		(1024 + 1024)
#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
/* how long the message of a good client may take, also on a slow machine */
#define PATIENCE_MS	15000

static struct end ends[MAX_QPS], peers[PAIRS];
static const int qps = MAX_QPS;
static uint8_t *target;
static struct ibv_mr *paged;

/* pages that the kernel has pinned for somebody */
static long pinned(void)
{
	long acquired = 0, released = 0;
	char line[128];
	FILE *file = fopen("/proc/vmstat", "r");

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "nr_foll_pin_acquired %ld", &acquired);
		sscanf(line, "nr_foll_pin_released %ld", &released);
	}
	fclose(file);
	CHECK(acquired);
	return acquired - released;
}

/* As limits.rst has it: the most pages of one user, without second ends. */
static long most(void)
{
	long kib = 0;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "r");

	CHECK(file && fgets(line, sizeof(line), file));
	SAME(sscanf(line, "MemTotal: %ld", &kib), 1);
	fclose(file);
	return kib / (PAGE / 1024) / 16;
}

static void make_target(size_t size)
{
	target = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(target != MAP_FAILED);
	paged = ibv_reg_mr(pd, target, size, PAGED);
	CHECK(paged);
}

/*
 * QPs whose messages would pin several times what is allowed if there were no limit. All messages
 * are to the same memory, each to one page more than the one before.
 */
static void make_qps(void)
{
	int i;

	make_target(MESSAGE + qps * PAGE);
	for (i = 0; i < qps; i++) {
		make(&ends[i], CONF());
		to_init(&ends[i]);
		connect_to_nobody(&ends[i], PSN);
	}
}

/* One packet of each message, at that number of packets. */
static void send_one_each(int number)
{
	static struct packet packets[BATCH];
	int i, num;

	for (i = 0; i < qps; i += num) {
		for (num = 0; num < BATCH && i + num < qps; num++)
			build(&packets[num], &(struct spec){
				.opcode = RC | (number ? WRITE_MIDDLE : WRITE_FIRST),
				.pkey = 0xffff, .qpn = ends[i + num].qp->qp_num,
				.psn = PSN + number, .va = (uintptr_t)target + (i + num) * PAGE,
				.rkey = paged->rkey, .length = MESSAGE, .payload = MTU, .seed = 1,
			});
		send_all(packets, num, false);
	}
}

static bool has_arrived(int i)
{
	return *(volatile uint8_t *)&target[i * PAGE + 1];
}

/* Each message gets its pages in the end, and there are never more than @limit of all of them. */
static void all_arrive(long before, long limit)
{
	uint64_t end = now_ns() + 3 * WAIT_MS * 1000000ULL;
	int arrived = 0, i;
	long now, peak = 0;

	while (arrived < qps) {
		now = pinned() - before;
		peak = now > peak ? now : peak;
		while (arrived < qps && has_arrived(arrived))
			arrived++;
		if (now_ns() > end)
			FAIL("%d messages have arrived, at most %ld pages pinned", arrived, peak);
	}
	printf("%d messages, at most %ld pages pinned, %ld allowed\n", qps, peak, limit);
	if (peak > limit)
		FAIL("%ld pages were pinned", peak);
	for (i = 0; pinned() - before > SLACK && i < WAIT_MS; i += 20)
		sleep_ms(20);
	CHECK(pinned() - before <= SLACK);
}

static void peers_stop(void)
{
	long before;

	make_qps();
	before = pinned();
	send_one_each(0);
	all_arrive(before, most() + SLACK);
}

/* A good client sends a message, through the cable or on the local link. */
static void good_messages(struct end *a, struct end *b, int round)
{
	uint64_t start = now_ns(), took;

	fill(a->buf, BUF, round);
	post(a, at_key(swr(a, 1, IBV_WR_RDMA_WRITE, 0, BUF), b->mr->rkey, (uintptr_t)b->buf));
	expect_ok(a->scq, 1);
	check_filled(b->buf, BUF, round);
	took = (now_ns() - start) / 1000000;
	printf("round %d: the message of a good client took %d ms\n", round, (int)took);
	CHECK(took < PATIENCE_MS);
}

/* Clients that stop in the middle of messages, again and again, and others of the same server. */
static void others_go_on(bool forced)
{
	struct end a = {}, b = {};
	int round, i;

	force_packets(forced);
	make_pair(&a, &b, CONF(.timeout = 18));
	SAME(ibv_dereg_mr(b.mr), 0);
	b.mr = ibv_reg_mr(pd, b.buf, BUF, PAGED);
	CHECK(b.mr);
	make_qps();
	for (round = 0; round < ROUNDS; round++) {
		send_one_each(round);
		for (i = 0; i < 10; i++)
			good_messages(&a, &b, 10 * round + i);
		/* let the pages expire */
		sleep_ms(1500);
	}
}

static void others_go_on_here(void)
{
	others_go_on(false);
}

static void others_go_on_in_packets(void)
{
	others_go_on(true);
}

/*
 * Both ends are paged, and of more QPs than can have their pages at a time. All messages come from
 * the same memory, each from 64 bytes more than the one before.
 */
static void both_ends(bool forced, size_t length)
{
	size_t size = length + PAIRS * 64;
	uint8_t *source = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	struct ibv_mr *mr;
	int i;

	CHECK(source != MAP_FAILED);
	fill(source, size, 1);
	mr = ibv_reg_mr(pd, source, size, PAGED);
	CHECK(mr);
	force_packets(forced);
	make_target(PAIRS * length);
	for (i = 0; i < PAIRS; i++)
		make_pair(&peers[i], &ends[i], CONF(.timeout = 21));
	for (i = 0; i < PAIRS; i++) {
		struct ibv_send_wr *wr = swr(&peers[i], i, IBV_WR_RDMA_WRITE, 0, length);

		wr->sg_list->addr = (uintptr_t)source + i * 64;
		wr->sg_list->lkey = mr->lkey;
		post(&peers[i], at_key(wr, paged->rkey, (uintptr_t)target + i * length));
	}
	for (i = 0; i < PAIRS; i++) {
		note("message %d", i);
		expect_ok(peers[i].scq, i);
		CHECK(!memcmp(target + i * length, source + i * 64, length));
	}
	note(NULL);
}

static void both_ends_here(void)
{
	both_ends(false, MESSAGE);
}

static void both_ends_in_packets(void)
{
	both_ends(true, MESSAGE / 8);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(peers_stop), TEST(others_go_on_here), TEST(others_go_on_in_packets),
		TEST(both_ends_here), TEST(both_ends_in_packets),
	};

	if (argc < 4)
		FAIL("usage: hoard NAMESPACE PEER4 PEER6 [CASE]...");
	make_crc_table();
	open_device();
	find_addresses(argv[2], argv[3]);
	open_sockets(argv[1]);
	argv[3] = argv[0];
	return run_tests(tests, ARRAY_SIZE(tests), argc - 3, argv + 3);
}
