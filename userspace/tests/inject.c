// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Injection rules for work requests, verbs and events, and what their file refuses.
 */
#include "inject.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <time.h>

#define CONTROL		"/sys/kernel/debug/weft/inject"
/* enum weft_fault */
#define FAULT_RETRY	9
#define FAULT_INJECTED	32
#define RANDOM_TEXTS	5000

static struct end a, b;

const char *device_name(void)
{
	return ibv_get_device_name(ctx->device);
}

/* a write to the file; returns 0 or the errno, and what the file says then */
static int command(const char *text, size_t length, char *answer, size_t size)
{
	int fd = open(CONTROL, O_RDWR), error = 0;
	ssize_t got;

	CHECK(fd >= 0);
	if (write(fd, text, length) != (ssize_t)length)
		error = errno;
	got = read(fd, answer, size - 1);
	CHECK(got >= 0);
	answer[got] = '\0';
	close(fd);
	return error;
}

void rule(const char *format, ...)
{
	char line[512], answer[4096];
	int length = snprintf(line, sizeof(line), "%s ", device_name());
	va_list args;

	va_start(args, format);
	vsnprintf(line + length, sizeof(line) - length, format, args);
	va_end(args);
	note("%s", line);
	SAME(command(line, strlen(line), answer, sizeof(answer)), 0);
}

void refused_as(const char *text, const char *why, int error)
{
	char line[256], answer[4096];

	snprintf(line, sizeof(line), "%s %s", device_name(), text);
	note("%s", line);
	SAME(command(line, strlen(line), answer, sizeof(answer)), error);
	if (!strstr(answer, why))
		FAIL("it said: %s", answer);
}

void refused(const char *text, const char *why)
{
	refused_as(text, why, EINVAL);
}

long fired(void)
{
	char answer[4096], *at;

	SAME(command("", 0, answer, sizeof(answer)), 0);
	at = strstr(answer, " fired ");
	CHECK(at);
	return atol(at + 7);
}

void unmake_both(struct end *one, struct end *other)
{
	rule("clear");
	unmake(one);
	unmake(other);
}

void unmake_wire(struct end *one, struct end *other)
{
	force_packets(false);
	unmake_both(one, other);
}

static const struct {
	const char *name;
	enum ibv_wc_status status;
	int vendor_err;
} statuses[] = {
	{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR, 4 },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR, 2 },
	{ "LOC_EEC_OP_ERR", IBV_WC_LOC_EEC_OP_ERR, FAULT_INJECTED },
	{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR, 5 },
	{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR, 1 },
	{ "MW_BIND_ERR", IBV_WC_MW_BIND_ERR, 7 },
	{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR, 24 },
	{ "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR, FAULT_INJECTED },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR, 21 },
	{ "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR, 22 },
	{ "REM_OP_ERR", IBV_WC_REM_OP_ERR, 23 },
	{ "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR, FAULT_RETRY },
	{ "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR, 10 },
	{ "LOC_RDD_VIOL_ERR", IBV_WC_LOC_RDD_VIOL_ERR, FAULT_INJECTED },
	{ "REM_INV_RD_REQ_ERR", IBV_WC_REM_INV_RD_REQ_ERR, FAULT_INJECTED },
	{ "REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR, FAULT_INJECTED },
	{ "INV_EECN_ERR", IBV_WC_INV_EECN_ERR, FAULT_INJECTED },
	{ "INV_EEC_STATE_ERR", IBV_WC_INV_EEC_STATE_ERR, FAULT_INJECTED },
	{ "FATAL_ERR", IBV_WC_FATAL_ERR, 28 },
	{ "RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR, FAULT_INJECTED },
	{ "GENERAL_ERR", IBV_WC_GENERAL_ERR, 29 },
};

/* the second of three SENDs fails: the first arrives, the third is flushed, the QP is in ERR */
static void each_status(void)
{
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		make_pair(&a, &b, CONF());
		rule("request qp=%u n=2 complete=%s", a.qp->qp_num, statuses[i].name);
		post_recv(&b, 10, 0, 100);
		post_recv(&b, 11, 0, 100);
		post(&a, swr(&a, 1, IBV_WR_SEND, 0, 100));
		expect_ok(a.scq, 1);
		expect_ok(b.rcq, 10);
		post(&a, swr(&a, 2, IBV_WR_SEND, 0, 100));
		post(&a, swr(&a, 3, IBV_WR_SEND, 0, 100));
		wc = expect_wc(a.scq, 2, statuses[i].status);
		SAME(wc.vendor_err, statuses[i].vendor_err);
		SAME(wc.qp_num, a.qp->qp_num);
		expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
		expect_state(&a, IBV_QPS_ERR);
		/* the peer has not been told */
		expect_state(&b, IBV_QPS_RTS);
		expect_no_wc_now(b.rcq);
		SAME(fired(), 1);
		unmake_both(&a, &b);
	}
}

/* UC and UD get into SQE, and work again from RTS on */
static void send_queue_error(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_ah *ah = ah_to(gid4, gid4);
	struct ibv_wc wc;
	size_t i;
	int j;

	CHECK(ah);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		make_pair(&a, &b, CONF(.type = types[i]));
		rule("request qp=%u service=%s n=1 complete=LOC_LEN_ERR vendor_err=77",
		     a.qp->qp_num, types[i] == IBV_QPT_UC ? "uc" : "ud");
		for (j = 0; j < 2; j++)
			post(&a, to_ah(swr(&a, j, IBV_WR_SEND, 0, 100), ah, &b));
		wc = expect_wc(a.scq, 0, IBV_WC_LOC_LEN_ERR);
		SAME(wc.vendor_err, 77);
		expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
		expect_state(&a, IBV_QPS_SQE);
		to_state(&a, IBV_QPS_RTS);
		post_recv(&b, 10, 0, 200);
		post(&a, to_ah(swr(&a, 2, IBV_WR_SEND, 0, 100), ah, &b));
		expect_ok(a.scq, 2);
		expect_ok(b.rcq, 10);
		unmake_both(&a, &b);
	}
}

/* what must match: the opcode, the bytes, the process; a rule behind one that fires waits */
static void what_matches(void)
{
	make_pair(&a, &b, CONF());
	rule("request qp=%u opcode=read complete=GENERAL_ERR", a.qp->qp_num);
	rule("request qp=%u bytes=101- complete=GENERAL_ERR", a.qp->qp_num);
	rule("request qp=%u pid=%d complete=GENERAL_ERR", a.qp->qp_num, getpid() + 1);
	rule("request qp=%u comm=inject-not complete=GENERAL_ERR", a.qp->qp_num);
	rule("request qp=%u complete=GENERAL_ERR", b.qp->qp_num);
	rule("request service=uc complete=GENERAL_ERR");
	rule("verb verb=create_qp qp=%u fail=EIO", a.qp->qp_num);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	rule("request pid=%d comm=inject opcode=write bytes=100 complete=REM_OP_ERR", getpid());
	rule("request qp=%u complete=GENERAL_ERR", a.qp->qp_num);
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_wc(a.scq, 2, IBV_WC_REM_OP_ERR);
	rule("clear");
	unmake(&a);
	make_pair(&a, &b, CONF());
	rule("request opcode=read complete=REM_ACCESS_ERR");
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_READ, 0, 100), &b, 0));
	expect_wc(a.scq, 3, IBV_WC_REM_ACCESS_ERR);
	rule("clear");
}

/* a delayed request, and those behind it, in order; a QP may end meanwhile */
static void delayed_requests(void)
{
	uint64_t begin;

	make_pair(&a, &b, CONF());
	rule("request qp=%u n=1 delay=300ms", a.qp->qp_num);
	begin = now_ns();
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	CHECK(now_ns() - begin >= 300000000);
	expect_ok(a.scq, 2);
	check_works(&a, &b);
	rule("clear");

	rule("request qp=%u delay=60s", a.qp->qp_num);
	post(&a, at(swr(&a, 3, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_no_wc(a.scq);
	to_state(&a, IBV_QPS_ERR);
	expect_wc(a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	to_state(&a, IBV_QPS_RESET);
	to_state(&b, IBV_QPS_RESET);
	connect_ends(&a, &b);
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	unmake(&a);
	rule("clear");
}

/* each verb that a rule can fail, with the errno that the rule names */
static void each_verb(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 1 };
	struct ibv_ah_attr av;
	struct ibv_qp_init_attr qp_init;
	struct ibv_qp_attr attr;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_pd *other;

	make(&a, CONF());
	rule("verb verb=alloc_pd n=1 fail=ENOMEM");
	REFUSED(ibv_alloc_pd(ctx), ENOMEM);
	other = ibv_alloc_pd(ctx);
	CHECK(other);
	rule("verb verb=create_cq n=1 fail=ENOSPC");
	REFUSED(ibv_create_cq(ctx, 4, NULL, NULL, 0), ENOSPC);
	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	CHECK(cq);
	rule("verb verb=resize_cq n=1 fail=EBUSY");
	REFUSED(ibv_resize_cq(cq, 8), EBUSY);
	SAME(ibv_resize_cq(cq, 8), 0);
	rule("verb verb=create_qp n=1 fail=EMFILE");
	qp_init = (struct ibv_qp_init_attr){ .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					     .cap = { 1, 1, 1, 1, 0 } };
	REFUSED(ibv_create_qp(pd, &qp_init), EMFILE);
	rule("verb verb=modify_qp state=RTR qp=%u n=1 fail=ETIMEDOUT", a.qp->qp_num);
	to_init(&a);
	SAME(try_state(&a, IBV_QPS_RTR), ETIMEDOUT);
	to_rtr(&a, &a);
	rule("verb verb=query_qp n=1 fail=EAGAIN");
	REFUSED(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &qp_init), EAGAIN);
	SAME(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &qp_init), 0);
	rule("verb verb=create_srq n=1 fail=EACCES");
	REFUSED(ibv_create_srq(pd, &init), EACCES);
	srq = ibv_create_srq(pd, &init);
	CHECK(srq);
	rule("verb verb=modify_srq n=1 fail=EFAULT");
	REFUSED(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), EFAULT);
	SAME(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	rule("verb verb=create_ah n=1 fail=ENETUNREACH");
	av_to(&av, gid4, gid4);
	REFUSED(ibv_create_ah(pd, &av), ENETUNREACH);
	rule("verb verb=reg_mr n=2 pid=%d fail=ENOMEM", getpid());
	CHECK(ibv_reg_mr(pd, a.buf, 100, 0));
	REFUSED(ibv_reg_mr(pd, a.buf, 100, 0), ENOMEM);
	CHECK(ibv_reg_mr(pd, a.buf, 100, 0));
	rule("verb verb=alloc_mw n=1 fail=EPERM");
	REFUSED(ibv_alloc_mw(pd, IBV_MW_TYPE_1), EPERM);
	CHECK(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	rule("clear");
}

static const struct {
	const char *name;
	int error;
} errnos[] = {
#define ERRNO(_error) { #_error, _error }
	ERRNO(EACCES), ERRNO(EAGAIN), ERRNO(EBUSY), ERRNO(EFAULT), ERRNO(EINTR), ERRNO(EINVAL),
	ERRNO(EIO), ERRNO(EMFILE), ERRNO(ENETUNREACH), ERRNO(ENODEV), ERRNO(ENOENT),
	ERRNO(ENOMEM), ERRNO(ENOSPC), ERRNO(EOPNOTSUPP), ERRNO(EPERM), ERRNO(ETIMEDOUT),
};

/* each error that a rule can name, as the program gets it */
static void each_errno(void)
{
	struct ibv_cq *cq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errnos); i++) {
		rule("verb verb=create_cq n=1 fail=%s", errnos[i].name);
		REFUSED(ibv_create_cq(ctx, 4, NULL, NULL, 0), errnos[i].error);
		SAME(fired(), 1);
		cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
		CHECK(cq);
		SAME(ibv_destroy_cq(cq), 0);
		rule("clear");
	}
}

/* a group of the local network, and its LID on InfiniBand */
static int attach(struct end *e)
{
	const union ibv_gid group = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [15] = 9 } };
	const bool roce = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	const union ibv_gid mapped = {
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 239, 1, 2, 9 },
	};

	return ibv_attach_mcast(e->qp, roce ? &mapped : &group, roce ? 0 : 0xc009);
}

/* the device opened once more, a region that changes, a group: with and without the rule */
static void more_verbs(void)
{
	struct ibv_context *other;
	struct ibv_mr *mr;

	make(&a, CONF(.type = IBV_QPT_UD));
	to_ready(&a);
	rule("verb verb=alloc_ucontext n=1 fail=EACCES");
	REFUSED(ibv_open_device(ctx->device), EACCES);
	other = ibv_open_device(ctx->device);
	CHECK(other);
	SAME(ibv_close_device(other), 0);
	mr = ibv_reg_mr(pd, a.buf, 100, 0);
	CHECK(mr);
	rule("verb verb=rereg_mr n=1 fail=EAGAIN");
	errno = 0;
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	     IBV_REREG_MR_ERR_CMD);
	SAME(errno, EAGAIN);
	SAME(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
	     0);
	rule("verb verb=attach_mcast qp=%u n=1 fail=ENOSPC", a.qp->qp_num);
	SAME(attach(&a), ENOSPC);
	rule("clear");
	/* the verb does more than one thing, and what it has done so far is undone */
	rule("alloc name=group comm=inject n=1 fail=ENOMEM");
	SAME(attach(&a), ENOMEM);
	SAME(fired(), 1);
	SAME(attach(&a), 0);
	rule("clear");
}

/* of modify_qp a rule can be for one state */
static void each_state(void)
{
	static const struct {
		const char *name;
		enum ibv_qp_state state;
	} states[] = {
		{ "INIT", IBV_QPS_INIT }, { "RTR", IBV_QPS_RTR }, { "RTS", IBV_QPS_RTS },
		{ "SQD", IBV_QPS_SQD }, { "ERR", IBV_QPS_ERR }, { "RESET", IBV_QPS_RESET },
	};
	struct ibv_qp_attr attr;
	size_t i, j;
	int mask;

	make(&a, CONF());
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		for (j = 0; j < ARRAY_SIZE(states); j++)
			rule("verb verb=modify_qp state=%s n=1 fail=%s", states[j].name,
			     j == i ? "ETIMEDOUT" : "EIO");
		attr = step_attr(&a, states[i].state == IBV_QPS_RTR ? &a : NULL, states[i].state);
		mask = step_mask(&a, states[i].state);
		SAME(ibv_modify_qp(a.qp, &attr, mask), ETIMEDOUT);
		SAME(ibv_modify_qp(a.qp, &attr, mask), 0);
		rule("clear");
	}
}

/* A responder without memory for its answers drops the READ or atomic, which comes again. */
static void no_replay(void)
{
	const bool packets = packets_forced();

	make_pair(&a, &b, CONF(.timeout = 12));
	rule("alloc name=replay comm=inject times=2 fail=ENOMEM");
	fill(b.buf, 3000, 5);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_READ, 0, 3000), &b, 0));
	expect_ok(a.scq, 1);
	check_filled(a.buf, 3000, 5);
	/* the local link keeps no answers, as none is lost */
	SAME(fired(), packets ? 2 : 0);
	unmake_both(&a, &b);
	make_pair(&a, &b, CONF(.timeout = 12));
	rule("alloc name=replay comm=inject n=1 fail=ENOMEM");
	*(uint64_t *)b.buf = 5;
	post(&a, at(swr(&a, 2, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8), &b, 0));
	expect_ok(a.scq, 2);
	SAME(*(uint64_t *)a.buf, 5);
	SAME(fired(), packets ? 1 : 0);
	rule("clear");
}

/* rules of verbs, CQs and allocations have a time, too */
static void each_time(void)
{
	static const char *const rules[] = {
		"verb verb=create_cq after=%s fail=ENOSPC", "verb verb=create_cq for=%s fail=ENOSPC",
		"alloc name=ring after=%s fail=ENOMEM", "alloc name=ring for=%s fail=ENOMEM",
	};
	struct ibv_cq *cq;
	bool within;
	size_t i;
	int j;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		within = strstr(rules[i], "for");
		for (j = 0; j < 2; j++) {
			/* the time is over, or has hardly begun */
			rule(rules[i], j ? "50s" : "10ms");
			sleep_ms(j ? 0 : 30);
			errno = 0;
			cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
			SAME(!cq, within == !!j);
			SAME(fired(), within == !!j);
			if (cq)
				SAME(ibv_destroy_cq(cq), 0);
			rule("clear");
		}
	}
}

static const struct {
	const char *name;
	enum ibv_event_type type;
} events[] = {
	{ "QP_FATAL", IBV_EVENT_QP_FATAL }, { "QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR },
	{ "QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR }, { "COMM_EST", IBV_EVENT_COMM_EST },
	{ "SQ_DRAINED", IBV_EVENT_SQ_DRAINED }, { "PATH_MIG", IBV_EVENT_PATH_MIG },
	{ "PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR },
	{ "QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED },
}, port_events[] = {
	{ "DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL }, { "PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE },
	{ "PORT_ERR", IBV_EVENT_PORT_ERR }, { "LID_CHANGE", IBV_EVENT_LID_CHANGE },
	{ "PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE }, { "SM_CHANGE", IBV_EVENT_SM_CHANGE },
	{ "CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER },
};

/* of the send CQ of a QP, and of its SRQ, if it has one */
static void expect_queue_events(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	char answer[4096], line[128];
	struct end c;

	CHECK(srq);
	rule("event CQ_ERR qp=%u", a.qp->qp_num);
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	snprintf(line, sizeof(line), "%s event SRQ_ERR qp=%u", device_name(), a.qp->qp_num);
	SAME(command(line, strlen(line), answer, sizeof(answer)), ENOENT);

	make(&c, CONF(.srq = srq));
	connect_ends(&c, &c);
	rule("event SRQ_LIMIT_REACHED qp=%u", c.qp->qp_num);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	rule("event SRQ_ERR qp=%u", c.qp->qp_num);
	expect_event(IBV_EVENT_SRQ_ERR, srq);
	unmake(&c);
	SAME(ibv_destroy_srq(srq), 0);
}

/* events change nothing */
static void each_event(void)
{
	char answer[4096], line[128];
	size_t i;

	make_pair(&a, &b, CONF());
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		rule("event %s qp=%u", events[i].name, a.qp->qp_num);
		expect_event(events[i].type, a.qp);
	}
	for (i = 0; i < ARRAY_SIZE(port_events); i++) {
		rule("event %s", port_events[i].name);
		expect_event(port_events[i].type, NULL);
	}
	expect_state(&a, IBV_QPS_RTS);
	check_works(&a, &b);
	expect_queue_events();
	unmake(&b);
	make(&b, CONF());
	snprintf(line, sizeof(line), "%s event QP_FATAL qp=%u", device_name(), b.qp->qp_num);
	SAME(command(line, strlen(line), answer, sizeof(answer)), EINVAL);
	CHECK(!strcmp(answer + strlen("line 1, column 22: "), "the QP is in RESET or INIT\n"));
}

static const struct {
	const char *text, *answer;
	int error;
} refusals[] = {
	{ "nobody9 packet drop", "line 1, column 1: no such weft device\n", ENODEV },
	{ "@ packet drop\n\n# x\n  @ packet dorp", "line 4, column 16: no such word in a rule\n",
	  EINVAL },
	{ "@", "line 1, column 6: no rule\n", EINVAL },
	{ "@ clear 0", "line 1, column 13: not a number of a rule\n", EINVAL },
	{ "@ clear 999999", "line 1, column 7: no such rule\n", ENOENT },
	{ "@ event NOTHING", "line 1, column 13: no such event\n", EINVAL },
	{ "@ event QP_FATAL", "line 1, column 22: the event needs qp=NUMBER\n", EINVAL },
	{ "@ event QP_FATAL qp=0xfffffe",
	  "line 1, column 22: no such QP here, or it has no such queue\n", ENOENT },
	{ "@ port sideways", "line 1, column 12: a port goes up or down\n", EINVAL },
	{ "@ release 5", "line 1, column 15: release has no argument\n", EINVAL },
	{ "@ port flap 5ms", "line 1, column 7: a time is a number and us, ms or s\n", EINVAL },
	{ "@ port flap 5ms 6ms 0",
	  "line 1, column 7: flap needs a time down, a time up, and from 1 to 1000 times\n", EINVAL },
	{ "@ event PORT_ERR qp=5", "line 1, column 22: the event is one of the port\n", EINVAL },
};

/* "@" is the device's name, which has 5 letters */
static void put_name(const char *text, char *line, size_t size)
{
	size_t at = 0;

	for (; *text && at < size - 10; text++)
		if (*text == '@')
			at += snprintf(line + at, size - at, "%s", device_name());
		else
			line[at++] = *text;
	line[at] = '\0';
}

/* what is refused says why and where, and nothing of it stays */
static void refused_texts(void)
{
	char line[256], answer[4096], *much = memory(70000);
	int i;

	SAME(strlen(device_name()), 5);
	for (i = 0; i < (int)ARRAY_SIZE(refusals); i++) {
		put_name(refusals[i].text, line, sizeof(line));
		note("%s", line);
		SAME(command(line, strlen(line), answer, sizeof(answer)), refusals[i].error);
		if (strcmp(answer, refusals[i].answer))
			FAIL("it said: %s", answer);
	}
	memset(much, '#', 65537);
	SAME(command(much, 65537, answer, sizeof(answer)), E2BIG);
	SAME(command("", 0, answer, sizeof(answer)), 0);
	CHECK(!answer[0]);
	for (i = 0; i < 256; i++)
		rule("packet qp=%d drop", i);
	put_name("@ packet drop", line, sizeof(line));
	SAME(command(line, strlen(line), answer, sizeof(answer)), ENOSPC);
	rule("clear 256");
	rule("packet drop");
	rule("clear");
	rule("clear");
}

/* anything at all: it is taken or refused, and the device still works */
static void random_texts(void)
{
	static const char *const words[] = {
		"@", "packet", "request", "verb", "event", "clear", "qp=", "1", "0", "drop", "=",
		"delay=", "5ms", "complete=", "GENERAL_ERR", "fail=", "ENOMEM", "verb=", "reg_mr",
		"n=", "chance=", "0.5", "\n", " ", "#", "QP_FATAL", "PORT_ERR", "\xff", "\t",
		"release", "peer=", "::1", "10.9.0.1", "after=", "for=", "port", "up", "hold",
		"truncate=", "dir=", "out", "set=", "psn:", "rkey:", "opcode=", "send", "rnr=",
		"cq-overrun", "CQ_ERR", "cq", "cqn=", "lose-event", "ce", "alloc", "name=",
		"bad-icrc", "nak=", "duplicate", "cnp", "fecn:1", "pkey:", "dest-qp:",
		"create_wq", "late=", "jitter=", "rate=", "1mbit", "reorder", "message=",
		"flap 1ms", "receive", "path=armed",
	};
	const char *seed = getenv("WEFT_SEED");
	unsigned int state = seed && *seed ? atoi(seed) : (unsigned int)time(NULL);
	int i, num = repeat(RANDOM_TEXTS / 10, RANDOM_TEXTS), taken = 0, error;
	char text[256], line[512], answer[70000];

	printf("seed %u\n", state);
	srand(state);
	for (i = 0; i < num; i++) {
		int n = rand() % 14, length;

		text[0] = '\0';
		while (n--) {
			strcat(text, words[rand() % ARRAY_SIZE(words)]);
			strcat(text, rand() % 2 ? " " : "");
		}
		put_name(text, line, sizeof(line));
		length = strlen(line);
		if (length && rand() % 4 == 0)
			line[rand() % length] = rand();
		error = command(line, length, answer, sizeof(answer));
		CHECK(error == 0 || error == EINVAL || error == ENODEV || error == ENOENT ||
		      error == ENOSPC || error == EOPNOTSUPP);
		taken += !error;
		CHECK(!error || !strncmp(answer, "line ", 5));
		if (i % 50 == 0)
			rule("clear");
	}
	CHECK(taken);
	rule("clear");
	make_pair(&a, &b, CONF());
	check_works(&a, &b);
}

/* rules come and go while requests look at them */
static void rules_change(void)
{
	int i, pid;

	make_pair(&a, &b, CONF());
	pid = fork();
	if (!pid) {
		/* also if the other one fails */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			rule("request qp=%u bytes=5000- complete=GENERAL_ERR\n%s packet n=1 drop",
			     a.qp->qp_num, device_name());
			rule("clear");
			/* a packet that is repeated is the first again, and must not be lost each time */
			usleep(1000);
		}
	}
	for (i = 0; i < repeat(2000, 20000); i++) {
		post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		expect_ok(a.scq, i);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rule("clear");
}

/* the CQ is as full as can be: its QPs end, and it says so */
static void overrun(void)
{
	make_pair(&a, &b, CONF());
	rule("request qp=%u n=2 cq-overrun", a.qp->qp_num);
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 1);
	post(&a, at(swr(&a, 2, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_event(IBV_EVENT_CQ_ERR, a.scq);
	expect_event(IBV_EVENT_QP_FATAL, a.qp);
	expect_state(&a, IBV_QPS_ERR);
	expect_state(&b, IBV_QPS_RTS);
	rule("clear");
}

static bool has_event(struct ibv_comp_channel *channel, struct ibv_cq *expected, int ms)
{
	struct ibv_cq *cq;
	void *context;

	if (!poll(&(struct pollfd){ .fd = channel->fd, .events = POLLIN }, 1, ms))
		return false;
	SAME(ibv_get_cq_event(channel, &cq, &context), 0);
	CHECK(cq == expected);
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* a completion comes without its event, the next one has one again; also with moderation */
static void lost_events(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_modify_cq_attr later = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 10, .cq_period = 5000 },
	};
	int i, moderated;

	CHECK(channel);
	make_pair(&a, &b, CONF(.channel = channel));
	for (moderated = 0; moderated < 2; moderated++) {
		rule("cq comm=inject n=2 lose-event");
		for (i = 1; i <= 3; i++) {
			SAME(ibv_req_notify_cq(a.scq, 0), 0);
			post(&a, at(swr(&a, i, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
			SAME(has_event(channel, a.scq, i == 2 ? 200 : 10000), i != 2);
			expect_ok(a.scq, i);
		}
		SAME(fired(), 1);
		rule("clear");
		SAME(ibv_modify_cq(a.scq, &later), 0);
	}
	for (i = 0; i < 2; i++) {
		rule("cq comm=inject %s lose-event", i ? "for=50s" : "after=50s");
		SAME(ibv_req_notify_cq(a.scq, 0), 0);
		post(&a, at(swr(&a, 5, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
		SAME(has_event(channel, a.scq, i ? 200 : 10000), !i);
		expect_ok(a.scq, 5);
		SAME(fired(), i);
		rule("clear");
	}
	/* without a request for an event there is none to lose */
	rule("cq comm=inject lose-event");
	post(&a, at(swr(&a, 4, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	expect_ok(a.scq, 4);
	SAME(fired(), 0);
	unmake_both(&a, &b);
	SAME(ibv_destroy_comp_channel(channel), 0);
}

/* until the device is removed: rules are in place, a request is delayed */
static void removed(void)
{
	if (!getenv("REMOVAL"))
		return;
	make_pair(&a, &b, CONF());
	rule("request qp=%u delay=50s", a.qp->qp_num);
	rule("packet delay=50s");
	post(&a, at(swr(&a, 1, IBV_WR_RDMA_WRITE, 0, 100), &b, 0));
	printf("running\n");
	fflush(stdout);
	expect_wc(a.scq, 1, IBV_WC_FATAL_ERR);
}

TESTS(
	TEST(each_status), TEST(send_queue_error), TEST(what_matches), TEST(delayed_requests),
	TEST(each_verb), TEST(each_errno), TEST(more_verbs), TEST(each_state), TEST(each_time),
	TEST(no_replay), TEST(each_event), TEST(refused_texts), TEST(random_texts),
	TEST(rules_change), TEST(lost_packets), TEST(lost_retries), TEST(twice_and_late),
	TEST(bad_data), TEST(each_nak), TEST(refused_requests), TEST(held_packets),
	TEST(changed_fields), TEST(changed_datagrams), TEST(solicited_and_asked),
	TEST(peers_and_times), TEST(request_opcodes), TEST(packet_opcodes), TEST(packet_matches),
	TEST(unreliable_matches), TEST(xrc_matches), TEST(message_matches),
	TEST(leaving_packets), TEST(port_down), TEST(overrun), TEST(lost_events),
	TEST(marked_packets), TEST(removed), TEST(random_rules), TEST(rarer_verbs),
	TEST(raw_verbs), TEST(refused_posts), TEST(answered_by_cnps), TEST(changed_bth),
	TEST(late_completions), TEST(many_late_completions), TEST(late_and_full), TEST(too_many_held), TEST(no_packet),
	TEST(slow_links), TEST(messages), TEST(port_flaps),
	TEST(waiting_figures), TEST(refused_cnps), TEST(received_statuses),
	TEST(unreliable_receives), TEST(matched_receives), TEST(srq_receives), TEST(xrc_receives),
	TEST(xrc_broken_messages),
	TEST(refused_receives), TEST(device_fatal), TEST(fatal_races), TEST(refused_fatals),
	TEST(wq_fatal_event), TEST(speed_event), TEST(named_rules),
	TEST(refused_xrc_posts), TEST(refused_tag_posts), TEST(refused_imported_posts),
	TEST(refused_forked_posts), TEST(removed_posts)
)
