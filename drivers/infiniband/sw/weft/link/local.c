// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/local.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <linux/udp.h>
#include <net/net_namespace.h>
#include <rdma/ib_pack.h>

#include "engine/migration.h"
#include "engine/odp.h"
#include "engine/sendq.h"
#include "fabric/fabric.h"
#include "fabric/notice.h"
#include "object/ah.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/mcast.h"
#include "object/qp.h"
#include "object/reach.h"
#include "object/table.h"
#include "pause.h"
#include "stats.h"
#include "wire/codec.h"
#include "wire/psn.h"

/* Whether a long copy should be given up: somebody wants to stop a half. */
static bool local_stopping(const struct weft_qp *qp, const struct weft_qp *peer)
{
	return weft_turn_stopping(&qp->send.turn) ||
	       weft_turn_stopping(&peer->recv.turn) ||
	       fatal_signal_pending(current);
}

static void local_copy(struct weft_qp *qp, struct weft_qp *peer, u8 opcode, u64 length)
{
	if (opcode == WEFT_SQE_READ)
		weft_message_fetch(peer, &qp->send.iter, length);
	else
		weft_message_place(peer, &qp->send.iter, length);
}

/*
 * With paged memory on either side the lists end where its pages do, and the message goes
 * on from there when the next ones are pinned. Both halves remember how far it has come:
 * if one of them is reset meanwhile, the other must not go on with half a message.
 *
 * Return: false when given up halfway.
 */
static noinline bool local_move_long(struct weft_qp *qp, struct weft_qp *peer,
				     const struct weft_request *req)
{
	u64 window = min(weft_iter_left(&qp->send.iter), weft_iter_left(&peer->recv.iter));
	u64 end = min_t(u64, req->length, qp->send.done + window);
	u64 done = qp->send.done, length;

	weft_sendq_disarm(qp);
	for (;;) {
		length = min_t(u64, end - done, WEFT_COPY_CHUNK);
		local_copy(qp, peer, req->opcode, length);
		done += length;
		if (done == req->length)
			return true;
		if (done == end) {
			qp->send.done = done;
			peer->recv.done = done;
			return false;
		}
		if (local_stopping(qp, peer))
			return false;
		cond_resched();
	}
}

/* Return: false when given up halfway. */
static bool local_move(struct weft_qp *qp, struct weft_qp *peer,
		       const struct weft_request *req)
{
	u32 left = req->length - qp->send.done;

	/* so much is always pinned */
	BUILD_BUG_ON(WEFT_ODP_CHUNK < WEFT_COPY_CHUNK);
	if (unlikely(left > WEFT_COPY_CHUNK))
		return local_move_long(qp, peer, req);
	local_copy(qp, peer, req->opcode, left);
	return true;
}

static noinline void local_atomic(struct weft_qp *qp, struct weft_qp *peer,
				  const struct weft_request *req)
{
	u64 before = weft_message_atomic(peer, req);
	struct weft_span span = { .addr = (uintptr_t)&before, .length = sizeof(before) };
	struct weft_iter from;

	weft_span_iter(&span, &from);
	weft_copy(&qp->send.iter, &from, sizeof(before));
}

/* Return: false when given up halfway. */
static bool local_flush(struct weft_qp *qp, struct weft_qp *peer,
			const struct weft_request *req)
{
	while (weft_message_write_back(peer, req)) {
		if (local_stopping(qp, peer))
			return false;
		cond_resched();
	}
	return true;
}

/* Return: false when given up halfway. */
static bool local_execute(struct weft_qp *qp, struct weft_qp *peer,
			  const struct weft_request *req)
{
	if (likely(req->opcode <= WEFT_SQE_READ))
		return local_move(qp, peer, req);
	switch (req->opcode) {
	case WEFT_SQE_CMP_SWP:
	case WEFT_SQE_FETCH_ADD:
	case WEFT_SQE_MASKED_CMP_SWP:
	case WEFT_SQE_MASKED_FETCH_ADD:
		local_atomic(qp, peer, req);
		return true;
	case WEFT_SQE_ATOMIC_WRITE:
		weft_message_atomic_write(peer, &qp->send.iter);
		return true;
	default:
		return local_flush(qp, peer, req);
	}
}

/* Put the responder's verdict into the terms of the requester. */
static void local_refuse(struct weft_qp *peer, enum weft_fault fault,
			 struct weft_answer *answer)
{
	const struct weft_verdict *verdict = weft_message_refuse(peer, fault);

	switch (verdict->reply) {
	case WEFT_REPLY_RNR:
		answer->outcome = WEFT_OUTCOME_RNR;
		answer->rnr_timer = peer->recv.rnr_timer;
		break;
	case WEFT_REPLY_NAK:
		answer->outcome = WEFT_OUTCOME_REFUSED;
		answer->status = verdict->requester;
		answer->fault = fault;
		break;
	case WEFT_REPLY_NONE:
		answer->outcome = WEFT_OUTCOME_DONE;
		break;
	}
}

/*
 * Go on with the next window. A peer that has been reset knows nothing of the ones
 * before: then it all begins anew, with other pages of ours.
 */
static enum weft_fault local_resume(struct weft_qp *qp, struct weft_qp *peer,
				    const struct weft_request *req)
{
	u32 done = qp->send.done;

	if (done != peer->recv.done) {
		qp->send.done = 0;
		weft_turn_post(&qp->send.turn, WEFT_EV_RUN);
		return WEFT_FAULT_PAGES;
	}
	weft_iter_skip(&qp->send.iter, done);
	return weft_message_resume(peer, req, done, req->length - done);
}

static enum weft_fault local_open(struct weft_qp *qp, struct weft_qp *peer,
				  const struct weft_request *req)
{
	if (likely(!qp->send.done))
		return weft_message_begin(peer, req);
	return local_resume(qp, peer, req);
}

/* With the peer's receive turn: from begin to end. */
static void local_deliver(struct weft_qp *qp, struct weft_qp *peer,
			  const struct weft_request *req, struct weft_answer *answer)
{
	enum weft_fault fault = weft_message_enter(peer, req->srqn);

	if (!fault)
		fault = local_open(qp, peer, req);
	if (unlikely(fault == WEFT_FAULT_PAGES)) {
		weft_odp_wait(&peer->recv, qp);
		answer->outcome = WEFT_OUTCOME_STALLED;
		return;
	}
	if (unlikely(fault)) {
		local_refuse(peer, fault, answer);
		return;
	}
	if (unlikely(!local_execute(qp, peer, req))) {
		weft_message_pause(peer);
		answer->outcome = WEFT_OUTCOME_STOPPED;
		return;
	}
	fault = weft_message_end(peer, req);
	if (unlikely(fault))
		local_refuse(peer, fault, answer);
	else
		answer->outcome = WEFT_OUTCOME_DONE;
}

/* What there is to tell of a message that is refused, as if it were a packet. */
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

/* What the switch between the two lets pass, as if it were a packet. */
static bool local_passes(const struct weft_qp *qp, const struct weft_qp *peer, u16 pkey)
{
	u8 filter;

	/* there is nothing between them */
	if (qp->av.fabric != peer->av.fabric)
		return false;
	filter = weft_fabric_filter(qp->av.port, peer->av.port, pkey);
	if (unlikely(filter))
		local_filtered(qp, peer, pkey, filter);
	return !filter;
}

/* The peer's port counts it, and the subnet manager is told. */
static noinline void local_bad_pkey(const struct weft_qp *qp, struct weft_qp *peer, u16 pkey)
{
	const struct weft_violation violation = local_violation(qp, pkey);

	weft_traps_violation(&peer->dev->hca->traps, WEFT_TRAP_BAD_PKEY, &violation);
	weft_stats_inc(peer, WEFT_STAT_RX_PKEY);
}

/* RoCE has but one. Whose LID is not the one that is meant has nothing to do with it. */
static bool local_partition(const struct weft_qp *qp, struct weft_qp *peer)
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
 * Is the peer there, and are we connected with each other, by number and by
 * address? Its receive turn is owned.
 */
static enum weft_path_verdict local_connected(struct weft_qp *qp, struct weft_qp *peer)
{
	if (unlikely(!weft_qp_can_receive(peer) || !weft_dev_port_active(peer->dev) ||
		     peer->dest_qpn != qp->qpn || !local_partition(qp, peer)))
		return WEFT_PATH_NO;
	return weft_migration_meeting(qp, peer);
}

/*
 * A reliable message must come at the expected PSN; a new unreliable one sets
 * it: UC resynchronises at the first packet of a message (IBA 9.8.3).
 */
static bool local_psn_expected(const struct weft_qp *qp, struct weft_qp *peer)
{
	if (qp->type == IB_QPT_UC)
		peer->recv.psn = qp->send.psn;
	return peer->recv.psn == qp->send.psn;
}

static void local_advance(struct weft_qp *qp, struct weft_qp *peer, u32 length)
{
	u32 count = weft_rules_psn_count(length, qp->mtu);

	qp->send.done = 0;
	qp->send.psn = weft_psn_add(qp->send.psn, count);
	if (peer) {
		peer->recv.psn = weft_psn_add(peer->recv.psn, count);
		peer->recv.msn = weft_psn_add(peer->recv.msn, 1);
	}
}

static struct weft_qp *local_peer(struct weft_qp *qp)
{
	struct weft_qp *peer;

	if (!weft_av_target(&qp->av) || !weft_dev_port_active(qp->dev))
		return NULL;
	peer = weft_qp_get(qp->dest_qpn);
	if (!peer)
		return NULL;
	if (peer->type == qp->peer_type)
		return peer;
	weft_qp_put(peer);
	return NULL;
}

/* The peer's receive turn, for a message that is done without a break if @atomic. */
static bool local_own(struct weft_qp *peer, const struct weft_request *req, bool atomic)
{
	if (!atomic)
		return !weft_turn_own(&peer->recv.turn);
	return req->length <= WEFT_COPY_CHUNK && req->opcode != WEFT_SQE_FLUSH &&
	       weft_turn_try(&peer->recv.turn);
}

static void local_connected_message(struct weft_qp *qp, const struct weft_request *req,
				    const struct weft_sgl *sgl, bool atomic,
				    struct weft_answer *answer)
{
	struct weft_qp *peer = local_peer(qp);
	enum weft_path_verdict verdict;

	weft_assert_turn(&qp->send.turn);
	answer->outcome = WEFT_OUTCOME_LOST;
	if (!peer)
		goto out;
	weft_pause(WEFT_PAUSE_LOCAL_PEER);
	if (!local_own(peer, req, atomic)) {
		answer->outcome = WEFT_OUTCOME_STOPPED;
		goto out_put_peer;
	}
	weft_pause(WEFT_PAUSE_LOCAL_OWNED);
	verdict = local_connected(qp, peer);
	if (unlikely(verdict == WEFT_PATH_LATER)) {
		weft_odp_wait(&peer->recv, qp);
		answer->outcome = WEFT_OUTCOME_STALLED;
	} else if (verdict == WEFT_PATH_YES && local_psn_expected(qp, peer)) {
		weft_sgl_iter(sgl, &qp->send.iter);
		local_deliver(qp, peer, req, answer);
		weft_message_leave(peer);
		if (answer->outcome == WEFT_OUTCOME_DONE)
			local_advance(qp, peer, req->length);
	}
	weft_turn_release(&peer->recv.turn);
out_put_peer:
	weft_qp_put(peer);
out:
	/* nobody answers on an unreliable connection */
	if (qp->type == IB_QPT_UC && answer->outcome == WEFT_OUTCOME_LOST) {
		local_advance(qp, NULL, req->length);
		answer->outcome = WEFT_OUTCOME_DONE;
	}
}

/* BTH, DETH, immediate data, payload, pad and ICRC of a datagram. */
static u32 local_datagram_length(const struct weft_request *req)
{
	u32 immediate = req->opcode == WEFT_SQE_SEND_IMM ? 4 : 0;

	return 12 + 8 + immediate + ALIGN(req->length, 4) + 4;
}

/* What a receiver on RoCE finds in its first 40 bytes (IBA A17.4.5). */
static void local_roce_grh(const struct weft_av *av, u32 length, u8 grh[WEFT_GRH_BYTES])
{
	const struct in6_addr *sgid = (const struct in6_addr *)av->sgid.raw;
	const struct in6_addr *dgid = (const struct in6_addr *)av->dgid.raw;
	struct ipv6hdr *ip6 = (struct ipv6hdr *)grh;
	struct iphdr *ip = (struct iphdr *)(grh + 20);

	memset(grh, 0, WEFT_GRH_BYTES);
	if (ipv6_addr_v4mapped(sgid)) {
		ip->version = 4;
		ip->ihl = 5;
		ip->tos = av->traffic_class;
		ip->tot_len = cpu_to_be16(length + sizeof(*ip));
		ip->frag_off = cpu_to_be16(IP_DF);
		ip->ttl = av->hop_limit ?: IPDEFTTL;
		ip->protocol = IPPROTO_UDP;
		ip->saddr = sgid->s6_addr32[3];
		ip->daddr = dgid->s6_addr32[3];
		ip->check = ip_fast_csum((u8 *)ip, ip->ihl);
	} else {
		ip6_flow_hdr(ip6, av->traffic_class, cpu_to_be32(av->flow_label));
		ip6->payload_len = cpu_to_be16(length);
		ip6->nexthdr = IPPROTO_UDP;
		ip6->hop_limit = av->hop_limit ?: IPDEFTTL;
		ip6->saddr = *sgid;
		ip6->daddr = *dgid;
	}
}

/* What a receiver on InfiniBand finds there. */
static void local_ib_grh(const struct weft_av *av, u32 length, u8 grh[WEFT_GRH_BYTES])
{
	struct weft_grh header = {
		.flow_label = av->flow_label,
		.length = length,
		.tclass = av->traffic_class,
		.hop_limit = av->hop_limit,
	};

	memcpy(header.sgid, &av->sgid, sizeof(header.sgid));
	memcpy(header.dgid, &av->dgid, sizeof(header.dgid));
	weft_grh_encode(grh, &header);
}

/*
 * Does a datagram get to @peer by the switches, and through its filters and into the
 * partition? If not it has to go as a packet, which is counted, and told, where it ends.
 */
static bool local_ib_reaches(const struct weft_datagram *dgram, const struct weft_qp *peer)
{
	const struct weft_av *av = dgram->av;
	const struct weft_ibport *port;

	if (!weft_qp_can_receive(peer) || peer->dev_id != av->target ||
	    !weft_dev_port_active(peer->dev))
		return false;
	port = &peer->dev->hca->port;
	return (port == av->port || weft_fabric_leads(av->fabric, av->dlid, port)) &&
	       !weft_fabric_filter(av->port, port, dgram->pkey) &&
	       weft_pkeys_match(dgram->pkey, weft_qp_pkey(peer));
}

static u8 local_path_bits(const struct weft_av *av, const struct weft_qp *peer)
{
	return av->dlid & (BIT(READ_ONCE(peer->dev->hca->port.lmc)) - 1);
}

/* The receive turn is owned. WEFT_FAULT_PAGES: or else it has to go as a packet. */
static enum weft_fault local_place(struct weft_qp *peer, struct weft_datagram *dgram,
				   const struct weft_sgl *sgl)
{
	const struct weft_av *av = dgram->av;
	struct weft_iter from;

	if (av->ib) {
		if (!local_ib_reaches(dgram, peer))
			return WEFT_FAULT_PAGES;
		dgram->req.path_bits = local_path_bits(av, peer);
	} else if (peer->type == IB_QPT_GSI && weft_qp_can_receive(peer)) {
		/* while it can receive, and its turn is ours, it has its device */
		dgram->req.vlan_id = weft_dev_gid_vlan(peer->dev, av->net, &av->dgid,
						       av->ifindex);
	}
	weft_sgl_iter(sgl, &from);
	return weft_message_datagram(peer, &dgram->req, dgram->qkey, &from);
}

/*
 * One copy of a datagram into one QP, or nothing: it is unreliable. A receiver that has
 * to wait for paged memory must not keep the sender waiting: it is STALLED then.
 */
static bool local_datagram(struct weft_qp *peer, struct weft_datagram *dgram,
			   const struct weft_sgl *sgl, struct weft_answer *answer)
{
	enum weft_fault fault;

	weft_pause(WEFT_PAUSE_LOCAL_UD_PEER);
	if (weft_turn_own(&peer->recv.turn)) {
		answer->outcome = WEFT_OUTCOME_STOPPED;
		return false;
	}
	weft_pause(WEFT_PAUSE_LOCAL_UD_OWNED);
	fault = local_place(peer, dgram, sgl);
	weft_turn_release(&peer->recv.turn);
	if (unlikely(fault == WEFT_FAULT_PAGES))
		answer->outcome = WEFT_OUTCOME_STALLED;
	return !fault;
}

static void local_multicast_on(struct weft_qp *qp, struct weft_dev *dev,
			       struct weft_datagram *dgram,
			       const struct weft_sgl *sgl, struct weft_answer *answer)
{
	struct weft_mcast_members *members;
	u32 i;

	members = weft_mcast_members_get(&dev->mcast, &dgram->av->dgid);
	if (!members)
		return;
	weft_pause(WEFT_PAUSE_LOCAL_MCAST_MEMBERS);
	for (i = 0; i < members->num; i++) {
		struct weft_qp *peer = members->qp[i];

		if (peer == qp && qp->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
			continue;
		if (local_datagram(peer, dgram, sgl, answer))
			weft_stats_inc(dev, WEFT_STAT_MCAST_COPIES);
	}
	weft_mcast_members_put(members);
}

/*
 * The next device that hears our own net device, or @net's one at @ifindex, which the
 * datagram leaves by: a bridge, perhaps, whose other ports have devices, too.
 */
static struct weft_dev *local_next_dev(const struct weft_qp *qp, struct net *net, int ifindex,
				       u32 *id)
{
	const struct net_device *out = net ? dev_get_by_index_rcu(net, ifindex) : NULL;
	u32 next = *id;
	struct weft_dev *dev = weft_reach_next(qp->dev->ndev, id);
	struct weft_dev *other = out ? weft_reach_next(out, &next) : NULL;

	if (!other || (dev && dev->id < other->id))
		return dev;
	*id = next;
	return other;
}

/* To each device that shares the link. */
static void local_multicast(struct weft_qp *qp, struct weft_datagram *dgram,
			    const struct weft_sgl *sgl, struct weft_answer *answer)
{
	struct net *net = weft_av_source_net(dgram->av, qp->dev);
	struct weft_dev *dev;
	u32 id = 0;

	for (;;) {
		rcu_read_lock();
		dev = local_next_dev(qp, net, dgram->av->ifindex, &id);
		if (dev && !ib_device_try_get(&dev->ibdev))
			dev = ERR_PTR(-ENODEV);
		rcu_read_unlock();
		if (!dev)
			break;
		if (IS_ERR(dev))
			continue;
		weft_pause(WEFT_PAUSE_LOCAL_MCAST_DEV);
		local_multicast_on(qp, dev, dgram, sgl, answer);
		ib_device_put(&dev->ibdev);
	}
	if (net)
		put_net(net);
}

/* Devices on one net device have the same addresses; the target is one. */
static bool local_ud_reaches(const struct weft_av *av, const struct weft_qp *peer)
{
	return peer->dev_id == av->target ||
	       weft_dev_has_gid(peer->dev_id, av->net, &av->dgid, av->ifindex);
}

static struct weft_qp *local_ud_peer(const struct weft_av *av, u32 qpn)
{
	struct weft_qp *peer;

	peer = qpn == 1 ? weft_qp_get_special(av->target, qpn) : weft_qp_get(qpn);
	if (!peer)
		return NULL;
	if (weft_qp_is_ud(peer) && weft_qp_can_receive(peer) && local_ud_reaches(av, peer))
		return peer;
	weft_qp_put(peer);
	return NULL;
}

static void local_roce_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
				const struct weft_sgl *sgl, struct weft_answer *answer)
{
	const struct weft_av *av = dgram->av;
	struct weft_request *req = &dgram->req;
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	struct weft_qp *peer;

	local_roce_grh(av, sizeof(struct udphdr) + local_datagram_length(req), grh);
	req->grh = grh;
	req->has_grh = true;
	req->network_hdr_type = ipv6_addr_v4mapped((struct in6_addr *)av->sgid.raw) ?
				RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (av->multicast && dgram->qpn == WEFT_MCAST_QPN) {
		local_multicast(qp, dgram, sgl, answer);
		/*
		 * Who has no pages for it has not got it, nor who was busy when our task was
		 * killed: others would get it twice.
		 */
		if (answer->outcome == WEFT_OUTCOME_STALLED ||
		    answer->outcome == WEFT_OUTCOME_STOPPED)
			answer->outcome = WEFT_OUTCOME_DONE;
		return;
	}
	peer = local_ud_peer(av, dgram->qpn);
	if (!peer) {
		weft_stats_inc(qp, WEFT_STAT_UD_DROPPED_NO_QP);
		return;
	}
	local_datagram(peer, dgram, sgl, answer);
	weft_qp_put(peer);
}

/* Management is always in packets, which are counted. */
static void local_ib_datagram(struct weft_datagram *dgram, const struct weft_sgl *sgl,
			      struct weft_answer *answer)
{
	const struct weft_av *av = dgram->av;
	struct weft_request *req = &dgram->req;
	u8 grh[WEFT_GRH_BYTES] __aligned(8) = {};
	struct weft_qp *peer = weft_qp_get(dgram->qpn);

	if (!peer || peer->type != IB_QPT_UD) {
		answer->outcome = WEFT_OUTCOME_STALLED;
		goto out;
	}
	if (av->grh)
		local_ib_grh(av, local_datagram_length(req), grh);
	req->grh = grh;
	req->has_grh = av->grh;
	req->network_hdr_type = RDMA_NETWORK_IB;
	req->slid = weft_av_source_lid(av);
	req->dlid = av->dlid;
	local_datagram(peer, dgram, sgl, answer);
out:
	if (peer)
		weft_qp_put(peer);
}

static void local_datagram_message(struct weft_qp *qp, struct weft_datagram *dgram,
				   const struct weft_sgl *sgl, struct weft_answer *answer)
{
	weft_assert_turn(&qp->send.turn);
	dgram->req.src_qpn = qp->src_qpn;
	dgram->req.sl = dgram->av->sl;
	if (dgram->av->ib)
		local_ib_datagram(dgram, sgl, answer);
	else
		local_roce_datagram(qp, dgram, sgl, answer);
}

const struct weft_link weft_link_local = {
	.message = local_connected_message,
	.datagram = local_datagram_message,
};
