/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_PROVIDER_ABI_H
#define WEFT_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/weft-abi.h>
#include <kernel-abi/weft-abi.h>

DECLARE_DRV_CMD(uweft_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		weft_alloc_ucontext_req, weft_alloc_ucontext_resp);
DECLARE_DRV_CMD(uweft_query_device_ex, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		empty, weft_query_device_resp);
DECLARE_DRV_CMD(uweft_create_cq, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		weft_create_cq_req, weft_create_cq_resp);
DECLARE_DRV_CMD(uweft_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		weft_resize_cq_req, weft_resize_cq_resp);
DECLARE_DRV_CMD(uweft_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		weft_create_qp_req, weft_create_qp_resp);
DECLARE_DRV_CMD(uweft_modify_qp, IB_USER_VERBS_EX_CMD_MODIFY_QP,
		weft_modify_qp_req, weft_modify_qp_resp);
DECLARE_DRV_CMD(uweft_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		weft_create_srq_req, weft_create_srq_resp);
DECLARE_DRV_CMD(uweft_create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ,
		weft_create_srq_req, weft_create_srq_resp);
DECLARE_DRV_CMD(uweft_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		weft_modify_srq_req, empty);
DECLARE_DRV_CMD(uweft_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, weft_create_ah_resp);

#endif /* WEFT_PROVIDER_ABI_H */
