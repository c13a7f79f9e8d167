/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The driver's details of objects in "rdma resource show". */
#ifndef WEFT_VERBS_RESOURCE_H
#define WEFT_VERBS_RESOURCE_H

#include <rdma/ib_verbs.h>

struct sk_buff;

/* With -d. The object may be destroyed at the same time, but the core does not free it. */
int weft_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int weft_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int weft_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr);
int weft_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);

/* "rdma statistic mr show" */
int weft_fill_stat_mr_entry(struct sk_buff *msg, struct ib_mr *ib_mr);

/* With -r: struct weft_raw_qp and so on of the user ABI. The core requires CAP_NET_ADMIN. */
int weft_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int weft_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int weft_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ib_mr);
int weft_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

#endif /* WEFT_VERBS_RESOURCE_H */
