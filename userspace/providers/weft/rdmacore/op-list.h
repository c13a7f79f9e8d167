/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The members of struct verbs_context_ops, in their order, in the newest layout.
 * FN() is a function that weft has, NO() another one, and SINCE_NN() is for what
 * layout NN has added.
 */
#ifndef RDMACORE_OP_LIST_H
#define RDMACORE_OP_LIST_H

#define VERBS_CONTEXT_OPS \
	FN(int, advise_mr, (struct ibv_pd *pd, \
	   enum ibv_advise_mr_advice advice, uint32_t flags, \
	   struct ibv_sge *sg_list, uint32_t num_sges)) \
	SINCE_64(NO(alloc_buf)) \
	FN(struct ibv_dm *, alloc_dm, (struct ibv_context *context, \
	   struct ibv_alloc_dm_attr *attr)) \
	SINCE_59(FN(struct ibv_dmah *, alloc_dmah, \
	   (struct ibv_context *context, \
	   struct ibv_dmah_init_attr *attr))) \
	FN(struct ibv_mw *, alloc_mw, (struct ibv_pd *pd, \
	   enum ibv_mw_type type)) \
	FN(struct ibv_mr *, alloc_null_mr, (struct ibv_pd *pd)) \
	FN(struct ibv_pd *, alloc_parent_domain, \
	   (struct ibv_context *context, \
	   struct ibv_parent_domain_init_attr *attr)) \
	FN(struct ibv_pd *, alloc_pd, (struct ibv_context *context)) \
	FN(struct ibv_td *, alloc_td, (struct ibv_context *context, \
	   struct ibv_td_init_attr *init_attr)) \
	NO(async_event) \
	FN(int, attach_counters_point_flow, (struct ibv_counters *counters, \
	   struct ibv_counter_attach_attr *attr, struct ibv_flow *flow)) \
	FN(int, attach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, \
	   uint16_t lid)) \
	FN(int, bind_mw, (struct ibv_qp *qp, struct ibv_mw *mw, \
	   struct ibv_mw_bind *mw_bind)) \
	FN(int, close_xrcd, (struct ibv_xrcd *xrcd)) \
	NO(cq_event) \
	FN(struct ibv_ah *, create_ah, (struct ibv_pd *pd, \
	   struct ibv_ah_attr *attr)) \
	SINCE_65(FN(struct ibv_comp_cntr *, create_comp_cntr, \
	   (struct ibv_context *context, \
	   struct ibv_comp_cntr_init_attr *attr))) \
	FN(struct ibv_counters *, create_counters, \
	   (struct ibv_context *context, \
	   struct ibv_counters_init_attr *init_attr)) \
	FN(struct ibv_cq *, create_cq, (struct ibv_context *context, int cqe, \
	   struct ibv_comp_channel *channel, int comp_vector)) \
	FN(struct ibv_cq_ex *, create_cq_ex, (struct ibv_context *context, \
	   struct ibv_cq_init_attr_ex *init_attr)) \
	FN(struct ibv_flow *, create_flow, (struct ibv_qp *qp, \
	   struct ibv_flow_attr *flow_attr)) \
	NO(create_flow_action_esp) \
	FN(struct ibv_qp *, create_qp, (struct ibv_pd *pd, \
	   struct ibv_qp_init_attr *attr)) \
	FN(struct ibv_qp *, create_qp_ex, (struct ibv_context *context, \
	   struct ibv_qp_init_attr_ex *qp_init_attr_ex)) \
	FN(struct ibv_rwq_ind_table *, create_rwq_ind_table, \
	   (struct ibv_context *context, \
	   struct ibv_rwq_ind_table_init_attr *init_attr)) \
	FN(struct ibv_srq *, create_srq, (struct ibv_pd *pd, \
	   struct ibv_srq_init_attr *srq_init_attr)) \
	FN(struct ibv_srq *, create_srq_ex, (struct ibv_context *context, \
	   struct ibv_srq_init_attr_ex *srq_init_attr_ex)) \
	FN(struct ibv_wq *, create_wq, (struct ibv_context *context, \
	   struct ibv_wq_init_attr *wq_init_attr)) \
	SINCE_59(FN(int, dealloc_dmah, (struct ibv_dmah *dmah))) \
	FN(int, dealloc_mw, (struct ibv_mw *mw)) \
	FN(int, dealloc_pd, (struct ibv_pd *pd)) \
	FN(int, dealloc_td, (struct ibv_td *td)) \
	FN(int, dereg_mr, (struct verbs_mr *vmr)) \
	FN(int, destroy_ah, (struct ibv_ah *ah)) \
	SINCE_65(FN(int, destroy_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr))) \
	FN(int, destroy_counters, (struct ibv_counters *counters)) \
	FN(int, destroy_cq, (struct ibv_cq *cq)) \
	FN(int, destroy_flow, (struct ibv_flow *flow)) \
	NO(destroy_flow_action) \
	FN(int, destroy_qp, (struct ibv_qp *qp)) \
	FN(int, destroy_rwq_ind_table, \
	   (struct ibv_rwq_ind_table *rwq_ind_table)) \
	FN(int, destroy_srq, (struct ibv_srq *srq)) \
	FN(int, destroy_wq, (struct ibv_wq *wq)) \
	FN(int, detach_mcast, (struct ibv_qp *qp, const union ibv_gid *gid, \
	   uint16_t lid)) \
	SINCE_62(NO(dm_export_dmabuf_fd)) \
	SINCE_64(NO(free_buf)) \
	FN(void, free_context, (struct ibv_context *context)) \
	FN(int, free_dm, (struct ibv_dm *dm)) \
	FN(int, get_srq_num, (struct ibv_srq *srq, uint32_t *srq_num)) \
	SINCE_35(FN(struct ibv_dm *, import_dm, (struct ibv_context *context, \
	   uint32_t dm_handle))) \
	FN(struct ibv_mr *, import_mr, (struct ibv_pd *pd, \
	   uint32_t mr_handle)) \
	FN(struct ibv_pd *, import_pd, (struct ibv_context *context, \
	   uint32_t pd_handle)) \
	SINCE_65(FN(int, inc_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t amount))) \
	SINCE_65(FN(int, inc_err_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t amount))) \
	FN(int, modify_cq, (struct ibv_cq *cq, \
	   struct ibv_modify_cq_attr *attr)) \
	NO(modify_flow_action_esp) \
	FN(int, modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, \
	   int attr_mask)) \
	FN(int, modify_qp_rate_limit, (struct ibv_qp *qp, \
	   struct ibv_qp_rate_limit_attr *attr)) \
	FN(int, modify_srq, (struct ibv_srq *srq, \
	   struct ibv_srq_attr *srq_attr, int srq_attr_mask)) \
	FN(int, modify_wq, (struct ibv_wq *wq, struct ibv_wq_attr *wq_attr)) \
	FN(struct ibv_qp *, open_qp, (struct ibv_context *context, \
	   struct ibv_qp_open_attr *attr)) \
	FN(struct ibv_xrcd *, open_xrcd, (struct ibv_context *context, \
	   struct ibv_xrcd_init_attr *xrcd_init_attr)) \
	FN(int, poll_cq, (struct ibv_cq *cq, int num_entries, \
	   struct ibv_wc *wc)) \
	FN(int, post_recv, (struct ibv_qp *qp, struct ibv_recv_wr *wr, \
	   struct ibv_recv_wr **bad_wr)) \
	FN(int, post_send, (struct ibv_qp *qp, struct ibv_send_wr *wr, \
	   struct ibv_send_wr **bad_wr)) \
	FN(int, post_srq_ops, (struct ibv_srq *srq, struct ibv_ops_wr *op, \
	   struct ibv_ops_wr **bad_op)) \
	FN(int, post_srq_recv, (struct ibv_srq *srq, \
	   struct ibv_recv_wr *recv_wr, struct ibv_recv_wr **bad_recv_wr)) \
	SINCE_65(FN(int, qp_attach_comp_cntr, (struct ibv_qp *qp, \
	   struct ibv_comp_cntr *comp_cntr, \
	   struct ibv_qp_attach_comp_cntr_attr *attr))) \
	SINCE_65(FN(int, query_comp_cntr_caps, (struct ibv_context *context, \
	   struct ibv_comp_cntr_caps *caps, size_t caps_size))) \
	FN(int, query_device_ex, (struct ibv_context *context, \
	   const struct ibv_query_device_ex_input *input, \
	   struct ibv_device_attr_ex *attr, size_t attr_size)) \
	NO(query_ece) \
	FN(int, query_port, (struct ibv_context *context, uint8_t port_num, \
	   struct ibv_port_attr *port_attr)) \
	SINCE_62(FN(int, query_port_speed, (struct ibv_context *context, \
	   uint32_t port_num, uint64_t *speed))) \
	FN(int, query_qp, (struct ibv_qp *qp, struct ibv_qp_attr *attr, \
	   int attr_mask, struct ibv_qp_init_attr *init_attr)) \
	SINCE_36(NO(query_qp_data_in_order)) \
	FN(int, query_rt_values, (struct ibv_context *context, \
	   struct ibv_values_ex *values)) \
	FN(int, query_srq, (struct ibv_srq *srq, \
	   struct ibv_srq_attr *srq_attr)) \
	SINCE_65(FN(int, read_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t *value))) \
	FN(int, read_counters, (struct ibv_counters *counters, \
	   uint64_t *counters_value, uint32_t ncounters, uint32_t flags)) \
	SINCE_65(FN(int, read_err_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t *value))) \
	FN(struct ibv_mr *, reg_dm_mr, (struct ibv_pd *pd, struct ibv_dm *dm, \
	   uint64_t dm_offset, size_t length, unsigned int access)) \
	FN(struct ibv_mr *, reg_dmabuf_mr, (struct ibv_pd *pd, \
	   uint64_t offset, size_t length, uint64_t iova, int fd, \
	   int access)) \
	FN(struct ibv_mr *, reg_mr, (struct ibv_pd *pd, void *addr, \
	   size_t length, uint64_t hca_va, int access)) \
	SINCE_59(FN(struct ibv_mr *, reg_mr_ex, (struct ibv_pd *pd, \
	   struct ibv_mr_init_attr *attr))) \
	FN(int, req_notify_cq, (struct ibv_cq *cq, int solicited_only)) \
	FN(int, rereg_mr, (struct verbs_mr *vmr, int flags, \
	   struct ibv_pd *pd, void *addr, size_t length, int access)) \
	FN(int, resize_cq, (struct ibv_cq *cq, int cqe)) \
	SINCE_65(FN(int, set_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t value))) \
	NO(set_ece) \
	SINCE_65(FN(int, set_err_comp_cntr, \
	   (struct ibv_comp_cntr *comp_cntr, uint64_t value))) \
	SINCE_35(FN(void, unimport_dm, (struct ibv_dm *dm))) \
	FN(void, unimport_mr, (struct ibv_mr *mr)) \
	FN(void, unimport_pd, (struct ibv_pd *pd))

#endif /* RDMACORE_OP_LIST_H */
