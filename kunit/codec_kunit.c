// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wire/codec.c and wire/aeth.h: bytes to CPU order and back.
 */
#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "wire/aeth.h"
#include "wire/codec.h"
#include "wire/opcode.h"
#include "fuzz.h"

#define CODEC_SEED	0x77656674
#define CODEC_ROUNDS	64
#define CODEC_FUZZ	20000
#define CODEC_GUARD	0xa5

/* Packets written by hand, header by header, from the figures of IBA. */
struct codec_vector {
	const char	*name;
	u8		bytes[WEFT_HDR_MAX_LENGTH];
	size_t		len;
	struct weft_hdr	hdr;
};

static const struct codec_vector codec_vectors[] = {
	{
		/* the sample packet of IBA table 29, with resv8a 0 */
		.name = "RC RDMA WRITE only, 14 bytes and 2 of pad",
		.bytes = {
			0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3,
			0x00, 0x0d, 0xec, 0x2a,
			0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02,
			0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
		},
		.len = 28 + 16,
		.hdr = {
			.length = 28, .payload = 14, .opcode = 0x0a, .pad = 2,
			.pkey = 0x2487, .dqpn = 0x87b1b3, .psn = 0x0dec2a,
			.reth = { 0x01710a1c015d4002, 0x38f27a05, 14 },
		},
	}, {
		.name = "RC SEND only, every bit of the BTH",
		.bytes = {
			0x04, 0xf0, 0xff, 0xff, 0xc0, 0xff, 0xff, 0xff,
			0x80, 0xff, 0xff, 0xff,
		},
		.len = 12 + 4,
		.hdr = {
			.length = 12, .payload = 1, .opcode = 0x04, .pad = 3,
			.se = true, .migreq = true, .fecn = true, .becn = true,
			.ackreq = true, .pkey = 0xffff, .dqpn = 0xffffff,
			.psn = 0xffffff,
		},
	}, {
		.name = "UD SEND only with immediate",
		.bytes = {
			0x65, 0x80, 0x80, 0x01, 0x00, 0x00, 0x00, 0x01,
			0x00, 0x00, 0x00, 0x07,
			0x80, 0x01, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56,
			0xde, 0xad, 0xbe, 0xef,
		},
		.len = 24 + 256,
		.hdr = {
			.length = 24, .payload = 256, .opcode = 0x65,
			.se = true, .pkey = 0x8001, .dqpn = 1, .psn = 7,
			.imm = cpu_to_be32(0xdeadbeef),
			.deth = { 0x80010000, 0x123456 },
		},
	}, {
		.name = "RC acknowledge",
		.bytes = {
			0x11, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11,
			0x00, 0x00, 0x00, 0x2a,
			0x1f, 0x00, 0x00, 0x03,
		},
		.len = 16,
		.hdr = {
			.length = 16, .opcode = 0x11, .migreq = true,
			.pkey = 0xffff, .dqpn = 0x11, .psn = 0x2a,
			.aeth = { 0x1f, 3 },
		},
	}, {
		.name = "RC atomic acknowledge",
		.bytes = {
			0x12, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x11,
			0x00, 0x00, 0x00, 0x2a,
			0x00, 0xab, 0xcd, 0xef,
			0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		},
		.len = 24,
		.hdr = {
			.length = 24, .opcode = 0x12, .migreq = true,
			.pkey = 0xffff, .dqpn = 0x11, .psn = 0x2a,
			.aeth = { 0, 0xabcdef },
			.atomic_ack = { 0x1122334455667788 },
		},
	}, {
		.name = "XRC compare and swap",
		.bytes = {
			0xb3, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x80, 0x00, 0x00, 0x00,
			0x00, 0x98, 0x76, 0x54,
			0x00, 0x00, 0x7f, 0xff, 0x00, 0x00, 0x10, 0x08,
			0xca, 0xfe, 0xf0, 0x0d,
			0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
			0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1,
		},
		.len = 44,
		.hdr = {
			.length = 44, .opcode = 0xb3, .ackreq = true,
			.pkey = 0xffff, .dqpn = 0x100,
			.xrceth = { 0x987654 },
			.atomic = { 0x7fff00001008, 0xcafef00d,
				    0x0102030405060708, 0xf8f7f6f5f4f3f2f1 },
		},
	}, {
		.name = "XRC RDMA WRITE only with immediate",
		.bytes = {
			0xab, 0x10, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x00, 0x00, 0x00, 0x05,
			0x00, 0x00, 0x00, 0x09,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
			0x00, 0x00, 0x0a, 0x0b, 0x00, 0x00, 0x00, 0x03,
			0x00, 0x00, 0x00, 0x2a,
		},
		.len = 36 + 4,
		.hdr = {
			.length = 36, .payload = 3, .opcode = 0xab, .pad = 1,
			.pkey = 0xffff, .dqpn = 0x100, .psn = 5,
			.imm = cpu_to_be32(42), .xrceth = { 9 },
			.reth = { 0x2000, 0x0a0b, 3 },
		},
	}, {
		.name = "RC SEND last with invalidate",
		.bytes = {
			0x16, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x00, 0x00, 0x00, 0x05,
			0x00, 0x12, 0x34, 0x56,
		},
		.len = 16 + 8,
		.hdr = {
			.length = 16, .payload = 8, .opcode = 0x16,
			.pkey = 0xffff, .dqpn = 0x100, .psn = 5,
			.ieth = { 0x123456 },
		},
	}, {
		.name = "RC FLUSH to persistence, whole region",
		.bytes = {
			0x1c, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x80, 0x00, 0x00, 0x05,
			0x00, 0x00, 0x00, 0x12,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00,
			0x00, 0x00, 0x0a, 0x0b, 0x00, 0x00, 0x01, 0x00,
		},
		.len = 32,
		.hdr = {
			.length = 32, .opcode = 0x1c, .ackreq = true,
			.pkey = 0xffff, .dqpn = 0x100, .psn = 5,
			.feth = { .placement = 2, .selectivity = 1 },
			.reth = { 0x3000, 0x0a0b, 0x100 },
		},
	}, {
		.name = "RC ATOMIC WRITE",
		.bytes = {
			0x1d, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x80, 0x00, 0x00, 0x06,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x08,
			0x00, 0x00, 0x0a, 0x0b, 0x00, 0x00, 0x00, 0x08,
		},
		.len = 28 + 8,
		.hdr = {
			.length = 28, .payload = 8, .opcode = 0x1d,
			.ackreq = true, .pkey = 0xffff, .dqpn = 0x100,
			.psn = 6, .reth = { 0x4008, 0x0a0b, 8 },
		},
	}, {
		.name = "RC masked compare and swap",
		.bytes = {
			0xd3, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x00, 0x00, 0x00, 0x07,
			0x00, 0x00, 0x7f, 0xff, 0x00, 0x00, 0x10, 0x08,
			0xca, 0xfe, 0xf0, 0x0d,
			0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
			0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1,
			0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x00, 0x00,
			0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
		},
		.len = 56,
		.hdr = {
			.length = 56, .opcode = 0xd3,
			.pkey = 0xffff, .dqpn = 0x100, .psn = 7,
			.atomic = { 0x7fff00001008, 0xcafef00d,
				    0x0102030405060708, 0xf8f7f6f5f4f3f2f1 },
			.masks = { 0xffff0000, 0x8000000000000001 },
		},
	}, {
		.name = "RC RDMA READ response first",
		.bytes = {
			0x0d, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x00,
			0x00, 0x00, 0x00, 0x06,
			0x05, 0x00, 0x00, 0x01,
		},
		.len = 16 + 1024,
		.hdr = {
			.length = 16, .payload = 1024, .opcode = 0x0d,
			.pkey = 0xffff, .dqpn = 0x100, .psn = 6,
			.aeth = { 5, 1 },
		},
	}, {
		.name = "CNP",
		.bytes = {
			0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18,
			0x00, 0x00, 0x00, 0x00,
		},
		.len = 12 + 16,
		.hdr = {
			.length = 12, .payload = 16, .opcode = 0x81,
			.becn = true, .pkey = 0xffff, .dqpn = 0x118,
		},
	},
};

static void codec_vector_desc(const struct codec_vector *vector, char *desc)
{
	strscpy(desc, vector->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(codec_vector, codec_vectors, codec_vector_desc);

static void hdr_decode_vector(struct kunit *test)
{
	const struct codec_vector *vector = test->param_value;
	enum weft_malformed reason;
	struct weft_hdr hdr;

	reason = weft_hdr_decode(&hdr, vector->bytes, vector->len);
	KUNIT_EXPECT_EQ(test, reason, WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_MEMEQ(test, &hdr, &vector->hdr, sizeof(hdr));
}

static void hdr_encode_vector(struct kunit *test)
{
	const struct codec_vector *vector = test->param_value;
	u8 buf[WEFT_HDR_MAX_LENGTH];

	KUNIT_ASSERT_EQ(test, weft_hdr_encode(buf, &vector->hdr),
			(size_t)vector->hdr.length);
	KUNIT_EXPECT_MEMEQ(test, buf, vector->bytes, vector->hdr.length);
}

/* IBA: reserved bits are sent as 0 and ignored on receipt. */
static void hdr_decode_ignores_reserved(struct kunit *test)
{
	static const u8 bytes[] = {
		0xbc, 0x00, 0xff, 0xff, 0x3f, 0x00, 0x01, 0x00,
		0x7f, 0x00, 0x00, 0x05,
		0xff, 0x00, 0x00, 0x09,
		0xff, 0xff, 0xff, 0xc1,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00,
		0x00, 0x00, 0x0a, 0x0b, 0x00, 0x00, 0x01, 0x00,
	};
	static const u8 deth[] = {
		0x64, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
		0x00, 0x00, 0x00, 0x05,
		0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x00, 0x02,
	};
	struct weft_hdr hdr;

	KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, bytes, sizeof(bytes)),
			WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_FALSE(test, hdr.fecn || hdr.becn || hdr.ackreq);
	KUNIT_EXPECT_EQ(test, hdr.dqpn, 0x100U);
	KUNIT_EXPECT_EQ(test, hdr.psn, 5U);
	KUNIT_EXPECT_EQ(test, hdr.xrceth.srqn, 9U);
	KUNIT_EXPECT_EQ(test, hdr.feth.placement, 1);
	KUNIT_EXPECT_EQ(test, hdr.feth.selectivity, 0);

	KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, deth, sizeof(deth)),
			WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_EQ(test, hdr.deth.sqpn, 2U);
}

/* A value that is too wide must not change the bits next to its field. */
static void hdr_encode_cuts_wide_fields(struct kunit *test)
{
	static const struct weft_hdr wide = {
		.opcode = 0xbc, .pad = 0xfc, .tver = 0xf0,
		.dqpn = 0xff000001, .psn = 0xff000002,
		.xrceth = { 0xff000003 },
		.feth = { .placement = 0xf1, .selectivity = 0xfc },
	};
	static const u8 bytes[36] = {
		[0] = 0xbc, [7] = 1, [11] = 2, [15] = 3, [19] = 1,
	};
	u8 buf[WEFT_HDR_MAX_LENGTH];

	KUNIT_ASSERT_EQ(test, weft_hdr_encode(buf, &wide), sizeof(bytes));
	KUNIT_EXPECT_MEMEQ(test, buf, bytes, sizeof(bytes));
}

static void hdr_encode_refuses_invalid_opcode(struct kunit *test)
{
	static const struct weft_hdr hdr = { .opcode = WEFT_OPCODE_NONE };
	u8 buf[WEFT_HDR_MAX_LENGTH] = { CODEC_GUARD };

	KUNIT_EXPECT_EQ(test, weft_hdr_encode(buf, &hdr), (size_t)0);
	KUNIT_EXPECT_EQ(test, buf[0], CODEC_GUARD);
}

/* The members of struct weft_hdr that belong to an extension header. */
#define CODEC_FIELD(_ext, _member) {				\
	.ext = WEFT_EXT_##_ext,					\
	.offset = offsetof(struct weft_hdr, _member),		\
	.size = sizeof_field(struct weft_hdr, _member),		\
}

static const struct codec_field {
	u16	ext;
	size_t	offset;
	size_t	size;
} codec_fields[] = {
	CODEC_FIELD(XRCETH, xrceth),
	CODEC_FIELD(DETH, deth),
	CODEC_FIELD(FETH, feth),
	CODEC_FIELD(RETH, reth),
	CODEC_FIELD(ATOMIC, atomic),
	CODEC_FIELD(MASKS, masks),
	CODEC_FIELD(AETH, aeth),
	CODEC_FIELD(ATOMIC_ACK, atomic_ack),
	CODEC_FIELD(IMM, imm),
	CODEC_FIELD(IETH, ieth),
};

static u64 random_u64(struct rnd_state *rnd)
{
	u64 high = prandom_u32_state(rnd);

	return high << 32 | prandom_u32_state(rnd);
}

static u32 random_payload(struct rnd_state *rnd, u8 rule)
{
	switch (rule) {
	case WEFT_PAYLOAD_FULL:
		return 256 << prandom_u32_state(rnd) % 5;
	case WEFT_PAYLOAD_SOME:
		return 1 + prandom_u32_state(rnd) % 4096;
	case WEFT_PAYLOAD_ANY:
		return prandom_u32_state(rnd) % 4097;
	case WEFT_PAYLOAD_ATOMIC:
		return 8;
	case WEFT_PAYLOAD_CNP:
		return 16;
	case WEFT_PAYLOAD_MAP:
		return 132;
	default:
		return 0;
	}
}

static void random_bth(struct rnd_state *rnd, struct weft_hdr *hdr)
{
	u32 bits = prandom_u32_state(rnd);

	hdr->se = bits & BIT(0);
	hdr->migreq = bits & BIT(1);
	hdr->fecn = bits & BIT(2);
	hdr->becn = bits & BIT(3);
	hdr->ackreq = bits & BIT(4);
	hdr->maps = bits & BIT(5);
	hdr->again = bits & BIT(6);
	hdr->pkey = bits >> 16;
	hdr->dqpn = prandom_u32_state(rnd) >> 8;
	hdr->psn = prandom_u32_state(rnd) >> 8;
}

static void random_ext(struct rnd_state *rnd, struct weft_hdr *hdr)
{
	hdr->imm = (__force __be32)prandom_u32_state(rnd);
	hdr->ieth.rkey = prandom_u32_state(rnd);
	hdr->xrceth.srqn = prandom_u32_state(rnd) >> 8;
	hdr->deth.qkey = prandom_u32_state(rnd);
	hdr->deth.sqpn = prandom_u32_state(rnd) >> 8;
	hdr->feth.placement = prandom_u32_state(rnd) >> 28;
	hdr->feth.selectivity = prandom_u32_state(rnd) >> 30;
	hdr->reth.va = random_u64(rnd);
	hdr->reth.rkey = prandom_u32_state(rnd);
	hdr->reth.length = prandom_u32_state(rnd);
	hdr->aeth.syndrome = prandom_u32_state(rnd) >> 24;
	hdr->aeth.msn = prandom_u32_state(rnd) >> 8;
	hdr->atomic.va = random_u64(rnd);
	hdr->atomic.rkey = prandom_u32_state(rnd);
	hdr->atomic.swap_add = random_u64(rnd);
	hdr->atomic.compare = random_u64(rnd);
	hdr->masks.swap = random_u64(rnd);
	hdr->masks.compare_add = random_u64(rnd);
	hdr->atomic_ack.original = random_u64(rnd);
}

static void random_hdr(struct rnd_state *rnd, u8 opcode, struct weft_hdr *hdr)
{
	const struct weft_opcode *op = weft_opcode(opcode);
	unsigned int i;

	memset(hdr, 0, sizeof(*hdr));
	random_bth(rnd, hdr);
	random_ext(rnd, hdr);
	for (i = 0; i < ARRAY_SIZE(codec_fields); i++)
		if (!(op->ext & codec_fields[i].ext))
			memset((u8 *)hdr + codec_fields[i].offset, 0,
			       codec_fields[i].size);
	hdr->opcode = opcode;
	hdr->length = op->length;
	hdr->payload = random_payload(rnd, op->payload);
	hdr->pad = -hdr->payload & 3;
}

static void hdr_roundtrip(struct kunit *test, const struct weft_hdr *hdr)
{
	u8 buf[WEFT_HDR_MAX_LENGTH + 1];
	enum weft_malformed reason;
	struct weft_hdr back;

	memset(buf, CODEC_GUARD, sizeof(buf));
	KUNIT_ASSERT_EQ(test, weft_hdr_encode(buf, hdr), (size_t)hdr->length);
	KUNIT_EXPECT_EQ(test, buf[hdr->length], CODEC_GUARD);
	reason = weft_hdr_decode(&back, buf,
				 hdr->length + hdr->payload + hdr->pad);
	KUNIT_EXPECT_EQ(test, reason, WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_MEMEQ(test, &back, hdr, sizeof(back));
}

static void hdr_roundtrip_every_opcode(struct kunit *test)
{
	struct rnd_state rnd;
	struct weft_hdr hdr;
	unsigned int opcode;
	int i;

	kunit_info(test, "seed %#x", CODEC_SEED);
	prandom_seed_state(&rnd, CODEC_SEED);
	for (opcode = 0; opcode < 256; opcode++) {
		if (weft_opcode(opcode)->kind == WEFT_KIND_INVALID)
			continue;
		for (i = 0; i < CODEC_ROUNDS; i++) {
			random_hdr(&rnd, opcode, &hdr);
			hdr_roundtrip(test, &hdr);
		}
	}
}

/* The buffer is exactly as long as the packet, so that KASAN detects a read beyond its end. */
static void hdr_decode_cut(struct kunit *test, const u8 *packet, size_t len)
{
	struct weft_hdr hdr;
	u8 *buf;

	buf = kunit_kmalloc(test, len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	memcpy(buf, packet, len);
	KUNIT_EXPECT_EQ_MSG(test, weft_hdr_decode(&hdr, buf, len),
			    WEFT_MALFORMED_SHORT, "opcode %#x, %zu bytes",
			    packet[0], len);
	kunit_kfree(test, buf);
}

static void hdr_decode_truncated(struct kunit *test)
{
	u8 buf[WEFT_HDR_MAX_LENGTH];
	struct rnd_state rnd;
	struct weft_hdr hdr;
	unsigned int opcode;
	size_t len;

	prandom_seed_state(&rnd, CODEC_SEED);
	for (opcode = 0; opcode < 256; opcode++) {
		if (weft_opcode(opcode)->kind == WEFT_KIND_INVALID)
			continue;
		random_hdr(&rnd, opcode, &hdr);
		weft_hdr_encode(buf, &hdr);
		for (len = 0; len < hdr.length; len++)
			hdr_decode_cut(test, buf, len);
	}
}

static void hdr_decode_refuses_version(struct kunit *test)
{
	u8 buf[16] = { 0x04 };
	struct weft_hdr hdr;
	u8 tver;

	for (tver = 1; tver < 16; tver++) {
		buf[1] = tver;
		KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, buf, sizeof(buf)),
				WEFT_MALFORMED_VERSION);
	}
}

/* The responder needs the BTH to send a NAK invalid request. */
static void hdr_decode_invalid_opcode_keeps_bth(struct kunit *test)
{
	u8 buf[12] = {
		0, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x02,
		0x80, 0x00, 0x00, 0x03,
	};
	struct weft_hdr hdr;
	unsigned int opcode;

	for (opcode = 0; opcode < 256; opcode++) {
		if (weft_opcode(opcode)->kind != WEFT_KIND_INVALID)
			continue;
		buf[0] = opcode;
		KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, buf, sizeof(buf)),
				WEFT_MALFORMED_OPCODE);
		KUNIT_EXPECT_EQ(test, hdr.opcode, opcode);
		KUNIT_EXPECT_EQ(test, hdr.dqpn, 0x102U);
		KUNIT_EXPECT_EQ(test, hdr.psn, 3U);
		KUNIT_EXPECT_TRUE(test, hdr.ackreq);
	}
}

struct malformed_row {
	const char		*name;
	u8			opcode;
	u8			pad;
	size_t			len;
	enum weft_malformed	reason;
};

static const struct malformed_row malformed_rows[] = {
	{ "only, empty", 0x04, 0, 12, WEFT_MALFORMED_NONE },
	{ "only, 13 bytes", 0x04, 0, 13, WEFT_MALFORMED_LENGTH },
	{ "only, 14 bytes", 0x04, 0, 14, WEFT_MALFORMED_LENGTH },
	{ "only, 15 bytes", 0x04, 0, 15, WEFT_MALFORMED_LENGTH },
	{ "only, pad and no payload", 0x04, 1, 12, WEFT_MALFORMED_PAD },
	{ "only, 3 of 4 are pad", 0x04, 3, 16, WEFT_MALFORMED_NONE },
	{ "last, 3 of 4 are pad", 0x02, 3, 16, WEFT_MALFORMED_NONE },
	{ "last, empty", 0x02, 0, 12, WEFT_MALFORMED_PAYLOAD },
	{ "last, pad and no payload", 0x02, 2, 12, WEFT_MALFORMED_PAD },
	{ "first, empty", 0x00, 0, 12, WEFT_MALFORMED_PAYLOAD },
	{ "middle, empty", 0x07, 0, 12, WEFT_MALFORMED_PAYLOAD },
	{ "acknowledge", 0x11, 0, 16, WEFT_MALFORMED_NONE },
	{ "acknowledge, pad", 0x11, 1, 16, WEFT_MALFORMED_PAD },
	{ "acknowledge, payload", 0x11, 0, 20, WEFT_MALFORMED_PAYLOAD },
	{ "read request, payload", 0x0c, 0, 32, WEFT_MALFORMED_PAYLOAD },
	{ "compare and swap, payload", 0x13, 0, 44, WEFT_MALFORMED_PAYLOAD },
	{ "flush, payload", 0x1c, 0, 36, WEFT_MALFORMED_PAYLOAD },
	{ "atomic write", 0x1d, 0, 36, WEFT_MALFORMED_NONE },
	{ "atomic write, 4 bytes", 0x1d, 0, 32, WEFT_MALFORMED_PAYLOAD },
	{ "atomic write, 7 bytes", 0x1d, 1, 36, WEFT_MALFORMED_PAYLOAD },
	{ "atomic write, 12 bytes", 0x1d, 0, 40, WEFT_MALFORMED_PAYLOAD },
	{ "CNP", 0x81, 0, 28, WEFT_MALFORMED_NONE },
	{ "CNP, 12 bytes", 0x81, 0, 24, WEFT_MALFORMED_PAYLOAD },
};

static void malformed_row_desc(const struct malformed_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(malformed_row, malformed_rows, malformed_row_desc);

static void hdr_decode_malformed_row(struct kunit *test)
{
	const struct malformed_row *row = test->param_value;
	u8 buf[WEFT_HDR_MAX_LENGTH] = { row->opcode, row->pad << 4 };
	struct weft_hdr hdr;

	KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, buf, row->len),
			row->reason);
}

/* The responder needs the fields to send a NAK. */
static void hdr_decode_bad_payload_keeps_fields(struct kunit *test)
{
	static const u8 bytes[16] = {
		0x11, 0x00, 0xff, 0xff, 0x00, 0x00, 0x01, 0x02,
		0x00, 0x00, 0x00, 0x03, 0x60, 0x00, 0x00, 0x07,
	};
	struct weft_hdr hdr;

	KUNIT_EXPECT_EQ(test, weft_hdr_decode(&hdr, bytes, 24),
			WEFT_MALFORMED_PAYLOAD);
	KUNIT_EXPECT_EQ(test, hdr.length, 16U);
	KUNIT_EXPECT_EQ(test, hdr.payload, 8U);
	KUNIT_EXPECT_EQ(test, hdr.psn, 3U);
	KUNIT_EXPECT_EQ(test, hdr.aeth.syndrome, 0x60);
	KUNIT_EXPECT_EQ(test, hdr.aeth.msn, 7U);
}

/* If random bytes are accepted, their lengths add up, and encoding them gives the same headers. */
static void hdr_decode_random_bytes(struct kunit *test)
{
	u8 buf[2 * WEFT_HDR_MAX_LENGTH];
	enum weft_malformed reason;
	unsigned int accepted = 0;
	struct rnd_state rnd;
	struct weft_hdr hdr;
	size_t len;
	int i;

	kunit_info(test, "seed %#x", CODEC_SEED);
	prandom_seed_state(&rnd, CODEC_SEED + fuzz_seed);
	for_each_fuzz(i, CODEC_FUZZ) {
		prandom_bytes_state(&rnd, buf, sizeof(buf));
		len = prandom_u32_state(&rnd) % (sizeof(buf) + 1);
		buf[1] &= 0xf0;
		reason = weft_hdr_decode(&hdr, buf, len);
		KUNIT_ASSERT_LT(test, reason, WEFT_MALFORMED_COUNT);
		if (reason != WEFT_MALFORMED_NONE)
			continue;
		accepted++;
		KUNIT_ASSERT_EQ(test, hdr.length + hdr.payload + hdr.pad, len);
		hdr_roundtrip(test, &hdr);
	}
	KUNIT_EXPECT_GT(test, accepted, 0U);
}

static const u8 lrh_bytes[] = {
	0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2,
};

static const struct weft_lrh lrh_fields = {
	.length = 56, .dlid = 0x375c, .slid = 0x17d2, .vl = 7, .sl = 1,
	.lnh = WEFT_LNH_BTH,
};

static void lrh_decode_sample_packet(struct kunit *test)
{
	struct weft_lrh lrh;

	KUNIT_EXPECT_EQ(test, weft_lrh_decode(&lrh, lrh_bytes, 56),
			WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_MEMEQ(test, &lrh, &lrh_fields, sizeof(lrh));
}

static void lrh_encode_sample_packet(struct kunit *test)
{
	u8 buf[sizeof(lrh_bytes)];

	KUNIT_ASSERT_EQ(test, weft_lrh_encode(buf, &lrh_fields), sizeof(buf));
	KUNIT_EXPECT_MEMEQ(test, buf, lrh_bytes, sizeof(buf));
}

struct lrh_row {
	const char		*name;
	u8			bytes[8];
	size_t			len;
	enum weft_malformed	reason;
};

static const struct lrh_row lrh_rows[] = {
	{ "shortest", { 0, 2, 0, 0, 0, 6 }, 24, WEFT_MALFORMED_NONE },
	{ "shortest with GRH", { 0, 3, 0, 0, 0, 16 }, 64,
	  WEFT_MALFORMED_NONE },
	{ "more in the frame", { 0, 2, 0, 0, 0, 6 }, 60, WEFT_MALFORMED_NONE },
	{ "reserved bits", { 0, 0xe, 0, 0, 0xf8, 6 }, 24,
	  WEFT_MALFORMED_NONE },
	{ "7 bytes", { 0, 2, 0, 0, 0, 6 }, 7, WEFT_MALFORMED_SHORT },
	{ "version", { 1, 2, 0, 0, 0, 6 }, 24, WEFT_MALFORMED_VERSION },
	{ "raw", { 0, 0, 0, 0, 0, 6 }, 24, WEFT_MALFORMED_NEXT_HEADER },
	{ "raw IPv6", { 0, 1, 0, 0, 0, 6 }, 24, WEFT_MALFORMED_NEXT_HEADER },
	{ "no room for a BTH", { 0, 2, 0, 0, 0, 5 }, 24,
	  WEFT_MALFORMED_LENGTH },
	{ "no room for a GRH", { 0, 3, 0, 0, 0, 15 }, 64,
	  WEFT_MALFORMED_LENGTH },
	{ "longer than the frame", { 0, 2, 0, 0, 0, 7 }, 24,
	  WEFT_MALFORMED_LENGTH },
};

static void lrh_row_desc(const struct lrh_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lrh_row, lrh_rows, lrh_row_desc);

static void lrh_decode_row(struct kunit *test)
{
	const struct lrh_row *row = test->param_value;
	struct weft_lrh lrh;

	KUNIT_EXPECT_EQ(test, weft_lrh_decode(&lrh, row->bytes, row->len),
			row->reason);
}

static const u8 grh_bytes[] = {
	0x61, 0x2a, 0xbc, 0xde, 0x00, 0x28, 0x1b, 0x40,
	0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x02, 0x0c, 0x29, 0xff, 0xfe, 0x3a, 0x0c, 0x01,
	0x20, 0x01, 0x0d, 0xb8, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x42,
};

static const struct weft_grh grh_fields = {
	.flow_label = 0xabcde, .length = 40, .tclass = 0x12, .hop_limit = 64,
	.sgid = { 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		  0x02, 0x0c, 0x29, 0xff, 0xfe, 0x3a, 0x0c, 0x01, },
	.dgid = { 0x20, 0x01, 0x0d, 0xb8, [15] = 0x42 },
};

static void grh_decode_vector(struct kunit *test)
{
	struct weft_grh grh;

	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, grh_bytes, 80),
			WEFT_MALFORMED_NONE);
	KUNIT_EXPECT_MEMEQ(test, &grh, &grh_fields, sizeof(grh));
}

static void grh_encode_vector(struct kunit *test)
{
	u8 buf[sizeof(grh_bytes)];

	KUNIT_ASSERT_EQ(test, weft_grh_encode(buf, &grh_fields), sizeof(buf));
	KUNIT_EXPECT_MEMEQ(test, buf, grh_bytes, sizeof(buf));
}

static void grh_decode_malformed(struct kunit *test)
{
	u8 buf[sizeof(grh_bytes)];
	struct weft_grh grh;

	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, grh_bytes, 39),
			WEFT_MALFORMED_SHORT);
	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, grh_bytes, 76),
			WEFT_MALFORMED_LENGTH);
	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, grh_bytes, 84),
			WEFT_MALFORMED_LENGTH);
	memcpy(buf, grh_bytes, sizeof(buf));
	buf[0] = 0x41;
	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, buf, 80),
			WEFT_MALFORMED_VERSION);
	buf[0] = 0x61;
	buf[6] = 17;
	KUNIT_EXPECT_EQ(test, weft_grh_decode(&grh, buf, 80),
			WEFT_MALFORMED_NEXT_HEADER);
}

/* The credit counts of IBA 9.7.5. */
static const u32 aeth_credits[] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768,
};

/* IBA table 45, in units of 10 microseconds. */
static const u32 aeth_rnr_timers[] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
	384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

static void aeth_credits_match_iba(struct kunit *test)
{
	u8 code;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(aeth_credits),
			(size_t)WEFT_AETH_NO_CREDIT);
	for (code = 0; code < ARRAY_SIZE(aeth_credits); code++)
		KUNIT_EXPECT_EQ(test, weft_aeth_credits(code),
				aeth_credits[code]);
}

static void aeth_rnr_usec_matches_iba(struct kunit *test)
{
	u8 code;

	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(aeth_rnr_timers), (size_t)32);
	for (code = 0; code < 32; code++)
		KUNIT_EXPECT_EQ(test, weft_aeth_rnr_usec(code),
				aeth_rnr_timers[code] * 10);
}

static void aeth_credit_code_grants_no_more(struct kunit *test)
{
	u32 credits;
	u8 code = 0;

	for (credits = 0; credits < 70000; credits++) {
		if (code < ARRAY_SIZE(aeth_credits) - 1 &&
		    aeth_credits[code + 1] <= credits)
			code++;
		KUNIT_ASSERT_EQ_MSG(test, weft_aeth_credit_code(credits), code,
				    "%u credits", credits);
	}
	KUNIT_EXPECT_EQ(test, weft_aeth_credit_code(U32_MAX), 30);
}

static void aeth_syndrome_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, weft_aeth_syndrome(WEFT_AETH_ACK, 31), 0x1f);
	KUNIT_EXPECT_EQ(test, weft_aeth_syndrome(WEFT_AETH_RNR_NAK, 1), 0x21);
	KUNIT_EXPECT_EQ(test, weft_aeth_syndrome(WEFT_AETH_NAK,
						 WEFT_NAK_PSN_SEQUENCE), 0x60);
	KUNIT_EXPECT_EQ(test, weft_aeth_syndrome(WEFT_AETH_NAK,
						 WEFT_NAK_REMOTE_OPERATION),
			0x63);
	KUNIT_EXPECT_EQ(test, weft_aeth_type(0x3f), WEFT_AETH_RNR_NAK);
	KUNIT_EXPECT_EQ(test, weft_aeth_type(0x5f), WEFT_AETH_RESERVED);
	KUNIT_EXPECT_EQ(test, weft_aeth_type(0xe2), WEFT_AETH_NAK);
	KUNIT_EXPECT_EQ(test, weft_aeth_code(0xe2), 2);
}

static struct kunit_case codec_cases[] = {
	KUNIT_CASE_PARAM(hdr_decode_vector, codec_vector_gen_params),
	KUNIT_CASE_PARAM(hdr_encode_vector, codec_vector_gen_params),
	KUNIT_CASE(hdr_decode_ignores_reserved),
	KUNIT_CASE(hdr_encode_cuts_wide_fields),
	KUNIT_CASE(hdr_encode_refuses_invalid_opcode),
	KUNIT_CASE(hdr_roundtrip_every_opcode),
	KUNIT_CASE(hdr_decode_truncated),
	KUNIT_CASE(hdr_decode_refuses_version),
	KUNIT_CASE(hdr_decode_invalid_opcode_keeps_bth),
	KUNIT_CASE_PARAM(hdr_decode_malformed_row, malformed_row_gen_params),
	KUNIT_CASE(hdr_decode_bad_payload_keeps_fields),
	KUNIT_CASE(hdr_decode_random_bytes),
	KUNIT_CASE(lrh_decode_sample_packet),
	KUNIT_CASE(lrh_encode_sample_packet),
	KUNIT_CASE_PARAM(lrh_decode_row, lrh_row_gen_params),
	KUNIT_CASE(grh_decode_vector),
	KUNIT_CASE(grh_encode_vector),
	KUNIT_CASE(grh_decode_malformed),
	KUNIT_CASE(aeth_credits_match_iba),
	KUNIT_CASE(aeth_rnr_usec_matches_iba),
	KUNIT_CASE(aeth_credit_code_grants_no_more),
	KUNIT_CASE(aeth_syndrome_bits),
	{}
};

static struct kunit_suite codec_suite = {
	.name = "weft_codec",
	.test_cases = codec_cases,
};

kunit_test_suite(codec_suite);
