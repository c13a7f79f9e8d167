// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * verbs_cost - what a verbs operation costs between two QPs of one process
 *
 * usage: verbs_cost DEVICE GID-INDEX OPERATION SIZE ITERATIONS
 *
 * OPERATION: send, pingpong, write, read or fadd. Each iteration lasts from
 * ibv_post_send() until every completion was polled; between two empty polls
 * the process yields. Prints "OPERATION,SIZE,MIN,MEDIAN" in nanoseconds of
 * CLOCK_MONOTONIC, less the cost of reading the clock. In a guest whose clock
 * counts instructions these are instructions.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct end {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct end ends[2];
static uint32_t size;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	return NULL;
}

static void create_end(struct end *end)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 64, .max_recv_wr = 64,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	size_t length = size < 4096 ? 4096 : size;

	if (posix_memalign((void **)&end->buf, 2 << 20, length))
		die("memory");
	memset(end->buf, 1, length);
	end->mr = ibv_reg_mr(pd, end->buf, length,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!end->mr)
		die("ibv_reg_mr");
	end->qp = ibv_create_qp(pd, &init);
	if (!end->qp)
		die("ibv_create_qp");
}

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_modify_qp(qp, attr, mask);
	if (errno)
		die("ibv_modify_qp");
}

static void connect_end(struct end *end, struct end *peer, union ibv_gid *gid,
			int gid_index, enum ibv_mtu mtu)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu,
		.dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = {
				.dgid = *gid, .sgid_index = gid_index,
				.hop_limit = 64,
			},
		},
	};
	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
	       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
	       IBV_QP_MIN_RNR_TIMER);
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	modify(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
	       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void post_recv(struct end *end)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = size, .lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	errno = ibv_post_recv(end->qp, &wr, &bad);
	if (errno)
		die("ibv_post_recv");
}

static void post(struct end *end, struct end *peer, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = size, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->buf;
		wr.wr.atomic.rkey = peer->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buf;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	errno = ibv_post_send(end->qp, &wr, &bad);
	if (errno)
		die("ibv_post_send");
}

static void wait_completions(int number)
{
	struct ibv_wc wc[4];
	int i, n;

	while (number) {
		n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc);
		if (n < 0)
			die("ibv_poll_cq");
		for (i = 0; i < n; i++) {
			if (wc[i].status) {
				fprintf(stderr, "completion: %s\n",
					ibv_wc_status_str(wc[i].status));
				exit(1);
			}
		}
		number -= n;
		if (!n)
			sched_yield();
	}
}

static void one_send(void)
{
	post(&ends[0], &ends[1], IBV_WR_SEND);
	wait_completions(2);
}

static void one_pingpong(void)
{
	post(&ends[0], &ends[1], IBV_WR_SEND);
	wait_completions(2);
	post(&ends[1], &ends[0], IBV_WR_SEND);
	wait_completions(2);
}

static void one_write(void)
{
	post(&ends[0], &ends[1], IBV_WR_RDMA_WRITE);
	wait_completions(1);
}

static void one_read(void)
{
	post(&ends[0], &ends[1], IBV_WR_RDMA_READ);
	wait_completions(1);
}

static void one_fadd(void)
{
	post(&ends[0], &ends[1], IBV_WR_ATOMIC_FETCH_AND_ADD);
	wait_completions(1);
}

static const struct operation {
	const char *name;
	void (*one)(void);
	int recvs[2];	/* receives each end needs for one iteration */
} operations[] = {
	{ "send", one_send, { 0, 1 } },
	{ "pingpong", one_pingpong, { 1, 1 } },
	{ "write", one_write, { 0, 0 } },
	{ "read", one_read, { 0, 0 } },
	{ "fadd", one_fadd, { 0, 0 } },
};

static const struct operation *find_operation(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(operations); i++)
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	fprintf(stderr, "verbs_cost: no operation '%s'\n", name);
	exit(2);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t clock_cost(void)
{
	uint64_t best = UINT64_MAX, t;
	int i;

	for (i = 0; i < 100; i++) {
		t = now();
		t = now() - t;
		if (t < best)
			best = t;
	}
	return best;
}

static void measure(const struct operation *op, int iterations)
{
	uint64_t *t = calloc(iterations, sizeof(*t)), start, cost = clock_cost();
	int i, e;

	for (i = 0; i < iterations; i++) {
		for (e = 0; e < 2; e++)
			if (op->recvs[e])
				post_recv(&ends[e]);
		start = now();
		op->one();
		t[i] = now() - start - cost;
	}
	qsort(t, iterations, sizeof(*t), compare);
	printf("%s,%u,%llu,%llu\n", op->name, size, (unsigned long long)t[0],
	       (unsigned long long)t[iterations / 2]);
}

int main(int argc, char **argv)
{
	const struct operation *op;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index, e;

	if (argc != 6) {
		fprintf(stderr, "usage: verbs_cost DEVICE GID-INDEX OPERATION SIZE ITERATIONS\n");
		return 2;
	}
	gid_index = atoi(argv[2]);
	op = find_operation(argv[3]);
	size = atoi(argv[4]);
	context = open_device(argv[1]);
	if (!context || ibv_query_gid(context, 1, gid_index, &gid) ||
	    ibv_query_port(context, 1, &port))
		die(argv[1]);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 256, NULL, NULL, 0);
	if (!pd || !cq)
		die("resources");
	for (e = 0; e < 2; e++)
		create_end(&ends[e]);
	for (e = 0; e < 2; e++)
		connect_end(&ends[e], &ends[!e], &gid, gid_index, port.active_mtu);
	measure(op, atoi(argv[5]));
	return 0;
}
