// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RoCEv2: packets to be sent. */
#include "link/roce.h"

#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include <net/addrconf.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "engine/link.h"
#include "engine/transmit.h"
#include "link/burst.h"
#include "link/inject.h"
#include "link/monitor_sent.h"
#include "link/packet.h"
#include "link/tx_credit.h"
#include "link/udp.h"
#include "link/uso.h"
#include "inet/ip.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/monitor.h"
#include "object/tx.h"
#include "object/qp.h"
#include "object/table.h"
#include "params.h"
#include "stats.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* The way of a batch to its destination. */
struct roce_way {
	struct weft_ip_path	ip;	/* addresses and ports */
	struct net		*net;	/* referenced; NULL: the transmitter already had @dst */
	/* route, with a reference of the transmitter or of roce_xmit(); NULL: there is none */
	struct dst_entry	*dst;
};

/* Is the destination an address of this host, perhaps of another net device than the source? */
static bool roce_is_local(struct net *net, const struct weft_ip_path *ip)
{
	if (ip->ipv4)
		return inet_addr_type(net, weft_ip_v4(&ip->daddr)) == RTN_LOCAL;
	return !(ipv6_addr_type(&ip->daddr) & IPV6_ADDR_LINKLOCAL) &&
	       ipv6_chk_addr(net, &ip->daddr, NULL, 0);
}

/*
 * A packet leaves only by the net device of its source address. An address of this host is reached
 * by the loopback device, whichever net device has the address; IP would look for it outside if
 * another net device were asked for.
 */
static struct dst_entry *roce_lookup(struct net *net, struct weft_ip_path *ip, int oif)
{
	struct dst_entry *dst = NULL;

	rcu_read_lock();
	/* there may be IPv6 GIDs without IPv6 (ipv6.disable=1) */
	if (ip->ipv4 || (IS_ENABLED(CONFIG_IPV6) && weft_udp_sock(net, AF_INET6)))
		dst = weft_ip_route(net, ip, roce_is_local(net, ip) ? 0 : oif);
	rcu_read_unlock();
	return dst;
}

/* Sets @way->net and @way->dst. */
static void roce_route(struct weft_dev *dev, const struct weft_av *av, struct roce_way *way)
{
	if (ipv6_addr_v4mapped(&way->ip.saddr) != way->ip.ipv4)
		return;
	way->net = weft_av_source_net(av, dev);
	if (way->net)
		way->dst = roce_lookup(way->net, &way->ip, av->ifindex);
}

static void roce_forget_route(struct weft_tx *tx)
{
	dst_release(tx->dst);
	tx->dst = NULL;
}

static void roce_forget(struct weft_tx *tx)
{
	roce_forget_route(tx);
	weft_tx_credit_forget(tx);
}

/*
 * May the transmitter keep the route? A kept route may outlive its namespace, because net devices
 * move out of a namespace that ends. The code and data behind dst->ops must still exist then, but
 * those of IPv6 and IPsec belong to the namespace, and would need a reference to it.
 */
static bool roce_may_keep(const struct weft_tx_batch *batch, const struct roce_way *way)
{
	return way->dst && way->ip.ipv4 && !dst_xfrm(way->dst) && !weft_qp_is_ud(batch->qp);
}

/*
 * Packets of a requester are marked as ECN-capable if the device says so, unless the path has a
 * mark already. Answers are not, unless they leave with a request: the rate of a responder can't be
 * cut.
 */
static u8 roce_tclass(const struct weft_tx_batch *batch)
{
	const struct weft_qp *qp = batch->qp;
	u8 tclass = batch->av->traffic_class;

	if (unlikely(batch->hdr.opcode == WEFT_OPCODE_CNP))
		return WEFT_CNP_DSCP << 2;
	/* INET_ECN_is_capable() does not know ECT(1), which would become CE */
	if (likely(READ_ONCE(qp->dev->cc) != WEFT_CC_DCQCN) || tclass & INET_ECN_MASK ||
	    batch->tx != &qp->send.tx || weft_qp_is_ud(qp))
		return tclass;
	return tclass | INET_ECN_ECT_0;
}

/* The addresses and ports of the packets of a batch. */
void weft_roce_path(const struct weft_tx_batch *batch, struct weft_ip_path *path)
{
	const struct weft_av *av = batch->av;

	*path = (struct weft_ip_path){
		.saddr = *(const struct in6_addr *)av->sgid.raw,
		.daddr = *(const struct in6_addr *)av->dgid.raw,
		.sport = cpu_to_be16(rdma_get_udp_sport(av->flow_label, batch->qp->qpn,
							batch->hdr.dqpn)),
		.dport = cpu_to_be16(ROCE_V2_UDP_DPORT),
		.flow_label = av->flow_label,
		.tclass = roce_tclass(batch),
		.hop_limit = av->hop_limit,
		.ipv4 = ipv6_addr_v4mapped((const struct in6_addr *)av->dgid.raw),
	};
}

static void roce_find_way(struct weft_tx_batch *batch, struct roce_way *way)
{
	struct weft_tx *tx = batch->tx;

	*way = (struct roce_way){};
	weft_roce_path(batch, &way->ip);
	if (!weft_dev_port_active(batch->qp->dev))
		return;
	if (tx->dst && dst_check(tx->dst, 0 /* IPv4 has no cookie */)) {
		way->dst = tx->dst;
		return;
	}
	roce_forget_route(tx);
	roce_route(batch->qp->dev, batch->av, way);
	if (roce_may_keep(batch, way))
		tx->dst = way->dst;
}

static void roce_leave_way(const struct weft_tx_batch *batch, const struct roce_way *way)
{
	if (way->dst != batch->tx->dst)
		dst_release(way->dst);
	if (way->net)
		put_net(way->net);
}

/* Bytes in front of the BTH. */
static u32 roce_headroom(const struct roce_way *way)
{
	return LL_RESERVED_SPACE(READ_ONCE(way->dst->dev)) + way->dst->header_len +
	       weft_ip_headers(way->ip.ipv4);
}

static bool roce_has_icrc(const struct weft_tx_batch *batch)
{
	return READ_ONCE(batch->qp->dev->icrc) || batch->av->multicast;
}

static u32 roce_icrc_begin(const struct sk_buff *skb, const struct roce_way *way,
			   const struct weft_wire_bth *bth)
{
	if (way->ip.ipv4)
		return weft_icrc_begin_ipv4(ip_hdr(skb), udp_hdr(skb), bth);
	return weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
}

/* Store the ICRC, when the headers are complete and the ICRC is zero. */
static void roce_seal(struct sk_buff *skb, const struct weft_tx_batch *batch,
		      const struct roce_way *way)
{
	const struct weft_wire_bth *bth = (const void *)(udp_hdr(skb) + 1);

	if (roce_has_icrc(batch))
		weft_packet_seal(skb, bth, roce_icrc_begin(skb, way, bth));
}

/*
 * IP uses a socket only to decide whether a multicast packet comes back to this host. It must not
 * if the local link has already delivered the message here. Other packets have no socket: as
 * skb->sk is NULL, firewall rules for owners and BPF programs of cgroups find no owner either way,
 * and the path MTU is respected only without a socket.
 */
static struct sock *roce_sock(const struct weft_tx_batch *batch, const struct net *net,
			      bool ipv4)
{
	if (!batch->av->multicast || !batch->av->local)
		return NULL;
	return weft_udp_sock(net, ipv4 ? AF_INET : AF_INET6);
}

/*
 * A net device may have a queue for each CPU (XPS), and a requester or responder may run on any
 * CPU. So a transmitter changes its queue only when no packet is under way, as a packet in another
 * queue could overtake it.
 */
static void roce_choose_queue(const struct weft_tx_batch *batch, struct sk_buff *skb)
{
#ifdef CONFIG_XPS
	if (!weft_tx_credit_is_used(batch))
		batch->tx->sender_cpu = raw_smp_processor_id() + 1;
	skb->sender_cpu = batch->tx->sender_cpu;
#endif
}

/* Returns 0; -ENOBUFS: the queue of the net device is full; or another error. */
static int roce_output(struct sk_buff *skb, const struct weft_tx_batch *batch,
		       const struct roce_way *way)
{
	struct net *net = dev_net(READ_ONCE(way->dst->dev));
	struct sock *sk = roce_sock(batch, net, way->ip.ipv4);
	int ret;

	skb->priority = batch->av->sl;
	/* code that keeps the packet takes a reference to the route */
	skb_dst_set_noref(skb, way->dst);
	roce_choose_queue(batch, skb);
	weft_tx_credit_take(batch->tx, skb);
	if (way->ip.ipv4)
		ret = ip_local_out(net, sk, skb);
	else
		ret = ip6_local_out(net, sk, skb);
	ret = net_xmit_eval(ret);
	return ret > 0 ? -ENOBUFS : ret;
}

/* roce_output(), and show the packets if they have left. Bottom halves are off. */
static noinline int roce_output_shown(struct sk_buff *skb, const struct weft_tx_batch *batch,
				      const struct roce_way *way)
{
	const struct weft_dev *dev = batch->qp->dev;
	struct sk_buff_head held;
	int ret;

	__skb_queue_head_init(&held);
	weft_monitor_hold(dev, skb, &held);
	ret = roce_output(skb, batch, way);
	weft_monitor_release(dev, &held, !ret);
	return ret;
}

/*
 * Make a packet from the IP header to the ICRC, with @room in front. @id: identification for IPv4;
 * those of a burst count up, otherwise any will do (RFC 6864). NULL: no memory.
 */
static struct sk_buff *roce_build(const struct weft_tx_batch *batch, const struct roce_way *way,
				  const struct weft_hdr *hdr, u32 length, u16 id, u32 room)
{
	const struct net_device *ndev = READ_ONCE(way->dst->dev);
	struct sk_buff *skb;

	/* without scatter/gather (virtio_net without checksums) the packet would be copied */
	skb = weft_packet_build(batch, hdr, length, roce_headroom(way) + room,
				!(ndev->features & NETIF_F_SG));
	if (!skb)
		return NULL;
	weft_ip_push(skb, &way->ip, way->dst, id);
	roce_seal(skb, batch, way);
	return skb;
}

/* Bytes from the BTH to the ICRC. */
static u32 roce_size(const struct weft_hdr *hdr, u32 length)
{
	return weft_opcode(hdr->opcode)->length + length + hdr->pad + WEFT_ICRC_LENGTH;
}

/* Put packet number @i of a batch at @at, behind the headers of @skb, which become those for it. */
static void roce_put(struct weft_tx_batch *batch, const struct roce_way *way, struct sk_buff *skb,
		     const struct weft_hdr *hdr, u32 length, u16 id, void *at)
{
	u32 size = roce_size(hdr, length);
	u8 *trailer = at + size - WEFT_ICRC_LENGTH;
	u8 *payload = at + weft_opcode(hdr->opcode)->length;
	u32 crc;

	weft_hdr_encode(at, hdr);
	weft_packet_copy(payload, batch->payload, length);
	memset(payload + length, 0, hdr->pad + WEFT_ICRC_LENGTH);
	if (!roce_has_icrc(batch))
		return;
	weft_ip_set_length(skb, size, id);
	crc = roce_icrc_begin(skb, way, at);
	at += sizeof(struct weft_wire_bth);
	weft_icrc_store(trailer, weft_icrc_update(crc, at, trailer - (u8 *)at));
}

/* Begin a buffer for a net device that cuts it up; @psn is that of its first packet. */
static bool roce_begin_uso(const struct roce_way *way, u32 psn, struct weft_uso *uso)
{
	u32 room = roce_headroom(way);

	*uso = (struct weft_uso){ .skb = weft_packet_alloc(room) };
	if (!uso->skb)
		return false;
	skb_reserve(uso->skb, room);
	weft_ip_push(uso->skb, &way->ip, way->dst, psn);
	return true;
}

/*
 * Add a packet of @batch; up to @left follow, this one included. Return: false: no room or memory.
 */
static bool roce_add_uso(struct weft_tx_batch *batch, const struct roce_way *way,
			 struct weft_uso *uso, const struct weft_hdr *hdr, u32 length, u16 id,
			 u32 left)
{
	void *at = weft_uso_add(uso, READ_ONCE(way->dst->dev), roce_size(hdr, length), left);

	if (at)
		roce_put(batch, way, uso->skb, hdr, length, id, at);
	return at;
}

/*
 * Make packets of a batch from number @i on, as many as one buffer takes, for a net device that
 * cuts it up. Returns NULL, and nothing has changed, without memory.
 */
static struct sk_buff *roce_fill_uso(struct weft_tx_batch *batch, const struct roce_way *way, u32 i,
				     u32 *packets)
{
	u32 first = weft_psn_add(batch->hdr.psn, i);
	struct weft_hdr hdr = batch->hdr;
	struct weft_uso uso;
	u32 length;

	if (!roce_begin_uso(way, first, &uso))
		return NULL;
	for (; i < batch->num; i++) {
		length = weft_packet_header(batch, i, &hdr);
		if (!roce_add_uso(batch, way, &uso, &hdr, length, hdr.psn, batch->num - i))
			break;
	}
	if (!uso.packets) {
		kfree_skb(uso.skb);
		return NULL;
	}
	weft_uso_close(&uso, first);
	*packets = uso.packets;
	return uso.skb;
}

/* As roce_fill(), as a list of packets. */
static struct sk_buff *roce_fill_list(struct weft_tx_batch *batch, const struct roce_way *way,
				      u32 i, u32 most, u32 *packets)
{
	u32 front = weft_ip_headers(way->ip.ipv4), mtu = dst_mtu(way->dst);
	struct weft_hdr hdr = batch->hdr;
	struct weft_burst burst = {};
	struct sk_buff *skb;
	u32 length, size;

	do {
		length = weft_packet_header(batch, i, &hdr);
		size = roce_size(&hdr, length);
		if (front + size > mtu || !weft_burst_takes(&burst, size))
			break;
		skb = roce_build(batch, way, &hdr, length, hdr.psn,
				 burst.head ? WEFT_BURST_HEADROOM : 0);
		if (!skb)
			break;
		weft_burst_add(&burst, skb);
	} while (++i < batch->num && burst.packets < most && !dst_xfrm(way->dst));
	if (!burst.packets)
		return NULL;
	*packets = burst.packets;
	return weft_burst_close(&burst, READ_ONCE(way->dst->dev));
}

/* A packet that is sent again does without USO: the net device may have segmented it wrongly. */
static bool roce_may_uso(const struct weft_tx_batch *batch, const struct roce_way *way)
{
	return !batch->again && READ_ONCE(batch->qp->dev->uso) && !dst_xfrm(way->dst) &&
	       weft_uso_fits(READ_ONCE(way->dst->dev), way->ip.ipv4);
}

/*
 * Make packets of a batch from number @i on, as many as go together, up to @most. With IPsec each
 * packet goes alone, because IPsec would take a burst apart at once.
 *
 * Returns the buffer with *@packets packets; -ENETUNREACH: no route; -EMSGSIZE: the first packet is
 * too long for the route; -ENOBUFS: no memory for it.
 */
static struct sk_buff *roce_fill(struct weft_tx_batch *batch, const struct roce_way *way, u32 i,
				 u32 most, u32 *packets)
{
	struct weft_hdr hdr = batch->hdr;
	struct sk_buff *skb = NULL;
	u32 length;

	if (!way->dst)
		return ERR_PTR(-ENETUNREACH);
	length = weft_packet_header(batch, i, &hdr);
	if (weft_ip_headers(way->ip.ipv4) + roce_size(&hdr, length) > dst_mtu(way->dst))
		return ERR_PTR(-EMSGSIZE);
	if (batch->num - i > 1 && most > 1 && roce_may_uso(batch, way))
		skb = roce_fill_uso(batch, way, i, packets);
	if (!skb)
		skb = roce_fill_list(batch, way, i, most, packets);
	return skb ?: ERR_PTR(-ENOBUFS);
}

/*
 * Send packets of a batch from number @i on, up to @most of them together. Returns how many have
 * left or are lost; 0: the packets are to be sent again when there is tx credit.
 */
static u32 roce_burst(struct weft_tx_batch *batch, const struct roce_way *way, u32 i, u32 most)
{
	bool used = weft_tx_credit_is_used(batch);
	struct weft_iter start = {};
	struct sk_buff *skb;
	u32 packets = 1;
	int ret;

	if (batch->length)
		start = *batch->payload;
	/* weft_packet_build() needs it; work that this causes runs when all packets have left */
	local_bh_disable();
	/* keeps the net device of the route, and the socket of roce_sock() */
	rcu_read_lock();
	skb = roce_fill(batch, way, i, most, &packets);
	ret = PTR_ERR_OR_ZERO(skb);
	if (!ret)
		ret = weft_monitor_is_on() ? roce_output_shown(skb, batch, way) :
					     roce_output(skb, batch, way);
	rcu_read_unlock();
	local_bh_enable();
	if (!ret) {
		batch->tx->backoffs = 0;
		weft_stats_add(batch->qp, WEFT_STAT_TX_PACKETS, packets);
		return packets;
	}
	if (batch->length)
		*batch->payload = start;
	/* packets under way, perhaps of this transmitter, fill the queue */
	if (ret == -ENOBUFS && weft_tx_credit_wait(batch))
		return 0;
	/*
	 * The packets of this transmitter that were under way have left since, and nothing else
	 * sends for it. Or the queue, even if it is empty, is too short for the burst.
	 */
	if (ret == -ENOBUFS && (used || packets > 1))
		return roce_burst(batch, way, i, 1);
	if (ret == -ENOBUFS && weft_tx_credit_backoff(batch))
		return 0;
	weft_packet_lost(batch, i, packets);
	return packets;
}

/* The buffer of packets that have been kept. */
static struct sk_buff *roce_close(struct weft_held *held, const struct roce_way *way)
{
	if (!held->uso.skb)
		return weft_burst_close(&held->burst, READ_ONCE(way->dst->dev));
	weft_uso_close(&held->uso, held->psn);
	return held->uso.skb;
}

static bool roce_release(struct weft_qp *qp, struct weft_held *held)
{
	u32 packets = held->packets;
	struct weft_tx_batch batch = {
		.qp = qp,
		.av = &qp->av,
		.tx = &qp->send.tx,
		.hdr = { .dqpn = qp->dest_qpn },
	};
	bool used = weft_tx_credit_is_used(&batch);
	struct roce_way way;
	int ret = -ENETUNREACH;

	weft_assert_turn(batch.tx->turn);
	roce_find_way(&batch, &way);
	rcu_read_lock();
	if (way.dst)
		ret = roce_output(roce_close(held, &way), &batch, &way);
	else
		kfree_skb(held->uso.skb ?: held->burst.head);
	rcu_read_unlock();
	roce_leave_way(&batch, &way);
	*held = (struct weft_held){};
	if (!ret) {
		batch.tx->backoffs = 0;
		weft_stats_add(qp, WEFT_STAT_TX_PACKETS, packets);
		return true;
	}
	if (ret == -ENOBUFS && !used && packets > 1) {
		batch.tx->alone = U8_MAX;
		weft_turn_post(batch.tx->turn, WEFT_EV_RUN);
		return false;
	}
	if (ret == -ENOBUFS && (weft_tx_credit_wait(&batch) || weft_tx_credit_backoff(&batch)))
		return false;
	weft_stats_add(qp, WEFT_STAT_TX_DROPPED, packets);
	return true;
}

/* Make the packet and keep it. Return: see weft_link.hold. */
static bool roce_keep(struct weft_tx_batch *batch, const struct roce_way *way,
		      struct weft_held *held)
{
	struct weft_hdr hdr = batch->hdr;
	struct sk_buff *skb;
	u32 size;
	u16 id;

	weft_packet_header(batch, 0, &hdr);
	/* an acknowledge has no PSN of the requester */
	id = held->packets ? held->psn + held->packets : hdr.psn;
	size = roce_size(&hdr, batch->length);
	if (!way->dst || dst_xfrm(way->dst) ||
	    weft_ip_headers(way->ip.ipv4) + size > dst_mtu(way->dst))
		return false;
	if (!held->packets && roce_may_uso(batch, way) &&
	    !roce_begin_uso(way, hdr.psn, &held->uso))
		return false;
	if (held->uso.skb) {
		/* nobody knows how many will follow: perhaps as many */
		if (roce_add_uso(batch, way, &held->uso, &hdr, batch->length, id,
				 held->packets + 1))
			return true;
		if (!held->packets) {
			kfree_skb(held->uso.skb);
			held->uso.skb = NULL;
		}
		return false;
	}
	if (!weft_burst_takes(&held->burst, size))
		return false;
	skb = roce_build(batch, way, &hdr, batch->length, id,
			 held->packets ? WEFT_BURST_HEADROOM : 0);
	if (skb)
		weft_burst_add(&held->burst, skb);
	return skb;
}

static bool roce_hold(struct weft_tx_batch *batch, struct weft_held *held)
{
	struct roce_way way;
	bool kept;

	weft_assert_turn(batch->tx->turn);
	if (unlikely(batch->tx->alone)) {
		batch->tx->alone--;
		return false;
	}
	if (weft_inject_is_on() || weft_monitor_is_on() ||
	    held->packets == WEFT_TX_BATCH_PACKETS || !weft_tx_credit_left(batch))
		return false;
	if (!held->packets)
		*held = (struct weft_held){};
	roce_find_way(batch, &way);
	rcu_read_lock();
	kept = roce_keep(batch, &way, held);
	rcu_read_unlock();
	roce_leave_way(batch, &way);
	if (!kept)
		return false;
	if (!held->packets++)
		held->psn = batch->hdr.psn;
	return true;
}

static u32 roce_batch(struct weft_tx_batch *batch)
{
	struct roce_way way;
	u32 i = 0, packets;

	weft_assert_turn(batch->tx->turn);
	roce_find_way(batch, &way);
	while (i < batch->num && weft_tx_credit_left(batch)) {
		packets = roce_burst(batch, &way, i, batch->num);
		if (!packets)
			break;
		i += packets;
	}
	roce_leave_way(batch, &way);
	return i;
}

static u32 roce_xmit(struct weft_tx_batch *batch)
{
	return weft_inject_is_on() ? weft_inject_xmit(batch, roce_batch) : roce_batch(batch);
}

static enum weft_verdict roce_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	return weft_packet_datagram(qp, dgram, roce_xmit);
}

const struct weft_link weft_link_roce = {
	.execute = weft_transmit,
	.datagram = roce_datagram,
	.xmit = roce_xmit,
	.hold = roce_hold,
	.release = roce_release,
	.forget = roce_forget,
};
WEFT_EXPORT_FOR_TEST(weft_link_roce);
