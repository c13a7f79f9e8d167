// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The local link: both QPs are on this host.
 *
 * A message is copied once, from memory region to memory region, while its sender owns its own send
 * turn and the receiver's receive turn. There are no packets, but all rules of the transport hold:
 * order, PSNs, access checks, RNR, retries if the peer does not answer, NAKs.
 */
#include "link/local.h"

#include <linux/sched/signal.h>

#include "engine/gather.h"
#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/retry.h"
#include "fabric/fabric.h"
#include "fabric/notice.h"
#include "link/dc.h"
#include "link/local_turn.h"
#include "link/monitor_local.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "object/table.h"
#include "pause.h"
#include "stats.h"
#include "trace.h"
#include "wire/psn.h"

/*
 * Should a long copy be given up? A context wants to stop one of the QPs, or the task is being
 * killed.
 */
static bool local_stopping(const struct weft_qp *qp, const struct weft_qp *peer)
{
	return weft_turn_stopping(&qp->send.turn) ||
	       weft_turn_stopping(&peer->recv.turn) ||
	       fatal_signal_pending(current);
}

static void local_copy(struct weft_qp *peer, const struct weft_opdef *op, struct weft_iter *iter,
		       u64 length)
{
	if (op->flags & WEFT_OPF_FETCH)
		weft_message_fetch(peer, iter, length);
	else
		weft_message_place(peer, iter, length);
}

/*
 * Move a long message. ODP memory is pinned in chunks: the lists end where the pinned pages end,
 * and the message goes on when the next chunk is pinned. Both QPs remember how much has been moved,
 * so that if one of them is reset meanwhile, the other one does not go on with half a message.
 */
static noinline enum weft_verdict local_move_long(struct weft_qp *qp, struct weft_qp *peer,
						  struct weft_slot *slot, struct weft_iter *iter,
						  bool show)
{
	bool rests = weft_local_may_rest(show);
	u64 chunk = min(weft_iter_left(iter), weft_iter_left(&peer->recv.iter));
	u64 end = min_t(u64, slot->length, slot->done + chunk);
	u64 done = slot->done, length;

	weft_inflight_disarm(qp);
	for (;;) {
		length = min_t(u64, end - done, WEFT_COPY_CHUNK);
		local_copy(peer, slot->op, iter, length);
		done += length;
		if (done == slot->length)
			return WEFT_DONE;
		if (done == end || (!rests && need_resched())) {
			slot->done = done;
			peer->recv.done = done;
			return WEFT_STOPPED;
		}
		if (local_stopping(qp, peer))
			return WEFT_STOPPED;
		if (rests)
			cond_resched();
	}
}

/* Move a message; the memory of both sides is resolved. Return: WEFT_DONE or WEFT_STOPPED. */
static __always_inline enum weft_verdict local_move(struct weft_qp *qp, struct weft_qp *peer,
						    struct weft_slot *slot,
						    const struct weft_request *req,
						    struct weft_iter *iter, bool show)
{
	/* a message of WEFT_COPY_CHUNK is always pinned as a whole */
	BUILD_BUG_ON(WEFT_ODP_CHUNK < WEFT_COPY_CHUNK);
	if (likely(slot->op->flags & WEFT_OPF_MOVE)) {
		if (unlikely(slot->length - slot->done > WEFT_COPY_CHUNK))
			return local_move_long(qp, peer, slot, iter, show);
		local_copy(peer, slot->op, iter, slot->length - slot->done);
		return WEFT_DONE;
	}
	while (slot->op->execute(peer, req, iter)) {
		if (local_stopping(qp, peer) || (!weft_local_may_rest(show) && need_resched()))
			return WEFT_STOPPED;
		if (weft_local_may_rest(show))
			cond_resched();
	}
	return WEFT_DONE;
}

/**
 * struct local_answer - a refusal, to be handled after the responder's turn has been given back
 * @refusal: with WEFT_FAILED
 * @rnr_timer: the delay that an RNR NAK asks for
 */
struct local_answer {
	const struct weft_refusal	*refusal;
	u8				rnr_timer;
};

/*
 * Return: WEFT_FAILED; WEFT_DONE: an unreliable message, which is dropped; WEFT_DROP: a reliable
 * one that gets no answer.
 */
static noinline enum weft_verdict local_refuse(struct weft_qp *peer, enum weft_fault fault,
					       struct local_answer *answer)
{
	answer->refusal = weft_message_refuse(peer, fault);
	answer->rnr_timer = peer->recv.rnr_timer;
	if (answer->refusal->reply != WEFT_REPLY_NONE)
		return WEFT_FAILED;
	return weft_qp_is_reliable(peer) ? WEFT_DROP : WEFT_DONE;
}

/* Handle a refusal at the requester, like an RNR NAK or a NAK. */
static noinline void local_refused(struct weft_qp *qp, const struct local_answer *answer)
{
	if (answer->refusal->reply == WEFT_REPLY_RNR)
		weft_retry_rnr(qp, answer->rnr_timer);
	else
		weft_inflight_fault(qp, weft_rules_nak(answer->refusal->requester));
}

/* Show the part of a request that is about to be moved, see local_move_long(). */
static noinline void local_show(struct weft_qp *qp, const struct weft_qp *peer,
				const struct weft_slot *slot, const struct weft_iter *iter)
{
	u64 end = slot->length;

	if (slot->op->flags & WEFT_OPF_MOVE)
		end = min3(end, slot->done + weft_iter_left(iter),
			   slot->done + weft_iter_left(&peer->recv.iter));
	weft_monitor_request(qp, peer, slot, slot->done, end);
}

/* Show the beginning of a request that is refused before any of it is moved. */
static noinline void local_show_refused(struct weft_qp *qp, const struct weft_qp *peer,
					const struct weft_slot *slot)
{
	if (!slot->done)
		weft_monitor_request(qp, peer, slot, 0, min_t(u64, slot->length, qp->mtu));
}

/*
 * Begin a message, or go on with the next chunk. If the peer has been reset it does not know of the
 * chunks before: then the message starts again from its first byte.
 */
static __always_inline struct weft_result local_open(struct weft_qp *qp, struct weft_qp *peer,
						     struct weft_slot *slot,
						     const struct weft_request *req,
						     struct weft_iter *iter)
{
	if (likely(!slot->done)) {
		if (unlikely(peer->recv.tagged))
			weft_message_look(peer, req, iter);
		return weft_message_begin(peer, req);
	}
	if (slot->done != peer->recv.done) {
		slot->done = 0;
		weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
		return weft_result(WEFT_LATER);
	}
	weft_iter_skip(iter, slot->done);
	return weft_message_resume(peer, req, slot->done, slot->length - slot->done);
}

/* Execute a message at @peer, whose receive turn is owned. @show: a monitor is up */
static __always_inline enum weft_verdict
local_deliver(struct weft_qp *qp, struct weft_qp *peer, struct weft_slot *slot,
	      const struct weft_request *req, struct local_answer *answer, bool show)
{
	struct weft_result result = weft_failed(weft_message_enter(peer, req->srqn));
	struct weft_iter iter __uninitialized;
	enum weft_verdict verdict;

	weft_sgl_iter(&qp->send.sgl, &iter);
	if (likely(!result.verdict))
		result = local_open(qp, peer, slot, req, &iter);
	if (unlikely(result.verdict == WEFT_LATER)) {
		weft_odp_second(&qp->send.odp);
		weft_odp_wait(&peer->recv, qp);
		return WEFT_LATER;
	}
	if (unlikely(result.verdict)) {
		verdict = local_refuse(peer, result.fault, answer);
		/* local_lost() shows what gets no answer */
		if (show && verdict != WEFT_DROP)
			local_show_refused(qp, peer, slot);
		return verdict;
	}
	if (show)
		local_show(qp, peer, slot, &iter);
	if (unlikely(local_move(qp, peer, slot, req, &iter, show) != WEFT_DONE)) {
		weft_message_pause(peer);
		return WEFT_STOPPED;
	}
	result = weft_failed(weft_message_end(peer, req));
	if (unlikely(result.verdict))
		return local_refuse(peer, result.fault, answer);
	return WEFT_DONE;
}

/* The report for the subnet manager about a message that was refused, as if it were a packet. */
static struct weft_violation local_violation(const struct weft_qp *qp, u16 pkey)
{
	const struct weft_av *av = &qp->av;

	return (struct weft_violation){
		.slid = weft_av_source_lid(av),
		.dlid = av->dlid,
		.sl = av->sl,
		.key = pkey,
		.dqpn = qp->dest_qpn,
		.sgid = av->grh ? av->sgid.raw : NULL,
		.dgid = av->grh ? av->dgid.raw : NULL,
	};
}

static noinline void local_filtered(const struct weft_qp *qp, const struct weft_qp *peer,
				    u16 pkey, u8 filter)
{
	const struct weft_violation violation = local_violation(qp, pkey);
	const struct weft_av *end = filter == WEFT_IBPORT_PKEY_IN ? &qp->av : &peer->av;

	weft_fabric_refused(qp->av.fabric, end->port, filter, &violation);
}

/* Does the switch between the two ports let the message pass, as it would a packet? */
static bool local_passes(const struct weft_qp *qp, const struct weft_qp *peer, u16 pkey)
{
	u8 filter;

	/* the ports are not on the same fabric any more */
	if (qp->av.fabric != peer->av.fabric)
		return false;
	filter = weft_fabric_filter(qp->av.port, peer->av.port, pkey);
	if (unlikely(filter))
		local_filtered(qp, peer, pkey, filter);
	return !filter;
}

/* Count a wrong P_Key at the peer's port, and tell the subnet manager. */
static noinline void local_bad_pkey(const struct weft_qp *qp, struct weft_qp *peer, u16 pkey)
{
	const struct weft_violation violation = local_violation(qp, pkey);

	weft_traps_violation(&peer->dev->hca->traps, WEFT_TRAP_BAD_PKEY, &violation);
	weft_stats_inc(peer, WEFT_STAT_RX_PKEY);
}

/*
 * Does the P_Key let the message reach the peer? Always on RoCE, which has one P_Key only. A QP
 * whose port does not have the destination LID gets nothing, and reports nothing.
 */
static __always_inline bool local_partition(const struct weft_qp *qp, struct weft_qp *peer)
{
	u16 pkey;

	if (!qp->av.ib)
		return true;
	pkey = weft_qp_pkey(qp);
	if (peer->dev_id != qp->av.target || !local_passes(qp, peer, pkey))
		return false;
	if (likely(weft_pkeys_match(pkey, weft_qp_pkey(peer))))
		return true;
	local_bad_pkey(qp, peer, pkey);
	return false;
}

/*
 * May the message be delivered: can the peer receive, and are the two QPs connected with each
 * other, by number and by address? A DC target is connected with nobody. The peer's receive turn is
 * owned.
 */
static __always_inline enum weft_path_verdict local_connected(struct weft_qp *qp,
							      struct weft_qp *peer)
{
	if (unlikely(!weft_qp_can_receive(peer) || !weft_dev_port_active(peer->dev) ||
		     (peer->dest_qpn != qp->qpn && !qp->dc) || !local_partition(qp, peer)))
		return WEFT_PATH_NO;
	if (unlikely(qp->dc))
		return weft_local_has_address(&qp->av, peer) ? WEFT_PATH_YES : WEFT_PATH_NO;
	return weft_migration_meeting(qp, peer);
}

/*
 * A reliable message must have the expected PSN. A message of UC sets it: UC resynchronises at the
 * first packet of a message (IBA 9.8.3). A DC target has messages of many initiators.
 */
static __always_inline bool local_psn_expected(const struct weft_qp *qp, struct weft_qp *peer,
					       const struct weft_slot *slot)
{
	if (qp->type == IB_QPT_UC)
		peer->recv.psn = slot->first_psn;
	return peer->recv.psn == slot->first_psn || qp->dc;
}

/* Look the peer up, under RCU as weft_qp_peek(). */
static __always_inline struct weft_qp *local_peek(const struct weft_qp *qp)
{
	struct weft_qp *peer;

	peer = weft_qp_peek(qp->dest_qpn);
	return peer && peer->type == qp->peer_type ? peer : NULL;
}

/* The peer with a reference, or NULL. */
static struct weft_qp *local_peer(const struct weft_qp *qp)
{
	struct weft_qp *peer = weft_qp_get(qp->dest_qpn);

	if (!peer || peer->type == qp->peer_type)
		return peer;
	weft_qp_put(peer);
	return NULL;
}

/* Is the message executed without a pause? */
static __always_inline bool local_is_short(const struct weft_slot *slot)
{
	return slot->length <= WEFT_COPY_CHUNK && !(slot->op->flags & WEFT_OPF_PIECES);
}

static __always_inline void local_request(const struct weft_slot *slot, struct weft_request *req)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;

	req->op = slot->op;
	req->solicited = sqe->flags & WEFT_SQE_SOLICITED;
	req->length = slot->length;
	req->ex = sqe->ex;
	req->srqn = sqe->xrc.srqn;
	/* no datagram: the members behind it are not used */
	req->grh = NULL;
	if (slot->op->flags & WEFT_OPF_SEND)
		return;
	req->rkey = sqe->rkey;
	req->remote_addr = sqe->remote_addr;
	if (likely(slot->op->flags & WEFT_OPF_MOVE))
		return;
	if (slot->op->flags & WEFT_OPF_FETCH) {
		req->compare_add = sqe->atomic.compare_add;
		req->swap = sqe->atomic.swap;
		req->compare_add_mask = sqe->atomic.compare_add_mask;
		req->swap_mask = sqe->atomic.swap_mask;
	} else {
		req->flush.length = sqe->flush.length;
		req->flush.placement = sqe->flush.placement;
		req->flush.selectivity = sqe->flush.selectivity;
	}
}

/* The message has been delivered, or (unreliable) has left. */
static __always_inline void local_done(struct weft_qp *qp, struct weft_slot *slot)
{
	qp->send.psn = weft_slot_end(slot);
	weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, slot->length);
	weft_inflight_done(qp, slot, slot->length);
}

/*
 * Show a request that gets no answer: not more than can be shown in one go, which may be in a soft
 * interrupt. Its memory has been released.
 */
static noinline void local_show_lost(struct weft_qp *qp, struct weft_slot *slot)
{
	struct weft_result result = weft_gather(qp, &qp->send.odp, slot, 0, WEFT_COPY_CHUNK);

	if (result.verdict)
		return;
	weft_monitor_request(qp, NULL, slot, 0, min_t(u64, slot->length, WEFT_COPY_CHUNK));
	weft_sgl_release(&qp->send.sgl);
}

/*
 * The peer does not answer. On an unreliable connection that is the same as success. A reliable
 * request counts as sent, and waits for its ack timeout.
 */
static noinline enum weft_verdict local_lost(struct weft_qp *qp, struct weft_slot *slot)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	bool again = inflight->sent != inflight->una;

	if (weft_monitor_is_on())
		local_show_lost(qp, slot);
	if (qp->type == IB_QPT_UC) {
		local_done(qp, slot);
		return WEFT_DONE;
	}
	inflight->cur++;
	inflight->next = weft_slot_end(slot);
	inflight->sent = inflight->next;
	if (again)
		weft_retry_restart(qp);
	else
		weft_retry_start(qp);
	return WEFT_LATER;
}

/*
 * local_deliver() to a DC target. A wrong key is answered like a key that may not access the
 * memory.
 */
static noinline enum weft_verdict
local_deliver_dc(struct weft_qp *dci, struct weft_qp *dct, struct weft_slot *slot,
		 struct weft_request *req, struct local_answer *answer, bool show)
{
	struct weft_result result = weft_dc_enter(dci, dct, slot, req);
	enum weft_verdict verdict;

	if (result.verdict == WEFT_FAILED) {
		answer->refusal = weft_rules_refusal(result.fault, WEFT_SERVICE_RC);
		answer->rnr_timer = 0;
		if (show)
			local_show_refused(dci, dct, slot);
	}
	if (result.verdict)
		return result.verdict;
	verdict = local_deliver(dci, dct, slot, req, answer, show);
	weft_dc_leave(dci, dct, verdict);
	return verdict;
}

/*
 * Check and execute a message. The receive turn of @peer is owned. Return: as weft_link.execute; or
 * WEFT_DROP: the peer does not answer; WEFT_FAILED: with @answer.
 */
static __always_inline enum weft_verdict local_meet(struct weft_qp *qp, struct weft_qp *peer,
						    struct weft_slot *slot,
						    struct local_answer *answer, bool show)
{
	struct weft_request req __uninitialized;
	enum weft_verdict verdict;

	switch (local_connected(qp, peer)) {
	case WEFT_PATH_YES:
		break;
	case WEFT_PATH_LATER:
		weft_odp_wait(&peer->recv, qp);
		return WEFT_LATER;
	default:
		return WEFT_DROP;
	}
	if (unlikely(!local_psn_expected(qp, peer, slot)))
		return WEFT_DROP;
	local_request(slot, &req);
	if (unlikely(qp->dc))
		verdict = local_deliver_dc(qp, peer, slot, &req, answer, show);
	else
		verdict = local_deliver(qp, peer, slot, &req, answer, show);
	weft_message_leave(peer);
	if (likely(verdict == WEFT_DONE)) {
		peer->recv.psn = weft_slot_end(slot);
		peer->recv.msn = weft_psn_add(peer->recv.msn, 1);
	}
	return verdict;
}

/*
 * Meet the peer if its turn is free. That needs no reference: while its turn is owned it is not
 * destroyed, and while preemption is off it is not freed. Return: false: the turn is not free, or
 * there is no peer.
 */
static __always_inline bool local_meet_now(struct weft_qp *qp, struct weft_slot *slot,
					   struct local_answer *answer,
					   enum weft_verdict *verdict)
{
	struct weft_qp *peer;
	bool met = false;

	preempt_disable();
	peer = local_peek(qp);
	weft_pause(WEFT_PAUSE_LOCAL_PEER);
	if (likely(peer && weft_turn_try(&peer->recv.turn))) {
		weft_pause(WEFT_PAUSE_LOCAL_OWNED);
		*verdict = local_meet(qp, peer, slot, answer, false);
		weft_turn_release(&peer->recv.turn);
		met = true;
	}
	preempt_enable();
	return met;
}

/*
 * Meet the peer, and wait for its turn if @budget is not that of an atomic context. If a monitor is
 * up, show the request before the answer. Return: as local_meet(), or WEFT_STOPPED.
 */
static noinline enum weft_verdict local_meet_later(struct weft_qp *qp, struct weft_slot *slot,
						   const struct weft_budget *budget,
						   struct local_answer *answer)
{
	bool show = weft_monitor_is_on(), no_preempt = budget->no_preempt && !show;
	enum weft_verdict verdict = WEFT_STOPPED;
	struct weft_qp *peer = local_peer(qp);
	u64 from = slot->done;

	if (!peer)
		return WEFT_DROP;
	weft_pause(WEFT_PAUSE_LOCAL_PEER_HELD);
	if (budget->atomic ? !local_is_short(slot) || !weft_turn_try(&peer->recv.turn) :
			     weft_local_enter(&peer->recv.turn, no_preempt))
		goto out;
	weft_pause(WEFT_PAUSE_LOCAL_OWNED);
	verdict = local_meet(qp, peer, slot, answer, show);
	if (show && verdict == WEFT_DONE)
		weft_monitor_answer(qp, peer, slot, from);
	else if (show && verdict == WEFT_FAILED)
		weft_monitor_refusal(qp, peer, slot, answer->refusal, answer->rnr_timer);
	else if (show && slot->done > from && slot->op->response == WEFT_RESPONSE_READ)
		weft_monitor_fetched(qp, peer, slot, from, slot->done);
	weft_local_leave(&peer->recv.turn, no_preempt);
out:
	weft_qp_put(peer);
	return verdict;
}

/* weft_link.execute: carry a message of a connected QP, all of it at once. */
static enum weft_verdict local_execute(struct weft_qp *qp, struct weft_slot *slot,
				       struct weft_budget *budget)
{
	struct weft_inflight *inflight = &qp->send.inflight;
	struct local_answer answer __uninitialized;
	struct weft_result result;
	enum weft_verdict verdict;

	weft_assert_turn(&qp->send.turn);
	/* the request before it waits for its ack timeout */
	if (unlikely(inflight->cur != inflight->head))
		return WEFT_LATER;
	if (unlikely(qp->dc) && !weft_dc_begin(qp, slot))
		return WEFT_DONE;
	result = weft_gather(qp, &qp->send.odp, slot, slot->done, WEFT_ODP_CHUNK);
	if (unlikely(result.verdict == WEFT_FAILED)) {
		weft_inflight_fault(qp, result.fault);
		return WEFT_DONE;
	}
	if (unlikely(result.verdict))
		return result.verdict;
	slot->length = qp->send.sgl.length;
	slot->first_psn = qp->send.psn;
	slot->psns = weft_rules_psn_count(slot->length, qp->mtu);
	/* on PREEMPT_RT locks sleep, and while a monitor is up the message is shown */
	if (unlikely(!weft_av_target(&qp->av) || !weft_dev_port_active(qp->dev)))
		verdict = WEFT_DROP;
	else if (IS_ENABLED(CONFIG_PREEMPT_RT) || weft_monitor_is_on() ||
		 !(budget->no_preempt || (budget->atomic && local_is_short(slot))) ||
		 unlikely(!local_meet_now(qp, slot, &answer, &verdict)))
		verdict = local_meet_later(qp, slot, budget, &answer);
	weft_sgl_release(&qp->send.sgl);
	trace_weft_local(qp, slot, verdict);
	switch (verdict) {
	case WEFT_DONE:
		budget->bytes -= slot->length;
		/* the peer has sent the data of a READ */
		if (!weft_opdef_responds(slot->op))
			budget->sent += slot->length;
		local_done(qp, slot);
		return WEFT_DONE;
	case WEFT_DROP:
		return local_lost(qp, slot);
	case WEFT_FAILED:
		local_refused(qp, &answer);
		return WEFT_DONE;
	default:
		return verdict;
	}
}

const struct weft_link weft_link_local = {
	.execute = local_execute,
	.datagram = weft_local_datagram,
};
