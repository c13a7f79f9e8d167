/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_PROVIDER_ABI_H
#define WEFT_PROVIDER_ABI_H

#include <rdma/weft-abi.h>

#include "rdmacore/driver.h"

VERBS_DRIVER_CMD(uweft_get_context, ibv_get_context, weft_alloc_ucontext_req);
VERBS_DRIVER_RESP(uweft_get_context, ib_uverbs_get_context_resp,
		  weft_alloc_ucontext_resp);
VERBS_DRIVER_RESP(uweft_query_device_ex, ib_uverbs_ex_query_device_resp,
		  weft_query_device_resp);
VERBS_DRIVER_CMD(uweft_create_cq, ibv_create_cq_ex, weft_create_cq_req);
VERBS_DRIVER_RESP(uweft_create_cq, ib_uverbs_ex_create_cq_resp,
		  weft_create_cq_resp);
VERBS_DRIVER_CMD(uweft_resize_cq, ibv_resize_cq, weft_resize_cq_req);
VERBS_DRIVER_RESP(uweft_resize_cq, ib_uverbs_resize_cq_resp,
		  weft_resize_cq_resp);
VERBS_DRIVER_CMD(uweft_create_qp, ibv_create_qp_ex, weft_create_qp_req);
VERBS_DRIVER_RESP(uweft_create_qp, ib_uverbs_ex_create_qp_resp,
		  weft_create_qp_resp);
VERBS_DRIVER_CMD(uweft_create_rss, ibv_create_qp_ex, weft_create_rss_req);
VERBS_DRIVER_CMD(uweft_create_dc, ibv_create_qp_ex, weft_create_dc_req);
VERBS_DRIVER_CMD(uweft_create_wq, ibv_create_wq, weft_create_qp_req);
VERBS_DRIVER_RESP(uweft_create_wq, ib_uverbs_ex_create_wq_resp,
		  weft_create_qp_resp);
VERBS_DRIVER_CMD(uweft_modify_qp, ibv_modify_qp_ex, weft_modify_qp_req);
VERBS_DRIVER_RESP(uweft_modify_qp, ib_uverbs_ex_modify_qp_resp,
		  weft_modify_qp_resp);
VERBS_DRIVER_CMD(uweft_create_srq, ibv_create_srq, weft_create_srq_req);
VERBS_DRIVER_RESP(uweft_create_srq, ib_uverbs_create_srq_resp,
		  weft_create_srq_resp);
VERBS_DRIVER_CMD(uweft_create_xsrq, ibv_create_xsrq, weft_create_srq_req);
VERBS_DRIVER_RESP(uweft_create_xsrq, ib_uverbs_create_srq_resp,
		  weft_create_srq_resp);
VERBS_DRIVER_CMD(uweft_modify_srq, ibv_modify_srq, weft_modify_srq_req);
VERBS_DRIVER_CMD(uweft_alloc_mw, ibv_alloc_mw, weft_alloc_mw_req);
VERBS_DRIVER_RESP(uweft_create_ah, ib_uverbs_create_ah_resp,
		  weft_create_ah_resp);

#endif /* WEFT_PROVIDER_ABI_H */
