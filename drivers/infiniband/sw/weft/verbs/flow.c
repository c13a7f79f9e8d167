// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The core has checked CAP_NET_RAW, the sizes of the specs, the port, and that the QP is of the
 * type UD or RAW_PACKET. The errors are those of mlx5, but for specs of default rules, which it
 * ignores.
 */
#include "verbs/flow.h"

#include <linux/slab.h>

#include "flow/table.h"
#include "link/steer.h"
#include "link/tap.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "verbs/flow_counters.h"

#define FLOW_FLAGS	(IB_FLOW_ATTR_FLAGS_DONT_TRAP | IB_FLOW_ATTR_FLAGS_EGRESS)

struct weft_flow {
	struct ib_flow		ibflow;
	struct weft_steer_rule	*rule;
	struct ib_counters	*counters;	/* or NULL */
};

#define flow_refuse(_qp, _err, _fmt, ...) \
	weft_refuse(&(_qp)->dev->ibdev, _err, "create flow of QP %u: " _fmt, (_qp)->qpn, \
		    ##__VA_ARGS__)

/* Does the port have frames that a RAW_PACKET QP can send and receive? */
bool weft_flow_has_raw(const struct weft_dev *dev)
{
	return !dev->hca && weft_tap_supports(dev->ndev);
}

static int flow_check_type(const struct weft_qp *qp, const struct ib_flow_attr *attr)
{
	switch (attr->type) {
	case IB_FLOW_ATTR_NORMAL:
		return 0;
	case IB_FLOW_ATTR_ALL_DEFAULT:
	case IB_FLOW_ATTR_MC_DEFAULT:
	case IB_FLOW_ATTR_SNIFFER:
		break;
	default:
		return flow_refuse(qp, -EINVAL, "type %u is unknown", attr->type);
	}
	if (attr->num_of_specs)
		return flow_refuse(qp, -EINVAL, "type %u takes no specs", attr->type);
	if (attr->flags)
		return flow_refuse(qp, -EINVAL, "type %u takes no flags", attr->type);
	return 0;
}

/* A QP of the type UD on an InfiniBand port can have datagrams of IPoIB, to another QP's number. */
static int flow_check_ud(const struct weft_qp *qp, const struct ib_flow_attr *attr)
{
	if (!qp->dev->hca)
		return flow_refuse(qp, -EOPNOTSUPP, "its type is not RAW_PACKET");
	if (!(qp->create_flags & IB_QP_CREATE_SOURCE_QPN))
		return flow_refuse(qp, -EOPNOTSUPP, "it is without IBV_QP_CREATE_SOURCE_QPN");
	if (attr->type != IB_FLOW_ATTR_NORMAL || attr->flags)
		return flow_refuse(qp, -EOPNOTSUPP, "UD has rules of type NORMAL without flags");
	return 0;
}

static int flow_check(const struct weft_qp *qp, const struct ib_flow_attr *attr)
{
	int ret = weft_qp_is_raw(qp) ? 0 : flow_check_ud(qp, attr);

	if (ret)
		return ret;
	if (attr->priority >= WEFT_FLOW_PRIORITIES)
		return flow_refuse(qp, -ENOMEM, "priority %u is above %u", attr->priority,
				   WEFT_FLOW_PRIORITIES - 1);
	if (attr->flags & ~FLOW_FLAGS)
		return flow_refuse(qp, -EINVAL, "flags %#x are unknown", attr->flags);
	return flow_check_type(qp, attr);
}

static int flow_read(const struct weft_qp *qp, const struct ib_flow_attr *attr,
		     struct weft_flow_spec *spec, struct weft_create_flow_req *req,
		     struct ib_udata *udata)
{
	int ret = flow_check(qp, attr);

	if (ret)
		return ret;
	memset(req, 0, sizeof(*req));
	/* a rule without counters needs no request */
	ret = udata && udata->inlen ? weft_udata_read(udata, req, sizeof(*req), sizeof(*req), 0) :
				      weft_udata_empty(udata);
	if (!ret && req->reserved_14)
		ret = -EINVAL;
	if (ret)
		return weft_refuse_request(&qp->dev->ibdev, ret, "create flow", udata);
	ret = weft_flow_spec_read(spec, attr);
	if (!ret && !weft_qp_is_raw(qp) && !weft_flow_spec_of_qp(spec, qp->src_qpn, qp->qpn))
		ret = -EOPNOTSUPP;
	return ret ? flow_refuse(qp, ret, "a spec is not supported, or contradicts another") : 0;
}

static int flow_add(struct weft_flow *flow, struct weft_qp *qp, const struct ib_flow_attr *attr,
		    const struct weft_flow_spec *spec, const struct weft_create_flow_req *req)
{
	struct weft_flow_count *count = NULL;

	if (spec->counters) {
		count = weft_flow_counters_bind(spec->counters, req);
		if (IS_ERR(count))
			return flow_refuse(qp, PTR_ERR(count),
					   "its counters do not say what they count, or say it again");
	}
	flow->rule = weft_steer_add(qp, attr, spec, count);
	flow->counters = spec->counters;
	if (IS_ERR(flow->rule) && count)
		weft_flow_counters_unbind(spec->counters);
	return PTR_ERR_OR_ZERO(flow->rule);
}

struct ib_flow *weft_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct weft_create_flow_req req;
	struct weft_flow_spec *spec;
	struct weft_flow *flow;
	int ret = weft_inject_qp_verb(ibqp, WEFT_VERB_CREATE_FLOW, 0);

	if (ret)
		return ERR_PTR(ret);
	flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	spec = kzalloc(sizeof(*spec), GFP_KERNEL);
	ret = flow && spec ? flow_read(qp, attr, spec, &req, udata) : -ENOMEM;
	if (!ret)
		ret = flow_add(flow, qp, attr, spec, &req);
	kfree(spec);
	if (!ret)
		return &flow->ibflow;
	kfree(flow);
	return ERR_PTR(ret);
}

int weft_destroy_flow(struct ib_flow *ibflow)
{
	struct weft_flow *flow = container_of(ibflow, struct weft_flow, ibflow);

	weft_steer_remove(flow->rule);
	if (flow->counters)
		weft_flow_counters_unbind(flow->counters);
	kfree(flow);
	return 0;
}
