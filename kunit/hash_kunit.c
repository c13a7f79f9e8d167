// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * flow/hash.c: the examples that Microsoft has published for RSS, frames whose queues a test of
 * rdma-core's knows, and fields that a frame has not.
 */
#include <kunit/test.h>
#include <linux/if_ether.h>
#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "flow/hash.h"

#define HASH_IPV4	(WEFT_RX_HASH_SRC_IPV4 | WEFT_RX_HASH_DST_IPV4)
#define HASH_IPV6	(WEFT_RX_HASH_SRC_IPV6 | WEFT_RX_HASH_DST_IPV6)
#define HASH_TCP	(WEFT_RX_HASH_SRC_PORT_TCP | WEFT_RX_HASH_DST_PORT_TCP)
#define HASH_UDP	(WEFT_RX_HASH_SRC_PORT_UDP | WEFT_RX_HASH_DST_PORT_UDP)

static const u8 hash_key[WEFT_RX_HASH_KEY] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* The fields of a frame. */
struct hash_packet {
	bool		ipv6;
	u8		protocol;
	bool		later;		/* a later fragment of IPv4 */
	const char	*src, *dst;
	u16		src_port, dst_port;	/* ESP: the SPI */
};

static void hash_address(u8 *to, const char *text, bool ipv6)
{
	if (ipv6)
		in6_pton(text, -1, to, -1, NULL);
	else
		in4_pton(text, -1, to, -1, NULL);
}

static void hash_put16(u8 *at, u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/* Returns the length of an IP packet with eight bytes of transport. */
static u32 hash_put_packet(u8 *at, const struct hash_packet *packet)
{
	u32 length = packet->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	memset(at, 0, length + 8);
	at[0] = packet->ipv6 ? 0x60 : 0x45;
	at[packet->ipv6 ? 6 : 9] = packet->protocol;
	if (packet->later)
		at[7] = 1;
	hash_address(at + (packet->ipv6 ? 8 : 12), packet->src, packet->ipv6);
	hash_address(at + (packet->ipv6 ? 24 : 16), packet->dst, packet->ipv6);
	hash_put16(at + length, packet->src_port);
	hash_put16(at + length + 2, packet->dst_port);
	return length + 8;
}

static u32 hash_put_frame(u8 *frame, const struct hash_packet *packet)
{
	memset(frame, 2, 2 * ETH_ALEN);
	hash_put16(frame + 2 * ETH_ALEN, packet->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	return ETH_HLEN + hash_put_packet(frame + ETH_HLEN, packet);
}

static u32 hash_of(const u8 *frame, u32 length, const u8 *key, u32 fields)
{
	struct weft_flow_hash hash = { .fields = fields };
	struct weft_flow_key fields_of;

	memcpy(hash.key, key, sizeof(hash.key));
	weft_flow_parse(&fields_of, frame, length);
	return weft_flow_hash(&hash, &fields_of);
}

static u32 hash_packet(const struct hash_packet *packet, u32 fields)
{
	u8 frame[128];

	return hash_of(frame, hash_put_frame(frame, packet), hash_key, fields);
}

struct hash_row {
	const char	*src, *dst;
	u16		src_port, dst_port;
	u32		addresses;	/* the hash of the addresses alone */
	u32		ports;		/* with the ports */
};

static const struct hash_row hash_rows[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178 },
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea },
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a },
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f },
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2 },
	{ "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d },
	{ "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf },
	{ "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024,
	  0x4b61e985, 0x02d1feef },
};

static void hash_row_desc(const struct hash_row *row, char *desc)
{
	strscpy(desc, row->src, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(hash_row, hash_rows, hash_row_desc);

static void hash_examples(struct kunit *test)
{
	const struct hash_row *row = test->param_value;
	struct hash_packet packet = {
		.ipv6 = strchr(row->src, ':'), .protocol = IPPROTO_TCP, .src = row->src,
		.dst = row->dst, .src_port = row->src_port, .dst_port = row->dst_port,
	};
	u32 addresses = packet.ipv6 ? HASH_IPV6 : HASH_IPV4;

	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses), row->addresses);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses | HASH_TCP), row->ports);
	/* the transport protocol is not the one that was chosen */
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses | HASH_UDP), row->addresses);
	packet.protocol = IPPROTO_UDP;
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses | HASH_UDP), row->ports);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses | HASH_TCP), row->addresses);
	/* the SPI is where ports would be */
	packet.protocol = IPPROTO_ESP;
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses | WEFT_RX_HASH_IPSEC_SPI),
			row->ports);
	/* neither is the network protocol */
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, addresses ^ (HASH_IPV4 | HASH_IPV6)), 0U);
}

/* The key and the frames of the test test_rss_traffic of rdma-core. */
static void hash_of_rdma_core(struct kunit *test)
{
	static const u8 key[WEFT_RX_HASH_KEY] = {
		0x2c, 0xc6, 0x81, 0xd1, 0x5b, 0xdb, 0xf4, 0xf7, 0xfc, 0xa2, 0x83, 0x19, 0xdb,
		0x1a, 0x3e, 0x94, 0x6b, 0x9e, 0x38, 0xd9, 0x2c, 0x9c, 0x03, 0xd1, 0xad, 0x99,
		0x44, 0xa7, 0xd9, 0x56, 0x3d, 0x59, 0x06, 0x3c, 0x25, 0xf3, 0xfc, 0x1f, 0xdc,
		0x2a,
	};
	static const u8 queues[] = {
		7, 3, 7, 6, 7, 4, 7, 3, 7, 3, 7, 6, 7, 3, 7, 5, 3, 7, 3, 2, 3, 0, 3, 7, 3, 7, 3,
		2, 3, 4, 7, 2,
	};
	struct hash_packet packet = {
		.protocol = IPPROTO_UDP, .dst = "2.2.2.2",
	};
	char src[sizeof("31.32.33.34")];
	u8 frame[128];
	u32 i, length, hash;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		snprintf(src, sizeof(src), "%u.%u.%u.%u", i, i + 1, i + 2, i + 3);
		packet.src = src;
		length = hash_put_frame(frame, &packet);
		hash = hash_of(frame, length, key, HASH_IPV4);
		KUNIT_EXPECT_EQ(test, hash & 7, queues[i]);
		if (!i)
			KUNIT_EXPECT_EQ(test, hash, 0x06b216e7U);
	}
}

static void hash_one_field(struct kunit *test)
{
	struct hash_packet packet = {
		.protocol = IPPROTO_TCP, .src = "0.0.0.1", .dst = "128.0.0.0", .dst_port = 0x8000,
	};

	/* one bit: the window of the key that begins there */
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_DST_IPV4), 0x6d5a56daU);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_SRC_IPV4), 0x12ad8761U);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_DST_PORT_TCP), 0x6d5a56daU);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_SRC_PORT_TCP), 0U);
	packet.later = true;
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_DST_PORT_TCP), 0U);
	KUNIT_EXPECT_EQ(test, hash_packet(&packet, WEFT_RX_HASH_DST_IPV4 | HASH_TCP), 0x6d5a56daU);
}

/* With INNER, the packet in the tunnel counts, and a frame without a tunnel has none. */
static void hash_inner(struct kunit *test)
{
	const struct hash_row *row = &hash_rows[0];
	struct hash_packet outer = {
		.protocol = IPPROTO_UDP, .src = "10.0.0.1", .dst = "10.0.0.2", .dst_port = 4789,
	};
	struct hash_packet inner = {
		.protocol = IPPROTO_TCP, .src = row->src, .dst = row->dst,
		.src_port = row->src_port, .dst_port = row->dst_port,
	};
	u8 frame[256] = {};
	u32 length = hash_put_frame(frame, &outer), plain;

	plain = hash_of(frame, length, hash_key, HASH_IPV4);
	length += 8;
	length += hash_put_frame(frame + length, &inner);
	KUNIT_EXPECT_EQ(test, hash_of(frame, length, hash_key,
				      HASH_IPV4 | HASH_TCP | WEFT_RX_HASH_INNER), row->ports);
	KUNIT_EXPECT_EQ(test, hash_of(frame, length, hash_key, HASH_IPV4), plain);
	KUNIT_EXPECT_EQ(test, hash_packet(&inner, HASH_IPV4 | WEFT_RX_HASH_INNER), 0U);
}

static struct kunit_case hash_cases[] = {
	KUNIT_CASE_PARAM(hash_examples, hash_row_gen_params),
	KUNIT_CASE(hash_of_rdma_core),
	KUNIT_CASE(hash_one_field),
	KUNIT_CASE(hash_inner),
	{}
};

static struct kunit_suite hash_suite = {
	.name = "weft_hash",
	.test_cases = hash_cases,
};

kunit_test_suite(hash_suite);
