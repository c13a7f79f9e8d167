/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Dynamic connections. They are for programs that use libweft: an initiator's work requests are
 * built between ibv_wr_start() and ibv_wr_complete() of post.c, with setters from here.
 */
#include <errno.h>

#include "weft.h"
#include "weft-abi.h"

static int dc_check_target(const struct ibv_qp_init_attr_ex *attr,
			   uint64_t dv_mask)
{
	if (dv_mask & WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS ||
	    attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return EINVAL;
	return attr->srq && attr->recv_cq ? 0 : EINVAL;
}

int weft_dc_request(struct ibv_context *context,
		    const struct ibv_qp_init_attr_ex *attr,
		    const struct weftdv_qp_init_attr *dv_attr,
		    struct weft_create_dc_req *req)
{
	const struct weftdv_dc_init_attr *dc = &dv_attr->dc_init_attr;

	if (!(dv_attr->comp_mask & WEFTDV_QP_INIT_ATTR_MASK_DC))
		return EINVAL;
	if (!to_weft_context(context)->dc)
		return EOPNOTSUPP;
	switch (dc->dc_type) {
	case WEFTDV_DCTYPE_DCT:
		req->type = WEFT_DC_TARGET;
		req->access_key = dc->dct_access_key;
		return dc_check_target(attr, dv_attr->comp_mask);
	case WEFTDV_DCTYPE_DCI:
		req->type = WEFT_DC_INITIATOR;
		if (!(dv_attr->comp_mask & WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS))
			return 0;
		req->streams = 1;
		req->log_streams = dc->dci_streams.log_num_concurent;
		req->log_errored = dc->dci_streams.log_num_errored;
		return req->log_streams > WEFT_DC_LOG_STREAMS ||
				       req->log_errored > WEFT_DC_LOG_STREAMS ?
			       EINVAL : 0;
	default:
		return EINVAL;
	}
}

static void wr_set_dc_addr_stream(struct weftdv_qp_ex *dv, struct ibv_ah *ah,
				  uint32_t remote_dctn, uint64_t remote_dc_key,
				  uint16_t stream_id)
{
	struct weft_qp *qp = to_weft_qp_dv(dv);
	struct weft_sq *sq = &qp->sq;

	if (!sq->sqe || !sq->unfinished || !ah ||
	    remote_dctn >> WEFT_DC_STREAM_SHIFT || stream_id > qp->streams) {
		weft_wr_fail(sq, EINVAL);
		return;
	}
	sq->sqe->dc.to = (struct weft_dc_address){
		.key = remote_dc_key,
		.ah_id = to_weft_ah(ah)->ah_id,
		.dctn = remote_dctn |
			(uint32_t)stream_id << WEFT_DC_STREAM_SHIFT,
	};
	sq->unfinished = false;
}

static void wr_set_dc_addr(struct weftdv_qp_ex *dv, struct ibv_ah *ah,
			   uint32_t remote_dctn, uint64_t remote_dc_key)
{
	wr_set_dc_addr_stream(dv, ah, remote_dctn, remote_dc_key, 0);
}

void weft_set_dc_ops(struct weft_qp *qp, const struct weft_create_dc_req *req)
{
	if (req->type == WEFT_DC_TARGET) {
		qp->dc = WEFTDV_DCTYPE_DCT;
		return;
	}
	qp->dc = WEFTDV_DCTYPE_DCI;
	qp->streams = req->streams ?
			      UINT32_MAX >> WEFT_DC_STREAM_SHIFT : 0;
	qp->dv.wr_set_dc_addr = wr_set_dc_addr;
	qp->dv.wr_set_dc_addr_stream = wr_set_dc_addr_stream;
}

int weft_dci_stream_id_reset(struct ibv_qp *ibqp, uint16_t stream_id)
{
	const struct weft_qp *qp = to_weft_qp(ibqp);
	union verbs_command cmd;

	if (!qp->streams)
		return EINVAL;
	verbs_command_init(&cmd, UVERBS_OBJECT_QP, WEFT_METHOD_QP_STREAM);
	verbs_command_add_obj(&cmd, WEFT_ATTR_QP_STREAM_HANDLE, ibqp->handle);
	verbs_command_add(&cmd, WEFT_ATTR_QP_STREAM_ID, stream_id,
			  sizeof(uint32_t));
	return execute_ioctl(ibqp->context, &cmd.buffer);
}
