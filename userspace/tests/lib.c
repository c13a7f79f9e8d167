// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "lib.h"

#include <poll.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

struct ibv_context *ctx;
struct ibv_pd *pd;
struct ibv_port_attr port;
int gid4, gid6;

static char noted[256];

/*
 * ---- Cases ----
 */

void note(const char *format, ...)
{
	va_list ap;

	noted[0] = 0;
	if (!format)
		return;
	va_start(ap, format);
	vsnprintf(noted, sizeof(noted), format, ap);
	va_end(ap);
}

void failed(const char *file, int line, const char *format, ...)
{
	va_list ap;

	printf("%s:%d: ", file, line);
	if (noted[0])
		printf("[%s] ", noted);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static void expect_no_event_twice(void);

static int run_one(const struct test *test)
{
	const char *kernel = getenv("WEFT_KERNEL");
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(kernel && !strcmp(kernel, "debug") ? 240 : 90);
		open_device();
		test->run();
		expect_no_event_twice();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFSIGNALED(status))
		printf("%s: %s\n", test->name, strsignal(WTERMSIG(status)));
	return status;
}

int run_tests(const struct test *tests, int num, int argc, char **argv)
{
	int i, j, bad = 0, run = 0;
	uint64_t start;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < num; i++) {
		for (j = 1; j < argc && strcmp(argv[j], tests[i].name); j++)
			;
		if (argc > 1 && j == argc)
			continue;
		run++;
		start = now_ns();
		if (run_one(&tests[i])) {
			printf("FAIL %s\n", tests[i].name);
			bad++;
		} else {
			printf("ok   %s %.2f s\n", tests[i].name,
			       (now_ns() - start) / 1e9);
		}
	}
	printf("%d cases, %d failed\n", run, bad);
	return bad || !run;
}

/*
 * ---- The device ----
 */

/* An InfiniBand port has one that is good for all. */
static void find_gids(void)
{
	struct ibv_gid_entry entry;
	int i;

	gid4 = gid6 = port.link_layer == IBV_LINK_LAYER_INFINIBAND ? 0 : -1;
	for (i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(ctx, 1, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		if (!memcmp(entry.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12))
			gid4 = i;
		else if (entry.gid.raw[0] == 0xfd)
			gid6 = i;
	}
}

static FILE *open_attribute(const char *name, const char *mode)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s",
		 ibv_get_device_name(ctx->device), name);
	file = fopen(path, mode);
	if (!file)
		FAIL("cannot open %s", path);
	return file;
}

static uint64_t read_attribute(const char *name)
{
	FILE *file = open_attribute(name, "r");
	uint64_t value;

	if (fscanf(file, "%lu", &value) != 1)
		FAIL("%s is no number", name);
	fclose(file);
	return value;
}

bool packets_forced(void)
{
	return !read_attribute("local_link");
}

void force_packets(bool forced)
{
	FILE *file = open_attribute("local_link", "w");

	CHECK(fprintf(file, "%d\n", !forced) > 0);
	SAME(fclose(file), 0);
}

uint64_t counter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "ports/1/hw_counters/%s", name);
	return read_attribute(path);
}

uint64_t device_counter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "hw_counters/%s", name);
	return read_attribute(path);
}

void open_context(void)
{
	const char *name = getenv("WEFT_DEVICE") ?: "weft0";
	struct ibv_device **list;
	int i, num;

	list = ibv_get_device_list(&num);
	CHECK(list);
	for (i = 0; i < num; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			break;
	if (i == num)
		FAIL("there is no device %s", name);
	ctx = ibv_open_device(list[i]);
	CHECK(ctx);
	ibv_free_device_list(list);
}

void open_device(void)
{
	open_context();
	CHECK(!ibv_query_port(ctx, 1, &port));
	find_gids();
	if (gid4 < 0 && port.link_layer == IBV_LINK_LAYER_ETHERNET)
		FAIL("%s has no GID of an IPv4 address", ibv_get_device_name(ctx->device));
	pd = ibv_alloc_pd(ctx);
	CHECK(pd);
	CHECK(!fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK));
}

void open_named(const char *name)
{
	SAME(setenv("WEFT_DEVICE", name, 1), 0);
	open_device();
}

/*
 * ---- Numbers, time and memory ----
 */

int repeat(int num, int full)
{
	const char *tier = getenv("WEFT_TIER");

	return tier && !strcmp(tier, "full") ? full : num;
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

void sleep_ms(int ms)
{
	usleep(ms * 1000);
}

void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

int uffd_hold(void *p, size_t size)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	CHECK(fd >= 0);
	SAME(ioctl(fd, UFFDIO_API, &api), 0);
	SAME(ioctl(fd, UFFDIO_REGISTER, &reg), 0);
	return fd;
}

void uffd_answer(int fd, void *p, size_t size)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)p, size } };

	SAME(ioctl(fd, UFFDIO_ZEROPAGE, &zero), 0);
}

static uint8_t pattern(size_t i, int seed)
{
	return i * 7 + (i >> 8) + seed * 31 + 1;
}

void fill(void *p, size_t length, int seed)
{
	uint8_t *b = p;
	size_t i;

	for (i = 0; i < length; i++)
		b[i] = pattern(i, seed);
}

void check_filled(const void *p, size_t length, int seed)
{
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < length; i++)
		if (b[i] != pattern(i, seed))
			FAIL("byte %zu of %zu is %#x, expected %#x of pattern %d",
			     i, length, b[i], pattern(i, seed), seed);
}

void check_zero(const void *p, size_t length)
{
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < length; i++)
		if (b[i])
			FAIL("byte %zu of %zu is %#x, expected it not to be written",
			     i, length, b[i]);
}

/*
 * ---- Ends ----
 */

static void make_qp(struct end *e)
{
	const struct conf *conf = &e->conf;
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = e,
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.srq = conf->srq,
		.cap.max_send_wr = conf->sq,
		.cap.max_recv_wr = conf->srq ? 0 : conf->rq,
		.cap.max_send_sge = conf->sge,
		.cap.max_recv_sge = conf->srq ? 0 : conf->sge,
		.cap.max_inline_data = conf->inline_data,
		.qp_type = conf->type,
		.sq_sig_all = conf->sig_all,
		.pd = pd,
	};

	if (conf->ex) {
		attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
		if (conf->type != IBV_QPT_UD)
			attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_WRITE |
					       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
					       IBV_QP_EX_WITH_BIND_MW |
					       IBV_QP_EX_WITH_LOCAL_INV;
		if (conf->type == IBV_QPT_RC)
			attr.send_ops_flags |= IBV_QP_EX_WITH_RDMA_READ |
					       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
					       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
					       IBV_QP_EX_WITH_SEND_WITH_INV;
		attr.send_ops_flags |= conf->ops;
		e->qp = ibv_create_qp_ex(ctx, &attr);
	} else {
		e->qp = ibv_create_qp(pd, (struct ibv_qp_init_attr *)&attr);
	}
	CHECK(e->qp);
}

void make(struct end *e, const struct conf *conf)
{
	static uint32_t next_psn = 0xfffff0; /* wraps soon */

	memset(e, 0, sizeof(*e));
	e->conf = *conf;
	if (e->conf.gid < 0)
		e->conf.gid = gid4;
	e->psn = next_psn++ & 0xffffff;
	e->scq = ibv_create_cq(ctx, conf->cqe, e, conf->channel, conf->vector);
	CHECK(e->scq);
	e->rcq = conf->one_cq ? e->scq :
				ibv_create_cq(ctx, conf->cqe, e, conf->channel, conf->vector);
	CHECK(e->rcq);
	e->buf = memory(BUF);
	e->mr = ibv_reg_mr(pd, e->buf, BUF, ACCESS_ALL);
	CHECK(e->mr);
	make_qp(e);
}

void unmake(struct end *e)
{
	if (e->qp)
		SAME(ibv_destroy_qp(e->qp), 0);
	SAME(ibv_dereg_mr(e->mr), 0);
	SAME(ibv_destroy_cq(e->scq), 0);
	if (!e->conf.one_cq)
		SAME(ibv_destroy_cq(e->rcq), 0);
	munmap(e->buf, BUF);
	memset(e, 0, sizeof(*e));
}

void av_to(struct ibv_ah_attr *av, int from_gid, int to_gid)
{
	*av = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.dlid = port.lid,
		.grh.sgid_index = from_gid,
		.grh.hop_limit = 64,
	};
	SAME(ibv_query_gid(ctx, 1, to_gid, &av->grh.dgid), 0);
}

struct ibv_ah *ah_to(int from_gid, int to_gid)
{
	struct ibv_ah_attr av;
	struct ibv_ah *ah;

	av_to(&av, from_gid, to_gid);
	ah = ibv_create_ah(pd, &av);
	CHECK(ah);
	return ah;
}

struct ibv_qp_attr step_attr(const struct end *e, const struct end *peer,
			     enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = e->conf.access,
		.qkey = QKEY,
		.path_mtu = port.active_mtu,
		.min_rnr_timer = e->conf.rnr_timer,
		.max_dest_rd_atomic = e->conf.dest_rd,
		.sq_psn = e->psn,
		.timeout = e->conf.timeout,
		.retry_cnt = e->conf.retry,
		.rnr_retry = e->conf.rnr_retry,
		.max_rd_atomic = e->conf.rd,
	};

	if (peer) {
		attr.dest_qp_num = peer->qp->qp_num;
		attr.rq_psn = peer->psn;
		av_to(&attr.ah_attr, e->conf.gid, peer->conf.gid);
	}
	return attr;
}

int step_mask(const struct end *e, enum ibv_qp_state state)
{
	bool ud = e->conf.type == IBV_QPT_UD, rc = e->conf.type == IBV_QPT_RC;

	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		return IBV_QP_STATE |
		       (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN) |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	case IBV_QPS_RTS:
		return IBV_QP_STATE | IBV_QP_SQ_PSN |
		       (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC : 0);
	default:
		return IBV_QP_STATE;
	}
}

static void step(struct end *e, const struct end *peer, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = step_attr(e, peer, state);

	SAME(ibv_modify_qp(e->qp, &attr, step_mask(e, state)), 0);
}

void to_init(struct end *e)
{
	step(e, NULL, IBV_QPS_INIT);
}

void to_rtr(struct end *e, const struct end *peer)
{
	step(e, peer, IBV_QPS_RTR);
}

void to_rts(struct end *e)
{
	step(e, NULL, IBV_QPS_RTS);
}

void to_ready(struct end *e)
{
	to_init(e);
	to_rtr(e, NULL);
	to_rts(e);
}

int try_state(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

void to_state(struct end *e, enum ibv_qp_state state)
{
	SAME(try_state(e, state), 0);
}

enum ibv_qp_state state_of(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void connect_ends(struct end *a, struct end *b)
{
	to_init(a);
	if (a != b)
		to_init(b);
	to_rtr(a, b);
	if (a != b)
		to_rtr(b, a);
	to_rts(a);
	if (a != b)
		to_rts(b);
}

void make_pair(struct end *a, struct end *b, const struct conf *conf)
{
	make(a, conf);
	make(b, conf);
	if (conf->type == IBV_QPT_UD) {
		to_ready(a);
		to_ready(b);
	} else {
		connect_ends(a, b);
	}
}

/*
 * ---- Work requests ----
 */

#define LIVE_WRS 64

static void set_sge(struct ibv_sge *sge, const struct end *e, size_t off, uint32_t length)
{
	sge->addr = (uintptr_t)(e->buf + off);
	sge->length = length;
	sge->lkey = e->mr->lkey;
}

struct ibv_send_wr *swr(struct end *e, uint64_t id, enum ibv_wr_opcode opcode,
			size_t off, uint32_t length)
{
	static struct { struct ibv_send_wr wr; struct ibv_sge sge[32]; } wrs[LIVE_WRS];
	static unsigned int next;
	struct ibv_send_wr *wr = &wrs[next].wr;
	struct ibv_sge *sge = wrs[next++ % LIVE_WRS].sge;

	next %= LIVE_WRS;
	memset(wr, 0, sizeof(*wr));
	set_sge(sge, e, off, length);
	wr->wr_id = id;
	wr->opcode = opcode;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->sg_list = sge;
	wr->num_sge = length ? 1 : 0;
	return wr;
}

struct ibv_recv_wr *rwr(struct end *e, uint64_t id, size_t off, uint32_t length)
{
	static struct { struct ibv_recv_wr wr; struct ibv_sge sge[32]; } wrs[LIVE_WRS];
	static unsigned int next;
	struct ibv_recv_wr *wr = &wrs[next].wr;
	struct ibv_sge *sge = wrs[next++ % LIVE_WRS].sge;

	next %= LIVE_WRS;
	memset(wr, 0, sizeof(*wr));
	set_sge(sge, e, off, length);
	wr->wr_id = id;
	wr->sg_list = sge;
	wr->num_sge = length ? 1 : 0;
	return wr;
}

struct ibv_send_wr *at_key(struct ibv_send_wr *wr, uint32_t rkey, uint64_t addr)
{
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
	return wr;
}

struct ibv_send_wr *at(struct ibv_send_wr *wr, const struct end *peer, size_t off)
{
	return at_key(wr, peer->mr->rkey, (uintptr_t)(peer->buf + off));
}

struct ibv_send_wr *to_ah(struct ibv_send_wr *wr, struct ibv_ah *ah, const struct end *peer)
{
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = peer->qp->qp_num;
	wr->wr.ud.remote_qkey = QKEY;
	return wr;
}

struct ibv_qp_ex *wr_start(struct end *e, uint64_t id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(e->qp);

	CHECK(qp);
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = id;
	return qp;
}

void post(struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = ibv_post_send(e->qp, wr, &bad);

	if (ret)
		FAIL("ibv_post_send of %llu: %d (%s), bad_wr %llu",
		     (unsigned long long)wr->wr_id, ret, strerror(ret),
		     bad ? (unsigned long long)bad->wr_id : 0);
}

void post_r(struct end *e, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad = NULL;
	int ret = ibv_post_recv(e->qp, wr, &bad);

	if (ret)
		FAIL("ibv_post_recv of %llu: %d (%s), bad_wr %llu",
		     (unsigned long long)wr->wr_id, ret, strerror(ret),
		     bad ? (unsigned long long)bad->wr_id : 0);
}

void post_recv(struct end *e, uint64_t id, size_t off, uint32_t length)
{
	post_r(e, rwr(e, id, off, length));
}

void post_srq(struct ibv_srq *srq, struct end *e, uint64_t id, size_t off, uint32_t length)
{
	struct ibv_recv_wr *bad;

	SAME(ibv_post_srq_recv(srq, rwr(e, id, off, length), &bad), 0);
}

/*
 * ---- Completions and events ----
 */

/* Return: whether there was one */
static bool poll_one(const char *file, int line, struct ibv_cq *cq, struct ibv_wc *wc)
{
	int ret = ibv_poll_cq(cq, 1, wc);

	if (ret < 0)
		failed(file, line, "ibv_poll_cq: %d", ret);
	return ret;
}

struct ibv_wc next_wc_(const char *file, int line, struct ibv_cq *cq)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc wc;

	while (!poll_one(file, line, cq, &wc)) {
		if (now_ns() > end)
			failed(file, line, "expected a completion, none came");
		sched_yield();
	}
	return wc;
}

struct ibv_wc expect_wc_(const char *file, int line, struct ibv_cq *cq, uint64_t id,
			 enum ibv_wc_status status)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ULL;
	struct ibv_wc wc;

	while (!poll_one(file, line, cq, &wc)) {
		if (now_ns() > end)
			failed(file, line, "expected completion %llu, %s; none came",
			       (unsigned long long)id, ibv_wc_status_str(status));
		sched_yield();
	}
	if (wc.wr_id != id || wc.status != status)
		failed(file, line,
		       "expected completion %llu, %s; got %llu, %s, vendor_err %u",
		       (unsigned long long)id, ibv_wc_status_str(status),
		       (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
		       wc.vendor_err);
	if (status && !wc.vendor_err)
		failed(file, line, "completion %llu, %s: vendor_err does not say why",
		       (unsigned long long)id, ibv_wc_status_str(status));
	return wc;
}

void expect_no_wc_(const char *file, int line, struct ibv_cq *cq, int ms)
{
	uint64_t end = now_ns() + ms * 1000000ULL;
	struct ibv_wc wc;

	do {
		if (poll_one(file, line, cq, &wc))
			failed(file, line, "expected no completion; got %llu, %s",
			       (unsigned long long)wc.wr_id,
			       ibv_wc_status_str(wc.status));
		if (ms)
			sleep_ms(1);
	} while (now_ns() < end);
}

static bool wait_event(struct ibv_async_event *event, int ms)
{
	struct pollfd fd = { .fd = ctx->async_fd, .events = POLLIN };

	if (poll(&fd, 1, ms) <= 0 || ibv_get_async_event(ctx, event))
		return false;
	ibv_ack_async_event(event);
	return true;
}

/* Events of objects that a case has expected: what has happened once is told once. */
static struct {
	enum ibv_event_type type;
	void *element;
} expected_events[64];
static unsigned int num_expected_events;

static void remember_event(enum ibv_event_type type, void *element)
{
	if (!element || num_expected_events == ARRAY_SIZE(expected_events))
		return;
	expected_events[num_expected_events].type = type;
	expected_events[num_expected_events++].element = element;
}

static void expect_no_event_twice(void)
{
	struct ibv_async_event event;
	unsigned int i;

	while (num_expected_events && wait_event(&event, 0))
		for (i = 0; i < num_expected_events; i++)
			if (event.event_type == expected_events[i].type &&
			    (void *)event.element.qp == expected_events[i].element)
				FAIL("event '%s' of the same object came once more",
				     ibv_event_type_str(event.event_type));
}

void expect_event_(const char *file, int line, enum ibv_event_type type, void *element)
{
	struct ibv_async_event event;

	if (!wait_event(&event, WAIT_MS))
		failed(file, line, "expected event '%s', none came",
		       ibv_event_type_str(type));
	if (event.event_type != type)
		failed(file, line, "expected event '%s', got '%s'",
		       ibv_event_type_str(type), ibv_event_type_str(event.event_type));
	if (element && (void *)event.element.qp != element)
		failed(file, line, "event '%s' is of another object",
		       ibv_event_type_str(type));
	remember_event(type, element);
}

void expect_no_event_(const char *file, int line, int ms)
{
	struct ibv_async_event event;

	if (wait_event(&event, ms))
		failed(file, line, "expected no event, got '%s'",
		       ibv_event_type_str(event.event_type));
}

static const char *state_name(enum ibv_qp_state state)
{
	static const char * const names[] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", "UNKNOWN",
	};

	return names[state <= IBV_QPS_ERR ? state : 7];
}

void expect_state_(const char *file, int line, struct end *e, enum ibv_qp_state state)
{
	enum ibv_qp_state is = state_of(e);

	if (is != state)
		failed(file, line, "expected state %s, it is %s", state_name(state),
		       state_name(is));
}

static void check_way(const char *file, int line, struct end *a, struct end *b)
{
	struct ibv_wc wc;

	memset(b->buf, 0, 100);
	fill(a->buf, 100, 77);
	post_recv(b, 7001, 0, 100);
	post(a, swr(a, 7002, IBV_WR_SEND, 0, 100));
	expect_wc_(file, line, a->scq, 7002, IBV_WC_SUCCESS);
	wc = expect_wc_(file, line, b->rcq, 7001, IBV_WC_SUCCESS);
	SAME(wc.byte_len, 100);
	check_filled(b->buf, 100, 77);
}

void check_works_(const char *file, int line, struct end *a, struct end *b)
{
	check_way(file, line, a, b);
	check_way(file, line, b, a);
}

void expect_refusal_(const char *file, int line, struct end *a, struct end *b,
		     struct ibv_send_wr *wr)
{
	uint64_t id = wr->wr_id;

	post(a, wr);
	expect_wc_(file, line, a->scq, id, IBV_WC_REM_ACCESS_ERR);
	expect_event_(file, line, IBV_EVENT_QP_ACCESS_ERR, b->qp);
	to_state(a, IBV_QPS_RESET);
	to_state(b, IBV_QPS_RESET);
	connect_ends(a, b);
}

/*
 * ---- Behind the provider's back ----
 */

int all_maps(struct map *maps, int max)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset;
	char line[512];
	int num = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		CHECK(num < max);
		maps[num++] = (struct map){ (void *)start, end - start, offset };
	}
	fclose(file);
	return num;
}

int new_maps(struct map *maps, int max)
{
	static uint64_t known[256];
	static int num_known;
	struct map all[256];
	int i, k, num = 0, num_all = all_maps(all, ARRAY_SIZE(all));

	for (i = 0; i < num_all; i++) {
		for (k = 0; k < num_known && known[k] != all[i].offset; k++)
			;
		if (k < num_known)
			continue;
		CHECK(num < max);
		maps[num++] = all[i];
	}
	for (i = 0; i < num_all; i++)
		known[i] = all[i].offset;
	num_known = num_all;
	return num;
}

void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0);
	SAME(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

long read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long number;

	CHECK(file);
	SAME(fscanf(file, "%ld", &number), 1);
	fclose(file);
	return number;
}

int doorbell_fd(void)
{
	char path[64], target[256];
	int fd, num;

	for (fd = 3; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		num = readlink(path, target, sizeof(target) - 1);
		if (num > 0 && !strncmp(target, "anon_inode:[weft]", 17))
			return fd;
	}
	FAIL("no file descriptor of a doorbell");
}
