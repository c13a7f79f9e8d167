/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "compat.h"
#include "weft.h"
#include "weft-abi.h"

static struct weft_doorbell qp_doorbell(const struct weft_qp *qp,
					unsigned long cmd)
{
	struct ibv_context *context = qp->vqp.qp.context;

	return (struct weft_doorbell){
		.fd = to_weft_context(context)->doorbell_fd,
		.cmd = cmd,
		.qpn = qp->vqp.qp.qp_num,
	};
}

static int qp_init_queues(struct weft_qp *qp, struct ibv_pd *pd,
			  const struct ibv_qp_init_attr *attr,
			  const struct uweft_create_qp_resp *resp)
{
	bool locked = weft_pd_shared(pd);
	int cmd_fd = pd->context->cmd_fd;
	int ret;

	qp->sq.opcodes = weft_send_opcodes(attr->qp_type);
	qp->sq.max_inline = attr->cap.max_inline_data;
	qp->sq.flags = attr->sq_sig_all ? WEFT_SQE_SIGNALED : 0;
	qp->sq.queue.doorbell = qp_doorbell(qp, WEFT_DOORBELL_SEND);
	ret = weft_queue_init(&qp->sq.queue, cmd_fd, &resp->sq,
			      attr->cap.max_send_sge, locked);
	if (ret)
		return ret;

	qp->rq.doorbell = qp_doorbell(qp, WEFT_DOORBELL_RECV);
	ret = weft_queue_init(&qp->rq, cmd_fd, &resp->rq,
			      attr->cap.max_recv_sge, locked);
	if (ret)
		goto err_destroy_sq;
	return 0;

err_destroy_sq:
	weft_queue_destroy(&qp->sq.queue);
	return ret;
}

/* The part that plain and extended attributes have in common. */
static void qp_copy_attr(struct ibv_qp_init_attr_ex *to,
			 const struct ibv_qp_init_attr *from)
{
	to->qp_context = from->qp_context;
	to->send_cq = from->send_cq;
	to->recv_cq = from->recv_cq;
	to->srq = from->srq;
	to->cap = from->cap;
	to->qp_type = from->qp_type;
	to->sq_sig_all = from->sq_sig_all;
}

static struct weft_qp *qp_create(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr,
				 uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
		.create_flags = create_flags,
	};
	struct uweft_create_qp_resp resp = {};
	struct uweft_create_qp cmd = {};
	struct weft_qp *qp;
	int ret;

	if (!weft_send_opcodes(attr->qp_type)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	qp_copy_attr(&attr_ex, attr);
	cmd.cookie = (uintptr_t)qp;
	ret = weft_cmd_create_qp_ex2(pd->context, &qp->vqp, &attr_ex,
				     &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				     sizeof(resp));
	if (ret)
		goto err_free_qp;

	attr->cap = attr_ex.cap;
	ret = qp_init_queues(qp, pd, attr, &resp);
	if (ret)
		goto err_destroy_qp;
	return qp;

err_destroy_qp:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free_qp:
	free(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *weft_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct weft_qp *qp;

	qp = qp_create(pd, attr, 0);
	return qp ? &qp->vqp.qp : NULL;
}

/* Which QP types have the flag is for the kernel to say. */
static uint32_t qp_create_flags(const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS))
		return 0;
	return attr->create_flags;
}

/* 0, or the errno of an attribute that this device does not have */
static int qp_check_attr_ex(const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!check_comp_mask(qp_create_flags(attr),
			     IBV_QP_CREATE_BLOCK_SELF_MCAST_LB))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !check_comp_mask(attr->send_ops_flags,
			     weft_send_opcodes(attr->qp_type)))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	return 0;
}

static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		      offsetof(struct ibv_qp_init_attr, sq_sig_all),
	      "the extended attributes begin with the plain ones");

struct ibv_qp *weft_create_qp_ex(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr)
{
	struct weft_qp *qp;
	int ret;

	ret = qp_check_attr_ex(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	qp = qp_create(attr->pd, (struct ibv_qp_init_attr *)attr,
		       qp_create_flags(attr));
	if (!qp)
		return NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		weft_set_wr_ops(qp, attr->send_ops_flags);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return &qp->vqp.qp;
}

int weft_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/*
 * The kernel adds no completion of this QP any more. Those that were not polled
 * name slots that will mean something else, and a QP that will not exist.
 */
static void qp_forget_completions(struct weft_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	weft_cq_clean(to_weft_cq(ibqp->send_cq), qp);
	if (ibqp->recv_cq != ibqp->send_cq)
		weft_cq_clean(to_weft_cq(ibqp->recv_cq), qp);
}

/*
 * Completions first: until they are gone a poller may still store an old index
 * where the restart puts the new one. The state is set here too, and not only
 * by libibverbs after this call, so that no post gets in between.
 */
static void qp_restart(struct weft_qp *qp)
{
	struct weft_queue *sq = &qp->sq.queue;
	struct weft_queue *rq = &qp->rq;

	qp_forget_completions(qp);

	weft_lock(&sq->lock);
	qp->vqp.qp.state = IBV_QPS_RESET;
	weft_queue_restart(sq);
	weft_unlock(&sq->lock);

	weft_lock(&rq->lock);
	weft_queue_restart(rq);
	weft_unlock(&rq->lock);
}

int weft_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct ibv_modify_qp cmd;
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		qp_restart(to_weft_qp(ibqp));
	return 0;
}

int weft_destroy_qp(struct ibv_qp *ibqp)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	qp_forget_completions(qp);
	weft_queue_destroy(&qp->rq);
	weft_queue_destroy(&qp->sq.queue);
	free(qp);
	return 0;
}
