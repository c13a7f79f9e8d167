/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The two ends of an extended reliable connection: an initiator and a target, both of this
 * process, and SRQs that messages go to.
 */
#ifndef TESTS_XRC_H
#define TESTS_XRC_H

#include "lib.h"

#include <fcntl.h>

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

static inline struct ibv_xrcd *open_domain(const char *path, int oflags)
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

static inline struct ibv_srq_init_attr_ex srq_attr(struct sink *sink, struct ibv_xrcd *domain)
{
	return (struct ibv_srq_init_attr_ex){
		.srq_context = sink,
		.attr = { .max_wr = 16, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = sink->pd,
		.xrcd = domain,
		.cq = sink->cq,
	};
}

static inline void make_sink(struct sink *sink, struct ibv_xrcd *domain)
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
	CHECK(sink->srq->srq_context == sink);
	SAME(ibv_get_srq_num(sink->srq, &sink->num), 0);
	CHECK(sink->num);
	sink->buf = memory(BUF);
	sink->mr = ibv_reg_mr(sink->pd, sink->buf, BUF, ACCESS_ALL);
	CHECK(sink->mr);
}

static inline void sink_post(struct sink *sink, uint64_t id, size_t off, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)sink->buf + off, length, sink->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	SAME(ibv_post_srq_recv(sink->srq, &wr, &bad), 0);
}

static inline void set_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = ACCESS_ALL | conf.access,
	};

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS), 0);
}

static inline void set_rtr(struct ibv_qp *qp, uint32_t dest, uint32_t psn, int more)
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

static inline void set_rts(struct ibv_qp *qp, uint32_t psn, int more)
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

static inline struct ibv_qp *make_target(void)
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

static inline struct ibv_qp *make_initiator(void)
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

static inline void set_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	SAME(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* a target works in RTR as well as in RTS */
static inline void connect_to_rtr(void)
{
	set_init(ini);
	set_init(tgt);
	set_rtr(ini, tgt->qp_num, PSN_TGT, 0);
	set_rtr(tgt, ini->qp_num, PSN_INI, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	set_rts(ini, PSN_INI, IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static inline void connect_pair(void)
{
	connect_to_rtr();
	set_rts(tgt, PSN_TGT, 0);
}

/* the initiator, its CQ and its memory */
static inline void make_sender(void)
{
	scq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	CHECK(scq);
	from = memory(BUF);
	from_mr = ibv_reg_mr(pd, from, BUF, ACCESS_ALL);
	CHECK(from_mr);
	ini = make_initiator();
}

static inline void make_unconnected(void)
{
	make_sender();
	tgt = make_target();
}

static inline void make_connected(void)
{
	xrcd = open_domain(NULL, O_CREAT);
	make_unconnected();
	connect_pair();
}

static inline int try_send(struct ibv_qp *qp, uint32_t srqn, struct ibv_send_wr *wr)
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

static inline struct ibv_send_wr request(enum ibv_wr_opcode opcode, struct ibv_sge *sge, uint64_t id)
{
	return (struct ibv_send_wr){
		.wr_id = id, .opcode = opcode, .sg_list = sge, .num_sge = 1,
		.imm_data = htobe32(0x12345678),
	};
}

static inline void send_to(uint32_t srqn, enum ibv_wr_opcode opcode, size_t off, uint32_t length,
		    uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)from + off, length, from_mr->lkey };
	struct ibv_send_wr wr = request(opcode, &sge, id);

	SAME(try_send(ini, srqn, &wr), 0);
}

static inline void rdma_to(struct sink *sink, uint32_t srqn, enum ibv_wr_opcode opcode, size_t off,
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

static inline void expect_received(struct sink *sink, uint64_t id, uint32_t length, int flags)
{
	struct ibv_wc wc = expect_ok(sink->cq, id);

	SAME(wc.byte_len, length);
	SAME(wc.wc_flags, flags);
	SAME(wc.qp_num, tgt->qp_num);
	if (flags & IBV_WC_WITH_IMM)
		SAME(be32toh(wc.imm_data), 0x12345678);
}

#endif /* TESTS_XRC_H */
