// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: one connection to all SRQs of a process.
 */
#include "lib.h"

#include <fcntl.h>
#include <poll.h>

#define XRCD_FILE	"/tmp/weft-xrcd"

/* how both ends of a connection are connected */
#define PSN_INI		0xfffffa
#define PSN_TGT		7

static struct ibv_xrcd *xrcd;
static struct ibv_qp *ini, *tgt;
static struct ibv_cq *scq;
static uint8_t *from;			/* memory of the initiator */
static struct ibv_mr *from_mr;

/* what QPs and CQs are made with, and connected */
static struct {
	uint64_t ops;			/* of the initiator, beside SEND */
	uint32_t create_flags;
	int access;			/* beside ACCESS_ALL */
	uint8_t rnr_retry;
	uint8_t timeout, retry_cnt;
	struct ibv_comp_channel *channel;	/* of SRQs' CQs */
} conf = { .rnr_retry = 7, .timeout = 17, .retry_cnt = 7 };

/* an SRQ with a CQ, a PD and memory of its own */
struct sink {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	uint32_t num;
	uint8_t *buf;
	struct ibv_mr *mr;
};

static struct ibv_xrcd *open_domain(const char *path, int oflags)
{
	int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = oflags,
	};
	struct ibv_xrcd *domain = ibv_open_xrcd(ctx, &attr);

	CHECK(domain);
	return domain;
}

static struct ibv_srq_init_attr_ex srq_attr(struct sink *sink, struct ibv_xrcd *domain)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { .max_wr = 16, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = sink->pd,
		.xrcd = domain,
		.cq = sink->cq,
	};
}

static void make_sink(struct sink *sink, struct ibv_xrcd *domain)
{
	struct ibv_srq_init_attr_ex attr;

	sink->pd = ibv_alloc_pd(ctx);
	CHECK(sink->pd);
	sink->cq = ibv_create_cq(ctx, 64, NULL, conf.channel, 0);
	CHECK(sink->cq);
	attr = srq_attr(sink, domain);
	sink->srq = ibv_create_srq_ex(ctx, &attr);
	CHECK(sink->srq);
	CHECK(attr.attr.max_wr >= 16);
	SAME(ibv_get_srq_num(sink->srq, &sink->num), 0);
	CHECK(sink->num);
	sink->buf = memory(BUF);
	sink->mr = ibv_reg_mr(sink->pd, sink->buf, BUF, ACCESS_ALL);
	CHECK(sink->mr);
}

static void sink_post(struct sink *sink, uint64_t id, size_t off, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)sink->buf + off, length, sink->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_srq_recv(sink->srq, &wr, &bad), 0);
}

static void set_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = ACCESS_ALL | conf.access,
	};

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS), 0);
}

static void set_rtr(struct ibv_qp *qp, uint32_t dest, uint32_t psn, int more)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port.active_mtu,
		.dest_qp_num = dest,
		.rq_psn = psn,
		.min_rnr_timer = 12,
		.max_dest_rd_atomic = 4,
	};

	av_to(&attr.ah_attr, gid4, gid4);
	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | more), 0);
}

static void set_rts(struct ibv_qp *qp, uint32_t psn, int more)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = psn,
		.timeout = conf.timeout,
		.retry_cnt = conf.retry_cnt,
		.rnr_retry = conf.rnr_retry,
		.max_rd_atomic = 4,
	};

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | more), 0);
}

static struct ibv_qp *make_target(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.xrcd = xrcd,
		.create_flags = conf.create_flags,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

	CHECK(qp);
	return qp;
}

static struct ibv_qp *make_initiator(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.send_cq = scq,
		.cap = { .max_send_wr = 16, .max_send_sge = 2 },
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_LOCAL_INV | conf.ops,
		.create_flags = conf.create_flags,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(ctx, &attr);

	CHECK(qp);
	SAME(attr.cap.max_recv_wr, 0);
	return qp;
}

static void set_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* a target works in RTR as well as in RTS */
static void connect_to_rtr(void)
{
	set_init(ini);
	set_init(tgt);
	set_rtr(ini, tgt->qp_num, PSN_TGT, 0);
	set_rtr(tgt, ini->qp_num, PSN_INI, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	set_rts(ini, PSN_INI, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void connect_pair(void)
{
	connect_to_rtr();
	set_rts(tgt, PSN_TGT, 0);
}

static void make_unconnected(void)
{
	scq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	CHECK(scq);
	from = memory(BUF);
	from_mr = ibv_reg_mr(pd, from, BUF, ACCESS_ALL);
	CHECK(from_mr);
	ini = make_initiator();
	tgt = make_target();
}

static void make_connected(void)
{
	xrcd = open_domain(NULL, O_CREAT);
	make_unconnected();
	connect_pair();
}

static int try_send(struct ibv_qp *qp, uint32_t srqn, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret;

	wr->send_flags |= IBV_SEND_SIGNALED;
	wr->qp_type.xrc.remote_srqn = srqn;
	ret = ibv_post_send(qp, wr, &bad);
	if (ret)
		CHECK(bad == wr);
	return ret;
}

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge, uint64_t id)
{
	return (struct ibv_send_wr){
		.wr_id = id, .opcode = opcode, .sg_list = sge, .num_sge = 1,
		.imm_data = htobe32(0x12345678),
	};
}

static void send_to(uint32_t srqn, enum ibv_wr_opcode opcode, size_t off, uint32_t length,
		    uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)from + off, length, from_mr->lkey };
	struct ibv_send_wr wr = request(opcode, &sge, id);

	SAME(try_send(ini, srqn, &wr), 0);
}

static void rdma_to(struct sink *sink, uint32_t srqn, enum ibv_wr_opcode opcode, size_t off,
		    uint32_t length, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)from + off, length, from_mr->lkey };
	struct ibv_send_wr wr = request(opcode, &sge, id);

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)sink->buf + off;
		wr.wr.atomic.rkey = sink->mr->rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 99;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)sink->buf + off;
		wr.wr.rdma.rkey = sink->mr->rkey;
	}
	SAME(try_send(ini, srqn, &wr), 0);
}

static void expect_received(struct sink *sink, uint64_t id, uint32_t length, int flags)
{
	struct ibv_wc wc = expect_ok(sink->cq, id);

	SAME(wc.byte_len, length);
	SAME(wc.wc_flags, flags);
	SAME(wc.qp_num, tgt->qp_num);
	if (flags & IBV_WC_WITH_IMM)
		SAME(be32toh(wc.imm_data), 0x12345678);
}

/* a connection, many SRQs: each message goes where its number says */
static void sends_by_number(void)
{
	struct sink sink[3] = {};
	int i;

	make_connected();
	fill(from, BUF, 1);
	for (i = 0; i < 3; i++) {
		make_sink(&sink[i], xrcd);
		sink_post(&sink[i], 10 + i, 0, 20000);
		sink_post(&sink[i], 20 + i, 20000, 20000);
	}
	CHECK(sink[0].num != sink[1].num && sink[1].num != sink[2].num);
	for (i = 2; i >= 0; i--)
		send_to(sink[i].num, IBV_WR_SEND, 0, 64 + i, i);
	for (i = 2; i >= 0; i--) {
		expect_ok(scq, i);
		expect_received(&sink[i], 10 + i, 64 + i, 0);
		check_filled(sink[i].buf, 64 + i, 1);
		check_zero(sink[i].buf + 64 + i, 100);
	}
	/* in several packets, with immediate data */
	for (i = 0; i < 3; i++)
		send_to(sink[i].num, IBV_WR_SEND_WITH_IMM, 0, 20000 - i, 30 + i);
	for (i = 0; i < 3; i++) {
		expect_ok(scq, 30 + i);
		expect_received(&sink[i], 20 + i, 20000 - i, IBV_WC_WITH_IMM);
		check_filled(sink[i].buf + 20000, 20000 - i, 1);
		expect_no_wc_now(sink[i].cq);
	}
}

/* memory that is none, at both ends */
static void null_regions(void)
{
	struct ibv_recv_wr wr = { .wr_id = 10, .num_sge = 1 }, *bad;
	struct ibv_mr *null, *real;
	struct sink sink = {};
	struct ibv_sge sge;

	make_connected();
	make_sink(&sink, xrcd);
	null = ibv_alloc_null_mr(sink.pd);
	CHECK(null);
	sge = (struct ibv_sge){ .length = 20000, .lkey = null->lkey };
	wr.sg_list = &sge;
	SAME(ibv_post_srq_recv(sink.srq, &wr, &bad), 0);
	send_to(sink.num, IBV_WR_SEND, 0, 20000, 1);
	expect_ok(scq, 1);
	expect_received(&sink, 10, 20000, 0);
	/* and back, by another key: zeros */
	real = from_mr;
	from_mr = null;
	fill(sink.buf, BUF, 1);
	rdma_to(&sink, sink.num, IBV_WR_RDMA_WRITE, 0, 20000, 2);
	expect_ok(scq, 2);
	check_zero(sink.buf, 20000);
	from_mr = real;
	SAME(ibv_dereg_mr(null), 0);
}

/* what has no receive, too: whose memory it is says the SRQ */
static void rdma_and_atomics(void)
{
	struct sink sink = {}, other = {};
	uint64_t *word;

	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&other, xrcd);
	fill(from, BUF, 2);
	rdma_to(&sink, sink.num, IBV_WR_RDMA_WRITE, 8, 10000, 1);
	expect_ok(scq, 1);
	fill(sink.buf + 20000, 10000, 3);
	rdma_to(&sink, sink.num, IBV_WR_RDMA_READ, 20000, 10000, 2);
	expect_ok(scq, 2);
	check_filled(from + 20000, 10000, 3);
	SAME(memcmp(sink.buf + 8, from + 8, 10000), 0);

	word = (uint64_t *)(sink.buf + 40000);
	*word = 5;
	rdma_to(&sink, sink.num, IBV_WR_ATOMIC_CMP_AND_SWP, 40000, 8, 3);
	expect_ok(scq, 3);
	SAME(*(uint64_t *)(from + 40000), 5);
	SAME(*word, 99);
	rdma_to(&sink, sink.num, IBV_WR_ATOMIC_FETCH_AND_ADD, 40000, 8, 4);
	expect_ok(scq, 4);
	SAME(*(uint64_t *)(from + 40000), 99);
	SAME(*word, 104);

	sink_post(&sink, 77, 0, 100);
	rdma_to(&sink, sink.num, IBV_WR_RDMA_WRITE_WITH_IMM, 50000, 3000, 5);
	expect_ok(scq, 5);
	SAME(expect_ok(sink.cq, 77).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	SAME(memcmp(sink.buf + 50000, from + 50000, 3000), 0);

	/* the key of one, the number of another: not its protection domain */
	rdma_to(&sink, other.num, IBV_WR_RDMA_WRITE, 100, 100, 6);
	expect_wc(scq, 6, IBV_WC_REM_ACCESS_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, tgt);
}

/* an empty SRQ is waited for, as on RC */
static void not_ready(void)
{
	struct sink sink = {}, full = {};

	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&full, xrcd);
	sink_post(&full, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 1);
	expect_no_wc(scq);
	sink_post(&sink, 2, 0, 100);
	expect_ok(scq, 1);
	expect_received(&sink, 2, 50, 0);
	expect_no_wc_now(full.cq);
}

static void expect_invalid(uint32_t srqn)
{
	struct ibv_wc wc;

	send_to(srqn, IBV_WR_SEND, 0, 50, 1);
	wc = expect_wc(scq, 1, IBV_WC_REM_INV_REQ_ERR);
	SAME(wc.vendor_err, packets_forced() ? 21 : 27);
	expect_event(IBV_EVENT_QP_REQ_ERR, tgt);
}

static void unknown_number(void)
{
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	expect_invalid(sink.num + 1000);
	expect_no_wc(sink.cq);
	check_zero(sink.buf, 100);
}

static void other_domain(void)
{
	struct sink sink = {};

	make_connected();
	make_sink(&sink, open_domain(NULL, O_CREAT));
	sink_post(&sink, 1, 0, 100);
	expect_invalid(sink.num);
	expect_no_wc(sink.cq);
	check_zero(sink.buf, 100);
}

static void destroyed_srq(void)
{
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 9);
	expect_ok(scq, 9);
	/* an SRQ holds its domain, nothing holds an SRQ */
	REFUSED(ibv_close_xrcd(xrcd), EBUSY);
	SAME(ibv_destroy_srq(sink.srq), 0);
	expect_ok(sink.cq, 1);
	expect_invalid(sink.num);
	SAME(ibv_destroy_cq(sink.cq), 0);
}

/* memory that nobody has touched, in a paged region, takes the place of the sink's */
static void make_paged(struct sink *sink)
{
	SAME(ibv_dereg_mr(sink->mr), 0);
	sink->buf = memory(BUF);
	sink->mr = ibv_reg_mr(sink->pd, sink->buf, BUF, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(sink->mr);
}

static void paged(void)
{
	struct sink sink = {}, other = {};

	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&other, xrcd);
	make_paged(&sink);
	make_paged(&other);
	fill(from, BUF, 1);
	sink_post(&sink, 10, 0, 20000);
	sink_post(&other, 11, 0, 20000);
	send_to(sink.num, IBV_WR_SEND, 0, 20000, 1);
	send_to(other.num, IBV_WR_SEND_WITH_IMM, 0, 100, 2);
	expect_ok(scq, 1);
	expect_ok(scq, 2);
	expect_received(&sink, 10, 20000, 0);
	expect_received(&other, 11, 100, IBV_WC_WITH_IMM);
	check_filled(sink.buf, 20000, 1);
	check_filled(other.buf, 100, 1);
	rdma_to(&other, other.num, IBV_WR_RDMA_WRITE, 40000, 5000, 3);
	expect_ok(scq, 3);
	SAME(memcmp(other.buf + 40000, from + 40000, 5000), 0);
	rdma_to(&sink, sink.num, IBV_WR_RDMA_READ, 30000, 10000, 4);
	expect_ok(scq, 4);
	check_zero(from + 30000, 10000);
}

/* a message that waits for its pages keeps no SRQ, and does not get it when they come */
static void paged_destroyed_srq(void)
{
	struct sink sink = {};
	int fd;

	make_connected();
	make_sink(&sink, xrcd);
	make_paged(&sink);
	fd = uffd_hold(sink.buf, BUF);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 9);
	expect_no_wc(scq);
	SAME(ibv_destroy_srq(sink.srq), 0);
	uffd_answer(fd, sink.buf, BUF);
	expect_wc(scq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_event(IBV_EVENT_QP_REQ_ERR, tgt);
	expect_no_wc(sink.cq);
	check_zero(sink.buf, BUF);
	close(fd);
}

/* too long for the receive of the SRQ: said to both sides */
static void too_long(void)
{
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 5000, 1);
	expect_wc(scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(sink.cq, 1, IBV_WC_LOC_LEN_ERR);
	check_zero(sink.buf + 100, 5000);
}

/* the first message tells who is not in RTS yet that there is a peer, once */
static void communication_established(void)
{
	struct sink sink = {};

	xrcd = open_domain(NULL, O_CREAT);
	make_unconnected();
	connect_to_rtr();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	sink_post(&sink, 2, 0, 100);
	expect_no_event();
	send_to(sink.num, IBV_WR_SEND, 0, 50, 3);
	expect_ok(scq, 3);
	expect_received(&sink, 1, 50, 0);
	expect_event(IBV_EVENT_COMM_EST, tgt);
	send_to(sink.num, IBV_WR_SEND, 0, 60, 4);
	expect_ok(scq, 4);
	expect_received(&sink, 2, 60, 0);
	expect_no_event();
	set_rts(tgt, PSN_TGT, 0);
	sink_post(&sink, 5, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 70, 6);
	expect_ok(scq, 6);
	expect_received(&sink, 5, 70, 0);
	expect_no_event();
}

static void rnr_exceeded(void)
{
	struct sink sink = {};

	conf.rnr_retry = 1;
	make_connected();
	make_sink(&sink, xrcd);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 1);
	expect_wc(scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_no_wc_now(sink.cq);
}

static void retries_exceeded(void)
{
	struct sink sink = {};

	conf.timeout = 12;
	conf.retry_cnt = 2;
	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 2, 0, 100);
	set_err(tgt);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 1);
	expect_wc(scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_no_wc_now(sink.cq);
}

/* what is solicited notifies, at the CQ of the SRQ that it is for */
static void solicited(void)
{
	struct ibv_send_wr wr = {
		.wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SOLICITED,
	};
	struct sink sink = {}, other = {};
	struct pollfd fd = { .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	conf.channel = ibv_create_comp_channel(ctx);
	CHECK(conf.channel);
	fd.fd = conf.channel->fd;
	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&other, xrcd);
	SAME(ibv_req_notify_cq(sink.cq, 1), 0);
	SAME(ibv_req_notify_cq(other.cq, 1), 0);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 1);
	expect_received(&sink, 1, 50, 0);
	SAME(poll(&fd, 1, QUIET_MS), 0);
	sink_post(&sink, 2, 0, 100);
	SAME(try_send(ini, sink.num, &wr), 0);
	expect_received(&sink, 2, 0, 0);
	SAME(poll(&fd, 1, WAIT_MS), 1);
	SAME(ibv_get_cq_event(conf.channel, &cq, &context), 0);
	CHECK(cq == sink.cq);
	ibv_ack_cq_events(cq, 1);
	SAME(poll(&fd, 1, QUIET_MS), 0);
}

/* of an SRQ that is several connections' */
static void limit(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct sink sink = {};
	int i;

	make_connected();
	make_sink(&sink, xrcd);
	for (i = 0; i < 4; i++)
		sink_post(&sink, i, 0, 100);
	SAME(ibv_modify_srq(sink.srq, &attr, IBV_SRQ_LIMIT), 0);
	SAME(ibv_query_srq(sink.srq, &attr), 0);
	SAME(attr.srq_limit, 2);
	for (i = 0; i < 2; i++) {
		send_to(sink.num, IBV_WR_SEND, 0, 50, i);
		expect_ok(scq, i);
	}
	expect_no_event();
	send_to(sink.num, IBV_WR_SEND, 0, 50, 2);
	expect_ok(scq, 2);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, sink.srq);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 3);
	expect_ok(scq, 3);
	expect_no_event();
	SAME(ibv_query_srq(sink.srq, &attr), 0);
	SAME(attr.srq_limit, 0);
}

/* the CQ of the SRQ overruns: it is the target that has nowhere to complete to */
static void overrun(void)
{
	struct sink sink = {};
	struct ibv_wc wc;
	int i;

	make_connected();
	make_sink(&sink, xrcd);
	SAME(ibv_resize_cq(sink.cq, 4), 0);
	for (i = 0; i < 6; i++)
		sink_post(&sink, i, 0, 100);
	for (i = 0; i < 6; i++)
		send_to(sink.num, IBV_WR_SEND, 0, 50, i);
	expect_event(IBV_EVENT_CQ_ERR, sink.cq);
	expect_event(IBV_EVENT_QP_FATAL, tgt);
	expect_no_event();
	for (i = 0; i < 4; i++)
		expect_received(&sink, i, 50, 0);
	CHECK(ibv_poll_cq(sink.cq, 1, &wc) < 0);
}

#define CAP_ATOMIC_WRITE	(1ULL << 40)	/* in device_cap_flags_ex */

/* FLUSH and ATOMIC WRITE, where the device has them: the SRQ says whose memory it is */
static void placement(void)
{
	struct ibv_device_attr_ex attr;
	uint64_t value = 0x1122334455667788;
	struct sink sink = {};
	struct ibv_qp_ex *ex;

	SAME(ibv_query_device_ex(ctx, NULL, &attr), 0);
	if (!(attr.device_cap_flags_ex & CAP_ATOMIC_WRITE))
		return;
	conf.ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE;
	conf.access = IBV_ACCESS_FLUSH_GLOBAL;
	make_connected();
	make_sink(&sink, xrcd);
	SAME(ibv_dereg_mr(sink.mr), 0);
	sink.mr = ibv_reg_mr(sink.pd, sink.buf, BUF, ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL);
	CHECK(sink.mr);
	ex = ibv_qp_to_qp_ex(ini);

	/* without a number it is nobody's */
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(ex, sink.mr->rkey, (uintptr_t)sink.buf + 64, &value);
	REFUSED(ibv_wr_complete(ex), EINVAL);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_atomic_write(ex, sink.mr->rkey, (uintptr_t)sink.buf + 64, &value);
	ibv_wr_set_xrc_srqn(ex, sink.num);
	ex->wr_id = 2;
	ibv_wr_flush(ex, sink.mr->rkey, (uintptr_t)sink.buf, 4096, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_set_xrc_srqn(ex, sink.num);
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(scq, 1);
	expect_ok(scq, 2);
	SAME(*(uint64_t *)(sink.buf + 64), value);
	check_zero(sink.buf, 64);
	check_zero(sink.buf + 72, 64);
}

/* a hint about a bus that there is none of */
static void pci_write_end_padding(void)
{
	struct sink sink = {};

	conf.create_flags = IBV_QP_CREATE_PCI_WRITE_END_PADDING;
	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 2);
	expect_ok(scq, 2);
	expect_received(&sink, 1, 50, 0);
}

static void refused_creation(void)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_srq_init_attr_ex srq;
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	/* a target wants a domain, an initiator a PD */
	REFUSED(ibv_create_qp_ex(ctx, &attr) ? 0 : -1, EINVAL);
	attr.qp_type = IBV_QPT_XRC_SEND;
	attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
	attr.xrcd = xrcd;
	attr.send_cq = scq;
	REFUSED(ibv_create_qp_ex(ctx, &attr) ? 0 : -1, EINVAL);
	/* nothing can be posted to a target */
	attr.qp_type = IBV_QPT_XRC_RECV;
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	REFUSED(ibv_create_qp_ex(ctx, &attr) ? 0 : -1, EOPNOTSUPP);
	/* tag matching is another kind; a CQ is needed */
	srq = srq_attr(&sink, xrcd);
	srq.srq_type = IBV_SRQT_TM;
	REFUSED(ibv_create_srq_ex(ctx, &srq) ? 0 : -1, EOPNOTSUPP);
	srq = srq_attr(&sink, xrcd);
	srq.comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	REFUSED(ibv_create_srq_ex(ctx, &srq) ? 0 : -1, EINVAL);
	srq = srq_attr(&sink, xrcd);
	srq.attr.max_wr = 1 << 30;
	REFUSED(ibv_create_srq_ex(ctx, &srq) ? 0 : -1, EINVAL);
}

static void refused_posts(void)
{
	struct ibv_sge sge = { (uintptr_t)from, 8, 0 };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr;
	struct ibv_qp_ex *ex;
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	REFUSED(ibv_post_recv(ini, &recv, &bad), EINVAL);
	REFUSED(ibv_post_recv(tgt, &recv, &bad), EINVAL);
	wr = request(IBV_WR_SEND, &sge, 1);
	REFUSED(try_send(tgt, sink.num, &wr), EINVAL);

	/* by the other interface: a SEND without a destination */
	ex = ibv_qp_to_qp_ex(ini);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, from_mr->lkey, (uintptr_t)from, 8);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	expect_no_wc(scq);

	sink_post(&sink, 3, 0, 100);
	ibv_wr_start(ex);
	ex->wr_id = 4;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, sink.num);
	ibv_wr_set_sge(ex, from_mr->lkey, (uintptr_t)from, 8);
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(scq, 4);
	expect_received(&sink, 3, 8, 0);
}

/* each half wants its own attributes, no more */
static void attributes(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024 };
	struct ibv_qp_init_attr init;
	int common = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	xrcd = open_domain(NULL, O_CREAT);
	make_unconnected();
	set_init(ini);
	set_init(tgt);
	av_to(&attr.ah_attr, gid4, gid4);
	attr.dest_qp_num = 0x123456;
	REFUSED(ibv_modify_qp(tgt, &attr, common), EINVAL);
	/* the core takes away what is of the other half, but not this */
	REFUSED(ibv_modify_qp(ini, &attr, common | IBV_QP_QKEY), EINVAL);
	SAME(ibv_query_qp(tgt, &attr, IBV_QP_STATE, &init), 0);
	SAME(attr.qp_state, IBV_QPS_INIT);
	connect_pair();
	SAME(ibv_query_qp(ini, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN, &init), 0);
	SAME(attr.qp_state, IBV_QPS_RTS);
	SAME(attr.dest_qp_num, tgt->qp_num);
	SAME(init.qp_type, IBV_QPT_XRC_SEND);
	SAME(ibv_query_qp(tgt, &attr, IBV_QP_STATE | IBV_QP_DEST_QPN, &init), 0);
	SAME(attr.dest_qp_num, ini->qp_num);
	SAME(init.qp_type, IBV_QPT_XRC_RECV);
}

static void flushed(void)
{
	struct sink sink = {};

	make_connected();
	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 100);
	set_err(ini);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 1);
	expect_wc(scq, 1, IBV_WC_WR_FLUSH_ERR);
	/* what other connections may use stays */
	set_err(tgt);
	expect_no_wc(sink.cq);
}

/* the process that made the target goes, the target stays with who opened it */
static void target_outlives_its_maker(void)
{
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	int to_child[2], to_parent[2];
	struct sink sink = {};
	uint32_t qpn;
	char byte;

	unlink(XRCD_FILE);
	xrcd = open_domain(XRCD_FILE, O_CREAT);
	CHECK(!pipe(to_child) && !pipe(to_parent));
	if (!fork()) {
		open_device();
		xrcd = open_domain(XRCD_FILE, O_CREAT);
		qpn = make_target()->qp_num;
		CHECK(write(to_parent[1], &qpn, sizeof(qpn)) == sizeof(qpn));
		CHECK(read(to_child[0], &byte, 1) == 1);
		_exit(0);
	}
	CHECK(read(to_parent[0], &qpn, sizeof(qpn)) == sizeof(qpn));
	open_attr.xrcd = xrcd;
	open_attr.qp_num = qpn + 1;
	REFUSED(ibv_open_qp(ctx, &open_attr) ? 0 : -1, EINVAL);
	open_attr.qp_num = qpn;
	make_unconnected();
	SAME(ibv_destroy_qp(tgt), 0);
	tgt = ibv_open_qp(ctx, &open_attr);
	CHECK(tgt);
	connect_pair();
	CHECK(write(to_child[1], "", 1) == 1);
	CHECK(wait(NULL) > 0);

	make_sink(&sink, xrcd);
	sink_post(&sink, 1, 0, 3000);
	fill(from, 3000, 4);
	send_to(sink.num, IBV_WR_SEND, 0, 3000, 2);
	expect_ok(scq, 2);
	expect_received(&sink, 1, 3000, 0);
	check_filled(sink.buf, 3000, 4);
	send_to(sink.num + 1000, IBV_WR_SEND, 0, 50, 3);
	expect_wc(scq, 3, IBV_WC_REM_INV_REQ_ERR);
	SAME(ibv_destroy_qp(tgt), 0);
	unlink(XRCD_FILE);
}

TESTS(
	TEST(sends_by_number),
	TEST(null_regions),
	TEST(rdma_and_atomics),
	TEST(not_ready),
	TEST(unknown_number),
	TEST(other_domain),
	TEST(destroyed_srq),
	TEST(paged),
	TEST(paged_destroyed_srq),
	TEST(too_long),
	TEST(communication_established),
	TEST(rnr_exceeded),
	TEST(retries_exceeded),
	TEST(solicited),
	TEST(limit),
	TEST(overrun),
	TEST(placement),
	TEST(pci_write_end_padding),
	TEST(refused_creation),
	TEST(refused_posts),
	TEST(attributes),
	TEST(flushed),
	TEST(target_outlives_its_maker)
)
