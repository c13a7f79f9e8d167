// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire/icrc.c, compared with packets whose checksum others have computed.
 *
 * IBA table 29 has a packet with its ICRC; two RoCEv2 packets over IPv4 are
 * published with the tests of the scapy packet library, one of them captured
 * from hardware. For IPv6 and for a GRH there are no known packets. Their
 * checksums were computed from the rules of A17 and 7.8.1, independently of this
 * driver, from bytes masked by hand, in Python
 *
 *	def icrc(masked):
 *		return zlib.crc32(masked).to_bytes(4, 'little')
 *
 * where masked is 8 bytes 0xff, then the packet with ones in traffic class,
 * flow label, hop limit, UDP checksum and the byte before the destination QP.
 * The VCRCs were computed bit by bit, following 7.8.2, as icrc_naive() does: with
 * the register of figure 57, which takes the lowest bit of a byte first, and is
 * sent with the highest term first.
 */
#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include <linux/udp.h>

#include "wire/headers.h"
#include "wire/icrc.h"

#define ICRC_SEED	0x1c2c1c2c
#define ICRC_MAX	96

/* The headers before the BTH. */
enum icrc_link {
	ICRC_IPV4,
	ICRC_IPV6,
	ICRC_LOCAL,
	ICRC_GLOBAL,
};

struct icrc_vector {
	const char	*name;
	enum icrc_link	link;
	size_t		len;
	u8		bytes[ICRC_MAX];
	u8		icrc[4];
	/* the bits of each byte that the ICRC does not protect */
	u8		masked[ICRC_MAX];
};

static const struct icrc_vector icrc_vectors[] = {
	{
		.name = "IBA table 29, RC RDMA WRITE only",
		.link = ICRC_LOCAL,
		.len = 52,
		.bytes = {
			0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2,
			0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3,
			0x00, 0x0d, 0xec, 0x2a,
			0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02,
			0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
			0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4,
			0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00,
		},
		.icrc = { 0x96, 0x25, 0xb7, 0x5a },
		.masked = { [0] = 0xf0, [12] = 0xff },
	}, {
		.name = "scapy, UC SEND only over IPv4",
		.link = ICRC_IPV4,
		.len = 60,
		.bytes = {
			0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00,
			0x40, 0x11, 0xb4, 0xd5, 0xc0, 0xa8, 0x00, 0x07,
			0xc0, 0xa8, 0x00, 0x07,
			0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2,
			0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3,
			0x00, 0xcf, 0x17, 0x10,
			0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9,
			0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88,
			0x5e, 0x50, 0x00, 0x00,
		},
		.icrc = { 0x78, 0xf3, 0x53, 0xf3 },
		.masked = {
			[1] = 0xff, [8] = 0xff, [10] = 0xff, [11] = 0xff,
			[26] = 0xff, [27] = 0xff, [32] = 0xff,
		},
	}, {
		.name = "scapy, CNP of a ConnectX-4 Lx over IPv4",
		.link = ICRC_IPV4,
		.len = 56,
		.bytes = {
			0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00,
			0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
			0x0a, 0x00, 0x12, 0x01,
			0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
			0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
		},
		.icrc = { 0x82, 0xfd, 0x00, 0x2a },
		.masked = {
			[1] = 0xff, [8] = 0xff, [10] = 0xff, [11] = 0xff,
			[26] = 0xff, [27] = 0xff, [32] = 0xff,
		},
	}, {
		.name = "computed, RC RDMA WRITE only with immediate over IPv6",
		.link = ICRC_IPV6,
		.len = 88,
		.bytes = {
			0x6a, 0x51, 0x23, 0x45, 0x00, 0x34, 0x11, 0x3f,
			0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x02, 0x0c, 0x29, 0xff, 0xfe, 0x3a, 0x0c, 0x01,
			0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x42,
			0xd4, 0x31, 0x12, 0xb7, 0x00, 0x34, 0x12, 0x34,
			0x0b, 0xb0, 0xff, 0xff, 0x40, 0x01, 0x23, 0x45,
			0x80, 0xff, 0xff, 0xfe,
			0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
			0x00, 0xc0, 0xff, 0xee, 0x00, 0x00, 0x00, 0x05,
			0xde, 0xad, 0xbe, 0xef,
			0x77, 0x65, 0x66, 0x74, 0x21, 0x00, 0x00, 0x00,
		},
		.icrc = { 0x73, 0x18, 0xd2, 0x82 },
		.masked = {
			[0] = 0x0f, [1] = 0xff, [2] = 0xff, [3] = 0xff,
			[7] = 0xff, [46] = 0xff, [47] = 0xff, [52] = 0xff,
		},
	}, {
		.name = "computed, UD SEND only with a GRH",
		.link = ICRC_GLOBAL,
		.len = 84,
		.bytes = {
			0xa0, 0x53, 0x00, 0x07, 0x00, 0x16, 0x00, 0x03,
			0x61, 0x2a, 0xbc, 0xde, 0x00, 0x28, 0x1b, 0x40,
			0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x02, 0x0c, 0x29, 0xff, 0xfe, 0x3a, 0x0c, 0x01,
			0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x42,
			0x64, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00, 0x01,
			0x00, 0x00, 0x00, 0x07,
			0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
			0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
			0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
		},
		.icrc = { 0xdf, 0x2d, 0x69, 0x1e },
		.masked = {
			[0] = 0xff, [1] = 0xff, [2] = 0xff, [3] = 0xff,
			[4] = 0xff, [5] = 0xff, [6] = 0xff, [7] = 0xff,
			[8] = 0x0f, [9] = 0xff, [10] = 0xff, [11] = 0xff,
			[15] = 0xff, [52] = 0xff,
		},
	},
};

static void icrc_vector_desc(const struct icrc_vector *vector, char *desc)
{
	strscpy(desc, vector->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(icrc_vector, icrc_vectors, icrc_vector_desc);

/* The offset of the second header, which the BTH follows (or which is the BTH). */
static size_t icrc_second_offset(enum icrc_link link)
{
	switch (link) {
	case ICRC_IPV4:
		return sizeof(struct iphdr);
	case ICRC_IPV6:
		return sizeof(struct ipv6hdr);
	default:
		return sizeof(struct weft_wire_lrh);
	}
}

static size_t icrc_bth_offset(enum icrc_link link)
{
	size_t second = icrc_second_offset(link);

	switch (link) {
	case ICRC_LOCAL:
		return second;
	case ICRC_GLOBAL:
		return second + sizeof(struct weft_wire_grh);
	default:
		return second + sizeof(struct udphdr);
	}
}

static u32 icrc_begin(enum icrc_link link, const u8 *packet)
{
	const void *second = packet + icrc_second_offset(link);
	const void *bth = packet + icrc_bth_offset(link);
	const void *first = packet;

	switch (link) {
	case ICRC_IPV4:
		return weft_icrc_begin_ipv4(first, second, bth);
	case ICRC_IPV6:
		return weft_icrc_begin_ipv6(first, second, bth);
	case ICRC_LOCAL:
		return weft_icrc_begin_ib(first, NULL, bth);
	default:
		return weft_icrc_begin_ib(first, second, bth);
	}
}

/* With bottom halves off the CPU remembers headers. The one CRC has to be as the other. */
static u32 icrc_packet(const struct icrc_vector *vector, const u8 *packet)
{
	size_t done = icrc_bth_offset(vector->link) +
		      sizeof(struct weft_wire_bth);
	u32 crc, remembered;

	crc = icrc_begin(vector->link, packet);
	local_bh_disable();
	remembered = icrc_begin(vector->link, packet);
	local_bh_enable();
	if (remembered != crc)
		return 0; /* fits no packet here */
	return weft_icrc_update(crc, packet + done, vector->len - done);
}

static void icrc_store_vector(struct kunit *test)
{
	const struct icrc_vector *vector = test->param_value;
	u8 trailer[6] = { 0xa5, 0, 0, 0, 0, 0xa5 };

	weft_icrc_store(trailer + 1, icrc_packet(vector, vector->bytes));
	KUNIT_EXPECT_MEMEQ(test, trailer + 1, vector->icrc, 4);
	KUNIT_EXPECT_EQ(test, trailer[0], 0xa5);
	KUNIT_EXPECT_EQ(test, trailer[5], 0xa5);
}

static void icrc_matches_vector(struct kunit *test)
{
	const struct icrc_vector *vector = test->param_value;
	u32 crc = icrc_packet(vector, vector->bytes);
	u8 trailer[4];
	int bit;

	KUNIT_EXPECT_TRUE(test, weft_icrc_matches(vector->icrc, crc));
	for (bit = 0; bit < 32; bit++) {
		memcpy(trailer, vector->icrc, sizeof(trailer));
		trailer[bit / 8] ^= BIT(bit % 8);
		KUNIT_EXPECT_FALSE_MSG(test, weft_icrc_matches(trailer, crc),
				       "bit %d", bit);
	}
}

/* Flip each bit of the packet: the ICRC changes unless the bit is masked. */
static void icrc_protects_each_bit(struct kunit *test)
{
	const struct icrc_vector *vector = test->param_value;
	u8 packet[ICRC_MAX];
	size_t bit;
	bool same;

	memcpy(packet, vector->bytes, sizeof(packet));
	for (bit = 0; bit < vector->len * 8; bit++) {
		packet[bit / 8] ^= BIT(bit % 8);
		same = weft_icrc_matches(vector->icrc,
					 icrc_packet(vector, packet));
		packet[bit / 8] ^= BIT(bit % 8);
		KUNIT_EXPECT_EQ_MSG(test, same,
				    !!(vector->masked[bit / 8] & BIT(bit % 8)),
				    "byte %zu bit %zu", bit / 8, bit % 8);
	}
}

/* An IP header after an Ethernet header may be aligned to 2 bytes only. */
static void icrc_begin_unaligned(struct kunit *test)
{
	const struct icrc_vector *vector = test->param_value;
	u8 buf[ICRC_MAX + 8];
	size_t shift;

	for (shift = 0; shift < 8; shift += 2) {
		memcpy(buf + shift, vector->bytes, vector->len);
		KUNIT_EXPECT_EQ(test, icrc_packet(vector, buf + shift),
				icrc_packet(vector, vector->bytes));
	}
}

/*
 * A CRC as IBA describes it: a register of @bits bits that starts as ones,
 * shifts towards its highest bit, and is complemented at the end.
 */
static u32 icrc_naive(const u8 *data, size_t len, u32 polynomial, int bits)
{
	u32 crc = GENMASK(bits - 1, 0);
	u32 sent = 0;
	size_t i;

	for (i = 0; i < len * 8; i++) {
		u32 in = data[i / 8] >> (i % 8) & 1;
		u32 out = crc >> (bits - 1) & 1;

		crc = crc << 1 & GENMASK(bits - 1, 0);
		if (in ^ out)
			crc ^= polynomial;
	}
	crc ^= GENMASK(bits - 1, 0);
	/* the highest term is sent first, in the lowest bit of the first byte */
	for (i = 0; i < bits; i++)
		sent |= (crc >> (bits - 1 - i) & 1) << i;
	return sent;
}

static void icrc_update_random(struct kunit *test)
{
	struct rnd_state rnd;
	u8 buf[ICRC_MAX];
	size_t len;
	int i;

	kunit_info(test, "seed %#x", ICRC_SEED);
	prandom_seed_state(&rnd, ICRC_SEED);
	for (i = 0; i < 1000; i++) {
		prandom_bytes_state(&rnd, buf, sizeof(buf));
		len = prandom_u32_state(&rnd) % (sizeof(buf) + 1);
		KUNIT_ASSERT_EQ(test, ~weft_icrc_update(~0U, buf, len),
				icrc_naive(buf, len, 0x04c11db7, 32));
	}
}

static void icrc_update_in_pieces(struct kunit *test)
{
	const u8 *bytes = icrc_vectors[0].bytes;
	u32 whole, crc;
	size_t a, b;

	whole = weft_icrc_update(~0U, bytes, 52);
	for (a = 0; a <= 52; a++)
		for (b = a; b <= 52; b++) {
			crc = weft_icrc_update(~0U, bytes, a);
			crc = weft_icrc_update(crc, bytes + a, b - a);
			crc = weft_icrc_update(crc, bytes + b, 52 - b);
			KUNIT_ASSERT_EQ_MSG(test, crc, whole, "%zu %zu", a, b);
		}
}

struct vcrc_row {
	const char	*name;
	const char	*data;
	size_t		len;
	u8		vcrc[2];
};

/* The VCRC does not mask VL and resv8a as IBA table 29 does; here they are 7 and 0. */
static const struct vcrc_row vcrc_rows[] = {
	{ "nothing", "", 0, { 0x00, 0x00 } },
	{ "the usual check string", "123456789", 9, { 0x3d, 0x0a } },
	{ "IBA table 29",
	  "\x70\x12\x37\x5c\x00\x0e\x17\xd2\x0a\x20\x24\x87\x00\x87\xb1\xb3"
	  "\x00\x0d\xec\x2a\x01\x71\x0a\x1c\x01\x5d\x40\x02\x38\xf2\x7a\x05"
	  "\x00\x00\x00\x0e\xbb\x88\x4d\x85\xfd\x5c\xfb\xa4\x72\x8b\xc0\x69"
	  "\x0e\xd4\x00\x00\x96\x25\xb7\x5a", 56, { 0x45, 0xfa } },
};

static void vcrc_row_desc(const struct vcrc_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(vcrc_row, vcrc_rows, vcrc_row_desc);

static void vcrc_store_row(struct kunit *test)
{
	const struct vcrc_row *row = test->param_value;
	u16 crc = weft_vcrc_update(WEFT_VCRC_INIT, row->data, row->len);
	u8 trailer[4] = { 0xa5, 0, 0, 0xa5 };

	weft_vcrc_store(trailer + 1, crc);
	KUNIT_EXPECT_MEMEQ(test, trailer + 1, row->vcrc, 2);
	KUNIT_EXPECT_EQ(test, trailer[0], 0xa5);
	KUNIT_EXPECT_EQ(test, trailer[3], 0xa5);
	KUNIT_EXPECT_TRUE(test, weft_vcrc_matches(row->vcrc, crc));
	KUNIT_EXPECT_FALSE(test, weft_vcrc_matches(row->vcrc, crc ^ 1));
	KUNIT_EXPECT_FALSE(test, weft_vcrc_matches(row->vcrc, crc ^ 0x8000));
}

static void vcrc_update_random(struct kunit *test)
{
	struct rnd_state rnd;
	u8 buf[ICRC_MAX];
	size_t len, cut;
	int i;
	u16 crc;

	kunit_info(test, "seed %#x", ICRC_SEED);
	prandom_seed_state(&rnd, ICRC_SEED);
	for (i = 0; i < 1000; i++) {
		prandom_bytes_state(&rnd, buf, sizeof(buf));
		len = prandom_u32_state(&rnd) % (sizeof(buf) + 1);
		cut = prandom_u32_state(&rnd) % (len + 1);
		crc = weft_vcrc_update(WEFT_VCRC_INIT, buf, cut);
		crc = weft_vcrc_update(crc, buf + cut, len - cut);
		KUNIT_ASSERT_EQ(test, (u16)~crc,
				icrc_naive(buf, len, 0x100b, 16));
	}
}

static struct kunit_case icrc_cases[] = {
	KUNIT_CASE_PARAM(icrc_store_vector, icrc_vector_gen_params),
	KUNIT_CASE_PARAM(icrc_matches_vector, icrc_vector_gen_params),
	KUNIT_CASE_PARAM(icrc_protects_each_bit, icrc_vector_gen_params),
	KUNIT_CASE_PARAM(icrc_begin_unaligned, icrc_vector_gen_params),
	KUNIT_CASE(icrc_update_random),
	KUNIT_CASE(icrc_update_in_pieces),
	KUNIT_CASE_PARAM(vcrc_store_row, vcrc_row_gen_params),
	KUNIT_CASE(vcrc_update_random),
	{}
};

static struct kunit_suite icrc_suite = {
	.name = "weft_icrc",
	.test_cases = icrc_cases,
};

kunit_test_suite(icrc_suite);
