// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Datagrams of the local link: copied to the receiver, or to all members of a group here. */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_pack.h>

#include "fabric/fabric.h"
#include "link/local.h"
#include "link/local_turn.h"
#include "link/monitor_local.h"
#include "link/steer.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/mcast.h"
#include "object/monitor.h"
#include "object/reach.h"
#include "pause.h"
#include "stats.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/* Bytes from the BTH to the ICRC that a datagram would have as a packet. */
static u32 local_datagram_length(const struct weft_request *req)
{
	u8 opcode = WEFT_OPCODE(WEFT_TRANSPORT_UD, req->op->only);

	return weft_opcode(opcode)->length + ALIGN(req->length, 4) + WEFT_ICRC_LENGTH;
}

/* The first 40 bytes that a receiver on RoCE gets (IBA A17.4.5). */
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

/* The first 40 bytes that a receiver on InfiniBand gets. */
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
 * Would the switches pass a datagram to @peer, and are both in the partition? If not, the datagram
 * is sent as a packet, which is counted, and reported, where it ends. So is one to a device with
 * rules of flow steering, which look at packets.
 */
static bool local_ib_reaches(const struct weft_datagram *dgram, const struct weft_qp *peer)
{
	const struct weft_av *av = dgram->av;
	const struct weft_ibport *port;

	if (!weft_qp_can_receive(peer) || peer->dev_id != av->target ||
	    !weft_dev_port_active(peer->dev))
		return false;
	if (unlikely(rcu_access_pointer(peer->dev->steering)) && weft_steer_has_rules(peer->dev))
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

/* Deliver a datagram to @peer, whose receive turn is owned. */
static enum weft_verdict local_place(struct weft_qp *qp, struct weft_qp *peer,
				     struct weft_datagram *dgram)
{
	const struct weft_av *av = dgram->av;
	struct weft_iter from;

	if (av->ib) {
		if (!local_ib_reaches(dgram, peer))
			return WEFT_AS_PACKETS;
		dgram->req.path_bits = local_path_bits(av, peer);
	} else if (peer->type == IB_QPT_GSI && weft_qp_can_receive(peer)) {
		/* the device exists: the QP can receive, and its turn is owned */
		dgram->req.vlan_id = weft_dev_gid_vlan(peer->dev, av->net, &av->dgid,
						       av->ifindex);
	}
	if (weft_monitor_is_on())
		weft_monitor_datagram(qp, peer, dgram);
	weft_sgl_iter(&qp->send.sgl, &from);
	return weft_message_datagram(peer, &dgram->req, dgram->qkey, &from).verdict;
}

/*
 * Copy a datagram to one QP. A receiver that must wait for ODP memory does not make the sender
 * wait: a packet waits instead.
 */
static enum weft_verdict local_copy_to(struct weft_qp *qp, struct weft_qp *peer,
				       struct weft_datagram *dgram)
{
	bool no_preempt = !weft_local_may_rest(false);
	enum weft_verdict verdict;

	weft_pause(WEFT_PAUSE_LOCAL_UD_PEER);
	if (weft_local_enter(&peer->recv.turn, no_preempt))
		return WEFT_STOPPED;
	weft_pause(WEFT_PAUSE_LOCAL_UD_OWNED);
	verdict = local_place(qp, peer, dgram);
	weft_local_leave(&peer->recv.turn, no_preempt);
	return unlikely(verdict == WEFT_LATER) ? WEFT_AS_PACKETS : verdict;
}

/*
 * Copy a datagram to the group's members on @dev. A member whose pages are missing, or whose turn
 * was busy when the task was killed, does not get it: another try would reach the other members
 * twice.
 */
static void local_multicast_on(struct weft_qp *qp, struct weft_dev *dev,
			       struct weft_datagram *dgram)
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
		if (local_copy_to(qp, peer, dgram) == WEFT_DONE)
			weft_stats_inc(dev, WEFT_STAT_MCAST_COPIES);
		cond_resched();
	}
	weft_mcast_members_put(members);
}

/*
 * The next device that receives multicast from this QP's own net device, or from the one at
 * @ifindex in @net, which the datagram leaves by. That may be a bridge, whose ports have other
 * devices.
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

/* Copy a datagram to the group's members on each device that is reached. */
static void local_multicast(struct weft_qp *qp, struct weft_datagram *dgram)
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
		local_multicast_on(qp, dev, dgram);
		ib_device_put(&dev->ibdev);
	}
	if (net)
		put_net(net);
}

static struct weft_qp *local_ud_peer(const struct weft_av *av, u32 qpn)
{
	struct weft_qp *peer;

	peer = qpn == 1 ? weft_qp_get_special(av->target, qpn) : weft_qp_get(qpn);
	if (!peer)
		return NULL;
	if (weft_qp_is_ud(peer) && weft_qp_can_receive(peer) && weft_local_has_address(av, peer))
		return peer;
	weft_qp_put(peer);
	return NULL;
}

static enum weft_verdict local_roce_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	const struct weft_av *av = dgram->av;
	struct weft_request *req = &dgram->req;
	u8 grh[WEFT_GRH_BYTES] __aligned(8);
	enum weft_verdict verdict;
	struct weft_qp *peer;

	local_roce_grh(av, sizeof(struct udphdr) + local_datagram_length(req), grh);
	req->grh = grh;
	req->has_grh = true;
	req->network_hdr_type = ipv6_addr_v4mapped((struct in6_addr *)av->sgid.raw) ?
				RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (av->multicast && dgram->qpn == WEFT_MCAST_QPN) {
		local_multicast(qp, dgram);
		return WEFT_DONE;
	}
	peer = local_ud_peer(av, dgram->qpn);
	if (!peer) {
		if (weft_monitor_is_on())
			weft_monitor_datagram(qp, NULL, dgram);
		weft_stats_inc(qp, WEFT_STAT_UD_DROPPED_NO_QP);
		return WEFT_DONE;
	}
	verdict = local_copy_to(qp, peer, dgram);
	weft_qp_put(peer);
	return verdict;
}

/*
 * Deliver a datagram to a QP of type UD. Management datagrams are always sent as packets, because
 * ports count them.
 */
static enum weft_verdict local_ib_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	const struct weft_av *av = dgram->av;
	struct weft_request *req = &dgram->req;
	u8 grh[WEFT_GRH_BYTES] __aligned(8) = {};
	enum weft_verdict verdict = WEFT_AS_PACKETS;
	struct weft_qp *peer = weft_qp_get(dgram->qpn);

	if (!peer)
		return WEFT_AS_PACKETS;
	if (peer->type == IB_QPT_UD) {
		if (av->grh)
			local_ib_grh(av, local_datagram_length(req), grh);
		req->grh = grh;
		req->has_grh = av->grh;
		req->network_hdr_type = RDMA_NETWORK_IB;
		req->slid = weft_av_source_lid(av);
		req->dlid = av->dlid;
		verdict = local_copy_to(qp, peer, dgram);
	}
	weft_qp_put(peer);
	return verdict;
}

/* weft_link.datagram for an address handle of this host. */
enum weft_verdict weft_local_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	enum weft_verdict verdict;

	weft_assert_turn(&qp->send.turn);
	dgram->req.src_qpn = qp->src_qpn;
	dgram->req.sl = dgram->av->sl;
	dgram->req.vlan_id = WEFT_VLAN_NONE;
	verdict = dgram->av->ib ? local_ib_datagram(qp, dgram) : local_roce_datagram(qp, dgram);
	/* a receiver in the wrong state drops the datagram */
	return verdict == WEFT_DROP ? WEFT_DONE : verdict;
}
