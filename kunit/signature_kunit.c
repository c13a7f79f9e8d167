// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Signatures of mkeys: the check values that catalogues of CRCs give, in pieces of any length,
 * their order in memory, and terms that are refused. pi_kunit.c has the copies; userspace/tests has
 * them for each type.
 */
#include "mem/layout.h"
#include "mem/pi.h"
#include "mem/region.h"
#include "mem/signature.h"

#include <linux/slab.h>

#include <kunit/test.h>

static const u8 digits[] = "123456789";

/* With RFC 1071's own example, as a checksum wants words. */
static const u8 words[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

static const struct vector {
	const char *name;
	enum weft_signature_type type;
	u64 seed;
	const u8 *data;
	u32 length;
	u64 value;
	u8 bytes[WEFT_SIGNATURE_MAX];	/* in memory, with tags of 0 */
} vectors[] = {
	{ "T10-DIF", WEFT_SIGNATURE_DIF_CRC, 0, digits, 9, 0xd0dbULL << 48, { 0xd0, 0xdb } },
	{ "T10-DIF of nothing, with ones", WEFT_SIGNATURE_DIF_CRC, U64_MAX, digits, 0,
	  0xffffULL << 48, { 0xff, 0xff } },
	{ "checksum", WEFT_SIGNATURE_DIF_CSUM, 0, words, 8, 0x220dULL << 48, { 0x22, 0x0d } },
	{ "checksum with ones", WEFT_SIGNATURE_DIF_CSUM, U64_MAX, words, 8, 0x220dULL << 48,
	  { 0x22, 0x0d } },
	{ "CRC-32/ISO-HDLC", WEFT_SIGNATURE_CRC32, U64_MAX, digits, 9, 0xcbf43926ULL << 32,
	  { 0x26, 0x39, 0xf4, 0xcb } },
	{ "CRC-32 with zeros", WEFT_SIGNATURE_CRC32, 0, digits, 9, 0xd202d277ULL << 32,
	  { 0x77, 0xd2, 0x02, 0xd2 } },
	{ "CRC-32/ISCSI", WEFT_SIGNATURE_CRC32C, U64_MAX, digits, 9, 0xe3069283ULL << 32,
	  { 0x83, 0x92, 0x06, 0xe3 } },
	{ "CRC-32C with zeros", WEFT_SIGNATURE_CRC32C, 0, digits, 9, 0xa71c05dfULL << 32,
	  { 0xdf, 0x05, 0x1c, 0xa7 } },
	{ "CRC-64/NVME", WEFT_SIGNATURE_CRC64, U64_MAX, digits, 9, 0xae8b14860a799888ULL,
	  { 0x88, 0x98, 0x79, 0x0a, 0x86, 0x14, 0x8b, 0xae } },
	{ "CRC-64 with zeros", WEFT_SIGNATURE_CRC64, 0, digits, 9, 0x87ff3f9b2b57c87bULL,
	  { 0x7b, 0xc8, 0x57, 0x2b, 0x9b, 0x3f, 0xff, 0x87 } },
};

static void vector_name(const struct vector *row, char *name)
{
	strscpy(name, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(vector, vectors, vector_name);

static void guards_of_catalogues(struct kunit *test)
{
	const struct vector *row = test->param_value;
	const struct weft_signature_form *form = weft_signature_form(row->type);
	u8 bytes[WEFT_SIGNATURE_MAX] = {};
	u64 sum;
	u32 cut;

	KUNIT_ASSERT_NOT_NULL(test, form);
	for (cut = 0; cut <= row->length; cut++) {
		sum = form->begin(row->seed);
		sum = form->add(sum, row->data, cut, 0);
		sum = form->add(sum, row->data + cut, row->length - cut, cut);
		KUNIT_EXPECT_EQ_MSG(test, row->value, form->end(sum), "cut %u", cut);
	}
	KUNIT_EXPECT_EQ(test, 0, row->value & ~form->guard);
	weft_signature_put(form, bytes, row->value);
	KUNIT_EXPECT_EQ(test, 0, memcmp(bytes, row->bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, row->value, weft_signature_get(form, row->bytes));
}

static void tuples_have_tags(struct kunit *test)
{
	static const u8 tuple[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const struct weft_signature_form *form = weft_signature_form(WEFT_SIGNATURE_DIF_CRC);

	KUNIT_EXPECT_EQ(test, 0x0102030405060708ULL, weft_signature_get(form, tuple));
	KUNIT_EXPECT_EQ(test, 0x030400000000ULL,
			weft_signature_get(form, tuple) & WEFT_SIGNATURE_APP);
	KUNIT_EXPECT_EQ(test, 0x05060708ULL, weft_signature_get(form, tuple) & WEFT_SIGNATURE_REF);
	KUNIT_EXPECT_NULL(test, weft_signature_form(WEFT_SIGNATURE_CRC64 + 1));
	KUNIT_EXPECT_EQ(test, 0, weft_signature_form(WEFT_SIGNATURE_NONE)->size);
}

/* The length on the wire of a layout, or the reason why there is none. */
static const struct terms {
	const char *name;
	struct weft_signature mem, wire;
	u32 block;
	u64 length;			/* of the layout */
	int err;
	u64 wire_length;
	u64 pass;			/* of the layout; 0: it has one */
} terms[] = {
	{ "insert", {}, { WEFT_SIGNATURE_CRC32C }, WEFT_SIGNATURE_BLOCK_512, 1024, 0, 1032 },
	{ "strip", { WEFT_SIGNATURE_CRC64 }, {}, WEFT_SIGNATURE_BLOCK_4096, 4104, 0, 4096 },
	{ "convert", { WEFT_SIGNATURE_CRC32 }, { WEFT_SIGNATURE_DIF_CRC },
	  WEFT_SIGNATURE_BLOCK_520, 5240, 0, 5280 },
	{ "all flags", { WEFT_SIGNATURE_DIF_CSUM, WEFT_SIGNATURE_FLAGS, 1, 2 }, {},
	  WEFT_SIGNATURE_BLOCK_4048, 4056, 0, 4048 },
	{ "longest block", {}, { WEFT_SIGNATURE_CRC32 }, WEFT_SIGNATURE_BLOCK_4160, 4160, 0, 4164 },
	{ "long", { WEFT_SIGNATURE_CRC64 }, {}, 0, 520ULL << 50, 0, 512ULL << 50 },
	{ "passes of a block", { WEFT_SIGNATURE_CRC64 }, {}, 0, 1040, 0, 1024, 520 },
	{ "passes of less", { WEFT_SIGNATURE_CRC64 }, {}, 0, 1040, -EINVAL, 0, 260 },
	{ "too long", {}, { WEFT_SIGNATURE_CRC64 }, 0, U64_MAX - 511, -ERANGE },
	{ "nothing", {}, { WEFT_SIGNATURE_CRC64 }, 0, 0, -EINVAL },
	{ "less than a block", {}, { WEFT_SIGNATURE_CRC64 }, 0, 511, -EINVAL },
	{ "more than a block", {}, { WEFT_SIGNATURE_CRC64 }, 0, 513, -EINVAL },
	{ "no signature", {}, {}, 0, 512, -EINVAL },
	{ "unknown block", {}, { WEFT_SIGNATURE_CRC64 }, 5, 512, -EINVAL },
	{ "unknown type", {}, { 6 }, 0, 512, -EINVAL },
	{ "unknown flag", {}, { WEFT_SIGNATURE_DIF_CRC, 16 }, 0, 512, -EINVAL },
	{ "tag of a CRC", {}, { WEFT_SIGNATURE_CRC32, 0, 1 }, 0, 512, -EINVAL },
};

static void terms_name(const struct terms *row, char *name)
{
	strscpy(name, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(terms, terms, terms_name);

static void layouts_are_of_whole_blocks(struct kunit *test)
{
	const struct terms *row = test->param_value;
	struct weft_pi_request request = {
		.mem = &row->mem, .wire = &row->wire, .block = row->block,
	};
	struct weft_layout layout = { .length = row->length, .pass = row->pass ?: row->length };
	struct weft_region *mkey = kunit_kzalloc(test, sizeof(*mkey), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mkey);
	mkey->layout = &layout;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_pi_sign(mkey, &request, GFP_KERNEL));
	mkey->report = weft_pi_report_create(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mkey->report);
	KUNIT_EXPECT_EQ(test, row->err, weft_pi_sign(mkey, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, !row->err, !!mkey->pi);
	if (!row->err)
		KUNIT_EXPECT_EQ(test, row->wire_length, mkey->length);
	weft_pi_free(mkey->pi);
	weft_pi_report_put(mkey->report);
}

static struct kunit_case signature_cases[] = {
	KUNIT_CASE_PARAM(guards_of_catalogues, vector_gen_params),
	KUNIT_CASE(tuples_have_tags),
	KUNIT_CASE_PARAM(layouts_are_of_whole_blocks, terms_gen_params),
	{}
};

static struct kunit_suite signature_suite = {
	.name = "weft_signature",
	.test_cases = signature_cases,
};

kunit_test_suite(signature_suite);
