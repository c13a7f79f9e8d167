/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs: the provider's part of libweft, see userspace/libweft/table.h. mkey.c has the
 * builders of work requests.
 */
#include <errno.h>
#include <stdlib.h>

#include <table.h>

#include "weft.h"
#include "weft-abi.h"

/* of RAW_PACKET QPs */
#define RAW_FLAGS (WEFTDV_QP_CREATE_TUNNEL_OFFLOADS | \
		   WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC | \
		   WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC)

#define RC_FLAGS  (WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE | \
		   WEFTDV_QP_CREATE_SIG_PIPELINING)

/* The flags that work, of QPs of all types or of one. */
static uint32_t dv_create_flags(struct ibv_context *context)
{
	/*
	 * the kernel always puts data where they belong before it says so, also where they might
	 * be in the completion instead
	 */
	uint32_t flags = WEFTDV_QP_CREATE_DISABLE_SCATTER_TO_CQE |
			 WEFTDV_QP_CREATE_ALLOW_SCATTER_TO_CQE;

	if (weft_send_opcodes(context, IBV_QPT_RAW_PACKET))
		flags |= RAW_FLAGS;
	if (to_weft_context(context)->signatures)
		flags |= WEFTDV_QP_CREATE_SIG_PIPELINING;
	if (to_weft_context(context)->packet_credits)
		flags |= WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE;
	return flags;
}

static uint32_t dv_create_flags_of(struct ibv_context *context,
				   enum ibv_qp_type type)
{
	uint32_t flags = dv_create_flags(context);

	if (type != IBV_QPT_RAW_PACKET)
		flags &= ~RAW_FLAGS;
	if (type != IBV_QPT_RC)
		flags &= ~RC_FLAGS;
	return flags;
}

static uint32_t dv_qp_flags(uint32_t create_flags)
{
	uint32_t flags = 0;

	if (create_flags & WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC)
		flags |= WEFT_QP_LOOPBACK_UNICAST;
	if (create_flags & WEFTDV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC)
		flags |= WEFT_QP_LOOPBACK_MULTICAST;
	if (create_flags & WEFTDV_QP_CREATE_TUNNEL_OFFLOADS)
		flags |= WEFT_QP_TUNNEL_OFFLOADS;
	if (create_flags & WEFTDV_QP_CREATE_SIG_PIPELINING)
		flags |= WEFT_QP_SIG_PIPELINING;
	if (create_flags & WEFTDV_QP_CREATE_PACKET_BASED_CREDIT_MODE)
		flags |= WEFT_QP_PACKET_CREDITS;
	return flags;
}

static uint64_t dv_send_ops(struct ibv_context *context)
{
	if (!to_weft_context(context)->mkeys)
		return 0;
	return WEFTDV_QP_EX_WITH_MR_INTERLEAVED | WEFTDV_QP_EX_WITH_MR_LIST |
	       WEFTDV_QP_EX_WITH_MKEY_CONFIGURE;
}

static uint32_t dv_mkey_flags(struct ibv_context *context)
{
	uint32_t flags = 0;

	if (to_weft_context(context)->mkeys)
		flags |= WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT;
	if (to_weft_context(context)->signatures)
		flags |= WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	return flags;
}

/* A kernel has all of it, or nothing. */
static struct weftdv_sig_caps dv_sig_caps(struct ibv_context *context)
{
	static const struct weftdv_sig_caps all = {
		.block_size = WEFTDV_BLOCK_SIZE_CAP_512 |
			      WEFTDV_BLOCK_SIZE_CAP_520 |
			      WEFTDV_BLOCK_SIZE_CAP_4048 |
			      WEFTDV_BLOCK_SIZE_CAP_4096 |
			      WEFTDV_BLOCK_SIZE_CAP_4160,
		.block_prot = WEFTDV_SIG_PROT_CAP_T10DIF |
			      WEFTDV_SIG_PROT_CAP_CRC,
		.t10dif_bg = WEFTDV_SIG_T10DIF_BG_CAP_CRC |
			     WEFTDV_SIG_T10DIF_BG_CAP_CSUM,
		.crc_type = WEFTDV_SIG_CRC_TYPE_CAP_CRC32 |
			    WEFTDV_SIG_CRC_TYPE_CAP_CRC32C |
			    WEFTDV_SIG_CRC_TYPE_CAP_CRC64_XP10,
	};
	static const struct weftdv_sig_caps none;

	return to_weft_context(context)->signatures ? all : none;
}

static struct weftdv_dc_caps dv_dc_caps(struct ibv_context *context)
{
	static const struct weftdv_dc_caps all = {
		.dc_types = 1 << WEFTDV_DCTYPE_DCT | 1 << WEFTDV_DCTYPE_DCI,
		.max_log_num_concurent = WEFT_DC_LOG_STREAMS,
		.max_log_num_errored = WEFT_DC_LOG_STREAMS,
	};
	static const struct weftdv_dc_caps none;

	return to_weft_context(context)->dc ? all : none;
}

static int dv_query_device(struct ibv_context *context,
			   struct weftdv_device_attr *attr)
{
	const bool mkeys = to_weft_context(context)->mkeys;

	attr->comp_mask &= WEFTDV_DEVICE_ATTR_QP | WEFTDV_DEVICE_ATTR_MKEY |
			   WEFTDV_DEVICE_ATTR_SIG | WEFTDV_DEVICE_ATTR_DC;
	if (attr->comp_mask & WEFTDV_DEVICE_ATTR_QP) {
		attr->qp_create_flags = dv_create_flags(context);
		attr->send_ops_flags = dv_send_ops(context);
	}
	if (attr->comp_mask & WEFTDV_DEVICE_ATTR_MKEY) {
		attr->mkey_create_flags = dv_mkey_flags(context);
		attr->max_mkey_entries = mkeys ? WEFT_MKEY_ENTRIES : 0;
	}
	if (attr->comp_mask & WEFTDV_DEVICE_ATTR_SIG)
		attr->sig_caps = dv_sig_caps(context);
	if (attr->comp_mask & WEFTDV_DEVICE_ATTR_DC)
		attr->dc_caps = dv_dc_caps(context);
	return 0;
}

/* 0, or an errno: EINVAL what makes no sense, EOPNOTSUPP what the device does not have. */
static int dv_check_qp(struct ibv_context *context,
		       const struct ibv_qp_init_attr_ex *attr,
		       const struct weftdv_qp_init_attr *dv_attr)
{
	const uint64_t dc = WEFTDV_QP_INIT_ATTR_MASK_DC |
			    WEFTDV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	const uint32_t scatter = WEFTDV_QP_CREATE_DISABLE_SCATTER_TO_CQE |
				 WEFTDV_QP_CREATE_ALLOW_SCATTER_TO_CQE;
	const uint64_t mask = dv_attr->comp_mask;

	if (!check_comp_mask(mask, WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS |
				   WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS | dc))
		return EINVAL;
	if ((attr->qp_type == IBV_QPT_DRIVER) != !!(mask & dc))
		return EINVAL;
	if (mask & WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) {
		if ((dv_attr->create_flags & scatter) == scatter)
			return EINVAL;
		if (dv_attr->create_flags &
		    ~dv_create_flags_of(context, attr->qp_type))
			return EOPNOTSUPP;
	}
	if (!(mask & WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS) ||
	    !dv_attr->send_ops_flags)
		return 0;
	if (attr->qp_type != IBV_QPT_RC ||
	    dv_attr->send_ops_flags & ~dv_send_ops(context))
		return EOPNOTSUPP;
	/* the builders begin and end with ibv_wr_start() and ibv_wr_complete() */
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EINVAL;
	return 0;
}

static struct ibv_qp *dv_create_qp(struct ibv_context *context,
				   struct ibv_qp_init_attr_ex *attr,
				   struct weftdv_qp_init_attr *dv_attr)
{
	static const struct weftdv_qp_init_attr none;
	const struct weftdv_qp_init_attr *dv = dv_attr ? dv_attr : &none;
	struct weft_create_dc_req dc = {};
	struct weft_qp_extra extra = {};
	int ret;

	ret = dv_check_qp(context, attr, dv);
	if (!ret && attr->qp_type == IBV_QPT_DRIVER) {
		ret = weft_dc_request(context, attr, dv, &dc);
		extra.dc = &dc;
	}
	if (ret) {
		errno = ret;
		return NULL;
	}
	if (dv->comp_mask & WEFTDV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS)
		extra.mkey_ops = dv->send_ops_flags;
	if (dv->comp_mask & WEFTDV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS)
		extra.flags = dv_qp_flags(dv->create_flags);
	return weft_create_qp_extra(context, attr, &extra);
}

static struct weftdv_qp_ex *dv_qp_ex(struct ibv_qp_ex *qp)
{
	struct weft_qp *weft_qp = to_weft_qp_ex(qp);

	if (weft_qp->dv_ops || weft_qp->pipelines || weft_qp->dc == WEFTDV_DCTYPE_DCI)
		return &weft_qp->dv;
	errno = EOPNOTSUPP;
	return NULL;
}

/*
 * The QP is in SQD, so the kernel takes no work request from the ring. Those that it has taken
 * before are complete when the queue is drained; then all others begin at its index.
 */
static int dv_cancel(struct weftdv_qp_ex *dv, uint64_t wr_id)
{
	struct weft_qp *qp = to_weft_qp_dv(dv);
	struct weft_queue *sq = &qp->sq.queue;
	struct ibv_qp_init_attr init_attr;
	struct ibv_qp_attr attr;
	struct weft_sqe *sqe;
	int ret, num = 0;
	uint32_t i;

	if (!qp->pipelines)
		return -EOPNOTSUPP;
	ret = weft_query_qp(&qp->vqp.qp, &attr, IBV_QP_STATE, &init_attr);
	if (ret)
		return -ret;
	if (attr.qp_state != IBV_QPS_SQD || attr.sq_draining)
		return -EINVAL;

	weft_lock(&sq->lock);
	for (i = weft_ring_consumer(&sq->ring); i != sq->producer; i++) {
		sqe = weft_ring_slot(&sq->ring, i);
		if (sqe->wr_id != wr_id || sqe->opcode == WEFT_SQE_NOP)
			continue;
		sqe->opcode = WEFT_SQE_NOP;
		sqe->flags &= WEFT_SQE_SIGNALED;
		sqe->num_sge = 0;
		sqe->inline_length = 0;
		num++;
	}
	weft_unlock(&sq->lock);
	return num;
}

static struct weftdv_mkey *dv_create_mkey(struct weftdv_mkey_init_attr *attr)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct uweft_alloc_mw cmd = {};
	struct weft_mkey *mkey;
	int ret;

	if (!to_weft_context(attr->pd->context)->mkeys ||
	    attr->create_flags & ~dv_mkey_flags(attr->pd->context)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->create_flags & WEFTDV_MKEY_INIT_ATTR_FLAGS_INDIRECT) ||
	    !attr->max_entries) {
		errno = EINVAL;
		return NULL;
	}
	mkey = calloc(1, sizeof(*mkey));
	if (!mkey)
		return NULL;

	mkey->sign = attr->create_flags &
		     WEFTDV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE;
	cmd.drv.max_entries = attr->max_entries;
	if (mkey->sign)
		cmd.drv.flags = WEFT_MKEY_SIGNATURES;
	ret = ibv_cmd_alloc_mw(attr->pd, IBV_MW_TYPE_2, &mkey->mw, &cmd.ibv_cmd,
			       sizeof(cmd), &resp, sizeof(resp));
	if (ret)
		goto err_free;
	/* what ibv_alloc_mw() sets, and libibverbs needs to deallocate it */
	mkey->mw.context = attr->pd->context;
	mkey->mw.pd = attr->pd;
	mkey->dv.lkey = mkey->mw.rkey;
	mkey->dv.rkey = mkey->mw.rkey;
	return &mkey->dv;

err_free:
	free(mkey);
	errno = ret;
	return NULL;
}

static int dv_destroy_mkey(struct weftdv_mkey *dv)
{
	struct weft_mkey *mkey = container_of(dv, struct weft_mkey, dv);
	int ret;

	ret = ibv_cmd_dealloc_mw(&mkey->mw);
	if (ret)
		return ret;

	free(mkey);
	return 0;
}

static enum weftdv_mkey_err_type dv_err_type(uint32_t type)
{
	switch (type) {
	case WEFT_MKEY_BAD_GUARD:
		return WEFTDV_MKEY_SIG_BLOCK_BAD_GUARD;
	case WEFT_MKEY_BAD_REF_TAG:
		return WEFTDV_MKEY_SIG_BLOCK_BAD_REFTAG;
	case WEFT_MKEY_BAD_APP_TAG:
		return WEFTDV_MKEY_SIG_BLOCK_BAD_APPTAG;
	default:
		return WEFTDV_MKEY_NO_ERR;
	}
}

static int dv_mkey_check(struct weftdv_mkey *dv, struct weftdv_mkey_err *err)
{
	struct weft_mkey *mkey = container_of(dv, struct weft_mkey, dv);
	struct weft_mkey_error error = {};
	union verbs_command cmd;
	int ret;

	/* an older kernel does not know the command */
	if (!mkey->sign)
		return EINVAL;
	verbs_command_init(&cmd, UVERBS_OBJECT_MW, WEFT_METHOD_MW_CHECK);
	verbs_command_add_obj(&cmd, WEFT_ATTR_MW_CHECK_HANDLE, mkey->mw.handle);
	verbs_command_add_out(&cmd, WEFT_ATTR_MW_CHECK_RESP, &error,
			      sizeof(error));
	ret = execute_ioctl(mkey->mw.context, &cmd.buffer);
	if (ret)
		return ret;
	err->err_type = dv_err_type(error.type);
	err->err.sig.actual_value = error.computed;
	err->err.sig.expected_value = error.found;
	err->err.sig.offset = error.offset;
	return 0;
}

__attribute__((visibility("default")))
const struct weft_dv_table WEFT_DV_TABLE = {
	.size		= sizeof(WEFT_DV_TABLE),
	.is_own		= weft_is_own,
	.query_device	= dv_query_device,
	.create_qp	= dv_create_qp,
	.qp_ex		= dv_qp_ex,
	.create_mkey	= dv_create_mkey,
	.destroy_mkey	= dv_destroy_mkey,
	.mkey_check	= dv_mkey_check,
	.cancel		= dv_cancel,
	.stream_reset	= weft_dci_stream_id_reset,
};
