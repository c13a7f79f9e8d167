/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What "rdma resource show -d" says of objects beyond what the core knows.
 */
#ifndef WEFT_VERBS_RESOURCE_H
#define WEFT_VERBS_RESOURCE_H

#include <rdma/ib_verbs.h>

struct sk_buff;

/* ib_device_ops. The object may be destroyed meanwhile, but not freed by the core. */
int weft_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int weft_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int weft_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr);
int weft_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);

/*
 * The same of "rdma resource show -r": struct weft_raw_qp and so on of the user ABI. The
 * core wants CAP_NET_ADMIN.
 */
int weft_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int weft_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int weft_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ib_mr);
int weft_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* WEFT_VERBS_RESOURCE_H */
