// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * link/roce.c: the packets that a requester sends. They go to an address of the loopback device.
 * The test looks at them when they come in again, before IP does.
 */
#include "fake_link.h"

#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include <kunit/test.h>

#include "link/roce.h"
#include "link/tx_credit.h"
#include "link/udp.h"
#include "object/cc.h"
#include "object/table.h"
#include "params.h"
#include "stats.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"

#define ROCE_PSN	0xabfffe
/* No such QP exists. */
#define ROCE_DQPN	0x345678
#define ROCE_BYTES	3000
/* BTH and RETH. */
#define ROCE_HEADERS	28
#define ROCE_PATIENCE	(10 * HZ)
/* The service level of packets that a queue may refuse. */
#define ROCE_REFUSED_SL	9

/**
 * struct roce_bench - a requester, and packets that have come in again
 * @link: the QPs; the requester is that of the first node
 * @qp: of the first node
 * @opened: the sockets are open
 * @tap: sees packets that come by the loopback device
 * @seen: RoCEv2 packets among them, from the IP header on
 * @cuts: the loopback device takes buffers of USO, and no bursts
 * @cut: such buffers that have come in again
 * @refuse: if registered, the loopback device takes no buffer of more than @most packets
 * @most: see @refuse
 * @payload: what is sent
 */
struct roce_bench {
	struct fake_link	*link;
	struct weft_qp		*qp;
	bool			opened;
	struct packet_type	tap;
	struct sk_buff_head	seen;
	bool			cuts;
	u32			cut;
	struct nf_hook_ops	refuse;
	u32			most;
	u8			payload[ROCE_BYTES];
};

static struct roce_bench *bench;

/**
 * struct roce_family - parameter of a case
 * @name: shown in the results
 * @ipv4: else IPv6
 */
struct roce_family {
	const char	*name;
	bool		ipv4;
};

static const struct roce_family roce_families[] = {
	{ "IPv4", .ipv4 = true },
	{ "IPv6" },
};

static void roce_family_desc(const struct roce_family *family, char *desc)
{
	strscpy(desc, family->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(roce_family, roce_families, roce_family_desc);

static bool roce_is_ipv4(const struct kunit *test)
{
	return ((const struct roce_family *)test->param_value)->ipv4;
}

/* Soft interrupt. IP has a reference to @skb, too. Bursts are left to link/udp.c. */
static int roce_tap(struct sk_buff *skb, struct net_device *ndev, struct packet_type *tap,
		    struct net_device *orig_ndev)
{
	struct sk_buff *copy = skb_is_gso(skb) ? NULL : skb_copy(skb, GFP_ATOMIC);
	u32 front = ntohs(tap->type) == ETH_P_IP ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);

	if (skb_is_gso(skb) && !(skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST))
		WRITE_ONCE(bench->cut, bench->cut + 1);
	kfree_skb(skb);
	if (!copy)
		return 0;
	skb_reset_network_header(copy);
	skb_set_transport_header(copy, front);
	if (copy->len > front + sizeof(struct udphdr) &&
	    udp_hdr(copy)->dest == htons(ROCE_V2_UDP_DPORT))
		skb_queue_tail(&bench->seen, copy);
	else
		kfree_skb(copy);
	return 0;
}

static void roce_loopback_gid(union ib_gid *gid, bool ipv4)
{
	if (ipv4)
		ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), (struct in6_addr *)gid->raw);
	else
		memcpy(gid, &in6addr_loopback, sizeof(*gid));
}

static void roce_set_gid(struct kunit *test, struct weft_dev *dev, const union ib_gid *gid)
{
	struct weft_gid *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	entry->dev = dev;
	entry->gid = *gid;
	entry->net = &init_net;
	entry->ifindex = init_net.loopback_dev->ifindex;
	weft_dev_set_gid(dev, 0, entry);
}

/* Both nodes have the address of the loopback device. */
static void roce_set_path(struct kunit *test, struct weft_qp *qp, bool ipv4)
{
	roce_loopback_gid(&qp->av.sgid, ipv4);
	roce_loopback_gid(&qp->av.dgid, ipv4);
	qp->av.net = &init_net;
	qp->av.ifindex = init_net.loopback_dev->ifindex;
	roce_set_gid(test, qp->dev, &qp->av.sgid);
}

/* Does the loopback device cut up buffers? See weft_uso_fits(). */
static void roce_cut(bool cuts)
{
	struct net_device *lo = init_net.loopback_dev;

	rtnl_lock();
	if (cuts)
		lo->features &= ~NETIF_F_GSO_FRAGLIST;
	else
		lo->features |= NETIF_F_GSO_FRAGLIST;
	rtnl_unlock();
	bench->cuts = cuts;
	bench->qp->dev->uso = cuts;
}

static int roce_test_init(struct kunit *test)
{
	static const struct fake_attr attr = { .type = IB_QPT_RC, .max_wr = 4 };
	bool ipv4 = roce_is_ipv4(test);
	u32 i;

	if (!(READ_ONCE(init_net.loopback_dev->flags) & IFF_UP))
		return 0;
	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	skb_queue_head_init(&bench->seen);
	bench->link = fake_link_create(test, &attr, 1);
	bench->qp = bench->link->node[0].qp;
	for (i = 0; i < FAKE_NODES; i++) {
		bench->link->node[i].dev.icrc = true;
		roce_set_path(test, bench->link->node[i].qp, ipv4);
	}
	for (i = 0; i < ROCE_BYTES; i++)
		bench->payload[i] = i * 7 + i / 256;
	KUNIT_ASSERT_EQ(test, weft_udp_open(&init_net), 0);
	bench->opened = true;
	bench->tap.type = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	bench->tap.dev = init_net.loopback_dev;
	bench->tap.func = roce_tap;
	dev_add_pack(&bench->tap);
	return 0;
}

static void roce_test_exit(struct kunit *test)
{
	u32 i;

	if (!bench)
		return;
	if (bench->cuts)
		roce_cut(false);
	if (bench->refuse.hook)
		nf_unregister_net_hook(&init_net, &bench->refuse);
	if (bench->tap.func)
		dev_remove_pack(&bench->tap);
	if (bench->opened)
		weft_udp_close(&init_net);
	for (i = 0; i < FAKE_NODES && bench->link; i++) {
		struct weft_qp *qp = bench->link->node[i].qp;

		if (!qp)
			continue;
		weft_link_roce.forget(&qp->send.tx);
		weft_dev_set_gid(qp->dev, 0, NULL);
	}
	skb_queue_purge(&bench->seen);
	/* a reader may still use the GID entries, which point to the devices */
	synchronize_rcu();
	fake_link_destroy(test->priv);
	bench = NULL;
}

static bool roce_begin(struct kunit *test)
{
	bool ipv6;

	if (!bench)
		kunit_skip(test, "the loopback device is down");
	rcu_read_lock();
	ipv6 = weft_udp_sock(&init_net, AF_INET6);
	rcu_read_unlock();
	if (!roce_is_ipv4(test) && !ipv6)
		kunit_skip(test, "there is no IPv6");
	return roce_is_ipv4(test);
}

/* ---- sending ---- */

/**
 * struct roce_send - a message, and what became of it
 * @batch: its packets
 * @span: its payload
 * @iter: the same
 */
struct roce_send {
	struct weft_tx_batch	batch;
	struct weft_span	span;
	struct weft_iter	iter;
};

/* An RDMA WRITE of @length bytes, in packets of @mtu. */
static void roce_prepare(struct roce_send *send, u32 length, u32 mtu)
{
	u32 num = length > mtu ? DIV_ROUND_UP(length, mtu) : 1;

	*send = (struct roce_send) {
		.batch = {
			.qp = bench->qp,
			.av = &bench->qp->av,
			.tx = &bench->qp->send.tx,
			.hdr = {
				.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC,
						      num > 1 ? WEFT_OP_WRITE_FIRST :
								WEFT_OP_WRITE_ONLY),
				.migreq = true,
				.ackreq = true,
				.pkey = WEFT_DEFAULT_PKEY,
				.dqpn = ROCE_DQPN,
				.psn = ROCE_PSN,
				.reth.length = length,
			},
			.middle = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_MIDDLE),
			.last = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_LAST),
			.num = num,
			.mtu = mtu,
			.length = length,
		},
		.span = { .addr = (uintptr_t)bench->payload, .length = length },
	};
	weft_span_iter(&send->span, &send->iter);
	send->batch.payload = &send->iter;
}

/* Send a batch. A link demands that the turn is owned. */
static u32 roce_xmit(struct kunit *test, struct roce_send *send)
{
	struct weft_turn *turn = send->batch.tx->turn;
	u32 sent;

	KUNIT_ASSERT_TRUE(test, weft_turn_try(turn));
	sent = weft_link_roce.xmit(&send->batch);
	weft_turn_release(turn);
	return sent;
}

static struct sk_buff *roce_seen(void)
{
	unsigned long end = jiffies + ROCE_PATIENCE;
	struct sk_buff *skb;

	while (!(skb = skb_dequeue(&bench->seen)) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return skb;
}

/* Send one packet, and return it as it has come in. */
static struct sk_buff *roce_send_one(struct kunit *test, u32 length)
{
	struct roce_send send;
	struct sk_buff *skb;

	roce_prepare(&send, length, ROCE_BYTES);
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 1);
	skb = roce_seen();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, skb_linearize(skb), 0);
	return skb;
}

static u64 roce_counted(enum weft_stat stat)
{
	return weft_stats_sum(bench->qp->dev, stat);
}

/* The computed ICRC of a packet in one piece. */
static u32 roce_icrc(const struct sk_buff *skb)
{
	const struct weft_wire_bth *bth = (const void *)(udp_hdr(skb) + 1);
	u32 crc;

	if (ip_hdr(skb)->version == 4)
		crc = weft_icrc_begin_ipv4(ip_hdr(skb), udp_hdr(skb), bth);
	else
		crc = weft_icrc_begin_ipv6(ipv6_hdr(skb), udp_hdr(skb), bth);
	return weft_icrc_bytes(crc, bth + 1, skb_tail_pointer(skb) - WEFT_ICRC_LENGTH -
					     (const u8 *)(bth + 1));
}

static bool roce_is_sealed(const struct sk_buff *skb)
{
	return weft_icrc_matches(skb_tail_pointer(skb) - WEFT_ICRC_LENGTH, roce_icrc(skb));
}

/* ---- headers ---- */

static void headers_are_those_of_the_path(struct kunit *test)
{
	bool ipv4 = roce_begin(test);
	struct weft_av *av = &bench->qp->av;
	struct sk_buff *skb;

	av->traffic_class = 0x6a;
	av->flow_label = 0x54321;
	av->hop_limit = 17;
	av->sl = 5;
	skb = roce_send_one(test, 100);
	KUNIT_EXPECT_EQ(test, skb->priority, 5);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->source), rdma_flow_label_to_udp_sport(0x54321));
	KUNIT_EXPECT_EQ(test, udp_hdr(skb)->check, 0);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->len), 8 + ROCE_HEADERS + 100 + 4);
	if (ipv4) {
		const struct iphdr *ip = ip_hdr(skb);

		KUNIT_EXPECT_EQ(test, ip->version + 0, 4);
		KUNIT_EXPECT_EQ(test, ip->ihl + 0, 5);
		KUNIT_EXPECT_EQ(test, ip->tos, 0x6a);
		KUNIT_EXPECT_EQ(test, ip->ttl, 17);
		KUNIT_EXPECT_EQ(test, ip->protocol, IPPROTO_UDP);
		KUNIT_EXPECT_EQ(test, ntohs(ip->frag_off), IP_DF);
		KUNIT_EXPECT_EQ(test, ntohs(ip->id), ROCE_PSN & 0xffff);
		KUNIT_EXPECT_EQ(test, ntohs(ip->tot_len), skb->len);
		KUNIT_EXPECT_EQ(test, ip->saddr, htonl(INADDR_LOOPBACK));
		KUNIT_EXPECT_EQ(test, ip->daddr, htonl(INADDR_LOOPBACK));
	} else {
		const struct ipv6hdr *ip = ipv6_hdr(skb);

		KUNIT_EXPECT_EQ(test, ip->version + 0, 6);
		KUNIT_EXPECT_EQ(test, ipv6_get_dsfield(ip), 0x6a);
		KUNIT_EXPECT_EQ(test, ntohl(ip6_flowlabel(ip)), 0x54321);
		KUNIT_EXPECT_EQ(test, ip->hop_limit, 17);
		KUNIT_EXPECT_EQ(test, ip->nexthdr, IPPROTO_UDP);
		KUNIT_EXPECT_EQ(test, ntohs(ip->payload_len), skb->len - sizeof(*ip));
		KUNIT_EXPECT_TRUE(test, ipv6_addr_loopback(&ip->saddr));
		KUNIT_EXPECT_TRUE(test, ipv6_addr_loopback(&ip->daddr));
	}
	kfree_skb(skb);
}

static u8 roce_ecn(struct kunit *test, bool answer)
{
	bool ipv4 = roce_is_ipv4(test);
	struct roce_send send;
	struct sk_buff *skb;
	u8 ecn;

	roce_prepare(&send, 0, ROCE_BYTES);
	if (answer)
		send.batch.tx = &bench->qp->recv.tx;
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 1);
	skb = roce_seen();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	ecn = (ipv4 ? ip_hdr(skb)->tos : ipv6_get_dsfield(ipv6_hdr(skb))) & INET_ECN_MASK;
	kfree_skb(skb);
	return ecn;
}

/* With congestion control by marks requests may be marked, unless the path already says it. */
static void requests_may_be_marked(struct kunit *test)
{
	roce_begin(test);
	KUNIT_EXPECT_EQ(test, roce_ecn(test, false), INET_ECN_NOT_ECT);
	bench->qp->dev->cc = WEFT_CC_DCQCN;
	KUNIT_EXPECT_EQ(test, roce_ecn(test, false), INET_ECN_ECT_0);
	KUNIT_EXPECT_EQ(test, roce_ecn(test, true), INET_ECN_NOT_ECT);
	bench->qp->av.traffic_class = INET_ECN_ECT_1;
	KUNIT_EXPECT_EQ(test, roce_ecn(test, false), INET_ECN_ECT_1);
}

/* Hop limit 0 leaves the choice to IP. */
static void hop_limit_has_a_default(struct kunit *test)
{
	bool ipv4 = roce_begin(test);
	struct sk_buff *skb = roce_send_one(test, 0);

	KUNIT_EXPECT_GT(test, ipv4 ? ip_hdr(skb)->ttl : ipv6_hdr(skb)->hop_limit, 1);
	kfree_skb(skb);
}

static u16 roce_source_port(struct kunit *test, u32 dqpn)
{
	struct roce_send send;
	struct sk_buff *skb;
	u16 port;

	roce_prepare(&send, 0, ROCE_BYTES);
	send.batch.hdr.dqpn = dqpn;
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 1);
	skb = roce_seen();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	port = ntohs(udp_hdr(skb)->source);
	kfree_skb(skb);
	return port;
}

/* Without a flow label the UDP source port depends on both QPs, and is the same for each packet. */
static void source_port_is_that_of_the_qps(struct kunit *test)
{
	u32 i, others = 0;
	u16 port[8];

	roce_begin(test);
	for (i = 0; i < ARRAY_SIZE(port); i++) {
		port[i] = roce_source_port(test, ROCE_DQPN + i);
		KUNIT_EXPECT_GE(test, port[i], IB_ROCE_UDP_ENCAP_VALID_PORT_MIN);
		KUNIT_EXPECT_EQ(test, roce_source_port(test, ROCE_DQPN + i), port[i]);
		others += port[i] != port[0];
	}
	KUNIT_EXPECT_GT(test, others, 0);
}

/* ---- payload and ICRC ---- */

static void payload_is_padded_and_sealed(struct kunit *test)
{
	static const u32 lengths[] = { 0, 1, 2, 3, 4, 255, 511, 512, 513, 2999, ROCE_BYTES };
	const struct weft_wire_bth *bth;
	struct sk_buff *skb;
	u32 i, pad;
	u8 *at;

	roce_begin(test);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		pad = -lengths[i] & 3;
		skb = roce_send_one(test, lengths[i]);
		bth = (const void *)(udp_hdr(skb) + 1);
		at = (u8 *)bth + ROCE_HEADERS;
		KUNIT_ASSERT_EQ(test, skb_tail_pointer(skb) - at, lengths[i] + pad + 4);
		KUNIT_EXPECT_EQ(test, memcmp(at, bench->payload, lengths[i]), 0);
		KUNIT_EXPECT_TRUE(test, !memchr_inv(at + lengths[i], 0, pad));
		KUNIT_EXPECT_TRUE(test, roce_is_sealed(skb));
		kfree_skb(skb);
	}
}

/* A device may leave out ICRCs, but not in packets to a group. */
static void icrc_may_be_left_out(struct kunit *test)
{
	struct sk_buff *skb;

	roce_begin(test);
	bench->qp->dev->icrc = false;
	skb = roce_send_one(test, 600);
	KUNIT_EXPECT_TRUE(test, !memchr_inv(skb_tail_pointer(skb) - WEFT_ICRC_LENGTH, 0,
					    WEFT_ICRC_LENGTH));
	kfree_skb(skb);
	bench->qp->av.multicast = true;
	skb = roce_send_one(test, 600);
	KUNIT_EXPECT_TRUE(test, roce_is_sealed(skb));
	kfree_skb(skb);
}

static void roce_message(struct kunit *test)
{
	struct fake_node *to = &bench->link->node[1];
	unsigned long end = jiffies + ROCE_PATIENCE;
	struct weft_dev *dev = &to->dev;
	struct roce_send send;
	u8 *memory = kunit_kzalloc(test, ROCE_BYTES, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	roce_prepare(&send, ROCE_BYTES, FAKE_MTU);
	send.batch.hdr.dqpn = to->qp->qpn;
	send.batch.hdr.psn = to->qp->recv.psn;
	send.batch.hdr.reth.va = fake_node_addr(to, 0);
	send.batch.hdr.reth.rkey = to->region->key;
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), DIV_ROUND_UP(ROCE_BYTES, FAKE_MTU));
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), send.batch.num);
	while (!weft_stats_sum(dev, WEFT_STAT_RCVD_MESSAGES) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(dev, WEFT_STAT_RCVD_MESSAGES), 1);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(dev, WEFT_STAT_RX_PACKETS), send.batch.num);
	fake_node_read(to, 0, memory, ROCE_BYTES);
	KUNIT_EXPECT_EQ(test, memcmp(memory, bench->payload, ROCE_BYTES), 0);
}

/* A message of several packets arrives in the memory of the other node, by link/udp.c. */
static void message_arrives(struct kunit *test)
{
	roce_begin(test);
	roce_message(test);
}

static void roce_expect_cut(struct kunit *test, u32 buffers)
{
	unsigned long end = jiffies + ROCE_PATIENCE;

	while (READ_ONCE(bench->cut) < buffers && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, bench->cut, buffers);
}

/*
 * It does so in buffers that the net device cuts up. The first packet is longer than the others, so
 * the second one is the last of its buffer.
 */
static void message_is_cut(struct kunit *test)
{
	roce_begin(test);
	roce_cut(true);
	roce_message(test);
	roce_expect_cut(test, 2);
}

/* ---- messages that leave together ---- */

/* Keep a message, the next one for node 1, whose memory it writes to from @at on. */
static bool roce_hold(struct kunit *test, struct weft_held *held, u32 at, u32 length)
{
	struct fake_node *to = &bench->link->node[1];
	struct roce_send send;
	bool kept;

	roce_prepare(&send, length, ROCE_BYTES);
	send.batch.hdr.dqpn = to->qp->qpn;
	send.batch.hdr.psn = weft_psn_add(to->qp->recv.psn, held->packets);
	send.batch.hdr.reth.va = fake_node_addr(to, at);
	send.batch.hdr.reth.rkey = to->region->key;
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&bench->qp->send.turn));
	local_bh_disable();
	kept = weft_link_roce.hold(&send.batch, held);
	local_bh_enable();
	weft_turn_release(&bench->qp->send.turn);
	/* a message that is not kept is as it was */
	KUNIT_EXPECT_EQ(test, send.iter.left ? send.span.length - send.iter.offset : 0,
			kept ? 0 : length);
	return kept;
}

static bool roce_release(struct kunit *test, struct weft_held *held)
{
	bool left;

	bench->qp->dest_qpn = bench->link->node[1].qp->qpn;
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&bench->qp->send.turn));
	local_bh_disable();
	left = weft_link_roce.release(bench->qp, held);
	local_bh_enable();
	weft_turn_release(&bench->qp->send.turn);
	KUNIT_EXPECT_EQ(test, held->packets, 0);
	return left;
}

/* Keep an acknowledge, whose PSN has nothing to do with those of the messages. */
static bool roce_hold_ack(struct kunit *test, struct weft_held *held)
{
	struct roce_send send;
	bool kept;

	roce_prepare(&send, 0, ROCE_BYTES);
	send.batch.tx = &bench->qp->recv.tx;
	send.batch.hdr.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_ACK);
	send.batch.hdr.dqpn = bench->link->node[1].qp->qpn;
	send.batch.hdr.psn = 12345;
	KUNIT_ASSERT_TRUE(test, weft_turn_try(&bench->qp->recv.turn));
	local_bh_disable();
	kept = weft_link_roce.hold(&send.batch, held);
	local_bh_enable();
	weft_turn_release(&bench->qp->recv.turn);
	return kept;
}

/*
 * Messages that are not longer than the first one leave in one buffer, and arrive; and so does an
 * acknowledge behind them.
 */
static void messages_leave_together(struct kunit *test)
{
	static const u32 lengths[] = { 200, 200, 13, 0, 100, 1 };
	struct fake_node *to = &bench->link->node[1];
	unsigned long end = jiffies + ROCE_PATIENCE;
	struct weft_held held = {};
	u8 *memory;
	u32 i;

	roce_begin(test);
	memory = kunit_kzalloc(test, ROCE_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, i * 200, lengths[i]));
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 201));
	KUNIT_EXPECT_TRUE(test, roce_hold_ack(test, &held));
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), 0);
	KUNIT_EXPECT_TRUE(test, roce_release(test, &held));
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), ARRAY_SIZE(lengths) + 1);
	/* the acknowledge is not expected, but its ICRC is right */
	while (!weft_stats_sum(&to->dev, WEFT_STAT_STALE_RESPONSES) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(&to->dev, WEFT_STAT_STALE_RESPONSES), 1);
	KUNIT_EXPECT_EQ(test, weft_stats_sum(&to->dev, WEFT_STAT_RCVD_MESSAGES),
			ARRAY_SIZE(lengths));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		fake_node_read(to, i * 200, memory, lengths[i]);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(memory, bench->payload, lengths[i]), 0,
				    "message %u", i);
	}
}

/* In a buffer that the net device cuts up, all but the last have one length. */
static void messages_are_cut(struct kunit *test)
{
	static const u32 lengths[] = { 200, 200, 200, 13 };
	struct fake_node *to = &bench->link->node[1];
	unsigned long end = jiffies + ROCE_PATIENCE;
	struct weft_held held = {};
	u8 *memory;
	u32 i;

	roce_begin(test);
	roce_cut(true);
	memory = kunit_kzalloc(test, ROCE_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, i * 200, lengths[i]));
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 13));
	KUNIT_EXPECT_TRUE(test, roce_release(test, &held));
	while (weft_stats_sum(&to->dev, WEFT_STAT_RCVD_MESSAGES) < ARRAY_SIZE(lengths) &&
	       time_before(jiffies, end))
		usleep_range(1000, 2000);
	roce_expect_cut(test, 1);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		fake_node_read(to, i * 200, memory, lengths[i]);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(memory, bench->payload, lengths[i]), 0,
				    "message %u", i);
	}
}

/* They may lose their way until then; and without a way, or tx credit, none is kept. */
static void messages_are_not_kept(struct kunit *test)
{
	struct weft_held held = {};
	struct weft_qp *qp;

	roce_begin(test);
	qp = bench->qp;
	KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, 0, 100));
	KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, 0, 100));
	qp->dev->port_state = IB_PORT_DOWN;
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 100));
	KUNIT_EXPECT_TRUE(test, roce_release(test, &held));
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_DROPPED), 2);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), 0);
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 100));
	qp->dev->port_state = IB_PORT_ACTIVE;
	qp->send.tx.stalled = true;
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 100));
	qp->send.tx.stalled = false;
	/* one batch at a time */
	while (held.packets < WEFT_TX_BATCH_PACKETS)
		if (!roce_hold(test, &held, 0, 8))
			break;
	KUNIT_EXPECT_EQ(test, held.packets, (u32)WEFT_TX_BATCH_PACKETS);
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 8));
	KUNIT_EXPECT_TRUE(test, roce_release(test, &held));
}

/* ---- packets that do not leave ---- */

static void roce_expect_lost(struct kunit *test, const char *why)
{
	u64 lost = roce_counted(WEFT_STAT_TX_DROPPED), sent = roce_counted(WEFT_STAT_TX_PACKETS);
	struct roce_send send;

	roce_prepare(&send, 1000, FAKE_MTU);
	/* the engine need not know that packets are lost: all of them count as sent */
	KUNIT_EXPECT_EQ_MSG(test, roce_xmit(test, &send), 4, "%s", why);
	KUNIT_EXPECT_EQ_MSG(test, roce_counted(WEFT_STAT_TX_DROPPED) - lost, 4, "%s", why);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), sent);
	/* the iterator has passed over their payload */
	KUNIT_EXPECT_EQ(test, send.iter.left ? send.span.length - send.iter.offset : 0, 0);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&bench->seen));
}

static void packets_may_have_no_way(struct kunit *test)
{
	bool ipv4 = roce_begin(test);
	struct weft_qp *qp = bench->qp;

	qp->dev->port_state = IB_PORT_DOWN;
	roce_expect_lost(test, "port down");
	qp->dev->port_state = IB_PORT_ACTIVE;

	roce_loopback_gid(&qp->av.dgid, !ipv4);
	roce_expect_lost(test, "addresses of both families");
	roce_loopback_gid(&qp->av.dgid, ipv4);

	weft_dev_set_gid(qp->dev, 0, NULL);
	roce_expect_lost(test, "source address gone");
	roce_set_gid(test, qp->dev, &qp->av.sgid);

	if (ipv4) {
		ipv6_addr_set_v4mapped(htonl(INADDR_BROADCAST),
				       (struct in6_addr *)qp->av.dgid.raw);
		roce_expect_lost(test, "broadcast address");
		roce_loopback_gid(&qp->av.dgid, ipv4);
	}
	kfree_skb(roce_send_one(test, 100));
}

/* ---- queues that refuse packets ---- */

static unsigned int roce_refuse(void *priv, struct sk_buff *skb, const struct nf_hook_state *state)
{
	u32 packets = skb_is_gso(skb) ? skb_shinfo(skb)->gso_segs : 1;

	return skb->priority == ROCE_REFUSED_SL && packets > bench->most ? NF_DROP : NF_ACCEPT;
}

/* As a queue that is too short for more than @most packets at once. */
static void roce_refuse_more(struct kunit *test, u32 most)
{
	bench->qp->av.sl = ROCE_REFUSED_SL;
	bench->most = most;
	if (bench->refuse.hook)
		return;
	bench->refuse = (struct nf_hook_ops) {
		.dev = init_net.loopback_dev, .pf = NFPROTO_NETDEV, .hooknum = NF_NETDEV_EGRESS,
		.hook = roce_refuse,
	};
	KUNIT_ASSERT_EQ(test, nf_register_net_hook(&init_net, &bench->refuse), 0);
}

/* A burst that the queue refuses leaves packet by packet. */
static void bursts_are_refused(struct kunit *test)
{
	struct roce_send send;

	roce_begin(test);
	roce_refuse_more(test, 1);
	roce_prepare(&send, 1000, FAKE_MTU);
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 4);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), 4);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_DROPPED), 0);
}

/* Messages that leave together, and are refused, are sent again alone, after a while or at once. */
static void kept_messages_are_refused(struct kunit *test)
{
	struct weft_held held = {};
	struct weft_tx *tx;
	u32 i;

	roce_begin(test);
	tx = &bench->qp->send.tx;
	roce_refuse_more(test, 1);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, 0, 100));
	KUNIT_EXPECT_FALSE(test, roce_release(test, &held));
	KUNIT_EXPECT_EQ(test, tx->alone, U8_MAX);
	KUNIT_EXPECT_TRUE(test, weft_turn_take(&bench->qp->send.turn) & BIT(WEFT_EV_RUN));
	KUNIT_EXPECT_FALSE(test, roce_hold(test, &held, 0, 100));
	KUNIT_EXPECT_EQ(test, tx->alone, U8_MAX - 1);
	tx->alone = 0;
	roce_refuse_more(test, 0);
	KUNIT_EXPECT_TRUE(test, roce_hold(test, &held, 0, 100));
	KUNIT_EXPECT_FALSE(test, roce_release(test, &held));
	/* it backs off */
	while (READ_ONCE(tx->backing_off))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, weft_turn_take(&bench->qp->send.turn) & BIT(WEFT_EV_RUN));
	/* the timer drops its reference just after it has posted the event */
	msleep(20);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_DROPPED), 0);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), 0);
}

/* A transmitter at its limit sends nothing until packets have left. */
static void credit_is_limited(struct kunit *test)
{
	struct sk_buff_head taken;
	struct roce_send send;
	struct sk_buff *skb;

	roce_begin(test);
	skb_queue_head_init(&taken);
	while (atomic_read(&bench->qp->send.tx.queued) < WEFT_TX_BYTES) {
		skb = alloc_skb(SZ_16K, GFP_KERNEL);
		if (!skb)
			break;
		weft_tx_credit_take(&bench->qp->send.tx, skb);
		skb_queue_tail(&taken, skb);
	}
	roce_prepare(&send, 1000, FAKE_MTU);
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 0);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_STALLS), 1);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_DROPPED), 0);
	skb_queue_purge(&taken);
	KUNIT_EXPECT_TRUE(test, weft_turn_take(&bench->qp->send.turn) & BIT(WEFT_EV_RUN));
	KUNIT_EXPECT_EQ(test, roce_xmit(test, &send), 4);
	KUNIT_EXPECT_EQ(test, roce_counted(WEFT_STAT_TX_PACKETS), 4);
}

static struct kunit_case roce_cases[] = {
	KUNIT_CASE_PARAM(headers_are_those_of_the_path, roce_family_gen_params),
	KUNIT_CASE_PARAM(requests_may_be_marked, roce_family_gen_params),
	KUNIT_CASE_PARAM(hop_limit_has_a_default, roce_family_gen_params),
	KUNIT_CASE_PARAM(source_port_is_that_of_the_qps, roce_family_gen_params),
	KUNIT_CASE_PARAM(payload_is_padded_and_sealed, roce_family_gen_params),
	KUNIT_CASE_PARAM(icrc_may_be_left_out, roce_family_gen_params),
	KUNIT_CASE_PARAM(message_arrives, roce_family_gen_params),
	KUNIT_CASE_PARAM(message_is_cut, roce_family_gen_params),
	KUNIT_CASE_PARAM(messages_leave_together, roce_family_gen_params),
	KUNIT_CASE_PARAM(messages_are_cut, roce_family_gen_params),
	KUNIT_CASE_PARAM(messages_are_not_kept, roce_family_gen_params),
	KUNIT_CASE_PARAM(packets_may_have_no_way, roce_family_gen_params),
	KUNIT_CASE_PARAM(bursts_are_refused, roce_family_gen_params),
	KUNIT_CASE_PARAM(kept_messages_are_refused, roce_family_gen_params),
	KUNIT_CASE_PARAM(credit_is_limited, roce_family_gen_params),
	{}
};

static struct kunit_suite roce_suite = {
	.name = "weft_roce",
	.init = roce_test_init,
	.exit = roce_test_exit,
	.test_cases = roce_cases,
};

kunit_test_suite(roce_suite);
