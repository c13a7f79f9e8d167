/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

/* Finish a creation with result @ret: return the SRQ, or free it, set errno and return NULL. */
static struct ibv_srq *srq_finish(struct weft_srq *srq, int ret,
				  struct ibv_pd *pd,
				  const struct weft_ring_resp *ring,
				  uint32_t max_sge)
{
	if (ret)
		goto err_free_srq;

	ret = weft_ring_map(&srq->rq.ring, pd->context->cmd_fd, ring);
	if (ret)
		goto err_destroy_srq;
	srq->rq.posting = to_weft_context(pd->context)->posting;
	weft_queue_init(&srq->rq, max_sge, weft_pd_shared(pd));
	srq->parent = weft_parent_use(pd);
	return &srq->vsrq.srq;

err_destroy_srq:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free_srq:
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *weft_create_srq(struct ibv_pd *pd,
				struct ibv_srq_init_attr *attr)
{
	struct uweft_create_srq_resp resp = {};
	struct uweft_create_srq cmd = {};
	struct weft_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	srq->vsrq.srq_type = IBV_SRQT_BASIC;
	srq->vsrq.srq_num = resp.drv.srqn;
	return srq_finish(srq, ret, pd, &resp.drv.rq, attr->attr.max_sge);
}

static struct ibv_srq *srq_create_ex(struct ibv_context *context,
				     struct ibv_srq_init_attr_ex *attr)
{
	struct uweft_create_xsrq_resp resp = {};
	struct uweft_create_xsrq cmd = {};
	struct weft_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	ret = ibv_cmd_create_srq_ex(context, &srq->vsrq, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	/* libibverbs sets it for a basic SRQ only */
	srq->vsrq.srq.srq_context = attr->srq_context;
	srq->vsrq.srq_num = resp.drv.srqn;
	return srq_finish(srq, ret, attr->pd, &resp.drv.rq, attr->attr.max_sge);
}

/* libibverbs calls weft_create_srq() for a basic SRQ. */
struct ibv_srq *weft_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr)
{
	uint32_t needed = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			  IBV_SRQ_INIT_ATTR_CQ;

	needed |= attr->srq_type == IBV_SRQT_TM ? IBV_SRQ_INIT_ATTR_TM :
						  IBV_SRQ_INIT_ATTR_XRCD;
	if (!check_comp_mask(attr->comp_mask, needed) ||
	    (attr->srq_type != IBV_SRQT_XRC && attr->srq_type != IBV_SRQT_TM)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask != needed ||
	    (attr->srq_type == IBV_SRQT_TM &&
	     attr->tm_cap.max_ops > WEFT_MAX_TAG_OPS)) {
		errno = EINVAL;
		return NULL;
	}
	return srq_create_ex(context, attr);
}

/*
 * The kernel moves the posted work requests to a new ring. The lock prevents
 * posts from before that until the new ring is mapped.
 */
static int srq_resize(struct weft_srq *srq, struct ibv_srq_attr *attr,
		      int attr_mask)
{
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct weft_ring_resp where = {};
	struct uweft_modify_srq cmd = {
		.drv.ring_addr = (uintptr_t)&where,
	};
	int ret;

	weft_lock(&srq->rq.lock);
	ret = ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd.ibv_cmd,
				 sizeof(cmd));
	if (!ret) {
		ret = weft_ring_replace(&srq->rq.ring, ibsrq->context->cmd_fd,
					&where);
		weft_queue_restart(&srq->rq);
	}
	weft_unlock(&srq->rq.lock);
	return ret;
}

int weft_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		    int attr_mask)
{
	struct uweft_modify_srq cmd = {};

	if (attr_mask & IBV_SRQ_MAX_WR)
		return srq_resize(to_weft_srq(ibsrq), attr, attr_mask);
	return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd.ibv_cmd,
				  sizeof(cmd));
}

int weft_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int weft_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	*srq_num = to_weft_srq(ibsrq)->vsrq.srq_num;
	return 0;
}

int weft_destroy_srq(struct ibv_srq *ibsrq)
{
	struct weft_srq *srq = to_weft_srq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	weft_queue_destroy(&srq->rq);
	weft_parent_unuse(srq->parent);
	free(srq);
	return 0;
}
