/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

static int wq_post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	return weft_post_recv(&to_weft_wq(ibwq)->half.vqp.qp, wr, bad_wr);
}

/* 0, or an errno if the device does not support an attribute. */
static int wq_check_attr(const struct ibv_wq_init_attr *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_WQ_INIT_ATTR_FLAGS))
		return EOPNOTSUPP;
	return attr->wq_type == IBV_WQT_RQ ? 0 : EINVAL;
}

/* Map the ring of a new WQ. Its QP has no send queue here. */
static int wq_init_half(struct weft_wq *wq, const struct ibv_wq_init_attr *attr,
			const struct weft_create_qp_resp *resp)
{
	struct ibv_qp_init_attr_ex qp_attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap.max_recv_sge = attr->max_sge,
		.pd = attr->pd,
	};
	struct ibv_qp *qp = &wq->half.vqp.qp;

	qp->context = wq->wq.context;
	qp->qp_num = wq->wq.wq_num;
	qp->qp_type = IBV_QPT_RAW_PACKET;
	qp->recv_cq = attr->cq;
	qp->state = IBV_QPS_RESET;
	return weft_qp_init_queues(&wq->half, &qp_attr, resp);
}

struct ibv_wq *weft_create_wq(struct ibv_context *context,
			      struct ibv_wq_init_attr *attr)
{
	struct uweft_create_wq_resp resp = {};
	struct uweft_create_wq cmd = {};
	struct weft_wq *wq;
	int ret;

	ret = wq_check_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return NULL;

	cmd.drv.cookie = (uintptr_t)&wq->half;
	ret = ibv_cmd_create_wq(context, attr, &wq->wq, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free_wq;

	ret = wq_init_half(wq, attr, &resp.drv);
	if (ret)
		goto err_destroy_wq;
	wq->wq.state = IBV_WQS_RESET;
	wq->wq.post_recv = wq_post_recv;
	wq->half.parent = weft_parent_use(attr->pd);
	return &wq->wq;

err_destroy_wq:
	ibv_cmd_destroy_wq(&wq->wq);
err_free_wq:
	free(wq);
	errno = ret;
	return NULL;
}

/* Some kernels would never let a WQ go after a state that there is not. */
static int wq_check_states(const struct ibv_wq_attr *attr)
{
	if ((attr->attr_mask & IBV_WQ_ATTR_STATE) &&
	    attr->wq_state > IBV_WQS_ERR)
		return EINVAL;
	if ((attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) &&
	    attr->curr_wq_state > IBV_WQS_ERR)
		return EINVAL;
	return 0;
}

int weft_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct weft_qp *half = &to_weft_wq(ibwq)->half;
	struct ibv_modify_wq cmd = {};
	int ret;

	ret = wq_check_states(attr);
	if (ret)
		return ret;

	ret = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (ret || !(attr->attr_mask & IBV_WQ_ATTR_STATE))
		return ret;

	if (attr->wq_state == IBV_WQS_RESET)
		weft_qp_restart(half);
	else
		half->vqp.qp.state = attr->wq_state == IBV_WQS_RDY ?
					     IBV_QPS_RTR : IBV_QPS_ERR;
	return 0;
}

int weft_destroy_wq(struct ibv_wq *ibwq)
{
	struct weft_wq *wq = to_weft_wq(ibwq);
	int ret;

	ret = ibv_cmd_destroy_wq(ibwq);
	if (ret)
		return ret;

	weft_qp_end_queues(&wq->half);
	free(wq);
	return 0;
}
