// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/qp.h"

#include <linux/pid.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "compat/raw_cap.h"
#include "compat/signature.h"
#include "compat/t10dif.h"
#include "engine/migration.h"
#include "engine/requester.h"
#include "engine/responder.h"
#include "engine/inflight.h"
#include "link/datagram.h"
#include "link/local.h"
#include "link/raw_recv.h"
#include "link/raw_send.h"
#include "object/cq.h"
#include "object/count.h"
#include "object/dev.h"
#include "object/qp.h"
#include "object/profile.h"
#include "object/refuse.h"
#include "object/rss.h"
#include "object/srq.h"
#include "object/table.h"
#include "object/tag.h"
#include "object/ucontext.h"
#include "pause.h"
#include "ring/pages.h"
#include "ring/page_cache.h"
#include "verbs/dc.h"
#include "verbs/flow.h"
#include "verbs/qp_state.h"
#include "verbs/rss.h"

/* Hints about the transfer of payload on a bus. They change nothing: weft has no bus. */
#define QP_HINTS	IB_QP_CREATE_PCI_WRITE_END_PADDING
/* The QP registers memory with protection information. */
#define QP_INTEGRITY	(COMPAT_INTEGRITY_CAPS ? IB_QP_CREATE_INTEGRITY_EN : 0)

static struct lock_class_key qp_send_key;
static struct lock_class_key qp_recv_key;

/* Returns the number of a special QP (IBA 3.9.3), or -1. */
static int qp_special(enum ib_qp_type type)
{
	return type == IB_QPT_SMI ? 0 : type == IB_QPT_GSI ? 1 : -1;
}

/* IPoIB tells a device with flow steering which QP is the interface's; weft need not know. */
static u32 qp_ud_flags(const struct weft_dev *dev, const struct ib_udata *udata)
{
	return IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_SOURCE_QPN |
	       (dev->hca && !udata ? IB_QP_CREATE_IPOIB_UD_LSO | IB_QP_CREATE_NETIF_QP : 0);
}

static int qp_check_flags(const struct weft_dev *dev, const struct ib_qp_init_attr *init,
			  u32 allowed)
{
	u32 flags = init->create_flags & ~allowed;

	return flags ? weft_refuse(&dev->ibdev, -EOPNOTSUPP,
				   "create QP: create_flags %#x are not supported for %s", flags,
				   weft_qp_type_name(init->qp_type)) : 0;
}

static int qp_check_special(const struct weft_dev *dev, const struct ib_qp_init_attr *init,
			    const struct ib_udata *udata)
{
	int special = qp_special(init->qp_type);

	if (udata)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: QP %d is for the kernel only", special);
	if (init->create_flags)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: QP %d takes no create_flags, not %#x", special,
				   init->create_flags);
	if (weft_check_port(&dev->ibdev, "create QP", init->port_num))
		return -EINVAL;
	if (rcu_access_pointer(dev->special[special]))
		return weft_refuse(&dev->ibdev, -EBUSY, "create QP: QP %d exists", special);
	return 0;
}

/* The core has checked CAP_NET_RAW. */
static int qp_check_raw(const struct weft_dev *dev, const struct ib_qp_init_attr *init,
			struct ib_udata *udata)
{
	u32 flags = QP_HINTS | IB_QP_CREATE_CVLAN_STRIPPING | IB_QP_CREATE_SCATTER_FCS;

	if (!udata || weft_udata_rxe(udata))
		return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
				   "create QP: RAW_PACKET is for processes with weft's provider");
	if (!weft_flow_has_raw(dev))
		return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
				   "create QP: the port has no Ethernet frames, or the kernel no hooks for them");
	if (init->srq)
		return weft_refuse(&dev->ibdev, -EINVAL, "create QP: RAW_PACKET takes no SRQ");
	/* a context does not receive its own frames, but lo returns all of them */
	if (!(dev->ndev->flags & IFF_LOOPBACK))
		flags |= IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	return qp_check_flags(dev, init, flags);
}

static int qp_check_type(const struct weft_dev *dev, const struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	int ret = init->rwq_ind_tbl ? weft_rss_check(dev, init) : 0;

	if (ret)
		return ret;
	switch (init->qp_type) {
	case IB_QPT_RC:
		return qp_check_flags(dev, init, QP_HINTS | (udata ? 0 : QP_INTEGRITY));
	case IB_QPT_UC:
		return qp_check_flags(dev, init, QP_HINTS);
	case IB_QPT_UD:
		return qp_check_flags(dev, init, QP_HINTS | qp_ud_flags(dev, udata));
	case IB_QPT_RAW_PACKET:
		return qp_check_raw(dev, init, udata);
	case IB_QPT_XRC_INI:
		/* struct ib_send_wr has no member for the number of the remote SRQ */
		if (!udata)
			return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
					   "create QP: XRC_INI is for processes only");
		/* nor has a work request of rdma_rxe's ABI */
		if (weft_udata_rxe(udata))
			return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
					   "create QP: rdma_rxe has no XRC_INI");
		fallthrough;
	case IB_QPT_XRC_TGT:
		return qp_check_flags(dev, init, 0);
	case WEFT_QPT_DCI:
		return weft_dc_check(dev, init) ?: qp_check_flags(dev, init, QP_HINTS);
	case WEFT_QPT_DCT:
		return weft_dc_check(dev, init);
	case IB_QPT_SMI:
		if (!dev->hca)
			return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
					   "create QP: a RoCE port has no QP 0");
		fallthrough;
	case IB_QPT_GSI:
		return qp_check_special(dev, init, udata);
	default:
		return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
				   "create QP: qp_type %u is not supported", init->qp_type);
	}
}

/*
 * A QP that sends with the number of another QP needs a capability. Not every path through the
 * core checks it.
 */
static int qp_check_source(struct weft_dev *dev, const struct ib_qp_init_attr *init,
			   const struct ib_udata *udata)
{
	if (!(init->create_flags & IB_QP_CREATE_SOURCE_QPN))
		return 0;
	if (udata && !rdma_dev_has_raw_cap(&dev->ibdev))
		return weft_refuse(&dev->ibdev, -EPERM,
				   "create QP: IBV_QP_CREATE_SOURCE_QPN needs CAP_NET_RAW");
	return weft_check_max(&dev->ibdev, "create QP", "source_qpn", init->source_qpn, 0xffffff);
}

static bool qp_is_initiator(enum ib_qp_type type)
{
	return type == IB_QPT_XRC_INI || type == WEFT_QPT_DCI;
}

static bool qp_is_target(enum ib_qp_type type)
{
	return type == IB_QPT_XRC_TGT || type == WEFT_QPT_DCT;
}

/* The receive capabilities of a QP without a receive queue are ignored. */
static bool qp_has_rq(const struct ib_qp_init_attr *init)
{
	return !init->srq && !init->rwq_ind_tbl && !qp_is_initiator(init->qp_type) &&
	       !qp_is_target(init->qp_type);
}

static bool qp_has_tags(const struct ib_qp_init_attr *init)
{
	return init->srq && init->srq->srq_type == IB_SRQT_TM;
}

/* An SRQ with tags has the send queue of its QPs, for rendezvous. */
static int qp_check_tags(const struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	if (!qp_has_tags(init))
		return 0;
	if (init->qp_type != IB_QPT_RC)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: an SRQ with tags is not for %s",
				   weft_qp_type_name(init->qp_type));
	return init->cap.max_send_wr ?
	       weft_refuse(&dev->ibdev, -EINVAL,
			   "create QP: max_send_wr is not 0, but the SRQ has tags") : 0;
}

/* Checks the objects that the QP is made of. */
static int qp_check_objects(const struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	const char *absent = NULL;

	if (init->qp_type == IB_QPT_XRC_TGT)
		absent = init->xrcd ? NULL : "xrcd";
	else if (init->rwq_ind_tbl)
		absent = NULL;
	else if (!init->send_cq && init->qp_type != WEFT_QPT_DCT)
		absent = "send_cq";
	else if (!init->recv_cq && !qp_is_initiator(init->qp_type))
		absent = "recv_cq";
	return absent ? weft_refuse(&dev->ibdev, -EINVAL, "create QP: %s has no %s",
				    weft_qp_type_name(init->qp_type), absent) : 0;
}

static int qp_check_max(const struct weft_dev *dev, const char *name, u32 value, u32 max)
{
	return weft_check_max(&dev->ibdev, "create QP", name, value, max);
}

static int qp_check_cap(const struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;
	int ret;

	if (qp_is_target(init->qp_type))
		return 0;
	ret = qp_check_max(dev, "max_send_wr", cap->max_send_wr, WEFT_MAX_QP_WR) ?:
	      qp_check_max(dev, "max_send_sge", cap->max_send_sge, WEFT_MAX_SGE) ?:
	      qp_check_max(dev, "max_inline_data", cap->max_inline_data, WEFT_MAX_INLINE);
	if (ret || !qp_has_rq(init))
		return ret;
	return qp_check_max(dev, "max_recv_wr", cap->max_recv_wr, WEFT_MAX_QP_WR) ?:
	       qp_check_max(dev, "max_recv_sge", cap->max_recv_sge, WEFT_MAX_SGE);
}

/* The enum weft_qp_flags that a QP of a type may have. */
static u32 qp_flags(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RAW_PACKET:
		return WEFT_QP_RAW_FLAGS;
	case IB_QPT_RC:
		return WEFT_QP_PACKET_CREDITS | (COMPAT_SIGNATURES ? WEFT_QP_SIG_PIPELINING : 0);
	default:
		return 0;
	}
}

/*
 * The provider's part of the request, beside the core's attributes. A RAW_PACKET QP with TSO has
 * the flag of the kernel's QPs with LSO, because both have the same operation in slots of the same
 * form.
 */
static int qp_read_request(const struct weft_dev *dev, struct ib_qp_init_attr *init,
			   struct ib_udata *udata, const struct weft_create_dc_req *dc,
			   struct weft_create_qp_req *req)
{
	int ret;

	memset(req, 0, sizeof(*req));
	if (dc) {
		req->cookie = dc->cookie;
		return 0;
	}
	/* an RSS QP has a request of its own */
	if (!udata || init->rwq_ind_tbl)
		return 0;
	/* completions for the provider of rdma_rxe have no cookie */
	ret = weft_udata_rxe(udata) ? weft_udata_empty(udata) :
	      weft_udata_read(udata, req, offsetof(struct weft_create_qp_req, max_tso_header),
			      sizeof(*req), sizeof(struct weft_create_qp_resp));
	if (ret)
		return weft_refuse_request(&dev->ibdev, ret, "create QP", udata);
	if (req->flags & ~qp_flags(init->qp_type))
		return weft_refuse(&dev->ibdev, -EINVAL, "create QP: %s with flags %#x",
				   weft_qp_type_name(init->qp_type), req->flags);
	if (!req->max_tso_header)
		return 0;
	if (init->qp_type != IB_QPT_RAW_PACKET)
		return weft_refuse(&dev->ibdev, -EINVAL, "create QP: %s has no max_tso_header",
				   weft_qp_type_name(init->qp_type));
	init->create_flags |= IB_QP_CREATE_IPOIB_UD_LSO;
	return weft_check_max(&dev->ibdev, "create QP", "max_tso_header", req->max_tso_header,
			      WEFT_LSO_HEADERS);
}

/* Bytes of a send queue slot that are not for elements or inline data. */
static u32 qp_lso_headroom(u32 create_flags)
{
	return create_flags & IB_QP_CREATE_IPOIB_UD_LSO ? ALIGN(WEFT_LSO_HEADROOM, 64) : 0;
}

/* @rxe: see weft_udata_rxe() */
static u32 qp_sq_stride(const struct ib_qp_init_attr *init, bool rxe)
{
	if (qp_is_target(init->qp_type))
		return weft_sq_stride(false, 1, 0);
	return weft_sq_stride(rxe, max(init->cap.max_send_sge, 1U), init->cap.max_inline_data) +
	       qp_lso_headroom(init->create_flags);
}

static u32 qp_rq_stride(const struct ib_qp_init_attr *init, bool rxe)
{
	return weft_rq_stride(rxe, init->cap.max_recv_sge);
}

/*
 * An XRC or DC target or RSS QP has a send queue to which nobody posts, so that no code needs to
 * test for a missing one. A QP whose SRQ has tags posts to its own.
 */
static bool qp_has_hidden_sq(const struct weft_qp *qp)
{
	return qp_is_target(qp->type) || qp->rss || qp->recv.tagged;
}

/* Reports the real capabilities: the room in the strides, which is at least what was requested. */
static void qp_set_cap(struct weft_qp *qp, struct ib_qp_cap *cap)
{
	const struct weft_ring *ring = qp->send.ring;
	u32 room = ring->stride - weft_sq_head(ring->rxe) - qp_lso_headroom(qp->create_flags);

	cap->max_send_wr = ring->entries;
	cap->max_send_sge = min_t(u32, room / sizeof(struct weft_sge), WEFT_MAX_SGE);
	cap->max_inline_data = min_t(u32, room, WEFT_MAX_INLINE);
	cap->max_recv_wr = qp->recv.ring ? qp->recv.ring->entries : 0;
	cap->max_recv_sge = qp->recv.ring ? max(cap->max_recv_sge, 1U) : 0;
	if (qp_has_hidden_sq(qp))
		*cap = (struct ib_qp_cap){};
	qp->cap = *cap;
}

static int qp_create_hidden_ring(struct weft_qp *qp, const struct ib_qp_init_attr *init)
{
	qp->send.ring = weft_ring_create(qp->recv.tagged ? WEFT_RNDV_WQES : 1,
					 qp_sq_stride(init, false), NULL, NULL);
	return PTR_ERR_OR_ZERO(qp->send.ring);
}

/* The receive queue, if there is one, follows the send queue. */
static int qp_place_rings(struct weft_qp *qp, const struct ib_qp_init_attr *init,
			  struct weft_pages *pages, struct weft_create_qp_resp *resp)
{
	const struct ib_qp_cap *cap = &init->cap;
	u32 stride = qp_sq_stride(init, false);

	qp->send.ring = weft_ring_place(pages, 0, cap->max_send_wr, stride, &resp->sq);
	if (IS_ERR(qp->send.ring))
		return PTR_ERR(qp->send.ring);
	if (!qp_has_rq(init))
		return 0;
	qp->recv.ring = weft_ring_place(pages, weft_ring_size(cap->max_send_wr, stride),
					cap->max_recv_wr, qp_rq_stride(init, false), &resp->rq);
	if (IS_ERR(qp->recv.ring)) {
		weft_ring_destroy(qp->send.ring);
		return PTR_ERR(qp->recv.ring);
	}
	return 0;
}

/* The queues of a process whose provider is that for rdma_rxe, which maps each by itself. */
static int qp_create_rxe(struct weft_qp *qp, const struct ib_qp_init_attr *init,
			 struct ib_ucontext *uctx, struct weft_create_qp_resp *resp)
{
	qp->send.ring = weft_rxe_create(init->cap.max_send_wr, qp_sq_stride(init, true), uctx,
					&resp->sq);
	if (IS_ERR(qp->send.ring))
		return PTR_ERR(qp->send.ring);
	if (!qp_has_rq(init))
		return 0;
	qp->recv.ring = weft_rxe_create(init->cap.max_recv_wr, qp_rq_stride(init, true), uctx,
					&resp->rq);
	if (IS_ERR(qp->recv.ring)) {
		weft_ring_destroy(qp->send.ring);
		return PTR_ERR(qp->recv.ring);
	}
	return 0;
}

/* Both rings share one allocation, because mapping it is most of their cost. */
static int qp_create_rings(struct weft_qp *qp, const struct ib_qp_init_attr *init,
			   struct ib_udata *udata, struct weft_create_qp_resp *resp)
{
	struct weft_page_cache *page_cache = weft_udata_page_cache(udata);
	const struct ib_qp_cap *cap = &init->cap;
	struct weft_pages *pages;
	size_t size;
	int ret;

	if (qp_has_hidden_sq(qp))
		return qp_create_hidden_ring(qp, init);
	if (weft_udata_rxe(udata))
		return qp_create_rxe(qp, init, weft_udata_ucontext(udata), resp);
	size = weft_ring_size(cap->max_send_wr, qp_sq_stride(init, false));
	if (qp_has_rq(init))
		size += weft_ring_size(cap->max_recv_wr, qp_rq_stride(init, false));
	pages = page_cache ? weft_page_cache_get(page_cache, size) : weft_pages_alloc(size, NULL);
	if (IS_ERR(pages))
		return PTR_ERR(pages);
	resp->pages_id = pages->id;
	ret = qp_place_rings(qp, init, pages, resp);
	weft_pages_put(pages);
	return ret;
}

static int qp_tell_rxe(struct ib_udata *udata, const struct weft_create_qp_resp *resp)
{
	struct rxe_create_qp_resp rxe = {
		.rq_mi = weft_rxe_mminfo(&resp->rq),
		.sq_mi = weft_rxe_mminfo(&resp->sq),
	};

	return udata->outlen < sizeof(rxe) ? -EINVAL : ib_copy_to_udata(udata, &rxe, sizeof(rxe));
}

static void qp_destroy_rings(struct weft_qp *qp)
{
	weft_ring_destroy(qp->recv.ring);
	weft_ring_destroy(qp->send.ring);
}

static enum weft_transport qp_transport(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
	case WEFT_QPT_DCI:
	case WEFT_QPT_DCT:
		return WEFT_TRANSPORT_RC;
	case IB_QPT_UC:
		return WEFT_TRANSPORT_UC;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return WEFT_TRANSPORT_XRC;
	case IB_QPT_RAW_PACKET:
		return WEFT_TRANSPORT_NONE;
	default:
		return WEFT_TRANSPORT_UD;
	}
}

/*
 * Not for an XRC target, which may outlive its process: each request names an SRQ, which has the
 * PD and the CQ.
 */
static void qp_set_owner(struct weft_qp *qp, const struct ib_qp_init_attr *init,
			 struct ib_udata *udata)
{
	qp->pd = qp->ibqp->pd;
	if (init->send_cq)
		qp->send_cq = to_weft_cq(init->send_cq);
	if (init->recv_cq)
		qp->recv.cq = to_weft_cq(init->recv_cq);
	if (init->srq && !qp_is_initiator(init->qp_type))
		qp->recv.srq = to_weft_srq(init->srq);
	/* with tags, the SRQ has the CQ of all receives, and what is sent completes a receive */
	if (qp_has_tags(init)) {
		qp->send_cq = NULL;
		qp->recv.cq = to_weft_cq(init->srq->ext.cq);
	}
	qp->doorbell = weft_udata_doorbell(udata);
}

/* Returns the number of elements that a receive work request can have. */
static u32 qp_recv_sges(const struct ib_qp_init_attr *init, bool rxe)
{
	/* any SRQ of the XRC domain may be named by a request */
	if (init->qp_type == IB_QPT_XRC_TGT)
		return WEFT_MAX_SGE;
	if (qp_has_rq(init))
		return weft_rq_sges(rxe, qp_rq_stride(init, rxe));
	/* weft_tags_match() makes lists of two elements */
	if (qp_has_tags(init))
		return max(to_weft_srq(init->srq)->max_sge, 2U);
	return init->srq ? to_weft_srq(init->srq)->max_sge : 1;
}

/*
 * A slot and both lists follow the QP in its allocation. With WEFT_MAX_SGE elements in each, most
 * QPs would not fit a page, so the lists have the lengths that this QP needs.
 */
static struct weft_qp *qp_alloc_lists(const struct ib_qp_init_attr *init, bool rxe)
{
	u32 send = weft_sq_sges(rxe, qp_sq_stride(init, rxe)), recv = qp_recv_sges(init, rxe);
	struct weft_slot *slot;
	struct weft_span *span;
	struct weft_sge *sge;
	struct weft_qp *qp;

	qp = kzalloc(sizeof(*qp) + weft_slot_size(send) + (send + recv) * sizeof(*span) +
		     recv * sizeof(*sge), GFP_KERNEL_ACCOUNT);
	if (!qp)
		return NULL;
	slot = (struct weft_slot *)(qp + 1);
	weft_inflight_init(qp, slot, send);
	span = (void *)slot + weft_slot_size(send);
	qp->send.sgl.span = span;
	qp->recv.sgl.span = span + send;
	qp->recv.wqe.sge = (struct weft_sge *)(span + send + recv);
	return qp;
}

/* The link of a new QP. A connected one may get another link with its path. */
static const struct weft_link *qp_link(const struct weft_qp *qp)
{
	if (weft_qp_is_raw(qp))
		return &weft_link_raw;
	return weft_qp_is_ud(qp) ? &weft_link_datagrams : &weft_link_local;
}

static struct weft_qp *qp_alloc(struct ib_qp *ibqp, const struct ib_qp_init_attr *init,
				struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ibqp->device);
	struct weft_qp *qp = weft_inject_no_memory(dev, NULL, WEFT_ALLOC_QP) ?
			     NULL : qp_alloc_lists(init, weft_udata_rxe(udata));

	if (!qp)
		return NULL;
	if (qp_has_tags(init)) {
		qp->recv.tagged = kzalloc(sizeof(*qp->recv.tagged), GFP_KERNEL_ACCOUNT);
		if (!qp->recv.tagged) {
			kfree(qp);
			return NULL;
		}
	}
	refcount_set(&qp->refs, 1);
	qp->type = init->qp_type;
	qp->peer_type = qp->type == IB_QPT_XRC_INI ? IB_QPT_XRC_TGT :
			qp->type == WEFT_QPT_DCI ? WEFT_QPT_DCT : qp->type;
	qp->transport = qp_transport(init->qp_type);
	qp->state = IB_QPS_RESET;
	/* the core passes no udata for an XRC target, although a process creates it */
	qp->kernel = !udata && init->qp_type != IB_QPT_XRC_TGT;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR && !qp->recv.tagged;
	qp->create_flags = init->create_flags;
	qp->user = weft_user();
	if (!qp->kernel) {
		weft_inject_own(&qp->owner);
		weft_owner_get(&qp->maker);
	}
	qp->dev = dev;
	qp->dev_id = dev->id;
	qp->stats = dev->stats;
	qp->ibqp = ibqp;
	qp->link = qp_link(qp);
	mutex_init(&qp->resize_lock);
	mutex_init(&qp->modify_lock);
	spin_lock_init(&qp->post_lock);
	weft_turn_init(&qp->send.turn, qp, "weft_send_turn", &qp_send_key,
		       weft_requester_run);
	weft_turn_init(&qp->recv.turn, qp, "weft_recv_turn", &qp_recv_key,
		       weft_qp_is_raw(qp) ? weft_raw_recv_run : weft_responder_run);
	weft_migration_init(qp);
	weft_qp_events_init(qp);
	if (qp->type == IB_QPT_XRC_TGT)
		qp->xrcd = init->xrcd;
	else
		qp_set_owner(qp, init, udata);
	return qp;
}

/* For an XRC target, pd is NULL here: each message sets it to the PD of the SRQ. */
static void qp_set_accessors(struct weft_qp *qp)
{
	qp->send.who = (struct weft_accessor){
		.table = &qp->dev->regions,
		.pd = qp->pd,
		.qpn = qp->qpn,
		.kernel = qp->kernel,
	};
	qp->recv.who = qp->send.who;
	qp->recv.taker = qp->send.who;
	if (qp->recv.srq)
		qp->recv.taker.pd = qp->recv.srq->ibsrq.pd;
	/* a rendezvous reads into the memory of a tag */
	if (qp->recv.tagged)
		qp->send.who.pd = qp->recv.taker.pd;
}

static int qp_name(struct weft_qp *qp, const struct ib_qp_init_attr *init)
{
	int special = qp_special(qp->type);
	int ret = 0;

	if (special < 0)
		ret = weft_qp_reserve(qp);
	else
		qp->qpn = special;
	qp->src_qpn = qp->create_flags & IB_QP_CREATE_SOURCE_QPN ? init->source_qpn : qp->qpn;
	return ret;
}

static void qp_publish(struct weft_qp *qp)
{
	int special = qp_special(qp->type);

	if (special < 0)
		weft_qp_publish(qp);
	else
		rcu_assign_pointer(qp->dev->special[special], qp);
}

static void qp_unpublish(struct weft_qp *qp)
{
	int special = qp_special(qp->type);

	if (special < 0)
		weft_qp_unpublish(qp);
	else
		RCU_INIT_POINTER(qp->dev->special[special], NULL);
}

/* @dc: the request for a DC QP, else NULL */
static int qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata,
		     const struct weft_create_dc_req *dc)
{
	struct weft_dev *dev = to_weft_dev(ibqp->device);
	struct weft_create_qp_resp resp = {};
	struct weft_create_qp_req req;
	struct weft_qp *qp;
	int ret;

	ret = qp_check_type(dev, init, udata) ?: qp_check_source(dev, init, udata) ?:
	      qp_check_objects(dev, init) ?: qp_check_tags(dev, init) ?: qp_check_cap(dev, init) ?:
	      qp_read_request(dev, init, udata, dc, &req) ?:
	      (weft_strict_is_on() && udata ? weft_profile_check_qp(dev, init) : 0) ?:
	      weft_count_take(&dev->num_qp, WEFT_MAX_QP);
	if (ret)
		return ret;
	qp = qp_alloc(ibqp, init, udata);
	if (!qp) {
		ret = -ENOMEM;
		goto err_uncount;
	}
	/* an XRC target has no completions of its own */
	qp->cookie = qp->kernel ? (uintptr_t)ibqp : req.cookie;
	qp->flags = req.flags;
	qp->send.pipelines = req.flags & WEFT_QP_SIG_PIPELINING;
	ret = init->rwq_ind_tbl ? weft_rss_read(qp, init, udata) : 0;
	if (dc) {
		qp->dc = weft_dc_alloc(dc);
		ret = qp->dc ? 0 : -ENOMEM;
	}
	if (!ret && weft_inject_no_memory(dev, NULL, WEFT_ALLOC_RING))
		ret = -ENOMEM;
	if (!ret)
		ret = qp_create_rings(qp, init, udata, &resp);
	if (ret)
		goto err_free_qp;
	qp_set_cap(qp, &init->cap);
	weft_requester_init(qp);
	weft_responder_init(qp);
	weft_pause(WEFT_PAUSE_QP_CREATE_NAMELESS);
	ret = qp_name(qp, init);
	if (ret)
		goto err_destroy_rings;
	qp_set_accessors(qp);
	if (udata) {
		ret = weft_udata_rxe(udata) ? qp_tell_rxe(udata, &resp) :
					      ib_copy_to_udata(udata, &resp, sizeof(resp));
		if (ret)
			goto err_unpublish;
	}
	weft_pause(WEFT_PAUSE_QP_CREATE_TOLD);
	container_of(ibqp, struct weft_ib_qp, ibqp)->qp = qp;
	ibqp->qp_num = qp->qpn;
	qp_publish(qp);
	weft_why_state(qp, WEFT_WHY_NO_STATE, IB_QPS_RESET);
	weft_pause(WEFT_PAUSE_QP_CREATE_PUBLISHED);
	return 0;

err_unpublish:
	qp_unpublish(qp);
err_destroy_rings:
	qp_destroy_rings(qp);
err_free_qp:
	weft_rss_free(qp->rss);
	kfree(qp->dc);
	kfree(qp->recv.tagged);
	put_pid(qp->maker.pid);
	kfree(qp);
err_uncount:
	weft_count_give(&dev->num_qp);
	return ret;
}

int weft_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct weft_create_dc_req dc;
	struct ib_qp_init_attr copy;
	int ret = weft_inject_verb(ibqp->device, WEFT_VERB_CREATE_QP);

	if (ret)
		return ret;
	if (init->qp_type > IB_QPT_DRIVER)
		return weft_refuse(ibqp->device, -EOPNOTSUPP,
				   "create QP: qp_type %u is not supported", init->qp_type);
	if (init->qp_type != IB_QPT_DRIVER)
		return qp_create(ibqp, init, udata, NULL);
	/* the type that DC has here is not for the core */
	copy = *init;
	ret = weft_dc_read(to_weft_dev(ibqp->device), &copy, udata, &dc) ?:
	      qp_create(ibqp, &copy, udata, &dc);
	init->cap = copy.cap;
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_create_qp);

int weft_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	int ret = weft_inject_qp_verb(ibqp, WEFT_VERB_QUERY_QP, 0);

	if (ret)
		return ret;
	mutex_lock(&qp->modify_lock);
	*attr = qp->attr;
	attr->qp_state = weft_qp_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD && weft_send_is_busy(&qp->send);
	if (!weft_qp_is_ud(qp) && !weft_qp_is_raw(qp))
		weft_av_to_attr(qp->type == WEFT_QPT_DCI ? &qp->dc->path : &qp->av,
				&attr->ah_attr);
	weft_migration_query(qp, attr);
	/*
	 * "rdma resource" shows a QP to everybody, and asks for no attribute. As long as a QP has
	 * sent nothing, its initial PSN is the next one, which is all that a forger needs to know.
	 */
	if (!mask && !ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN)) {
		attr->rq_psn = 0;
		attr->sq_psn = 0;
	}
	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = qp->cap,
		.sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = qp->dc ? IB_QPT_DRIVER : qp->type,
		.create_flags = qp->create_flags,
		.source_qpn = qp->create_flags & IB_QP_CREATE_SOURCE_QPN ? qp->src_qpn : 0,
	};
	mutex_unlock(&qp->modify_lock);
	return 0;
}

/*
 * The order matters. First no new lookup finds the QP. Then requester and responder stop for good.
 * RESET stops the tasks that found the QP before. After that its resources may go.
 */
int weft_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	int groups = atomic_read(&qp->mcast_groups);

	if (groups)
		return weft_refuse(&qp->dev->ibdev, -EBUSY,
				   "destroy QP %u: it is attached to %d multicast groups",
				   qp->qpn, groups);
	qp_unpublish(qp);
	weft_pause(WEFT_PAUSE_QP_DESTROY_UNPUBLISHED);
	mutex_lock(&qp->modify_lock);
	weft_turn_stop(&qp->send.turn);
	weft_pause(WEFT_PAUSE_QP_DESTROY_SEND_STOPPED);
	weft_turn_stop(&qp->recv.turn);
	weft_requester_reset(qp);
	weft_responder_reset(qp);
	weft_why_state(qp, weft_qp_state(qp), WEFT_WHY_NO_STATE);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	weft_pause(WEFT_PAUSE_QP_DESTROY_RESET);
	/* the turns are still stopped, so nothing runs, and tasks that wait for a turn give up */
	weft_turn_end(&qp->recv.turn);
	weft_turn_end(&qp->send.turn);
	mutex_unlock(&qp->modify_lock);
	weft_pause(WEFT_PAUSE_QP_DESTROY_ENDED);
	weft_events_end(&qp->events);
	weft_inflight_free(&qp->send.inflight);
	qp_destroy_rings(qp);
	weft_count_give(&qp->dev->num_qp);
	weft_pause(WEFT_PAUSE_QP_DESTROY_EMPTY);
	weft_qp_put(qp);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_destroy_qp);
