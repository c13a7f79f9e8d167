// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/rx.h"

#include <linux/skbuff.h>

#include "engine/completer.h"
#include "engine/drop.h"
#include "engine/inject.h"
#include "engine/port.h"
#include "engine/responder.h"
#include "object/dev.h"
#include "object/mcast.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "pause.h"
#include "wire/opcode.h"

static void rx_drop(struct weft_pkt *pkt, enum weft_stat why)
{
	struct weft_qp *qp = pkt->qp;

	weft_pkt_drop(pkt, pkt->dev ?: pkt->port->counts(pkt), why);
	if (qp)
		weft_qp_put(qp);
}

/*
 * Count and free a packet whose headers are not in linear memory; its network header is. @pkt is
 * from weft_pkt_init().
 */
void weft_rx_drop(struct weft_pkt *pkt, enum weft_stat why)
{
	pkt->hdr = (struct weft_hdr){};
	pkt->port->addresses(pkt);
	rx_drop(pkt, why);
}

/* Show a packet, also one that is dropped, on the monitor of its device. */
static noinline void rx_show(const struct weft_pkt *pkt)
{
	const struct weft_dev *dev = pkt->dev ?: pkt->port->counts(pkt);

	if (dev)
		weft_monitor_show_copy(dev, pkt->skb, WEFT_MONITOR_RECEIVED);
}

/* A reliable responder answers even a request with a strange opcode or payload (with a NAK). */
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

	/* DC is for the local link only */
	if (unlikely(qp->dc))
		return false;
	if (unlikely(opcode == WEFT_OPCODE_CNP))
		return !weft_qp_is_ud(qp) && qp->type != IB_QPT_XRC_TGT;
	if (op->transport != qp->transport)
		return false;
	if (qp->transport != WEFT_TRANSPORT_XRC)
		return true;
	/* an XRC initiator gets responses only, a target requests only */
	response = op->flags & WEFT_OPCODE_RESPONSE;
	return response == (qp->type == IB_QPT_XRC_INI);
}

/* Give a copy of a datagram to each member of its group on @dev. Returns the number of members. */
u32 weft_rx_members(struct weft_dev *dev, const struct weft_pkt *pkt)
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
		/*
		 * the consumer may have asked not to receive what the QP itself sends to the group
		 */
		if (qp->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK &&
		    qp->src_qpn == pkt->hdr.deth.sqpn && pkt->port->is_own(qp, pkt))
			continue;
		if (!pkt->port->member_pkey_valid(qp, pkt)) {
			weft_stats_drop(dev, &pkt->hdr, WEFT_STAT_RX_PKEY);
			continue;
		}
		copy.skb = skb_clone(pkt->skb, GFP_ATOMIC | __GFP_NOWARN);
		if (!copy.skb) {
			weft_stats_drop(dev, &pkt->hdr, WEFT_STAT_RX_NO_MEMORY);
			continue; /* datagrams may be lost */
		}
		weft_stats_inc(dev, WEFT_STAT_MCAST_COPIES);
		weft_responder_packet(qp, &copy);
	}
	weft_mcast_members_put(members);
	return num;
}

/*
 * The part of weft_rx() after the checks: pass a packet to its QP, or to the members of its group.
 */
void weft_rx_deliver(struct weft_pkt *pkt)
{
	struct weft_qp *qp = pkt->qp;

	if (weft_monitor_is_on() && pkt->psns == 1)
		rx_show(pkt);
	if (!qp) {
		if (pkt->port->multicast(pkt))
			weft_pkt_free(pkt);
		else
			rx_drop(pkt, WEFT_STAT_RX_UNKNOWN_QP);
		return;
	}
	weft_pause(WEFT_PAUSE_RX_PACKET);
	/* a CNP is for the requester, too */
	if (weft_opcode(pkt->hdr.opcode)->flags & WEFT_OPCODE_RESPONSE ||
	    unlikely(pkt->hdr.opcode == WEFT_OPCODE_CNP))
		weft_completer_packet(qp, pkt);
	else
		weft_responder_packet(qp, pkt);
	weft_qp_put(qp);
}
WEFT_EXPORT_FOR_TEST(weft_rx_deliver);

/*
 * Checks that need the QP, and are cheap without its turn; its owner makes the final ones. From
 * here on there is a device to count on.
 */
static bool rx_check_qp(struct weft_pkt *pkt, enum weft_stat *why)
{
	*why = WEFT_STAT_RX_OPCODE;
	if (!rx_service_matches(pkt->qp, pkt->hdr.opcode))
		return false;
	*why = WEFT_STAT_RX_NOT_READY;
	if (!weft_qp_can_receive(pkt->qp))
		return false;
	*why = WEFT_STAT_RX_WRONG_ADDRESS;
	return pkt->port->addressed(pkt);
}

/* The checks that look at the headers only, and are cheap. */
static bool rx_check_headers(struct weft_pkt *pkt, enum weft_stat *why)
{
	const struct weft_port_ops *port = pkt->port;
	bool group = pkt->hdr.dqpn == WEFT_MCAST_QPN;

	*why = WEFT_STAT_RX_MALFORMED;
	if (pkt->malformed && !rx_has_answer(pkt))
		return false;
	*why = WEFT_STAT_RX_UNKNOWN_QP;
	if (!group)
		pkt->qp = port->find_qp(pkt);
	else if (pkt->hdr.opcode >> 5 != WEFT_TRANSPORT_UD || !port->to_group(pkt))
		return false;
	*why = WEFT_STAT_RX_PKEY;
	if (!port->pkey_valid(pkt))
		return false;
	*why = WEFT_STAT_RX_UNKNOWN_QP;
	if (!group) {
		if (!pkt->qp)
			return false;
		pkt->dev = pkt->qp->dev;
		if (!rx_check_qp(pkt, why))
			return false;
	}
	return true;
}

/*
 * Cheap checks come before port->verify(), which reads all bytes. Return: false: drop it, and @why
 * says why.
 */
static bool rx_check(struct weft_pkt *pkt, enum weft_stat *why)
{
	return rx_check_headers(pkt, why) && pkt->port->verify(pkt, why);
}

static void rx_refuse(struct weft_pkt *pkt, enum weft_stat why)
{
	if (weft_monitor_is_on())
		rx_show(pkt);
	rx_drop(pkt, why);
}

/*
 * A packet has arrived: find its QP or group, and check it. @pkt is from weft_pkt_init(), and has
 * the linear data that weft_pkt_decode() needs. Return: true: weft_rx_accepted() has to follow;
 * false: it is dropped.
 */
bool weft_rx_accept(struct weft_pkt *pkt)
{
	enum weft_stat why;

	weft_pkt_decode(pkt);
	if (rx_check(pkt, &why))
		return true;
	rx_refuse(pkt, why);
	return false;
}

/*
 * Pass a packet to the completer or responder, or do what a rule says. The callee owns its memory.
 */
void weft_rx_accepted(struct weft_pkt *pkt)
{
	/* rules look at a QP's packets, not at those of a group, nor at a run, which is older */
	if (weft_inject_is_on() && pkt->qp && pkt->psns == 1 && weft_inject_packet(pkt))
		return;
	/* it may stay in a backlog for long, and must not hold its sender's socket meanwhile */
	skb_orphan(pkt->skb);
	weft_rx_deliver(pkt);
}

/* Both, for a packet that came alone. */
void weft_rx(struct weft_pkt *pkt)
{
	if (weft_rx_accept(pkt))
		weft_rx_accepted(pkt);
}

/*
 * The rest of weft_rx() for a packet that a rule has delayed: it is checked again, because its QP
 * may have changed. @pkt is from weft_pkt_again(), with the device set as in weft_pkt_init().
 */
void weft_rx_again(struct weft_pkt *pkt)
{
	enum weft_stat why;

	if (rx_check(pkt, &why))
		weft_rx_deliver(pkt);
	else
		rx_refuse(pkt, why);
}

/*
 * A rule has changed the headers of a packet behind the check of its ICRC: find the QP that it is
 * for now, and check it again. A packet for a QP of another device, which the rule is not for, is
 * one for an unknown QP. Returns false: it is dropped.
 */
bool weft_rx_changed(struct weft_pkt *pkt)
{
	struct weft_dev *dev = pkt->dev;
	struct weft_qp *old = pkt->qp;
	enum weft_stat why;
	bool fits;

	weft_pkt_decode(pkt);
	pkt->qp = NULL;
	fits = rx_check_headers(pkt, &why);
	if (fits && pkt->dev != dev) {
		why = WEFT_STAT_RX_UNKNOWN_QP;
		fits = false;
	}
	if (!fits) {
		if (pkt->qp)
			weft_qp_put(pkt->qp);
		/* it counts where the rule is */
		pkt->dev = dev;
		pkt->qp = old;
		rx_refuse(pkt, why);
		return false;
	}
	weft_qp_put(old);
	return true;
}
