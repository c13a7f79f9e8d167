// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Streams of an initiator: what fails ends the stream that it is of, and the QP only when too many
 * streams have failed.
 */
#include "dc.h"

static struct weftdv_dci_streams conf = { .log_num_concurent = 3, .log_num_errored = 2 };
static struct dci i;
static struct dct t;

static void make_all(void)
{
	dc_conf.streams = &conf;
	make_dci(&i);
	make_dct(&t);
}

static void write_on(uint16_t stream, uint32_t rkey, uint64_t id)
{
	ibv_wr_rdma_write(dci_start(&i, id), rkey, (uintptr_t)t.buf);
	SAME(dci_finish_stream(&i, &t, stream, 0, 100), 0);
}

static void works(uint16_t stream)
{
	note("stream %u", stream);
	write_on(stream, t.mr->rkey, 500);
	expect_ok(i.cq, 500);
	note(NULL);
}

/* a key that is wrong; the stream is in error then, and the QP in RTS or in ERR */
static void fails(uint16_t stream)
{
	write_on(stream, t.mr->rkey ^ 0x5a, 501);
	expect_wc(i.cq, 501, IBV_WC_REM_ACCESS_ERR);
}

static void is_flushed(uint16_t stream)
{
	note("stream %u", stream);
	write_on(stream, t.mr->rkey, 502);
	expect_wc(i.cq, 502, IBV_WC_WR_FLUSH_ERR);
	note(NULL);
}

void refused_streams(void)
{
	struct weftdv_qp_init_attr dv = dc_attr(WEFTDV_DCTYPE_DCI, 0);
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_ex *ex;

	make_all();
	dv.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	dv.dc_init_attr.dci_streams = (struct weftdv_dci_streams){ 9, 0 };
	attr = dci_attr(i.cq);
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	dv.dc_init_attr.dci_streams = (struct weftdv_dci_streams){ 0, 9 };
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	dv.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	ex = dci_start(&i, 1);
	ibv_wr_send(ex);
	REFUSED(dci_finish_stream(&i, &t, 256, 0, 8), EINVAL);
	works(255);
}

/* requests of several streams, in order; without a stream it is number 0 */
void streams(void)
{
	int n;

	make_all();
	for (n = 0; n < 32; n++)
		dct_recv(&t, n, n * 64, 64);
	for (n = 0; n < 32; n++) {
		fill(i.buf + n * 64, 64, n);
		ibv_wr_send(dci_start(&i, n));
		if (n % 4)
			SAME(dci_finish_stream(&i, &t, n * 5, n * 64, 64), 0);
		else
			SAME(dci_finish(&i, &t, n * 64, 64), 0);
	}
	for (n = 0; n < 32; n++) {
		expect_ok(i.cq, n);
		dct_got(&t, &i, n, 64);
		check_filled(t.buf + n * 64, 64, n);
	}
}

void failed_streams(void)
{
	struct dct none = t;
	struct ibv_qp plain = { .qp_num = 0xfffff0 };

	dc_conf.timeout = 10;
	dc_conf.retry = 1;
	make_all();
	fails(1);
	SAME(dc_state(i.qp), IBV_QPS_RTS);
	is_flushed(1);
	is_flushed(1);
	works(0);
	works(2);
	/* nobody answers: the next request of another stream is for somebody who does */
	none = t;
	none.qp = &plain;
	ibv_wr_send(dci_start(&i, 1));
	SAME(dci_finish_stream(&i, &none, 2, 0, 8), 0);
	write_on(3, t.mr->rkey, 2);
	write_on(2, t.mr->rkey, 3);
	expect_wc(i.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_ok(i.cq, 2);
	expect_wc(i.cq, 3, IBV_WC_WR_FLUSH_ERR);
	SAME(dc_state(i.qp), IBV_QPS_RTS);
	/* the third, and the fourth is one too many */
	fails(255);
	SAME(dc_state(i.qp), IBV_QPS_RTS);
	works(3);
	fails(0);
	expect_dc_state(i.qp, IBV_QPS_ERR);
	is_flushed(3);
	restart(&i);
	for (plain.qp_num = 0; plain.qp_num < 4; plain.qp_num++)
		works(plain.qp_num);
	works(255);
}

void reset_streams(void)
{
	struct dci without = {};
	struct end rc;
	int n;

	make_all();
	for (n = 0; n < 12; n++) {
		fails(n);
		SAME(dc_state(i.qp), IBV_QPS_RTS);
		is_flushed(n);
		SAME(weftdv_dci_stream_id_reset(i.qp, n), 0);
		works(n);
	}
	/* one that is not in error */
	REFUSED(weftdv_dci_stream_id_reset(i.qp, 100), EINVAL);
	/* that does not make up for others */
	for (n = 0; n < 3; n++) {
		fails(n);
		REFUSED(weftdv_dci_stream_id_reset(i.qp, 100), EINVAL);
	}
	SAME(dc_state(i.qp), IBV_QPS_RTS);
	REFUSED(weftdv_dci_stream_id_reset(i.qp, 256), EINVAL);
	REFUSED(weftdv_dci_stream_id_reset(t.qp, 0), EINVAL);
	dc_conf.streams = NULL;
	make_dci(&without);
	REFUSED(weftdv_dci_stream_id_reset(without.qp, 0), EINVAL);
	make(&rc, CONF());
	REFUSED(weftdv_dci_stream_id_reset(rc.qp, 0), EINVAL);
	fails(3);
	expect_dc_state(i.qp, IBV_QPS_ERR);
	REFUSED(weftdv_dci_stream_id_reset(i.qp, 3), EOPNOTSUPP);
	dci_to(i.qp, IBV_QPS_RESET);
	REFUSED(weftdv_dci_stream_id_reset(i.qp, 3), EOPNOTSUPP);
}

/* the memory of a request ends its stream, and what else is wrong with the request all of them */
void ends_all_streams(void)
{
	struct ibv_mr *own;

	make_all();
	own = i.mr;
	i.mr = t.mr;
	write_on(1, t.mr->rkey, 1);
	i.mr = own;
	expect_wc(i.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_dc_state(i.qp, IBV_QPS_RTS);
	is_flushed(1);
	works(2);
	ibv_wr_local_inv(dci_start(&i, 2), 0x12345600);
	SAME(ibv_wr_complete(ibv_qp_to_qp_ex(i.qp)), 0);
	expect_wc(i.cq, 2, IBV_WC_MW_BIND_ERR);
	expect_dc_state(i.qp, IBV_QPS_ERR);
}
