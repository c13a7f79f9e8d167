/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues that rdma_rxe's provider shares with the kernel, where it has mapped them, and its
 * doorbell. The provider trusts the queues, so a program that spoils them must not post and poll by it.
 */
#ifndef TESTS_RXEQUEUES_H
#define TESTS_RXEQUEUES_H

#include "lib.h"

#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>

struct queues {
	volatile struct rxe_queue_buf *scq, *rcq, *sq, *rq;
};

/* The queues of the last object: one, or the receive and the send queue of a QP. */
static void find_queues(volatile struct rxe_queue_buf **larger,
			volatile struct rxe_queue_buf **smaller)
{
	struct map maps[2];

	SAME(new_maps(maps, 2), smaller ? 2 : 1);
	*larger = maps[0].start;
	if (!smaller)
		return;
	*smaller = maps[1].start;
	if ((*larger)->log2_elem_size < (*smaller)->log2_elem_size) {
		*larger = maps[1].start;
		*smaller = maps[0].start;
	}
}

static void make_seen(struct end *e, struct queues *q, const struct conf *conf)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = conf->type,
		.srq = conf->srq,
		.cap = { conf->sq, conf->srq ? 0 : conf->rq, 2, conf->srq ? 0 : 2, 64 },
	};
	struct map old[64];

	new_maps(old, 64);
	memset(e, 0, sizeof(*e));
	e->conf = *conf;
	e->conf.gid = gid4;
	e->psn = 100;
	e->buf = memory(BUF);
	e->mr = ibv_reg_mr(pd, e->buf, BUF, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	CHECK(e->mr);
	e->scq = ibv_create_cq(ctx, conf->cqe, NULL, NULL, 0);
	CHECK(e->scq);
	find_queues(&q->scq, NULL);
	e->rcq = ibv_create_cq(ctx, conf->cqe, NULL, NULL, 0);
	CHECK(e->rcq);
	find_queues(&q->rcq, NULL);
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	e->qp = ibv_create_qp(pd, &attr);
	CHECK(e->qp);
	find_queues(&q->sq, conf->srq ? NULL : &q->rq);
}

/* IB_USER_VERBS_CMD_POST_SEND: the provider's doorbell has no work request. Return: 0 or an errno */
static int ring_with(struct end *e, uint32_t wr_count, uint32_t sge_count, size_t more)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_send_wr wr;
		struct ib_uverbs_sge sge;
	} __attribute__((packed)) req = {};
	size_t size = offsetof(typeof(req), wr) + more;
	struct ib_uverbs_post_send_resp resp;

	req.hdr.command = IB_USER_VERBS_CMD_POST_SEND;
	req.hdr.in_words = size / 4;
	req.hdr.out_words = sizeof(resp) / 4;
	req.cmd.response = (uintptr_t)&resp;
	req.cmd.qp_handle = e->qp->handle;
	req.cmd.wr_count = wr_count;
	req.cmd.sge_count = sge_count;
	req.cmd.wqe_size = sizeof(req.wr);
	req.wr.wr_id = 4711;
	req.wr.opcode = IB_UVERBS_WR_SEND;
	req.wr.send_flags = IBV_SEND_SIGNALED;
	req.wr.num_sge = sge_count;
	return write(ctx->cmd_fd, &req, size) == (ssize_t)size ? 0 : errno;
}

static int ring(struct end *e)
{
	return ring_with(e, 0, 0, 0);
}

#endif /* TESTS_RXEQUEUES_H */
