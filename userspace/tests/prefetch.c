// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging of a process that is gone, or whose pages never come: others do not
 * notice.
 */
#include "lib.h"
#include "usage.h"

#include <signal.h>
#include <sys/prctl.h>

#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
#define MiB		(1UL << 20)
#define GiB		(1UL << 30)
/* more than a workqueue runs at a time: 512, or 2048 in newer kernels */
#define HELD		2100

static struct end a, b;

static void *paged(size_t size, struct ibv_mr **mr)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	*mr = ibv_reg_mr(pd, p, size, PAGED);
	CHECK(*mr);
	return p;
}

/* later, and nobody waits for it */
static void prefetch(const struct ibv_mr *mr, void *p, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)p, length, mr->lkey };

	SAME(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1), 0);
}

static void make_paged(struct end *e)
{
	SAME(ibv_dereg_mr(e->mr), 0);
	munmap(e->buf, BUF);
	e->buf = paged(BUF, &e->mr);
}

/* a process that does @run, says so, and then nothing more */
static pid_t child(void (*run)(void))
{
	int up[2];
	pid_t pid;
	char c;

	SAME(pipe(up), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_device();
		run();
		SAME(write(up[1], "x", 1), 1);
		for (;;)
			pause();
	}
	close(up[1]);
	SAME(read(up[0], &c, 1), 1);
	close(up[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	int status;

	SAME(kill(pid, SIGKILL), 0);
	SAME(waitpid(pid, &status, 0), pid);
	/* and it was there until now */
	CHECK(WIFSIGNALED(status));
}

static void never_answer(void)
{
	struct ibv_mr *mr;
	void *p = paged(MiB, &mr);
	int i;

	uffd_hold(p, MiB);
	for (i = 0; i < HELD; i++)
		prefetch(mr, p, 1);
	/* as many as can have begun */
	sleep_ms(1000);
}

static void send_paged(int num)
{
	int i;

	for (i = 0; i < num; i++) {
		note("round %d", i);
		madvise(a.buf, BUF, MADV_DONTNEED);
		madvise(b.buf, BUF, MADV_DONTNEED);
		fill(a.buf, 4096, i);
		post_recv(&b, 1, 0, 4096);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 4096));
		expect_ok(b.rcq, 1);
		expect_ok(a.scq, 2);
		check_filled(b.buf, 4096, i);
	}
}

/* prefetches of another process wait for ever: messages do not */
static void another_waits(void)
{
	pid_t pid = child(never_answer);

	make_pair(&a, &b, CONF());
	make_paged(&a);
	make_paged(&b);
	send_paged(20);
	end_child(pid);
	send_paged(20);
}

/* nor do those of the same process */
static void prefetches_wait(void)
{
	make_pair(&a, &b, CONF());
	make_paged(&a);
	make_paged(&b);
	never_answer();
	send_paged(20);
}

/* a message that waits for its page, and is not wanted any more */
static void post_and_reset(int num)
{
	int i;

	for (i = 0; i < num; i++) {
		note("reset %d", i);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
		to_state(&a, IBV_QPS_RESET);
		to_state(&b, IBV_QPS_RESET);
		connect_ends(&a, &b);
	}
	note(NULL);
}

static void take_away(int how)
{
	uint64_t start = now_ns();
	pid_t pid;

	switch (how) {
	case 0:
		SAME(munmap(b.buf, BUF), 0);
		break;
	case 1:
		SAME(madvise(b.buf, BUF, MADV_DONTNEED), 0);
		break;
	case 2:
		CHECK(mremap(b.buf, BUF, BUF / 2, 0) == b.buf);
		break;
	case 3:
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			_exit(0);
		SAME(waitpid(pid, NULL, 0), pid);
		break;
	}
	/* much longer than it takes, and nothing else would end it */
	CHECK(now_ns() - start < 5000000000ULL);
}

/* what takes memory away waits for no message that waits for it */
static void taken_away(void)
{
	static const char * const names[] = { "munmap", "madvise", "mremap", "fork" };
	int how, fd;

	for (how = 0; how < ARRAY_SIZE(names); how++) {
		note("%s", names[how]);
		make_pair(&a, &b, CONF(.timeout = 20));
		make_paged(&b);
		fd = uffd_hold(b.buf, BUF);
		post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_no_wc(a.scq);
		take_away(how);
		close(fd);
		if (how) {
			expect_ok(a.scq, 1);
		} else {
			expect_wc(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
			expect_event(IBV_EVENT_QP_ACCESS_ERR, b.qp);
		}
		to_state(&a, IBV_QPS_ERR);
		to_state(&b, IBV_QPS_ERR);
	}
}

static void resets(void)
{
	make_pair(&a, &b, CONF());
	make_paged(&a);
	uffd_hold(a.buf, BUF);
	/* from here on they wait for their turn as well */
	post_and_reset(100);
	SAME(usage_watch(post_and_reset, 400), 0);
}

static long available_kb(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[256];
	long kb = -1;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	fclose(file);
	CHECK(kb >= 0);
	return kb;
}

/* more than there is */
static void prefetch_all(void)
{
	struct ibv_mr *mr;
	uint8_t *p = paged(64 * GiB, &mr);
	int i;

	for (i = 0; i < 64; i++)
		prefetch(mr, p + i * GiB, GiB);
}

/* soon all that was there before is there again, and stays */
static void memory_comes_back(long before)
{
	int i, good = 0;
	long kb;

	for (i = 0; i < 100 && good < 10; i++) {
		kb = available_kb();
		good = kb > before - 64 * 1024 ? good + 1 : 0;
		sleep_ms(100);
	}
	if (good < 10)
		FAIL("MemAvailable was %ld kB, is %ld kB", before, kb);
}

static void exits(void)
{
	long before = available_kb();
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		open_device();
		prefetch_all();
		_exit(0);
	}
	SAME(waitpid(pid, &status, 0), pid);
	SAME(status, 0);
	memory_comes_back(before);
}

/* it goes on, but the memory is not its any more */
static void executes(void)
{
	long before = available_kb();
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_device();
		prefetch_all();
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	sleep_ms(200);
	memory_comes_back(before);
	end_child(pid);
}

TESTS(
	TEST(another_waits), TEST(prefetches_wait), TEST(resets), TEST(taken_away),
	TEST(exits), TEST(executes)
)
