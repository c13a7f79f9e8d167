/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weft.h"
#include "weft-abi.h"

struct ibv_rwq_ind_table *
weft_create_rwq_ind_table(struct ibv_context *context,
			  struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int ret;

	/* libibverbs has a command with all handles on its stack */
	if (attr->log_ind_tbl_size > IB_USER_VERBS_MAX_LOG_IND_TBL_SIZE) {
		errno = EINVAL;
		return NULL;
	}

	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;

	ret = ibv_cmd_create_rwq_ind_table(context, attr, table, &resp,
					   sizeof(resp));
	if (ret) {
		free(table);
		errno = ret;
		return NULL;
	}
	return table;
}

int weft_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int ret;

	ret = ibv_cmd_destroy_rwq_ind_table(table);
	if (ret)
		return ret;

	free(table);
	return 0;
}

/* 0, or an errno: an RSS QP has no queues of its own. */
static int rss_check_attr(const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t needed = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			  IBV_QP_INIT_ATTR_RX_HASH;
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;

	if ((attr->comp_mask & needed) != needed)
		return EINVAL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return EINVAL;
	if (!check_comp_mask(attr->comp_mask,
			     needed | IBV_QP_INIT_ATTR_CREATE_FLAGS))
		return EOPNOTSUPP;
	if (attr->cap.max_send_wr)
		return EINVAL;
	return conf->rx_hash_key_len == WEFT_RX_HASH_KEY ? 0 : EINVAL;
}

static void rss_fill_request(struct weft_create_rss_req *req,
			     const struct ibv_rx_hash_conf *conf)
{
	req->fields = conf->rx_hash_fields_mask;
	req->function = conf->rx_hash_function;
	req->key_length = conf->rx_hash_key_len;
	memcpy(req->key, conf->rx_hash_key, sizeof(req->key));
}

struct ibv_qp *weft_create_rss_qp(struct ibv_context *context,
				  struct ibv_qp_init_attr_ex *attr,
				  uint32_t flags)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.comp_mask = attr->comp_mask & ~IBV_QP_INIT_ATTR_RX_HASH,
		.pd = attr->pd,
		.rwq_ind_tbl = attr->rwq_ind_tbl,
	};
	struct uweft_create_qp_resp resp = {};
	struct uweft_create_rss cmd = {};
	struct weft_qp *qp;
	int ret;

	ret = rss_check_attr(attr);
	if (ret) {
		errno = ret;
		return NULL;
	}

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS)
		attr_ex.create_flags = attr->create_flags;
	rss_fill_request(&cmd.drv, &attr->rx_hash_conf);
	cmd.drv.raw_flags = flags;
	ret = ibv_cmd_create_qp_ex2(context, &qp->vqp, &attr_ex, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp,
#if VERBS_PABI >= 64
				    sizeof(resp), NULL);
#else
				    sizeof(resp));
#endif
	if (ret)
		goto err_free_qp;

	ret = weft_qp_init_queues(qp, &attr_ex, &resp.drv);
	if (ret)
		goto err_destroy_qp;
	qp->parent = weft_parent_use(attr->pd);
	return &qp->vqp.qp;

err_destroy_qp:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free_qp:
	free(qp);
	errno = ret;
	return NULL;
}
