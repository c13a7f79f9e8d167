// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets are sent into the fabric, except that a packet for the port's own LID is received here.
 * So is a copy of each packet to a group.
 *
 * A packet that a QP of this host has sent is queued for a work item, because its sender owns a
 * turn. So packets of this host stay in order.
 */
#include "link/ib.h"

#include <linux/skbuff.h>
#include <net/ipv6.h>

#include "engine/ipcsum.h"
#include "engine/link.h"
#include "engine/rx.h"
#include "engine/transmit.h"
#include "link/ib_port.h"
#include "link/inject.h"
#include "link/packet.h"
#include "link/tx_credit.h"
#include "object/dev.h"
#include "object/hca.h"
#include "object/inject.h"
#include "object/monitor.h"
#include "object/qp.h"
#include "params.h"
#include "pause.h"
#include "stats.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/opcode.h"

/* Packets that the work item receives before it lets others use the CPU. */
#define IB_RX_BATCH	64
/* The virtual lane of subnet management. */
#define IB_VL_SMI	15

/* LRH and GRH, and the headers that a cable may put in front. */
#define IB_HEADROOM	(sizeof(struct weft_wire_lrh) + sizeof(struct weft_wire_grh) + 64)

static void ib_push_grh(struct sk_buff *skb, const struct weft_av *av)
{
	struct weft_grh grh = {
		.flow_label = av->flow_label,
		.length = skb->len,
		.tclass = av->traffic_class,
		.hop_limit = av->hop_limit,
	};

	memcpy(grh.sgid, &av->sgid, sizeof(grh.sgid));
	memcpy(grh.dgid, &av->dgid, sizeof(grh.dgid));
	weft_grh_encode(skb_push(skb, sizeof(struct weft_wire_grh)), &grh);
}

/* Put the headers of a QP's packet in front of the BTH; @skb has headroom for them. */
void weft_ib_push(struct sk_buff *skb, const struct weft_qp *qp, const struct weft_av *av)
{
	struct weft_lrh lrh = {
		.dlid = av->dlid,
		.slid = weft_av_source_lid(av),
		.vl = qp->type == IB_QPT_SMI ? IB_VL_SMI : 0,
		.sl = av->sl,
		.lnh = av->grh ? WEFT_LNH_GRH : WEFT_LNH_BTH,
	};

	if (av->grh)
		ib_push_grh(skb, av);
	lrh.length = skb->len + sizeof(struct weft_wire_lrh);
	weft_lrh_encode(skb_push(skb, sizeof(struct weft_wire_lrh)), &lrh);
	skb_reset_network_header(skb);
	skb->protocol = cpu_to_be16(WEFT_IB_ETHERTYPE);
}

/*
 * Leave a packet to the work item: the sender owns a turn. Packets with a destructor are bounded by
 * their senders' tx credit. A switch's copies for a group are not, so they are dropped when too
 * many packets wait.
 */
static void ib_defer(struct weft_hca *hca, struct sk_buff *skb)
{
	/* approximate if several CPUs add packets, but good enough for a bound */
	if (!skb->destructor && skb_queue_len_lockless(&hca->rx) >= WEFT_QUEUE_PACKETS) {
		weft_stats_inc(hca->dev, WEFT_STAT_RX_QUEUE_FULL);
		kfree_skb(skb);
		return;
	}
	skb_queue_tail(&hca->rx, skb);
	queue_work(system_highpri_wq, &hca->rx_work);
}

/*
 * Send a complete packet (see fabric/port.h), which belongs to the callee, by the port of @hca; if
 * @dlid is the port's own LID, the packet is received there. Context: bottom halves off, RCU read
 * side; between weft_ib_open() and weft_ib_close().
 */
void weft_ib_send(struct weft_hca *hca, u16 dlid, struct sk_buff *skb)
{
	if (weft_monitor_is_on())
		weft_monitor_show_copy(hca->dev, skb, WEFT_MONITOR_SENT);
	if (dlid < WEFT_LID_MCAST && weft_ibport_has_lid(&hca->port, dlid))
		ib_defer(hca, skb);
	else
		weft_ibport_xmit(&hca->port, skb);
}

/*
 * Receive a copy here: the group may have members on this port, and the switch does not send the
 * packet back.
 */
static void ib_copy_back(const struct weft_tx_batch *batch, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!copy)
		return;
	/*
	 * charged separately: the packet itself may be freed at once, if the group has no other
	 * members
	 */
	weft_tx_credit_take(batch->tx, copy);
	ib_defer(batch->qp->dev->hca, copy);
}

static void ib_output(const struct weft_tx_batch *batch, struct sk_buff *skb)
{
	if (batch->av->multicast)
		ib_copy_back(batch, skb);
	weft_ib_send(batch->qp->dev->hca, batch->av->dlid, skb);
}

/* Return: false: no memory; the packet must be sent again later. */
static bool ib_send(const struct weft_tx_batch *batch, const struct weft_hdr *hdr, u32 length)
{
	struct sk_buff *skb = weft_packet_build(batch, hdr, length, IB_HEADROOM, false);

	if (!skb)
		return false;
	if (unlikely(batch->ip_csum))
		weft_ipcsum_fill(skb->data + weft_opcode(hdr->opcode)->length, length);
	weft_ib_push(skb, batch->qp, batch->av);
	weft_hop(skb)->nested = true;
	weft_tx_credit_take(batch->tx, skb);
	rcu_read_lock();
	ib_output(batch, skb);
	rcu_read_unlock();
	weft_stats_inc(batch->qp, WEFT_STAT_TX_PACKETS);
	return true;
}

/* Send packet number @i. Return: false: it must be sent again when memory has been freed. */
static bool ib_packet(struct weft_tx_batch *batch, u32 i, const struct weft_hdr *hdr, u32 length)
{
	struct weft_iter start = {};
	bool sent;

	if (length)
		start = *batch->payload;
	local_bh_disable();
	sent = ib_send(batch, hdr, length);
	local_bh_enable();
	if (sent)
		return true;
	if (length)
		*batch->payload = start;
	if (weft_tx_credit_wait(batch))
		return false;
	weft_packet_lost(batch, i, 1);
	return true;
}

static u32 ib_batch(struct weft_tx_batch *batch)
{
	struct weft_hdr hdr = batch->hdr;
	u32 i, length;

	weft_assert_turn(batch->tx->turn);
	for (i = 0; i < batch->num; i++) {
		if (!weft_tx_credit_left(batch))
			break;
		length = weft_packet_header(batch, i, &hdr);
		if (!ib_packet(batch, i, &hdr, length))
			break;
	}
	return i;
}

static u32 ib_xmit(struct weft_tx_batch *batch)
{
	return weft_inject_is_on() ? weft_inject_xmit(batch, ib_batch) : ib_batch(batch);
}

static enum weft_verdict ib_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	return weft_packet_datagram(qp, dgram, ib_xmit);
}

const struct weft_link weft_link_ib = {
	.execute = weft_transmit,
	.datagram = ib_datagram,
	.xmit = ib_xmit,
	.forget = weft_tx_credit_forget, /* there are no cached routes */
};

/*
 * Make the headers linear, in memory that no other buffer shares. Return: bytes in front of the
 * BTH; 0: the headers are malformed.
 */
static u32 ib_pull_headers(struct sk_buff *skb)
{
	struct weft_lrh lrh;
	struct weft_grh grh;
	u32 front = sizeof(struct weft_wire_lrh);

	if (weft_lrh_decode(&lrh, skb->data, skb->len))
		return 0;
	if (lrh.lnh == WEFT_LNH_GRH)
		front += sizeof(struct weft_wire_grh);
	if (!pskb_may_pull(skb, min_t(u32, skb->len, front + WEFT_HDR_MAX_LENGTH)))
		return 0;
	if (lrh.lnh == WEFT_LNH_GRH &&
	    weft_grh_decode(&grh, skb->data + sizeof(struct weft_wire_lrh),
			    skb->len - sizeof(struct weft_wire_lrh)))
		return 0;
	return front;
}

/* Is the packet for this port? A packet to a group is for every port that gets it. */
static bool ib_is_addressed(const struct weft_hca *hca, const struct sk_buff *skb)
{
	u16 dlid = be16_to_cpu(((const struct weft_wire_lrh *)skb->data)->dlid);

	return dlid >= WEFT_LID_MCAST || weft_ibport_has_lid(&hca->port, dlid);
}

static void ib_packet_in(struct weft_hca *hca, struct sk_buff *skb)
{
	struct weft_pkt pkt __uninitialized;
	u32 front = ib_pull_headers(skb);

	if (!front || !ib_is_addressed(hca, skb)) {
		weft_ibport_count(&hca->port, WEFT_IBC_RCV_ERRORS);
		kfree_skb(skb);
		return;
	}
	skb_reset_network_header(skb);
	skb->protocol = cpu_to_be16(WEFT_IB_ETHERTYPE);
	__skb_pull(skb, front);
	weft_pkt_init(&pkt, skb, &weft_port_ib, NULL, hca->dev);
	weft_rx(&pkt);
}

/*
 * A packet (see fabric/port.h) has arrived at the port of an HCA; it belongs to the callee.
 * @nested: see struct weft_ibport_ops. Context: bottom halves off, RCU read side.
 */
void weft_ib_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	struct weft_hca *hca = container_of(port, struct weft_hca, port);

	weft_pause(WEFT_PAUSE_IB_RECEIVE);
	if (nested)
		ib_defer(hca, skb);
	else
		ib_packet_in(hca, skb);
}
WEFT_EXPORT_FOR_TEST(weft_ib_receive);

static void ib_rx_worker(struct work_struct *work)
{
	struct weft_hca *hca = container_of(work, struct weft_hca, rx_work);
	struct sk_buff *skb;
	int done = 0;

	/* as in a soft interrupt: completion handlers run after the batch */
	local_bh_disable();
	rcu_read_lock();
	do {
		skb = skb_dequeue(&hca->rx);
		if (!skb)
			break;
		ib_packet_in(hca, skb);
	} while (++done < IB_RX_BATCH && !need_resched());
	rcu_read_unlock();
	local_bh_enable();
	if (skb)
		queue_work(system_highpri_wq, &hca->rx_work);
}

/* Packets may arrive at the port from now on. @hca is zeroed except for @hca->dev. */
void weft_ib_open(struct weft_hca *hca)
{
	skb_queue_head_init(&hca->rx);
	INIT_WORK(&hca->rx_work, ib_rx_worker);
}
WEFT_EXPORT_FOR_TEST(weft_ib_open);

/*
 * No packets arrive any more: the port is detached from the fabric. Context: process, sleeps until
 * packets that are under way have been received or freed.
 */
void weft_ib_close(struct weft_hca *hca)
{
	cancel_work_sync(&hca->rx_work);
	skb_queue_purge(&hca->rx);
}
WEFT_EXPORT_FOR_TEST(weft_ib_close);
