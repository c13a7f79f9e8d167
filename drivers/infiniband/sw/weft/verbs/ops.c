// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/ops.h"

#include "object/advise.h"
#include "object/ah.h"
#include "object/comp_cntr.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/dm.h"
#include "object/integrity.h"
#include "object/mcast.h"
#include "object/mkey.h"
#include "object/mr.h"
#include "object/mw.h"
#include "object/pd.h"
#include "object/qp.h"
#include "object/srq.h"
#include "object/tag.h"
#include "object/ucontext.h"
#include "object/xrc.h"
#include "ring/pages.h"
#include "stats.h"
#include "verbs/attributes.h"
#include "verbs/counter.h"
#include "verbs/dc.h"
#include "verbs/flow.h"
#include "verbs/flow_counters.h"
#include "verbs/mad.h"
#include "verbs/qp.h"
#include "verbs/query.h"
#include "verbs/resource.h"
#include "verbs/rss.h"
#include "verbs/wq.h"

#include "compat/ops.h"
#include "compat/port_speed.h"
#include "compat/t10dif.h"

const struct uapi_definition weft_device_uapi[] = {
	COMPAT_COMP_CNTR_UAPI
	UAPI_DEF_CHAIN(weft_dc_uapi),
	UAPI_DEF_CHAIN(weft_dm_uapi),
	UAPI_DEF_CHAIN(weft_mkey_uapi),
	UAPI_DEF_CHAIN(weft_pd_uapi),
	UAPI_DEF_CHAIN(weft_srq_uapi),
	UAPI_DEF_CHAIN(weft_tag_uapi),
	UAPI_DEF_CHAIN(weft_ucontext_uapi),
	{ }
};

const struct ib_device_ops weft_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)RDMA_DRIVER_WEFT,
	.uverbs_abi_ver = WEFT_ABI_VERSION,

	.add_gid = weft_add_gid,
	.advise_mr = weft_advise_mr,
	.alloc_dm = weft_alloc_dm,
	.alloc_hw_device_stats = weft_alloc_hw_device_stats,
	.alloc_hw_port_stats = weft_alloc_hw_port_stats,
	.alloc_mr = weft_alloc_mr,
	.alloc_mw = weft_alloc_mw,
	.alloc_pd = weft_alloc_pd,
	.alloc_ucontext = weft_alloc_ucontext,
	.alloc_xrcd = weft_alloc_xrcd,
	.attach_mcast = weft_attach_mcast,
	.counter_alloc_stats = weft_counter_alloc_stats,
	.counter_bind_qp = compat_counter_bind_qp,
	.counter_dealloc = weft_counter_dealloc,
	.counter_unbind_qp = compat_counter_unbind_qp,
	.counter_update_stats = weft_counter_update_stats,
	.create_ah = weft_create_ah,
	.create_counters = weft_create_counters,
	.create_cq = compat_create_cq,
	.create_flow = weft_create_flow,
	.create_qp = weft_create_qp,
	.create_rwq_ind_table = weft_create_rwq_ind_table,
	.create_srq = weft_create_srq,
	.create_user_ah = weft_create_ah,
	.create_wq = weft_create_wq,
	.dealloc_dm = weft_dealloc_dm,
	.dealloc_mw = weft_dealloc_mw,
	.dealloc_pd = weft_dealloc_pd,
	.dealloc_ucontext = weft_dealloc_ucontext,
	.dealloc_xrcd = weft_dealloc_xrcd,
	.del_gid = weft_del_gid,
	.dereg_mr = weft_dereg_mr,
	.destroy_ah = weft_destroy_ah,
	.destroy_counters = weft_destroy_counters,
	.destroy_cq = weft_destroy_cq,
	.destroy_flow = weft_destroy_flow,
	.destroy_qp = weft_destroy_qp,
	.destroy_rwq_ind_table = weft_destroy_rwq_ind_table,
	.destroy_srq = weft_destroy_srq,
	.destroy_wq = weft_destroy_wq,
	.detach_mcast = weft_detach_mcast,
	.device_group = &weft_attribute_group,
	.disassociate_ucontext = weft_disassociate_ucontext,
	.fill_res_cq_entry = weft_fill_res_cq_entry,
	.fill_res_cq_entry_raw = weft_fill_res_cq_entry_raw,
	.fill_res_mr_entry = weft_fill_res_mr_entry,
	.fill_res_mr_entry_raw = weft_fill_res_mr_entry_raw,
	.fill_res_qp_entry = weft_fill_res_qp_entry,
	.fill_res_qp_entry_raw = weft_fill_res_qp_entry_raw,
	.fill_stat_mr_entry = weft_fill_stat_mr_entry,
	.get_dev_fw_str = weft_get_dev_fw_str,
	.get_dma_mr = weft_get_dma_mr,
	.get_hw_stats = weft_get_hw_stats,
	.get_link_layer = weft_get_link_layer,
	.get_numa_node = weft_get_numa_node,
	.get_port_immutable = weft_get_port_immutable,
	.map_mr_sg = weft_map_mr_sg,
	.mmap = weft_pages_mmap,
	.mmap_free = weft_pages_mmap_free,
	.modify_ah = weft_modify_ah,
	.modify_cq = weft_modify_cq,
	.modify_device = weft_modify_device,
	.modify_port = weft_modify_port,
	.modify_qp = weft_modify_qp,
	.modify_srq = weft_modify_srq,
	.modify_wq = weft_modify_wq,
	.poll_cq = weft_poll_cq,
	.post_recv = weft_post_recv,
	.post_send = weft_post_send,
	.post_srq_recv = weft_post_srq_recv,
	.process_mad = weft_process_mad_roce,
	.query_ah = weft_query_ah,
	.query_device = weft_query_device,
	.query_gid = weft_query_gid,
	.query_pkey = weft_query_pkey,
	.query_port = weft_query_port,
	.query_qp = weft_query_qp,
	.query_srq = weft_query_srq,
	.query_ucontext = weft_query_ucontext,
	.read_counters = weft_read_counters,
	.reg_dm_mr = weft_reg_dm_mr,
	.reg_user_mr = compat_reg_user_mr,
	.reg_user_mr_dmabuf = compat_reg_user_mr_dmabuf,
	.req_notify_cq = weft_req_notify_cq,
	.rereg_user_mr = weft_rereg_user_mr,
	COMPAT_COMP_CNTR_OPS
	COMPAT_DMAH
	COMPAT_INTEGRITY_OPS
	COMPAT_QUERY_PORT_SPEED(weft_query_port_speed)
	COMPAT_RESIZE_CQ,
	COMPAT_FILL_RES_SRQ
	COMPAT_ROBUST_UDATA

	COMPAT_COUNTER
	INIT_RDMA_OBJ_SIZE(ib_ah, weft_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_counters, weft_flow_counters, ibcounters),
	INIT_RDMA_OBJ_SIZE(ib_cq, weft_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, weft_mw, ib_mw),
	INIT_RDMA_OBJ_SIZE(ib_pd, weft_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, weft_ib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, weft_rwq_ind_table, ibtable),
	INIT_RDMA_OBJ_SIZE(ib_srq, weft_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, weft_ucontext, ibuc),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, weft_xrcd, ibxrcd),
};
