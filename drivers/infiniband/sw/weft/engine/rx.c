// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/rx.h"

#include <linux/skbuff.h>
#include <rdma/ib_addr.h>

#include "engine/completer.h"
#include "engine/drop.h"
#include "engine/responder.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/mcast.h"
#include "object/qp.h"
#include "object/reach.h"
#include "object/table.h"
#include "pause.h"
#include "wire/opcode.h"

#define RX_GSI_QPN	1
/* The upper bit of a P_Key says full or limited member. */
#define RX_PKEY_BASE	0x7fff

/* No device can be found by a QP: one that has the address, or hears the group. */
static struct weft_dev *rx_any_dev(const struct weft_pkt *pkt)
{
	u32 id = 0;

	if (rdma_is_multicast_addr((struct in6_addr *)pkt->dgid.raw))
		return weft_reach_next(pkt->skb->dev, &id);
	return weft_dev_get_gid(pkt->net, &pkt->dgid, pkt->ifindex);
}

static bool rx_refuse(struct weft_pkt *pkt, enum weft_stat why)
{
	struct weft_dev *dev = pkt->dev;

	if (!dev)
		dev = rx_any_dev(pkt);
	if (dev)
		weft_stats_drop(dev, &pkt->hdr, why);
	else
		trace_weft_drop(&pkt->hdr, why);
	if (pkt->qp)
		weft_qp_put(pkt->qp);
	pkt->qp = NULL;
	return false;
}

void weft_rx_dismiss(struct weft_pkt *pkt, enum weft_stat why)
{
	pkt->hdr = (struct weft_hdr){};
	weft_pkt_addresses(pkt);
	rx_refuse(pkt, why);
}

void weft_rx_drop(struct weft_pkt *pkt, enum weft_stat why)
{
	rx_refuse(pkt, why);
	weft_pkt_free(pkt);
}

/* A responder answers a request of a known service, however strange. */
static bool rx_has_answer(const struct weft_pkt *pkt)
{
	const struct weft_opcode *op = weft_opcode(pkt->hdr.opcode);

	return (pkt->malformed == WEFT_MALFORMED_OPCODE ||
		pkt->malformed == WEFT_MALFORMED_PAYLOAD) &&
	       (op->transport == WEFT_TRANSPORT_RC || op->transport == WEFT_TRANSPORT_XRC) &&
	       !(op->flags & WEFT_OPCODE_RESPONSE);
}

static bool rx_service_matches(const struct weft_qp *qp, u8 opcode)
{
	const struct weft_opcode *op = weft_opcode(opcode);
	bool response;

	if (op->transport != qp->transport)
		return false;
	if (qp->transport != WEFT_TRANSPORT_XRC)
		return true;
	/* requests go one way, responses the other */
	response = op->flags & WEFT_OPCODE_RESPONSE;
	return response == (qp->type == IB_QPT_XRC_INI);
}

/*
 * The owner of the half's turn checks the rest of a connected QP's path. A QP whose peer is reached
 * by the local link has no use for packets: any process of this host could have sent them, from
 * the address that both ends have.
 */
static bool rx_address_matches(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	/* the link has looked at the LID */
	if (pkt->network == RDMA_NETWORK_IB)
		return true;
	if (weft_qp_is_ud(qp))
		return weft_dev_has_gid(qp->dev_id, pkt->net, &pkt->dgid, pkt->ifindex);
	/* racy: while it changes either answer is right */
	return READ_ONCE(qp->av.net) == pkt->net && !READ_ONCE(qp->av.local);
}

/* A number is unique on the host, but on InfiniBand one's own port has to have it. */
static struct weft_qp *rx_find_qp(struct weft_pkt *pkt)
{
	struct weft_dev *dev = pkt->dev;
	struct weft_qp *qp;

	if (dev && pkt->hdr.dqpn <= RX_GSI_QPN)
		return weft_qp_get_special(dev->id, pkt->hdr.dqpn);
	if (pkt->hdr.dqpn == RX_GSI_QPN)
		return weft_qp_get_special(weft_dev_find_gid(pkt->net, &pkt->dgid, pkt->ifindex),
					   RX_GSI_QPN);
	qp = weft_qp_get(pkt->hdr.dqpn);
	if (qp && dev && qp->dev_id != dev->id) {
		weft_qp_put(qp);
		return NULL;
	}
	return qp;
}

/*
 * RoCE has one P_Key. On InfiniBand QP 0 has none, QP 1 takes each of the port's, and
 * all others their own (IBA 10.9).
 */
static bool rx_pkey_matches(const struct weft_pkt *pkt)
{
	const struct weft_hca *hca = pkt->network == RDMA_NETWORK_IB ? pkt->dev->hca : NULL;

	if (!hca)
		return (pkt->hdr.pkey & RX_PKEY_BASE) == (WEFT_DEFAULT_PKEY & RX_PKEY_BASE);
	if (!pkt->qp || pkt->qp->type == IB_QPT_GSI)
		return weft_ibport_find_pkey(&hca->port, pkt->hdr.pkey) >= 0;
	/* racy while it is modified: either answer is right */
	return pkt->qp->type == IB_QPT_SMI ||
	       weft_pkeys_match(weft_qp_pkey(pkt->qp), pkt->hdr.pkey);
}

/* On InfiniBand the port and the subnet manager are interested, too (IBA 10.9.4). */
static bool rx_refuse_pkey(struct weft_pkt *pkt)
{
	bool ud = pkt->hdr.opcode >> 5 == WEFT_TRANSPORT_UD;
	const struct weft_violation violation = {
		.slid = pkt->lrh.slid,
		.dlid = pkt->lrh.dlid,
		.sl = pkt->lrh.sl,
		.key = pkt->hdr.pkey,
		.sqpn = ud ? pkt->hdr.deth.sqpn : 0,
		.dqpn = pkt->hdr.dqpn,
		.sgid = pkt->grh ? pkt->sgid.raw : NULL,
		.dgid = pkt->grh ? pkt->dgid.raw : NULL,
	};

	if (pkt->network == RDMA_NETWORK_IB)
		weft_traps_violation(&pkt->dev->hca->traps, WEFT_TRAP_BAD_PKEY, &violation);
	return rx_refuse(pkt, WEFT_STAT_RX_PKEY);
}

/* To a group: of RoCE by its address, of InfiniBand by its LID and GID. */
static bool rx_is_multicast(const struct weft_pkt *pkt)
{
	if (pkt->network == RDMA_NETWORK_IB && pkt->lrh.dlid < WEFT_LID_MCAST)
		return false;
	return pkt->hdr.opcode >> 5 == WEFT_TRANSPORT_UD && pkt->grh &&
	       rdma_is_multicast_addr((struct in6_addr *)pkt->dgid.raw);
}

bool weft_rx_admit(struct weft_pkt *pkt)
{
	weft_pkt_decode(pkt);
	if (pkt->malformed && !rx_has_answer(pkt))
		return rx_refuse(pkt, WEFT_STAT_RX_MALFORMED);
	if (pkt->hdr.dqpn != WEFT_MCAST_QPN)
		pkt->qp = rx_find_qp(pkt);
	else if (!rx_is_multicast(pkt))
		return rx_refuse(pkt, WEFT_STAT_RX_UNKNOWN_QP);
	if (!rx_pkey_matches(pkt))
		return rx_refuse_pkey(pkt);
	if (pkt->hdr.dqpn == WEFT_MCAST_QPN)
		return true;
	if (!pkt->qp)
		return rx_refuse(pkt, WEFT_STAT_RX_UNKNOWN_QP);
	pkt->dev = pkt->qp->dev;
	if (!rx_service_matches(pkt->qp, pkt->hdr.opcode))
		return rx_refuse(pkt, WEFT_STAT_RX_OPCODE);
	/* the half looks again; here is a device to count on */
	if (!weft_qp_can_receive(pkt->qp))
		return rx_refuse(pkt, WEFT_STAT_RX_NOT_READY);
	if (!rx_address_matches(pkt->qp, pkt))
		return rx_refuse(pkt, WEFT_STAT_RX_WRONG_ADDRESS);
	return true;
}

static void rx_to_half(struct weft_qp *qp, struct weft_pkt *pkt)
{
	if (weft_opcode(pkt->hdr.opcode)->flags & WEFT_OPCODE_RESPONSE)
		weft_completer_packet(qp, pkt);
	else
		weft_responder_packet(qp, pkt);
}

/* Is a QP told what it has sent itself, and does not want to hear? */
static bool rx_is_own(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	if (!(qp->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK) ||
	    qp->src_qpn != pkt->hdr.deth.sqpn)
		return false;
	if (pkt->network == RDMA_NETWORK_IB)
		return weft_ibport_has_lid(&pkt->dev->hca->port, pkt->lrh.slid);
	return weft_dev_has_gid(qp->dev_id, pkt->net, &pkt->sgid, pkt->ifindex);
}

/* A port may be in more partitions than a member: the table of the port was not all. */
static bool rx_is_of_partition(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	return pkt->network != RDMA_NETWORK_IB ||
	       weft_pkeys_match(weft_qp_pkey(qp), pkt->hdr.pkey);
}

/* To each member of its partition but, if it does not want that, the sender. */
static u32 rx_members(struct weft_dev *dev, const struct weft_pkt *pkt)
{
	struct weft_mcast_members *members = weft_mcast_members_get(&dev->mcast, &pkt->dgid);
	struct weft_pkt copy = *pkt;
	u32 i, num = 0;

	if (!members)
		return 0;
	weft_pause(WEFT_PAUSE_RX_MEMBERS);
	for (i = 0; i < members->num; i++) {
		struct weft_qp *qp = members->qp[i];

		num++;
		if (rx_is_own(qp, pkt))
			continue;
		if (!rx_is_of_partition(qp, pkt)) {
			weft_stats_drop(dev, &pkt->hdr, WEFT_STAT_RX_PKEY);
			continue;
		}
		copy.skb = skb_clone(pkt->skb, GFP_ATOMIC | __GFP_NOWARN);
		if (!copy.skb) {
			weft_stats_drop(dev, &pkt->hdr, WEFT_STAT_RX_NO_MEMORY);
			continue; /* it is unreliable */
		}
		weft_stats_inc(dev, WEFT_STAT_MCAST_COPIES);
		weft_responder_packet(qp, &copy);
	}
	weft_mcast_members_put(members);
	return num;
}

static u32 rx_multicast_roce(const struct weft_pkt *pkt)
{
	struct weft_dev *dev;
	u32 id = 0, num = 0;

	while ((dev = weft_reach_next(pkt->skb->dev, &id)))
		num += rx_members(dev, pkt);
	return num;
}

static void rx_multicast(struct weft_pkt *pkt)
{
	u32 num = pkt->network == RDMA_NETWORK_IB ? rx_members(pkt->dev, pkt) :
						    rx_multicast_roce(pkt);

	if (num)
		weft_pkt_free(pkt);
	else
		weft_rx_drop(pkt, WEFT_STAT_RX_UNKNOWN_QP);
}

void weft_rx_deliver(struct weft_pkt *pkt)
{
	struct weft_qp *qp = pkt->qp;

	if (!qp) {
		rx_multicast(pkt);
		return;
	}
	weft_pause(WEFT_PAUSE_RX_PACKET);
	rx_to_half(qp, pkt);
	weft_qp_put(qp);
}
WEFT_EXPORT_FOR_TEST(weft_rx_deliver);
