/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* QP control, and posting by kernel consumers. */
#ifndef WEFT_VERBS_QP_H
#define WEFT_VERBS_QP_H

#include <rdma/ib_verbs.h>

struct weft_qp;

int weft_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int weft_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int weft_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int weft_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void weft_qp_end(struct weft_qp *qp);
void weft_qp_fail(struct weft_qp *qp);
int weft_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);
int weft_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif /* WEFT_VERBS_QP_H */
