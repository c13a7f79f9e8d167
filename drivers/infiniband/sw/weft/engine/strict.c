// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rules of strict mode that need a work request.
 *
 * On the local link a request is complete before ibv_post_send() returns, so a program never sees
 * that its memory was still in use, or its address handle. A strict device therefore holds some of
 * the requests for as long as an adapter may take to read their memory.
 */
#include "engine/strict.h"

#include <linux/jhash.h>

#include "engine/gather.h"
#include "engine/opdef.h"
#include "engine/pace.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/qp.h"
#include "object/table.h"
#include "params.h"

/* The first requests of a QP are held, and every so many of the others. */
#define STRICT_FIRST	64U
#define STRICT_EVERY	16U
/* The checksum is of so many pieces of the memory, spread evenly, each of so many bytes. */
#define STRICT_PIECES	32U
#define STRICT_PIECE	64U

/* Add pieces of @span, @pieces at most, to a checksum. */
static u32 strict_add(const struct weft_span *span, u32 pieces, u32 sum)
{
	u8 piece[STRICT_PIECE] __aligned(8);
	const struct weft_span copy = { .addr = (uintptr_t)piece, .length = sizeof(piece) };
	const u64 step = max_t(u64, DIV_ROUND_UP_ULL(span->length, pieces), STRICT_PIECE);
	struct weft_iter from, to;
	u64 at, length;

	for (at = 0; at < span->length; at += step) {
		length = min_t(u64, span->length - at, STRICT_PIECE);
		weft_span_iter(span, &from);
		weft_iter_skip(&from, at);
		weft_span_iter(&copy, &to);
		weft_copy(&to, &from, length);
		sum = jhash(piece, length, sum);
	}
	return sum;
}

/*
 * Compute the checksum of a request's memory, an element at a time: the list of the QP may be in
 * use. Returns false: there is no memory, or it is not present.
 */
static bool strict_sum(struct weft_qp *qp, const struct weft_slot *slot, u32 *sum)
{
	const struct weft_swqe *wqe = &slot->wqe;
	const u32 num = wqe->sqe.num_sge;
	struct weft_span span;
	struct weft_sgl sgl = { .span = &span };
	bool any = false;
	u32 i;

	*sum = 0;
	for (i = 0; i < num; i++) {
		if (weft_sgl_resolve(&sgl, &qp->send.who, &wqe->sge[i], 1, U64_MAX, 0))
			return false;
		if (sgl.num) {
			any = true;
			*sum = strict_add(&span, max(STRICT_PIECES / num, 1U), *sum);
		}
		weft_sgl_release(&sgl);
	}
	return any;
}

/* Does a request to @peer, which is of the same user, find what it needs there? */
static enum weft_fault strict_meets(struct weft_qp *qp, const struct weft_slot *slot,
				    struct weft_qp *peer)
{
	const struct weft_inflight *inflight = &qp->send.inflight;
	const u32 qkey = slot->wqe.sqe.ud.remote_qkey, theirs = READ_ONCE(peer->qkey);
	bool dry;

	if (weft_qp_is_ud(qp) && !(qkey >> 31) && qkey != theirs &&
	    weft_strict_qp(qp, WEFT_FAULT_STRICT_QKEY, "Q_Key %#x for QP %u, which has %#x", qkey,
			   peer->qpn, theirs))
		return WEFT_FAULT_STRICT_QKEY;
	if (!weft_pkeys_match(weft_qp_pkey(qp), weft_qp_pkey(peer)) &&
	    weft_strict_qp(qp, WEFT_FAULT_STRICT_PKEY, "P_Key %#x for QP %u, which has %#x",
			   weft_qp_pkey(qp), peer->qpn, weft_qp_pkey(peer)))
		return WEFT_FAULT_STRICT_PKEY;
	/* those before it may take the receives that are there */
	if (!(slot->op->flags & WEFT_OPF_RECEIVE) || inflight->tail - inflight->head != 1 ||
	    !weft_turn_try(&peer->recv.turn))
		return WEFT_FAULT_NONE;
	dry = peer->recv.ring && !peer->recv.held && weft_qp_can_receive(peer) &&
	      !weft_ring_pending(peer->recv.ring);
	weft_turn_release(&peer->recv.turn);
	return dry && weft_strict_qp(qp, WEFT_FAULT_STRICT_RNR,
				     "QP %u had no receive when the message was posted",
				     peer->qpn) ? WEFT_FAULT_STRICT_RNR : WEFT_FAULT_NONE;
}

/* Look at the destination of a request, if it is on this host. */
static enum weft_fault strict_destination(struct weft_qp *qp, const struct weft_slot *slot)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;
	u32 qpn = weft_qp_is_ud(qp) ? sqe->ud.remote_qpn : qp->dest_qpn;
	enum weft_fault fault = WEFT_FAULT_NONE;
	struct weft_qp *peer;
	struct weft_av av;

	if (slot->op->flags & WEFT_OPF_LOCAL || qp->dc)
		return WEFT_FAULT_NONE;
	if (weft_qp_is_ud(qp) && (!weft_ah_lookup(qp->dev, sqe->ud.ah_id, qp->pd, &av) ||
				  av.multicast || !weft_av_target(&av) || qpn < WEFT_MIN_QPN))
		return WEFT_FAULT_NONE;
	if (!weft_qp_is_ud(qp) && !weft_av_target(&qp->av))
		return WEFT_FAULT_NONE;
	peer = weft_qp_get(qpn);
	if (peer) {
		/* a device stays for a grace period after the state of its last QP is RESET */
		rcu_read_lock();
		if (weft_qp_state(peer) != IB_QPS_RESET &&
		    weft_owner_is_same(&qp->maker, &peer->maker))
			fault = strict_meets(qp, slot, peer);
		rcu_read_unlock();
		weft_qp_put(peer);
	} else if (!weft_qp_is_reliable(qp) &&
		   /* a reliable request fails here, too */
		   weft_strict_qp(qp, WEFT_FAULT_STRICT_NO_QP,
				  "there is no QP %u (any more) on this host", qpn)) {
		fault = WEFT_FAULT_STRICT_NO_QP;
	}
	return fault;
}

static bool strict_is_sample(u32 index)
{
	return index < STRICT_FIRST || !(index % STRICT_EVERY);
}

/*
 * A work request has just been taken. If it breaks a rule, and is to fail, @slot->fault is set.
 * Returns true: it is held, and an event will come.
 */
bool weft_strict_request(struct weft_qp *qp, struct weft_slot *slot)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	weft_assert_turn(&qp->send.turn);
	slot->sum_of = 0;
	if (!READ_ONCE(qp->dev->strict.mode) || qp->kernel || weft_qp_is_raw(qp) ||
	    !qp->send_cq || slot->fault)
		return false;
	slot->fault = strict_destination(qp, slot);
	if (slot->fault || !strict_is_sample(qp->send.inflight.tail - 1) ||
	    sqe->flags & WEFT_SQE_INLINE || !(slot->op->flags & WEFT_OPF_MOVE) ||
	    slot->op->flags & WEFT_OPF_FETCH || !strict_sum(qp, slot, &slot->sum))
		return false;
	slot->sum_of = READ_ONCE(qp->dev->strict.generation);
	if (weft_qp_is_ud(qp) || qp->dc)
		weft_ah_hold(qp, qp->dc ? sqe->dc.to.ah_id : sqe->ud.ah_id);
	weft_pace_delay(&qp->send, WEFT_STRICT_HOLD_NS);
	return true;
}

/* A request has been executed and answered: is it to fail, because its memory has changed? */
bool weft_strict_changed(struct weft_qp *qp, const struct weft_slot *slot)
{
	bool gone;
	u32 sum;

	if (!slot->sum_of || slot->sum_of != READ_ONCE(qp->dev->strict.generation))
		return false;
	gone = !strict_sum(qp, slot, &sum);
	if (!gone && sum == slot->sum)
		return false;
	return weft_strict_qp(qp, WEFT_FAULT_STRICT_BUFFER,
			      "wr_id %llu: its memory %s before the request was complete",
			      slot->wqe.sqe.wr_id, gone ? "was deregistered" : "changed");
}
