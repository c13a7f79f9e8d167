// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* link/burst.c: bursts that the kernel takes apart, and bursts that weft takes apart. */
#include <kunit/test.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/gso.h>
#include <net/ip.h>

#include "link/burst.h"

#define BURST_ROOM	64
#define BURST_LINEAR	32U
#define BURST_ID	0xfffe
/* TTL after the first router */
#define BURST_TTL	63

static void burst_put_ipv4(struct sk_buff *skb, u32 length, u16 id)
{
	struct iphdr *ip = skb_push(skb, sizeof(*ip));

	*ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.tot_len = htons(sizeof(*ip) + length),
		.id = htons(id),
		.frag_off = htons(IP_DF),
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.saddr = htonl(0x0a000001),
		.daddr = htonl(0x0a000002),
	};
	skb->protocol = htons(ETH_P_IP);
}

static void burst_put_ipv6(struct sk_buff *skb, u32 length)
{
	struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

	*ip = (struct ipv6hdr){
		.version = 6,
		.payload_len = htons(length),
		.nexthdr = IPPROTO_UDP,
		.hop_limit = 64,
	};
	ip->saddr.s6_addr[15] = 1;
	ip->daddr.s6_addr[15] = 2;
	skb->protocol = htons(ETH_P_IPV6);
}

static u8 burst_byte(u32 packet, u32 i)
{
	return packet * 59 + i * 7 + i / 256;
}

/* Put some of the payload behind the headers, and the rest into a page. */
static void burst_put_payload(struct kunit *test, struct sk_buff *skb, u32 packet, u32 size)
{
	u32 linear = min(size, BURST_LINEAR), i;
	struct page *page;

	for (i = 0; i < linear; i++)
		skb_put_u8(skb, burst_byte(packet, i));
	if (i == size)
		return;
	page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, page);
	for (; i < size; i++)
		*((u8 *)page_address(page) + i - linear) = burst_byte(packet, i);
	skb_add_rx_frag(skb, 0, page, 0, size - linear, PAGE_SIZE);
}

/* Make a packet whose UDP datagram has @size bytes. */
static struct sk_buff *burst_packet(struct kunit *test, u32 packet, u32 size, bool ipv4)
{
	struct sk_buff *skb = alloc_skb(BURST_ROOM + 48 + BURST_LINEAR, GFP_KERNEL);
	struct udphdr *udp;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_reserve(skb, BURST_ROOM + 48);
	burst_put_payload(test, skb, packet, size);
	udp = skb_push(skb, sizeof(*udp));
	skb_reset_transport_header(skb);
	*udp = (struct udphdr){
		.source = htons(50000), .dest = htons(4791), .len = htons(skb->len),
	};
	if (ipv4)
		burst_put_ipv4(skb, skb->len, BURST_ID + packet);
	else
		burst_put_ipv6(skb, skb->len);
	skb_reset_network_header(skb);
	return skb;
}

/* Take a burst apart as net devices and UDP do, from the Ethernet header on. */
static struct sk_buff *burst_take_apart(struct kunit *test, struct sk_buff *skb)
{
	struct sk_buff *parts;

	memset(skb_push(skb, ETH_HLEN), 0, ETH_HLEN);
	skb_reset_mac_header(skb);
	parts = __skb_gso_segment(skb, NETIF_F_SG, false);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(parts));
	consume_skb(skb);
	return parts;
}

static u8 burst_ttl(const struct sk_buff *skb)
{
	return ip_hdr(skb)->version == 4 ? ip_hdr(skb)->ttl : ipv6_hdr(skb)->hop_limit;
}

/*
 * Take a burst apart as weft does, from the UDP header on. Hops have changed the first packet only.
 */
static struct sk_buff *burst_open(struct kunit *test, struct sk_buff *head)
{
	struct sk_buff *skb;

	__skb_pull(head, skb_transport_offset(head));
	KUNIT_ASSERT_TRUE(test, weft_burst_open(head));
	KUNIT_EXPECT_FALSE(test, skb_is_gso(head));
	for (skb = head; skb; skb = skb->next)
		KUNIT_EXPECT_EQ(test, burst_ttl(skb), BURST_TTL);
	return head;
}

/* Close a burst; the last net device may have the features of tunnels. */
static struct sk_buff *burst_close(struct kunit *test, const struct weft_burst *burst, bool ipv4)
{
	struct net_device *ndev = kunit_kzalloc(test, sizeof(*ndev), GFP_KERNEL);
	struct sk_buff *skb;

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	if (ipv4)
		ndev->features = NETIF_F_GSO_UDP_TUNNEL;
	skb = weft_burst_close(burst, ndev);
	KUNIT_EXPECT_EQ(test, skb_is_gso(skb), burst->packets > 1);
	KUNIT_EXPECT_EQ(test, !!(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_TUNNEL),
			ipv4 && burst->packets > 1);
	if (ipv4)
		ip_hdr(skb)->ttl = BURST_TTL;
	else
		ipv6_hdr(skb)->hop_limit = BURST_TTL;
	return skb;
}

/*
 * Compare with what burst_packet() has made, except for the IP checksum and the fields that hops
 * change.
 */
static void burst_expect(struct kunit *test, struct sk_buff *skb, u32 packet, u32 size,
			 bool ipv4)
{
	u8 *payload;
	u32 i;

	KUNIT_ASSERT_EQ(test, skb_linearize(skb), 0);
	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->len), sizeof(struct udphdr) + size);
	KUNIT_EXPECT_EQ(test, udp_hdr(skb)->check, 0);
	if (ipv4) {
		KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(skb)->id), (u16)(BURST_ID + packet));
		KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(skb)->tot_len), 28 + size);
	} else {
		KUNIT_EXPECT_EQ(test, ntohs(ipv6_hdr(skb)->payload_len), 8 + size);
	}
	payload = (u8 *)(udp_hdr(skb) + 1);
	KUNIT_ASSERT_EQ(test, skb_tail_pointer(skb) - payload, size);
	for (i = 0; i < size && payload[i] == burst_byte(packet, i); i++)
		;
	KUNIT_EXPECT_EQ(test, i, size);
}

static void burst_round_trip(struct kunit *test, const u32 *size, u32 num, bool ipv4,
			     struct sk_buff *(*take_apart)(struct kunit *test,
							   struct sk_buff *skb))
{
	struct weft_burst burst = {};
	struct sk_buff *skb, *next;
	u32 i;

	for (i = 0; i < num; i++) {
		KUNIT_ASSERT_TRUE(test, weft_burst_takes(&burst, size[i]));
		weft_burst_add(&burst, burst_packet(test, i, size[i], ipv4));
	}
	KUNIT_EXPECT_EQ(test, burst.packets, num);
	skb = burst_close(test, &burst, ipv4);
	KUNIT_EXPECT_EQ(test, skb->len, burst.length);
	if (num > 1)
		skb = take_apart(test, skb);
	for (i = 0; skb; skb = next, i++) {
		next = skb->next;
		skb_mark_not_on_list(skb);
		if (i < num)
			burst_expect(test, skb, i, size[i], ipv4);
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, i, num);
}

static void burst_comes_apart(struct kunit *test)
{
	static const u32 one[] = { 100 }, several[] = { 1040, 1040, 1028, 1028, 24, 16 };
	u32 ipv4;

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		burst_round_trip(test, one, ARRAY_SIZE(one), ipv4, NULL);
		burst_round_trip(test, several, ARRAY_SIZE(several), ipv4, burst_take_apart);
		burst_round_trip(test, several, ARRAY_SIZE(several), ipv4, burst_open);
	}
}

/* A packet tap shares the buffers. */
static void burst_that_is_shared(struct kunit *test)
{
	struct weft_burst burst = {};
	struct sk_buff *skb, *clone;
	u32 i;

	for (i = 0; i < 3; i++)
		weft_burst_add(&burst, burst_packet(test, i, 1000, true));
	skb = burst_close(test, &burst, true);
	clone = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clone);
	KUNIT_EXPECT_FALSE(test, weft_burst_open(skb));
	skb = burst_take_apart(test, skb);
	for (i = 0; i < 3 && skb; i++) {
		struct sk_buff *next = skb->next;

		skb_mark_not_on_list(skb);
		burst_expect(test, skb, i, 1000, true);
		kfree_skb(skb);
		skb = next;
	}
	KUNIT_EXPECT_EQ(test, i, 3);
	KUNIT_EXPECT_PTR_EQ(test, skb, NULL);
	kfree_skb(clone);
}

/* A burst with the headers of a tunnel is not taken apart. */
static void burst_in_a_tunnel(struct kunit *test)
{
	struct weft_burst burst = {};
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < 3; i++)
		weft_burst_add(&burst, burst_packet(test, i, 1000, true));
	skb = burst_close(test, &burst, true);
	__skb_pull(skb, skb_transport_offset(skb));
	skb->encapsulation = 1;
	KUNIT_EXPECT_FALSE(test, weft_burst_open(skb));
	skb->encapsulation = 0;
	skb_set_network_header(skb, -48);
	KUNIT_EXPECT_FALSE(test, weft_burst_open(skb));
	kfree_skb(skb);
}

static void burst_limits(struct kunit *test)
{
	struct weft_burst burst = {};

	KUNIT_EXPECT_TRUE(test, weft_burst_takes(&burst, 4124));
	weft_burst_add(&burst, burst_packet(test, 0, 4000, true));
	KUNIT_EXPECT_TRUE(test, weft_burst_takes(&burst, 4000));
	KUNIT_EXPECT_FALSE(test, weft_burst_takes(&burst, 4001));
	while (weft_burst_takes(&burst, 4000))
		weft_burst_add(&burst, burst_packet(test, burst.packets, 4000, true));
	KUNIT_EXPECT_EQ(test, burst.packets, 16);
	KUNIT_EXPECT_EQ(test, burst.length, 28 + 16 * 4000);
	/* leave room for a tunnel's headers in the length of the outer IP packet */
	KUNIT_EXPECT_TRUE(test, weft_burst_takes(&burst, 65535 - WEFT_BURST_HEADROOM -
							      burst.length));
	KUNIT_EXPECT_FALSE(test, weft_burst_takes(&burst, 65536 - WEFT_BURST_HEADROOM -
							      burst.length));
	kfree_skb(burst_close(test, &burst, true));
}

static struct kunit_case burst_cases[] = {
	KUNIT_CASE(burst_comes_apart),
	KUNIT_CASE(burst_that_is_shared),
	KUNIT_CASE(burst_in_a_tunnel),
	KUNIT_CASE(burst_limits),
	{}
};

static struct kunit_suite burst_suite = {
	.name = "weft_burst",
	.test_cases = burst_cases,
};

kunit_test_suite(burst_suite);
