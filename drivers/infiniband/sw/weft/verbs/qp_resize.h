/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Resize of a QP's queues: IB_QP_CAP of modify_qp.
 */
#ifndef WEFT_VERBS_QP_RESIZE_H
#define WEFT_VERBS_QP_RESIZE_H

#include <rdma/ib_verbs.h>

struct weft_qp;
struct weft_ring;

/**
 * struct weft_qp_resize - rings that a QP shall have
 * @sq: send queue, NULL: it stays as it is
 * @rq: receive queue, likewise
 * @max_send_wr: work requests it was asked to hold; 0: it was not
 * @max_recv_wr: likewise
 */
struct weft_qp_resize {
	struct weft_ring	*sq;
	struct weft_ring	*rq;
	u32			max_send_wr;
	u32			max_recv_wr;
};

/**
 * weft_qp_resize_prepare - make the new rings, and tell the process of them
 * @qp: any; resize_lock held and nothing that others wait for, its halves run
 * @cap: asked for; members that are 0 ask for nothing, those of the receive
 *	queue are ignored with an SRQ
 * @udata: of the call, NULL for a kernel consumer
 * @resize: result; weft_qp_resize_end() is due
 *
 * Return: 0; -EINVAL: more than a QP can have, or of elements and inline data
 * more than this one has; -ENOMEM; -EFAULT.
 */
int weft_qp_resize_prepare(struct weft_qp *qp, const struct ib_qp_cap *cap,
			   struct ib_udata *udata, struct weft_qp_resize *resize);

/**
 * weft_qp_resize_switch - take the new rings in place of the old ones
 * @qp: both turns stopped
 * @resize: of weft_qp_resize_prepare()
 *
 * Return: 0; -EINVAL: more is outstanding than was asked for, and nothing has changed.
 */
int weft_qp_resize_switch(struct weft_qp *qp, struct weft_qp_resize *resize);

/**
 * weft_qp_resize_end - destroy the rings that are not used any more, or not yet
 * @resize: of weft_qp_resize_prepare()
 */
void weft_qp_resize_end(struct weft_qp_resize *resize);

#endif /* WEFT_VERBS_QP_RESIZE_H */
