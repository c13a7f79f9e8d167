/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posting of work requests to receive queues, see post.c. */

#include <errno.h>

#include "sge.h"
#include "weft.h"
#include "weft-abi.h"

static inline int rq_put(struct weft_queue *queue, const struct ibv_recv_wr *wr)
{
	uint32_t num_sge = wr->num_sge;
	struct weft_rqe *rqe;

	if (unlikely(num_sge > queue->max_sge))
		return EINVAL;

	rqe = weft_ring_slot(&queue->ring, queue->producer);
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = num_sge;
	rqe->reserved_0c = 0;
	put_sges((struct weft_sge *)(rqe + 1), wr->sg_list, num_sge);
	queue->producer++;
	return 0;
}

/* 0, or the errno if no work request can be posted to the receive queue. */
static inline int rq_refusal(const struct weft_qp *qp)
{
	if (unlikely(qp->vqp.qp.state == IBV_QPS_RESET))
		return EINVAL;
	if (weft_queue_dead(&qp->rq))
		return EIO;
	if (unlikely(!qp->rq.ring.entries))
		return EINVAL;
	return weft_queue_asks(&qp->rq) ? weft_queue_ask(&qp->rq) : 0;
}

int weft_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	struct weft_queue *queue = &qp->rq;
	uint32_t first;
	int ret;

	weft_lock(&queue->lock);
	first = queue->producer;
	ret = rq_refusal(qp);
	while (wr && !ret) {
		ret = weft_queue_full(queue) ? ENOMEM : rq_put(queue, wr);
		if (likely(!ret))
			wr = wr->next;
	}
	weft_queue_commit(queue, first);

	if (unlikely(ret))
		*bad_wr = wr;
	return ret;
}

/* The errno that a rule makes a post return, or 0. */
static __attribute__((noinline)) int srq_ask(struct ibv_srq *srq)
{
	union verbs_command cmd;

	verbs_command_init(&cmd, UVERBS_OBJECT_SRQ, WEFT_METHOD_SRQ_ASK);
	verbs_command_add_obj(&cmd, WEFT_ATTR_SRQ_ASK_HANDLE, srq->handle);
	return execute_ioctl(srq->context, &cmd.buffer);
}

/* Needs no doorbell: a QP in the error state does not flush its SRQ. */
int weft_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	struct weft_queue *queue = &to_weft_srq(ibsrq)->rq;
	uint32_t first;
	int ret = 0;

	weft_lock(&queue->lock);
	first = queue->producer;
	if (weft_queue_dead(queue))
		ret = EIO;
	else if (weft_queue_asks(queue))
		ret = srq_ask(ibsrq);
	while (wr && !ret) {
		ret = weft_queue_full_srq(queue) ? ENOMEM : rq_put(queue, wr);
		if (likely(!ret))
			wr = wr->next;
	}
	if (likely(queue->producer != first))
		weft_ring_publish(&queue->ring, queue->producer);
	weft_unlock(&queue->lock);

	if (unlikely(ret))
		*bad_wr = wr;
	return ret;
}
