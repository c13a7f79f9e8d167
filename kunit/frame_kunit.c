// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests of fabric/frame.c: headers of frames, and reassembly of packets. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/skbuff.h>

#include "fabric/frame.h"
#include "fabric/node.h"
#include "fabric/port.h"
#include "fuzz.h"
#include "params.h"

#define FRAME_SEED	0x66726d65
#define FRAME_FUZZ	20000
/* rounds of tests that allocate memory in each */
#define FRAME_PARTS	4000
#define FRAME_HEADER	sizeof(struct weft_wire_frame)

static const struct weft_frame_headroom frame_room = { .head = 16, .tail = 4 };

/* A packet with a valid LRH and arbitrary content. */
static struct sk_buff *frame_packet(struct kunit *test, u32 length, u8 vl)
{
	struct weft_lrh lrh = {
		.length = length, .dlid = 5, .slid = 7, .vl = vl, .lnh = WEFT_LNH_BTH,
	};
	struct sk_buff *skb = alloc_skb(length, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	weft_lrh_encode(skb_put(skb, 8), &lrh);
	for (i = 8; i < length; i++)
		skb_put_u8(skb, i * 7 + i / 256);
	return skb;
}

/* A frame with a part of a packet, without its header. */
static struct sk_buff *frame_part(struct kunit *test, const struct sk_buff *packet, u32 offset,
				  u32 length)
{
	struct weft_frame frame = { .type = WEFT_FRAME_DATA, .length = length };
	struct sk_buff *skb = weft_frame_build(&frame, packet, offset, &frame_room);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, skb->len, FRAME_HEADER + length);
	__skb_pull(skb, FRAME_HEADER);
	return skb;
}

static void frame_expect_same(struct kunit *test, struct sk_buff *packet,
			      const struct sk_buff *original)
{
	KUNIT_ASSERT_NOT_NULL(test, packet);
	KUNIT_EXPECT_EQ(test, packet->len, original->len);
	KUNIT_EXPECT_TRUE(test, packet->protocol == htons(WEFT_IB_ETHERTYPE));
	KUNIT_EXPECT_PTR_EQ(test, skb_network_header(packet), packet->data);
	KUNIT_ASSERT_EQ(test, skb_linearize(packet), 0);
	KUNIT_EXPECT_EQ(test, memcmp(packet->data, original->data, original->len), 0);
	kfree_skb(packet);
}

static void header_is_laid_out(struct kunit *test)
{
	static const u8 bytes[] = {
		1, 2, 7, 9, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14,
		0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0, 0, 0x01, 0x20,
		0, 0, 0, 0,
	};
	struct weft_frame frame = {
		.type = WEFT_FRAME_DATA, .length = 0x120, .seq = 0x01020304, .ack = 0x11121314,
		.flags = WEFT_FRAME_FIRST | WEFT_FRAME_LAST | WEFT_FRAME_VL15,
		.nonce = 0x21222324, .heard = 0x31323334, .hops = 9,
	}, decoded;
	u8 buf[FRAME_HEADER], again[FRAME_HEADER];

	weft_frame_encode(buf, &frame);
	KUNIT_EXPECT_EQ(test, memcmp(buf, bytes, sizeof(bytes)), 0);
	KUNIT_ASSERT_TRUE(test, weft_frame_decode(&decoded, buf, FRAME_HEADER + 0x120));
	weft_frame_encode(again, &decoded);
	KUNIT_EXPECT_EQ(test, memcmp(again, bytes, sizeof(bytes)), 0);
	KUNIT_EXPECT_EQ(test, decoded.length, frame.length);
	/* padding may follow the body, but no byte may be missing */
	KUNIT_EXPECT_TRUE(test, weft_frame_decode(&decoded, buf, FRAME_HEADER + 0x121));
	KUNIT_EXPECT_FALSE(test, weft_frame_decode(&decoded, buf, FRAME_HEADER + 0x11f));
	KUNIT_EXPECT_FALSE(test, weft_frame_decode(&decoded, buf, FRAME_HEADER - 1));
}

/* A header, and whether it is valid. */
struct frame_row {
	const char		*name;
	struct weft_frame	frame;
	bool			valid;
};

#define BOTH	.nonce = 1, .heard = 2
#define WHOLE	(WEFT_FRAME_FIRST | WEFT_FRAME_LAST)

static const struct frame_row frame_rows[] = {
	{ "HELLO to all", { .type = 1, .length = 16 }, true },
	{ "HELLO, long", { .type = 1, .length = 1000, BOTH }, true },
	{ "HELLO, short", { .type = 1, .length = 15 }, false },
	{ "HELLO with flags", { .type = 1, .length = 16, .flags = 1 }, false },
	{ "middle", { .type = 2, .length = 1, BOTH }, true },
	{ "whole", { .type = 2, .length = 24, .flags = WHOLE, BOTH }, true },
	{ "empty", { .type = 2, .flags = WHOLE, BOTH }, false },
	{ "too long", { .type = 2, .length = WEFT_FRAME_PACKET + 1, BOTH }, false },
	{ "VL 15 in parts", { .type = 2, .length = 24, .flags = 5, BOTH }, false },
	{ "DATA, gap", { .type = 2, .length = 24, .flags = WEFT_FRAME_GAP, BOTH }, false },
	{ "DATA, unknown flag", { .type = 2, .length = 24, .flags = 0x80, BOTH }, false },
	{ "DATA, nobody heard", { .type = 2, .length = 24, .nonce = 1 }, false },
	{ "DATA from nobody", { .type = 2, .length = 24, .heard = 1 }, false },
	{ "ACK", { .type = 3, BOTH }, true },
	{ "ACK, gap", { .type = 3, .flags = WEFT_FRAME_GAP, BOTH }, true },
	{ "ACK, first", { .type = 3, .flags = WEFT_FRAME_FIRST, BOTH }, false },
	{ "BYE", { .type = 4, BOTH }, true },
	{ "BYE to nobody", { .type = 4, .nonce = 1 }, false },
	{ "type 0", { .type = 0, .length = 16, BOTH }, false },
	{ "type 5", { .type = 5, .length = 16, BOTH }, false },
};

static void frame_row_name(const struct frame_row *row, char *name)
{
	strscpy(name, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(frame_row, frame_rows, frame_row_name);

static void header_is_checked(struct kunit *test)
{
	const struct frame_row *row = test->param_value;
	struct weft_wire_frame wire;
	struct weft_frame frame;

	weft_frame_encode(&wire, &row->frame);
	KUNIT_EXPECT_EQ(test, weft_frame_decode(&frame, &wire, 65536), row->valid);
	wire.version = WEFT_FRAME_VERSION + 1;
	KUNIT_EXPECT_FALSE(test, weft_frame_decode(&frame, &wire, 65536));
	wire.version = WEFT_FRAME_VERSION;
	wire.fabric = htons(1);
	KUNIT_EXPECT_FALSE(test, weft_frame_decode(&frame, &wire, 65536));
}

static void hello_is_checked(struct kunit *test)
{
	const struct weft_hello good = {
		.guid = cpu_to_be64(0x1122), .max_frame = 1500, .type = WEFT_NODE_CA,
	};
	u8 buf[sizeof(struct weft_wire_hello)];
	struct weft_hello hello = good, decoded;

	weft_hello_encode(buf, &hello);
	KUNIT_EXPECT_TRUE(test, weft_hello_decode(&decoded, buf));
	KUNIT_EXPECT_TRUE(test, decoded.guid == hello.guid);
	KUNIT_EXPECT_EQ(test, decoded.max_frame, 1500);
	KUNIT_EXPECT_EQ(test, decoded.type, WEFT_NODE_CA);
	KUNIT_EXPECT_FALSE(test, decoded.answer);
	hello.answer = true;
	hello.type = WEFT_NODE_SWITCH;
	weft_hello_encode(buf, &hello);
	KUNIT_EXPECT_TRUE(test, weft_hello_decode(&decoded, buf));
	KUNIT_EXPECT_EQ(test, decoded.type, WEFT_NODE_SWITCH);
	KUNIT_EXPECT_TRUE(test, decoded.answer);

	hello.max_frame = WEFT_FRAME_MIN_MTU - 1;
	weft_hello_encode(buf, &hello);
	KUNIT_EXPECT_FALSE(test, weft_hello_decode(&decoded, buf));
	hello = good;
	hello.guid = 0;
	weft_hello_encode(buf, &hello);
	KUNIT_EXPECT_FALSE(test, weft_hello_decode(&decoded, buf));
	for (hello = good, hello.type = WEFT_NODE_SWITCH + 1; hello.type; hello.type++) {
		weft_hello_encode(buf, &hello);
		KUNIT_EXPECT_FALSE(test, weft_hello_decode(&decoded, buf));
	}
	weft_hello_encode(buf, &hello);
	KUNIT_EXPECT_FALSE(test, weft_hello_decode(&decoded, buf));
}

/* Every byte of a frame but padding is protected. */
static void damage_is_found(struct kunit *test)
{
	struct sk_buff *packet = frame_packet(test, 100, 0), *skb;
	struct weft_frame frame = { .type = WEFT_FRAME_DATA, .length = 100 };
	u32 i;

	skb = weft_frame_build(&frame, packet, 0, &frame_room);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	weft_frame_seal(skb);
	KUNIT_EXPECT_TRUE(test, weft_frame_is_intact(skb, 100));
	for (i = 0; i < skb->len; i++) {
		skb->data[i] ^= 0x10;
		KUNIT_EXPECT_FALSE(test, weft_frame_is_intact(skb, 100));
		skb->data[i] ^= 0x10;
	}
	KUNIT_EXPECT_FALSE(test, weft_frame_is_intact(skb, 99));
	KUNIT_EXPECT_FALSE(test, weft_frame_is_intact(skb, 101));
	kfree_skb(skb);
	kfree_skb(packet);
}

static void random_headers(struct kunit *test)
{
	struct rnd_state rnd;
	struct weft_frame frame;
	u8 buf[FRAME_HEADER];
	u32 i, len;

	prandom_seed_state(&rnd, FRAME_SEED + fuzz_seed);
	for_each_fuzz(i, FRAME_FUZZ) {
		prandom_bytes_state(&rnd, buf, sizeof(buf));
		buf[0] = WEFT_FRAME_VERSION;
		buf[1] = prandom_u32_state(&rnd) % 6;
		buf[2] &= 15;
		buf[20] = 0;
		buf[21] = 0;
		len = prandom_u32_state(&rnd) % 9000;
		if (weft_frame_decode(&frame, buf, len))
			KUNIT_ASSERT_LE(test, frame.length + FRAME_HEADER, len);
	}
}

/* Bytes in a frame; some are odd. */
static const u32 frame_parts[] = { 8, 9, 13, 488, 1001, 1476, 4095, 8976 };

static void frame_part_name(const u32 *part, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u bytes", *part);
}

KUNIT_ARRAY_PARAM(frame_part, frame_parts, frame_part_name);

static u8 frame_flags(u32 offset, u32 part, u32 length)
{
	return (offset ? 0 : WEFT_FRAME_FIRST) |
	       (offset + part == length ? WEFT_FRAME_LAST : 0);
}

static void packet_is_put_together(struct kunit *test)
{
	static const u32 lengths[] = { 24, 28, 1000, 1476, 4096, 4222 / 4 * 4, 4352 };
	u32 most = *(const u32 *)test->param_value, offset, part, i;
	struct sk_buff *original, *packet, *frame;
	struct weft_reasm reasm = {};
	u8 flags;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		original = frame_packet(test, lengths[i], 0);
		packet = NULL;
		for (offset = 0; offset < lengths[i]; offset += part) {
			KUNIT_EXPECT_NULL(test, packet);
			part = min(most, lengths[i] - offset);
			flags = frame_flags(offset, part, lengths[i]);
			frame = frame_part(test, original, offset, part);
			KUNIT_ASSERT_EQ(test, weft_reasm_add(&reasm, frame, flags, &packet), 0);
		}
		frame_expect_same(test, packet, original);
		kfree_skb(original);
	}
	KUNIT_EXPECT_NULL(test, reasm.skb);
}

/* A part of a packet of 1000 bytes on VL 0, and the result of adding it. */
struct frame_step {
	u32	offset;
	u32	length;
	u8	flags;
	int	ret;
	bool	complete;
};

struct frame_steps {
	const char		*name;
	struct frame_step	step[4];
};

#define FIRST	WEFT_FRAME_FIRST
#define LAST	WEFT_FRAME_LAST

static const struct frame_steps frame_steps[] = {
	{ "no first", { { 400, 400, 0, -EBADMSG }, { 800, 200, LAST, -EBADMSG } } },
	{ "first twice", { { 0, 400, FIRST }, { 0, 400, FIRST, -EBADMSG },
			   { 400, 600, LAST, -EBADMSG } } },
	{ "whole in between", { { 0, 400, FIRST }, { 0, 1000, FIRST | LAST, -EBADMSG },
				{ 0, 1000, FIRST | LAST, 0, true } } },
	{ "ends early", { { 0, 400, FIRST }, { 400, 596, LAST, -EBADMSG } } },
	{ "ends late", { { 0, 400, FIRST }, { 300, 700, LAST, -EBADMSG } } },
	{ "does not end", { { 0, 400, FIRST }, { 400, 600, 0, -EBADMSG },
			    { 0, 400, FIRST }, { 400, 600, LAST, 0, true } } },
	{ "first is all", { { 0, 1000, FIRST, -EBADMSG } } },
	{ "first has no LRH", { { 0, 7, FIRST, -EBADMSG }, { 7, 993, LAST, -EBADMSG } } },
	{ "whole is a part", { { 0, 996, FIRST | LAST, -EBADMSG } } },
	{ "not an LRH", { { 500, 100, FIRST | LAST, -EBADMSG } } },
	{ "VL 15 it is not", { { 0, 1000, FIRST | LAST | WEFT_FRAME_VL15, -EBADMSG } } },
};

static void frame_steps_name(const struct frame_steps *steps, char *name)
{
	strscpy(name, steps->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(frame_steps, frame_steps, frame_steps_name);

static void parts_are_checked(struct kunit *test)
{
	const struct frame_steps *steps = test->param_value;
	struct sk_buff *original = frame_packet(test, 1000, 0), *packet, *frame;
	const struct frame_step *step;
	struct weft_reasm reasm = {};
	int ret;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(steps->step) && steps->step[i].length; i++) {
		step = &steps->step[i];
		frame = frame_part(test, original, step->offset, step->length);
		ret = weft_reasm_add(&reasm, frame, step->flags, &packet);
		KUNIT_EXPECT_EQ(test, ret, step->ret);
		KUNIT_EXPECT_EQ(test, !!packet, step->complete);
		if (packet)
			frame_expect_same(test, packet, original);
	}
	weft_reasm_reset(&reasm);
	kfree_skb(original);
}

/* The VL in the LRH and the flag VL15 have to agree. */
static void vl15_is_checked(struct kunit *test)
{
	struct sk_buff *original = frame_packet(test, 288, 15), *packet, *frame;
	u8 flags = FIRST | LAST;
	struct weft_reasm reasm = {};

	frame = frame_part(test, original, 0, 288);
	KUNIT_EXPECT_EQ(test, weft_reasm_add(&reasm, frame, flags, &packet), -EBADMSG);
	KUNIT_EXPECT_NULL(test, packet);
	flags |= WEFT_FRAME_VL15;
	frame = frame_part(test, original, 0, 288);
	KUNIT_EXPECT_EQ(test, weft_reasm_add(&reasm, frame, flags, &packet), 0);
	frame_expect_same(test, packet, original);
	kfree_skb(original);
}

static void frame_add_page(struct kunit *test, struct sk_buff *skb, const void *from, u32 length)
{
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	memcpy(page_address(page), from, length);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, length, PAGE_SIZE);
}

/* Frames and packets may be in pages, with nothing in the linear part. */
static void pages_will_do(struct kunit *test)
{
	struct sk_buff *original = frame_packet(test, 4096, 0), *paged, *frame, *packet;
	struct weft_reasm reasm = {};

	paged = alloc_skb(256, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, paged);
	frame_add_page(test, paged, original->data, 3);
	frame_add_page(test, paged, original->data + 3, 4093);

	frame = frame_part(test, paged, 0, 2000);
	KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, frame, FIRST, &packet));
	frame = alloc_skb(0, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, frame);
	frame_add_page(test, frame, original->data + 2000, 2096);
	KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, frame, LAST, &packet));
	frame_expect_same(test, packet, original);

	KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, paged, FIRST | LAST, &packet));
	KUNIT_EXPECT_GE(test, skb_headlen(packet), 60U);
	frame_expect_same(test, packet, original);
	kfree_skb(original);
}

/* A packet takes over the memory of its frames, unless a frame is cloned. */
static void frames_are_joined(struct kunit *test)
{
	struct sk_buff *original = frame_packet(test, 4096, 0), *frame, *tap, *packet;
	struct weft_reasm reasm = {};
	u32 tapped;

	for (tapped = 0; tapped < 2; tapped++) {
		frame = frame_part(test, original, 0, 1400);
		tap = tapped ? skb_clone(frame, GFP_KERNEL) : NULL;
		KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, frame, FIRST, &packet));
		frame = frame_part(test, original, 1400, 1400);
		KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, frame, 0, &packet));
		frame = frame_part(test, original, 2800, 1296);
		KUNIT_ASSERT_EQ(test, 0, weft_reasm_add(&reasm, frame, LAST, &packet));
		KUNIT_ASSERT_NOT_NULL(test, packet);
		KUNIT_EXPECT_EQ(test, skb_is_nonlinear(packet), !tapped);
		frame_expect_same(test, packet, original);
		kfree_skb(tap);
	}
	kfree_skb(original);
}

static void random_parts(struct kunit *test)
{
	struct sk_buff *original = frame_packet(test, 4352, 0), *packet;
	struct weft_reasm reasm = {};
	struct rnd_state rnd;
	u32 i, offset, length;

	prandom_seed_state(&rnd, FRAME_SEED);
	for (i = 0; i < FRAME_PARTS; i++) {
		offset = prandom_u32_state(&rnd) % 3 ? prandom_u32_state(&rnd) % 4000 : 0;
		length = 1 + prandom_u32_state(&rnd) % (4352 - offset);
		weft_reasm_add(&reasm, frame_part(test, original, offset, length),
			       prandom_u32_state(&rnd) & 7, &packet);
		if (packet) {
			KUNIT_ASSERT_GE(test, packet->len, 24U);
			KUNIT_ASSERT_LE(test, packet->len, 4352U);
			kfree_skb(packet);
		}
	}
	weft_reasm_reset(&reasm);
	kfree_skb(original);
}

static struct kunit_case frame_cases[] = {
	KUNIT_CASE(header_is_laid_out),
	KUNIT_CASE_PARAM(header_is_checked, frame_row_gen_params),
	KUNIT_CASE(hello_is_checked),
	KUNIT_CASE(damage_is_found),
	KUNIT_CASE(random_headers),
	KUNIT_CASE_PARAM(packet_is_put_together, frame_part_gen_params),
	KUNIT_CASE_PARAM(parts_are_checked, frame_steps_gen_params),
	KUNIT_CASE(vl15_is_checked),
	KUNIT_CASE(pages_will_do),
	KUNIT_CASE(frames_are_joined),
	KUNIT_CASE(random_parts),
	{}
};

static struct kunit_suite frame_suite = {
	.name = "weft_frame",
	.test_cases = frame_cases,
};

kunit_test_suite(frame_suite);
