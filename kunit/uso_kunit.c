// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* link/uso.c: buffers that the kernel cuts up, as a net device does, or the receiver. */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/gso.h>
#include <net/ip.h>
#include <net/net_namespace.h>

#include "inet/ip.h"
#include "link/uso.h"

#define USO_ROOM	128
/* the identifications of a buffer pass zero */
#define USO_ID		0xfffe

/* An empty buffer. */
static void uso_begin(struct kunit *test, struct weft_uso *uso, bool ipv4)
{
	struct weft_ip_path path = {
		.sport = htons(50000), .dport = htons(4791), .hop_limit = 64, .ipv4 = ipv4,
	};

	path.saddr.s6_addr[15] = 1;
	path.daddr.s6_addr[15] = 2;
	*uso = (struct weft_uso){ .skb = alloc_skb(USO_ROOM, GFP_KERNEL) };
	KUNIT_ASSERT_NOT_NULL(test, uso->skb);
	skb_reserve(uso->skb, USO_ROOM);
	weft_ip_push(uso->skb, &path, NULL, 0);
}

static void *uso_add(struct weft_uso *uso, u32 size, u32 left)
{
	void *at;

	local_bh_disable();
	at = weft_uso_add(uso, init_net.loopback_dev, size, left);
	local_bh_enable();
	return at;
}

/* A piece has the bytes of one packet, and headers for it. */
static void uso_expect(struct kunit *test, struct sk_buff *skb, u32 packet, u32 size, bool ipv4)
{
	u32 headers = skb_transport_offset(skb) + sizeof(struct udphdr), i;
	u8 byte;

	KUNIT_EXPECT_EQ(test, ntohs(udp_hdr(skb)->len), sizeof(struct udphdr) + size);
	if (ipv4) {
		KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(skb)->id), (u16)(USO_ID + packet));
		KUNIT_EXPECT_EQ(test, ntohs(ip_hdr(skb)->tot_len),
				weft_ip_headers(true) + size);
	} else {
		KUNIT_EXPECT_EQ(test, ntohs(ipv6_hdr(skb)->payload_len),
				sizeof(struct udphdr) + size);
	}
	KUNIT_ASSERT_EQ(test, skb->len, headers + size);
	for (i = 0; i < size; i++) {
		KUNIT_ASSERT_EQ(test, skb_copy_bits(skb, headers + i, &byte, 1), 0);
		if (byte != (u8)(packet + 1))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, size);
}

/* A buffer of @num packets, of which the last has @last bytes. */
static struct sk_buff *uso_make(struct kunit *test, u32 size, u32 last, u32 num, bool ipv4)
{
	struct weft_uso uso;
	u32 i;

	uso_begin(test, &uso, ipv4);
	for (i = 0; i < num; i++) {
		u32 length = i + 1 < num ? size : last;
		void *at = uso_add(&uso, length, num - i);

		KUNIT_ASSERT_NOT_NULL(test, at);
		memset(at, i + 1, length);
	}
	if (ipv4)
		ip_hdr(uso.skb)->tot_len = htons(uso.skb->len);
	else
		ipv6_hdr(uso.skb)->payload_len = htons(uso.skb->len - sizeof(struct ipv6hdr));
	weft_uso_close(&uso, USO_ID);
	return uso.skb;
}

static void uso_round_trip(struct kunit *test, u32 size, u32 last, u32 num, bool ipv4)
{
	struct sk_buff *skb = uso_make(test, size, last, num, ipv4), *parts, *next;
	u32 i = 0;

	memset(skb_push(skb, ETH_HLEN), 0, ETH_HLEN);
	skb_reset_mac_header(skb);
	parts = __skb_gso_segment(skb, NETIF_F_SG | NETIF_F_HW_CSUM, true);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(parts));
	KUNIT_EXPECT_NE(test, (__force u16)udp_hdr(parts)->check, 0);
	consume_skb(skb);
	skb_list_walk_safe(parts, skb, next) {
		uso_expect(test, skb, i, i + 1 < num ? size : last, ipv4);
		i++;
		kfree_skb(skb);
	}
	KUNIT_EXPECT_EQ(test, i, num);
}

/*
 * @linear: bytes behind the UDP header that are not in pages, as virtio_net has it. @keep: one
 * packet of so many stays in use while the next ones are made; 0: none does.
 */
static void uso_open(struct kunit *test, struct sk_buff *skb, u32 size, u32 last, u32 num,
		     u32 linear, bool ipv4, u32 keep)
{
	struct sk_buff *part, *before = NULL;
	struct weft_uso_cursor at;
	struct sk_buff_head kept;
	u32 i, buffers = 0;

	__skb_queue_head_init(&kept);
	__skb_pull(skb, skb_transport_offset(skb));
	KUNIT_ASSERT_TRUE(test, pskb_may_pull(skb, sizeof(struct udphdr) + linear));
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, weft_uso_open(&at, skb));
	for (i = 0; (part = weft_uso_next(&at)); i++) {
		buffers += part != before;
		before = part;
		uso_expect(test, part, i, i + 1 < num ? size : last, ipv4);
		if (keep && !(i % keep))
			__skb_queue_tail(&kept, part);
		else
			consume_skb(part);
	}
	weft_uso_end(&at);
	local_bh_enable();
	consume_skb(skb);
	KUNIT_EXPECT_EQ(test, i, num);
	if (!keep)
		KUNIT_EXPECT_LE(test, buffers, 1 + !!linear);
	/* they are still there */
	for (i = 0; (part = __skb_dequeue(&kept)); i++) {
		KUNIT_EXPECT_EQ(test, refcount_read(&part->users), 1);
		uso_expect(test, part, i * keep, i * keep + 1 < num ? size : last, ipv4);
		kfree_skb(part);
	}
}

static void uso_opens(struct kunit *test, u32 size, u32 last, u32 num, u32 linear, bool ipv4)
{
	u32 keep;

	for (keep = 0; keep < 3; keep++)
		uso_open(test, uso_make(test, size, last, num, ipv4), size, last, num, linear, ipv4,
			 keep);
}

static void uso_is_opened(struct kunit *test)
{
	u32 ipv4;

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		uso_opens(test, 16, 16, 3, 0, ipv4);
		/* shorter than a BTH, which is for the caller to see */
		uso_opens(test, 16, 1, 3, 0, ipv4);
		uso_opens(test, 1040, 20, 32, 0, ipv4);
		uso_opens(test, 1040, 20, 32, 100, ipv4);
		uso_opens(test, 1040, 1040, 32, 1040, ipv4);
		uso_opens(test, 1040, 1040, 32, 3000, ipv4);
		uso_opens(test, 2064, 2064, 31, 0, ipv4);
		uso_opens(test, 4112, 4111, 15, 0, ipv4);
	}
}

static void uso_is_cut(struct kunit *test)
{
	u32 ipv4;

	for (ipv4 = 0; ipv4 < 2; ipv4++) {
		uso_round_trip(test, 16, 16, 3, ipv4);
		uso_round_trip(test, 1040, 20, 32, ipv4);
		uso_round_trip(test, 2064, 2064, 31, ipv4);
		uso_round_trip(test, 4112, 4111, 15, ipv4);
	}
}

static void uso_limits(struct kunit *test)
{
	struct weft_uso uso;
	u32 num;

	/* nothing longer than the first, nothing behind a shorter one */
	uso_begin(test, &uso, true);
	KUNIT_EXPECT_NOT_NULL(test, uso_add(&uso, 100, 9));
	KUNIT_EXPECT_NULL(test, uso_add(&uso, 101, 8));
	KUNIT_EXPECT_NOT_NULL(test, uso_add(&uso, 99, 8));
	KUNIT_EXPECT_NULL(test, uso_add(&uso, 99, 7));
	KUNIT_EXPECT_EQ(test, uso.packets, 2);
	kfree_skb(uso.skb);
	/* no more than UDP's offload takes, and than fits into a datagram */
	uso_begin(test, &uso, true);
	for (num = 0; uso_add(&uso, 32, 1000); num++)
		;
	KUNIT_EXPECT_EQ(test, num, UDP_MAX_SEGMENTS);
	kfree_skb(uso.skb);
	uso_begin(test, &uso, false);
	for (num = 0; uso_add(&uso, 4112, 1000); num++)
		;
	KUNIT_EXPECT_EQ(test, num, 15);
	KUNIT_EXPECT_LT(test, uso.skb->len, 65536);
	kfree_skb(uso.skb);
}

static struct kunit_case uso_cases[] = {
	KUNIT_CASE(uso_is_cut),
	KUNIT_CASE(uso_is_opened),
	KUNIT_CASE(uso_limits),
	{}
};

static struct kunit_suite uso_suite = {
	.name = "weft_uso",
	.test_cases = uso_cases,
};

kunit_test_suite(uso_suite);
