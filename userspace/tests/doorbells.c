// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * When a process asks the kernel for something: at most once for what it posts, and for
 * receives and completions never.
 */
#include "lib.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* posts while the engine runs, and how long before its end the last of them is */
#define MEANWHILE	100
#define TAIL		(2UL << 20)

static struct end a, b;

/* each writes its number as one byte at that offset of @b */
static struct ibv_send_wr *numbered(int i)
{
	a.buf[i] = i + 1;
	return at(swr(&a, i, IBV_WR_RDMA_WRITE, i, 1), &b, i);
}

static void expect_executed(int num)
{
	int i;

	for (i = 0; i < num; i++) {
		expect_ok(a.scq, i);
		SAME(b.buf[i], (uint8_t)(i + 1));
	}
	expect_no_wc_now(a.scq);
}

static uint64_t doorbells(void)
{
	sleep_ms(20);
	return counter("doorbells");
}

/* one for all of a list, at most */
static void doorbell_of_a_list(void)
{
	struct ibv_send_wr *wr[10];
	uint64_t before;
	int i;

	make_pair(&a, &b, CONF());
	before = doorbells();
	for (i = 0; i < 10; i++) {
		wr[i] = numbered(i);
		if (i)
			wr[i - 1]->next = wr[i];
	}
	post(&a, wr[0]);
	expect_executed(10);
	CHECK(doorbells() <= before + 1);
}

/* The kernel cannot be told: what was posted by then counts as posted, nothing else is taken. */
static void doorbell_closed(void)
{
	struct ibv_send_wr *first, *second, *bad = NULL;

	make_pair(&a, &b, CONF());
	close(doorbell_fd());
	first = numbered(0);
	second = numbered(1);
	SAME(ibv_post_send(a.qp, first, &bad), 0);
	REFUSED(ibv_post_send(a.qp, second, &bad), EIO);
	CHECK(bad == second);
	sleep_ms(100);
	SAME(b.buf[1], 0);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	REFUSED(ibv_post_send(a.qp, second, &bad), EIO);
	sleep_ms(100);
	SAME(b.buf[1], 0);
	SAME(ibv_destroy_qp(a.qp), 0);
}

/* a message that takes a while */
struct big {
	uint8_t *from, *to;
	size_t size;
	struct ibv_mr *from_mr, *to_mr;
};

static void make_big(struct big *big, size_t size)
{
	big->size = size;
	big->from = memory(size);
	big->to = memory(size);
	big->from_mr = ibv_reg_mr(pd, big->from, size, 0);
	big->to_mr = ibv_reg_mr(pd, big->to, size, ACCESS_ALL);
	CHECK(big->from_mr && big->to_mr);
	memset(big->from, 1, size);
}

static struct ibv_send_wr *write_big(const struct big *big)
{
	struct ibv_send_wr *wr = swr(&a, 1000, IBV_WR_RDMA_WRITE, 0, 1);

	wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)big->from, big->size, big->from_mr->lkey };
	return at_key(wr, big->to_mr->rkey, (uintptr_t)big->to);
}

static void *post_it(void *wr)
{
	post(&a, wr);
	return NULL;
}

/*
 * What is posted while the big one is executed needs no doorbell. When its last two
 * megabytes have not been begun, nor sent, the engine has not looked for more.
 *
 * Return: false: it was done too soon, so this says nothing
 */
static bool post_meanwhile(const struct big *big)
{
	volatile uint8_t *first = big->to, *late = big->to + big->size - TAIL;
	uint64_t before = doorbells();
	pthread_t thread;
	bool running;
	int i;

	*first = *late = 0;
	memset(b.buf, 0, BUF);
	SAME(pthread_create(&thread, NULL, post_it, write_big(big)), 0);
	while (!*first)
		sched_yield();
	for (i = 0; i < MEANWHILE; i++)
		post(&a, numbered(i));
	running = !*late;
	SAME(pthread_join(thread, NULL), 0);
	expect_ok(a.scq, 1000);
	expect_executed(MEANWHILE);
	if (running)
		CHECK(doorbells() <= before + 1);
	return running;
}

static void no_doorbell_while_it_runs(void)
{
	int want = repeat(2, 20), seen = 0, i;
	struct big big;

	make_pair(&a, &b, CONF(.sq = MEANWHILE + 1));
	make_big(&big, packets_forced() ? 8UL << 20 : 64UL << 20);
	for (i = 0; seen < want; i++) {
		note("round %d, %d of %d seen", i, seen, want);
		CHECK(i < 20 * want);
		seen += post_meanwhile(&big);
	}
}

/* PR_SET_SYSCALL_USER_DISPATCH: a system call becomes a signal as long as this says so */
static volatile char calls = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile int caught;

static void catch_call(int sig, siginfo_t *info, void *context)
{
	calls = SYSCALL_DISPATCH_FILTER_ALLOW;
	caught = info->si_syscall;
}

static void forbid_calls(void)
{
	caught = -1;
	calls = SYSCALL_DISPATCH_FILTER_BLOCK;
}

/* Return: the number of one that was tried, or -1 */
static int allow_calls(void)
{
	calls = SYSCALL_DISPATCH_FILTER_ALLOW;
	return caught;
}

static void watch_calls(void)
{
	struct sigaction action = { .sa_sigaction = catch_call, .sa_flags = SA_SIGINFO };

	SAME(sigaction(SIGSYS, &action, NULL), 0);
	SAME(prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0L, 0L, &calls), 0);
	/* one is noticed */
	forbid_calls();
	syscall(SYS_getppid);
	SAME(allow_calls(), SYS_getppid);
}

/* so many completions, of either CQ; without a look at the clock, which may be a call */
static void poll_both(int num)
{
	struct ibv_wc wc;

	while (num)
		if (ibv_poll_cq(a.scq, 1, &wc) || ibv_poll_cq(b.rcq, 1, &wc)) {
			SAME(wc.status, IBV_WC_SUCCESS);
			num--;
		}
}

static void poll_empty(int num)
{
	struct ibv_wc wc;

	while (num--) {
		SAME(ibv_poll_cq(a.scq, 1, &wc), 0);
		SAME(ibv_poll_cq(b.rcq, 1, &wc), 0);
	}
}

/* to post receives, to poll, and to ask for events is to write to memory, and no more */
static void no_system_calls(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 20 * 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	int i, n;

	CHECK(srq);
	make_pair(&a, &b, CONF());
	watch_calls();
	for (i = 0; i < 20; i++) {
		note("round %d", i);
		forbid_calls();
		for (n = 0; n < 16; n++) {
			post_recv(&b, n, 0, 100);
			post_srq(srq, &a, n, 0, 100);
		}
		SAME(ibv_req_notify_cq(b.rcq, 0), 0);
		poll_empty(20);
		SAME(allow_calls(), -1);
		for (n = 0; n < 16; n++)
			post(&a, swr(&a, n, IBV_WR_SEND, 0, 100));
		forbid_calls();
		poll_both(32);
		SAME(allow_calls(), -1);
	}
}

TESTS(
	TEST(doorbell_of_a_list), TEST(doorbell_closed), TEST(no_doorbell_while_it_runs),
	TEST(no_system_calls)
)
