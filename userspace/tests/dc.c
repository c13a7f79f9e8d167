// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Dynamic connections by libweft: initiators and targets, how they are made and modified, and each
 * operation. What goes wrong is in dc-errors.c.
 */
#include "dc.h"

struct dc_conf dc_conf = {
	.access = ACCESS_ALL, .timeout = 14, .retry = 7, .rnr_retry = 7, .rnr_timer = 12, .rd = 4,
};

struct ibv_qp_init_attr_ex dci_attr(struct ibv_cq *cq)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_DRIVER, .send_cq = cq, .recv_cq = cq, .pd = pd,
		.cap = { .max_send_wr = 64, .max_send_sge = 2, .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = DCI_OPS | dc_conf.ops,
	};
}

struct ibv_qp_init_attr_ex dct_attr(const struct dct *t)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_DRIVER, .send_cq = t->cq, .recv_cq = t->cq, .srq = t->srq,
		.pd = t->pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
	};
}

struct weftdv_qp_init_attr dc_attr(enum weftdv_dc_type type, uint64_t key)
{
	struct weftdv_qp_init_attr attr = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DC, .dc_init_attr.dc_type = type,
	};

	if (type == WEFTDV_DCTYPE_DCT) {
		attr.dc_init_attr.dct_access_key = key;
	} else if (dc_conf.streams) {
		attr.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		attr.dc_init_attr.dci_streams = *dc_conf.streams;
	}
	return attr;
}

struct ibv_qp *create_dci(struct ibv_cq *cq)
{
	struct weftdv_qp_init_attr dv = dc_attr(WEFTDV_DCTYPE_DCI, 0);
	struct ibv_qp_init_attr_ex attr = dci_attr(cq);
	struct ibv_qp *qp = weftdv_create_qp(ctx, &attr, &dv);

	CHECK(qp);
	CHECK(attr.cap.max_send_wr >= 64);
	SAME(attr.cap.max_recv_wr, 0);
	return qp;
}

struct ibv_qp *create_dct(const struct dct *t)
{
	struct weftdv_qp_init_attr dv = dc_attr(WEFTDV_DCTYPE_DCT, t->key);
	struct ibv_qp_init_attr_ex attr = dct_attr(t);
	struct ibv_qp *qp = weftdv_create_qp(ctx, &attr, &dv);

	CHECK(qp);
	SAME(attr.cap.max_send_wr, 0);
	SAME(attr.cap.max_recv_wr, 0);
	return qp;
}

struct ibv_qp_attr dc_step(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state, .port_num = 1, .qp_access_flags = dc_conf.access,
		.path_mtu = port.active_mtu, .min_rnr_timer = dc_conf.rnr_timer,
		.timeout = dc_conf.timeout, .retry_cnt = dc_conf.retry,
		.rnr_retry = dc_conf.rnr_retry, .max_rd_atomic = dc_conf.rd, .sq_psn = 0xfffff0,
	};

	av_to(&attr.ah_attr, gid4, gid4);
	return attr;
}

int dci_mask(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	case IBV_QPS_RTR:
		return IBV_QP_STATE | IBV_QP_PATH_MTU;
	case IBV_QPS_RTS:
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN;
	default:
		return IBV_QP_STATE;
	}
}

int dct_mask(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER;
	default:
		return IBV_QP_STATE;
	}
}

void dci_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = dc_step(state);

	SAME(ibv_modify_qp(qp, &attr, dci_mask(state)), 0);
}

void dct_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = dc_step(state);

	SAME(ibv_modify_qp(qp, &attr, dct_mask(state)), 0);
}

enum ibv_qp_state dc_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	SAME(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

void expect_dc_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	int ms;

	for (ms = 0; dc_state(qp) != state; ms++) {
		if (ms == WAIT_MS)
			FAIL("QP in state %d, not %d", dc_state(qp), state);
		sleep_ms(1);
	}
}

void make_dci(struct dci *i)
{
	i->cq = ibv_create_cq(ctx, 256, NULL, NULL, 0);
	CHECK(i->cq);
	i->buf = memory(BUF);
	i->mr = ibv_reg_mr(pd, i->buf, BUF, ACCESS_ALL);
	CHECK(i->mr);
	i->ah = ah_to(gid4, gid4);
	i->qp = create_dci(i->cq);
	dci_to(i->qp, IBV_QPS_INIT);
	dci_to(i->qp, IBV_QPS_RTR);
	dci_to(i->qp, IBV_QPS_RTS);
}

void make_dct(struct dct *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64, .max_sge = 2 } };

	t->pd = ibv_alloc_pd(ctx);
	CHECK(t->pd);
	t->cq = ibv_create_cq(ctx, 256, NULL, NULL, 0);
	CHECK(t->cq);
	t->srq = ibv_create_srq(t->pd, &attr);
	CHECK(t->srq);
	t->buf = memory(BUF);
	t->mr = ibv_reg_mr(t->pd, t->buf, BUF, dc_conf.access);
	CHECK(t->mr);
	if (!t->key)
		t->key = KEY;
	t->qp = create_dct(t);
	dct_to(t->qp, IBV_QPS_INIT);
	dct_to(t->qp, IBV_QPS_RTR);
	CHECK(t->qp->qp_num);
}

void restart(struct dci *i)
{
	expect_dc_state(i->qp, IBV_QPS_ERR);
	dci_to(i->qp, IBV_QPS_RESET);
	dci_to(i->qp, IBV_QPS_INIT);
	dci_to(i->qp, IBV_QPS_RTR);
	dci_to(i->qp, IBV_QPS_RTS);
}

void dct_recv(struct dct *t, uint64_t id, size_t off, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)t->buf + off, length, t->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_srq_recv(t->srq, &wr, &bad), 0);
}

static struct weftdv_qp_ex *dv_of(struct dci *i)
{
	struct weftdv_qp_ex *dv = weftdv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(i->qp));

	CHECK(dv);
	return dv;
}

struct ibv_qp_ex *dci_start(struct dci *i, uint64_t id)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(i->qp);

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ex->wr_id = id;
	return ex;
}

int dci_finish(struct dci *i, const struct dct *t, size_t off, uint32_t length)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(i->qp);

	weftdv_wr_set_dc_addr(dv_of(i), i->ah, t->qp->qp_num, t->key);
	ibv_wr_set_sge(ex, i->mr->lkey, (uintptr_t)i->buf + off, length);
	return ibv_wr_complete(ex);
}

int dci_finish_stream(struct dci *i, const struct dct *t, uint16_t stream, size_t off,
		      uint32_t length)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(i->qp);

	ibv_wr_set_sge(ex, i->mr->lkey, (uintptr_t)i->buf + off, length);
	weftdv_wr_set_dc_addr_stream(dv_of(i), i->ah, t->qp->qp_num, t->key, stream);
	return ibv_wr_complete(ex);
}

void dci_send(struct dci *i, const struct dct *t, uint64_t id, size_t off, uint32_t length)
{
	ibv_wr_send(dci_start(i, id));
	SAME(dci_finish(i, t, off, length), 0);
}

/* to or from the same offset of both */
void dci_rdma(struct dci *i, const struct dct *t, enum ibv_wr_opcode op, uint64_t id, size_t off,
	      uint32_t length)
{
	struct ibv_qp_ex *ex = dci_start(i, id);
	uint64_t addr = (uintptr_t)t->buf + off;
	uint32_t rkey = t->mr->rkey;

	switch (op) {
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, rkey, addr, htobe32(0x12345678));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, rkey, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, rkey, addr, 5, 99);
		break;
	default:
		ibv_wr_atomic_fetch_add(ex, rkey, addr, 7);
		break;
	}
	SAME(dci_finish(i, t, off, length), 0);
}

struct ibv_wc dct_got(struct dct *t, const struct dci *i, uint64_t id, uint32_t length)
{
	struct ibv_wc wc = expect_ok(t->cq, id);

	SAME(wc.byte_len, length);
	SAME(wc.qp_num, t->qp->qp_num);
	SAME(wc.src_qp, i->qp->qp_num);
	return wc;
}

void check_dc_works_(const char *file, int line, struct dci *i, struct dct *t)
{
	note("at %s:%d", file, line);
	dct_recv(t, 9000, 0, 100);
	fill(i->buf, 100, 77);
	memset(t->buf, 0, 100);
	dci_send(i, t, 9001, 0, 100);
	expect_ok(i->cq, 9001);
	dct_got(t, i, 9000, 100);
	check_filled(t->buf, 100, 77);
	note(NULL);
}

/*
 * ---- Creation and states ----
 */

static void library(void)
{
	struct weftdv_device_attr attr = { .comp_mask = WEFTDV_DEVICE_ATTR_DC };

	SAME(weftdv_query_device(ctx, &attr), 0);
	SAME(attr.comp_mask, WEFTDV_DEVICE_ATTR_DC);
	SAME(attr.dc_caps.dc_types, 1 << WEFTDV_DCTYPE_DCT | 1 << WEFTDV_DCTYPE_DCI);
	SAME(attr.dc_caps.max_log_num_concurent, 8);
	SAME(attr.dc_caps.max_log_num_errored, 8);
}

static void make_parts(struct dct *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };

	t->pd = pd;
	t->cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	CHECK(t->cq);
	t->srq = ibv_create_srq(pd, &attr);
	CHECK(t->srq);
}

static void refused_creation(void)
{
	struct weftdv_qp_init_attr dci = dc_attr(WEFTDV_DCTYPE_DCI, 0),
				   dct = dc_attr(WEFTDV_DCTYPE_DCT, KEY), dv;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_init_attr plain;
	struct dct t = {};

	make_parts(&t);
	attr = dct_attr(&t);
	attr.srq = NULL;
	REFUSED(weftdv_create_qp(ctx, &attr, &dct), EINVAL);
	attr = dct_attr(&t);
	attr.recv_cq = NULL;
	REFUSED(weftdv_create_qp(ctx, &attr, &dct), EINVAL);
	attr = dct_attr(&t);
	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	REFUSED(weftdv_create_qp(ctx, &attr, &dct), EINVAL);
	attr = dct_attr(&t);
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	REFUSED(weftdv_create_qp(ctx, &attr, &dct), EINVAL);
	attr = dct_attr(&t);
	dv = dct;
	dv.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	dv = dct;
	dv.dc_init_attr.dc_type = 0;
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	dv.dc_init_attr.dc_type = 3;
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EINVAL);
	REFUSED(weftdv_create_qp(ctx, &attr, NULL), EINVAL);

	attr = dci_attr(t.cq);
	attr.cap.max_recv_wr = 1;
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EINVAL);
	attr = dci_attr(t.cq);
	attr.cap.max_recv_sge = 1;
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EINVAL);
	attr = dci_attr(t.cq);
	attr.comp_mask &= ~IBV_QP_INIT_ATTR_PD;
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EINVAL);
	attr = dci_attr(t.cq);
	attr.send_ops_flags |= IBV_QP_EX_WITH_TSO;
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EOPNOTSUPP);
	attr = dci_attr(t.cq);
	attr.qp_type = IBV_QPT_RC;
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EINVAL);
	attr = dci_attr(t.cq);
	dv = dci;
	dv.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	dv.send_ops_flags = WEFTDV_QP_EX_WITH_MR_LIST;
	REFUSED(weftdv_create_qp(ctx, &attr, &dv), EOPNOTSUPP);
	/* by the verbs of everybody */
	REFUSED(ibv_create_qp_ex(ctx, &attr), EOPNOTSUPP);
	plain = (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_DRIVER, .send_cq = t.cq, .recv_cq = t.cq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	REFUSED(ibv_create_qp(pd, &plain), EOPNOTSUPP);
}

/* there are no packets for DC */
static void packets_refused(void)
{
	struct weftdv_qp_init_attr dci = dc_attr(WEFTDV_DCTYPE_DCI, 0),
				   dct = dc_attr(WEFTDV_DCTYPE_DCT, KEY);
	struct ibv_qp_init_attr_ex attr;
	bool forced = packets_forced();
	struct dct t = {};

	make_parts(&t);
	force_packets(true);
	attr = dci_attr(t.cq);
	REFUSED(weftdv_create_qp(ctx, &attr, &dci), EOPNOTSUPP);
	attr = dct_attr(&t);
	REFUSED(weftdv_create_qp(ctx, &attr, &dct), EOPNOTSUPP);
	force_packets(forced);
}

/* attributes that some transition takes, each by itself; and two that none does */
static const int bits[] = {
	IBV_QP_CUR_STATE, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX,
	IBV_QP_PORT, IBV_QP_QKEY, IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT,
	IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER,
	IBV_QP_SQ_PSN, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_CAP, IBV_QP_DEST_QPN, IBV_QP_RATE_LIMIT,
};

/* From @from, where @qp is, to @to: @must is needed, @may is allowed, all else is refused. */
static void try_masks(struct ibv_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to, int must,
		      int may)
{
	struct ibv_qp_attr attr = dc_step(to);
	int i;

	attr.cur_qp_state = from;
	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		note("%d to %d, attribute %#x", from, to, bits[i]);
		if (must & bits[i])
			REFUSED(ibv_modify_qp(qp, &attr, must & ~bits[i]), EINVAL);
		else if (!(may & bits[i]))
			REFUSED(ibv_modify_qp(qp, &attr, must | bits[i]), EINVAL);
	}
	REFUSED(ibv_modify_qp(qp, &attr, must & ~IBV_QP_STATE), EINVAL);
	SAME(dc_state(qp), from);
	note(NULL);
}

/* the states that @qp must not enter now, whatever is said about attributes */
static void try_states(struct ibv_qp *qp, int (*mask)(enum ibv_qp_state), unsigned int no)
{
	enum ibv_qp_state state;
	struct ibv_qp_attr attr;

	for (state = IBV_QPS_RESET; state <= IBV_QPS_ERR; state++) {
		if (!(no & 1 << state))
			continue;
		note("to %d", state);
		attr = dc_step(state);
		REFUSED(ibv_modify_qp(qp, &attr, mask(state)), EINVAL);
		REFUSED(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	}
	note(NULL);
}

#define S(name)	(1 << IBV_QPS_##name)

static void initiator_states(void)
{
	struct ibv_qp_attr attr = dc_step(IBV_QPS_INIT);
	struct dci i = { .cq = ibv_create_cq(ctx, 16, NULL, NULL, 0) };

	i.qp = create_dci(i.cq);
	try_states(i.qp, dci_mask, S(RTR) | S(RTS) | S(SQD) | S(SQE) | S(ERR));
	try_masks(i.qp, IBV_QPS_RESET, IBV_QPS_INIT, dci_mask(IBV_QPS_INIT), 0);
	dci_to(i.qp, IBV_QPS_RESET);
	dci_to(i.qp, IBV_QPS_INIT);
	try_states(i.qp, dci_mask, S(RTS) | S(SQD) | S(SQE));
	SAME(ibv_modify_qp(i.qp, &attr, IBV_QP_STATE), 0);
	SAME(ibv_modify_qp(i.qp, &attr, dci_mask(IBV_QPS_INIT)), 0);
	try_masks(i.qp, IBV_QPS_INIT, IBV_QPS_INIT, IBV_QP_STATE, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
								  IBV_QP_AV);
	try_masks(i.qp, IBV_QPS_INIT, IBV_QPS_RTR, dci_mask(IBV_QPS_RTR),
		  IBV_QP_PKEY_INDEX | IBV_QP_AV);
	attr = dc_step(IBV_QPS_RTR);
	SAME(ibv_modify_qp(i.qp, &attr, dci_mask(IBV_QPS_RTR) | IBV_QP_PKEY_INDEX | IBV_QP_AV), 0);
	try_states(i.qp, dci_mask, S(INIT) | S(RTR) | S(SQD) | S(SQE));
	try_masks(i.qp, IBV_QPS_RTR, IBV_QPS_RTS, dci_mask(IBV_QPS_RTS), IBV_QP_MIN_RNR_TIMER);
	attr = dc_step(IBV_QPS_RTS);
	SAME(ibv_modify_qp(i.qp, &attr, dci_mask(IBV_QPS_RTS) | IBV_QP_MIN_RNR_TIMER), 0);
	try_states(i.qp, dci_mask, S(INIT) | S(RTR) | S(SQD) | S(SQE));
	try_masks(i.qp, IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_STATE, IBV_QP_MIN_RNR_TIMER);
	SAME(ibv_modify_qp(i.qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER), 0);
	try_masks(i.qp, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_STATE, 0);
	dci_to(i.qp, IBV_QPS_ERR);
	try_states(i.qp, dci_mask, S(INIT) | S(RTR) | S(RTS) | S(SQD) | S(SQE));
	dci_to(i.qp, IBV_QPS_ERR);
	dci_to(i.qp, IBV_QPS_RESET);
}

static void target_states(void)
{
	struct dct t = {};

	make_parts(&t);
	t.qp = create_dct(&t);
	try_states(t.qp, dct_mask, S(RESET) | S(RTR) | S(RTS) | S(SQD) | S(SQE) | S(ERR));
	try_masks(t.qp, IBV_QPS_RESET, IBV_QPS_INIT, dct_mask(IBV_QPS_INIT), 0);
	dct_to(t.qp, IBV_QPS_INIT);
	try_states(t.qp, dct_mask, S(RESET) | S(INIT) | S(RTS) | S(SQD) | S(SQE) | S(ERR));
	try_masks(t.qp, IBV_QPS_INIT, IBV_QPS_RTR, dct_mask(IBV_QPS_RTR), 0);
	dct_to(t.qp, IBV_QPS_RTR);
	try_states(t.qp, dct_mask, S(RESET) | S(INIT) | S(RTR) | S(RTS) | S(SQD) | S(SQE) | S(ERR));
	SAME(dc_state(t.qp), IBV_QPS_RTR);
	SAME(ibv_destroy_qp(t.qp), 0);
}

static void queried(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct dci i = {};
	struct dct t = {};

	make_dci(&i);
	make_dct(&t);
	SAME(ibv_query_qp(i.qp, &attr, QP_ATTRS, &init), 0);
	SAME(init.qp_type, IBV_QPT_DRIVER);
	SAME(attr.qp_state, IBV_QPS_RTS);
	SAME(attr.path_mtu, port.active_mtu);
	SAME(attr.timeout, dc_conf.timeout);
	SAME(attr.retry_cnt, dc_conf.retry);
	SAME(attr.rnr_retry, dc_conf.rnr_retry);
	SAME(attr.max_rd_atomic, dc_conf.rd);
	SAME(attr.sq_psn, 0xfffff0);
	CHECK(attr.cap.max_send_wr >= 64);
	SAME(ibv_query_qp(t.qp, &attr, QP_ATTRS, &init), 0);
	SAME(init.qp_type, IBV_QPT_DRIVER);
	CHECK(init.srq == t.srq && init.recv_cq == t.cq);
	SAME(attr.qp_state, IBV_QPS_RTR);
	SAME(attr.path_mtu, port.active_mtu);
	SAME(attr.min_rnr_timer, dc_conf.rnr_timer);
	SAME(attr.qp_access_flags, ACCESS_ALL);
	SAME(attr.ah_attr.grh.sgid_index, gid4);
	SAME(attr.cap.max_send_wr, 0);
	/* the path of an initiator is that of modify_qp, and not that of its requests */
	check_dc_works(&i, &t);
	SAME(ibv_query_qp(i.qp, &attr, QP_ATTRS, &init), 0);
	SAME(attr.ah_attr.grh.dgid.global.interface_id, 0);
	SAME(attr.dest_qp_num, 0);
}

/*
 * ---- Operations ----
 */

static void sends(void)
{
	struct ibv_wc wc;
	struct dci i = {};
	struct dct t = {};

	make_dci(&i);
	make_dct(&t);
	fill(i.buf, BUF, 1);
	dct_recv(&t, 1, 0, 30000);
	dci_send(&i, &t, 2, 0, 30000);
	SAME(expect_ok(i.cq, 2).opcode, IBV_WC_SEND);
	SAME(dct_got(&t, &i, 1, 30000).opcode, IBV_WC_RECV);
	check_filled(t.buf, 30000, 1);

	dct_recv(&t, 3, 0, 100);
	ibv_wr_send_imm(dci_start(&i, 4), htobe32(0xabcdef01));
	SAME(dci_finish(&i, &t, 0, 0), 0);
	expect_ok(i.cq, 4);
	wc = dct_got(&t, &i, 3, 0);
	SAME(wc.wc_flags, IBV_WC_WITH_IMM);
	SAME(be32toh(wc.imm_data), 0xabcdef01);
	expect_no_wc_now(i.cq);
	expect_no_wc_now(t.cq);
}

static void rdma(void)
{
	struct ibv_wc wc;
	struct dci i = {};
	struct dct t = {};

	make_dci(&i);
	make_dct(&t);
	fill(i.buf, 5000, 2);
	dci_rdma(&i, &t, IBV_WR_RDMA_WRITE, 1, 0, 5000);
	SAME(expect_ok(i.cq, 1).opcode, IBV_WC_RDMA_WRITE);
	check_filled(t.buf, 5000, 2);
	expect_no_wc_now(t.cq);

	fill(i.buf, 5000, 3);
	dct_recv(&t, 2, 0, 0);
	dci_rdma(&i, &t, IBV_WR_RDMA_WRITE_WITH_IMM, 3, 0, 5000);
	expect_ok(i.cq, 3);
	wc = dct_got(&t, &i, 2, 5000);
	SAME(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	SAME(be32toh(wc.imm_data), 0x12345678);
	check_filled(t.buf, 5000, 3);

	fill(t.buf, 5000, 4);
	dci_rdma(&i, &t, IBV_WR_RDMA_READ, 4, 0, 5000);
	SAME(expect_ok(i.cq, 4).byte_len, 5000);
	check_filled(i.buf, 5000, 4);

	*(uint64_t *)t.buf = 5;
	dci_rdma(&i, &t, IBV_WR_ATOMIC_CMP_AND_SWP, 5, 0, 8);
	SAME(expect_ok(i.cq, 5).opcode, IBV_WC_COMP_SWAP);
	SAME(*(uint64_t *)i.buf, 5);
	SAME(*(uint64_t *)t.buf, 99);
	dci_rdma(&i, &t, IBV_WR_ATOMIC_FETCH_AND_ADD, 6, 0, 8);
	SAME(expect_ok(i.cq, 6).opcode, IBV_WC_FETCH_ADD);
	SAME(*(uint64_t *)i.buf, 99);
	SAME(*(uint64_t *)t.buf, 106);
}

/* inline data, which come before the destination */
static void inline_data(void)
{
	struct ibv_qp_ex *ex;
	struct dci i = {};
	struct dct t = {};

	make_dci(&i);
	make_dct(&t);
	dct_recv(&t, 1, 0, 100);
	fill(i.buf, 40, 5);
	ex = dci_start(&i, 2);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, i.buf, 40);
	weftdv_wr_set_dc_addr(dv_of(&i), i.ah, t.qp->qp_num, t.key);
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(i.cq, 2);
	dct_got(&t, &i, 1, 40);
	check_filled(t.buf, 40, 5);
}

/* a window of the target's PD, bound by an initiator there, and invalidated by another one */
static void windows(void)
{
	struct ibv_mw_bind_info info = {
		.length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_pd *own = pd;
	struct dci i = {}, binder = {};
	struct ibv_qp_ex *ex;
	struct dct t = {};
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t rkey;

	dc_conf.access |= IBV_ACCESS_MW_BIND;
	make_dct(&t);
	make_dci(&i);
	pd = t.pd;
	make_dci(&binder);
	pd = own;
	mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_2);
	CHECK(mw);
	info.mr = t.mr;
	info.addr = (uintptr_t)t.buf;
	rkey = ibv_inc_rkey(mw->rkey);
	ex = dci_start(&binder, 1);
	ibv_wr_bind_mw(ex, mw, rkey, &info);
	SAME(ibv_wr_complete(ex), 0);
	SAME(expect_ok(binder.cq, 1).opcode, IBV_WC_BIND_MW);

	fill(i.buf, 64, 6);
	ibv_wr_rdma_write(dci_start(&i, 2), rkey, (uintptr_t)t.buf);
	SAME(dci_finish(&i, &t, 0, 64), 0);
	expect_wc(i.cq, 2, IBV_WC_REM_ACCESS_ERR);	/* it belongs to the QP that has bound it */
	restart(&i);
	dct_recv(&t, 3, 0, 100);
	ibv_wr_send_inv(dci_start(&i, 4), rkey);
	SAME(dci_finish(&i, &t, 0, 8), 0);
	expect_wc(i.cq, 4, IBV_WC_REM_ACCESS_ERR);
	wc = expect_wc(t.cq, 3, IBV_WC_LOC_ACCESS_ERR);
	SAME(wc.qp_num, t.qp->qp_num);
	restart(&i);
	check_dc_works(&i, &t);
	ex = dci_start(&binder, 5);
	ibv_wr_local_inv(ex, rkey);
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(binder.cq, 5);
	SAME(ibv_dealloc_mw(mw), 0);
}

/* FLUSH and ATOMIC WRITE, if the kernel knows them */
static void placement(void)
{
	struct weftdv_qp_init_attr dv = dc_attr(WEFTDV_DCTYPE_DCI, 0);
	uint64_t value = 0x0123456789abcdef;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp_ex *ex;
	struct dci i = {};
	struct dct t = {};

	dc_conf.ops = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE;
	i.cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	CHECK(i.cq);
	attr = dci_attr(i.cq);
	if (!weftdv_create_qp(ctx, &attr, &dv)) {
		SAME(errno, EOPNOTSUPP);
		return;
	}
	dc_conf.access |= IBV_ACCESS_FLUSH_GLOBAL;
	make_dci(&i);
	make_dct(&t);
	fill(i.buf, 5000, 9);
	dci_rdma(&i, &t, IBV_WR_RDMA_WRITE, 1, 0, 5000);
	ex = dci_start(&i, 2);
	ibv_wr_flush(ex, t.mr->rkey, (uintptr_t)t.buf, 5000, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	weftdv_wr_set_dc_addr(dv_of(&i), i.ah, t.qp->qp_num, t.key);
	SAME(ibv_wr_complete(ex), 0);
	ex = dci_start(&i, 3);
	ibv_wr_atomic_write(ex, t.mr->rkey, (uintptr_t)t.buf + 5000, &value);
	weftdv_wr_set_dc_addr(dv_of(&i), i.ah, t.qp->qp_num, t.key);
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(i.cq, 1);
	SAME(expect_ok(i.cq, 2).opcode, IBV_WC_FLUSH);
	SAME(expect_ok(i.cq, 3).opcode, IBV_WC_ATOMIC_WRITE);
	check_filled(t.buf, 5000, 9);
	SAME(memcmp(t.buf + 5000, &value, sizeof(value)), 0);
}

static void refused_posts(void)
{
	struct weftdv_qp_ex *dv;
	struct ibv_qp_ex *ex;
	struct dci i = {};
	struct dct t = {};
	struct ibv_sge sge = {};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge }, *bad;
	struct ibv_recv_wr recv = {}, *bad_recv;

	make_dci(&i);
	make_dct(&t);
	dv = dv_of(&i);
	REFUSED(ibv_post_send(i.qp, &wr, &bad), EINVAL);
	REFUSED(ibv_post_send(t.qp, &wr, &bad), EINVAL);
	REFUSED(ibv_post_recv(i.qp, &recv, &bad_recv), EINVAL);
	REFUSED(ibv_post_recv(t.qp, &recv, &bad_recv), EINVAL);
	/* no destination, two of them, one without a request */
	ex = dci_start(&i, 1);
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, i.mr->lkey, (uintptr_t)i.buf, 8);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	ibv_wr_send(dci_start(&i, 1));
	weftdv_wr_set_dc_addr(dv, i.ah, t.qp->qp_num, KEY);
	REFUSED(dci_finish(&i, &t, 0, 8), EINVAL);
	ex = dci_start(&i, 1);
	weftdv_wr_set_dc_addr(dv, i.ah, t.qp->qp_num, KEY);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	/* a local operation has none */
	ibv_wr_local_inv(dci_start(&i, 1), 0x1234);
	weftdv_wr_set_dc_addr(dv, i.ah, t.qp->qp_num, KEY);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	/* no address, no such number, no such stream, the destination of another type */
	ibv_wr_send(dci_start(&i, 1));
	weftdv_wr_set_dc_addr(dv, NULL, t.qp->qp_num, KEY);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	ibv_wr_send(dci_start(&i, 1));
	weftdv_wr_set_dc_addr(dv, i.ah, 1 << 24, KEY);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	ibv_wr_send(dci_start(&i, 1));
	weftdv_wr_set_dc_addr_stream(dv, i.ah, t.qp->qp_num, KEY, 1);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	ibv_wr_send(dci_start(&i, 1));
	ibv_wr_set_ud_addr(ex, i.ah, t.qp->qp_num, QKEY);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	ibv_wr_send(dci_start(&i, 1));
	ibv_wr_set_xrc_srqn(ex, 1);
	REFUSED(ibv_wr_complete(ex), EINVAL);
	expect_no_wc(i.cq);
	check_dc_works(&i, &t);
	/* a target has no builders */
	REFUSED(weftdv_qp_ex_from_ibv_qp_ex((struct ibv_qp_ex *)t.qp), EOPNOTSUPP);
	/* before RTS */
	dci_to(i.qp, IBV_QPS_RESET);
	ibv_wr_send(dci_start(&i, 1));
	REFUSED(dci_finish(&i, &t, 0, 8), EINVAL);
}

/* To several targets in turn, and from several initiators: those of each initiator are in order. */
static void many(void)
{
	int last[3][3], n, k, from;
	struct dci i[3] = {};
	struct dct t[3] = {};
	uint32_t *at;

	for (n = 0; n < 3; n++) {
		t[n].key = KEY + n;
		make_dci(&i[n]);
		make_dct(&t[n]);
		for (k = 0; k < 48; k++)
			dct_recv(&t[n], k, k * 64, 64);
	}
	for (k = 0; k < 48; k++)
		for (n = 0; n < 3; n++) {
			at = (uint32_t *)(i[n].buf + k * 64);
			at[0] = n;
			at[15] = k;
			dci_send(&i[n], &t[(n + k) % 3], k, k * 64, 64);
		}
	for (k = 0; k < 48; k++)
		for (n = 0; n < 3; n++)
			expect_ok(i[n].cq, k);
	memset(last, 0xff, sizeof(last));
	for (k = 0; k < 48; k++)
		for (n = 0; n < 3; n++) {
			at = (uint32_t *)(t[n].buf + k * 64);
			from = at[0];
			CHECK(from >= 0 && from < 3);
			dct_got(&t[n], &i[from], k, 64);
			SAME((from + at[15]) % 3, n);
			CHECK((int)at[15] > last[n][from]);
			last[n][from] = at[15];
		}
}

/* one batch for two targets, signaled at its end only */
static void batches(void)
{
	struct ibv_qp_ex *ex;
	struct dct t[2] = {};
	struct dci i = {};
	int k;

	make_dci(&i);
	t[1].key = KEY + 1;
	make_dct(&t[0]);
	make_dct(&t[1]);
	fill(i.buf, 2000, 8);
	ex = dci_start(&i, 0);
	for (k = 0; k < 20; k++) {
		ex->wr_id = k;
		ex->wr_flags = k == 19 ? IBV_SEND_SIGNALED : 0;
		ibv_wr_rdma_write(ex, t[k % 2].mr->rkey, (uintptr_t)t[k % 2].buf + k * 100);
		weftdv_wr_set_dc_addr(dv_of(&i), i.ah, t[k % 2].qp->qp_num, t[k % 2].key);
		ibv_wr_set_sge(ex, i.mr->lkey, (uintptr_t)i.buf + k * 100, 100);
	}
	SAME(ibv_wr_complete(ex), 0);
	expect_ok(i.cq, 19);
	expect_no_wc_now(i.cq);
	for (k = 0; k < 20; k++)
		SAME(memcmp(t[k % 2].buf + k * 100, i.buf + k * 100, 100), 0);
}

/* The target is on another device, $OTHER_DEVICE, which the first one reaches by the local link. */
static void other_device(void)
{
	const char *device = getenv("WEFT_DEVICE"), *other = getenv("OTHER_DEVICE");
	struct dci i = {}, back = {};
	struct ibv_ah_attr av;
	struct dct t = {};
	union ibv_gid gid;
	uint16_t lid;

	if (!other)
		return;
	open_named(other);
	make_dct(&t);
	make_dci(&back);
	SAME(ibv_query_gid(ctx, 1, gid4, &gid), 0);
	lid = port.lid;
	open_named(device ? device : "weft0");
	make_dci(&i);
	/* the own address is not that of the other device */
	av_to(&av, gid4, gid4);
	if (memcmp(&av.grh.dgid, &gid, sizeof(gid))) {
		dci_send(&i, &t, 1, 0, 50);
		expect_no_wc(i.cq);
		dci_to(i.qp, IBV_QPS_ERR);
		expect_wc(i.cq, 1, IBV_WC_WR_FLUSH_ERR);
		restart(&i);
	}
	av.grh.dgid = gid;
	av.dlid = lid;
	i.ah = ibv_create_ah(pd, &av);
	CHECK(i.ah);
	check_dc_works(&i, &t);
	fill(t.buf, BUF, 3);
	dci_rdma(&i, &t, IBV_WR_RDMA_READ, 2, 0, BUF);
	expect_ok(i.cq, 2);
	check_filled(i.buf, BUF, 3);
	check_dc_works(&back, &t);
}

TESTS(
	TEST(library), TEST(refused_creation), TEST(packets_refused), TEST(initiator_states),
	TEST(target_states), TEST(queried), TEST(sends), TEST(rdma), TEST(inline_data),
	TEST(windows), TEST(placement), TEST(refused_posts), TEST(many), TEST(batches),
	TEST(other_device), TEST(wrong_key),
	TEST(rights), TEST(nobody), TEST(other_host), TEST(no_receives), TEST(too_long),
	TEST(bad_receives), TEST(bad_addresses), TEST(forged), TEST(flushed), TEST(paging), TEST(overtaken),
	TEST(destroyed_target), TEST(killed_initiators), TEST(removed), TEST(refused_streams),
	TEST(streams), TEST(failed_streams), TEST(reset_streams), TEST(ends_all_streams),
	TEST(raw_requests), TEST(raw_requests_leave_nothing)
)
