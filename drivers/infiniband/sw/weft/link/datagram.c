// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/datagram.h"

#include "engine/gather.h"
#include "engine/link.h"
#include "engine/lso.h"
#include "link/local.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/qp.h"
#include "pause.h"
#include "ring/rxe.h"
#include "stats.h"

/* A Q_Key in a work request that has the upper bit set stands for the QP's own (IBA 10.2.5). */
#define DGRAM_QKEY_OWN	0x80000000

/* Each work request of QP 1 names a P_Key; other QPs have one. */
static u16 dgram_pkey(const struct weft_qp *qp, const struct weft_sqe *sqe)
{
	const struct weft_hca *hca = qp->dev->hca;

	if (hca && qp->type == IB_QPT_GSI && sqe->ud.pkey_index < WEFT_IB_PKEYS)
		return READ_ONCE(hca->port.pkeys[sqe->ud.pkey_index]);
	return weft_qp_pkey(qp);
}

/*
 * Is this a request of QP 1 to the subnet administration while the device is being removed? The
 * core then leaves all multicast groups, and waits for the answers. The subnet administration may
 * be gone already, or about to go, and will see the port go down in any case. So such requests are
 * not sent but completed as if the QP were being flushed.
 */
static bool dgram_is_vain(const struct weft_qp *qp, const struct weft_av *av)
{
	const struct weft_hca *hca = qp->dev->hca;

	return unlikely(qp->type == IB_QPT_GSI) && hca && READ_ONCE(hca->leaving) &&
	       av->dlid == READ_ONCE(hca->port.sm_lid);
}

/* Offloads of IPoIB on an HCA: checksums and LSO. */
static enum weft_fault dgram_offload(struct weft_qp *qp, struct weft_datagram *dgram)
{
	const struct weft_swqe *wqe = &dgram->slot->wqe;

	dgram->ip_csum = wqe->sqe.flags & WEFT_SQE_IP_CSUM;
	dgram->lso = NULL;
	if (unlikely(dgram->ip_csum && !qp->dev->hca))
		return WEFT_FAULT_MALFORMED;
	if (likely(!dgram->slot->op->create_flag))
		return WEFT_FAULT_NONE;
	if (!dgram->req.length || dgram->req.length > WEFT_LSO_MAX_LENGTH)
		return WEFT_FAULT_LOCAL_LENGTH;
	dgram->ip_csum = true;
	dgram->lso = weft_sq_lso(qp->send.ring, wqe->index);
	return WEFT_FAULT_NONE;
}

static u32 dgram_longest(const struct weft_datagram *dgram)
{
	return unlikely(dgram->lso) ? weft_lso_longest(dgram->lso, dgram->req.length) :
				      dgram->req.length;
}

/* Pass a datagram to the local link, the wire, or (a group with members here) both. */
static enum weft_verdict dgram_send(struct weft_qp *qp, struct weft_datagram *dgram)
{
	const struct weft_av *av = dgram->av;
	/* checksums and LSO are for packets only */
	bool local = av->local && !dgram->atomic && !dgram->ip_csum;
	enum weft_verdict verdict = WEFT_DONE;

	/*
	 * the wire comes first, because it may return WEFT_LATER, and then nothing must have been
	 * sent
	 */
	if (!local || av->multicast)
		verdict = qp->dev->wire->datagram(qp, dgram);
	if (local && verdict == WEFT_DONE)
		verdict = weft_local_datagram(qp, dgram);
	/* the receiver must wait for pages: a packet can do that in its place */
	if (unlikely(verdict == WEFT_AS_PACKETS))
		verdict = qp->dev->wire->datagram(qp, dgram);
	return verdict;
}

static bool dgram_address(const struct weft_qp *qp, const struct weft_slot *slot,
			  struct weft_av *av)
{
	u32 id = slot->wqe.sqe.ud.ah_id;
	struct rxe_av rxe;

	if (likely(id || !qp->send.ring->rxe))
		return weft_ah_lookup(qp->dev, id, qp->pd, av);
	weft_rxe_copy_av(qp->send.ring, slot->wqe.index, &rxe);
	return !weft_av_from_rxe(av, qp->dev, &rxe);
}

/*
 * The memory is resolved: execute the request. Return: WEFT_DONE: it is complete; WEFT_LATER;
 * WEFT_STOPPED.
 */
static enum weft_verdict dgram_execute(struct weft_qp *qp, struct weft_datagram *dgram)
{
	struct weft_slot *slot = dgram->slot;
	const struct weft_sqe *sqe = &slot->wqe.sqe;
	u32 length = qp->send.sgl.length;
	enum weft_verdict verdict;
	enum weft_fault fault;
	struct weft_av av;

	dgram->req.op = slot->op;
	dgram->req.solicited = sqe->flags & WEFT_SQE_SOLICITED;
	dgram->req.length = length;
	dgram->req.ex = sqe->ex;
	fault = dgram_offload(qp, dgram);
	if (!fault && !dgram_address(qp, slot, &av))
		fault = WEFT_FAULT_ADDRESS;
	if (fault) {
		weft_inflight_fault(qp, fault);
		return WEFT_DONE;
	}
	if (dgram_is_vain(qp, &av)) {
		weft_inflight_flush(qp);
		return WEFT_DONE;
	}
	weft_pause(WEFT_PAUSE_AH_USE);
	dgram->av = &av;
	dgram->pkey = dgram_pkey(qp, sqe);
	dgram->qpn = sqe->ud.remote_qpn;
	dgram->qkey = sqe->ud.remote_qkey & DGRAM_QKEY_OWN ? qp->qkey : sqe->ud.remote_qkey;
	/* C10-93.1.1: a datagram that is too long for the port is dropped without an error */
	if (dgram_longest(dgram) <= qp->mtu && weft_qp_port_open(qp)) {
		verdict = dgram_send(qp, dgram);
		if (unlikely(verdict != WEFT_DONE))
			return verdict;
	}
	weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, length);
	weft_inflight_done(qp, slot, length);
	return WEFT_DONE;
}

static enum weft_verdict dgram_slot(struct weft_qp *qp, struct weft_slot *slot,
				    struct weft_budget *budget)
{
	struct weft_datagram dgram = { .slot = slot, .atomic = budget->atomic };
	enum weft_verdict verdict;
	struct weft_result result;
	u32 length;

	/* on RoCE, local receivers' turns are waited for; InfiniBand sends packets instead */
	if (budget->atomic && !qp->dev->hca)
		return WEFT_STOPPED;
	result = weft_gather(qp, &qp->send.odp, slot, 0, WEFT_ODP_CHUNK);
	if (unlikely(result.verdict == WEFT_FAILED)) {
		weft_inflight_fault(qp, result.fault);
		return WEFT_DONE;
	}
	if (unlikely(result.verdict))
		return result.verdict;
	length = qp->send.sgl.length;
	verdict = dgram_execute(qp, &dgram);
	weft_sgl_release(&qp->send.sgl);
	if (verdict == WEFT_DONE) {
		budget->bytes -= length;
		budget->sent += length;
	}
	return verdict;
}

const struct weft_link weft_link_datagrams = {
	.execute = dgram_slot,
};
