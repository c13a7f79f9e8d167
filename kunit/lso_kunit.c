// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * TCP streams are cut into packets: headers are compared field by field, and the payload is put
 * together again.
 */
#include "engine/lso.h"

#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/test.h>

#include "engine/ipcsum.h"

#define SEED	0x150150
#define ROUNDS	150

/* flags of TCP */
#define FIN	0x01
#define PSH	0x08
#define ACK	0x10
#define CWR	0x80

/**
 * struct fixture - a stream to be cut
 * @stream: the payload, WEFT_LSO_MAX_LENGTH bytes
 * @packet: the current packet
 * @lso: its headers
 * @sgl: list of @stream
 * @span: of @sgl
 * @cut: under test
 * @random: with a constant seed
 */
struct fixture {
	u8			*stream;
	u8			*packet;
	struct weft_lso		lso;
	struct weft_sgl		sgl;
	struct weft_span	span[WEFT_MAX_SGE];
	struct weft_lso_cut	cut;
	struct rnd_state	random;
};

static int lso_test_init(struct kunit *test)
{
	struct fixture *fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fixture);
	test->priv = fixture;
	fixture->sgl.span = fixture->span;
	fixture->stream = kunit_kzalloc(test, WEFT_LSO_MAX_LENGTH, GFP_KERNEL);
	fixture->packet = kunit_kzalloc(test, WEFT_LSO_MAX_LENGTH, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->stream);
	KUNIT_ASSERT_NOT_NULL(test, fixture->packet);
	kunit_info(test, "seed %#x\n", SEED);
	prandom_seed_state(&fixture->random, SEED);
	prandom_bytes_state(&fixture->random, fixture->stream, WEFT_LSO_MAX_LENGTH);
	return 0;
}

static u32 below(struct fixture *fixture, u32 limit)
{
	return prandom_u32_state(&fixture->random) % limit;
}

static void put(u8 *at, u32 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static u32 get(const u8 *at)
{
	return at[0] << 8 | at[1];
}

static u32 get_long(const u8 *at)
{
	return get(at) << 16 | get(at + 2);
}

/* Make an IP header of @ip bytes (40: IPv6) and a TCP header of @tcp, seq 0xfffff000, ID 0xfffe. */
static void make_headers(struct weft_lso *lso, u32 ip, u32 tcp, u16 mss)
{
	u8 *at = lso->header + 4;

	memset(lso, 0x77, sizeof(*lso));
	lso->mss = mss;
	lso->length = 4 + ip + tcp;
	put(lso->header, ip == 40 ? 0x86dd : 0x0800);
	at[0] = ip == 40 ? 0x60 : 0x40 | ip / 4;
	if (ip == 40) {
		at[6] = 6;
	} else {
		put(at + 4, 0xfffe);
		put(at + 6, 0x4000);
		at[9] = 6;
	}
	put(at + ip + 4, 0xffff);
	put(at + ip + 6, 0xf000);
	at[ip + 12] = tcp / 4 << 4;
	at[ip + 13] = FIN | PSH | ACK | CWR;
}

static void make_stream(struct fixture *fixture, u32 length, u32 spans)
{
	u8 *at = fixture->stream;
	u32 piece;

	fixture->sgl.length = length;
	fixture->sgl.num = 0;
	while (length) {
		piece = fixture->sgl.num + 1 >= spans ? length : 1 + below(fixture, length);
		fixture->sgl.span[fixture->sgl.num++] = (struct weft_span){
			.addr = (uintptr_t)at, .length = piece,
		};
		at += piece;
		length -= piece;
	}
}

/* Copy the current packet into one piece, and fill in its checksums. Return: its bytes. */
static u32 take_packet(struct fixture *fixture)
{
	struct weft_span span = { .addr = (uintptr_t)fixture->packet };
	struct weft_iter from, to;

	span.length = weft_lso_packet(&fixture->cut, &from);
	weft_span_iter(&span, &to);
	weft_copy(&to, &from, span.length);
	weft_ipcsum_fill(fixture->packet, span.length);
	return span.length;
}

static void check_ip(struct kunit *test, u32 ip, u32 length, u32 number)
{
	struct fixture *fixture = test->priv;
	const u8 *at = fixture->packet + 4, *was = fixture->lso.header + 4;

	if (ip == 40) {
		KUNIT_EXPECT_EQ(test, get(at + 4), length - 44);
		KUNIT_EXPECT_EQ(test, memcmp(at, was, 4), 0);
		KUNIT_EXPECT_EQ(test, memcmp(at + 6, was + 6, 34), 0);
		return;
	}
	KUNIT_EXPECT_EQ(test, get(at + 2), length - 4);
	KUNIT_EXPECT_EQ(test, get(at + 4), (0xfffe + number) & 0xffff);
	KUNIT_EXPECT_EQ(test, memcmp(at + 6, was + 6, 4), 0);
	KUNIT_EXPECT_EQ(test, memcmp(at + 12, was + 12, ip - 12), 0);
}

static void check_tcp(struct kunit *test, u32 ip, u32 done, bool last)
{
	struct fixture *fixture = test->priv;
	const u8 *at = fixture->packet + 4 + ip, *was = fixture->lso.header + 4 + ip;
	u32 flags = ACK | (done ? 0 : CWR) | (last ? FIN | PSH : 0);

	KUNIT_EXPECT_EQ(test, memcmp(at, was, 4), 0);
	KUNIT_EXPECT_EQ(test, get_long(at + 4), 0xfffff000 + done);
	KUNIT_EXPECT_EQ(test, memcmp(at + 8, was + 8, 5), 0);
	KUNIT_EXPECT_EQ(test, at[13], flags);
	KUNIT_EXPECT_EQ(test, memcmp(at + 14, was + 14, 2), 0);
	KUNIT_EXPECT_EQ(test, memcmp(at + 18, was + 18,
				     fixture->lso.length - 4 - ip - 18), 0);
}

/* Check all packets of a stream. One in @stalls of them cannot be sent the first time. */
static void check_cut(struct kunit *test, u32 ip, u32 tcp, u32 stalls)
{
	struct fixture *fixture = test->priv;
	u32 stream = fixture->sgl.length, mss = fixture->lso.mss, done = 0, number = 0;
	u32 bytes, length;

	KUNIT_ASSERT_TRUE(test, weft_lso_valid(&fixture->lso));
	KUNIT_EXPECT_EQ(test, weft_lso_longest(&fixture->lso, stream),
			4 + ip + tcp + min(mss, stream));
	weft_lso_begin(&fixture->cut, &fixture->lso, &fixture->sgl, 0);
	while (done < stream) {
		length = take_packet(fixture);
		bytes = min(mss, stream - done);
		KUNIT_ASSERT_EQ(test, length, 4 + ip + tcp + bytes);
		check_ip(test, ip, length, number);
		check_tcp(test, ip, done, done + bytes == stream);
		KUNIT_ASSERT_EQ(test, memcmp(fixture->packet + 4 + ip + tcp,
					     fixture->stream + done, bytes), 0);
		if (stalls && !below(fixture, stalls)) {
			weft_lso_begin(&fixture->cut, &fixture->lso, &fixture->sgl, done);
			continue;
		}
		done += bytes;
		number++;
		KUNIT_ASSERT_EQ(test, weft_lso_sent(&fixture->cut), done);
	}
}

static void cuts_v4(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	make_headers(&fixture->lso, 20, 32, 1992);
	make_stream(fixture, 65536, 17);
	check_cut(test, 20, 32, 0);
}

static void cuts_v6(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	make_headers(&fixture->lso, 40, 20, 1440);
	make_stream(fixture, 64000, 3);
	check_cut(test, 40, 20, 0);
}

static void longest_headers(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	make_headers(&fixture->lso, 60, 60, 536);
	make_stream(fixture, 5000, WEFT_MAX_SGE);
	check_cut(test, 60, 60, 0);
}

static void odd_sizes(struct kunit *test)
{
	static const u32 sizes[][2] = {
		{ 1, 1 }, { 1, 9 }, { 100, 1 }, { 100, 100 }, { 100, 101 }, { 100, 200 },
		{ 65411, 65536 }, { 1, 300 }, { 7, 1000 },
	};
	struct fixture *fixture = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		make_headers(&fixture->lso, 60, 60, sizes[i][0]);
		make_stream(fixture, sizes[i][1], 4);
		check_cut(test, 60, 60, 0);
	}
}

static void goes_on_where_it_was(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 i, ip, tcp;

	for (i = 0; i < ROUNDS; i++) {
		ip = 20 + 4 * below(fixture, 11);
		tcp = 20 + 4 * below(fixture, 11);
		make_headers(&fixture->lso, ip, tcp, 1 + below(fixture, 4000));
		make_stream(fixture, 1 + below(fixture, 20000), 1 + below(fixture, WEFT_MAX_SGE));
		check_cut(test, ip, tcp, 3);
	}
}

/* Checksums of the packets verify; tests of engine/ipcsum.c compare them with a model. */
static void sums_are_right(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span span = { .addr = (uintptr_t)fixture->packet };
	struct weft_iter iter;
	u32 ip;

	for (ip = 20; ip <= 40; ip += 20) {
		make_headers(&fixture->lso, ip, 24, 999);
		make_stream(fixture, 9999, 5);
		weft_lso_begin(&fixture->cut, &fixture->lso, &fixture->sgl, 0);
		do {
			span.length = take_packet(fixture);
			weft_span_iter(&span, &iter);
			KUNIT_EXPECT_TRUE(test, weft_ipcsum_verify(iter, span.length));
		} while (weft_lso_sent(&fixture->cut) < 9999);
	}
}

/* A change to one byte that makes the headers invalid. */
struct lso_row {
	const char	*name;
	u32		ip;
	u32		offset;
	u8		value;
};

static const struct lso_row lso_rows[] = {
	{ "another EtherType", 20, 1, 0x06 },
	{ "an EtherType of nobody", 20, 0, 0x86 },
	{ "version 6 of IPv4", 20, 4, 0x65 },
	{ "version 4 of IPv6", 40, 4, 0x45 },
	{ "IPv4 header too short", 20, 4, 0x44 },
	{ "IPv4 header longer than all", 20, 4, 0x4f },
	{ "IPv4 options that are not there", 20, 4, 0x46 },
	{ "more fragments", 20, 4 + 6, 0x20 },
	{ "a later fragment", 20, 4 + 7, 0x01 },
	{ "UDP", 20, 4 + 9, 17 },
	{ "UDP of IPv6", 40, 4 + 6, 17 },
	{ "an extension of IPv6", 40, 4 + 6, 0 },
	{ "TCP header too short", 20, 4 + 20 + 12, 0x40 },
	{ "TCP header shorter than said", 20, 4 + 20 + 12, 0x50 },
	{ "TCP header longer than said", 20, 4 + 20 + 12, 0x70 },
	{ "TCP header of nothing", 40, 4 + 40 + 12, 0 },
};

static void lso_row_desc(const struct lso_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(lso_row, lso_rows, lso_row_desc);

static void refused_row(struct kunit *test)
{
	const struct lso_row *row = test->param_value;
	struct fixture *fixture = test->priv;

	make_headers(&fixture->lso, row->ip, 24, 1000);
	KUNIT_EXPECT_TRUE(test, weft_lso_valid(&fixture->lso));
	fixture->lso.header[row->offset] = row->value;
	KUNIT_EXPECT_FALSE(test, weft_lso_valid(&fixture->lso));
}

static void refused_lengths(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_lso *lso = &fixture->lso;
	u32 i;

	make_headers(lso, 20, 20, 0);
	KUNIT_EXPECT_FALSE(test, weft_lso_valid(lso));
	/* the length field of IPv4 allows 65535 bytes */
	lso->mss = 65535 - 40;
	KUNIT_EXPECT_TRUE(test, weft_lso_valid(lso));
	lso->mss++;
	KUNIT_EXPECT_FALSE(test, weft_lso_valid(lso));
	lso->mss = 1000;
	for (i = 0; i <= 0xffff; i++) {
		lso->length = i;
		KUNIT_ASSERT_EQ_MSG(test, weft_lso_valid(lso), i == 44, "%u bytes", i);
	}
}

static void survives_anything(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_lso *lso = &fixture->lso;
	u32 i, good = 0;

	for (i = 0; i < 100 * ROUNDS; i++) {
		make_headers(lso, below(fixture, 2) ? 20 + 4 * below(fixture, 11) : 40,
			     20 + 4 * below(fixture, 11), prandom_u32_state(&fixture->random));
		if (below(fixture, 2))
			lso->header[below(fixture, 80)] = prandom_u32_state(&fixture->random);
		if (!below(fixture, 4))
			lso->length = below(fixture, 200);
		if (!weft_lso_valid(lso))
			continue;
		good++;
		make_stream(fixture, 1 + below(fixture, 100), 3);
		weft_lso_begin(&fixture->cut, lso, &fixture->sgl, 0);
		KUNIT_ASSERT_LE(test, take_packet(fixture), 4U + 65535U);
	}
	KUNIT_EXPECT_GT(test, good, ROUNDS);
}

static struct kunit_case lso_cases[] = {
	KUNIT_CASE(cuts_v4),
	KUNIT_CASE(cuts_v6),
	KUNIT_CASE(longest_headers),
	KUNIT_CASE(odd_sizes),
	KUNIT_CASE(goes_on_where_it_was),
	KUNIT_CASE(sums_are_right),
	KUNIT_CASE_PARAM(refused_row, lso_row_gen_params),
	KUNIT_CASE(refused_lengths),
	KUNIT_CASE(survives_anything),
	{}
};

static struct kunit_suite lso_suite = {
	.name = "weft_lso",
	.init = lso_test_init,
	.test_cases = lso_cases,
};

kunit_test_suite(lso_suite);
