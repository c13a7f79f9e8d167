/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		.ask = cmd == WEFT_DOORBELL_SEND ? WEFT_ASK_SEND :
						   WEFT_ASK_RECV,
	};
}

/* Both rings are in the same memory. A QP that another process has created has no rings here. */
static int qp_map_rings(struct weft_qp *qp,
			const struct weft_create_qp_resp *resp)
{
	struct ibv_context *context = qp->vqp.qp.context;
	struct weft_map *map;

	if (!resp->sq.mmap_size) {
		weft_ring_absent(&qp->sq.queue.ring);
		weft_ring_absent(&qp->rq.ring);
		return 0;
	}

	map = weft_map_get(&to_weft_context(context)->maps, context->cmd_fd,
			   &resp->sq, resp->pages_id);
	if (!map)
		return errno;
	weft_ring_place(&qp->sq.queue.ring, map, &resp->sq);
	weft_ring_place(&qp->rq.ring, map, &resp->rq);
	weft_map_put(map);
	return 0;
}

/* The opcodes of the QP type, and TSO if the QP is created for it. */
static uint32_t qp_opcodes(struct ibv_context *context,
			   const struct ibv_qp_init_attr_ex *attr)
{
	return weft_send_opcodes(context, attr->qp_type) |
	       (attr->max_tso_header ? 1 << IBV_WR_TSO : 0);
}

int weft_qp_init_queues(struct weft_qp *qp,
			const struct ibv_qp_init_attr_ex *attr,
			const struct weft_create_qp_resp *resp)
{
	bool locked = attr->pd && weft_pd_shared(attr->pd);
	int ret;

	ret = qp_map_rings(qp, resp);
	if (ret)
		return ret;

	qp->sq.opcodes = qp_opcodes(qp->vqp.qp.context, attr);
	qp->sq.send_flags = weft_send_flags(qp->vqp.qp.context, attr->qp_type);
	qp->sq.addressed = weft_addressed_opcodes(attr->qp_type);
	qp->sq.connectionless = attr->qp_type == IBV_QPT_UD ||
				attr->qp_type == IBV_QPT_RAW_PACKET;
	qp->sq.max_inline = attr->cap.max_inline_data;
	qp->sq.max_tso_header = attr->max_tso_header;
	qp->sq.flags = attr->sq_sig_all ? WEFT_SQE_SIGNALED : 0;
	qp->sq.queue.doorbell = qp_doorbell(qp, WEFT_DOORBELL_SEND);
	qp->sq.queue.posting = to_weft_context(qp->vqp.qp.context)->posting;
	weft_queue_init(&qp->sq.queue, attr->cap.max_send_sge, locked);

	qp->rq.doorbell = qp_doorbell(qp, WEFT_DOORBELL_RECV);
	qp->rq.posting = qp->sq.queue.posting;
	weft_queue_init(&qp->rq, attr->cap.max_recv_sge, locked);
	return 0;
}

/* Copy the members that plain and extended attributes have in common. */
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

static struct weft_qp *qp_create(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr,
				 const struct weft_qp_extra *extra)
{
	struct uweft_create_qp_resp resp = {};
	struct uweft_create_dc dc_cmd = {};
	struct uweft_create_qp cmd = {};
	struct weft_qp *qp;
	int ret;

	if (!weft_send_opcodes(context, attr->qp_type) &&
	    attr->qp_type != IBV_QPT_XRC_RECV && !extra->dc) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	cmd.drv.cookie = (uintptr_t)qp;
	cmd.drv.max_tso_header = attr->max_tso_header;
	cmd.drv.flags = extra->flags;
	if (extra->dc) {
		dc_cmd.drv = *extra->dc;
		dc_cmd.drv.cookie = (uintptr_t)qp;
	}
	ret = ibv_cmd_create_qp_ex2(context, &qp->vqp, attr,
				    extra->dc ? &dc_cmd.ibv_cmd : &cmd.ibv_cmd,
				    extra->dc ? sizeof(dc_cmd) : sizeof(cmd),
				    &resp.ibv_resp,
#if VERBS_PABI >= 64
				    sizeof(resp), NULL);
#else
				    sizeof(resp));
#endif
	if (ret)
		goto err_free_qp;

	ret = weft_qp_init_queues(qp, attr, &resp.drv);
	if (ret)
		goto err_destroy_qp;
	qp->parent = weft_parent_use(attr->pd);
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
	struct ibv_qp_init_attr_ex attr_ex = {
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = pd,
	};
	struct weft_qp *qp;

	qp_copy_attr(&attr_ex, attr);
	qp = qp_create(pd->context, &attr_ex, &(struct weft_qp_extra){});
	if (!qp)
		return NULL;

	attr->cap = attr_ex.cap;
	return &qp->vqp.qp;
}

enum {
	QP_CREATE_FLAGS = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB |
			  IBV_QP_CREATE_SOURCE_QPN |
			  IBV_QP_CREATE_PCI_WRITE_END_PADDING,
	/* of RAW_PACKET */
	QP_CREATE_FRAME_FLAGS = IBV_QP_CREATE_CVLAN_STRIPPING |
				IBV_QP_CREATE_SCATTER_FCS,
};

/* The kernel checks whether the QP type supports a flag. */
static uint32_t qp_create_flags(const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS))
		return 0;
	return attr->create_flags;
}

/* The padding of PCI writes is a hint; the kernel's core accepts it for UD only. */
static uint32_t qp_kernel_flags(const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t flags = qp_create_flags(attr);

	if (attr->qp_type != IBV_QPT_UD)
		flags &= ~IBV_QP_CREATE_PCI_WRITE_END_PADDING;
	return flags;
}

/* The attribute for the object that a QP of this type belongs to. */
static uint32_t qp_owner(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD :
						   IBV_QP_INIT_ATTR_PD;
}

/* 0, or an errno if the device does not support an attribute. */
static int qp_check_attr_ex(struct ibv_context *context,
			    const struct ibv_qp_init_attr_ex *attr,
			    uint32_t opcodes)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!check_comp_mask(qp_create_flags(attr),
			     QP_CREATE_FLAGS | QP_CREATE_FRAME_FLAGS))
		return EOPNOTSUPP;
	if (attr->qp_type != IBV_QPT_RAW_PACKET &&
	    (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ||
	     qp_create_flags(attr) & QP_CREATE_FRAME_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !check_comp_mask(attr->send_ops_flags,
			     weft_wr_ops(context, opcodes)))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & qp_owner(attr)))
		return EINVAL;
	return 0;
}

/* An mkey of any QP that has such work requests can have a list of 4, or 3 interleaved entries. */
#define LEAST_MKEY_SGES	6U

static_assert(offsetof(struct ibv_qp_init_attr_ex, sq_sig_all) ==
		      offsetof(struct ibv_qp_init_attr, sq_sig_all),
	      "the extended attributes begin with the plain ones");

struct ibv_qp *weft_create_qp_ex(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr)
{
	return weft_create_qp_extra(context, attr, &(struct weft_qp_extra){});
}

struct ibv_qp *weft_create_qp_extra(struct ibv_context *context,
				    struct ibv_qp_init_attr_ex *attr,
				    const struct weft_qp_extra *extra)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.comp_mask = qp_owner(attr) | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = qp_kernel_flags(attr),
	};
	struct weft_qp *qp;
	int ret;

	if (attr->qp_type == IBV_QPT_RAW_PACKET &&
	    attr->comp_mask &
		    (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH))
		return weft_create_rss_qp(context, attr, extra->flags);

	attr_ex.qp_type = attr->qp_type;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER)
		attr_ex.max_tso_header = attr->max_tso_header;
	/* a DC initiator has the functions of RC, but ibv_post_send() has no room for a target */
	ret = qp_check_attr_ex(context, attr,
			       extra->dc ? weft_send_opcodes(context, IBV_QPT_RC) :
					   qp_opcodes(context, &attr_ex));
	if (ret) {
		errno = ret;
		return NULL;
	}

	if (attr->qp_type == IBV_QPT_XRC_RECV)
		attr_ex.xrcd = attr->xrcd;
	else
		attr_ex.pd = attr->pd;
	if (attr_ex.create_flags & IBV_QP_CREATE_SOURCE_QPN)
		attr_ex.source_qpn = attr->source_qpn;
	qp_copy_attr(&attr_ex, (const struct ibv_qp_init_attr *)attr);
	if (extra->mkey_ops && attr_ex.cap.max_send_sge < LEAST_MKEY_SGES)
		attr_ex.cap.max_send_sge = LEAST_MKEY_SGES;
	qp = qp_create(context, &attr_ex, extra);
	if (!qp)
		return NULL;

	attr->cap = attr_ex.cap;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		weft_set_wr_ops(qp, attr->send_ops_flags);
		qp->vqp.tail[to_weft_context(context)->qp_mask].comp_mask |=
			VERBS_QP_EX;
	}
	weft_set_mkey_ops(qp, extra->mkey_ops);
	qp->pipelines = extra->flags & WEFT_QP_SIG_PIPELINING;
	if (extra->dc)
		weft_set_dc_ops(qp, extra->dc);
	return &qp->vqp.qp;
}

/* Open an XRC target of another process. All operations on it are system calls. */
struct ibv_qp *weft_open_qp(struct ibv_context *context,
			    struct ibv_qp_open_attr *attr)
{
	struct ibv_qp_init_attr_ex no_attr = { .qp_type = IBV_QPT_XRC_RECV };
	struct weft_create_qp_resp no_queues = {};
	struct ib_uverbs_create_qp_resp resp;
	struct ibv_open_qp cmd = {};
	struct weft_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = ibv_cmd_open_qp(context, &qp->vqp, sizeof(qp->vqp), attr, &cmd,
			      sizeof(cmd), &resp, sizeof(resp));
	if (ret)
		goto err_free_qp;

	ret = weft_qp_init_queues(qp, &no_attr, &no_queues);
	if (ret)
		goto err_destroy_qp;
	return &qp->vqp.qp;

err_destroy_qp:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free_qp:
	free(qp);
	errno = ret;
	return NULL;
}

int weft_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;
	int ret;

	ret = ibv_cmd_query_qp(ibqp, attr, attr_mask & ~IBV_QP_RATE_LIMIT,
			       init_attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	if (attr_mask & IBV_QP_RATE_LIMIT)
		attr->rate_limit = to_weft_qp(ibqp)->rate_limit;
	return 0;
}

/*
 * Remove the completions that were not polled: they refer to slots that will be
 * used again, and to a QP that may be freed. The kernel adds no completion of
 * this QP any more.
 */
static void qp_forget_completions(struct weft_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	/* an XRC target uses no CQ, an initiator no receive CQ: these may have been destroyed */
	if (ibqp->qp_type == IBV_QPT_XRC_RECV)
		return;
	if (ibqp->send_cq)
		weft_cq_clean(to_weft_cq(ibqp->send_cq), qp);
	if (ibqp->recv_cq && ibqp->recv_cq != ibqp->send_cq &&
	    ibqp->qp_type != IBV_QPT_XRC_SEND)
		weft_cq_clean(to_weft_cq(ibqp->recv_cq), qp);
	/* the CQ of all receives if the SRQ has tags */
	if (ibqp->srq && to_weft_srq(ibqp->srq)->vsrq.srq_type == IBV_SRQT_TM)
		weft_cq_clean(to_weft_cq(to_weft_srq(ibqp->srq)->vsrq.cq), qp);
}

/*
 * Restart the queues after a RESET. The completions are removed first: before
 * that a poller may still store an old index in @released, which the restart
 * resets. Work requests that were posted since the kernel's RESET are discarded:
 * the kernel does not look at the queues before the next INIT. libibverbs sets
 * the state after this call; it is set here, too, so that nothing can be posted
 * after the restart.
 */
void weft_qp_restart(struct weft_qp *qp)
{
	struct weft_queue *sq = &qp->sq.queue;
	struct weft_queue *rq = &qp->rq;

	qp_forget_completions(qp);
	qp->rate_limit = 0;

	weft_lock(&sq->lock);
	qp->vqp.qp.state = IBV_QPS_RESET;
	weft_ring_publish(&sq->ring, 0);
	weft_queue_restart(sq);
	weft_unlock(&sq->lock);

	weft_lock(&rq->lock);
	weft_ring_publish(&rq->ring, 0);
	weft_queue_restart(rq);
	weft_unlock(&rq->lock);
}

static bool queue_exceeds(struct weft_queue *queue, uint32_t max_wr)
{
	return max_wr && weft_queue_used(queue) > max_wr;
}

static void qp_get_cap(const struct weft_qp *qp, struct ibv_qp_cap *cap)
{
	cap->max_send_wr = qp->sq.queue.ring.entries;
	cap->max_recv_wr = qp->rq.ring.entries;
	cap->max_send_sge = qp->sq.queue.max_sge;
	cap->max_recv_sge = qp->rq.max_sge;
	cap->max_inline_data = qp->sq.max_inline;
}

static int qp_switch_rings(struct weft_qp *qp,
			   const struct weft_modify_qp_resp *resp)
{
	int cmd_fd = qp->vqp.qp.context->cmd_fd;
	int sq_ret;
	int rq_ret;

	sq_ret = weft_queue_replace(&qp->sq.queue, cmd_fd, &resp->sq);
	rq_ret = weft_queue_replace(&qp->rq, cmd_fd, &resp->rq);
	return sq_ret ? sq_ret : rq_ret;
}

/* Modify attributes that the plain command has no room for. */
static int qp_modify_ex(struct weft_qp *qp, struct ibv_qp_attr *attr,
			int attr_mask, struct uweft_modify_qp *cmd,
			struct uweft_modify_qp_resp *resp)
{
	int ret;

	ret = ibv_cmd_modify_qp_ex(&qp->vqp.qp, attr, attr_mask, &cmd->ibv_cmd,
				   sizeof(*cmd), &resp->ibv_resp,
				   sizeof(*resp));
	if (ret)
		return ret;

	if (attr_mask & IBV_QP_RATE_LIMIT)
		qp->rate_limit = attr->rate_limit;
	return 0;
}

/* Both queues are locked. */
static int qp_resize_locked(struct weft_qp *qp, struct ibv_qp_attr *attr,
			    int attr_mask, struct uweft_modify_qp *cmd)
{
	struct uweft_modify_qp_resp resp = {};
	int ret;

	cmd->drv.max_send_wr = attr->cap.max_send_wr;
	cmd->drv.max_recv_wr = attr->cap.max_recv_wr;
	cmd->drv.max_send_sge = attr->cap.max_send_sge;
	cmd->drv.max_recv_sge = attr->cap.max_recv_sge;
	cmd->drv.max_inline_data = attr->cap.max_inline_data;

	/* slots are in use until their completions have been polled */
	if (queue_exceeds(&qp->sq.queue, attr->cap.max_send_wr) ||
	    queue_exceeds(&qp->rq, attr->cap.max_recv_wr))
		return EINVAL;

	ret = qp_modify_ex(qp, attr, attr_mask, cmd, &resp);
	if (ret)
		return ret;

	ret = qp_switch_rings(qp, &resp.drv);
	qp_get_cap(qp, &attr->cap);
	return ret;
}

/*
 * The kernel moves the posted work requests to new rings. The locks prevent
 * posts from before that until the new rings are mapped.
 */
static int qp_resize(struct weft_qp *qp, struct ibv_qp_attr *attr,
		     int attr_mask, struct uweft_modify_qp *cmd)
{
	int ret;

	weft_lock(&qp->sq.queue.lock);
	weft_lock(&qp->rq.lock);
	ret = qp_resize_locked(qp, attr, attr_mask, cmd);
	weft_unlock(&qp->rq.lock);
	weft_unlock(&qp->sq.queue.lock);
	return ret;
}

/*
 * On RoCE the kernel's core refuses IBV_QP_ALT_PATH, so the alternate path is
 * passed to the driver separately, in weft_modify_qp_req.
 */
static int qp_set_alt_path(struct ibv_context *context,
			   const struct ibv_qp_attr *attr, int *attr_mask,
			   struct weft_alt_path *alt)
{
	const struct ibv_ah_attr *ah = &attr->alt_ah_attr;
	struct ibv_port_attr port;
	int ret;

	if (!(*attr_mask & IBV_QP_ALT_PATH))
		return 0;

	ret = ibv_query_port(context, ah->port_num, &port);
	if (ret)
		return ret;
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	if (!ah->is_global)
		return EINVAL;

	*attr_mask &= ~IBV_QP_ALT_PATH;
	memcpy(alt->dgid, ah->grh.dgid.raw, sizeof(alt->dgid));
	alt->flow_label = ah->grh.flow_label;
	alt->sgid_index = ah->grh.sgid_index;
	alt->hop_limit = ah->grh.hop_limit;
	alt->traffic_class = ah->grh.traffic_class;
	alt->sl = ah->sl;
	alt->static_rate = ah->static_rate;
	alt->port_num = ah->port_num;
	alt->timeout = attr->alt_timeout;
	alt->pkey_index = attr->alt_pkey_index;
	alt->alt_port_num = attr->alt_port_num;
	return 0;
}

int weft_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct uweft_modify_qp_resp resp_ex = {};
	struct uweft_modify_qp cmd_ex = {};
	struct ibv_modify_qp cmd;
	int ret;

	ret = qp_set_alt_path(ibqp->context, attr, &attr_mask, &cmd_ex.drv.alt);
	if (ret)
		return ret;

	if (attr_mask & IBV_QP_CAP)
		return qp_resize(to_weft_qp(ibqp), attr, attr_mask, &cmd_ex);
	if (attr_mask & IBV_QP_RATE_LIMIT || cmd_ex.drv.alt.port_num)
		return qp_modify_ex(to_weft_qp(ibqp), attr, attr_mask, &cmd_ex,
				    &resp_ex);

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	if ((attr_mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET)
		weft_qp_restart(to_weft_qp(ibqp));
	return 0;
}

int weft_modify_qp_rate_limit(struct ibv_qp *ibqp,
			      struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_attr qp_attr = {
		.rate_limit = attr->rate_limit,
	};
	struct uweft_modify_qp cmd = {
		.drv.max_burst_sz = attr->max_burst_sz,
		.drv.typical_pkt_sz = attr->typical_pkt_sz,
	};
	struct uweft_modify_qp_resp resp = {};

	if (attr->comp_mask)
		return EINVAL;
	return qp_modify_ex(to_weft_qp(ibqp), &qp_attr, IBV_QP_RATE_LIMIT, &cmd,
			    &resp);
}

void weft_qp_end_queues(struct weft_qp *qp)
{
	qp_forget_completions(qp);
	weft_queue_destroy(&qp->rq);
	weft_queue_destroy(&qp->sq.queue);
	weft_parent_unuse(qp->parent);
}

int weft_destroy_qp(struct ibv_qp *ibqp)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	weft_qp_end_queues(qp);
	free(qp);
	return 0;
}
