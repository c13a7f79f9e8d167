// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * link/udp.c: the sockets of a network namespace, and the checks of received datagrams.
 *
 * The test hands packets to the socket in the way UDP does. Each packet is an RDMA WRITE to the
 * second node (see fake_link.h), so the memory there shows whether it arrived unchanged.
 */
#include "fake_link.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/udp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/udp.h>
#include <rdma/ib_verbs.h>

#include <kunit/test.h>

#include "compat/udp.h"
#include "engine/pkt.h"
#include "link/burst.h"
#include "link/roce_port.h"
#include "link/udp.h"
#include "object/table.h"
#include "params.h"
#include "stats.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

/* Bytes that a packet writes, a multiple of 4: there is no pad. */
#define UDP_PAYLOAD	200
/* Offset of the first packet's bytes in the memory of the receiver. */
#define UDP_OFFSET	100
/* BTH and RETH; and the datagram from the UDP header to the ICRC. */
#define UDP_IB_HEADERS	28
#define UDP_LENGTH	(8 + UDP_IB_HEADERS + UDP_PAYLOAD + WEFT_ICRC_LENGTH)
/* The longest IP header with options. */
#define UDP_ROOM	64
#define UDP_TRAILING	32
#define UDP_FRAGS	3

/**
 * struct udp_form - a packet and its layout in memory
 * @ipv4: else IPv6
 * @psn: also selects the memory that the packet writes
 * @options: bytes behind the IP header
 * @length: in the UDP header; 0: UDP_LENGTH
 * @trailing: bytes behind the ICRC
 * @cut: the packet ends after so many bytes from the UDP header on; 0: it is complete
 * @linear: bytes from the UDP header on in the linear part of the skb; 0: all
 * @frags: number of page fragments for the rest
 * @list: the rest is in a frag list
 */
struct udp_form {
	bool	ipv4;
	u32	psn;
	u32	options;
	u16	length;
	u32	trailing;
	u32	cut;
	u32	linear;
	u32	frags;
	bool	list;
};

/**
 * struct udp_bench - a receiver
 * @link: the QPs; packets go from the first node to the second
 * @qp: QP of the receiver
 * @stats: counters of the receiver's device before the last packet
 * @written: bytes that the last packet writes
 */
struct udp_bench {
	struct fake_link	*link;
	struct weft_qp		*qp;
	u64			stats[WEFT_STAT_NUM];
	u8			written[UDP_PAYLOAD];
};

static struct udp_bench *bench;

static void udp_set_gid(struct kunit *test, struct weft_dev *dev, const union ib_gid *gid)
{
	struct weft_gid *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	entry->dev = dev;
	entry->gid = *gid;
	entry->net = &init_net;
	entry->ifindex = init_net.loopback_dev->ifindex;
	weft_dev_set_gid(dev, 0, entry);
}

static void udp_set_ipv6(union ib_gid *gid, u8 host)
{
	/* RFC 3849 */
	static const u8 prefix[] = { 0x20, 0x01, 0x0d, 0xb8 };

	memset(gid, 0, sizeof(*gid));
	memcpy(gid, prefix, sizeof(prefix));
	gid->raw[15] = host;
}

/* fake_link_create() has made a path over IPv4. */
static void udp_use(struct kunit *test, bool ipv4)
{
	u32 i;

	for (i = 0; !ipv4 && i < FAKE_NODES; i++) {
		udp_set_ipv6(&bench->link->node[i].qp->av.sgid, 1 + i);
		udp_set_ipv6(&bench->link->node[i].qp->av.dgid, 2 - i);
	}
	udp_set_gid(test, bench->qp->dev, &bench->qp->av.sgid);
}

static struct sock *udp_sock(int family)
{
	struct sock *sk;

	rcu_read_lock();
	sk = weft_udp_sock(&init_net, family);
	rcu_read_unlock();
	return sk;
}

static int udp_test_init(struct kunit *test)
{
	static const struct fake_attr attr = { .type = IB_QPT_RC, .max_wr = 4 };

	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	bench->link = fake_link_create(test, &attr, 1);
	bench->qp = bench->link->node[1].qp;
	bench->qp->av.net = &init_net;
	bench->qp->dev->icrc = true;
	KUNIT_ASSERT_EQ(test, weft_udp_open(&init_net), 0);
	KUNIT_ASSERT_NOT_NULL(test, udp_sock(AF_INET));
	return 0;
}

static void udp_test_exit(struct kunit *test)
{
	if (!bench)
		return;
	if (bench->qp)
		weft_dev_set_gid(bench->qp->dev, 0, NULL);
	if (udp_sock(AF_INET))
		weft_udp_close(&init_net);
	/* a reader may still use the GID entry, which points to the device */
	synchronize_rcu();
	fake_link_destroy(test->priv);
	bench = NULL;
}

/* ---- packets ---- */

static u32 udp_ip_length(const struct udp_form *form)
{
	return form->ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
}

static void udp_put_ip(u8 *at, const struct udp_form *form)
{
	const struct weft_av *av = &bench->qp->av;
	struct ipv6hdr *ip6 = (struct ipv6hdr *)at;
	struct iphdr *ip = (struct iphdr *)at;
	u32 length = form->options + UDP_LENGTH;

	if (form->ipv4) {
		ip->version = 4;
		ip->ihl = (sizeof(*ip) + form->options) / 4;
		ip->tot_len = htons(sizeof(*ip) + length);
		ip->id = htons(form->psn);
		ip->frag_off = htons(IP_DF);
		ip->ttl = 64;
		ip->protocol = IPPROTO_UDP;
		memcpy(&ip->saddr, av->dgid.raw + 12, 4);
		memcpy(&ip->daddr, av->sgid.raw + 12, 4);
		return;
	}
	ip6->version = 6;
	ip6->payload_len = htons(length);
	ip6->nexthdr = form->options ? NEXTHDR_DEST : IPPROTO_UDP;
	ip6->hop_limit = 64;
	memcpy(&ip6->saddr, &av->dgid, sizeof(ip6->saddr));
	memcpy(&ip6->daddr, &av->sgid, sizeof(ip6->daddr));
}

/* Write a packet from the BTH to the ICRC. */
static void udp_put_ib(u8 *at, const struct udp_form *form)
{
	const struct fake_node *node = &bench->link->node[1];
	const struct weft_hdr hdr = {
		.opcode = WEFT_OPCODE(WEFT_TRANSPORT_RC, WEFT_OP_WRITE_ONLY),
		.migreq = true,
		.pkey = WEFT_DEFAULT_PKEY,
		.dqpn = bench->qp->qpn,
		.psn = form->psn,
		.reth.va = fake_node_addr(node, UDP_OFFSET + form->psn * UDP_PAYLOAD),
		.reth.rkey = node->region->key,
		.reth.length = UDP_PAYLOAD,
	};

	weft_hdr_encode(at, &hdr);
	prandom_bytes_state(&bench->link->random, bench->written, UDP_PAYLOAD);
	memcpy(at + UDP_IB_HEADERS, bench->written, UDP_PAYLOAD);
}

static void udp_put_icrc(u8 *ip, u8 *udp, const struct udp_form *form)
{
	const struct weft_wire_bth *bth = (void *)(udp + sizeof(struct udphdr));
	u8 *end = udp + UDP_LENGTH - WEFT_ICRC_LENGTH;
	u32 crc;

	if (form->ipv4)
		crc = weft_icrc_begin_ipv4((void *)ip, (void *)udp, bth);
	else
		crc = weft_icrc_begin_ipv6((void *)ip, (void *)udp, bth);
	weft_icrc_store(end, weft_icrc_bytes(crc, bth + 1, end - (u8 *)(bth + 1)));
}

/* Write a packet from the IP header on. Returns its bytes. */
static u32 udp_put(u8 *ip, const struct udp_form *form)
{
	u8 *udp = ip + udp_ip_length(form) + form->options;
	struct udphdr *header = (struct udphdr *)udp;

	udp_put_ip(ip, form);
	*header = (struct udphdr) {
		.source = htons(50000), .dest = htons(ROCE_V2_UDP_DPORT), .len = htons(UDP_LENGTH),
	};
	udp_put_ib(udp + sizeof(*header), form);
	udp_put_icrc(ip, udp, form);
	if (form->length)
		header->len = htons(form->length);
	memset(udp + UDP_LENGTH, 0xee, form->trailing);
	return udp - ip + (form->cut ?: UDP_LENGTH + form->trailing);
}

static void udp_add_frag(struct kunit *test, struct sk_buff *skb, const u8 *data, u32 length)
{
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page_address(page), data, length);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, length, PAGE_SIZE);
}

static void udp_add_list(struct kunit *test, struct sk_buff *skb, const u8 *data, u32 length)
{
	struct sk_buff *part = alloc_skb(length, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, part);
	skb_put_data(part, data, length);
	skb_shinfo(skb)->frag_list = part;
	skb->len += length;
	skb->data_len += length;
	skb->truesize += part->truesize;
}

/* Make a packet, from its IP header on. */
static struct sk_buff *udp_packet(struct kunit *test, const struct udp_form *form)
{
	u32 front = udp_ip_length(form) + form->options, length, linear, part, i;
	u8 *data = kunit_kzalloc(test, UDP_ROOM + UDP_LENGTH + UDP_TRAILING, GFP_KERNEL);
	struct sk_buff *skb = alloc_skb(ETH_HLEN + NET_IP_ALIGN + UDP_ROOM + UDP_LENGTH +
					UDP_TRAILING, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, data);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	length = udp_put(data, form);
	linear = form->linear ? min(front + form->linear, length) : length;
	skb_reserve(skb, ETH_HLEN + NET_IP_ALIGN);
	skb_put_data(skb, data, linear);
	for (i = form->frags; i && linear < length; i--) {
		part = i == 1 ? length - linear : min(length - linear, 1 + (length - linear) / i);
		udp_add_frag(test, skb, data + linear, part);
		linear += part;
	}
	if (form->list && linear < length)
		udp_add_list(test, skb, data + linear, length - linear);
	KUNIT_ASSERT_EQ(test, skb->len, length);
	skb->dev = init_net.loopback_dev;
	skb->protocol = htons(form->ipv4 ? ETH_P_IP : ETH_P_IPV6);
	skb_set_mac_header(skb, -ETH_HLEN);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, front);
	return skb;
}

static void udp_note_stats(void)
{
	u32 i;

	for (i = 0; i < WEFT_STAT_NUM; i++)
		bench->stats[i] = weft_stats_sum(bench->qp->dev, i);
}

/* Hand a packet to the socket as UDP does, with data from the UDP header on. */
static void udp_receive(struct sk_buff *skb, bool ipv4)
{
	struct sock *sk = udp_sock(ipv4 ? AF_INET : AF_INET6);

	__skb_pull(skb, skb_transport_offset(skb));
	local_bh_disable();
	rcu_read_lock();
	udp_sk(sk)->encap_rcv(sk, skb);
	rcu_read_unlock();
	local_bh_enable();
}

static u64 udp_counted(enum weft_stat stat)
{
	return weft_stats_sum(bench->qp->dev, stat) - bench->stats[stat];
}

/* Has the last packet been executed? */
static bool udp_has_arrived(u32 psn)
{
	u8 memory[UDP_PAYLOAD];

	fake_node_read(&bench->link->node[1], UDP_OFFSET + psn * UDP_PAYLOAD, memory, UDP_PAYLOAD);
	return !memcmp(memory, bench->written, UDP_PAYLOAD);
}

static void udp_expect_arrival(struct kunit *test, const struct udp_form *form)
{
	struct sk_buff *skb = udp_packet(test, form);

	udp_note_stats();
	udp_receive(skb, form->ipv4);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_PACKETS), 1);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RCVD_MESSAGES), 1);
	KUNIT_EXPECT_TRUE_MSG(test, udp_has_arrived(form->psn), "linear %u, %u frags%s",
			      form->linear, form->frags, form->list ? ", list" : "");
}

static void udp_expect_refusal(struct kunit *test, const struct udp_form *form,
			       enum weft_stat why)
{
	struct sk_buff *skb = udp_packet(test, form);

	udp_note_stats();
	udp_receive(skb, form->ipv4);
	KUNIT_EXPECT_EQ_MSG(test, udp_counted(why), 1, "UDP length %u, %u bytes, %u of options",
			    form->length, form->cut, form->options);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_PACKETS), 0);
	KUNIT_EXPECT_FALSE(test, udp_has_arrived(form->psn));
}

/* ---- checks of a packet ---- */

/**
 * struct udp_family - parameter of a case
 * @name: shown in the results
 * @ipv4: else IPv6
 */
struct udp_family {
	const char	*name;
	bool		ipv4;
};

static const struct udp_family udp_families[] = {
	{ "IPv4", .ipv4 = true },
	{ "IPv6" },
};

static void udp_family_desc(const struct udp_family *family, char *desc)
{
	strscpy(desc, family->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(udp_family, udp_families, udp_family_desc);

static bool udp_begin(struct kunit *test)
{
	const struct udp_family *family = test->param_value;

	if (!family->ipv4 && !udp_sock(AF_INET6))
		kunit_skip(test, "there is no IPv6");
	udp_use(test, family->ipv4);
	return family->ipv4;
}

static void packets_reach_their_qp(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test) };
	u32 trailing[] = { 0, 1, 3, 4, UDP_TRAILING };

	for (form.psn = 0; form.psn < ARRAY_SIZE(trailing); form.psn++) {
		form.trailing = trailing[form.psn];
		udp_expect_arrival(test, &form);
	}
}

/*
 * A packet for a turn that somebody owns waits with what it says about where it came by: a VLAN is
 * found by that.
 */
static void packets_wait_with_their_origin(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test) };
	int ifindex = form.ipv4 ? 0 : init_net.loopback_dev->ifindex;
	struct weft_recv *recv = &bench->qp->recv;
	struct sk_buff *skb;
	struct weft_pkt pkt;

	for (form.psn = 0; form.psn < 3; form.psn++) {
		KUNIT_ASSERT_TRUE(test, weft_turn_try(&recv->turn));
		skb = udp_packet(test, &form);
		if (!form.ipv4)
			IP6CB(skb)->iif = ifindex;
		udp_receive(skb, form.ipv4);
		KUNIT_EXPECT_FALSE(test, udp_has_arrived(form.psn));
		if (weft_pkt_peek(&recv->packets, &pkt)) {
			KUNIT_EXPECT_PTR_EQ(test, pkt.port, &weft_port_roce);
			KUNIT_EXPECT_PTR_EQ(test, pkt.net, (const struct net *)&init_net);
			KUNIT_EXPECT_EQ(test, pkt.ifindex, ifindex);
			KUNIT_EXPECT_EQ(test, pkt.hdr.psn, form.psn);
			KUNIT_EXPECT_TRUE(test, weft_pkt_is_on_path(&pkt, &bench->qp->av));
		} else {
			KUNIT_FAIL(test, "packet %u does not wait", form.psn);
		}
		recv->turn.run(bench->qp);
		KUNIT_EXPECT_TRUE(test, udp_has_arrived(form.psn));
	}
}

/* The length in the UDP header decides where the packet ends. */
static void length_is_that_of_udp(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test), .trailing = UDP_TRAILING };
	/* less than UDP header, BTH and ICRC; more than the packet has */
	static const u16 wrong[] = { 1, 7, 8, 12, 20, 23, UDP_LENGTH + UDP_TRAILING + 1, 65535 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		form.length = wrong[i];
		udp_expect_refusal(test, &form, WEFT_STAT_RX_MALFORMED);
	}
	/* the four bytes before that end are not the ICRC */
	for (form.length = UDP_LENGTH - 4; form.length <= UDP_LENGTH + 4; form.length += 8)
		udp_expect_refusal(test, &form, WEFT_STAT_RX_ICRC);
	form.length = UDP_LENGTH;
	udp_expect_arrival(test, &form);
}

static void packets_are_cut_short(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test) };
	u32 least = sizeof(struct udphdr) + UDP_IB_HEADERS + WEFT_ICRC_LENGTH;

	for (form.cut = sizeof(struct udphdr); form.cut < UDP_LENGTH; form.cut++) {
		/* the UDP header has the length of the complete packet */
		form.length = 0;
		udp_expect_refusal(test, &form, WEFT_STAT_RX_MALFORMED);
		form.length = form.cut;
		udp_expect_refusal(test, &form, form.cut < least || form.cut % 4 ?
						WEFT_STAT_RX_MALFORMED : WEFT_STAT_RX_ICRC);
	}
	form.cut = 0;
	form.length = 0;
	udp_expect_arrival(test, &form);
}

static void ip_has_no_options(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test) };
	u32 step = form.ipv4 ? 4 : 8;

	for (form.options = step; form.options <= 3 * step; form.options += step)
		udp_expect_refusal(test, &form, WEFT_STAT_RX_MALFORMED);
	form.options = 0;
	udp_expect_arrival(test, &form);
}

static void udp_flip(struct sk_buff *skb, u32 i)
{
	u8 byte;

	WARN_ON(skb_copy_bits(skb, i, &byte, 1));
	byte ^= 1;
	WARN_ON(skb_store_bits(skb, i, &byte, 1));
}

/* The driver reads packets in page fragments in place, and checks their ICRC. */
static void pieces_are_one_packet(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test) };
	struct sk_buff *skb;

	for (form.linear = sizeof(struct udphdr); form.linear <= UDP_LENGTH; form.linear += 3) {
		for (form.frags = 1; form.frags <= UDP_FRAGS; form.frags++) {
			skb = udp_packet(test, &form);
			udp_flip(skb, skb->len - 1 - fake_random(bench->link, UDP_PAYLOAD));
			udp_note_stats();
			udp_receive(skb, form.ipv4);
			KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_ICRC), 1);
			udp_expect_arrival(test, &form);
			form.psn++;
		}
	}
	KUNIT_EXPECT_GT(test, form.psn, UDP_FRAGS * UDP_PAYLOAD / 3);
}

static void pieces_have_a_length(struct kunit *test)
{
	struct udp_form form = {
		.ipv4 = udp_begin(test), .linear = 40, .frags = 2, .trailing = UDP_TRAILING,
	};

	form.length = UDP_LENGTH + UDP_TRAILING + 1;
	udp_expect_refusal(test, &form, WEFT_STAT_RX_MALFORMED);
	form.length = 23;
	udp_expect_refusal(test, &form, WEFT_STAT_RX_MALFORMED);
	form.length = UDP_LENGTH;
	udp_expect_arrival(test, &form);
}

/* IP reassembles fragments into a frag list. */
static void lists_are_one_packet(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test), .list = true };
	static const u32 linear[] = { 8, 9, 20, 35, 36, 100, UDP_LENGTH - 1 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(linear); i++) {
		form.linear = linear[i];
		form.frags = 0;
		form.psn = i;
		udp_expect_arrival(test, &form);
	}
}

/* ---- bursts ---- */

#define UDP_BURST	4

static void burst_arrives(struct kunit *test, bool ipv4, u32 psn, bool shared)
{
	struct udp_form form = { .ipv4 = ipv4, .linear = 60, .frags = 1 };
	struct sk_buff *skb, *clone = NULL;
	struct weft_burst burst = {};
	u32 i;

	for (i = 0; i < UDP_BURST; i++) {
		form.psn = psn + i;
		weft_burst_add(&burst, udp_packet(test, &form));
	}
	skb = weft_burst_close(&burst, init_net.loopback_dev);
	/* a packet socket has a clone, so the buffers must not be written to */
	if (shared)
		clone = skb_clone(skb, GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, !!clone, shared);
	udp_note_stats();
	udp_receive(skb, ipv4);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_PACKETS), UDP_BURST);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RCVD_MESSAGES), UDP_BURST);
	KUNIT_EXPECT_TRUE(test, udp_has_arrived(form.psn));
	kfree_skb(clone);
}

static void bursts_come_apart(struct kunit *test)
{
	bool ipv4 = udp_begin(test);

	burst_arrives(test, ipv4, 0, false);
	burst_arrives(test, ipv4, UDP_BURST, true);
}

/* ---- sockets ---- */

/* An ICMP error is accepted if it is about a packet from a source port that RoCEv2 uses. */
static void errors_are_for_our_packets(struct kunit *test)
{
	static const struct {
		u16	port;
		int	ret;
	} ports[] = {
		{ 1, -ENOENT }, { ROCE_V2_UDP_DPORT, -ENOENT },
		{ IB_ROCE_UDP_ENCAP_VALID_PORT_MIN - 1, -ENOENT },
		{ IB_ROCE_UDP_ENCAP_VALID_PORT_MIN, 0 }, { 65535, 0 },
	};
	struct udp_form form = { .ipv4 = true };
	struct sock *sk = udp_sock(AF_INET);
	struct sk_buff *skb;
	int ret;
	u32 i;

	udp_use(test, true);
	skb = udp_packet(test, &form);
	for (i = 0; i < ARRAY_SIZE(ports); i++) {
		udp_hdr(skb)->source = htons(ports[i].port);
		rcu_read_lock();
		ret = udp_sk(sk)->encap_err_lookup(sk, skb);
		rcu_read_unlock();
		KUNIT_EXPECT_EQ(test, ret, ports[i].ret);
	}
	kfree_skb(skb);
}

static void multicast_does_not_come_back(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, inet_test_bit(MC_LOOP, udp_sock(AF_INET)));
	if (udp_sock(AF_INET6))
		KUNIT_EXPECT_FALSE(test, inet6_test_bit(MC6_LOOP, udp_sock(AF_INET6)));
}

/* Bind the RoCEv2 port as another program does. */
static int udp_take_port(int family, struct socket **sock)
{
	struct udp_port_cfg port = {
		.family = family,
		.local_udp_port = htons(ROCE_V2_UDP_DPORT),
		.ipv6_v6only = true,
	};

	return udp_sock_create(&init_net, &port, sock);
}

static void udp_give_port(struct socket *sock)
{
	kernel_sock_shutdown(sock, SHUT_RDWR);
	sock_release(sock);
}

static void udp_expect_taken(struct kunit *test, int family, bool taken)
{
	struct socket *sock;
	int ret = udp_take_port(family, &sock);

	KUNIT_EXPECT_EQ(test, ret, taken ? -EADDRINUSE : 0);
	if (!ret)
		udp_give_port(sock);
}

/* Close the sockets; skips the test if a device of the host keeps them open. */
static void udp_close_all(struct kunit *test)
{
	weft_udp_close(&init_net);
	if (!udp_sock(AF_INET))
		return;
	weft_udp_open(&init_net);
	kunit_skip(test, "another device has the namespace open");
}

static void sockets_are_there_once(struct kunit *test)
{
	struct sock *v4 = udp_sock(AF_INET), *v6 = udp_sock(AF_INET6);
	u32 i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, weft_udp_open(&init_net), 0);
	KUNIT_EXPECT_PTR_EQ(test, udp_sock(AF_INET), v4);
	KUNIT_EXPECT_PTR_EQ(test, udp_sock(AF_INET6), v6);
	for (i = 0; i < 3; i++) {
		weft_udp_close(&init_net);
		KUNIT_EXPECT_PTR_EQ(test, udp_sock(AF_INET), v4);
		KUNIT_EXPECT_PTR_EQ(test, udp_sock(AF_INET6), v6);
	}
	udp_expect_taken(test, AF_INET, true);
	udp_close_all(test);
	KUNIT_EXPECT_NULL(test, udp_sock(AF_INET6));
	udp_expect_taken(test, AF_INET, false);
	if (v6)
		udp_expect_taken(test, AF_INET6, false);
	/* they can be opened again */
	KUNIT_EXPECT_EQ(test, weft_udp_open(&init_net), 0);
	udp_expect_taken(test, AF_INET, true);
}

/* If the port of one family is taken, the other family's socket is not left open. */
static void port_may_be_taken(struct kunit *test)
{
	static const int families[] = { AF_INET, AF_INET6 };
	bool ipv6 = udp_sock(AF_INET6);
	struct socket *sock;
	u32 i;

	udp_close_all(test);
	for (i = 0; i < 1 + ipv6; i++) {
		KUNIT_ASSERT_EQ(test, udp_take_port(families[i], &sock), 0);
		KUNIT_EXPECT_EQ(test, weft_udp_open(&init_net), -EADDRINUSE);
		KUNIT_EXPECT_NULL(test, udp_sock(AF_INET));
		KUNIT_EXPECT_NULL(test, udp_sock(AF_INET6));
		if (ipv6)
			udp_expect_taken(test, families[!i], false);
		udp_give_port(sock);
	}
	KUNIT_EXPECT_EQ(test, weft_udp_open(&init_net), 0);
	KUNIT_EXPECT_NOT_NULL(test, udp_sock(AF_INET));
	KUNIT_EXPECT_EQ(test, !!udp_sock(AF_INET6), ipv6);
}

/* ---- buffers of USO ---- */

#define UDP_PIECES	3U
#define UDP_PIECE	((u32)(UDP_LENGTH - sizeof(struct udphdr)))

/* Packets as one buffer of USO. @linear bytes behind the UDP header are not in its page. */
static struct sk_buff *udp_uso(struct kunit *test, bool ipv4, u32 psn, u32 linear)
{
	struct udp_form form = { .ipv4 = ipv4 };
	u32 front = udp_ip_length(&form) + sizeof(struct udphdr), i;
	u8 *all = kunit_kzalloc(test, UDP_ROOM + UDP_PIECES * UDP_LENGTH, GFP_KERNEL);
	u8 *one = kunit_kzalloc(test, UDP_ROOM + UDP_LENGTH, GFP_KERNEL);
	struct sk_buff *skb = alloc_skb(ETH_HLEN + NET_IP_ALIGN + front + linear, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_NOT_NULL(test, one);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	/* the headers of the others are made from the first, with the next identification */
	for (i = 0; i < UDP_PIECES; i++) {
		form.psn = psn + i;
		udp_put(i ? one : all, &form);
		if (i)
			memcpy(all + front + i * UDP_PIECE, one + front, UDP_PIECE);
	}
	skb_reserve(skb, ETH_HLEN + NET_IP_ALIGN);
	skb_put_data(skb, all, front + linear);
	udp_add_frag(test, skb, all + front + linear, UDP_PIECES * UDP_PIECE - linear);
	skb->dev = init_net.loopback_dev;
	skb->protocol = htons(ipv4 ? ETH_P_IP : ETH_P_IPV6);
	skb_set_mac_header(skb, -ETH_HLEN);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, udp_ip_length(&form));
	/* as the sender has left it */
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	skb_shinfo(skb)->gso_size = UDP_PIECE;
	skb_shinfo(skb)->gso_segs = UDP_PIECES;
	return skb;
}

/* The kernel takes one apart that is not as weft's are. */
static void uso_arrives(struct kunit *test, bool ipv4, u32 psn, u32 linear, bool strange)
{
	struct sk_buff *skb = udp_uso(test, ipv4, psn, linear);

	skb->encapsulation = strange;
	udp_note_stats();
	udp_receive(skb, ipv4);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_PACKETS), UDP_PIECES);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RCVD_MESSAGES), UDP_PIECES);
	KUNIT_EXPECT_TRUE(test, udp_has_arrived(psn + UDP_PIECES - 1));
}

static void buffer_comes_apart(struct kunit *test)
{
	bool ipv4 = udp_begin(test);

	uso_arrives(test, ipv4, 0, 0, false);
	uso_arrives(test, ipv4, UDP_PIECES, UDP_PIECE + 50, false);
	uso_arrives(test, ipv4, 2 * UDP_PIECES, 0, true);
}

/* The first fragment has no page. A clone arrives, as its fragments are not freed with it. */
static void udp_expect_unread(struct kunit *test, struct sk_buff *skb, bool ipv4)
{
	skb_frag_t *frag = skb_shinfo(skb)->frags, saved = *frag;
	struct sk_buff *clone = skb_clone(skb, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, clone);
	memset(frag, 0, sizeof(*frag));
	skb_frag_size_set(frag, skb_frag_size(&saved));
	udp_note_stats();
	udp_receive(clone, ipv4);
	*frag = saved;
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_NO_MEMORY), 1);
	KUNIT_EXPECT_EQ(test, udp_counted(WEFT_STAT_RX_PACKETS), 0);
	kfree_skb(skb);
}

static void memory_of_devices_is_not_read(struct kunit *test)
{
	struct udp_form form = { .ipv4 = udp_begin(test), .linear = 60, .frags = 1 };

	udp_expect_unread(test, udp_packet(test, &form), form.ipv4);
	udp_expect_unread(test, udp_uso(test, form.ipv4, 0, UDP_IB_HEADERS), form.ipv4);
}

static struct kunit_case udp_cases[] = {
	KUNIT_CASE_PARAM(packets_reach_their_qp, udp_family_gen_params),
	KUNIT_CASE_PARAM(packets_wait_with_their_origin, udp_family_gen_params),
	KUNIT_CASE_PARAM(length_is_that_of_udp, udp_family_gen_params),
	KUNIT_CASE_PARAM(packets_are_cut_short, udp_family_gen_params),
	KUNIT_CASE_PARAM(ip_has_no_options, udp_family_gen_params),
	KUNIT_CASE_PARAM(pieces_are_one_packet, udp_family_gen_params),
	KUNIT_CASE_PARAM(pieces_have_a_length, udp_family_gen_params),
	KUNIT_CASE_PARAM(lists_are_one_packet, udp_family_gen_params),
	KUNIT_CASE_PARAM(bursts_come_apart, udp_family_gen_params),
	KUNIT_CASE(errors_are_for_our_packets),
	KUNIT_CASE(multicast_does_not_come_back),
	KUNIT_CASE(sockets_are_there_once),
	KUNIT_CASE(port_may_be_taken),
	KUNIT_CASE_PARAM(buffer_comes_apart, udp_family_gen_params),
	KUNIT_CASE_PARAM(memory_of_devices_is_not_read, udp_family_gen_params),
	{}
};

static struct kunit_suite udp_suite = {
	.name = "weft_udp",
	.init = udp_test_init,
	.exit = udp_test_exit,
	.test_cases = udp_cases,
};

kunit_test_suite(udp_suite);
