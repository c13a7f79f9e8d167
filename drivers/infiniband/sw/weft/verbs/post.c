// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

/*
 * Posting by kernel consumers, which may be in any context.
 */

#include "verbs/qp.h"

#include "engine/lso.h"
#include "engine/opdef.h"
#include "engine/requester.h"
#include "mem/pi.h"
#include "object/ah.h"
#include "object/inject.h"
#include "object/mr.h"
#include "object/qp.h"
#include "object/srq.h"

/* The rights that memory with protection information may grant. */
#define POST_PI_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/*
 * Checksum offload and LSO exist for datagrams only. Other QPs of an InfiniBand port ignore both:
 * IPoIB reuses a work request for a connection with the flag and the opcode of its last datagram.
 */
static bool post_is_summed(const struct weft_qp *qp, const struct ib_send_wr *wr)
{
	return wr->send_flags & IB_SEND_IP_CSUM && qp->type == IB_QPT_UD;
}

static int post_operation(const struct weft_qp *qp, const struct ib_send_wr *wr)
{
	int opcode = wr->opcode == IB_WR_REG_MR_INTEGRITY ? WEFT_SQE_REG_MR :
							    weft_sqe_opcode(wr->opcode);

	if (opcode == WEFT_SQE_LSO && qp->type != IB_QPT_UD && qp->dev->hca)
		return WEFT_SQE_SEND;
	return opcode;
}

static u8 post_flags(const struct weft_qp *qp, const struct ib_send_wr *wr)
{
	return (wr->send_flags & IB_SEND_SIGNALED ? WEFT_SQE_SIGNALED : 0) |
	       (wr->send_flags & IB_SEND_SOLICITED ? WEFT_SQE_SOLICITED : 0) |
	       (wr->send_flags & IB_SEND_FENCE ? WEFT_SQE_FENCE : 0) |
	       (wr->send_flags & IB_SEND_INLINE ? WEFT_SQE_INLINE : 0) |
	       (post_is_summed(qp, wr) ? WEFT_SQE_IP_CSUM : 0);
}

static void post_atomic(const struct ib_atomic_wr *wr, struct weft_sqe *sqe)
{
	sqe->remote_addr = wr->remote_addr;
	sqe->rkey = wr->rkey;
	sqe->atomic.compare_add = wr->compare_add;
	sqe->atomic.swap = wr->swap;
	if (weft_opdef(sqe->opcode)->flags & WEFT_OPF_OWN) {
		sqe->atomic.compare_add_mask = wr->compare_add_mask;
		sqe->atomic.swap_mask = wr->swap_mask;
	}
}

static void post_service(const struct weft_qp *qp, const struct ib_send_wr *wr,
			 struct weft_sqe *sqe)
{
	switch (sqe->opcode) {
	case WEFT_SQE_WRITE:
	case WEFT_SQE_WRITE_IMM:
	case WEFT_SQE_READ:
	case WEFT_SQE_ATOMIC_WRITE:
		sqe->remote_addr = rdma_wr(wr)->remote_addr;
		sqe->rkey = rdma_wr(wr)->rkey;
		break;
	case WEFT_SQE_CMP_SWP:
	case WEFT_SQE_FETCH_ADD:
	case WEFT_SQE_MASKED_CMP_SWP:
	case WEFT_SQE_MASKED_FETCH_ADD:
		post_atomic(atomic_wr(wr), sqe);
		break;
	case WEFT_SQE_REG_MR:
		sqe->mw.rkey = reg_wr(wr)->mr->rkey;
		sqe->mw.new_rkey = reg_wr(wr)->key;
		sqe->mw.access = reg_wr(wr)->access;
		sqe->mw.addr = reg_wr(wr)->mr->iova;
		break;
	default:
		break;
	}
	if (weft_qp_is_ud(qp)) {
		sqe->ud.ah_id = weft_ah_id(ud_wr(wr)->ah);
		sqe->ud.remote_qpn = ud_wr(wr)->remote_qpn;
		sqe->ud.remote_qkey = ud_wr(wr)->remote_qkey;
		sqe->ud.pkey_index = ud_wr(wr)->pkey_index;
	}
	if (sqe->opcode == WEFT_SQE_SEND_INV || sqe->opcode == WEFT_SQE_LOCAL_INV)
		sqe->ex = wr->ex.invalidate_rkey;
	else
		sqe->ex = (u32 __force)wr->ex.imm_data;
}

/* Returns the bytes of inline data, or -EINVAL if they do not fit. */
static int post_inline(const struct weft_qp *qp, const struct ib_send_wr *wr, void *to)
{
	u32 length = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > qp->cap.max_inline_data - length)
			return -EINVAL;
		memcpy(to + length, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		length += wr->sg_list[i].length;
	}
	return length;
}

/* Copies the headers, because the consumer may change them as soon as the post returns. */
static int post_lso(const struct weft_qp *qp, const struct ib_send_wr *wr)
{
	struct weft_lso *lso = weft_sq_lso(qp->send.ring, qp->send.ring->client);
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (wr->send_flags & IB_SEND_INLINE || ud->mss < 1 || ud->mss > U16_MAX ||
	    ud->hlen < 0 || ud->hlen > WEFT_LSO_HEADERS)
		return -EINVAL;
	lso->mss = ud->mss;
	lso->length = ud->hlen;
	memcpy(lso->header, ud->header, ud->hlen);
	return weft_lso_valid(lso) ? 0 : -EINVAL;
}

/*
 * REG_MR_INTEGRITY, and nothing else, registers memory with protection information. What it means
 * is taken over now, because the consumer may set the attributes after ib_map_mr_sg_pi().
 */
static int post_registration(const struct weft_qp *qp, const struct ib_send_wr *wr)
{
	bool integrity = wr->opcode == IB_WR_REG_MR_INTEGRITY;
	const struct ib_reg_wr *reg = reg_wr(wr);
	struct weft_pi *pi;

	if (integrity && !(qp->create_flags & IB_QP_CREATE_INTEGRITY_EN))
		return -EINVAL;
	pi = to_weft_mr(reg->mr)->region->pi;
	if (integrity != !!pi)
		return -EINVAL;
	if (!pi)
		return 0;
	if (wr->num_sge || reg->access & ~POST_PI_ACCESS)
		return -EINVAL;
	return weft_pi_prepare(pi, reg->mr->sig_attrs);
}

static void post_list(const struct weft_qp *qp, const struct ib_send_wr *wr, struct weft_sge *list)
{
	int i;

	memcpy(list, wr->sg_list, wr->num_sge * sizeof(*list));
	if (likely(!(qp->create_flags & IB_QP_CREATE_INTEGRITY_EN)))
		return;
	for (i = 0; i < wr->num_sge; i++)
		if (list[i].lkey != qp->pd->local_dma_lkey)
			list[i].length = weft_pi_wire_length(&qp->dev->regions, list[i].lkey,
							     list[i].length);
}

static int post_one(struct weft_qp *qp, const struct ib_send_wr *wr)
{
	int opcode = post_operation(qp, wr), length;
	struct weft_sqe *sqe;

	if (opcode < 0 || !weft_opdef_allowed(qp->type, qp->kernel, qp->create_flags, opcode) ||
	    wr->num_sge < 0 || wr->num_sge > qp->cap.max_send_sge ||
	    (post_is_summed(qp, wr) && !qp->dev->hca))
		return -EINVAL;
	sqe = weft_ring_reserve(qp->send.ring);
	if (!sqe)
		return -ENOMEM;
	if ((opcode == WEFT_SQE_LSO && post_lso(qp, wr)) ||
	    (opcode == WEFT_SQE_REG_MR && post_registration(qp, wr)))
		return -EINVAL;
	sqe->wr_id = wr->wr_id;
	sqe->opcode = opcode;
	sqe->flags = post_flags(qp, wr);
	sqe->num_sge = 0;
	sqe->inline_length = 0;
	post_service(qp, wr, sqe);
	if (wr->send_flags & IB_SEND_INLINE) {
		length = post_inline(qp, wr, sqe + 1);
		if (length < 0)
			return length;
		sqe->inline_length = length;
	} else {
		sqe->num_sge = wr->num_sge;
		post_list(qp, wr, (struct weft_sge *)(sqe + 1));
	}
	weft_ring_submit(qp->send.ring);
	return 0;
}

/*
 * The provider for rdma_rxe posts to the ring, and then calls this without a work request. No
 * provider posts work requests by a call. Receive work requests have no doorbell there, so those
 * that are posted to a QP in ERR are flushed at the latest now.
 */
static int post_doorbell(struct weft_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr)
{
	if (wr || weft_qp_state(qp) < IB_QPS_RTS) {
		*bad_wr = wr;
		return -EINVAL;
	}
	weft_requester_doorbell(qp);
	if (weft_qp_state(qp) == IB_QPS_ERR)
		weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
	return 0;
}

int weft_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	unsigned long flags;
	int ret;

	if (!qp->kernel)
		return post_doorbell(qp, wr, bad_wr);
	ret = weft_inject_post(qp->dev, WEFT_VERB_POST_SEND, qp);
	spin_lock_irqsave(&qp->post_lock, flags);
	if (weft_qp_state(qp) < IB_QPS_RTS)
		ret = -EINVAL;
	while (wr && !ret) {
		ret = post_one(qp, wr);
		if (!ret)
			wr = wr->next;
	}
	if (ret && bad_wr)
		*bad_wr = wr;
	spin_unlock_irqrestore(&qp->post_lock, flags);
	weft_requester_post(qp);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_post_send);

int weft_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	unsigned long flags;
	int ret;

	ret = weft_inject_post(qp->dev, WEFT_VERB_POST_RECV, qp);
	spin_lock_irqsave(&qp->post_lock, flags);
	if (!qp->recv.ring || weft_qp_state(qp) == IB_QPS_RESET)
		ret = -EINVAL;
	while (wr && !ret) {
		ret = weft_rq_write(qp->recv.ring, qp->cap.max_recv_sge, wr);
		if (!ret)
			wr = wr->next;
	}
	if (ret && bad_wr)
		*bad_wr = wr;
	spin_unlock_irqrestore(&qp->post_lock, flags);
	/* pairs with the barrier of weft_ring_arm_doorbell(), which comes before the scan */
	smp_mb();
	if (weft_qp_state(qp) == IB_QPS_ERR)
		weft_turn_post(&qp->recv.turn, WEFT_EV_RUN);
	return ret;
}
WEFT_EXPORT_FOR_TEST(weft_post_recv);
