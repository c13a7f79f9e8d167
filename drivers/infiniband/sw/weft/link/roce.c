// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2, the way out.
 */
#include "link/roce.h"

#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include <net/addrconf.h>
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
#include "link/packet.h"
#include "link/tx_credit.h"
#include "link/udp.h"
#include "inet/ip.h"
#include "object/dev.h"
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

/**
 * struct roce_way - how packets get to their destination
 * @ip: addresses and ports
 * @net: namespace they go out in, referenced; NULL: the transmitter has had @dst
 * @dst: route, referenced by the transmitter or by roce_xmit(); NULL: there is none
 */
struct roce_way {
	struct weft_ip_path	ip;
	struct net		*net;
	struct dst_entry	*dst;
};

/* An address of this host, perhaps of another net device than the source address. */
static bool roce_is_local(struct net *net, const struct weft_ip_path *ip)
{
	if (ip->ipv4)
		return inet_addr_type(net, weft_ip_v4(&ip->daddr)) == RTN_LOCAL;
	return !(ipv6_addr_type(&ip->daddr) & IPV6_ADDR_LINKLOCAL) &&
	       ipv6_chk_addr(net, &ip->daddr, NULL, 0);
}

/*
 * A packet leaves by the net device of its source address, and no other. But the loopback device
 * reaches an address of this host, whichever net device has it: with another one asked for, IP
 * would look for the address outside.
 */
static struct dst_entry *roce_lookup(struct net *net, struct weft_ip_path *ip, int oif)
{
	struct dst_entry *dst = NULL;

	rcu_read_lock();
	/* there may be GIDs, but no IPv6 (ipv6.disable=1) */
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
 * A route may outlive its namespace in a tx, as net devices move out of one
 * that ends. What is behind dst->ops must not go then: those of IPv6 and of
 * IPsec are a namespace's own, which has to be kept as long as they are.
 */
static bool roce_may_keep(const struct weft_tx_batch *batch, const struct roce_way *way)
{
	return way->dst && way->ip.ipv4 && !dst_xfrm(way->dst) && !weft_qp_is_ud(batch->qp);
}

static void roce_find_way(struct weft_tx_batch *batch, struct roce_way *way)
{
	struct weft_tx *tx = batch->tx;
	const struct weft_av *av = batch->av;

	*way = (struct roce_way){
		.ip = {
			.saddr = *(const struct in6_addr *)av->sgid.raw,
			.daddr = *(const struct in6_addr *)av->dgid.raw,
			.sport = cpu_to_be16(rdma_get_udp_sport(av->flow_label, batch->qp->qpn,
								batch->hdr.dqpn)),
			.dport = cpu_to_be16(ROCE_V2_UDP_DPORT),
			.flow_label = av->flow_label,
			.tclass = av->traffic_class,
			.hop_limit = av->hop_limit,
			.ipv4 = ipv6_addr_v4mapped((const struct in6_addr *)av->dgid.raw),
		},
	};
	if (!weft_dev_port_active(batch->qp->dev))
		return;
	if (tx->dst && dst_check(tx->dst, 0 /* IPv4 has no cookie */)) {
		way->dst = tx->dst;
		return;
	}
	roce_forget_route(tx);
	roce_route(batch->qp->dev, av, way);
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

/* The last of all: the headers are complete, and the ICRC is zero. */
static void roce_seal(struct sk_buff *skb, const struct weft_tx_batch *batch,
		      const struct roce_way *way)
{
	const struct weft_wire_bth *bth = (const void *)(udp_hdr(skb) + 1);
	u32 crc;

	if (!READ_ONCE(batch->qp->dev->icrc) && !batch->av->multicast)
		return;
	if (way->ip.ipv4)
		crc = weft_icrc_begin_ipv4(ip_hdr(skb), udp_hdr(skb), bth);
	else
		crc = weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
	weft_packet_seal(skb, bth, crc);
}

/*
 * All IP wants of a socket here is whether a multicast comes back to this host.
 * It must not when the local link has done that already. Nobody else needs one:
 * the packet belongs to none (skb->sk), so owner matches and BPF of a cgroup
 * find none either way, and the path MTU counts only without.
 */
static struct sock *roce_sock(const struct weft_tx_batch *batch, const struct net *net,
			      bool ipv4)
{
	if (!batch->av->multicast || !batch->av->local)
		return NULL;
	return weft_udp_sock(net, ipv4 ? AF_INET : AF_INET6);
}

/*
 * A net device may have queues for each CPU. One half runs now here, now there: what is
 * under way must not be overtaken by what goes through another queue.
 */
static void roce_choose_queue(const struct weft_tx_batch *batch, struct sk_buff *skb)
{
#ifdef CONFIG_XPS
	if (!weft_tx_credit_is_used(batch))
		batch->tx->sender_cpu = raw_smp_processor_id() + 1;
	skb->sender_cpu = batch->tx->sender_cpu;
#endif
}

/* Return: 0; -ENOBUFS: the queue of the net device is full; or another error. */
static int roce_output(const struct weft_burst *burst, const struct weft_tx_batch *batch,
		       const struct roce_way *way)
{
	const struct net_device *ndev = READ_ONCE(way->dst->dev);
	struct sk_buff *skb = weft_burst_close(burst, ndev);
	struct net *net = dev_net(ndev);
	struct sock *sk = roce_sock(batch, net, way->ip.ipv4);
	int ret;

	skb->priority = batch->av->sl;
	/* whoever keeps the packet takes a reference */
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

/* Return: a packet from the IP header to the ICRC, with @room in front, or NULL. */
static struct sk_buff *roce_build(const struct weft_tx_batch *batch, const struct roce_way *way,
				  const struct weft_hdr *hdr, u32 length, u32 room)
{
	const struct net_device *ndev = READ_ONCE(way->dst->dev);
	struct sk_buff *skb;

	/* one that takes no pieces, as virtio_net has without checksums, would have it copied */
	skb = weft_packet_build(batch, hdr, length, roce_headroom(way) + room,
				!(ndev->features & NETIF_F_SG));
	if (!skb)
		return NULL;
	/* the identification is free where nothing is fragmented (RFC 6864): the PSN, for bursts */
	weft_ip_push(skb, &way->ip, way->dst, hdr->psn);
	roce_seal(skb, batch, way);
	return skb;
}

/* Bytes from the BTH to the ICRC. */
static u32 roce_size(const struct weft_hdr *hdr, u32 length)
{
	return weft_opcode(hdr->opcode)->length + length + hdr->pad + WEFT_ICRC_LENGTH;
}

/*
 * Make packets of a batch, the first one of which is number @i, as many as go together, up
 * to @most. IPsec would take them apart at once.
 *
 * Return: 0; -ENETUNREACH: no route; -EMSGSIZE: the first one is too long for it;
 * -ENOBUFS: no memory for it.
 */
static int roce_fill(struct weft_tx_batch *batch, const struct roce_way *way, u32 i, u32 most,
		     struct weft_burst *burst)
{
	u32 front = weft_ip_headers(way->ip.ipv4);
	struct weft_hdr hdr = batch->hdr;
	u32 length, size, mtu;
	struct sk_buff *skb;

	if (!way->dst)
		return -ENETUNREACH;
	mtu = dst_mtu(way->dst);
	do {
		length = weft_packet_header(batch, i, &hdr);
		size = roce_size(&hdr, length);
		if (front + size > mtu)
			return burst->head ? 0 : -EMSGSIZE;
		if (!weft_burst_takes(burst, size))
			break;
		skb = roce_build(batch, way, &hdr, length, burst->head ? WEFT_BURST_HEADROOM : 0);
		if (!skb)
			return burst->head ? 0 : -ENOBUFS;
		weft_burst_add(burst, skb);
	} while (++i < batch->num && burst->packets < most && !dst_xfrm(way->dst));
	return 0;
}

/*
 * Send packets of a batch, the first one of which is number @i, @most of them together.
 * Return: how many have gone; 0: to be sent again when there is room.
 */
static u32 roce_burst(struct weft_tx_batch *batch, const struct roce_way *way, u32 i, u32 most)
{
	struct weft_burst burst = {};
	bool used = weft_tx_credit_is_used(batch);
	struct weft_iter start = {};
	u32 packets;
	int ret;

	if (batch->length)
		start = *batch->payload;
	/* as weft_packet_build() wants; and what has come up runs when all have left */
	local_bh_disable();
	/* keeps the net device of the route, and the socket of roce_sock() */
	rcu_read_lock();
	ret = roce_fill(batch, way, i, most, &burst);
	if (!ret)
		ret = roce_output(&burst, batch, way);
	rcu_read_unlock();
	local_bh_enable();
	packets = burst.packets ?: 1;
	if (!ret) {
		batch->tx->backoffs = 0;
		weft_stats_add(batch->qp, WEFT_STAT_TX_PACKETS, packets);
		return packets;
	}
	if (batch->length)
		*batch->payload = start;
	/* it was the fault of what is under way, perhaps of our own */
	if (ret == -ENOBUFS && weft_tx_credit_wait(batch))
		return 0;
	/*
	 * What was under way then has left since, and nobody else of this transmitter sends. Or the
	 * queue is too short for so many at once, though it may be empty.
	 */
	if (ret == -ENOBUFS && (used || packets > 1))
		return roce_burst(batch, way, i, 1);
	if (ret == -ENOBUFS && weft_tx_credit_backoff(batch))
		return 0;
	weft_packet_lost(batch, i, packets);
	return packets;
}

static u32 roce_xmit(struct weft_tx_batch *batch)
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

static enum weft_verdict roce_datagram(struct weft_qp *qp, struct weft_datagram *dgram)
{
	return weft_packet_datagram(qp, dgram, roce_xmit);
}

const struct weft_link weft_link_roce = {
	.execute = weft_transmit,
	.datagram = roce_datagram,
	.xmit = roce_xmit,
	.forget = roce_forget,
};
WEFT_EXPORT_FOR_TEST(weft_link_roce);
