// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/ib_port.h"

#include <linux/ipv6.h>
#include <rdma/ib_addr.h>

#include "engine/ipcsum.h"
#include "engine/pkt.h"
#include "engine/port.h"
#include "engine/rx.h"
#include "link/steer.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/qp.h"
#include "object/table.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/opcode.h"

#define IB_GSI_QPN	1
/* The virtual lane of subnet management. */
#define IB_VL_SMI	15

static const struct weft_wire_grh *ib_wire_grh(const struct weft_pkt *pkt)
{
	return (const void *)skb_network_header(pkt->skb) + sizeof(struct weft_wire_lrh);
}

/* ib_pull_headers() has checked LRH and GRH. */
static void ib_addresses(struct weft_pkt *pkt)
{
	pkt->network = RDMA_NETWORK_IB;
	pkt->ifindex = 0;
	weft_lrh_decode(&pkt->lrh, skb_network_header(pkt->skb), WEFT_LRH_LENGTH_MAX);
	pkt->grh = pkt->lrh.lnh == WEFT_LNH_GRH;
	if (!pkt->grh) {
		pkt->sgid = zgid;
		pkt->dgid = zgid;
		return;
	}
	memcpy(&pkt->sgid, ib_wire_grh(pkt)->sgid, sizeof(pkt->sgid));
	memcpy(&pkt->dgid, ib_wire_grh(pkt)->dgid, sizeof(pkt->dgid));
}

/* The bytes are zero without a GRH; IBA leaves them undefined. */
static void ib_grh(const struct weft_pkt *pkt, u8 grh[WEFT_GRH_BYTES])
{
	if (pkt->grh)
		memcpy(grh, ib_wire_grh(pkt), WEFT_GRH_BYTES);
	else
		memset(grh, 0, WEFT_GRH_BYTES);
}

/*
 * A QP number is unique on the host, but the QP must be one of the port that the packet arrived at.
 */
static struct weft_qp *ib_find_qp(const struct weft_pkt *pkt)
{
	struct weft_qp *qp;

	if (pkt->hdr.dqpn <= IB_GSI_QPN)
		return weft_qp_get_special(pkt->dev->id, pkt->hdr.dqpn);
	if (unlikely(rcu_access_pointer(pkt->dev->steering)) && weft_steer_datagram(pkt, &qp))
		return qp;
	qp = weft_qp_get(pkt->hdr.dqpn);
	if (qp && qp->dev_id != pkt->dev->id) {
		weft_qp_put(qp);
		return NULL;
	}
	return qp;
}

/* A packet to a group has a multicast LID and a multicast GID. */
static bool ib_to_group(const struct weft_pkt *pkt)
{
	return pkt->lrh.dlid >= WEFT_LID_MCAST && pkt->grh &&
	       rdma_is_multicast_addr((struct in6_addr *)pkt->dgid.raw);
}

/* The port counts a bad P_Key, and the subnet manager is told (IBA 10.9.4). */
static void ib_bad_pkey(const struct weft_pkt *pkt)
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

	weft_traps_violation(&pkt->dev->hca->traps, WEFT_TRAP_BAD_PKEY, &violation);
}

/*
 * QP 0 has no P_Key, QP 1 accepts all of the port's, other QPs their own (IBA 10.9). For a packet
 * to a group this checks the port's; ib_member_pkey_valid() checks each member's.
 */
static bool ib_pkey_valid(const struct weft_pkt *pkt)
{
	const struct weft_ibport *port = &pkt->dev->hca->port;
	bool valid;

	if (!pkt->qp || pkt->qp->type == IB_QPT_GSI)
		valid = weft_ibport_find_pkey(port, pkt->hdr.pkey) >= 0;
	else /* racy while it is modified, and then either answer is right */
		valid = pkt->qp->type == IB_QPT_SMI ||
			weft_pkeys_match(weft_qp_pkey(pkt->qp), pkt->hdr.pkey);
	if (unlikely(!valid))
		ib_bad_pkey(pkt);
	return valid;
}

/* ib_is_addressed() has checked the LID, and the owner of the turn checks the path. */
static bool ib_addressed(const struct weft_pkt *pkt)
{
	return true;
}

/*
 * VL 15 is for QP 0 only, whose packets may have the permissive LID. A packet with a multicast LID
 * is not for a single QP.
 */
static bool ib_verify(const struct weft_pkt *pkt, enum weft_stat *why)
{
	bool smi = pkt->qp && pkt->qp->type == IB_QPT_SMI;
	bool lane = pkt->lrh.vl == IB_VL_SMI;

	*why = WEFT_STAT_RX_WRONG_ADDRESS;
	if (lane != smi)
		return false;
	if (pkt->lrh.dlid == WEFT_LID_PERMISSIVE)
		return smi;
	return pkt->lrh.dlid < WEFT_LID_MCAST || !pkt->qp;
}

static u32 ib_multicast(const struct weft_pkt *pkt)
{
	return weft_rx_members(pkt->dev, pkt);
}

static bool ib_is_own(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	return weft_ibport_has_lid(&pkt->dev->hca->port, pkt->lrh.slid);
}

/* The port may be in partitions that the member is not in. */
static bool ib_member_pkey_valid(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	return weft_pkeys_match(weft_qp_pkey(qp), pkt->hdr.pkey);
}

static void ib_datagram_info(const struct weft_qp *qp, const struct weft_pkt *pkt,
			     const struct weft_iter *payload, struct weft_request *req)
{
	const struct weft_ibport *port = &qp->dev->hca->port;

	req->slid = pkt->lrh.slid;
	req->dlid = pkt->lrh.dlid;
	req->sl = pkt->lrh.sl;
	if (pkt->lrh.dlid < WEFT_LID_MCAST)
		req->path_bits = pkt->lrh.dlid & (BIT(READ_ONCE(port->lmc)) - 1);
	/* the table may have changed since ib_pkey_valid() */
	if (qp->type == IB_QPT_GSI)
		req->pkey_index = max(weft_ibport_find_pkey(port, pkt->hdr.pkey), 0);
	if (qp->type == IB_QPT_UD)
		req->ip_csum_ok = weft_ipcsum_verify(*payload, req->length);
}

static u8 ib_service_level(const struct weft_qp *qp, const struct weft_request *req)
{
	return req->sl;
}

/* The port counts a bad Q_Key, and the subnet manager is told (IBA 10.2.5). */
static void ib_bad_qkey(struct weft_qp *qp, const struct weft_request *req, u32 qkey)
{
	const struct weft_wire_grh *grh = req->grh;
	const struct weft_violation violation = {
		.slid = req->slid,
		.dlid = req->dlid,
		.sl = req->sl,
		.key = qkey,
		.sqpn = req->src_qpn,
		.dqpn = qp->qpn,
		.sgid = req->has_grh ? grh->sgid : NULL,
		.dgid = req->has_grh ? grh->dgid : NULL,
	};

	weft_traps_violation(&qp->dev->hca->traps, WEFT_TRAP_BAD_QKEY, &violation);
}

const struct weft_port_ops weft_port_ib = {
	.addresses = ib_addresses,
	.grh = ib_grh,
	.find_qp = ib_find_qp,
	.to_group = ib_to_group,
	.pkey_valid = ib_pkey_valid,
	.addressed = ib_addressed,
	.verify = ib_verify,
	.multicast = ib_multicast,
	.is_own = ib_is_own,
	.member_pkey_valid = ib_member_pkey_valid,
	.datagram = ib_datagram_info,
	.service_level = ib_service_level,
	.bad_qkey = ib_bad_qkey,
};
