// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion vectors: each stands for a CPU, on which a process is woken that waits for an
 * event. With the first one it is woken where the completion was made.
 */
#include "lib.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#define WAITER		"vector_waiter"
#define TRACING		"/sys/kernel/tracing/"
#define WAKING		TRACING "events/sched/sched_waking/"

/* messages that are not looked at, and then those that are */
#define WARM		5
#define MESSAGES	50

#define PROCESSES	4

static struct end a, b;
static int handled;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	SAME(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void *waiter(void *channel)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	SAME(prctl(PR_SET_NAME, WAITER), 0);
	for (;;) {
		SAME(ibv_get_cq_event(channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		SAME(ibv_req_notify_cq(cq, 0), 0);
		while (ibv_poll_cq(cq, 1, &wc) > 0) {
			SAME(wc.status, IBV_WC_SUCCESS);
			post_recv(&b, 0, 0, 1);
			__atomic_add_fetch(&handled, 1, __ATOMIC_RELEASE);
		}
	}
	return NULL;
}

static void send_messages(int num)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	int want = __atomic_load_n(&handled, __ATOMIC_ACQUIRE);

	while (num--) {
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 1));
		expect_ok(a.scq, 1);
		want++;
		while (__atomic_load_n(&handled, __ATOMIC_ACQUIRE) != want) {
			CHECK(now_ns() < end);
			sleep_ms(1);
		}
		/* it sleeps by then */
		sleep_ms(2);
	}
}

static void empty_trace(void)
{
	FILE *trace = fopen(TRACING "trace", "w");

	CHECK(trace);
	fclose(trace);
}

/* Return: how often the waiter was woken on @cpu; *others: elsewhere */
static int wakings(int cpu, int *others)
{
	FILE *trace = fopen(TRACING "trace", "r");
	int on, num = 0;
	char line[400];
	char *bracket;

	CHECK(trace);
	*others = 0;
	while (fgets(line, sizeof(line), trace)) {
		bracket = strchr(line, '[');
		if (!strstr(line, "comm=" WAITER) || !bracket)
			continue;
		SAME(sscanf(bracket, "[%d]", &on), 1);
		if (on == cpu)
			num++;
		else
			++*others;
	}
	fclose(trace);
	return num;
}

/* Messages are sent on CPU @from, where the waiter runs, too: it is woken on @cpu. */
static void woken_on(int vector, int from, int cpu)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	pthread_t thread;
	int num, others;

	note("vector %d, sent on CPU %d", vector, from);
	CHECK(channel);
	run_on(from);
	handled = 0;
	make_pair(&a, &b, CONF(.vector = vector, .channel = channel));
	post_recv(&b, 0, 0, 1);
	SAME(ibv_req_notify_cq(b.rcq, 0), 0);
	SAME(pthread_create(&thread, NULL, waiter, channel), 0);
	send_messages(WARM);
	empty_trace();
	write_text(WAKING "filter", "comm == \"" WAITER "\"");
	write_text(WAKING "enable", "1");
	send_messages(MESSAGES);
	write_text(WAKING "enable", "0");
	num = wakings(cpu, &others);
	SAME(others, 0);
	/* unless it was awake still */
	CHECK(num > MESSAGES / 2);
	SAME(pthread_cancel(thread), 0);
	SAME(pthread_join(thread, NULL), 0);
}

static void vector_is_a_cpu(void)
{
	CHECK(ctx->num_comp_vectors >= 2);
	woken_on(1, 0, 1);
	woken_on(1, 1, 1);
}

static void first_is_where_it_was_made(void)
{
	woken_on(0, 0, 0);
	woken_on(0, 1, 1);
}

static void no_others(void)
{
	struct ibv_cq *cq;
	int i;

	CHECK(ctx->num_comp_vectors >= 1);
	for (i = 0; i < ctx->num_comp_vectors; i++) {
		cq = ibv_create_cq(ctx, 10, NULL, NULL, i);
		CHECK(cq);
		SAME(ibv_destroy_cq(cq), 0);
	}
	REFUSED(ibv_create_cq(ctx, 10, NULL, NULL, ctx->num_comp_vectors), EINVAL);
	REFUSED(ibv_create_cq(ctx, 10, NULL, NULL, -1), EINVAL);
}

/* It is told of each, and may be destroyed at any time. */
static void destroyed_when_raised(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	int i;

	CHECK(channel);
	for (i = 0; i < repeat(50, 500); i++) {
		run_on(i & 1);
		make_pair(&a, &b, CONF(.vector = 1, .channel = channel));
		post_recv(&b, 0, 0, 1);
		SAME(ibv_req_notify_cq(b.rcq, 0), 0);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 1));
		unmake(&a);
		unmake(&b);
	}
}

/* It sleeps until each message has come. */
static void sleeper(void)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	void *context;
	int i;

	open_device();
	channel = ibv_create_comp_channel(ctx);
	CHECK(channel);
	make_pair(&a, &b, CONF(.vector = 1, .channel = channel));
	for (i = 0; i < repeat(300, 2000); i++) {
		SAME(ibv_req_notify_cq(b.rcq, 0), 0);
		post_recv(&b, i, 0, 1);
		post(&a, swr(&a, i, IBV_WR_SEND, 0, 1));
		SAME(ibv_get_cq_event(channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		expect_ok(a.scq, i);
		expect_ok(b.rcq, i);
	}
	fflush(stdout);
	_exit(0);
}

/* On that CPU and on others: one is woken while another one is about to be. */
static void several_at_once(void)
{
	pid_t pid[PROCESSES];
	int i, status;

	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (!pid[i])
			sleeper();
	}
	for (i = 0; i < PROCESSES; i++) {
		SAME(waitpid(pid[i], &status, 0), pid[i]);
		SAME(status, 0);
	}
}

TESTS(
	TEST(vector_is_a_cpu), TEST(first_is_where_it_was_made), TEST(no_others),
	TEST(destroyed_when_raised), TEST(several_at_once)
)
