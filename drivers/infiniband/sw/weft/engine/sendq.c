// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/sendq.h"

#include "compat/placement.h"
#include "engine/odp.h"
#include "mem/fastreg.h"
#include "object/cq.h"
#include "object/dev.h"
#include "object/key.h"
#include "object/mw.h"
#include "object/qp.h"

static const u8 sendq_wc_opcode[WEFT_SQE_OPCODES] = {
	[WEFT_SQE_SEND]		= IB_WC_SEND,
	[WEFT_SQE_SEND_IMM]	= IB_WC_SEND,
	[WEFT_SQE_SEND_INV]	= IB_WC_SEND,
	[WEFT_SQE_WRITE]	= IB_WC_RDMA_WRITE,
	[WEFT_SQE_WRITE_IMM]	= IB_WC_RDMA_WRITE,
	[WEFT_SQE_READ]		= IB_WC_RDMA_READ,
	[WEFT_SQE_CMP_SWP]	= IB_WC_COMP_SWAP,
	[WEFT_SQE_FETCH_ADD]	= IB_WC_FETCH_ADD,
	[WEFT_SQE_LOCAL_INV]	= IB_WC_LOCAL_INV,
	[WEFT_SQE_BIND_MW]	= IB_WC_BIND_MW,
	[WEFT_SQE_REG_MR]	= IB_WC_REG_MR,
	[WEFT_SQE_FLUSH]	= IB_WC_FLUSH,
	[WEFT_SQE_ATOMIC_WRITE]	= IB_WC_ATOMIC_WRITE,
	[WEFT_SQE_LSO]		= IB_WC_LSO,
	[WEFT_SQE_MASKED_CMP_SWP]	= IB_WC_MASKED_COMP_SWAP,
	[WEFT_SQE_MASKED_FETCH_ADD]	= IB_WC_MASKED_FETCH_ADD,
};

/* What some QPs have, but no service. */
static bool sendq_allows_more(const struct weft_qp *qp, u8 opcode)
{
	switch (opcode) {
	case WEFT_SQE_LSO:
		return qp->create_flags & IB_QP_CREATE_IPOIB_UD_LSO;
	case WEFT_SQE_MASKED_CMP_SWP:
	case WEFT_SQE_MASKED_FETCH_ADD:
		return qp->kernel && qp->type == IB_QPT_RC;
	default:
		return false;
	}
}

bool weft_sendq_allows(const struct weft_qp *qp, u8 opcode)
{
	return likely(weft_rules_opcode_allowed(qp->type, opcode)) ||
	       sendq_allows_more(qp, opcode);
}

enum weft_fault weft_sendq_page(struct weft_qp *qp, struct weft_odp *odp,
				const struct weft_sqe *sqe, const struct weft_sge *sge,
				u64 offset, u64 length)
{
	struct weft_odp_need need = {
		.odp = odp,
		.turn = &qp->send.turn,
		.access = weft_sendq_access(sqe->opcode),
		.offset = offset,
		.length = length,
		.end = U64_MAX,
		/* a message that is sent in packets will go on */
		.ahead = length ? offset : 0,
		.refusal = WEFT_FAULT_LOCAL_PROTECTION,
	};
	enum weft_fault fault;

	fault = weft_odp_resolve(&need, &qp->send.who, &qp->send.sgl, sge, sqe->num_sge);
	if (fault)
		return fault;
	if (weft_sendq_length_valid(sqe->opcode, qp->send.sgl.length))
		return WEFT_FAULT_NONE;
	weft_sgl_release(&qp->send.sgl);
	return WEFT_FAULT_LOCAL_LENGTH;
}

static u64 sendq_length(const struct weft_swqe *wqe)
{
	u64 length = 0;
	u32 i;

	if (wqe->sqe.flags & WEFT_SQE_INLINE)
		return wqe->sqe.inline_length;
	for (i = 0; i < wqe->sqe.num_sge; i++)
		length += wqe->sge[i].length;
	return length;
}

enum weft_fault weft_sendq_measure(struct weft_qp *qp, u32 *length)
{
	struct weft_send *send = &qp->send;
	const struct weft_sqe *sqe = &send->wqe.sqe;
	u64 sum = sendq_length(&send->wqe);
	enum weft_fault fault;

	weft_assert_turn(&send->turn);
	if (unlikely(!weft_sendq_length_valid(sqe->opcode, sum)))
		return WEFT_FAULT_LOCAL_LENGTH;
	*length = sum;
	if (likely(!weft_sendq_returns_data(sqe->opcode)))
		return WEFT_FAULT_NONE;
	fault = weft_sendq_gather(qp, sqe, send->wqe.sge, NULL);
	if (unlikely(fault == WEFT_FAULT_PAGES))
		fault = weft_sendq_page(qp, &send->odp, sqe, send->wqe.sge, 0, 0);
	weft_sgl_release(&send->sgl);
	return fault;
}

static int sendq_bind(const struct weft_accessor *who, const struct weft_sqe *sqe)
{
	struct weft_mw_request request = {
		.rkey = sqe->mw.rkey,
		.new_rkey = sqe->mw.new_rkey,
		.lkey = sqe->mw.lkey,
		.access = sqe->mw.access,
		.addr = sqe->mw.addr,
		.length = sqe->mw.length,
	};

	return weft_mw_bind(who, &request);
}

static int sendq_register(const struct weft_accessor *who, const struct weft_sqe *sqe)
{
	struct weft_fastreg_request request = {
		.key = sqe->mw.rkey,
		.new_key = sqe->mw.new_rkey,
		.access = sqe->mw.access,
		.iova = sqe->mw.addr,
	};

	return weft_fastreg_register(who, &request);
}

static int sendq_local(const struct weft_accessor *who, const struct weft_sqe *sqe)
{
	switch (sqe->opcode) {
	case WEFT_SQE_LOCAL_INV:
		return weft_key_invalidate(who, sqe->ex, true);
	case WEFT_SQE_BIND_MW:
		return sendq_bind(who, sqe);
	default:
		return sendq_register(who, sqe);
	}
}

enum weft_fault weft_sendq_local(struct weft_qp *qp, const struct weft_sqe *sqe)
{
	return sendq_local(&qp->send.who, sqe) ? WEFT_FAULT_BIND : WEFT_FAULT_NONE;
}

static void sendq_push(struct weft_qp *qp, const struct weft_sqe *sqe, u32 index,
		       enum ib_wc_status status, enum weft_fault fault, u32 byte_len)
{
	struct weft_cq *cq = qp->send_cq;
	unsigned long flags = weft_cq_begin(cq);
	struct weft_cqe cqe = {
		.wr_id = sqe->wr_id,
		.cookie = qp->cookie,
		.qp_num = qp->qpn,
		.byte_len = byte_len,
		.wqe_index = index,
		.vendor_err = fault,
		.status = status,
		.opcode = sendq_wc_opcode[sqe->opcode],
		.port_num = 1,
	};

	if (unlikely(!weft_cq_push(cq, &cqe, status, flags)))
		weft_qp_lost(qp, cq, WEFT_FAULT_CQ_OVERRUN);
}

void weft_sendq_complete(struct weft_qp *qp, const struct weft_sqe *sqe, u32 index,
			 enum ib_wc_status status, enum weft_fault fault, u32 byte_len)
{
	weft_ring_release(qp->send.ring);
	if (status || qp->sig_all || sqe->flags & WEFT_SQE_SIGNALED)
		sendq_push(qp, sqe, index, status, fault, byte_len);
}

void weft_sendq_fail(struct weft_qp *qp, const struct weft_sqe *sqe, u32 index,
		     enum ib_wc_status status, enum weft_fault fault)
{
	if (weft_qp_is_reliable(qp))
		weft_qp_set_error(qp);
	else
		weft_qp_set_sqe(qp);
	weft_sendq_complete(qp, sqe, index, status, fault, 0);
}
