// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/resource.h"

#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "link/local.h"
#include "object/cq.h"
#include "object/mr.h"
#include "object/qp.h"
#include "object/srq.h"
#include "object/table.h"

/* What is read here changes at any time; no two figures need to be of one moment. */
struct resource_figure {
	const char	*name;
	u32		value;
};

static int resource_put(struct sk_buff *msg, const struct resource_figure *figures, u32 num)
{
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	u32 i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < num; i++) {
		if (rdma_nl_put_driver_u32(msg, figures[i].name, figures[i].value)) {
			nla_nest_cancel(msg, nest);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, nest);
	return 0;
}

static int resource_put_qp(struct sk_buff *msg, const struct weft_qp *qp)
{
	const struct weft_send *send = &qp->send;
	const struct resource_figure figures[] = {
		{ "sq_entries", READ_ONCE(qp->cap.max_send_wr) },
		{ "rq_entries", READ_ONCE(qp->cap.max_recv_wr) },
		{ "local_link", READ_ONCE(qp->link) == &weft_link_local },
		{ "mtu", READ_ONCE(qp->mtu) },
		{ "next_sq_psn", READ_ONCE(send->psn) },
		{ "unanswered_psn", READ_ONCE(send->window.una) },
		{ "next_rq_psn", READ_ONCE(qp->recv.psn) },
		{ "retry_left", READ_ONCE(send->retry_left) },
		{ "rnr_left", READ_ONCE(send->rnr_left) },
		{ "src_qpn", qp->src_qpn },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

/* The core's handle may be all that is left: a look into the table says so. */
int weft_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct weft_qp *qp = weft_qp_get(ibqp->qp_num);
	int ret = 0;

	if (!qp)
		return 0;
	if (qp->dev_id == to_weft_dev(ibqp->device)->id)
		ret = resource_put_qp(msg, qp);
	weft_qp_put(qp);
	return ret;
}

int weft_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct weft_cq *cq = to_weft_cq(ibcq);
	const struct resource_figure figures[] = {
		{ "overrun", READ_ONCE(cq->overrun) },
		{ "timestamp", cq->timestamp },
		{ "moderation", READ_ONCE(cq->moderation.count) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

int weft_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr)
{
	const struct weft_mr *mr = to_weft_mr(ib_mr);
	const struct resource_figure figures[] = {
		{ "access", READ_ONCE(mr->access) },
		{ "pinned", !!READ_ONCE(mr->umem) },
		{ "dmabuf", !!READ_ONCE(mr->dmabuf) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}

int weft_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	const struct weft_srq *srq = to_weft_srq(ibsrq);
	const struct resource_figure figures[] = {
		{ "max_sge", srq->max_sge },
		{ "limit", READ_ONCE(srq->limit) },
		{ "error", READ_ONCE(srq->error) },
	};

	return resource_put(msg, figures, ARRAY_SIZE(figures));
}
