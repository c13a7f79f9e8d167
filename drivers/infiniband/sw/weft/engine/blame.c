// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The details of a failure. The engine fails a request for a reason that its rules know (enum
 * weft_fault below WEFT_FAULTS); then this code finds out the details, which end up in vendor_err
 * and in a record of the device.
 *
 * Both links call it. What a NAK, or the lack of an answer, leaves open is completed from the peer,
 * if the peer is on this host and both QPs belong to one user: anybody else learns no more than
 * packets tell, because a reason says which keys exist.
 */
#include "engine/blame.h"

#include "fabric/port.h"
#include "mem/blame.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/qp.h"
#include "object/table.h"
#include "object/why.h"
#include "wire/psn.h"

/* The reason for a refused access: the first of a block of details, or @fault if it is unknown. */
static enum weft_fault blame_detail(enum weft_fault fault, enum weft_blame_cause cause)
{
	if (cause == WEFT_BLAME_NOTHING)
		return fault;
	switch (fault) {
	case WEFT_FAULT_LOCAL_PROTECTION:
		return WEFT_FAULT_LOCAL_KEY + cause - WEFT_BLAME_KEY;
	case WEFT_FAULT_REMOTE_ACCESS:
		return WEFT_FAULT_REMOTE_KEY + cause - WEFT_BLAME_KEY;
	case WEFT_FAULT_RECV_PROTECTION:
		return WEFT_FAULT_RECV_KEY + cause - WEFT_BLAME_KEY;
	case WEFT_FAULT_IMMEDIATE_ACCESS:
		return WEFT_FAULT_IMMEDIATE_KEY + cause - WEFT_BLAME_KEY;
	default:
		return fault;
	}
}

static enum weft_fault blame_memory(struct weft_why_entry *entry, const struct weft_accessor *who,
				    const struct weft_sge *sge, u32 access, enum weft_fault fault)
{
	struct weft_blame blame;

	weft_blame_access(who, sge->lkey, sge->addr, sge->length, access, &blame);
	if (!blame.cause)
		return fault;
	entry->record.key = sge->lkey;
	entry->record.addr = sge->addr;
	entry->record.length = sge->length;
	entry->record.access = access;
	weft_why_region(entry, &blame);
	return blame_detail(fault, blame.cause);
}

/* The first element that may not be accessed. @end: bytes of the list that the message uses. */
static enum weft_fault blame_list(struct weft_why_entry *entry, const struct weft_accessor *who,
				  const struct weft_sge *list, u32 num, u64 end, u32 access,
				  enum weft_fault fault)
{
	enum weft_fault detail = fault;
	struct weft_sge sge;
	u32 i;

	for (i = 0; i < num && end && detail == fault; i++) {
		sge = list[i];
		sge.length = min_t(u64, sge.length, end);
		end -= sge.length;
		detail = blame_memory(entry, who, &sge, access, fault);
	}
	return detail;
}

/*
 * The peer of a connected QP, with a reference, or NULL: it is on another host, or does not exist.
 * The send turn of @qp is owned.
 */
static struct weft_qp *blame_peer(struct weft_qp *qp)
{
	struct weft_qp *peer = weft_av_target(&qp->av) ? weft_qp_get(qp->dest_qpn) : NULL;

	if (!peer || peer->type == qp->peer_type)
		return peer;
	weft_qp_put(peer);
	return NULL;
}

/* The QP whose messages @peer takes, or took last if it is a DC target. */
static u32 blame_peer_of(const struct weft_qp *peer)
{
	return peer->dc ? READ_ONCE(peer->dc->initiator) : READ_ONCE(peer->dest_qpn);
}

static bool blame_path_matches(const struct weft_qp *qp, const struct weft_qp *peer)
{
	if (qp->av.ib)
		return peer->dev_id == qp->av.target;
	return !memcmp(&peer->av.dgid, &qp->av.sgid, sizeof(qp->av.sgid)) &&
	       !memcmp(&peer->av.sgid, &qp->av.dgid, sizeof(qp->av.dgid));
}

/*
 * A peer that expects a PSN among those sent may have executed the request, and its answer may be
 * lost; but not if it has never executed one.
 */
static bool blame_psn_matches(const struct weft_inflight *inflight, const struct weft_qp *peer)
{
	u32 psn = READ_ONCE(peer->recv.psn);

	return psn == inflight->una ||
	       (READ_ONCE(peer->recv.comm_est) &&
		weft_psn_in_window(psn, inflight->una,
				   ((inflight->sent - inflight->una) & WEFT_PSN_MASK) + 1));
}

/* Why @peer gives no answer, as far as its attributes tell. Nobody stops it, so it may change. */
static enum weft_fault blame_attributes(struct weft_why_record *record, struct weft_qp *qp,
					const struct weft_qp *peer)
{
	record->to = weft_qp_state(peer);
	if (!weft_qp_can_receive(peer))
		return WEFT_FAULT_RETRY_STATE;
	record->got = qp->qpn;
	record->want = qp->dc ? qp->qpn : READ_ONCE(peer->dest_qpn);
	if (record->got != record->want)
		return WEFT_FAULT_RETRY_OTHER_PEER;
	record->got = weft_qp_pkey(qp);
	record->want = weft_qp_pkey(peer);
	if (!weft_pkeys_match(record->got, record->want))
		return WEFT_FAULT_RETRY_PKEY;
	record->got = 0;
	record->want = 0;
	if (qp->dc)
		return WEFT_FAULT_RETRY;
	if (!blame_path_matches(qp, peer))
		return WEFT_FAULT_RETRY_ADDRESS;
	if (blame_psn_matches(&qp->send.inflight, peer))
		return WEFT_FAULT_RETRY;
	record->got = qp->send.inflight.una;
	record->want = READ_ONCE(peer->recv.psn);
	return WEFT_FAULT_RETRY_PSN;
}

/* The retries are used up without an answer. */
static enum weft_fault blame_silence(struct weft_why_record *record, struct weft_qp *qp)
{
	enum weft_fault fault = WEFT_FAULT_RETRY;
	struct weft_qp *peer;

	if (!weft_dev_port_active(qp->dev))
		return WEFT_FAULT_RETRY_PORT;
	if (!weft_av_target(&qp->av))
		return fault;
	peer = blame_peer(qp);
	if (!peer)
		return WEFT_FAULT_RETRY_NO_QP;
	/* a device stays for a grace period after the state of its last QP has become RESET */
	rcu_read_lock();
	if (weft_owner_is_same(&qp->maker, &peer->maker))
		fault = blame_attributes(record, qp, peer);
	rcu_read_unlock();
	weft_qp_put(peer);
	return fault;
}

static enum weft_fault blame_no_receive(struct weft_qp *qp)
{
	struct weft_qp *peer = blame_peer(qp);
	bool srq = peer && weft_owner_is_same(&qp->maker, &peer->maker) &&
		   (READ_ONCE(peer->recv.srq) || peer->type == IB_QPT_XRC_TGT);

	if (peer)
		weft_qp_put(peer);
	return srq ? WEFT_FAULT_RNR_RETRY_SRQ : WEFT_FAULT_RNR_RETRY;
}

/* The reason that the peer has found, if its last refusal fits the NAK @fault. */
static enum weft_fault blame_nak(struct weft_qp *qp, enum weft_fault fault)
{
	struct weft_qp *peer = blame_peer(qp);
	enum weft_fault rule, detail = fault;

	if (!peer)
		return fault;
	rule = READ_ONCE(peer->recv.refused.rule);
	if (rule && blame_peer_of(peer) == qp->qpn &&
	    weft_owner_is_same(&qp->maker, &peer->maker) &&
	    weft_rules_refusal(rule, WEFT_SERVICE_RC)->requester == weft_rules_status(fault))
		detail = READ_ONCE(peer->recv.refused.detail);
	weft_qp_put(peer);
	return detail;
}

static void blame_name(struct weft_why_entry *entry, const struct weft_qp *qp, u32 rule)
{
	weft_inject_name(qp->dev, rule, entry->record.text, sizeof(entry->record.text));
}

/* Name the rule, if one has acted on packets of the QP or of its peer. */
static void blame_rule(struct weft_why_entry *entry, struct weft_qp *qp)
{
	u32 rule = READ_ONCE(qp->seen.rule);
	struct weft_qp *peer;

	if (rule) {
		blame_name(entry, qp, rule);
		return;
	}
	peer = blame_peer(qp);
	if (!peer)
		return;
	rule = READ_ONCE(peer->seen.rule);
	/* as in blame_silence() */
	rcu_read_lock();
	if (rule && weft_qp_state(peer) != IB_QPS_RESET &&
	    weft_owner_is_same(&qp->maker, &peer->maker))
		blame_name(entry, peer, rule);
	rcu_read_unlock();
	weft_qp_put(peer);
}

/* Can what a rule does to packets be why a request fails? */
static bool blame_is_of_packets(enum weft_fault fault)
{
	switch (fault) {
	case WEFT_FAULT_RETRY:
	case WEFT_FAULT_RNR_RETRY:
	case WEFT_FAULT_NAK_REQUEST:
	case WEFT_FAULT_NAK_ACCESS:
	case WEFT_FAULT_NAK_OPERATION:
	case WEFT_FAULT_BAD_RESPONSE:
		return true;
	default:
		return false;
	}
}

static enum weft_fault blame_find(struct weft_why_entry *entry, struct weft_qp *qp,
				  const struct weft_slot *slot, enum weft_fault fault)
{
	const struct weft_swqe *wqe = &slot->wqe;

	switch (fault) {
	case WEFT_FAULT_LOCAL_PROTECTION:
		if (wqe->sqe.flags & WEFT_SQE_INLINE)
			return fault;
		return blame_list(entry, &qp->send.who, wqe->sge, wqe->sqe.num_sge, U64_MAX,
				  weft_opdef_local_access(slot->op), fault);
	case WEFT_FAULT_RETRY:
		return blame_silence(&entry->record, qp);
	case WEFT_FAULT_RNR_RETRY:
		return blame_no_receive(qp);
	case WEFT_FAULT_NAK_REQUEST:
	case WEFT_FAULT_NAK_ACCESS:
	case WEFT_FAULT_NAK_OPERATION:
		return blame_nak(qp, fault);
	default:
		return fault;
	}
}

/*
 * The oldest request fails with @status for the reason @fault: record it. Returns the reason in
 * detail. The send turn is owned.
 */
enum weft_fault weft_blame_request(struct weft_qp *qp, const struct weft_slot *slot,
				   enum ib_wc_status status, enum weft_fault fault)
{
	const struct weft_sqe *sqe = &slot->wqe.sqe;
	struct weft_why_entry entry = {
		.record = {
			.kind = WEFT_WHY_REQUEST,
			.status = status,
			.opcode = sqe->opcode,
			.wr_id = sqe->wr_id,
			.length = slot->psns ? slot->length : 0,
			.peer_qpn = weft_qp_is_ud(qp) ? sqe->ud.remote_qpn : 0,
			.key = slot->op->access ? sqe->rkey : 0,
			.addr = slot->op->access ? sqe->remote_addr : 0,
			.access = slot->op->access,
			.flags = slot->status ? WEFT_WHY_INJECTED : 0,
		},
	};

	weft_assert_turn(&qp->send.turn);
	if (!slot->status && blame_is_of_packets(fault))
		blame_rule(&entry, qp);
	/* there is no other cause than the rule */
	if (slot->status)
		blame_name(&entry, qp, slot->rule);
	else
		fault = blame_find(&entry, qp, slot, fault);
	entry.record.fault = fault;
	weft_why_failure(qp, &entry);
	return fault;
}

/* Memory that the responder could not access: see struct weft_refused. */
static enum weft_fault blame_refused_memory(struct weft_why_entry *entry, struct weft_qp *qp,
					    enum weft_fault fault)
{
	const struct weft_recv *recv = &qp->recv;
	const struct weft_sge sge = {
		.addr = recv->refused.addr,
		.length = min_t(u64, recv->refused.length, U32_MAX),
		.lkey = recv->refused.key,
	};

	switch (fault) {
	case WEFT_FAULT_REMOTE_ACCESS:
	case WEFT_FAULT_IMMEDIATE_ACCESS:
		return blame_memory(entry, &recv->who, &sge, recv->refused.access, fault);
	case WEFT_FAULT_RECV_PROTECTION:
		return blame_list(entry, &recv->taker, recv->wqe.sge, recv->wqe.num_sge,
				  recv->refused.length, IB_ACCESS_LOCAL_WRITE, fault);
	case WEFT_FAULT_RECV_LENGTH:
		entry->record.got = recv->refused.length;
		entry->record.want = recv->held ? recv->wqe.length : 0;
		return fault;
	case WEFT_FAULT_NOT_ENABLED:
		entry->record.want = qp->access;
		return fault;
	default:
		return fault;
	}
}

/*
 * The responder refuses or drops a message for the reason @fault: record it, and keep it for the
 * requester. Returns the reason in detail. The receive turn is owned.
 */
enum weft_fault weft_blame_refusal(struct weft_qp *qp, enum weft_fault fault)
{
	struct weft_refused *refused = &qp->recv.refused;
	bool injected = fault == WEFT_FAULT_INJECTED;
	u32 rule = injected ? qp->recv.injected.rule : READ_ONCE(qp->seen.rule);
	struct weft_why_entry entry = {
		.record = {
			.kind = WEFT_WHY_REFUSAL,
			.key = refused->key,
			.addr = refused->addr,
			.length = refused->length,
			.access = refused->access,
			.peer_qpn = qp->dc ? qp->dc->initiator : refused->src_qpn,
		},
	};

	weft_assert_turn(&qp->recv.turn);
	entry.record.fault = injected ? qp->recv.injected.fault :
					blame_refused_memory(&entry, qp, fault);
	if (injected)
		entry.record.flags = WEFT_WHY_INJECTED;
	if (rule)
		blame_name(&entry, qp, rule);
	*refused = (struct weft_refused){ .rule = fault, .detail = entry.record.fault };
	weft_why_failure(qp, &entry);
	return entry.record.fault;
}

/* The Q_Key of a datagram from QP number @src_qpn is wrong. */
void weft_blame_datagram(struct weft_qp *qp, u32 src_qpn, u32 got, u32 want)
{
	struct weft_why_entry entry = {
		.record = {
			.kind = WEFT_WHY_REFUSAL,
			.fault = WEFT_FAULT_QKEY,
			.peer_qpn = src_qpn,
			.got = got,
			.want = want,
		},
	};

	weft_why_failure(qp, &entry);
}
