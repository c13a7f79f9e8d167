// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic between processes, and what can happen to it.
 *
 *	traffic kill N		kill both ends in mid-transfer, N times
 *	traffic run SECONDS	until the device goes, which must be noticed
 *	traffic many N		N connections between two processes
 */
#include "lib.h"
#include "usage.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#define BIG	(64UL << 20)

/* what the two processes have to know of each other */
struct meeting {
	int arrived;
	uint32_t qpn[2][1024];
	uint64_t addr[2];
	uint32_t rkey[2];
	volatile int started[2];
};

static struct meeting *meeting;

static void meet(int count)
{
	uint64_t end = now_ns() + 60 * 1000000000ULL;

	__atomic_add_fetch(&meeting->arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&meeting->arrived, __ATOMIC_ACQUIRE) < count) {
		if (now_ns() > end)
			FAIL("the other process did not come");
		sleep_ms(1);
	}
}

static void new_meeting(void)
{
	if (!meeting) {
		meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(meeting != MAP_FAILED);
	}
	memset(meeting, 0, sizeof(*meeting));
}

/* connect @e to what the other process says of its QP @i */
static void join(struct end *e, int me, int i)
{
	struct ibv_qp peer_qp = { .qp_num = meeting->qpn[!me][i] };
	struct end peer = { .qp = &peer_qp, .conf = e->conf, .psn = e->psn };

	to_init(e);
	to_rtr(e, &peer);
	to_rts(e);
}

/* Return: whether the device is still there, as far as this has been told */
static bool device_there(void)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	static bool gone;

	while (!gone && poll(&fd, 1, 0) > 0) {
		if (ibv_get_async_event(ctx, &event))
			break;
		gone = event.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&event);
	}
	return !gone;
}

/*
 * One end: writes of 64 MB, four at a time, from both sides at once, and sends.
 * Ends when the device does, with status 0 if that is seen in time.
 */
static void traffic_end(int me)
{
	uint8_t *big = memory(BIG);
	struct ibv_send_wr *wr, *bad;
	struct ibv_mr *mr;
	struct ibv_wc wc = {};
	struct end e;
	int i, ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	make(&e, CONF(.timeout = 14, .sq = 16));
	e.psn = 1;
	mr = ibv_reg_mr(pd, big, BIG, ACCESS_ALL);
	CHECK(mr);
	meeting->qpn[me][0] = e.qp->qp_num;
	meeting->addr[me] = (uintptr_t)big;
	meeting->rkey[me] = mr->rkey;
	meet(2);
	join(&e, me, 0);
	meet(4);
	for (i = 0;; i++) {
		wr = swr(&e, i, IBV_WR_RDMA_WRITE, 0, 1);
		wr->sg_list[0] = (struct ibv_sge){ (uintptr_t)big, BIG, mr->lkey };
		wr->wr.rdma.remote_addr = meeting->addr[!me];
		wr->wr.rdma.rkey = meeting->rkey[!me];
		meeting->started[me] = 1;
		ret = ibv_post_send(e.qp, wr, &bad);
		if (ret && ret != ENOMEM)
			break;
		while ((ret = ibv_poll_cq(e.scq, 1, &wc)) > 0)
			if (wc.status)
				break;
		if (ret < 0 || wc.status || !device_there())
			break;
	}
	/* the traffic has ended; the event has to say why, and calls have to fail */
	for (i = 0; i < 1000 && device_there(); i++)
		sleep_ms(10);
	if (device_there())
		FAIL("end %d: no DEVICE_FATAL; last status %d (%s)", me, wc.status,
		     ibv_wc_status_str(wc.status));
	REFUSED(ibv_alloc_pd(ctx), EIO);
	REFUSED(ibv_post_send(e.qp, swr(&e, 1, IBV_WR_SEND, 0, 8), &bad), EIO);
	if (ibv_poll_cq(e.scq, 1, &wc) > 0)
		while (ibv_poll_cq(e.scq, 1, &wc) > 0)
			;
	CHECK(ibv_poll_cq(e.scq, 1, &wc) < 0);
	_exit(0);
}

/* until traffic flows both ways */
static void start_ends(pid_t pid[2])
{
	int i, status;

	new_meeting();
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (!pid[i])
			traffic_end(i);
	}
	while (!meeting->started[0] || !meeting->started[1]) {
		for (i = 0; i < 2; i++)
			if (waitpid(pid[i], &status, WNOHANG))
				FAIL("end %d did not start: status %#x", i, status);
		sleep_ms(1);
	}
}

static void reap(pid_t pid, uint64_t from)
{
	int status;

	SAME(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		FAIL("a process ended by itself: %#x", status);
	if (now_ns() - from > 15 * 1000000000ULL)
		FAIL("it took %d ms to die", (int)((now_ns() - from) / 1000000));
}

static int kill_both(int num)
{
	uint64_t start, longest = 0;
	unsigned int seed = 1;
	pid_t pid[2];
	int i;

	for (i = 0; i < num; i++) {
		note("round %d", i);
		start_ends(pid);
		sleep_ms(rand_r(&seed) % 100);
		start = now_ns();
		/* one first, now and then, so that the other one retries */
		kill(pid[i & 1], SIGKILL);
		if (i % 4 == 3)
			sleep_ms(rand_r(&seed) % 30);
		kill(pid[!(i & 1)], SIGKILL);
		reap(pid[0], start);
		reap(pid[1], start);
		if (now_ns() - start > longest)
			longest = now_ns() - start;
	}
	printf("%d pairs killed, at most %d ms each\n", num, (int)(longest / 1000000));
	return 0;
}

static int run(int seconds)
{
	int status[2], i;
	pid_t pid[2];

	start_ends(pid);
	printf("running\n");
	fflush(stdout);
	alarm(seconds);
	for (i = 0; i < 2; i++) {
		SAME(waitpid(pid[i], &status[i], 0), pid[i]);
		if (status[i])
			FAIL("end %d: status %#x, expected that it notices that the device is gone",
			     i, status[i]);
	}
	printf("both have noticed\n");
	return 0;
}

/* N QPs here, N there, a message each way on each */
static void many_end(int me, int num)
{
	struct ibv_cq *cq;
	struct end first, *e = calloc(num, sizeof(*e));
	struct ibv_wc wc;
	int i, done = 0, bad = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	make(&first, CONF());
	cq = ibv_create_cq(ctx, 4 * num, NULL, NULL, 0);
	CHECK(cq);
	for (i = 0; i < num; i++) {
		note("QP %d", i);
		e[i] = first;
		e[i].psn = i;
		e[i].qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
			.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
			.cap = { 16, 16, 2, 2, 0 },
		});
		CHECK(e[i].qp);
		meeting->qpn[me][i] = e[i].qp->qp_num;
	}
	meet(2);
	for (i = 0; i < num; i++) {
		join(&e[i], me, i);
		post_recv(&e[i], i, 0, 100);
	}
	meet(4);
	for (i = 0; i < num; i++)
		post(&e[i], swr(&e[i], i, IBV_WR_SEND, 1000, 100));
	while (done < 2 * num) {
		wc = next_wc(cq);
		bad += wc.status != IBV_WC_SUCCESS;
		done++;
	}
	SAME(bad, 0);
	meet(6);
	for (i = 0; i < num && me; i++)
		SAME(ibv_destroy_qp(e[i].qp), 0);
	_exit(0);
}

static void connect_many(int num)
{
	int status, i;
	pid_t pid[2];

	CHECK(num <= 1024);
	new_meeting();
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (!pid[i])
			many_end(i, num);
	}
	for (i = 0; i < 2; i++) {
		SAME(waitpid(pid[i], &status, 0), pid[i]);
		SAME(status, 0);
	}
}

/* and nothing is left of them when the processes have ended */
static int many(int num)
{
	int grow;

	connect_many(num / 5 + 1);
	grow = usage_watch(connect_many, num);
	printf("%d QPs in each of two processes\n", num);
	return !!grow;
}

int main(int argc, char **argv)
{
	int num = argc > 2 ? atoi(argv[2]) : 0;

	if (argc == 3 && !strcmp(argv[1], "kill"))
		return kill_both(num);
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run(num);
	if (argc == 3 && !strcmp(argv[1], "many"))
		return many(num);
	fprintf(stderr, "usage: traffic kill|run|many NUMBER\n");
	return 2;
}
