// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/datagram.h"

#include "engine/link.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/qp.h"

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

void weft_datagram_send(struct weft_qp *qp, struct weft_datagram *dgram,
			struct weft_answer *answer)
{
	const struct weft_sqe *sqe = &qp->send.wqe.sqe;
	struct weft_av av;

	if (!weft_ah_lookup(qp->dev, sqe->ud.ah_id, qp->pd, &av)) {
		answer->outcome = WEFT_OUTCOME_REFUSED;
		answer->status = weft_rules_status(WEFT_FAULT_ADDRESS);
		answer->fault = WEFT_FAULT_ADDRESS;
		return;
	}
	answer->outcome = WEFT_OUTCOME_DONE;
	/* C10-93.1.1: too long for the port is dropped, without an error */
	if (dgram->req.length > qp->mtu || !weft_qp_port_open(qp))
		return;
	dgram->av = &av;
	dgram->pkey = dgram_pkey(qp, sqe);
	dgram->qpn = sqe->ud.remote_qpn;
	dgram->qkey = sqe->ud.remote_qkey & DGRAM_QKEY_OWN ? qp->qkey :
							     sqe->ud.remote_qkey;
	/* the wire first: it is the one that may have to try again */
	if (!av.local || av.multicast)
		qp->dev->wire->datagram(qp, dgram, &qp->send.sgl, answer);
	if (av.local && answer->outcome == WEFT_OUTCOME_DONE)
		qp->link->datagram(qp, dgram, &qp->send.sgl, answer);
	/* as a packet it can wait for the receiver's pages, and we need not */
	if (unlikely(answer->outcome == WEFT_OUTCOME_STALLED) && av.local && !av.multicast)
		qp->dev->wire->datagram(qp, dgram, &qp->send.sgl, answer);
}
