// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* SRQs with tags; initiators and targets of dynamic connections. */
#include "nomem.h"

#include <endian.h>
#include <infiniband/tm_types.h>

#define KEY	0x1122334455667788ULL
#define TMH	((uint32_t)sizeof(struct ibv_tmh))

static struct ibv_srq *srq;
static struct ibv_qp *qp;

/*
 * ---- Tags ----
 */

static int create_tag_srq(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM, .pd = pd, .cq = a.rcq,
		.tm_cap = { .max_num_tags = 64, .max_ops = 16 },
	};

	return of_pointer(srq = ibv_create_srq_ex(ctx, &attr));
}

static void create_tag_srq_undo(void)
{
	SAME(ibv_destroy_srq(srq), 0);
}

static uint32_t handle;

static int list_operation(enum ibv_ops_wr_opcode opcode, size_t off)
{
	struct ibv_sge sge = { (uintptr_t)a.buf + off, 1000, a.mr->lkey };
	struct ibv_ops_wr wr = {
		.wr_id = 7, .opcode = opcode, .flags = IBV_OPS_SIGNALED, .tm.handle = handle,
	}, *bad;
	int ret;

	if (opcode == IBV_WR_TAG_ADD) {
		wr.tm.add.recv_wr_id = 8;
		wr.tm.add.sg_list = &sge;
		wr.tm.add.num_sge = 1;
		wr.tm.add.tag = 5;
		wr.tm.add.mask = UINT64_MAX;
	}
	ret = ibv_post_srq_ops(srq, &wr, &bad);
	if (!ret)
		expect_ok(a.rcq, 7);
	handle = wr.tm.handle;
	return ret;
}

static int add_tag(void)
{
	return list_operation(IBV_WR_TAG_ADD, 4096);
}

static void delete_tag(void)
{
	SAME(list_operation(IBV_WR_TAG_DEL, 0), 0);
}

static int sync_tags(void)
{
	return list_operation(IBV_WR_TAG_SYNC, 0);
}

/* an eager message matches a tag */
static void uses_tags(void)
{
	struct ibv_tmh header = { .opcode = IBV_TMH_EAGER, .tag = htobe64(5) };

	make(&b, CONF(.sq = 0, .rq = 0, .srq = srq));
	connect_ends(&a, &b);
	SAME(add_tag(), 0);
	fill(a.buf, 1000, 4);
	memcpy(a.buf, &header, TMH);
	post(&a, swr(&a, 1, IBV_WR_SEND, 0, 500));
	expect_ok(a.scq, 1);
	expect_ok(a.rcq, 8);
	SAME(memcmp(a.buf + 4096, a.buf + TMH, 500 - TMH), 0);
	unmake(&b);
}

void tags(void)
{
	make(&a, CONF());
	WALK(create_tag_srq);
	CHECK(failures);
	SAME(create_tag_srq(), 0);
	walk("add_tag", add_tag, delete_tag);
	walk("sync_tags", sync_tags, nothing);
	uses_tags();
	create_tag_srq_undo();
}

/*
 * ---- Dynamic connections ----
 */

static enum weftdv_dc_type dc_type;
static struct weftdv_dci_streams streams;

static int create_dc(void)
{
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DC, .dc_init_attr.dc_type = dc_type,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = a.scq, .recv_cq = b.rcq, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	if (dc_type == WEFTDV_DCTYPE_DCT) {
		attr.srq = srq;
		dv.dc_init_attr.dct_access_key = KEY;
	} else {
		attr.cap = (struct ibv_qp_cap){ .max_send_wr = 64, .max_send_sge = 2 };
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				      IBV_QP_EX_WITH_RDMA_READ;
		dv.comp_mask |= WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		dv.dc_init_attr.dci_streams = streams;
	}
	return of_pointer(qp = weftdv_create_qp(ctx, &attr, &dv));
}

static void create_dc_undo(void)
{
	SAME(ibv_destroy_qp(qp), 0);
}

static enum ibv_qp_state target;
static int dc_step_up(void)
{
	bool initiator = dc_type == WEFTDV_DCTYPE_DCI;
	struct ibv_qp_attr attr = {
		.qp_state = target, .port_num = 1, .qp_access_flags = ACCESS_ALL,
		.path_mtu = port.active_mtu, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE;

	av_to(&attr.ah_attr, gid4, gid4);
	switch (target) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (initiator ? 0 : IBV_QP_ACCESS_FLAGS);
		break;
	case IBV_QPS_RTR:
		mask |= IBV_QP_PATH_MTU | (initiator ? 0 : IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
		break;
	default:
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN;
	}
	return of_number(ibv_modify_qp(qp, &attr, mask));
}

/* Return: the last state, RTR of targets, RTS of initiators */
static enum ibv_qp_state dc_last(void)
{
	return dc_type == WEFTDV_DCTYPE_DCT ? IBV_QPS_RTR : IBV_QPS_RTS;
}

/* to the state before; a target has no way back to RESET */
static void dc_step_up_undo(void)
{
	enum ibv_qp_state last = target;

	create_dc_undo();
	SAME(create_dc(), 0);
	for (target = IBV_QPS_INIT; target < last; target++)
		SAME(dc_step_up(), 0);
}

static void walk_dc(enum weftdv_dc_type type)
{
	dc_type = type;
	streams = (struct weftdv_dci_streams){};
	WALK(create_dc);
	streams = (struct weftdv_dci_streams){ .log_num_concurent = 4, .log_num_errored = 2 };
	WALK(create_dc);
	SAME(create_dc(), 0);
	for (target = IBV_QPS_INIT; target <= dc_last(); target++) {
		WALK(dc_step_up);
		SAME(dc_step_up(), 0);
	}
	create_dc_undo();
}

static struct ibv_qp *make_one(enum weftdv_dc_type type)
{
	dc_type = type;
	SAME(create_dc(), 0);
	for (target = IBV_QPS_INIT; target <= dc_last(); target++)
		SAME(dc_step_up(), 0);
	return qp;
}

static struct ibv_qp *initiator, *dct;
static struct ibv_ah *ah;

static void make_parts(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 64, .max_sge = 2 } };

	make(&a, CONF());
	make(&b, CONF());
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq);
	streams = (struct weftdv_dci_streams){};
}

void make_dc(void)
{
	make_parts();
	initiator = make_one(WEFTDV_DCTYPE_DCI);
	dct = make_one(WEFTDV_DCTYPE_DCT);
	ah = ah_to(gid4, gid4);
}

void unmake_dc(void)
{
	SAME(ibv_destroy_ah(ah), 0);
	SAME(ibv_destroy_qp(initiator), 0);
	SAME(ibv_destroy_qp(dct), 0);
	SAME(ibv_destroy_srq(srq), 0);
	unmake(&a);
	unmake(&b);
}

void dc_restart(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	SAME(ibv_modify_qp(initiator, &attr, IBV_QP_STATE), 0);
	dc_type = WEFTDV_DCTYPE_DCI;
	qp = initiator;
	for (target = IBV_QPS_INIT; target <= IBV_QPS_RTS; target++)
		SAME(dc_step_up(), 0);
}

enum ibv_wc_status dc_request(enum ibv_wr_opcode op, uint32_t length)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(initiator);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (op == IBV_WR_SEND) {
		post_srq(srq, &b, 2, 0, BUF);
		ibv_wr_send(ex);
	} else if (op == IBV_WR_RDMA_READ) {
		ibv_wr_rdma_read(ex, b.mr->rkey, (uintptr_t)b.buf);
	} else {
		ibv_wr_rdma_write(ex, b.mr->rkey, (uintptr_t)b.buf);
	}
	weftdv_wr_set_dc_addr(weftdv_qp_ex_from_ibv_qp_ex(ex), ah, dct->qp_num, KEY);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.buf, length);
	SAME(ibv_wr_complete(ex), 0);
	return next_wc(a.scq).status;
}

static void uses_dc(void)
{
	make_dc();
	fill(a.buf, 1000, 4);
	SAME(dc_request(IBV_WR_SEND, 1000), IBV_WC_SUCCESS);
	expect_ok(b.rcq, 2);
	check_filled(b.buf, 1000, 4);
	unmake_dc();
}

void dynamic(void)
{
	make_parts();
	walk_dc(WEFTDV_DCTYPE_DCI);
	walk_dc(WEFTDV_DCTYPE_DCT);
	CHECK(failures);
	SAME(ibv_destroy_srq(srq), 0);
	unmake(&a);
	unmake(&b);
	uses_dc();
}
