/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Resize of a QP's queues: IB_QP_CAP of modify_qp. */
#ifndef WEFT_VERBS_QP_RESIZE_H
#define WEFT_VERBS_QP_RESIZE_H

#include <rdma/ib_verbs.h>

struct weft_qp;
struct weft_ring;

/* Before the switch the new rings, after it the old ones. NULL: the queue keeps its ring. */
struct weft_qp_resize {
	struct weft_ring	*sq;
	struct weft_ring	*rq;
	/* as requested; 0: no change */
	u32			max_send_wr;
	u32			max_recv_wr;
};

int weft_qp_resize_prepare(struct weft_qp *qp, const struct ib_qp_cap *cap,
			   struct ib_udata *udata, struct weft_qp_resize *resize);
int weft_qp_resize_switch(struct weft_qp *qp, struct weft_qp_resize *resize);
void weft_qp_resize_end(struct weft_qp_resize *resize);

#endif /* WEFT_VERBS_QP_RESIZE_H */
