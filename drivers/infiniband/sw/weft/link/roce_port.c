// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "link/roce_port.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "engine/pkt.h"
#include "engine/port.h"
#include "engine/rx.h"
#include "object/dev.h"
#include "object/qp.h"
#include "object/reach.h"
#include "object/table.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#define ROCE_GSI_QPN	1
/* The upper bit of a P_Key tells full from limited members. */
#define ROCE_PKEY_BASE	0x7fff

static void roce_addresses(struct weft_pkt *pkt)
{
	const struct iphdr *ip = ip_hdr(pkt->skb);
	const struct ipv6hdr *ip6 = ipv6_hdr(pkt->skb);

	pkt->grh = true;
	if (ip->version == 4) {
		pkt->network = RDMA_NETWORK_IPV4;
		pkt->ifindex = 0;
		pkt->ce = INET_ECN_is_ce(ip->tos);
		ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)pkt->sgid.raw);
		ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)pkt->dgid.raw);
	} else {
		pkt->network = RDMA_NETWORK_IPV6;
		pkt->ifindex = inet6_iif(pkt->skb);
		pkt->ce = INET_ECN_is_ce(ipv6_get_dsfield(ip6));
		memcpy(&pkt->sgid, &ip6->saddr, sizeof(pkt->sgid));
		memcpy(&pkt->dgid, &ip6->daddr, sizeof(pkt->dgid));
	}
}

/* An IPv6 header; or 20 zero bytes and an IPv4 header (IBA A17.4.5). */
static void roce_grh(const struct weft_pkt *pkt, u8 grh[WEFT_GRH_BYTES])
{
	if (pkt->network == RDMA_NETWORK_IPV6) {
		memcpy(grh, ipv6_hdr(pkt->skb), sizeof(struct ipv6hdr));
		return;
	}
	memset(grh, 0, WEFT_GRH_BYTES - sizeof(struct iphdr));
	memcpy(grh + WEFT_GRH_BYTES - sizeof(struct iphdr), ip_hdr(pkt->skb),
	       sizeof(struct iphdr));
}

/* QP numbers are unique on the host, except for QP 1, which the destination address selects. */
static struct weft_qp *roce_find_qp(const struct weft_pkt *pkt)
{
	if (pkt->hdr.dqpn != ROCE_GSI_QPN)
		return weft_qp_get(pkt->hdr.dqpn);
	return weft_qp_get_special(weft_dev_find_gid(pkt->net, &pkt->dgid, pkt->ifindex),
				   ROCE_GSI_QPN);
}

/* A device that has the destination address, or receives the group. */
static struct weft_dev *roce_counts(const struct weft_pkt *pkt)
{
	u32 id = 0;

	if (rdma_is_multicast_addr((struct in6_addr *)pkt->dgid.raw))
		return weft_reach_next(pkt->skb->dev, &id);
	return weft_dev_get_gid(pkt->net, &pkt->dgid, pkt->ifindex);
}

static bool roce_to_group(const struct weft_pkt *pkt)
{
	return rdma_is_multicast_addr((struct in6_addr *)pkt->dgid.raw);
}

static bool roce_pkey_valid(const struct weft_pkt *pkt)
{
	return (pkt->hdr.pkey & ROCE_PKEY_BASE) == (WEFT_DEFAULT_PKEY & ROCE_PKEY_BASE);
}

/*
 * Does @qpn, but not QP 1, belong to a device that has the address? Arguments as for
 * weft_dev_find_gid(). RCU read side.
 */
bool weft_roce_has_qp(const struct net *net, const union ib_gid *gid, int ifindex, u32 qpn)
{
	struct weft_qp *qp = qpn == ROCE_GSI_QPN ? NULL : weft_qp_get(qpn);
	bool found;

	if (!qp)
		return false;
	found = weft_dev_has_gid(qp->dev_id, net, gid, ifindex);
	weft_qp_put(qp);
	return found;
}

/*
 * For a connected QP the owner of the turn checks the rest of the path. A QP whose peer is reached
 * by the local link gets no packets: with the address that both ends have, any process of this host
 * could have sent them.
 */
static bool roce_addressed(const struct weft_pkt *pkt)
{
	const struct weft_qp *qp = pkt->qp;

	if (weft_qp_is_ud(qp))
		return weft_dev_has_gid(qp->dev_id, pkt->net, &pkt->dgid, pkt->ifindex);
	/* racy while it changes, and then either answer is right */
	return READ_ONCE(qp->av.net) == pkt->net && !READ_ONCE(qp->av.local);
}

/* The ICRC that the packet should have; its data begin with the BTH. */
static u32 roce_icrc(const struct sk_buff *skb)
{
	const struct weft_wire_bth *bth = (const void *)skb->data;
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 left = skb->len - WEFT_ICRC_LENGTH, length, crc;
	int i;

	if (ip_hdr(skb)->version == 4)
		crc = weft_icrc_begin_ipv4(ip_hdr(skb), udp_hdr(skb), bth);
	else
		crc = weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
	length = min(left, skb_headlen(skb));
	crc = weft_icrc_update(crc, bth + 1, length - sizeof(*bth));
	left -= length;
	for (i = 0; left && i < shared->nr_frags; i++) {
		length = min(left, skb_frag_size(&shared->frags[i]));
		crc = weft_icrc_update(crc, skb_frag_address(&shared->frags[i]), length);
		left -= length;
	}
	return crc;
}

/*
 * The ICRC that the packet has, its last four bytes; copied to @buffer if they are in two pieces.
 */
static const u8 *roce_trailer(const struct sk_buff *skb, u8 buffer[WEFT_ICRC_LENGTH])
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	const skb_frag_t *last;

	if (!shared->nr_frags)
		return skb_tail_pointer(skb) - WEFT_ICRC_LENGTH;
	last = &shared->frags[shared->nr_frags - 1];
	if (skb_frag_size(last) >= WEFT_ICRC_LENGTH)
		return skb_frag_address(last) + skb_frag_size(last) - WEFT_ICRC_LENGTH;
	skb_copy_bits(skb, skb->len - WEFT_ICRC_LENGTH, buffer, WEFT_ICRC_LENGTH);
	return buffer;
}

/*
 * A packet for one QP needs no ICRC if its device says so; a packet for a group always needs one.
 */
static bool roce_verify(const struct weft_pkt *pkt, enum weft_stat *why)
{
	u8 buffer[WEFT_ICRC_LENGTH];

	*why = WEFT_STAT_RX_ICRC;
	if (pkt->dev && !READ_ONCE(pkt->dev->icrc))
		return true;
	return weft_icrc_matches(roce_trailer(pkt->skb, buffer), roce_icrc(pkt->skb));
}

static u32 roce_multicast(const struct weft_pkt *pkt)
{
	struct weft_dev *dev;
	u32 id = 0, num = 0;

	while ((dev = weft_reach_next(pkt->skb->dev, &id)))
		num += weft_rx_members(dev, pkt);
	return num;
}

static bool roce_is_own(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	return weft_dev_has_gid(qp->dev_id, pkt->net, &pkt->sgid, pkt->ifindex);
}

static bool roce_member_pkey_valid(const struct weft_qp *qp, const struct weft_pkt *pkt)
{
	return true;
}

static void roce_datagram_info(const struct weft_qp *qp, const struct weft_pkt *pkt,
			       const struct weft_iter *payload, struct weft_request *req)
{
	if (qp->type == IB_QPT_GSI)
		req->vlan_id = weft_dev_gid_vlan(qp->dev, pkt->net, &pkt->dgid, pkt->ifindex);
}

/*
 * Packets of RoCE have no service level, but the receiver must learn the network type (IBA
 * A17.4.5.1). struct ibv_wc has no member for that, so mlx5 uses sl, and UCX relies on it. Kernel
 * consumers have network_hdr_type.
 */
static u8 roce_service_level(const struct weft_qp *qp, const struct weft_request *req)
{
	if (qp->kernel)
		return req->sl;
	return req->network_hdr_type == RDMA_NETWORK_IPV4 ? WEFT_SL_ROCE_IPV4 : WEFT_SL_ROCE_IPV6;
}

static void roce_bad_qkey(struct weft_qp *qp, const struct weft_request *req, u32 qkey)
{
}

const struct weft_port_ops weft_port_roce = {
	.addresses = roce_addresses,
	.grh = roce_grh,
	.find_qp = roce_find_qp,
	.counts = roce_counts,
	.to_group = roce_to_group,
	.pkey_valid = roce_pkey_valid,
	.addressed = roce_addressed,
	.verify = roce_verify,
	.multicast = roce_multicast,
	.is_own = roce_is_own,
	.member_pkey_valid = roce_member_pkey_valid,
	.datagram = roce_datagram_info,
	.service_level = roce_service_level,
	.bad_qkey = roce_bad_qkey,
};
WEFT_EXPORT_FOR_TEST(weft_port_roce);
