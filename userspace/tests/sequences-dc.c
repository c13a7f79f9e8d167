// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DC QPs and mkeys of libweft: what makes them, what they hold, and the states of the QPs. No
 * message is sent by one.
 */
#include "sequences.h"

#include <infiniband/weftdv.h>

static bool has(uint64_t what)
{
	struct weftdv_device_attr attr = { .comp_mask = what };

	SAME(weftdv_query_device(ctx, &attr), 0);
	return what == WEFTDV_DEVICE_ATTR_DC ? attr.dc_caps.dc_types : attr.mkey_create_flags;
}

static int spoil_target(struct ibv_qp_init_attr_ex *attr, struct weftdv_qp_init_attr *dv,
			unsigned int bad)
{
	switch (bad) {
	case 0:
		return 0;
	case 1:
		attr->srq = NULL;
		return EINVAL;
	case 2:
		attr->recv_cq = NULL;
		return EINVAL;
	case 3:
		attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		return EINVAL;
	case 4:
		attr->comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr->create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
		return EINVAL;
	default:
		dv->dc_init_attr.dc_type = 3;
		return EINVAL;
	}
}

static int spoil_initiator(struct ibv_qp_init_attr_ex *attr, struct weftdv_qp_init_attr *dv,
			   unsigned int bad)
{
	switch (bad) {
	case 0:
		return 0;
	case 1:
		attr->cap.max_recv_wr = 1;
		return EINVAL;
	case 2:
		attr->cap.max_send_wr = 32769;
		return EINVAL;
	case 3:
		attr->send_ops_flags |= IBV_QP_EX_WITH_TSO;
		return EOPNOTSUPP;
	case 4:
		attr->comp_mask &= ~IBV_QP_INIT_ATTR_PD;
		return EINVAL;
	default:
		dv->dc_init_attr.dc_type = 0;
		return EINVAL;
	}
}

static bool create_dc_qp(void)
{
	bool target = one_in(2);
	struct weftdv_qp_init_attr dv = {
		.comp_mask = WEFTDV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr.dc_type = target ? WEFTDV_DCTYPE_DCT : WEFTDV_DCTYPE_DCI,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct obj *pd = some(PD), *cq = pd ? some_of(CQ, pd->context) : NULL, *srq = NULL, *o;
	unsigned int bad = wrong(5);
	struct ibv_qp *iqp;
	struct qp *qp;
	int want;

	if (!cq || full(DCQP) || !has(WEFTDV_DEVICE_ATTR_DC))
		return false;
	if (target)
		srq = some_of(SRQ, pd->context);
	if (target && !srq)
		return false;
	o = add(DCQP, pd->context, NULL);
	attr.qp_context = o;
	attr.pd = pd->ipd;
	attr.send_cq = attr.recv_cq = cq->icq;
	if (target) {
		dv.dc_init_attr.dct_access_key = below(1 << 30);
		attr.srq = srq->isrq;
		want = spoil_target(&attr, &dv, bad);
	} else {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
		attr.cap.max_send_wr = 1 + below(12);
		attr.cap.max_send_sge = 1 + below(3);
		want = spoil_initiator(&attr, &dv, bad);
	}
	/* the core: one of XRC is for no QP */
	if (srq && srq->domain)
		want = EINVAL;
	call("create_qp QP %u of DC type %d in PD %u, CQ %u, SRQ %u, wrong %u", o->id,
	     dv.dc_init_attr.dc_type, pd->id, cq->id, srq ? srq->id : 0, bad);
	iqp = weftdv_create_qp(w->context[pd->context], &attr, &dv);
	result(V_CREATE_DC, error_of(iqp), want);
	if (!iqp) {
		forget(o);
		return true;
	}
	o->iqp = iqp;
	qp = new_qp(o, target ? DCT : DCI, iqp->qp_num);
	qp->cap = attr.cap;
	qp->sq.max = attr.cap.max_send_wr;
	qp->pd = pd;
	qp->scq = cq;
	qp->rcq = cq;
	qp->srq = srq;
	hold_pd(pd, false);
	hold(cq);
	hold(cq);
	hold(srq);
	check_qp(o);
	return true;
}

static bool modify_dc_qp(void)
{
	struct obj *o = some(DCQP);

	return o && modify_this_qp(o);
}

/* An initiator's work requests name a target, which these calls cannot; others have no queue. */
static bool use_dc_qp(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr receive = {}, *bad_receive = NULL;
	struct obj *o = some(DCQP);

	if (!o)
		return false;
	if (one_in(2)) {
		call("post_send to DC QP %u", o->id);
		result(V_USE_DC, ibv_post_send(o->iqp, &send, &bad_send), EINVAL);
	} else {
		call("post_recv to DC QP %u", o->id);
		result(V_USE_DC, ibv_post_recv(o->iqp, &receive, &bad_receive), EINVAL);
	}
	return true;
}

static bool create_mkey(void)
{
	struct weftdv_mkey_init_attr attr = {
		.create_flags = WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT, .max_entries = 1 + below(32),
	};
	struct obj *pd = some(PD), *o;
	unsigned int bad = wrong(3);
	struct weftdv_mkey *mkey;

	if (!pd || full(MKEY) || !has(WEFTDV_DEVICE_ATTR_MKEY))
		return false;
	attr.pd = pd->ipd;
	if (bad == 1)
		attr.create_flags = 0;
	else if (bad == 2)
		attr.create_flags |= 1 << 10;
	else if (bad == 3)
		attr.max_entries = one_in(2) ? 0 : 33;
	call("create_mkey in PD %u, flags %#x, %u entries", pd->id, attr.create_flags,
	     attr.max_entries);
	mkey = weftdv_create_mkey(&attr);
	result(V_CREATE_MKEY, error_of(mkey), bad == 2 ? EOPNOTSUPP : bad ? EINVAL : 0);
	if (!mkey)
		return true;
	o = add(MKEY, pd->context, mkey);
	o->pd = pd;
	hold_pd(pd, true);
	return true;
}

int destroy_mkey(struct obj *o)
{
	return weftdv_destroy_mkey(o->imkey);
}

const struct action dc_actions[] = {
	{ "create_dc_qp", create_dc_qp, 6 }, { "modify_dc_qp", modify_dc_qp, 20 },
	{ "use_dc_qp", use_dc_qp, 2 }, { "create_mkey", create_mkey, 3 },
};
const int num_dc_actions = ARRAY_SIZE(dc_actions);
