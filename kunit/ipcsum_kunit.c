// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Checksums of IPoIB packets, compared with sums of single 16 bit words, and with packets whose
 * checksums another implementation has computed.
 */
#include "engine/ipcsum.h"

#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/test.h>

#include "mem/copy.h"

#define SEED	0x1b5c
#define ROUNDS	4000
#define SIZE	2048
#define SPANS	8

/**
 * struct fixture - a packet and its memory
 * @packet: in one piece
 * @before: copy of it before the call
 * @span: in several pieces
 * @num: of @span
 * @random: with a constant seed
 */
struct fixture {
	u8			packet[SIZE];
	u8			before[SIZE];
	struct weft_span	span[SPANS];
	u32			num;
	struct rnd_state	random;
};

static int ipcsum_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	test->priv = fixture;
	kunit_info(test, "seed %#x\n", SEED);
	prandom_seed_state(&fixture->random, SEED);
	return 0;
}

static u32 below(struct fixture *fixture, u32 limit)
{
	return prandom_u32_state(&fixture->random) % limit;
}

/* IPv4 from 192.0.2.1 to 198.51.100.7, TCP with SYN and an MSS of 1460. */
static const u8 known_tcp[] = {
	0x08, 0x00, 0x00, 0x00,
	0x45, 0x00, 0x00, 0x2c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0x32, 0x4a,
	0xc0, 0x00, 0x02, 0x01, 0xc6, 0x33, 0x64, 0x07,
	0x04, 0xd2, 0x16, 0x2e, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x60, 0x02, 0xff, 0xff, 0x90, 0xe9, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4,
};

/* IPv6 from 2001:db8::1 to 2001:db8::2, UDP with "weft!" in it. */
static const u8 known_udp[] = {
	0x86, 0xdd, 0x00, 0x00,
	0x60, 0x00, 0x00, 0x00, 0x00, 0x0d, 0x11, 0x40,
	0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01,
	0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02,
	0x30, 0x39, 0x30, 0x3a, 0x00, 0x0d, 0x45, 0x12, 'w', 'e', 'f', 't', '!',
};

/* Describe a packet by spans of random lengths, none of them empty. */
static struct weft_iter scatter(struct fixture *fixture, u8 *at, u32 length)
{
	struct weft_iter iter = { .span = fixture->span };
	u32 piece;

	fixture->num = 0;
	while (length) {
		piece = fixture->num + 1 == SPANS ? length : 1 + below(fixture, length);
		fixture->span[fixture->num++] = (struct weft_span){
			.addr = (uintptr_t)at, .length = piece,
		};
		at += piece;
		length -= piece;
	}
	iter.left = fixture->num;
	return iter;
}

static bool verify(struct kunit *test, u32 length)
{
	struct fixture *fixture = test->priv;
	u32 type = fixture->packet[0] << 8 | fixture->packet[1];
	bool right = weft_ipcsum_verify(scatter(fixture, fixture->packet, length), length);

	if (length >= WEFT_IPCSUM_ENCAP)
		KUNIT_EXPECT_EQ(test, right,
				weft_ipcsum_verify_linear(fixture->packet, type, length));
	return right;
}

static void check_known(struct kunit *test, const u8 *known, u32 length, u32 check)
{
	struct fixture *fixture = test->priv;
	u32 i;

	memcpy(fixture->packet, known, length);
	KUNIT_EXPECT_TRUE(test, verify(test, length));
	/* the old contents of the field do not matter */
	fixture->packet[check] ^= 0x5a;
	if (known[0] == 0x08)
		fixture->packet[4 + 11] = 0xff;
	KUNIT_EXPECT_FALSE(test, verify(test, length));
	weft_ipcsum_fill(fixture->packet, length);
	KUNIT_EXPECT_EQ(test, memcmp(fixture->packet, known, length), 0);
	/* each bit counts, except those in the IPv6 header that no checksum covers */
	for (i = known[0] == 0x08 ? 4 : 12; i < length; i++) {
		fixture->packet[i] ^= 0x10;
		KUNIT_EXPECT_FALSE_MSG(test, verify(test, length), "byte %u", i);
		fixture->packet[i] ^= 0x10;
	}
}

static void knows_tcp(struct kunit *test)
{
	check_known(test, known_tcp, sizeof(known_tcp), 24 + 16);
}

static void knows_udp(struct kunit *test)
{
	check_known(test, known_udp, sizeof(known_udp), 44 + 6);
}

/* The sum of the 16 bit words of a string, which ends with a zero byte if its length is odd. */
static u32 add_up(u32 sum, const u8 *at, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++) {
		sum += i % 2 ? at[i] : at[i] << 8;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return sum;
}

static void put(u8 *at, u32 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/**
 * struct shape - the parts of a packet
 * @v6: IPv6
 * @udp: UDP
 * @ip: bytes of the IP header
 * @payload: bytes behind the TCP or UDP header
 * @pad: bytes behind the packet
 */
struct shape {
	bool	v6;
	bool	udp;
	u32	ip;
	u32	payload;
	u32	pad;
};

static struct shape random_shape(struct fixture *fixture)
{
	struct shape shape = {
		.v6 = below(fixture, 2),
		.udp = below(fixture, 2),
		.payload = below(fixture, 4) ? below(fixture, 64) : below(fixture, 1900),
		.pad = below(fixture, 3) ? 0 : below(fixture, 9),
	};

	shape.ip = shape.v6 ? 40 : 20 + 4 * below(fixture, 11);
	return shape;
}

/* Make a packet of random bytes. Return: its bytes. */
static u32 make_packet(struct fixture *fixture, const struct shape *shape)
{
	u32 transport = (shape->udp ? 8 : 20) + shape->payload;
	u32 length = 4 + shape->ip + transport + shape->pad;
	u8 *ip = fixture->packet + 4;

	prandom_bytes_state(&fixture->random, fixture->packet, length);
	put(fixture->packet, shape->v6 ? 0x86dd : 0x0800);
	if (shape->v6) {
		ip[0] = 0x60 | (ip[0] & 15);
		put(ip + 4, transport);
		ip[6] = shape->udp ? 17 : 6;
	} else {
		ip[0] = 0x40 | shape->ip / 4;
		put(ip + 2, shape->ip + transport);
		put(ip + 6, 0x4000);
		ip[9] = shape->udp ? 17 : 6;
	}
	if (shape->udp)
		put(ip + shape->ip + 4, transport);
	return length;
}

/* RFC 791, 768, 9293, 8200: the sum of a packet with its checksum, before it is complemented. */
static u32 expected(const struct fixture *fixture, const struct shape *shape)
{
	const u8 *ip = fixture->packet + 4;
	u32 transport = (shape->udp ? 8 : 20) + shape->payload, sum;

	sum = shape->v6 ? add_up(0, ip + 8, 32) : add_up(0, ip + 12, 8);
	sum += transport + (shape->udp ? 17 : 6);
	return add_up(sum, ip + shape->ip, transport);
}

static void fills_random(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct shape shape;
	u32 i, length, check;

	for (i = 0; i < ROUNDS; i++) {
		shape = random_shape(fixture);
		length = make_packet(fixture, &shape);
		check = 4 + shape.ip + (shape.udp ? 6 : 16);
		memcpy(fixture->before, fixture->packet, length);
		weft_ipcsum_fill(fixture->packet, length);
		KUNIT_ASSERT_EQ_MSG(test, expected(fixture, &shape), 0xffffU, "round %u", i);
		if (!shape.v6)
			KUNIT_ASSERT_EQ(test, add_up(0, fixture->packet + 4, shape.ip), 0xffffU);
		KUNIT_ASSERT_TRUE_MSG(test, verify(test, length), "round %u", i);
		/* nothing else has been changed */
		memcpy(fixture->before + check, fixture->packet + check, 2);
		if (!shape.v6)
			memcpy(fixture->before + 14, fixture->packet + 14, 2);
		KUNIT_ASSERT_EQ(test, memcmp(fixture->before, fixture->packet, length), 0);
		fixture->packet[4 + shape.ip + below(fixture, length - 4 - shape.ip - shape.pad)] ^=
			1 << below(fixture, 8);
		KUNIT_ASSERT_FALSE_MSG(test, verify(test, length), "round %u", i);
	}
}

/* A UDP checksum of 0 is sent as 0xffff, so a computed one is never 0. */
static void udp_has_one(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 length = sizeof(known_udp), sum;

	memcpy(fixture->packet, known_udp, length);
	/* choose the source port that makes the sum 0xffff */
	put(fixture->packet + 44, 0);
	put(fixture->packet + 50, 0);
	sum = add_up(0, fixture->packet + 12, 32) + 13 + 17;
	put(fixture->packet + 44, 0xffff - add_up(sum, fixture->packet + 44, 13));
	weft_ipcsum_fill(fixture->packet, length);
	KUNIT_EXPECT_EQ(test, fixture->packet[50], 0xff);
	KUNIT_EXPECT_EQ(test, fixture->packet[51], 0xff);
	KUNIT_EXPECT_TRUE(test, verify(test, length));
	/* a UDP checksum that was left out verifies nothing */
	put(fixture->packet + 50, 0);
	KUNIT_EXPECT_FALSE(test, verify(test, length));
}

/* A fragment, or a packet of another protocol, has only the checksum of the IPv4 header. */
static void only_of_ip(struct kunit *test)
{
	static const u32 changes[] = { 6, 0x2000, 6, 0x0001, 8, 0x4001, 8, 0x4032 };
	struct fixture *fixture = test->priv;
	u32 i, length = sizeof(known_tcp);

	for (i = 0; i < ARRAY_SIZE(changes); i += 2) {
		memcpy(fixture->packet, known_tcp, length);
		put(fixture->packet + 4 + changes[i], changes[i + 1]);
		weft_ipcsum_fill(fixture->packet, length);
		KUNIT_EXPECT_EQ(test, add_up(0, fixture->packet + 4, 20), 0xffffU);
		KUNIT_EXPECT_EQ(test, memcmp(fixture->packet + 24, known_tcp + 24, length - 24), 0);
		KUNIT_EXPECT_FALSE(test, verify(test, length));
	}
}

/* A packet that is cut off anywhere is left alone. */
static void short_ones(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 i;

	for (i = 0; i < sizeof(known_tcp); i++) {
		memcpy(fixture->packet, known_tcp, i);
		fixture->packet[i] = 0xcc;
		weft_ipcsum_fill(fixture->packet, i);
		KUNIT_EXPECT_EQ(test, memcmp(fixture->packet, known_tcp, i), 0);
		KUNIT_EXPECT_EQ(test, fixture->packet[i], 0xcc);
		KUNIT_EXPECT_FALSE_MSG(test, verify(test, i), "%u bytes", i);
	}
}

/* The buffer has exactly that length, so KASAN finds any access beyond it. */
static void check_hostile(struct kunit *test, const u8 *packet, u32 length)
{
	struct weft_span span = { .length = length };
	struct weft_iter iter;
	u8 *copy = kmemdup(packet, length, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	span.addr = (uintptr_t)copy;
	weft_span_iter(&span, &iter);
	weft_ipcsum_verify(iter, length);
	if (length >= WEFT_IPCSUM_ENCAP)
		weft_ipcsum_verify_linear(copy, copy[0] << 8 | copy[1], length);
	weft_ipcsum_fill(copy, length);
	kfree(copy);
}

static void survives_anything(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct shape shape;
	u32 i, j, length;

	for (i = 0; i < ROUNDS; i++) {
		shape = random_shape(fixture);
		length = make_packet(fixture, &shape);
		for (j = below(fixture, 4); j; j--)
			fixture->packet[4 + below(fixture, shape.ip + 8)] =
				prandom_u32_state(&fixture->random);
		check_hostile(test, fixture->packet, 1 + below(fixture, length));
	}
}

static struct kunit_case ipcsum_cases[] = {
	KUNIT_CASE(knows_tcp),
	KUNIT_CASE(knows_udp),
	KUNIT_CASE(fills_random),
	KUNIT_CASE(udp_has_one),
	KUNIT_CASE(only_of_ip),
	KUNIT_CASE(short_ones),
	KUNIT_CASE(survives_anything),
	{}
};

static struct kunit_suite ipcsum_suite = {
	.name = "weft_ipcsum",
	.init = ipcsum_test_init,
	.test_cases = ipcsum_cases,
};

kunit_test_suite(ipcsum_suite);
