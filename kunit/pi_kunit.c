// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Protection information: copies from and to regions with tuples, in pieces of any length, compared
 * with a naive model that sees a stream as a whole.
 */
#include "mem/copy.h"
#include "mem/pi.h"
#include "mem/region.h"

#include <linux/prandom.h>
#include <linux/slab.h>

#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#define SEED		20261127
#define ROUNDS		100
#define IOVA		0x1000ULL
#define TUPLE		8
#define MAX_BLOCKS	9
#define MAX_INTERVAL	4160
#define MAX_DATA	(MAX_BLOCKS * MAX_INTERVAL)
#define MAX_META	(MAX_BLOCKS * TUPLE)
#define MAX_WIRE	(MAX_DATA + MAX_META)
#define PIECES		12

/* A region with PI, whose memory lies in pieces of @pool. */
struct memory {
	struct weft_region	region;
	struct weft_piece	pieces[2 * PIECES];
	u8			*pool;		/* a gap behind each piece */
};

/* The expected outcome of a stream. */
struct outcome {
	u8			*data;
	u8			*meta;
	u8			*wire;
	bool			failed;
	struct ib_sig_err	error;
};

struct fixture {
	struct rnd_state	random;		/* with a constant seed */
	struct memory		memory[2];
	struct outcome		model;
	u8			*wire;		/* plain memory */
	u8			*linear;	/* for comparisons */
	u32			interval;
	u32			blocks;
};

static u32 below(struct fixture *fixture, u32 end)
{
	return prandom_u32_state(&fixture->random) % end;
}

static bool chance(struct fixture *fixture, u32 percent)
{
	return below(fixture, 100) < percent;
}

static void *memory_alloc(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

static int pi_test_init(struct kunit *test)
{
	struct fixture *fixture = memory_alloc(test, sizeof(*fixture));
	struct memory *memory;
	u32 i;

	test->priv = fixture;
	kunit_info(test, "seed %d\n", SEED);
	prandom_seed_state(&fixture->random, SEED);
	for (i = 0; i < 2; i++) {
		memory = &fixture->memory[i];
		memory->pool = memory_alloc(test, 2 * MAX_WIRE);
		memory->region.iova = IOVA;
		memory->region.kind = WEFT_REGION_FASTREG;
		memory->region.key = 0x700 + i;
		memory->region.pieces = memory->pieces;
		KUNIT_ASSERT_EQ(test, 0, weft_pi_create(&memory->region, PIECES, PIECES));
	}
	fixture->model.data = memory_alloc(test, MAX_DATA);
	fixture->model.meta = memory_alloc(test, MAX_META);
	fixture->model.wire = memory_alloc(test, MAX_WIRE);
	fixture->wire = memory_alloc(test, MAX_WIRE);
	fixture->linear = memory_alloc(test, MAX_DATA);
	return 0;
}

static void pi_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 i;

	for (i = 0; fixture && i < 2; i++)
		weft_pi_free(fixture->memory[i].region.pi);
}

/*
 * ---- The model ----
 */

/* Bit by bit. */
static u16 model_crc(u16 crc, const u8 *data, u32 length)
{
	u32 i, bit;

	for (i = 0; i < length; i++) {
		crc ^= data[i] << 8;
		for (bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x8bb7 : crc << 1;
	}
	return crc;
}

/* RFC 1071, with a sum that begins with @seed. */
static u16 model_csum(u16 seed, const u8 *data, u32 length)
{
	u32 sum = seed, i;

	for (i = 0; i < length; i++)
		sum += i % 2 ? data[i] : data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static u16 model_guard(const struct ib_t10_dif_domain *dif, const u8 *data)
{
	return dif->bg_type == IB_T10DIF_CSUM ? model_csum(dif->bg, data, dif->pi_interval) :
						model_crc(dif->bg, data, dif->pi_interval);
}

static u32 model_ref(const struct ib_t10_dif_domain *dif, u32 block)
{
	return dif->ref_remap ? dif->ref_tag + block : dif->ref_tag;
}

static u32 get(const u8 *at, u32 bytes)
{
	u32 value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

static void put(u8 *at, u32 value, u32 bytes)
{
	while (bytes--) {
		at[bytes] = value;
		value >>= 8;
	}
}

static void model_fail(struct fixture *fixture, u32 block, enum ib_sig_err_type type, u32 expected,
		       u32 actual)
{
	struct outcome *model = &fixture->model;

	if (model->failed)
		return;
	model->failed = true;
	model->error.err_type = type;
	model->error.expected = expected;
	model->error.actual = actual;
	model->error.sig_err_offset = block * (fixture->interval + TUPLE);
}

/* Compare the bytes that @mask names, and of these the bits in @bits. */
static bool model_differs(u32 expected, u32 actual, u8 mask, u32 bytes, u32 bits)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		if (mask & BIT(i) && (((expected ^ actual) & bits) >> 8 * i & 0xff))
			return true;
	return false;
}

static void model_check(struct fixture *fixture, const struct ib_t10_dif_domain *dif, u8 mask,
			u32 block, const u8 *data, const u8 *tuple)
{
	u32 guard = get(tuple, 2), app = get(tuple + 2, 2), ref = get(tuple + 4, 4);

	if (dif->app_escape && app == 0xffff && (!dif->ref_escape || ref == 0xffffffff))
		return;
	if (model_differs(model_guard(dif, data), guard, mask >> 6, 2, ~0U))
		model_fail(fixture, block, IB_SIG_BAD_GUARD, model_guard(dif, data), guard);
	else if (model_differs(model_ref(dif, block), ref, mask, 4, ~0U))
		model_fail(fixture, block, IB_SIG_BAD_REFTAG, model_ref(dif, block), ref);
	else if (model_differs(dif->app_tag, app, mask >> 4, 2, dif->apptag_check_mask))
		model_fail(fixture, block, IB_SIG_BAD_APPTAG, dif->app_tag, app);
}

/* The tuple of a block for domain @to; @tuple is that of @from, or NULL. */
static void model_make(const struct ib_sig_domain *from, const struct ib_sig_domain *to, u32 block,
		       const u8 *data, const u8 *tuple, u8 *made)
{
	const struct ib_t10_dif_domain *dif = &to->sig.dif;
	bool insert = from->sig_type == IB_SIG_TYPE_NONE;
	u8 old[TUPLE] = {};

	if (!insert)
		memcpy(old, tuple, TUPLE);
	put(made, insert || from->sig.dif.bg_type != dif->bg_type ? model_guard(dif, data) :
								    get(old, 2), 2);
	put(made + 2, insert || from->sig.dif.app_tag != dif->app_tag ? dif->app_tag :
									get(old + 2, 2), 2);
	put(made + 4, insert || from->sig.dif.ref_tag != dif->ref_tag ? model_ref(dif, block) :
									get(old + 4, 4), 4);
}

/* Memory to wire, or with @write from the wire to memory. */
static void model_run(struct fixture *fixture, const struct ib_sig_attrs *attrs, bool write)
{
	const struct ib_sig_domain *from = write ? &attrs->wire : &attrs->mem;
	const struct ib_sig_domain *to = write ? &attrs->mem : &attrs->wire;
	u32 stride = fixture->interval + (attrs->wire.sig_type == IB_SIG_TYPE_NONE ? 0 : TUPLE);
	struct outcome *model = &fixture->model;
	u32 block;

	model->failed = false;
	for (block = 0; block < fixture->blocks; block++) {
		u8 *data = model->data + block * fixture->interval;
		u8 *wire = model->wire + block * stride;
		u8 *behind = wire + fixture->interval, *meta = model->meta + block * TUPLE;

		memcpy(write ? data : wire, write ? wire : data, fixture->interval);
		if (from->sig_type != IB_SIG_TYPE_NONE)
			model_check(fixture, &from->sig.dif, attrs->check_mask, block, data,
				    write ? behind : meta);
		if (to->sig_type != IB_SIG_TYPE_NONE)
			model_make(from, to, block, data, write ? behind : meta,
				   write ? meta : behind);
	}
}

/*
 * ---- Regions ----
 */

/* Cut @length bytes into pieces, which lie in @pool in reverse order. Return: their number. */
static u32 memory_cut(struct fixture *fixture, struct weft_piece *pieces, u8 *pool, u32 length)
{
	u32 start = 0, num, left;

	for (num = 0; start < length; num++) {
		left = length - start;
		if (num + 1 < PIECES)
			left = 1 + below(fixture, chance(fixture, 30) ? left : min(left, 600U));
		pieces[num].start = start;
		pieces[num].addr = pool + 2 * (length - start - left) + 1;
		start += left;
	}
	return num;
}

/* Let the region have @attrs. */
static void memory_register(struct kunit *test, struct memory *memory,
			    const struct ib_sig_attrs *attrs)
{
	struct fixture *fixture = test->priv;
	struct weft_pi *pi = memory->region.pi;
	struct weft_pi_terms *next = &pi->next;
	struct ib_sig_err error;

	weft_pi_status(pi, &error);
	next->data = fixture->blocks * fixture->interval;
	next->meta = attrs->mem.sig_type == IB_SIG_TYPE_NONE ? 0 : fixture->blocks * TUPLE;
	next->num_data = memory_cut(fixture, memory->pieces, memory->pool, next->data);
	next->num_meta = memory_cut(fixture, memory->pieces + next->num_data,
				    memory->pool + 2 * MAX_DATA, next->meta);
	KUNIT_ASSERT_EQ(test, 0, weft_pi_prepare(pi, attrs));
	weft_pi_register(&memory->region);
}

/* Copy between a list of pieces and linear memory. */
static void memory_move(const struct weft_piece *pieces, u32 num, u32 length, u8 *linear,
			bool store)
{
	u32 i, size;

	for (i = 0; i < num; i++) {
		size = (i + 1 < num ? pieces[i + 1].start : length) - pieces[i].start;
		if (store)
			memcpy(pieces[i].addr, linear + pieces[i].start, size);
		else
			memcpy(linear + pieces[i].start, pieces[i].addr, size);
	}
}

static void memory_move_all(const struct memory *memory, u8 *data, u8 *meta, bool store)
{
	const struct weft_pi_terms *now = &memory->region.pi->now;

	memory_move(memory->pieces, now->num_data, now->data, data, store);
	memory_move(memory->pieces + now->num_data, now->num_meta, now->meta, meta, store);
}

static struct ib_sig_domain random_domain(struct fixture *fixture)
{
	struct ib_sig_domain domain = { .sig_type = IB_SIG_TYPE_T10_DIF };
	struct ib_t10_dif_domain *dif = &domain.sig.dif;

	dif->bg_type = below(fixture, 2) ? IB_T10DIF_CSUM : IB_T10DIF_CRC;
	dif->pi_interval = fixture->interval;
	dif->bg = chance(fixture, 30) ? below(fixture, 0x10000) : 0;
	dif->app_tag = chance(fixture, 50) ? 0x1234 : below(fixture, 0x10000);
	dif->ref_tag = chance(fixture, 50) ? 0xfffffffe : prandom_u32_state(&fixture->random);
	dif->ref_remap = below(fixture, 2);
	dif->app_escape = below(fixture, 2);
	dif->ref_escape = below(fixture, 2);
	dif->apptag_check_mask = chance(fixture, 50) ? 0xffff : below(fixture, 0x10000);
	return domain;
}

static struct ib_sig_attrs random_attrs(struct fixture *fixture)
{
	static const u16 intervals[] = { 512, 520, 4096, MAX_INTERVAL, 7 };
	struct ib_sig_attrs attrs = {};
	u32 kind = below(fixture, 4);

	fixture->interval = intervals[below(fixture, ARRAY_SIZE(intervals))];
	fixture->blocks = 1 + below(fixture, MAX_BLOCKS);
	attrs.check_mask = chance(fixture, 60) ? 0xff : below(fixture, 0x100);
	if (kind != 1)
		attrs.mem = random_domain(fixture);
	if (kind == 3 && below(fixture, 2))
		attrs.wire = attrs.mem;
	else if (kind)
		attrs.wire = random_domain(fixture);
	return attrs;
}

/* Make good tuples, then damage some or let them escape. */
static void random_tuples(struct fixture *fixture, const struct ib_sig_domain *domain, u8 *data,
			  u8 *meta, u32 stride, u32 meta_stride)
{
	static const struct ib_sig_domain none = { .sig_type = IB_SIG_TYPE_NONE };
	u32 block;
	u8 *tuple;

	for (block = 0; block < fixture->blocks; block++) {
		tuple = meta + block * meta_stride;
		model_make(&none, domain, block, data + block * stride, NULL, tuple);
		if (chance(fixture, 10))
			memset(tuple + 2, 0xff, chance(fixture, 50) ? 2 : 6);
		if (chance(fixture, 10))
			tuple[below(fixture, TUPLE)] ^= 1 + below(fixture, 255);
		if (chance(fixture, 5))
			data[block * stride + below(fixture, fixture->interval)] ^= 0x10;
	}
}

static void check_status(struct kunit *test, struct memory *memory, u32 round)
{
	struct fixture *fixture = test->priv;
	const struct outcome *model = &fixture->model;
	struct ib_sig_err error = {};
	bool failed = weft_pi_status(memory->region.pi, &error);

	KUNIT_EXPECT_EQ_MSG(test, model->failed, failed, "round %u", round);
	if (!failed || !model->failed)
		return;
	KUNIT_EXPECT_EQ_MSG(test, (int)model->error.err_type, (int)error.err_type, "round %u",
			    round);
	KUNIT_EXPECT_EQ(test, model->error.expected, error.expected);
	KUNIT_EXPECT_EQ(test, model->error.actual, error.actual);
	KUNIT_EXPECT_EQ(test, model->error.sig_err_offset, error.sig_err_offset);
	KUNIT_EXPECT_EQ(test, memory->region.key, error.key);
	/* it is forgotten */
	KUNIT_EXPECT_FALSE(test, weft_pi_status(memory->region.pi, &error));
}

/* Copy @length bytes at @at of two streams; a NULL @memory is @wire. */
static void stream_copy(struct fixture *fixture, struct memory *dst, struct memory *src, u32 at,
			u32 length)
{
	struct weft_span plain = { .addr = (uintptr_t)fixture->wire + at, .length = length };
	struct weft_span to = plain, from = plain;
	struct weft_iter to_iter, from_iter;

	if (dst)
		to = (struct weft_span){ &dst->region, IOVA + at, length };
	if (src)
		from = (struct weft_span){ &src->region, IOVA + at, length };
	weft_span_iter(&to, &to_iter);
	weft_span_iter(&from, &from_iter);
	weft_copy(&to_iter, &from_iter, length);
}

/*
 * Copy a stream in pieces of any length, as packets do. Now and then what has been read is read
 * again, and what is written begins again.
 */
static void stream_run(struct fixture *fixture, struct memory *dst, struct memory *src, u32 length)
{
	u32 most = chance(fixture, 50) ? 40 : 1024, done = 0, again = 2, part;

	while (done < length) {
		part = min(1 + below(fixture, most), length - done);
		stream_copy(fixture, dst, src, done, part);
		done += part;
		if (again && chance(fixture, 5)) {
			again--;
			done = dst ? 0 : done - part;
		}
	}
}

/*
 * ---- Tests ----
 */

static void reads_as_the_model(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct outcome *model = &fixture->model;
	struct memory *memory = &fixture->memory[0];
	struct ib_sig_attrs attrs;
	u32 round;

	for (round = 0; round < ROUNDS; round++) {
		attrs = random_attrs(fixture);
		prandom_bytes_state(&fixture->random, model->data, MAX_DATA);
		if (attrs.mem.sig_type != IB_SIG_TYPE_NONE)
			random_tuples(fixture, &attrs.mem, model->data, model->meta,
				      fixture->interval, TUPLE);
		memory_register(test, memory, &attrs);
		memory_move_all(memory, model->data, model->meta, true);
		model_run(fixture, &attrs, false);
		memset(fixture->wire, 0x5a, MAX_WIRE);
		stream_run(fixture, NULL, memory, memory->region.length);
		KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(model->wire, fixture->wire,
						    memory->region.length), "round %u", round);
		check_status(test, memory, round);
	}
}

static void writes_as_the_model(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct outcome *model = &fixture->model;
	struct memory *memory = &fixture->memory[0];
	u8 meta[MAX_META];
	struct ib_sig_attrs attrs;
	u32 round, stride;

	for (round = 0; round < ROUNDS; round++) {
		attrs = random_attrs(fixture);
		stride = fixture->interval + TUPLE;
		prandom_bytes_state(&fixture->random, model->wire, MAX_WIRE);
		if (attrs.wire.sig_type != IB_SIG_TYPE_NONE)
			random_tuples(fixture, &attrs.wire, model->wire,
				      model->wire + fixture->interval, stride, stride);
		memory_register(test, memory, &attrs);
		model_run(fixture, &attrs, true);
		memcpy(fixture->wire, model->wire, MAX_WIRE);
		stream_run(fixture, memory, NULL, memory->region.length);
		memory_move_all(memory, fixture->linear, meta, false);
		KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(model->data, fixture->linear,
						    memory->region.pi->now.data),
				    "round %u", round);
		KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(model->meta, meta, memory->region.pi->now.meta),
				    "round %u", round);
		check_status(test, memory, round);
	}
}

/* As when the memory of both peers has PI: from one region to another, which check the same. */
static void passes_between_regions(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct outcome *model = &fixture->model;
	struct memory *src = &fixture->memory[0], *dst = &fixture->memory[1];
	struct ib_sig_attrs attrs;
	u8 meta[MAX_META];
	u32 round;

	for (round = 0; round < ROUNDS; round++) {
		attrs = random_attrs(fixture);
		attrs.wire = attrs.mem;
		if (attrs.mem.sig_type == IB_SIG_TYPE_NONE)
			continue;
		prandom_bytes_state(&fixture->random, model->data, MAX_DATA);
		random_tuples(fixture, &attrs.mem, model->data, model->meta, fixture->interval,
			      TUPLE);
		memory_register(test, src, &attrs);
		memory_register(test, dst, &attrs);
		memory_move_all(src, model->data, model->meta, true);
		model_run(fixture, &attrs, false);
		stream_run(fixture, dst, src, src->region.length);
		memory_move_all(dst, fixture->linear, meta, false);
		KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(model->data, fixture->linear,
						    dst->region.pi->now.data), "round %u", round);
		KUNIT_ASSERT_EQ_MSG(test, 0, memcmp(model->meta, meta, dst->region.pi->now.meta),
				    "round %u", round);
		check_status(test, src, round);
		check_status(test, dst, round);
	}
}

/* Vectors of others: the CRC of 32 bytes of 0 and of 0xff is in SBC-3, the sum is RFC 1071's. */
static void guards_are_right(struct kunit *test)
{
	u8 zeros[32] = {}, ones[32];
	static const u8 rfc[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	memset(ones, 0xff, sizeof(ones));
	KUNIT_EXPECT_EQ(test, model_crc(0, zeros, 32), 0x0000);
	KUNIT_EXPECT_EQ(test, model_crc(0, ones, 32), 0xa293);
	KUNIT_EXPECT_EQ(test, model_csum(0, rfc, sizeof(rfc)), 0x220d);
}

/* A change of good attributes that makes them bad. */
static void pi_refuses(struct kunit *test, struct ib_sig_attrs attrs, u64 data, u64 meta)
{
	struct fixture *fixture = test->priv;
	struct weft_pi *pi = fixture->memory[0].region.pi;

	pi->next.data = data;
	pi->next.meta = meta;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_pi_prepare(pi, &attrs));
}

static void bad_terms_are_refused(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_pi *pi = fixture->memory[0].region.pi;
	struct ib_sig_attrs good = {}, bad;
	struct ib_sig_err error;

	fixture->interval = 512;
	fixture->blocks = 4;
	good.mem = random_domain(fixture);
	good.wire = random_domain(fixture);
	pi_refuses(test, good, 2048, 24);
	pi_refuses(test, good, 2048, 40);
	pi_refuses(test, good, 2047, 32);
	pi_refuses(test, good, 0, 0);
	bad = good;
	bad.mem.sig_type = IB_SIG_TYPE_NONE;
	pi_refuses(test, bad, 2048, 24);
	bad.wire.sig_type = IB_SIG_TYPE_NONE;
	pi_refuses(test, bad, 2048, 0);
	bad = good;
	bad.wire.sig.dif.pi_interval = 4096;
	pi_refuses(test, bad, 2048, 32);
	bad = good;
	bad.mem.sig.dif.pi_interval = 0;
	bad.wire.sig.dif.pi_interval = 0;
	pi_refuses(test, bad, 2048, 32);
	bad = good;
	bad.wire.sig.dif.bg_type = 2;
	pi_refuses(test, bad, 2048, 32);
	bad = good;
	bad.wire.sig_type = 2;
	pi_refuses(test, bad, 2048, 32);
	pi->next.data = 2048;
	pi->next.meta = 32;
	KUNIT_EXPECT_EQ(test, 0, weft_pi_prepare(pi, &good));
	/* nobody has asked for the status */
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_pi_prepare(pi, &good));
	weft_pi_status(pi, &error);
	KUNIT_EXPECT_EQ(test, 0, weft_pi_prepare(pi, &good));
	weft_pi_status(pi, &error);
	/* room for tuples that the memory does not have */
	good.mem.sig_type = IB_SIG_TYPE_NONE;
	KUNIT_EXPECT_EQ(test, 0, weft_pi_prepare(pi, &good));
	weft_pi_status(pi, &error);
	pi->next.meta = 0;
	KUNIT_EXPECT_EQ(test, 0, weft_pi_prepare(pi, &good));
	weft_pi_status(pi, &error);
}

static struct kunit_case pi_cases[] = {
	KUNIT_CASE(reads_as_the_model),
	KUNIT_CASE(writes_as_the_model),
	KUNIT_CASE(passes_between_regions),
	KUNIT_CASE(guards_are_right),
	KUNIT_CASE(bad_terms_are_refused),
	{}
};

static struct kunit_suite pi_suite = {
	.name = "weft_pi",
	.init = pi_test_init,
	.exit = pi_test_exit,
	.test_cases = pi_cases,
};

kunit_test_suite(pi_suite);
