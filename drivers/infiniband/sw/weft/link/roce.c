// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RoCEv2, the way out.
 *
 * Room
 * ====
 *
 * A flow may have WEFT_TX_BYTES under way. Its packets are charged when they
 * are sent, by the owner of the turn, and discharged when they are freed, by
 * whoever frees them:
 *
 *	owner (roce_stall)              whoever frees (roce_freed)
 *
 *	stalled = true                  queued -= charge
 *	full barrier                    full barrier (atomic_sub_return)
 *	queued still too much?          stalled, and little enough queued?
 *	   then leave                      stalled = false
 *	stalled = false, go on             full barrier
 *	                                   post WEFT_EV_RUN
 *
 * Both sides store, fence, then load what the other one stores. So if the owner
 * finds too much queued, whoever frees the packet that makes it little enough
 * finds the flow stalled; nothing is added meanwhile, as only the owner adds.
 * The barrier before the event keeps the flag from being cleared after the
 * owner, having seen the event, has set it again. An event too many is harmless.
 */
#include "link/roce.h"

#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/log2.h>
#include <linux/percpu-refcount.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/inet_dscp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "engine/link.h"
#include "link/packet.h"
#include "link/udp.h"
#include "object/dev.h"
#include "object/flow.h"
#include "object/qp.h"
#include "object/table.h"
#include "params.h"
#include "stats.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

/* A stalled flow goes on when no more than this is under way. */
#define ROCE_TX_LOW		(WEFT_TX_BYTES / 2)

/*
 * What a packet is charged has to be known when it is freed, and its truesize
 * may be another by then (pskb_expand_head()). So it is charged a power of two,
 * and which one is kept in the lower bits of the pointer to its flow.
 */
#define ROCE_CHARGE_CLASSES	8
#define ROCE_CHARGE_MIN_ORDER	9

/**
 * struct roce_way - how packets get to their destination
 * @av: their addresses
 * @dst: route, referenced by the flow or by roce_xmit(); NULL: there is none
 * @sport: UDP source port
 * @ipv4: else IPv6
 */
struct roce_way {
	const struct weft_av	*av;
	struct dst_entry	*dst;
	__be16			sport;
	bool			ipv4;
};

/* One reference for the module, one for each packet. */
static struct percpu_ref roce_packets;
static DECLARE_COMPLETION(roce_idle);

static __be32 roce_ipv4(const union ib_gid *gid)
{
	return ((const struct in6_addr *)gid->raw)->s6_addr32[3];
}

static bool roce_is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

static int roce_charge(unsigned long class)
{
	return 1 << (class + ROCE_CHARGE_MIN_ORDER);
}

/* The buffer is what counts; it is a power of two (or nearly) as allocated. */
static unsigned long roce_charge_class(const struct sk_buff *skb)
{
	u32 buffer = skb->truesize - SKB_DATA_ALIGN(sizeof(struct sk_buff));

	return clamp(order_base_2(buffer), ROCE_CHARGE_MIN_ORDER,
		     ROCE_CHARGE_MIN_ORDER + ROCE_CHARGE_CLASSES - 1) -
	       ROCE_CHARGE_MIN_ORDER;
}

/*
 * The destructor of our packets. The device may be gone; the reference to the
 * QP keeps the flow and its turn, and a turn that was stopped for good takes the
 * event and does nothing.
 */
static void roce_freed(struct sk_buff *skb)
{
	unsigned long arg = (unsigned long)skb_shinfo(skb)->destructor_arg;
	unsigned long class = arg % ROCE_CHARGE_CLASSES;
	struct weft_flow *flow = (struct weft_flow *)(arg - class);
	struct weft_qp *qp = flow->turn->qp;
	int left;

	left = atomic_sub_return(roce_charge(class), &flow->queued);
	if (left <= ROCE_TX_LOW && READ_ONCE(flow->stalled)) {
		WRITE_ONCE(flow->stalled, false);
		smp_mb(); /* see the top of this file */
		weft_turn_post(flow->turn, WEFT_EV_RUN);
	}
	weft_qp_put(qp);
	percpu_ref_put(&roce_packets);
}

/* From here on roce_freed() is called when the packet is freed. */
static void roce_own(struct sk_buff *skb, struct weft_flow *flow)
{
	unsigned long class = roce_charge_class(skb);

	BUILD_BUG_ON(__alignof__(struct weft_flow) < ROCE_CHARGE_CLASSES);
	weft_qp_hold(flow->turn->qp);
	percpu_ref_get(&roce_packets);
	atomic_add(roce_charge(class), &flow->queued);
	/* nobody else looks at it while no flag says zerocopy */
	skb_shinfo(skb)->destructor_arg = (void *)((unsigned long)flow + class);
	skb->destructor = roce_freed;
}

/*
 * Return: true: more than @enough bytes are under way, and the event will come;
 * false: go on.
 */
static bool roce_stall(const struct weft_run *run, int enough)
{
	struct weft_flow *flow = run->flow;

	WRITE_ONCE(flow->stalled, true);
	smp_mb(); /* see the top of this file */
	if (atomic_read(&flow->queued) > enough) {
		weft_stats_inc(run->qp, WEFT_STAT_TX_STALLS);
		return true;
	}
	WRITE_ONCE(flow->stalled, false);
	return false;
}

static bool roce_has_room(const struct weft_run *run)
{
	return atomic_read(&run->flow->queued) < WEFT_TX_BYTES ||
	       !roce_stall(run, ROCE_TX_LOW);
}

/*
 * By the net device of the source address, and no other. But an address of this
 * host is reached by the loopback device, whichever net device has it: with
 * another one asked for, IPv4 would look for it outside.
 */
static struct dst_entry *roce_route_ipv4(struct net *net, const struct roce_way *way,
					 int oif)
{
	__be32 daddr = roce_ipv4(&way->av->dgid);
	struct flowi4 fl4;
	struct rtable *rt;

	if (inet_addr_type(net, daddr) == RTN_LOCAL)
		oif = 0;
	/* the ECN bits are no part of a route; 6.1 would take one for a flag */
	flowi4_init_output(&fl4, oif, 0, way->av->traffic_class & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0, daddr,
			   roce_ipv4(&way->av->sgid), cpu_to_be16(ROCE_V2_UDP_DPORT),
			   way->sport, sock_net_uid(net, NULL));
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return NULL;
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return NULL;
	}
	return &rt->dst;
}

/* An address of this host, perhaps of another net device, for which see IPv4. */
static bool roce_is_local_ipv6(struct net *net, const struct in6_addr *daddr)
{
	return !(ipv6_addr_type(daddr) & IPV6_ADDR_LINKLOCAL) &&
	       ipv6_chk_addr(net, daddr, NULL, 0);
}

static struct dst_entry *roce_route_ipv6(struct net *net, const struct roce_way *way,
					 int oif)
{
	struct flowi6 fl6 = {
		.flowi6_oif = oif,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, NULL),
		.flowlabel = ip6_make_flowinfo(way->av->traffic_class,
					       cpu_to_be32(way->av->flow_label)),
		.fl6_dport = cpu_to_be16(ROCE_V2_UDP_DPORT),
		.fl6_sport = way->sport,
	};
	struct dst_entry *dst = NULL;

	if (!IS_ENABLED(CONFIG_IPV6))
		return NULL;
	memcpy(&fl6.daddr, &way->av->dgid, sizeof(fl6.daddr));
	memcpy(&fl6.saddr, &way->av->sgid, sizeof(fl6.saddr));
	rcu_read_lock();
	/* there may be GIDs, but no IPv6 (ipv6.disable=1) */
	if (weft_udp_sock(net, AF_INET6)) {
		if (roce_is_local_ipv6(net, &fl6.daddr))
			fl6.flowi6_oif = 0;
		dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	}
	rcu_read_unlock();
	return IS_ERR(dst) ? NULL : dst;
}

/* Return: a route, referenced, or NULL. */
static struct dst_entry *roce_route(struct weft_dev *dev, const struct roce_way *way)
{
	const struct weft_av *av = way->av;
	struct dst_entry *dst;
	struct net *net;

	if (roce_is_ipv4(&av->sgid) != way->ipv4)
		return NULL;
	net = weft_av_source_net(av, dev);
	if (!net)
		return NULL;
	if (way->ipv4)
		dst = roce_route_ipv4(net, way, av->ifindex);
	else
		dst = roce_route_ipv6(net, way, av->ifindex);
	put_net(net);
	return dst;
}

static void roce_forget(struct weft_flow *flow)
{
	dst_release(flow->dst);
	flow->dst = NULL;
}

/*
 * A route may outlive its namespace in a flow, as net devices move out of one
 * that ends. What is behind dst->ops must not go then: those of IPv6 and of
 * IPsec are a namespace's own.
 */
static bool roce_may_keep(const struct weft_run *run, const struct roce_way *way)
{
	return way->dst && way->ipv4 && !dst_xfrm(way->dst) && !weft_qp_is_ud(run->qp);
}

static void roce_find_way(struct weft_run *run, struct roce_way *way)
{
	struct weft_flow *flow = run->flow;
	const struct weft_av *av = run->av;

	*way = (struct roce_way){
		.av = av,
		.sport = cpu_to_be16(rdma_get_udp_sport(av->flow_label, run->qp->qpn,
							run->hdr.dqpn)),
		.ipv4 = roce_is_ipv4(&av->dgid),
	};
	if (!weft_dev_port_active(run->qp->dev))
		return;
	if (flow->dst && dst_check(flow->dst, flow->cookie)) {
		way->dst = flow->dst;
		return;
	}
	roce_forget(flow);
	way->dst = roce_route(run->qp->dev, way);
	if (roce_may_keep(run, way)) {
		flow->dst = way->dst;
		flow->cookie = 0; /* IPv4 has none */
	}
}

static void roce_leave_way(const struct weft_run *run, const struct roce_way *way)
{
	if (way->dst != run->flow->dst)
		dst_release(way->dst);
}

static u32 roce_ip_length(const struct roce_way *way)
{
	return way->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

/* What is in front of the BTH. */
static u32 roce_room(const struct roce_way *way)
{
	return LL_RESERVED_SPACE(READ_ONCE(way->dst->dev)) + way->dst->header_len +
	       roce_ip_length(way) + sizeof(struct udphdr);
}

static void roce_push_udp(struct sk_buff *skb, const struct roce_way *way)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));

	skb_reset_transport_header(skb);
	udp->source = way->sport;
	udp->dest = cpu_to_be16(ROCE_V2_UDP_DPORT);
	udp->len = cpu_to_be16(skb->len);
	udp->check = 0;
}

/* As it leaves: ip_local_out() sets the length to the same, and the checksum. */
static void roce_push_ipv4(struct sk_buff *skb, const struct roce_way *way)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = cpu_to_be16(ETH_P_IP);
	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tos = way->av->traffic_class,
		.tot_len = cpu_to_be16(skb->len),
		.frag_off = cpu_to_be16(IP_DF),
		.ttl = way->av->hop_limit ?: ip4_dst_hoplimit(way->dst),
		.protocol = IPPROTO_UDP,
		.saddr = roce_ipv4(&way->av->sgid),
		.daddr = roce_ipv4(&way->av->dgid),
	};
}

/* As it leaves: ip6_local_out() sets the length to the same. */
static void roce_push_ipv6(struct sk_buff *skb, const struct roce_way *way)
{
	u32 length = skb->len;
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	skb_reset_network_header(skb);
	skb->protocol = cpu_to_be16(ETH_P_IPV6);
	ip6_flow_hdr(ip, way->av->traffic_class, cpu_to_be32(way->av->flow_label));
	ip->payload_len = cpu_to_be16(length);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = way->av->hop_limit ?: ip6_dst_hoplimit(way->dst);
	memcpy(&ip->saddr, &way->av->sgid, sizeof(ip->saddr));
	memcpy(&ip->daddr, &way->av->dgid, sizeof(ip->daddr));
}

/* The last of all: the headers are complete. */
static void roce_seal(struct sk_buff *skb, const struct roce_way *way)
{
	const struct weft_wire_bth *bth = (const void *)(udp_hdr(skb) + 1);
	u32 crc;

	if (way->ipv4)
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
static struct sock *roce_sock(const struct weft_run *run, const struct net *net,
			      bool ipv4)
{
	if (!run->av->multicast || !run->qp->dev->local_link)
		return NULL;
	return weft_udp_sock(net, ipv4 ? AF_INET : AF_INET6);
}

/* Return: 0; -ENOBUFS: the queue of the net device is full; or another error. */
static int roce_output(struct sk_buff *skb, const struct weft_run *run,
		       const struct roce_way *way)
{
	struct net *net = dev_net(READ_ONCE(way->dst->dev));
	struct sock *sk = roce_sock(run, net, way->ipv4);
	int ret;

	skb->priority = run->av->sl;
	/* whoever keeps the packet takes a reference */
	skb_dst_set_noref(skb, way->dst);
	roce_own(skb, run->flow);
	if (way->ipv4)
		ret = ip_local_out(net, sk, skb);
	else
		ret = ip6_local_out(net, sk, skb);
	ret = net_xmit_eval(ret);
	return ret > 0 ? -ENOBUFS : ret;
}

/*
 * Return: 0; -ENETUNREACH: no route; -EMSGSIZE: too long for it; -ENOBUFS: no
 * memory, or no room in the queue of the net device; or what IP returned.
 */
static int roce_send(const struct weft_run *run, const struct roce_way *way,
		     const struct weft_hdr *hdr, u32 length)
{
	u32 size = weft_opcode(hdr->opcode)->length + length + hdr->pad +
		   WEFT_ICRC_LENGTH;
	struct sk_buff *skb;

	if (!way->dst)
		return -ENETUNREACH;
	if (roce_ip_length(way) + sizeof(struct udphdr) + size > dst_mtu(way->dst))
		return -EMSGSIZE;
	skb = weft_packet_build(run, hdr, length, roce_room(way));
	if (!skb)
		return -ENOBUFS;
	roce_push_udp(skb, way);
	if (way->ipv4)
		roce_push_ipv4(skb, way);
	else
		roce_push_ipv6(skb, way);
	roce_seal(skb, way);
	return roce_output(skb, run, way);
}

/* Return: false: it has to be sent again when there is room. */
static bool roce_packet(struct weft_run *run, const struct roce_way *way,
			const struct weft_hdr *hdr, u32 length)
{
	struct weft_iter start = {};
	int ret;

	if (length)
		start = *run->payload;
	/* keeps the net device of the route, and the socket of roce_sock() */
	rcu_read_lock();
	ret = roce_send(run, way, hdr, length);
	rcu_read_unlock();
	if (!ret) {
		weft_stats_inc(run->qp, WEFT_STAT_TX_PACKETS);
		return true;
	}
	if (length)
		*run->payload = start;
	/* it was the fault of what is under way, perhaps of our own */
	if (ret == -ENOBUFS && roce_stall(run, 0))
		return false;
	if (length)
		weft_iter_skip(run->payload, length);
	weft_stats_inc(run->qp, WEFT_STAT_TX_DROPPED);
	return true;
}

/* Make @hdr that of packet @i, and return how much payload it has. */
static u32 roce_header(const struct weft_run *run, u32 i, struct weft_hdr *hdr)
{
	bool last = i + 1 == run->num;
	u32 length = last ? run->length - i * run->mtu : run->mtu;

	if (i)
		hdr->opcode = last ? run->last : run->middle;
	hdr->psn = weft_psn_add(run->hdr.psn, i);
	hdr->ackreq = last && run->hdr.ackreq;
	hdr->se = last && run->hdr.se;
	hdr->pad = -length & 3;
	return length;
}

static u32 roce_xmit(struct weft_run *run)
{
	struct weft_hdr hdr = run->hdr;
	struct roce_way way;
	u32 i, length;

	weft_assert_turn(run->flow->turn);
	roce_find_way(run, &way);
	for (i = 0; i < run->num; i++) {
		if (!roce_has_room(run))
			break;
		length = roce_header(run, i, &hdr);
		if (!roce_packet(run, &way, &hdr, length))
			break;
	}
	roce_leave_way(run, &way);
	return i;
}

static u8 roce_datagram_opcode(const struct weft_request *req)
{
	return WEFT_OPCODE(WEFT_TRANSPORT_UD,
			   req->opcode == WEFT_SQE_SEND_IMM ? WEFT_OP_SEND_ONLY_IMM :
							      WEFT_OP_SEND_ONLY);
}

static void roce_datagram(struct weft_qp *qp, struct weft_datagram *dgram,
			  const struct weft_sgl *local, struct weft_answer *answer)
{
	const struct weft_request *req = &dgram->req;
	struct weft_iter payload;
	struct weft_run run = {
		.qp = qp,
		.av = dgram->av,
		.flow = &qp->send.flow,
		.hdr = {
			.opcode = roce_datagram_opcode(req),
			.se = req->solicited,
			.migreq = true,
			.pkey = WEFT_DEFAULT_PKEY,
			.dqpn = dgram->qpn,
			.psn = qp->send.psn,
			.imm = (__force __be32)req->ex,
			.deth.qkey = dgram->qkey,
			.deth.sqpn = qp->qpn,
		},
		.num = 1,
		.mtu = req->length,
		.length = req->length,
		.payload = &payload,
	};

	weft_sgl_iter(local, &payload);
	if (!roce_xmit(&run)) {
		answer->outcome = WEFT_OUTCOME_STALLED;
		return;
	}
	qp->send.psn = weft_psn_add(qp->send.psn, 1);
	answer->outcome = WEFT_OUTCOME_DONE;
}

const struct weft_link weft_link_roce = {
	.datagram = roce_datagram,
	.xmit = roce_xmit,
	.forget = roce_forget,
};

static void roce_all_freed(struct percpu_ref *ref)
{
	complete(&roce_idle);
}

int weft_roce_init(void)
{
	return percpu_ref_init(&roce_packets, roce_all_freed, 0, GFP_KERNEL);
}

void weft_roce_exit(void)
{
	percpu_ref_kill(&roce_packets);
	wait_for_completion(&roce_idle);
	/* whoever freed the last one may not have returned yet */
	synchronize_rcu();
	percpu_ref_exit(&roce_packets);
}
