// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/datagram.h"

#include "engine/link.h"
#include "engine/lso.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/qp.h"
#include "pause.h"

/* A Q_Key with the upper bit set stands for the QP's own (IBA 10.2.5). */
#define DGRAM_QKEY_OWN	0x80000000

/* Of QP 1 each work request says which. */
static u16 dgram_pkey(const struct weft_qp *qp, const struct weft_sqe *sqe)
{
	const struct weft_hca *hca = qp->dev->hca;

	if (hca && qp->type == IB_QPT_GSI && sqe->ud.pkey_index < WEFT_IB_PKEYS)
		return READ_ONCE(hca->port.pkeys[sqe->ud.pkey_index]);
	return weft_qp_pkey(qp);
}

static void dgram_refuse(struct weft_answer *answer, enum weft_fault fault)
{
	answer->outcome = WEFT_OUTCOME_REFUSED;
	answer->status = weft_rules_status(fault);
	answer->fault = fault;
}

/*
 * When a device is removed the core leaves all multicast groups, and waits until the subnet
 * administration has answered. That may be gone already, or about to go as well; and it will
 * see the port go down. As if the QP were being flushed, it is not asked any more.
 */
static bool dgram_is_vain(const struct weft_qp *qp, const struct weft_av *av)
{
	const struct weft_hca *hca = qp->dev->hca;

	return unlikely(qp->type == IB_QPT_GSI) && hca && READ_ONCE(hca->leaving) &&
	       av->dlid == READ_ONCE(hca->port.sm_lid);
}

/* What an HCA does with packets of IPoIB. */
static enum weft_fault dgram_offload(struct weft_qp *qp, struct weft_datagram *dgram)
{
	const struct weft_sqe *sqe = &qp->send.wqe.sqe;

	dgram->ip_csum = sqe->flags & WEFT_SQE_IP_CSUM;
	dgram->lso = NULL;
	if (unlikely(dgram->ip_csum && !qp->dev->hca))
		return WEFT_FAULT_MALFORMED;
	if (likely(sqe->opcode != WEFT_SQE_LSO))
		return WEFT_FAULT_NONE;
	if (!dgram->req.length || dgram->req.length > WEFT_LSO_MAX_LENGTH)
		return WEFT_FAULT_LOCAL_LENGTH;
	dgram->ip_csum = true;
	dgram->lso = weft_sq_lso(qp->send.ring, qp->send.wqe.index);
	return WEFT_FAULT_NONE;
}

static u32 dgram_longest(const struct weft_datagram *dgram)
{
	return unlikely(dgram->lso) ? weft_lso_longest(dgram->lso, dgram->req.length) :
				      dgram->req.length;
}

void weft_datagram_send(struct weft_qp *qp, struct weft_datagram *dgram,
			struct weft_answer *answer)
{
	const struct weft_sqe *sqe = &qp->send.wqe.sqe;
	enum weft_fault fault = dgram_offload(qp, dgram);
	struct weft_av av;
	bool local;

	if (!fault && !weft_ah_lookup(qp->dev, sqe->ud.ah_id, qp->pd, &av))
		fault = WEFT_FAULT_ADDRESS;
	if (fault) {
		dgram_refuse(answer, fault);
		return;
	}
	if (dgram_is_vain(qp, &av)) {
		answer->outcome = WEFT_OUTCOME_FLUSHED;
		return;
	}
	weft_pause(WEFT_PAUSE_AH_USE);
	answer->outcome = WEFT_OUTCOME_DONE;
	/* C10-93.1.1: too long for the port is dropped, without an error */
	if (dgram_longest(dgram) > qp->mtu || !weft_qp_port_open(qp)) {
		qp->send.done = 0;
		return;
	}
	dgram->av = &av;
	dgram->pkey = dgram_pkey(qp, sqe);
	dgram->qpn = sqe->ud.remote_qpn;
	dgram->qkey = sqe->ud.remote_qkey & DGRAM_QKEY_OWN ? qp->qkey :
							     sqe->ud.remote_qkey;
	/* what is to be made of it is made of packets */
	local = av.local && !dgram->atomic && !dgram->ip_csum;
	/* the wire first: it is the one that may have to try again */
	if (!local || av.multicast)
		qp->dev->wire->datagram(qp, dgram, &qp->send.sgl, answer);
	if (local && answer->outcome == WEFT_OUTCOME_DONE)
		qp->link->datagram(qp, dgram, &qp->send.sgl, answer);
	/* a packet can wait for the receiver's pages, and we need not; and a switch drops it */
	if (unlikely(answer->outcome == WEFT_OUTCOME_STALLED) && local && !av.multicast)
		qp->dev->wire->datagram(qp, dgram, &qp->send.sgl, answer);
}
