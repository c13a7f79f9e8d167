// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A WQ is the receive half of a RAW_PACKET QP: the ring, the receive turn, completions, flushing
 * and doorbells are those of the QP. The QP's number is that of the WQ. Nothing can be sent: the
 * QP is never in RTS, and its send queue has one entry that nobody posts.
 *
 *	WQ	RESET		RDY	ERR
 *	QP	RESET, INIT	RTR	ERR
 */
#include "verbs/wq.h"

#include <linux/slab.h>

#include "object/dev.h"
#include "object/inject.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "params.h"
#include "pause.h"
#include "verbs/qp.h"

/* The flags that a RAW_PACKET QP may have, and what they are called there. */
static const struct {
	u32	wq;
	u32	qp;
} wq_flags[] = {
	{ IB_WQ_FLAGS_CVLAN_STRIPPING, IB_QP_CREATE_CVLAN_STRIPPING },
	{ IB_WQ_FLAGS_SCATTER_FCS, IB_QP_CREATE_SCATTER_FCS },
	{ IB_WQ_FLAGS_PCI_WRITE_END_PADDING, IB_QP_CREATE_PCI_WRITE_END_PADDING },
};

static const char *const wq_state_names[] = {
	[IB_WQS_RESET] = "RESET", [IB_WQS_RDY] = "RDY", [IB_WQS_ERR] = "ERR",
};

#define wq_refuse(_wq, _err, _fmt, ...) \
	weft_refuse((_wq)->half.ibqp.device, _err, "modify WQ %u: " _fmt, (_wq)->ibwq.wq_num, \
		    ##__VA_ARGS__)

/* The QP has one event that a WQ can have, too. */
static void wq_tell(struct ib_event *event, void *context)
{
	struct weft_wq *wq = context;
	struct ib_event own = {
		.device = event->device,
		.element.wq = &wq->ibwq,
		.event = IB_EVENT_WQ_FATAL,
	};

	if (event->event == IB_EVENT_QP_FATAL && wq->ibwq.event_handler)
		wq->ibwq.event_handler(&own, wq->ibwq.wq_context);
}

/* Returns the flags of the QP in @flags, or -EOPNOTSUPP. */
static int wq_read_flags(const struct ib_device *ibdev, u32 create_flags, u32 *flags)
{
	u32 i;

	*flags = 0;
	for (i = 0; i < ARRAY_SIZE(wq_flags); i++) {
		if (create_flags & wq_flags[i].wq)
			*flags |= wq_flags[i].qp;
		create_flags &= ~wq_flags[i].wq;
	}
	return create_flags ? weft_refuse(ibdev, -EOPNOTSUPP,
					  "create WQ: create_flags %#x are not supported",
					  create_flags) : 0;
}

static int wq_check(const struct ib_device *ibdev, const struct ib_wq_init_attr *attr)
{
	if (attr->wq_type != IB_WQT_RQ)
		return weft_refuse(ibdev, -EINVAL, "create WQ: wq_type %u is not RQ",
				   attr->wq_type);
	return weft_check_range(ibdev, "create WQ", "max_wr", attr->max_wr, 1, WEFT_MAX_QP_WR) ?:
	       weft_check_max(ibdev, "create WQ", "max_sge", attr->max_sge, WEFT_MAX_SGE);
}

static struct weft_wq *wq_alloc(struct ib_pd *pd, const struct ib_wq_init_attr *attr)
{
	struct weft_wq *wq = kzalloc(sizeof(*wq), GFP_KERNEL_ACCOUNT);

	if (!wq)
		return NULL;
	mutex_init(&wq->modify_lock);
	/* what the core sets for a QP before it calls the driver */
	wq->half.ibqp.device = pd->device;
	wq->half.ibqp.pd = pd;
	wq->half.ibqp.event_handler = wq_tell;
	wq->half.ibqp.qp_context = wq;
	wq->ibwq.event_handler = attr->event_handler;
	wq->ibwq.wq_context = attr->wq_context;
	return wq;
}

struct ib_wq *weft_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *attr,
			     struct ib_udata *udata)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RAW_PACKET,
		.send_cq = attr->cq,
		.recv_cq = attr->cq,
		.cap = { .max_recv_wr = attr->max_wr, .max_recv_sge = attr->max_sge },
	};
	struct weft_wq *wq;
	int ret;

	ret = weft_inject_verb(pd->device, WEFT_VERB_CREATE_WQ) ?:
	      wq_check(pd->device, attr) ?:
	      wq_read_flags(pd->device, attr->create_flags, &init.create_flags);
	if (ret)
		return ERR_PTR(ret);
	wq = wq_alloc(pd, attr);
	if (!wq)
		return ERR_PTR(-ENOMEM);
	ret = weft_create_qp(&wq->half.ibqp, &init, udata);
	if (ret) {
		kfree(wq);
		return ERR_PTR(ret);
	}
	weft_pause(WEFT_PAUSE_WQ_CREATED);
	wq->half.qp->wq = true;
	wq->ibwq.wq_num = wq->half.qp->qpn;
	wq->ibwq.state = IB_WQS_RESET;
	attr->max_wr = init.cap.max_recv_wr;
	attr->max_sge = init.cap.max_recv_sge;
	return &wq->ibwq;
}

static enum ib_wq_state wq_state(const struct weft_wq *wq)
{
	switch (weft_qp_state(wq->half.qp)) {
	case IB_QPS_RESET:
	case IB_QPS_INIT:
		return IB_WQS_RESET;
	case IB_QPS_ERR:
		return IB_WQS_ERR;
	default:
		return IB_WQS_RDY;
	}
}

static int wq_step(struct weft_wq *wq, enum ib_qp_state state, int more)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1 };

	return weft_modify_qp(&wq->half.ibqp, &attr, IB_QP_STATE | more, NULL);
}

/* A step that fails may leave the QP in INIT. */
static int wq_make_ready(struct weft_wq *wq)
{
	int ret = 0;

	if (weft_qp_state(wq->half.qp) == IB_QPS_RESET)
		ret = wq_step(wq, IB_QPS_INIT, IB_QP_PORT);
	weft_pause(WEFT_PAUSE_WQ_MODIFY);
	return ret ?: wq_step(wq, IB_QPS_RTR, 0);
}

static int wq_move(struct weft_wq *wq, enum ib_wq_state from, enum ib_wq_state to)
{
	if (to == IB_WQS_RESET)
		return wq_step(wq, IB_QPS_RESET, 0);
	if (from == to)
		return 0;
	if (from == IB_WQS_RESET && to == IB_WQS_RDY)
		return wq_make_ready(wq);
	if (from == IB_WQS_RDY && to == IB_WQS_ERR)
		return wq_step(wq, IB_QPS_ERR, 0);
	return wq_refuse(wq, -EINVAL, "it cannot move from %s to %s", wq_state_names[from],
			 wq_state_names[to]);
}

/* Frames that are being received are stripped or not. */
static void wq_set_flags(struct weft_wq *wq, u32 flags, u32 flags_mask)
{
	struct weft_qp *qp = wq->half.qp;
	u32 old = qp->create_flags & ~IB_QP_CREATE_CVLAN_STRIPPING;

	lockdep_assert_held(&wq->modify_lock);
	if (flags_mask & IB_WQ_FLAGS_CVLAN_STRIPPING)
		WRITE_ONCE(qp->create_flags, flags & IB_WQ_FLAGS_CVLAN_STRIPPING ?
			   old | IB_QP_CREATE_CVLAN_STRIPPING : old);
}

static int wq_modify_locked(struct weft_wq *wq, const struct ib_wq_attr *attr, u32 mask)
{
	/* the QP's own, because the core does not learn of errors */
	enum ib_wq_state from = wq_state(wq);
	int ret = 0;

	if (mask & IB_WQ_CUR_STATE && attr->curr_wq_state != from)
		return wq_refuse(wq, -EINVAL, "curr_wq_state is %s, but the WQ is in %s",
				 wq_state_names[attr->curr_wq_state], wq_state_names[from]);
	if (mask & IB_WQ_STATE)
		ret = wq_move(wq, from, attr->wq_state);
	if (ret)
		return ret;
	wq->ibwq.state = wq_state(wq);
	if (mask & IB_WQ_FLAGS)
		wq_set_flags(wq, attr->flags, attr->flags_mask);
	return 0;
}

/* The core has checked the mask and the range of the states. */
int weft_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata)
{
	struct weft_wq *wq = to_weft_wq(ibwq);
	int ret = weft_udata_empty(udata);

	if (ret)
		return weft_refuse_request(ibwq->device, ret, "modify WQ", udata);
	if (mask & IB_WQ_FLAGS && attr->flags_mask & ~IB_WQ_FLAGS_CVLAN_STRIPPING)
		return wq_refuse(wq, -EOPNOTSUPP, "flags %#x cannot be changed",
				 attr->flags_mask & ~IB_WQ_FLAGS_CVLAN_STRIPPING);
	mutex_lock(&wq->modify_lock);
	ret = wq_modify_locked(wq, attr, mask);
	mutex_unlock(&wq->modify_lock);
	return ret;
}

/* The core lets no WQ go that is in an indirection table. */
int weft_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata)
{
	struct weft_wq *wq = to_weft_wq(ibwq);
	int ret = weft_destroy_qp(&wq->half.ibqp, udata);

	if (!ret)
		kfree(wq);
	return ret;
}
