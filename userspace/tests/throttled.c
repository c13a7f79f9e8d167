// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A sender whose cgroup has no CPU time left does not hold up others that use the receiver.
 *
 *	throttled CGROUP [CASE]...
 *
 * CGROUP is the directory of a cgroup that has very little CPU time. All QPs are of one host.
 */
#include "lib.h"

#include <signal.h>

#define LONG		(64UL << 20)
/* less than the CPU time of the cgroup comes once in, and more than a busy machine needs */
#define SOON_MS		400
#define ROUNDS		20

static struct end a, b, c;
static const char *cgroup;
static uint8_t *source, *sink;
static struct ibv_mr *source_mr, *sink_mr;

/* @pid gets only the time of the cgroup from now on, or all that it wants again. */
static void move(pid_t pid, bool in)
{
	char path[256], text[16];

	snprintf(path, sizeof(path), "%s/%scgroup.procs", cgroup, in ? "" : "../");
	snprintf(text, sizeof(text), "%d", pid);
	write_text(path, text);
}

static pid_t in_cgroup(void (*work)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	move(getpid(), true);
	work();
	_exit(0);
}

static void end_it(pid_t pid)
{
	/* to end takes time, too */
	move(pid, false);
	kill(pid, SIGKILL);
	SAME(waitpid(pid, NULL, 0), pid);
}

/* @call has to return 0, and soon. Return: milliseconds */
#define SOON(call)							\
	({								\
		uint64_t start_ = now_ns();				\
		long ms_;						\
									\
		SAME(call, 0);						\
		ms_ = (now_ns() - start_) / 1000000;			\
		if (ms_ > SOON_MS)					\
			FAIL("%s took %ld ms", #call, ms_);		\
		ms_;							\
	})

/*
 * ---- A long message ----
 */

static void send_long(void)
{
	struct ibv_send_wr *wr = swr(&a, 1, IBV_WR_RDMA_WRITE, 0, LONG);

	wr->sg_list->addr = (uintptr_t)source;
	wr->sg_list->lkey = source_mr->lkey;
	post(&a, at_key(wr, sink_mr->rkey, (uintptr_t)sink));
}

/* Return: the number of the first byte, of one in so many, that has not arrived */
static size_t arrived(void)
{
	size_t i;

	for (i = 0; i < LONG; i += 4096)
		if (!*(volatile uint8_t *)&sink[i + 1])
			break;
	return i;
}

static void make_long(void)
{
	source = memory(LONG);
	sink = memory(LONG);
	fill(source, LONG, 7);
	source_mr = ibv_reg_mr(pd, source, LONG, ACCESS_ALL);
	sink_mr = ibv_reg_mr(pd, sink, LONG, ACCESS_ALL);
	CHECK(source_mr && sink_mr);
	make_pair(&a, &b, CONF());
}

/* until the sender, if nobody else, is in the middle of it, and has used up its time */
static void await_middle(void)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;

	while (!arrived())
		CHECK(now_ns() < end);
	sleep_ms(30);
}

static void modify_during_long(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = ACCESS_ALL };
	pid_t pid;

	make_long();
	pid = in_cgroup(send_long);
	await_middle();
	printf("%zu of %lu bytes, modified within %ld ms\n", arrived(), LONG,
	       SOON(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS)));
	end_it(pid);
}

static void destroy_during_long(void)
{
	pid_t pid;

	make_long();
	pid = in_cgroup(send_long);
	await_middle();
	printf("%zu of %lu bytes, destroyed within %ld ms\n", arrived(), LONG,
	       SOON(ibv_destroy_qp(b.qp)));
	end_it(pid);
}

/* The kernel goes on with it: that takes less time than the sender's millisecond each second. */
static void long_arrives(void)
{
	uint64_t start = now_ns();
	pid_t pid;

	make_long();
	pid = in_cgroup(send_long);
	expect_ok(a.scq, 1);
	printf("it took %ld ms\n", (long)((now_ns() - start) / 1000000));
	check_filled(sink, LONG, 7);
	end_it(pid);
}

/*
 * ---- Datagrams ----
 */

static struct ibv_ah *ah;

static void send_datagrams(void)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	for (;;) {
		ibv_post_send(a.qp, to_ah(swr(&a, 1, IBV_WR_SEND, 0, 4096), ah, &b), &bad);
		while (ibv_poll_cq(a.scq, 1, &wc) > 0)
			;
	}
}

static int pass_on(void)
{
	struct ibv_wc wc;

	post(&c, to_ah(swr(&c, 2, IBV_WR_SEND, 0, 100), ah, &b));
	expect_ok(c.scq, 2);
	while (ibv_poll_cq(b.rcq, 1, &wc) > 0)
		post_recv(&b, 3, 0, 8192);
	return 0;
}

static int set_qkey(void)
{
	struct ibv_qp_attr attr = { .qkey = QKEY };

	return ibv_modify_qp(b.qp, &attr, IBV_QP_QKEY);
}

static void others_during_datagrams(void)
{
	long longest[2] = {}, ms;
	pid_t pid;
	int i;

	make_pair(&a, &b, CONF(.type = IBV_QPT_UD));
	make(&c, CONF(.type = IBV_QPT_UD));
	to_ready(&c);
	ah = ah_to(gid4, gid4);
	for (i = 0; i < 16; i++)
		post_recv(&b, 3, 0, 8192);
	pid = in_cgroup(send_datagrams);
	for (i = 0; i < ROUNDS; i++) {
		sleep_ms(50);
		ms = SOON(pass_on());
		longest[0] = ms > longest[0] ? ms : longest[0];
		ms = SOON(set_qkey());
		longest[1] = ms > longest[1] ? ms : longest[1];
	}
	printf("sent within %ld ms, modified within %ld ms\n", longest[0], longest[1]);
	end_it(pid);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST(modify_during_long), TEST(destroy_during_long), TEST(long_arrives),
		TEST(others_during_datagrams),
	};

	if (argc < 2)
		FAIL("usage: throttled CGROUP [CASE]...");
	cgroup = argv[1];
	argv[1] = argv[0];
	return run_tests(tests, ARRAY_SIZE(tests), argc - 1, argv + 1);
}
