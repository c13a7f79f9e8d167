// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/dc.h"

#include <linux/nospec.h>
#include <linux/slab.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/dev.h"
#include "object/qp.h"
#include "object/refuse.h"
#include "object/ucontext.h"

static int dc_check_request(const struct weft_dev *dev, const struct weft_create_dc_req *req)
{
	bool initiator = req->type == WEFT_DC_INITIATOR;

	if (!initiator && req->type != WEFT_DC_TARGET)
		return weft_refuse(&dev->ibdev, -EINVAL, "create QP: DC type %u is unknown",
				   req->type);
	if (initiator ? req->access_key != 0 : req->streams)
		return weft_refuse(&dev->ibdev, -EINVAL, "create QP: a DC %s has no %s",
				   initiator ? "initiator" : "target",
				   initiator ? "access key" : "streams");
	if (req->streams > 1 || req->reserved_1c ||
	    (!req->streams && (req->log_streams || req->log_errored)))
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: reserved bytes of the request are set");
	return weft_check_max(&dev->ibdev, "create QP", "log_num_concurent", req->log_streams,
			      WEFT_DC_LOG_STREAMS) ?:
	       weft_check_max(&dev->ibdev, "create QP", "log_num_errored", req->log_errored,
			      WEFT_DC_LOG_STREAMS);
}

/* Read the request for a QP of the type IB_QPT_DRIVER, and set the type in @init. */
int weft_dc_read(const struct weft_dev *dev, struct ib_qp_init_attr *init, struct ib_udata *udata,
		 struct weft_create_dc_req *req)
{
	int ret;

	if (!udata || weft_udata_rxe(udata))
		return weft_refuse(&dev->ibdev, -EOPNOTSUPP,
				   "create QP: DC is for processes with weft's provider");
	ret = weft_udata_read(udata, req, sizeof(*req), sizeof(*req),
			      sizeof(struct weft_create_qp_resp));
	if (ret)
		return weft_refuse_request(&dev->ibdev, ret, "create QP", udata);
	init->qp_type = req->type == WEFT_DC_TARGET ? WEFT_QPT_DCT : WEFT_QPT_DCI;
	return dc_check_request(dev, req);
}

/* As mlx5 does; but there are no packets for DC, so a device without a local link has none. */
int weft_dc_check(const struct weft_dev *dev, const struct ib_qp_init_attr *init)
{
	if (!READ_ONCE(dev->local_link))
		return weft_refuse(&dev->ibdev, -EOPNOTSUPP, "create QP: DC needs the local link");
	if (init->qp_type == WEFT_QPT_DCI)
		return init->cap.max_recv_wr || init->cap.max_recv_sge ?
		       weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: a DC initiator has no receive queue") : 0;
	if (!init->srq || init->srq->srq_type != IB_SRQT_BASIC)
		return weft_refuse(&dev->ibdev, -EINVAL,
				   "create QP: a DC target needs an SRQ of the basic type");
	return init->create_flags ? weft_refuse(&dev->ibdev, -EINVAL,
						"create QP: a DC target takes no create_flags, not %#x",
						init->create_flags) : 0;
}

struct weft_dc *weft_dc_alloc(const struct weft_create_dc_req *req)
{
	struct weft_dc *dc = kzalloc(sizeof(*dc), GFP_KERNEL_ACCOUNT);

	if (!dc)
		return NULL;
	dc->key = req->access_key;
	dc->streams = req->streams;
	dc->log_errored = req->log_errored;
	return dc;
}

/* The QP is in RESET. Both turns are stopped. */
void weft_dc_reset(struct weft_dc *dc)
{
	dc->path = (struct weft_av){};
	dc->num_errored = 0;
	bitmap_zero(dc->errored, WEFT_DC_STREAMS);
}

/* A request of the stream may be under way, so the send turn is stopped. */
static int dc_end_error(struct weft_qp *qp, u32 stream)
{
	int ret = 0;

	mutex_lock(&qp->modify_lock);
	weft_turn_stop(&qp->send.turn);
	if (weft_qp_state(qp) != IB_QPS_RTS)
		ret = weft_refuse(&qp->dev->ibdev, -EOPNOTSUPP, "reset stream: QP %u is not in RTS",
				  qp->qpn);
	else if (!__test_and_clear_bit(stream, qp->dc->errored))
		ret = weft_refuse(&qp->dev->ibdev, -EINVAL,
				  "reset stream: stream %u of QP %u is not in error", stream,
				  qp->qpn);
	else
		qp->dc->num_errored--;
	weft_turn_resume(&qp->send.turn);
	mutex_unlock(&qp->modify_lock);
	return ret;
}

static int UVERBS_HANDLER(WEFT_METHOD_QP_STREAM)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, WEFT_ATTR_QP_STREAM_HANDLE);
	/* the core makes another struct ib_qp for each process that opens an XRC target */
	struct weft_qp *qp = to_weft_qp(ibqp->real_qp);
	u32 stream;
	int ret;

	ret = uverbs_copy_from(&stream, attrs, WEFT_ATTR_QP_STREAM_ID);
	if (ret)
		return ret;
	if (!qp->dc || !qp->dc->streams || stream >= WEFT_DC_STREAMS)
		return weft_refuse(ibqp->device, -EINVAL, "reset stream: QP %u has no stream %u",
				   qp->qpn, stream);
	return dc_end_error(qp, array_index_nospec(stream, WEFT_DC_STREAMS));
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_QP_STREAM,
			    UVERBS_ATTR_IDR(WEFT_ATTR_QP_STREAM_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(WEFT_ATTR_QP_STREAM_ID,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

ADD_UVERBS_METHODS(qp_methods, UVERBS_OBJECT_QP, &UVERBS_METHOD(WEFT_METHOD_QP_STREAM));

const struct uapi_definition weft_dc_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &qp_methods),
	{ }
};
