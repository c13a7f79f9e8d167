// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QPs and SRQs of extended reliable connections: how they are made, what they take and
 * refuse, and how long they live. What is sent by them is in xrc.c.
 */
#include "xrc.h"

#define XRCD_FILE	"/tmp/weft-xrcd"

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

/*
 * ---- Queues ----
 */

static int try_resize(struct ibv_qp *qp, int sends, int receives)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = sends, .max_recv_wr = receives } };

	return ibv_modify_qp(qp, &attr, IBV_QP_CAP);
}

static int sends_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
	SAME(attr.cap.max_recv_wr, 0);
	return attr.cap.max_send_wr;
}

/* an initiator has a queue, of sends; a target has none */
static void resized(void)
{
	struct sink sink = {};
	int i;

	make_connected();
	make_sink(&sink, xrcd);
	SAME(sends_of(ini), 16);
	/* they wait for receives, and go on in another ring */
	fill(from, 800, 1);
	for (i = 0; i < 8; i++)
		send_to(sink.num, IBV_WR_SEND, i * 100, 100, i);
	SAME(try_resize(ini, 8, 0), 0);
	SAME(sends_of(ini), 8);
	REFUSED(try_resize(ini, 4, 0), EINVAL);
	SAME(sends_of(ini), 8);
	SAME(try_resize(ini, 64, 0), 0);
	SAME(sends_of(ini), 64);
	for (i = 0; i < 8; i++)
		sink_post(&sink, i, i * 100, 100);
	for (i = 0; i < 8; i++) {
		expect_ok(scq, i);
		expect_received(&sink, i, 100, 0);
	}
	check_filled(sink.buf, 800, 1);
	REFUSED(try_resize(ini, 1 << 20, 0), EINVAL);
	REFUSED(try_resize(tgt, 16, 0), EINVAL);
	REFUSED(try_resize(tgt, 0, 16), EINVAL);
	sink_post(&sink, 20, 0, 100);
	send_to(sink.num, IBV_WR_SEND, 0, 50, 21);
	expect_ok(scq, 21);
	expect_received(&sink, 20, 50, 0);
	expect_no_event();
}

/* at 8 Mbit/s: 80 times 1000 bytes, of which four may go at once */
static void rate_limited(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 8000, .max_burst_sz = 4096 };
	struct sink sink = {};
	uint64_t start;
	int i;

	make_connected();
	make_sink(&sink, xrcd);
	SAME(ibv_modify_qp_rate_limit(ini, &attr), 0);
	/* nothing is sent by it */
	REFUSED(ibv_modify_qp_rate_limit(tgt, &attr), EINVAL);
	start = now_ns();
	for (i = 0; i < 80; i++) {
		sink_post(&sink, i, 0, 1000);
		send_to(sink.num, IBV_WR_SEND, 0, 1000, i);
		expect_ok(scq, i);
		expect_received(&sink, i, 1000, 0);
	}
	CHECK(now_ns() - start >= (79 * 1000 - 4096) * 1000ULL);
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
	TEST(pci_write_end_padding), TEST(refused_creation), TEST(refused_posts), TEST(attributes),
	TEST(resized), TEST(rate_limited), TEST(flushed), TEST(target_outlives_its_maker)
)
