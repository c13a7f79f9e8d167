/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The differences between releases of rdma-core that share an interface number.
 * The provider learns the release from the library that has loaded it.
 */

#include <errno.h>
#include <stdio.h>

#include "rdmacore/ops.h"
#include "weft.h"

#define OPS_34								\
	.advise_mr		= weft_advise_mr,			\
	.alloc_dm		= weft_alloc_dm,			\
	.alloc_mw		= weft_alloc_mw,			\
	.alloc_null_mr		= weft_alloc_null_mr,			\
	.alloc_parent_domain	= weft_alloc_parent_domain,		\
	.alloc_pd		= weft_alloc_pd,			\
	.alloc_td		= weft_alloc_td,			\
	.attach_counters_point_flow = weft_attach_counters_point_flow,	\
	.attach_mcast		= ibv_cmd_attach_mcast,			\
	.bind_mw		= weft_bind_mw,				\
	.close_xrcd		= weft_close_xrcd,			\
	.create_ah		= weft_create_ah,			\
	.create_counters	= weft_create_counters,			\
	.create_cq		= weft_create_cq,			\
	.create_cq_ex		= weft_create_cq_ex,			\
	.create_flow		= weft_create_flow,			\
	.create_qp		= weft_create_qp,			\
	.create_qp_ex		= weft_create_qp_ex,			\
	.create_rwq_ind_table	= weft_create_rwq_ind_table,		\
	.create_srq		= weft_create_srq,			\
	.create_srq_ex		= weft_create_srq_ex,			\
	.create_wq		= weft_create_wq,			\
	.dealloc_mw		= weft_dealloc_mw,			\
	.dealloc_pd		= weft_dealloc_pd,			\
	.dealloc_td		= weft_dealloc_td,			\
	.dereg_mr		= weft_dereg_mr,			\
	.destroy_ah		= weft_destroy_ah,			\
	.destroy_counters	= weft_destroy_counters,		\
	.destroy_cq		= weft_destroy_cq,			\
	.destroy_flow		= weft_destroy_flow,			\
	.destroy_qp		= weft_destroy_qp,			\
	.destroy_rwq_ind_table	= weft_destroy_rwq_ind_table,		\
	.destroy_srq		= weft_destroy_srq,			\
	.destroy_wq		= weft_destroy_wq,			\
	.detach_mcast		= ibv_cmd_detach_mcast,			\
	.free_context		= weft_free_context,			\
	.free_dm		= weft_free_dm,				\
	.get_srq_num		= weft_get_srq_num,			\
	.import_mr		= weft_import_mr,			\
	.import_pd		= weft_import_pd,			\
	.modify_cq		= weft_modify_cq,			\
	.modify_qp		= weft_modify_qp,			\
	.modify_qp_rate_limit	= weft_modify_qp_rate_limit,		\
	.modify_srq		= weft_modify_srq,			\
	.modify_wq		= weft_modify_wq,			\
	.open_qp		= weft_open_qp,				\
	.open_xrcd		= weft_open_xrcd,			\
	.poll_cq		= weft_poll_cq,				\
	.post_recv		= weft_post_recv,			\
	.post_send		= weft_post_send,			\
	.post_srq_ops		= weft_post_srq_ops,			\
	.post_srq_recv		= weft_post_srq_recv,			\
	.query_device_ex	= weft_query_device_ex,			\
	.query_port		= weft_query_port,			\
	.query_qp		= weft_query_qp,			\
	.query_rt_values	= weft_query_rt_values,			\
	.query_srq		= weft_query_srq,			\
	.read_counters		= weft_read_counters,			\
	.reg_dm_mr		= weft_reg_dm_mr,			\
	.reg_dmabuf_mr		= weft_reg_dmabuf_mr,			\
	.reg_mr			= weft_reg_mr,				\
	.req_notify_cq		= weft_req_notify_cq,			\
	.rereg_mr		= weft_rereg_mr,			\
	.resize_cq		= weft_resize_cq,			\
	.unimport_mr		= weft_unimport_mr,			\
	.unimport_pd		= weft_unimport_pd

#define OPS_35								\
	OPS_34,								\
	.import_dm		= weft_import_dm,			\
	.unimport_dm		= weft_unimport_dm

#define OPS_59								\
	OPS_35,								\
	.alloc_dmah		= weft_alloc_dmah,			\
	.dealloc_dmah		= weft_dealloc_dmah,			\
	.reg_mr_ex		= weft_reg_mr_ex

#define OPS_62								\
	OPS_59,								\
	.query_port_speed	= ibv_cmd_query_port_speed

#define OPS_65								\
	OPS_62,								\
	.create_comp_cntr	= weft_create_comp_cntr,		\
	.destroy_comp_cntr	= weft_destroy_comp_cntr,		\
	.inc_comp_cntr		= ibv_cmd_inc_comp_cntr,		\
	.inc_err_comp_cntr	= ibv_cmd_inc_err_comp_cntr,		\
	.qp_attach_comp_cntr	= weft_qp_attach_comp_cntr,		\
	.query_comp_cntr_caps	= ibv_cmd_query_comp_cntr_caps,		\
	.read_comp_cntr		= ibv_cmd_read_comp_cntr,		\
	.read_err_comp_cntr	= ibv_cmd_read_err_comp_cntr,		\
	.set_comp_cntr		= ibv_cmd_set_comp_cntr,		\
	.set_err_comp_cntr	= ibv_cmd_set_err_comp_cntr

#if VERBS_PABI == 34
/* Not in the library that the provider is linked with, so they have no version. */
struct ibv_dm *ibv_import_dm(struct ibv_context *context, uint32_t handle)
	__attribute__((weak));
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op,
			       uint32_t flags) __attribute__((weak));

static const struct verbs_context_ops_34 ops_34 = { OPS_34 };
static const struct verbs_context_ops_35 ops_35 = { OPS_35 };
static const struct verbs_context_ops_36 ops_36 = { OPS_35 };

static const void *find_ops(void)
{
	if (ibv_query_qp_data_in_order)
		return &ops_36;
	return ibv_import_dm ? (const void *)&ops_35 : (const void *)&ops_34;
}
#elif VERBS_PABI == 57
static const struct verbs_context_ops_36 ops_36 = { OPS_35 };

static const void *find_ops(void)
{
	return &ops_36;
}
#elif VERBS_PABI == 59
static const struct verbs_context_ops_59 ops_59 = { OPS_59 };
static const struct verbs_context_ops_62 ops_62 = { OPS_62 };

static const void *find_ops(void)
{
	return ibv_cmd_query_port_speed ? (const void *)&ops_62 :
					  (const void *)&ops_59;
}
#elif VERBS_PABI == 64
static const struct verbs_context_ops_64 ops_64 = { OPS_62 };

static const void *find_ops(void)
{
	return &ops_64;
}
#elif VERBS_PABI == 65
static const struct verbs_context_ops_65 ops_65 = { OPS_65 };

static const void *find_ops(void)
{
	return &ops_65;
}
#else
#error "no layout of struct verbs_context_ops is known for this number"
#endif

/*
 * The index of comp_mask in struct verbs_qp.tail, or -1. ibv_qp_to_qp_ex() tells,
 * because it reads comp_mask where the library has it. That may be behind struct
 * verbs_qp if the release is unknown.
 */
static int find_qp_mask(void)
{
	union {
		struct verbs_qp qp;
		uint8_t room[2 * sizeof(struct verbs_qp)];
	} probe;
	int i;

	for (i = 0; i < VERBS_QP_TAIL_SIZE - 1; i++) {
		memset(&probe, 0, sizeof(probe));
		probe.qp.tail[i].comp_mask = VERBS_QP_EX;
		if (ibv_qp_to_qp_ex(&probe.qp.qp))
			return i;
	}
	return -1;
}

/*
 * struct ibv_context in struct verbs_context, or NULL. In front of it is a word
 * with the size of struct verbs_context.
 */
static struct ibv_context *find_context(struct weft_context *context,
					const struct ibv_device *device)
{
	const size_t most = (sizeof(context->vctx) - sizeof(struct ibv_context)) /
			    sizeof(context->vctx[0]);
	struct ibv_context *ibctx;
	size_t i;

	for (i = 1; i <= most; i++) {
		ibctx = (struct ibv_context *)&context->vctx[i];
		if (ibctx->device == device &&
		    verbs_context_start(ibctx) == context->vctx)
			return ibctx;
	}
	return NULL;
}

int weft_set_ops(struct weft_context *context, const struct ibv_device *device)
{
	int qp_mask = find_qp_mask();

	context->context = find_context(context, device);
	if (!context->context || qp_mask < 0) {
		/* not only with IBV_SHOW_WARNINGS, as nothing else tells the reason */
		fprintf(stderr,
			"libweft: Warning: this libibverbs has changed its interface, but not the number (%d): a newer weft is needed\n",
			VERBS_PABI);
		return EPROTO;
	}

	context->qp_mask = qp_mask;
	verbs_set_ops(weft_vctx(context), find_ops());
	return 0;
}
