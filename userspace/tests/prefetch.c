// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * On-demand paging of a process that is gone, or whose pages never come or do not stay: others do
 * not notice.
 */
#include "lib.h"
#include "usage.h"

#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/prctl.h>

#define PAGED		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
#define MiB		(1UL << 20)
#define GiB		(1UL << 30)
#define PAGE		4096UL
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

static void make_paged_of(struct end *e, size_t size)
{
	SAME(ibv_dereg_mr(e->mr), 0);
	munmap(e->buf, BUF);
	e->buf = paged(size, &e->mr);
	/* nothing but what is asked for shall come */
	madvise(e->buf, size, MADV_NOHUGEPAGE);
}

static void make_paged(struct end *e)
{
	make_paged_of(e, BUF);
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

/* of the whole system */
static int threads(void)
{
	FILE *file = fopen("/proc/loadavg", "r");
	int num;

	CHECK(file);
	SAME(fscanf(file, "%*s %*s %*s %*d/%d", &num), 1);
	fclose(file);
	return num;
}

#define CONTEXTS	40

static void many_contexts(void)
{
	struct ibv_mr *mr;
	int i, j;
	void *p;

	for (i = 0; i < CONTEXTS; i++) {
		open_device();
		p = paged(MiB, &mr);
		uffd_hold(p, MiB);
		for (j = 0; j < 10; j++)
			prefetch(mr, p, 1);
	}
	sleep_ms(1000);
}

/* however many contexts a user has, it has no more of the kernel's threads */
static void threads_are_few(void)
{
	int before = threads(), more;
	pid_t pid = child(many_contexts);

	/* some come and go all the time */
	more = threads() - before;
	end_child(pid);
	if (more >= CONTEXTS)
		FAIL("%d contexts have %d threads", CONTEXTS, more);
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

/* in the whole system, to the last one: the CPUs have counted some on their own */
static long pinned_pages(void)
{
	long num = 0, value;
	char name[64];
	FILE *file;

	write_text("/proc/sys/vm/stat_refresh", "1");
	file = fopen("/proc/vmstat", "r");
	CHECK(file);
	while (fscanf(file, "%63s %ld", name, &value) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			num += value;
		else if (!strcmp(name, "nr_foll_pin_released"))
			num -= value;
	}
	fclose(file);
	return num;
}

static bool fewer_pinned(long most)
{
	int i;

	for (i = 0; i < 100 && pinned_pages() > most; i++)
		sleep_ms(100);
	return i < 100;
}

#define REST	500000

/* a message of which the end does not come keeps no page of the receiver's */
static void let_go(void)
{
	struct ibv_send_wr *wr;
	struct ibv_mr *first;
	long before, more;
	int fd, i;

	force_packets(true);
	make_pair(&a, &b, CONF(.timeout = 20));
	make_paged_of(&a, MiB);
	make_paged_of(&b, MiB);
	force_packets(false);
	first = ibv_reg_mr(pd, memory(REST), REST, ACCESS_ALL);
	CHECK(first);
	fill(first->addr, REST, 1);
	fd = uffd_hold(a.buf, MiB);
	/* others' pages have been let go of by then */
	sleep_ms(1200);
	before = pinned_pages();
	post_recv(&b, 1, 0, MiB);
	wr = swr(&a, 2, IBV_WR_SEND, 0, 0);
	wr->num_sge = 2;
	wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)first->addr, REST, first->lkey };
	wr->sg_list[1] = (struct ibv_sge){ (uintptr_t)a.buf, PAGE, a.mr->lkey };
	post(&a, wr);
	for (i = 0, more = 0; i < 500 && more < 10; i++) {
		sleep_ms(10);
		more = pinned_pages() - before;
	}
	CHECK(more >= 10);
	if (!fewer_pinned(before))
		FAIL("%ld pages were pinned, %ld are", before, pinned_pages());
	uffd_answer(fd, a.buf, PAGE);
	expect_ok(a.scq, 2);
	SAME(expect_ok(b.rcq, 1).byte_len, REST + PAGE);
	check_filled(b.buf, REST, 1);
	check_zero(b.buf + REST, PAGE);
	close(fd);
	check_works(&a, &b);
}

/* nor are the pages that are there kept while another one does not come */
static void waits_without(void)
{
	const size_t there = MiB - PAGE;
	long before;
	int fd;

	make_pair(&a, &b, CONF(.timeout = 20));
	make_paged_of(&a, MiB);
	make_paged_of(&b, MiB);
	fill(a.buf, there, 1);
	fd = uffd_hold(a.buf + there, PAGE);
	before = pinned_pages();
	post_recv(&b, 1, 0, MiB);
	post(&a, swr(&a, 2, IBV_WR_SEND, 0, MiB));
	expect_no_wc(a.scq);
	/* but for a few that come with it */
	if (!fewer_pinned(before + 16))
		FAIL("%ld pages were pinned, %ld are", before, pinned_pages());
	expect_no_wc(a.scq);
	uffd_answer(fd, a.buf + there, PAGE);
	expect_ok(a.scq, 2);
	expect_ok(b.rcq, 1);
	check_filled(b.buf, there, 1);
	check_zero(b.buf + there, PAGE);
	close(fd);
	check_works(&a, &b);
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

#define SPARE		"weftspare"

/* waits for what never comes, and ends with the errno */
static pid_t waiting_child(void)
{
	struct ibv_sge sge = { .length = MiB };
	struct ibv_mr *mr;
	int ends[2];
	pid_t pid;
	char c;

	SAME(pipe(ends), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		SAME(setenv("WEFT_DEVICE", SPARE, 1), 0);
		open_context();
		pd = ibv_alloc_pd(ctx);
		CHECK(pd);
		sge.addr = (uintptr_t)paged(MiB, &mr);
		sge.lkey = mr->lkey;
		uffd_hold((void *)(uintptr_t)sge.addr, MiB);
		SAME(write(ends[1], "x", 1), 1);
		_exit(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				    IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1));
	}
	close(ends[1]);
	SAME(read(ends[0], &c, 1), 1);
	close(ends[0]);
	/* and now it calls */
	sleep_ms(500);
	SAME(waitpid(pid, NULL, WNOHANG), 0);
	return pid;
}

/* who waits for a prefetch can be killed, and holds up no removal of the device */
static void wait_is_ended(void)
{
	int status;
	pid_t pid;

	SAME(system("ip link add " SPARE " type dummy && ip link set " SPARE " up"), 0);
	SAME(system("rdma link add " SPARE " type weft netdev " SPARE), 0);
	note("killed");
	end_child(waiting_child());
	note("removed");
	pid = waiting_child();
	SAME(system("timeout 30 rdma link delete " SPARE), 0);
	SAME(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	SAME(WEXITSTATUS(status), EIO);
	SAME(system("ip link del " SPARE), 0);
}

/* The peer begins anew between two parts of a message, which starts again then. */
static void begins_anew(void)
{
	const size_t part = 4 * MiB;	/* what is pinned at a time */
	int fd;

	/* in packets the requester would get no answer, and send the message again by itself */
	if (packets_forced())
		return;
	make_pair(&a, &b, CONF(.timeout = 20));
	make_paged_of(&a, 2 * part);
	make_paged_of(&b, 2 * part);
	fill(a.buf, part, 1);
	fd = uffd_hold(a.buf + part, part);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 2 * part), &b, 0));
	while (memcmp(b.buf + part - 64, a.buf + part - 64, 64))
		sleep_ms(1);
	expect_no_wc(a.scq);
	to_state(&b, IBV_QPS_RESET);
	to_init(&b);
	to_rtr(&b, &a);
	to_rts(&b);
	memset(b.buf, 0, part);
	uffd_answer(fd, a.buf + part, part);
	expect_ok(a.scq, 1);
	check_filled(b.buf, part, 1);
	check_zero(b.buf + part, part);
	close(fd);
	check_works(&a, &b);
}

/* Two pages that go while the other one comes: after some tries that is want of memory. */
static void come_and_go(void)
{
	struct uffd_msg msg;
	struct ibv_wc wc;
	int fd, faults = 0;
	uint8_t *came;

	make_pair(&a, &b, CONF(.timeout = 20));
	make_paged_of(&b, MiB);
	fd = uffd_hold(b.buf, 2 * PAGE);
	fill(a.buf, 100, 1);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, PAGE - 50));
	while (!ibv_poll_cq(a.scq, 1, &wc)) {
		if (read(fd, &msg, sizeof(msg)) != sizeof(msg)) {
			sleep_ms(1);
			continue;
		}
		SAME(msg.event, UFFD_EVENT_PAGEFAULT);
		came = (uint8_t *)(uintptr_t)(msg.arg.pagefault.address & -(uint64_t)PAGE);
		SAME(madvise(came == b.buf ? b.buf + PAGE : b.buf, PAGE, MADV_DONTNEED), 0);
		uffd_answer(fd, came, PAGE);
		CHECK(++faults < 1000);
	}
	SAME(wc.status, IBV_WC_REM_OP_ERR);
	CHECK(faults >= 20);
	expect_event(IBV_EVENT_QP_FATAL, b.qp);
	close(fd);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	check_works(&a, &b);
}

TESTS(
	TEST(another_waits), TEST(prefetches_wait), TEST(threads_are_few), TEST(resets),
	TEST(taken_away), TEST(let_go), TEST(waits_without), TEST(exits), TEST(executes),
	TEST(wait_is_ended), TEST(begins_anew), TEST(come_and_go)
)
