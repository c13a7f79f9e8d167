// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fabric/tunnel.c: the peers of a tunnel, and the datagrams that it takes from them. The net device
 * is the loopback device, which always exists. IPv4 sends to any address by it, so datagrams leave,
 * and come in again.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/inet_hashtables.h>
#include <net/net_namespace.h>
#include <net/udp.h>

#include "fabric/tunnel.h"
#include "fabric/underlay.h"
#include "fabric/underlay_addr.h"
#include "params.h"

#define TUNNEL_BYTES	100
/* jiffies that the test waits for a datagram; ms after which none is expected. */
#define TUNNEL_PATIENCE	(10 * HZ)
#define TUNNEL_SILENCE	50

/**
 * struct tunnel_bench - two tunnels on the loopback device
 * @tunnel: both; only one of them can be open
 * @received: frames that came by the first one
 * @from: sender of the last one
 * @frame: the last one
 * @freed: frames that are not needed any more
 * @tap: sees packets that come by the loopback device
 * @seen: datagrams of tunnels among them, from the IP header on
 */
struct tunnel_bench {
	struct weft_underlay	*tunnel[2];
	u32			received;
	struct weft_underlay_addr from;
	struct sk_buff		*frame;
	u32			freed;
	struct packet_type	tap;
	struct sk_buff_head	seen;
};

static struct tunnel_bench *bench;

static void tunnel_test_receive(void *context, const struct weft_underlay_addr *from,
				struct sk_buff *skb)
{
	struct tunnel_bench *to = context;

	to->received++;
	to->from = *from;
	kfree_skb(to->frame);
	to->frame = skb;
}

/* Soft interrupt. IP has a reference to @skb, too. */
static int tunnel_tap(struct sk_buff *skb, struct net_device *ndev, struct packet_type *tap,
		      struct net_device *orig_ndev)
{
	struct sk_buff *copy = skb_is_gso(skb) ? NULL : skb_copy(skb, GFP_ATOMIC);

	kfree_skb(skb);
	if (!copy)
		return 0;
	skb_reset_network_header(copy);
	skb_set_transport_header(copy, sizeof(struct iphdr));
	if (copy->len > sizeof(struct iphdr) + sizeof(struct udphdr) &&
	    udp_hdr(copy)->dest == htons(WEFT_TUNNEL_PORT))
		skb_queue_tail(&bench->seen, copy);
	else
		kfree_skb(copy);
	return 0;
}

static struct weft_underlay_addrs tunnel_addrs(struct kunit *test, const char *text)
{
	struct weft_underlay_addrs addrs;

	KUNIT_ASSERT_EQ(test, weft_underlay_addrs_parse(&addrs, text), 0);
	return addrs;
}

static struct weft_underlay_addr tunnel_addr(struct kunit *test, const char *text)
{
	return tunnel_addrs(test, text).addr[0];
}

static int tunnel_test_init(struct kunit *test)
{
	struct weft_underlay_addrs peers = tunnel_addrs(test, "192.0.2.1 2001:db8::1");
	u32 i;

	bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bench);
	skb_queue_head_init(&bench->seen);
	for (i = 0; i < ARRAY_SIZE(bench->tunnel); i++) {
		bench->tunnel[i] = weft_tunnel_create(init_net.loopback_dev, &peers);
		KUNIT_ASSERT_NOT_NULL(test, bench->tunnel[i]);
		bench->tunnel[i]->receive = tunnel_test_receive;
		bench->tunnel[i]->context = bench;
	}
	bench->tap.type = htons(ETH_P_IP);
	bench->tap.dev = init_net.loopback_dev;
	bench->tap.func = tunnel_tap;
	dev_add_pack(&bench->tap);
	return 0;
}

static int tunnel_test_open(u32 i)
{
	int ret;

	rtnl_lock();
	ret = bench->tunnel[i]->ops->open(bench->tunnel[i]);
	rtnl_unlock();
	return ret;
}

static void tunnel_test_close(u32 i)
{
	rtnl_lock();
	bench->tunnel[i]->ops->close(bench->tunnel[i]);
	rtnl_unlock();
}

static void tunnel_test_exit(struct kunit *test)
{
	u32 i;

	if (!bench)
		return;
	if (bench->tap.func)
		dev_remove_pack(&bench->tap);
	skb_queue_purge(&bench->seen);
	for (i = 0; i < ARRAY_SIZE(bench->tunnel); i++) {
		if (!bench->tunnel[i])
			continue;
		/* may be done twice */
		tunnel_test_close(i);
		bench->tunnel[i]->ops->destroy(bench->tunnel[i]);
	}
	kfree_skb(bench->frame);
	bench = NULL;
}

static int tunnel_set_peers(struct kunit *test, u32 i, const char *text)
{
	struct weft_underlay_addrs peers = tunnel_addrs(test, text);
	int ret;

	rtnl_lock();
	ret = weft_tunnel_set_peers(bench->tunnel[i], &peers);
	rtnl_unlock();
	return ret;
}

static u32 tunnel_max_frame(const struct weft_underlay_addr *to)
{
	return bench->tunnel[0]->ops->max_frame(bench->tunnel[0], to);
}

/* ---- receiving ---- */

/* A datagram from its UDP header on, as UDP hands it to the socket. */
static struct sk_buff *tunnel_datagram(struct kunit *test, const struct weft_underlay_addr *from,
				       u16 port)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);
	struct udphdr *udp;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reset_network_header(skb);
	if (weft_underlay_addr_is_ipv4(from)) {
		struct iphdr *ip = skb_put_zero(skb, sizeof(*ip));

		ip->version = 4;
		ip->ihl = sizeof(*ip) / 4;
		ip->saddr = from->ip.s6_addr32[3];
	} else {
		struct ipv6hdr *ip = skb_put_zero(skb, sizeof(*ip));

		ip->version = 6;
		ip->saddr = from->ip;
	}
	__skb_pull(skb, skb->len);
	skb_reset_transport_header(skb);
	udp = skb_put(skb, sizeof(*udp));
	*udp = (struct udphdr) {
		.source = htons(port), .dest = htons(WEFT_TUNNEL_PORT),
		.len = htons(sizeof(*udp) + TUNNEL_BYTES),
	};
	memset(skb_put(skb, TUNNEL_BYTES), 0xa5, TUNNEL_BYTES);
	skb->dev = init_net.loopback_dev;
	return skb;
}

/* RCU read side. The socket that is bound to the loopback device, or NULL. */
static struct sock *tunnel_sock(bool ipv4)
{
	__be16 port = htons(WEFT_TUNNEL_PORT);
	int dif = init_net.loopback_dev->ifindex;
	struct udp_table *table = init_net.ipv4.udp_table;
	__be32 lo4 = htonl(INADDR_LOOPBACK);

	if (ipv4)
		return __udp4_lib_lookup(&init_net, lo4, port, lo4, port, dif, 0, table, NULL);
#if IS_ENABLED(CONFIG_IPV6)
	return __udp6_lib_lookup(&init_net, &in6addr_loopback, port, &in6addr_loopback, port, dif,
				 0, table, NULL);
#else
	return NULL;
#endif
}

static bool tunnel_is_open(bool ipv4)
{
	bool open;

	rcu_read_lock();
	open = tunnel_sock(ipv4);
	rcu_read_unlock();
	return open;
}

/* Returns false if there is no socket. */
static bool tunnel_receive(struct kunit *test, const char *from, u16 port)
{
	struct weft_underlay_addr addr = tunnel_addr(test, from);
	struct sk_buff *skb = tunnel_datagram(test, &addr, port);
	struct sock *sk;

	local_bh_disable();
	rcu_read_lock();
	sk = tunnel_sock(weft_underlay_addr_is_ipv4(&addr));
	if (sk)
		udp_sk(sk)->encap_rcv(sk, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	local_bh_enable();
	return sk;
}

static void tunnel_expect_frame(struct kunit *test, const char *from)
{
	struct weft_underlay_addr addr = tunnel_addr(test, from);
	u64 strangers = weft_tunnel_strangers(bench->tunnel[0]);
	u32 received = bench->received;

	KUNIT_ASSERT_TRUE(test, tunnel_receive(test, from, WEFT_TUNNEL_PORT));
	KUNIT_ASSERT_EQ(test, bench->received, received + 1);
	KUNIT_EXPECT_TRUE(test, weft_underlay_addr_equal(&bench->from, &addr));
	KUNIT_EXPECT_EQ(test, bench->frame->len, TUNNEL_BYTES);
	KUNIT_EXPECT_EQ(test, bench->frame->data[0], 0xa5);
	KUNIT_EXPECT_EQ(test, weft_tunnel_strangers(bench->tunnel[0]), strangers);
}

static void tunnel_expect_stranger(struct kunit *test, const char *from, u16 port)
{
	u64 strangers = weft_tunnel_strangers(bench->tunnel[0]);
	u32 received = bench->received;

	KUNIT_ASSERT_TRUE(test, tunnel_receive(test, from, port));
	KUNIT_EXPECT_EQ(test, bench->received, received);
	KUNIT_EXPECT_EQ(test, weft_tunnel_strangers(bench->tunnel[0]), strangers + 1);
}

static void takes_frames_of_its_peers(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	tunnel_expect_frame(test, "192.0.2.1");
	tunnel_expect_stranger(test, "192.0.2.2", WEFT_TUNNEL_PORT);
	tunnel_expect_stranger(test, "192.0.2.1", WEFT_TUNNEL_PORT + 1);
	if (!tunnel_is_open(false))
		kunit_skip(test, "there is no IPv6");
	tunnel_expect_frame(test, "2001:db8::1");
	tunnel_expect_stranger(test, "2001:db8::2", WEFT_TUNNEL_PORT);
	tunnel_expect_stranger(test, "2001:db8::1", WEFT_TUNNEL_PORT - 1);
}

static void tunnel_noted(struct sk_buff *skb)
{
	bench->freed++;
}

/* A frame may be kept for long, so it must hold neither its sender's memory nor a socket. */
static void frames_are_nobodys(struct kunit *test)
{
	struct weft_underlay_addr from = tunnel_addr(test, "192.0.2.1");
	struct sk_buff *skb = tunnel_datagram(test, &from, WEFT_TUNNEL_PORT);
	struct sock *sk;

	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	skb->destructor = tunnel_noted;
	local_bh_disable();
	rcu_read_lock();
	sk = tunnel_sock(true);
	if (sk)
		udp_sk(sk)->encap_rcv(sk, skb);
	rcu_read_unlock();
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, sk);
	KUNIT_ASSERT_NOT_NULL(test, bench->frame);
	KUNIT_EXPECT_EQ(test, bench->freed, 1);
	KUNIT_EXPECT_NULL(test, bench->frame->sk);
	KUNIT_EXPECT_NULL(test, skb_dst(bench->frame));
}

/* A datagram may come while the socket is being released. */
static void released_socket_takes_nothing(struct kunit *test)
{
	struct weft_underlay_addr from = tunnel_addr(test, "192.0.2.1");
	struct sk_buff *skb = tunnel_datagram(test, &from, WEFT_TUNNEL_PORT);
	struct sock *sk;
	void *user;

	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	skb->destructor = tunnel_noted;
	local_bh_disable();
	rcu_read_lock();
	sk = tunnel_sock(true);
	if (sk) {
		user = rcu_dereference_sk_user_data(sk);
		rcu_assign_sk_user_data(sk, NULL);
		udp_sk(sk)->encap_rcv(sk, skb);
		rcu_assign_sk_user_data(sk, user);
	}
	rcu_read_unlock();
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, sk);
	KUNIT_EXPECT_EQ(test, bench->freed, 1);
	KUNIT_EXPECT_EQ(test, bench->received, 0);
	KUNIT_EXPECT_EQ(test, weft_tunnel_strangers(bench->tunnel[0]), 0);
}

/* ---- peers ---- */

static void peers_can_be_changed(struct kunit *test)
{
	static const char * const lists[] = {
		"192.0.2.2 192.0.2.3", "192.0.2.3", "", "192.0.2.1 2001:db8::1",
	};
	struct weft_underlay_addrs peers, expected;
	u32 i, j;

	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		expected = tunnel_addrs(test, lists[i]);
		KUNIT_ASSERT_EQ(test, tunnel_set_peers(test, 0, lists[i]), 0);
		rtnl_lock();
		weft_tunnel_get_peers(bench->tunnel[0], &peers);
		rtnl_unlock();
		KUNIT_ASSERT_EQ(test, peers.num, expected.num);
		for (j = 0; j < peers.num; j++)
			KUNIT_EXPECT_TRUE(test, weft_underlay_addr_equal(&peers.addr[j],
									 &expected.addr[j]));
		if (strstr(lists[i], "192.0.2.3"))
			tunnel_expect_frame(test, "192.0.2.3");
		else
			tunnel_expect_stranger(test, "192.0.2.3", WEFT_TUNNEL_PORT);
	}
	tunnel_expect_frame(test, "192.0.2.1");
}

static void has_so_many_peers(struct kunit *test)
{
	struct weft_underlay_addrs all = {}, peers = {};
	u32 i;

	for (all.num = 0; all.num < WEFT_UPLINK_PEERS; all.num++)
		weft_underlay_addr_set_ipv4(&all.addr[all.num], htonl(0xc0000201 + all.num));
	rtnl_lock();
	i = weft_tunnel_set_peers(bench->tunnel[0], &all);
	weft_tunnel_get_peers(bench->tunnel[0], &peers);
	rtnl_unlock();
	KUNIT_EXPECT_EQ(test, i, 0);
	KUNIT_EXPECT_EQ(test, memcmp(&all, &peers, sizeof(all)), 0);
	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	tunnel_expect_frame(test, "192.0.2.1");
	tunnel_expect_frame(test, "192.0.2.18");
	tunnel_expect_stranger(test, "192.0.2.19", WEFT_TUNNEL_PORT);
}

/* ---- sending ---- */

static struct sk_buff *tunnel_frame(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(256, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, 128);
	skb_put_zero(skb, TUNNEL_BYTES);
	skb->destructor = tunnel_noted;
	return skb;
}

/* A frame is freed if its address is not a peer, or there is no route to it. */
static void frames_may_get_nowhere(struct kunit *test)
{
	static const char * const to[] = { "2001:db8::1", "192.0.2.9", "192.0.2.1" };
	struct weft_underlay *tunnel = bench->tunnel[0];
	struct weft_underlay_addr addr;
	u32 i, open, freed = 0;

	for (open = 0; open < 2; open++) {
		if (open)
			KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
		/* the last address has a route when the tunnel is open */
		for (i = 0; i < ARRAY_SIZE(to) - open; i++) {
			addr = tunnel_addr(test, to[i]);
			tunnel->ops->send(tunnel, &addr, tunnel_frame(test));
			KUNIT_EXPECT_EQ(test, bench->freed, ++freed);
			KUNIT_EXPECT_EQ(test, tunnel_max_frame(&addr), 0);
		}
	}
	msleep(TUNNEL_SILENCE);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&bench->seen));
	KUNIT_EXPECT_EQ(test, bench->received, 0);
}

static void tunnel_expect_datagram(struct kunit *test, const char *to)
{
	struct weft_underlay_addr addr = tunnel_addr(test, to);
	unsigned long end = jiffies + TUNNEL_PATIENCE;
	struct sk_buff *skb;

	while (!(skb = skb_dequeue(&bench->seen)) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, ip_hdr(skb)->daddr, addr.ip.s6_addr32[3]);
	KUNIT_EXPECT_EQ(test, ip_hdr(skb)->protocol, IPPROTO_UDP);
	/* packets must not be fragmented: so the kernel learns the MTU of the path */
	KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(skb)->frag_off), IP_DF);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->source), WEFT_TUNNEL_PORT);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->len), sizeof(struct udphdr) + TUNNEL_BYTES);
	KUNIT_EXPECT_EQ(test, udp_hdr(skb)->check, 0);
	KUNIT_EXPECT_EQ(test, skb->len, sizeof(struct iphdr) + sizeof(struct udphdr) +
					TUNNEL_BYTES);
	kfree_skb(skb);
}

static void tunnel_wait_for_caches(void)
{
	msleep(2 * MSEC_PER_SEC / HZ);
}

static void datagrams_leave(struct kunit *test)
{
	struct weft_underlay_addr addr = tunnel_addr(test, "192.0.2.1");
	struct weft_underlay *tunnel = bench->tunnel[0];
	u32 i;

	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	/* the second time by a cached route; a cache takes none in the jiffy that it is made in */
	tunnel_wait_for_caches();
	for (i = 0; i < 2; i++) {
		tunnel->ops->send(tunnel, &addr, tunnel_frame(test));
		tunnel_expect_datagram(test, "192.0.2.1");
	}
	KUNIT_EXPECT_GT(test, tunnel_max_frame(&addr), TUNNEL_BYTES);
	KUNIT_EXPECT_LE(test, tunnel_max_frame(&addr), init_net.loopback_dev->mtu -
						       sizeof(struct iphdr) -
						       sizeof(struct udphdr));
	KUNIT_ASSERT_EQ(test, tunnel_set_peers(test, 0, "192.0.2.2,192.0.2.3"), 0);
	tunnel->ops->send_all(tunnel, tunnel_frame(test));
	tunnel_expect_datagram(test, "192.0.2.2");
	tunnel_expect_datagram(test, "192.0.2.3");
	msleep(TUNNEL_SILENCE);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&bench->seen));
	tunnel_test_close(0);
	tunnel->ops->send_all(tunnel, tunnel_frame(test));
	msleep(TUNNEL_SILENCE);
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&bench->seen));
}

/* A received frame may be as long as the MTU permits with the longer IP header. */
static void frames_have_a_length(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tunnel_max_frame(NULL), init_net.loopback_dev->mtu -
						      sizeof(struct ipv6hdr) -
						      sizeof(struct udphdr));
	KUNIT_EXPECT_GE(test, bench->tunnel[0]->ops->head,
			sizeof(struct ipv6hdr) + sizeof(struct udphdr));
}

/* ---- sockets ---- */

static void sockets_follow_the_underlay(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, tunnel_is_open(true));
	KUNIT_ASSERT_EQ(test, tunnel_test_open(0), 0);
	KUNIT_EXPECT_TRUE(test, tunnel_is_open(true));
	/* the net device has not changed */
	rtnl_lock();
	bench->tunnel[0]->ops->update(bench->tunnel[0]);
	rtnl_unlock();
	KUNIT_EXPECT_TRUE(test, tunnel_is_open(true));
	/* one tunnel of a net device takes the port */
	KUNIT_EXPECT_EQ(test, tunnel_test_open(1), -EADDRINUSE);
	KUNIT_EXPECT_TRUE(test, tunnel_is_open(true));
	tunnel_expect_frame(test, "192.0.2.1");
	tunnel_test_close(0);
	KUNIT_EXPECT_FALSE(test, tunnel_is_open(true));
	KUNIT_EXPECT_FALSE(test, tunnel_is_open(false));
	KUNIT_EXPECT_EQ(test, tunnel_test_open(1), 0);
	KUNIT_EXPECT_TRUE(test, tunnel_is_open(true));
}

/* Sockets are open while the net device is up. This one has the number of the loopback device. */
static void sockets_need_a_net_device_that_is_up(struct kunit *test)
{
	const struct weft_underlay_addrs none = {};
	struct weft_underlay *tunnel;
	struct net_device *ndev;
	u32 i;

	ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	strscpy(ndev->name, "kunit", sizeof(ndev->name));
	ndev->ifindex = init_net.loopback_dev->ifindex;
	dev_net_set(ndev, &init_net);
	tunnel = weft_tunnel_create(ndev, &none);
	KUNIT_ASSERT_NOT_NULL(test, tunnel);
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, tunnel->ops->open(tunnel), 0);
	KUNIT_EXPECT_FALSE(test, tunnel_is_open(true));
	for (i = 0; i < 3; i++) {
		ndev->flags ^= IFF_UP;
		tunnel->ops->update(tunnel);
		KUNIT_EXPECT_EQ(test, tunnel_is_open(true), !!(ndev->flags & IFF_UP));
	}
	tunnel->ops->close(tunnel);
	KUNIT_EXPECT_FALSE(test, tunnel_is_open(true));
	rtnl_unlock();
	tunnel->ops->destroy(tunnel);
}

/* The loopback device reaches no other host. */
static void loopback_is_idle(struct kunit *test)
{
	static const struct weft_underlay_ops other_ops;
	struct weft_underlay other = { .ops = &other_ops };

	KUNIT_EXPECT_TRUE(test, bench->tunnel[0]->idle);
	KUNIT_EXPECT_TRUE(test, weft_underlay_is_tunnel(bench->tunnel[0]));
	KUNIT_EXPECT_FALSE(test, weft_underlay_is_tunnel(&other));
}

static struct kunit_case tunnel_cases[] = {
	KUNIT_CASE(takes_frames_of_its_peers),
	KUNIT_CASE(frames_are_nobodys),
	KUNIT_CASE(released_socket_takes_nothing),
	KUNIT_CASE(peers_can_be_changed),
	KUNIT_CASE(has_so_many_peers),
	KUNIT_CASE(frames_may_get_nowhere),
	KUNIT_CASE(datagrams_leave),
	KUNIT_CASE(frames_have_a_length),
	KUNIT_CASE(sockets_follow_the_underlay),
	KUNIT_CASE(sockets_need_a_net_device_that_is_up),
	KUNIT_CASE(loopback_is_idle),
	{}
};

static struct kunit_suite tunnel_suite = {
	.name = "weft_tunnel",
	.init = tunnel_test_init,
	.exit = tunnel_test_exit,
	.test_cases = tunnel_cases,
};

kunit_test_suite(tunnel_suite);
