// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An RSS QP has no queues and no states: it is a number that rules name, and a copy of its
 * indirection table. Rules give its frames to the WQs (link/steer.c). The errors are those of mlx5,
 * but for modify_qp, which mlx5 refuses with -ENOSYS, and query_qp, which it refuses as well.
 */
#include "verbs/rss.h"

#include "object/count.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/rss.h"
#include "object/ucontext.h"
#include "params.h"
#include "pause.h"
#include "verbs/wq.h"

static atomic_t rss_next_table = ATOMIC_INIT(0);

int weft_create_rwq_ind_table(struct ib_rwq_ind_table *ibtable,
			      struct ib_rwq_ind_table_init_attr *init, struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ibtable->device);
	int ret = weft_inject_verb(&dev->ibdev, WEFT_VERB_CREATE_RWQ_IND_TABLE);

	if (ret)
		return ret;
	ret = weft_udata_empty(udata);
	if (ret)
		return weft_refuse_request(&dev->ibdev, ret, "create RWQ indirection table",
					   udata);
	ret = weft_check_max(&dev->ibdev, "create RWQ indirection table", "log_ind_tbl_size",
			     init->log_ind_tbl_size, WEFT_MAX_LOG_RSS) ?:
	      weft_count_take(&dev->num_rwq_tables, WEFT_MAX_RWQ_TABLES);
	if (ret)
		return ret;
	ibtable->ind_tbl_num = atomic_inc_return(&rss_next_table);
	return 0;
}

int weft_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtable)
{
	weft_count_give(&to_weft_dev(ibtable->device)->num_rwq_tables);
	return 0;
}

/* The attributes of a receive queue of its own are ignored. */
int weft_rss_check(const struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	if (init->qp_type != IB_QPT_RAW_PACKET)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: only RAW_PACKET has an indirection table");
	if (init->send_cq || init->cap.max_send_wr)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: an RSS QP has no send queue");
	if (init->create_flags)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: an RSS QP takes no create_flags, not %#x",
				   init->create_flags);
	return 0;
}

static int rss_check_hash(const struct weft_qp *qp, const struct weft_create_rss_req *req,
			  u32 log_entries)
{
	struct ib_device *ibdev = &qp->dev->ibdev;

	if (req->key_length != WEFT_RX_HASH_KEY)
		return weft_refuse(ibdev, -EINVAL, "create QP: rx_hash_key_len %u is not %u",
				   req->key_length, WEFT_RX_HASH_KEY);
	if (req->function != WEFT_RX_HASH_TOEPLITZ)
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "create QP: rx_hash_function %#x is not Toeplitz",
				   req->function);
	if (req->fields & ~WEFT_RSS_FIELDS)
		return weft_refuse(ibdev, -EOPNOTSUPP,
				   "create QP: rx_hash_fields_mask %#llx is not supported",
				   req->fields & ~WEFT_RSS_FIELDS);
	if (!(req->fields & WEFT_RX_HASH_FIELDS) && log_entries)
		return weft_refuse(ibdev, -EINVAL,
				   "create QP: no hash field for a table of several entries");
	if (!weft_flow_hash_is_valid(req->fields))
		return weft_refuse(ibdev, -EINVAL,
				   "create QP: rx_hash_fields_mask %#llx names two protocols",
				   req->fields);
	if (req->raw_flags & ~WEFT_QP_RAW_FLAGS ||
	    memchr_inv(req->reserved_13, 0, sizeof(req->reserved_13)))
		return weft_refuse(ibdev, -EINVAL,
				   "create QP: unknown bits of the request are set");
	return 0;
}

static struct weft_qp *rss_queue(struct ib_wq *ibwq)
{
	struct weft_qp *queue = to_weft_wq(ibwq)->half.qp;

	weft_qp_hold(queue);
	return queue;
}

/* Gives a new QP its queues and its hash. Undone by weft_qp_free(). */
int weft_rss_read(struct weft_qp *qp, const struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	const struct ib_rwq_ind_table *table = init->rwq_ind_tbl;
	struct weft_create_rss_req req;
	struct weft_rss *rss;
	int ret;
	u32 i;

	ret = weft_udata_read(udata, &req, sizeof(req), sizeof(req),
			      sizeof(struct weft_create_qp_resp));
	if (ret)
		return weft_refuse_request(&qp->dev->ibdev, ret, "create QP", udata);
	ret = rss_check_hash(qp, &req, table->log_ind_tbl_size);
	if (ret)
		return ret;
	rss = weft_rss_alloc(table->log_ind_tbl_size);
	if (!rss)
		return -ENOMEM;
	rss->hash.fields = req.fields;
	memcpy(rss->hash.key, req.key, sizeof(rss->hash.key));
	for (i = 0; i <= rss->mask; i++)
		rss->queues[i] = rss_queue(table->ind_tbl[i]);
	weft_pause(WEFT_PAUSE_RSS_CREATE);
	qp->rss = rss;
	qp->flags = req.raw_flags;
	return 0;
}
