// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections: one connection to all SRQs of a process. What is sent and
 * where it arrives; the QPs themselves are in xrcqp.c.
 */
#include "xrc.h"

#include <poll.h>

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
	SAME(wc.vendor_err, 27);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, tgt);
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
/* @whole: the whole address space is the region */
static void make_paged(struct sink *sink, bool whole)
{
	SAME(ibv_dereg_mr(sink->mr), 0);
	sink->buf = memory(BUF);
	sink->mr = ibv_reg_mr(sink->pd, whole ? NULL : sink->buf, whole ? SIZE_MAX : BUF,
			      ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(sink->mr);
}

static void paged(void)
{
	struct sink sink = {}, other = {};

	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&other, xrcd);
	make_paged(&sink, false);
	make_paged(&other, true);
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
	make_paged(&sink, false);
	fd = uffd_hold(sink.buf, BUF);
	sink_post(&sink, 1, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 9);
	expect_no_wc(scq);
	SAME(ibv_destroy_srq(sink.srq), 0);
	uffd_answer(fd, sink.buf, BUF);
	expect_wc(scq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_event(IBV_EVENT_QP_ACCESS_ERR, tgt);
	expect_no_wc(sink.cq);
	check_zero(sink.buf, BUF);
	close(fd);
}

/*
 * A message waits for the pages of its receive, and its initiator begins again with one to another
 * SRQ: the receive of the first is flushed. Packets wait behind the first until its pages come, so
 * this is for the local link.
 */
static void paged_and_aborted(void)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct sink sink = {}, other = {};
	bool forced = packets_forced();
	int fd;

	force_packets(false);
	make_connected();
	make_sink(&sink, xrcd);
	make_sink(&other, xrcd);
	make_paged(&sink, false);
	fd = uffd_hold(sink.buf, BUF);
	sink_post(&sink, 1, 0, 100);
	sink_post(&other, 2, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 9);
	expect_no_wc(scq);
	SAME(ibv_modify_qp(ini, &reset, IBV_QP_STATE), 0);
	set_init(ini);
	set_rtr(ini, tgt->qp_num, PSN_TGT, 0);
	set_rts(ini, PSN_INI, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	force_packets(forced);
	send_to(other.num, IBV_WR_SEND, 0, 60, 10);
	expect_ok(scq, 10);
	expect_received(&other, 2, 60, 0);
	expect_wc(sink.cq, 1, IBV_WC_WR_FLUSH_ERR);
	uffd_answer(fd, sink.buf, BUF);
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

TESTS(
	TEST(sends_by_number),
	TEST(null_regions),
	TEST(rdma_and_atomics),
	TEST(not_ready),
	TEST(unknown_number),
	TEST(other_domain),
	TEST(destroyed_srq),
	TEST(paged),
	TEST(paged_destroyed_srq), TEST(paged_and_aborted),
	TEST(too_long),
	TEST(communication_established),
	TEST(rnr_exceeded),
	TEST(retries_exceeded),
	TEST(solicited),
	TEST(limit),
	TEST(overrun),
	TEST(placement)
)
