// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ring/ring.c: shared rings with an honest client, and with a hostile one that
 * writes arbitrary values into the header.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "ring/pages.h"
#include "ring/ring.h"

#define RING_SEED	0x72696e67
#define RING_ROUNDS	5000
#define RING_ENTRIES	8U
/* More entries than may be copied with a lock held. */
#define RING_LARGE	4096U
/* The largest ring that the random operations resize to. */
#define RING_MAX	64U

/* The parameters of most cases. */
struct ring_row {
	const char	*name;
	bool		completion;	/* the device is the producer, of a CQ */
	u32		start;		/* initial index of both sides */
};

static const struct ring_row ring_rows[] = {
	{ "queue from 0", false, 0 },
	{ "queue across the sign", false, 0x7ffffffd },
	{ "queue across the wrap", false, 0xfffffffd },
	{ "completions from 0", true, 0 },
	{ "completions across the sign", true, 0x7ffffffd },
	{ "completions across the wrap", true, 0xfffffffd },
};

static void ring_row_desc(const struct ring_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ring_row, ring_rows, ring_row_desc);

KUNIT_DEFINE_ACTION_WRAPPER(ring_destroy, weft_ring_destroy, struct weft_ring *);

static struct weft_ring *ring_new(struct kunit *test, u32 entries)
{
	struct weft_ring *ring;

	ring = weft_ring_create(entries, sizeof(struct weft_cqe), NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ring_destroy, ring), 0);
	return ring;
}

static void ring_drop(struct kunit *test, struct weft_ring *ring)
{
	kunit_release_action(test, ring_destroy, ring);
}

/* A hostile client can access all of the shared memory. */
static struct weft_ring_hdr *header(const struct weft_ring *ring)
{
	return (struct weft_ring_hdr __force *)ring->hdr;
}

static u64 *slot(const struct weft_ring *ring, u32 index)
{
	return (void __force *)ring->slots + (index % ring->entries) * ring->stride;
}

/* Set all indexes, as after many entries. */
static void ring_start(struct weft_ring *ring, u32 index)
{
	ring->device = index;
	ring->client = index;
	header(ring)->producer = index;
	header(ring)->consumer = index;
}

static struct weft_ring *ring_for_row(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);

	ring_start(ring, row->start);
	return ring;
}

/* Both formats begin with wr_id, which has the value of an entry here. */
static_assert(offsetof(struct weft_rqe, wr_id) == 0);
static_assert(offsetof(struct weft_cqe, wr_id) == 0);

static bool queue_put(struct weft_ring *ring, u64 value)
{
	struct weft_rqe *rqe = weft_ring_reserve(ring);

	if (!rqe)
		return false;
	rqe->wr_id = value;
	weft_ring_submit(ring);
	return true;
}

static bool queue_get(struct weft_ring *ring, u64 *value)
{
	if (weft_ring_pending(ring) <= 0)
		return false;
	*value = *(const u64 __force *)weft_ring_take(ring, 0);
	weft_ring_release(ring);
	return true;
}

static void cq_fill(struct weft_cqe *cqe, u64 value)
{
	memset(cqe, (u8)~value, sizeof(*cqe));
	cqe->wr_id = value;
}

static bool cq_put(struct weft_ring *ring, u64 value)
{
	struct weft_cqe cqe;

	cq_fill(&cqe, value);
	return weft_ring_push(ring, &cqe);
}

static bool cq_get(struct weft_ring *ring, u64 *value)
{
	struct weft_cqe cqe, expected;

	if (!weft_ring_pop(ring, &cqe))
		return false;
	cq_fill(&expected, cqe.wr_id);
	*value = memcmp(&cqe, &expected, sizeof(cqe)) ? U64_MAX : cqe.wr_id;
	return true;
}

static bool put(struct weft_ring *ring, bool completion, u64 value)
{
	return completion ? cq_put(ring, value) : queue_put(ring, value);
}

static bool get(struct weft_ring *ring, bool completion, u64 *value)
{
	return completion ? cq_get(ring, value) : queue_get(ring, value);
}

static int outstanding(const struct weft_ring *ring, bool completion)
{
	return completion ? (int)weft_ring_has_completions(ring) :
	       weft_ring_pending(ring);
}

static void put_all(struct kunit *test, struct weft_ring *ring, bool completion,
		    u64 first, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		KUNIT_ASSERT_TRUE(test, put(ring, completion, first + i));
}

static void get_all(struct kunit *test, struct weft_ring *ring, bool completion,
		    u64 first, u32 num)
{
	u64 value;
	u32 i;

	for (i = 0; i < num; i++) {
		KUNIT_ASSERT_TRUE(test, get(ring, completion, &value));
		KUNIT_ASSERT_EQ(test, value, first + i);
	}
}

struct ring_size_row {
	const char	*name;
	u32		wanted;
	u32		entries;
	u32		stride;
	size_t		size;
};

static const struct ring_size_row ring_size_rows[] = {
	{ "none", 0, 1, 64, SZ_4K },
	{ "one", 1, 1, 64, SZ_4K },
	{ "power of two", 16, 16, 64, SZ_4K },
	{ "rounded up", 17, 32, 64, SZ_4K },
	{ "just a page", 60, 64, 60, SZ_4K },
	{ "just more than a page", 64, 64, 64, 2 * SZ_4K },
	{ "stride no power of two", 1000, 1024, 48, 13 * SZ_4K },
	{ "many", 32768, 32768, 576, 4609 * SZ_4K },
};

static void ring_size_row_desc(const struct ring_size_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ring_size_row, ring_size_rows, ring_size_row_desc);

static void create_sizes(struct kunit *test)
{
	const struct ring_size_row *row = test->param_value;
	struct weft_ring *ring;

	ring = weft_ring_create(row->wanted, row->stride, NULL, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, ring);
	KUNIT_EXPECT_EQ(test, ring->entries, row->entries);
	KUNIT_EXPECT_EQ(test, ring->stride, row->stride);
	KUNIT_EXPECT_EQ(test, ring->pages->size, PAGE_ALIGN(row->size));
	KUNIT_EXPECT_NULL(test, memchr_inv(header(ring), 0, ring->pages->size));
	/* KASAN detects it if the last slot is not within the ring */
	memset(slot(ring, ring->entries - 1), 0xff, ring->stride);
	weft_ring_destroy(ring);
}

static void destroy_of_nothing(struct kunit *test)
{
	weft_ring_destroy(NULL);
}

static void get_from_empty(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);
	u64 value;

	KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), 0);
	KUNIT_EXPECT_FALSE(test, get(ring, row->completion, &value));
	put_all(test, ring, row->completion, 1, 1);
	get_all(test, ring, row->completion, 1, 1);
	KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), 0);
	KUNIT_EXPECT_FALSE(test, get(ring, row->completion, &value));
}

static void put_into_full(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);

	put_all(test, ring, row->completion, 100, RING_ENTRIES);
	KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), RING_ENTRIES);
	KUNIT_EXPECT_FALSE(test, put(ring, row->completion, 999));
	get_all(test, ring, row->completion, 100, 1);
	KUNIT_EXPECT_TRUE(test, put(ring, row->completion, 100 + RING_ENTRIES));
	KUNIT_EXPECT_FALSE(test, put(ring, row->completion, 999));
	get_all(test, ring, row->completion, 101, RING_ENTRIES);
	KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), 0);
}

static void put_get_in_order(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);
	u32 i;

	put_all(test, ring, row->completion, 0, 3);
	for (i = 0; i < 5 * RING_ENTRIES; i++) {
		put_all(test, ring, row->completion, i + 3, 1);
		KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), 4);
		get_all(test, ring, row->completion, i, 1);
	}
	get_all(test, ring, row->completion, i, 3);
}

static void put_into_slot_of_index(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);
	u32 i;

	for (i = 0; i < 2 * RING_ENTRIES; i++) {
		put_all(test, ring, row->completion, 1000 + i, 1);
		KUNIT_EXPECT_EQ(test, *slot(ring, row->start + i), 1000 + i);
		KUNIT_EXPECT_EQ(test, header(ring)->producer, row->start + i + 1);
		KUNIT_EXPECT_EQ(test, header(ring)->consumer, row->start + i);
		get_all(test, ring, row->completion, 1000 + i, 1);
		KUNIT_EXPECT_EQ(test, header(ring)->consumer, row->start + i + 1);
	}
}

/* A ring with one entry is either empty or full. */
static void put_get_single_slot(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_new(test, 1);
	u32 i;

	ring_start(ring, row->start);
	for (i = 0; i < 8; i++) {
		put_all(test, ring, row->completion, i, 1);
		KUNIT_EXPECT_FALSE(test, put(ring, row->completion, 999));
		get_all(test, ring, row->completion, i, 1);
	}
}

static void reset_empties(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);

	put_all(test, ring, row->completion, 0, RING_ENTRIES);
	weft_ring_reset(ring);
	KUNIT_EXPECT_EQ(test, outstanding(ring, row->completion), 0);
	KUNIT_EXPECT_EQ(test, header(ring)->producer, 0);
	KUNIT_EXPECT_EQ(test, header(ring)->consumer, 0);
	put_all(test, ring, row->completion, 50, RING_ENTRIES);
	get_all(test, ring, row->completion, 50, RING_ENTRIES);
}

/* Indexes of a hostile client, relative to the device's index. */
struct ring_index_row {
	const char	*name;
	u32		offset;
	int		pending;
	bool		room;
};

static const struct ring_index_row ring_index_rows[] = {
	{ "same", 0, 0, true },
	{ "one ahead", 1, 1, false },
	{ "a ring ahead", RING_ENTRIES, RING_ENTRIES, false },
	{ "one more ahead", RING_ENTRIES + 1, -EPROTO, false },
	{ "two rings ahead", 2 * RING_ENTRIES, -EPROTO, false },
	{ "far ahead", 0x7fffffff, -EPROTO, false },
	{ "half the circle", 0x80000000, -EPROTO, false },
	{ "far behind", 0x80000001, -EPROTO, false },
	{ "two rings behind", -2 * RING_ENTRIES, -EPROTO, false },
	{ "one more behind", -RING_ENTRIES - 1, -EPROTO, false },
	{ "a ring behind", -RING_ENTRIES, -EPROTO, false },
	{ "less than a ring behind", -RING_ENTRIES + 1, -EPROTO, true },
	{ "one behind", -1U, -EPROTO, true },
};

static void ring_index_row_desc(const struct ring_index_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ring_index_row, ring_index_rows, ring_index_row_desc);

static const u32 ring_starts[] = { 0, 5, 0x7ffffffd, 0x80000000, 0xfffffffd };

static void pending_with_producer(struct kunit *test)
{
	const struct ring_index_row *row = test->param_value;
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);
	int i;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		ring_start(ring, ring_starts[i]);
		header(ring)->producer = ring_starts[i] + row->offset;
		KUNIT_EXPECT_EQ(test, weft_ring_pending(ring), row->pending);
		KUNIT_EXPECT_EQ(test, ring->device, ring_starts[i]);
		KUNIT_EXPECT_EQ(test, header(ring)->consumer, ring_starts[i]);
	}
}

static void push_with_consumer(struct kunit *test)
{
	const struct ring_index_row *row = test->param_value;
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);
	u32 start, end;
	int i;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		start = ring_starts[i];
		end = row->room ? start + 1 : start;
		ring_start(ring, start);
		memset(slot(ring, 0), 0, RING_ENTRIES * ring->stride);
		header(ring)->consumer = start + row->offset;
		KUNIT_EXPECT_EQ(test, cq_put(ring, 77), row->room);
		KUNIT_EXPECT_EQ(test, ring->device, end);
		KUNIT_EXPECT_EQ(test, header(ring)->producer, end);
		KUNIT_EXPECT_EQ(test, *slot(ring, start), row->room ? 77 : 0);
		*slot(ring, start) = 0;
		KUNIT_EXPECT_EQ(test, header(ring)->consumer, start + row->offset);
	}
}

/* The device publishes its private index, and ignores the contents of the header. */
static void release_ignores_header(struct kunit *test)
{
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);

	put_all(test, ring, false, 10, 4);
	header(ring)->consumer = 0x12345678;
	get_all(test, ring, false, 10, 1);
	KUNIT_EXPECT_EQ(test, header(ring)->consumer, 1);
	header(ring)->consumer = 0;
	get_all(test, ring, false, 11, 3);
	KUNIT_EXPECT_EQ(test, header(ring)->consumer, 4);
}

static void push_ignores_header(struct kunit *test)
{
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);

	put_all(test, ring, true, 10, 2);
	header(ring)->producer = 0x12345678;
	put_all(test, ring, true, 12, 2);
	KUNIT_EXPECT_EQ(test, header(ring)->producer, 4);
	get_all(test, ring, true, 10, 4);
}

static void set_flags_sets_and_clears(struct kunit *test)
{
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);
	u32 *flags = &header(ring)->flags;

	weft_ring_set_flags(ring, WEFT_RING_NEED_DOORBELL, 0);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_NEED_DOORBELL);
	weft_ring_set_flags(ring, WEFT_RING_OVERRUN, 0);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_NEED_DOORBELL | WEFT_RING_OVERRUN);
	weft_ring_set_flags(ring, 0, WEFT_RING_NEED_DOORBELL);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_OVERRUN);
	weft_ring_set_flags(ring, 0, WEFT_RING_NEED_DOORBELL);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_OVERRUN);
	weft_ring_set_flags(ring, WEFT_RING_DEAD, WEFT_RING_OVERRUN);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_DEAD);
	weft_ring_arm_doorbell(ring);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_DEAD | WEFT_RING_NEED_DOORBELL);
	weft_ring_reset(ring);
	KUNIT_EXPECT_EQ(test, *flags, WEFT_RING_DEAD | WEFT_RING_NEED_DOORBELL);
}

/* The completions that raise the requested event (IBA 11.4.2.2). */
struct ring_arm_row {
	const char	*name;
	u32		arm;
	bool		solicited;
	bool		raised;
	u32		left;
};

static const struct ring_arm_row ring_arm_rows[] = {
	{ "none", WEFT_ARM_NONE, false, false, WEFT_ARM_NONE },
	{ "none, solicited", WEFT_ARM_NONE, true, false, WEFT_ARM_NONE },
	{ "solicited only", WEFT_ARM_SOLICITED, false, false, WEFT_ARM_SOLICITED },
	{ "solicited only, solicited", WEFT_ARM_SOLICITED, true, true, WEFT_ARM_NONE },
	{ "any", WEFT_ARM_ANY, false, true, WEFT_ARM_NONE },
	{ "any, solicited", WEFT_ARM_ANY, true, true, WEFT_ARM_NONE },
	{ "nonsense", 3, false, true, WEFT_ARM_NONE },
	{ "nonsense, solicited", 0xffffffff, true, true, WEFT_ARM_NONE },
};

static void ring_arm_row_desc(const struct ring_arm_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ring_arm_row, ring_arm_rows, ring_arm_row_desc);

static void disarm_row(struct kunit *test)
{
	const struct ring_arm_row *row = test->param_value;
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);

	header(ring)->arm = row->arm;
	KUNIT_EXPECT_EQ(test, weft_ring_disarm(ring, row->solicited), row->raised);
	KUNIT_EXPECT_EQ(test, header(ring)->arm, row->left);
	/* a request raises at most one event */
	KUNIT_EXPECT_FALSE(test, weft_ring_disarm(ring, row->solicited));
	KUNIT_EXPECT_EQ(test, header(ring)->arm, row->left);
}

static void arm_again(struct kunit *test)
{
	struct weft_ring *ring = ring_new(test, RING_ENTRIES);
	u32 *arm = &header(ring)->arm;

	weft_ring_arm(ring, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_EQ(test, *arm, WEFT_ARM_SOLICITED);
	weft_ring_arm(ring, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_EQ(test, *arm, WEFT_ARM_SOLICITED);
	weft_ring_arm(ring, WEFT_ARM_ANY);
	KUNIT_EXPECT_EQ(test, *arm, WEFT_ARM_ANY);
	weft_ring_arm(ring, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_EQ(test, *arm, WEFT_ARM_ANY);
	KUNIT_EXPECT_TRUE(test, weft_ring_disarm(ring, false));
	weft_ring_arm(ring, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_EQ(test, *arm, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_FALSE(test, weft_ring_disarm(ring, false));
	KUNIT_EXPECT_TRUE(test, weft_ring_disarm(ring, true));
}

/* Both sides continue in the new ring where they were in the old one. */
static void carry_over_num(struct kunit *test, u32 entries, u32 num)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, entries);
	bool completion = row->completion;

	/* the first entry is not in the first slot */
	put_all(test, from, completion, 0, 2);
	get_all(test, from, completion, 0, 2);
	put_all(test, from, completion, 2, num);
	weft_ring_set_flags(from, WEFT_RING_NEED_DOORBELL | WEFT_RING_OVERRUN, 0);
	weft_ring_arm(from, WEFT_ARM_SOLICITED);

	KUNIT_ASSERT_EQ(test, weft_ring_carry_over(to, from, completion), 0);
	KUNIT_EXPECT_EQ(test, header(to)->consumer, row->start + 2);
	KUNIT_EXPECT_EQ(test, header(to)->producer, row->start + 2 + num);
	KUNIT_EXPECT_EQ(test, header(to)->arm, WEFT_ARM_SOLICITED);
	KUNIT_EXPECT_EQ(test, header(to)->flags,
			WEFT_RING_NEED_DOORBELL | WEFT_RING_OVERRUN);
	KUNIT_EXPECT_EQ(test, outstanding(to, completion), num);
	put_all(test, to, completion, 2 + num, entries - num);
	KUNIT_EXPECT_FALSE(test, put(to, completion, 999));
	get_all(test, to, completion, 2, entries);
	KUNIT_EXPECT_EQ(test, outstanding(to, completion), 0);
	ring_drop(test, to);
	ring_drop(test, from);
}

static void carry_over_goes_on(struct kunit *test)
{
	u32 entries, num;

	for (entries = 2; entries <= 4 * RING_ENTRIES; entries *= 4)
		for (num = 0; num <= min(entries, RING_ENTRIES); num++)
			carry_over_num(test, entries, num);
}

static bool ring_untouched(const struct weft_ring *ring)
{
	return !memchr_inv(header(ring), 0, ring->pages->size) && !ring->device && !ring->client;
}

static void carry_over_too_much(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, RING_ENTRIES / 2);

	put_all(test, from, row->completion, 0, RING_ENTRIES / 2 + 1);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_over(to, from, row->completion), -EINVAL);
	KUNIT_EXPECT_TRUE(test, ring_untouched(to));
	/* the old ring still works */
	get_all(test, from, row->completion, 0, 1);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_over(to, from, row->completion), 0);
	get_all(test, to, row->completion, 1, RING_ENTRIES / 2);
}

/* The device's private index counts, not the one in the header. */
static void carry_over_ignores_own_header(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, 2 * RING_ENTRIES);

	put_all(test, from, row->completion, 0, 5);
	get_all(test, from, row->completion, 0, 2);
	if (row->completion)
		header(from)->producer = row->start + 3;
	else
		header(from)->consumer = row->start + 3;
	KUNIT_EXPECT_EQ(test, weft_ring_carry_over(to, from, row->completion), 0);
	KUNIT_EXPECT_EQ(test, header(to)->producer, row->start + 5);
	KUNIT_EXPECT_EQ(test, header(to)->consumer, row->start + 2);
	get_all(test, to, row->completion, 2, 3);
}

/* Entries that were copied ahead are not copied again, and later ones are copied. */
static void carry_ahead_then_rest(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, 2 * RING_ENTRIES);
	bool completion = row->completion;
	u32 copied;

	put_all(test, from, completion, 0, 5);
	get_all(test, from, completion, 0, 2);
	copied = weft_ring_carry_ahead(to, from, true);
	KUNIT_EXPECT_EQ(test, copied, row->start + 5);
	*slot(from, row->start + 4) = 999;
	put_all(test, from, completion, 5, 4);
	get_all(test, from, completion, 2, 1);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, completion, copied), 0);
	KUNIT_EXPECT_EQ(test, outstanding(to, completion), 6);
	get_all(test, to, completion, 3, 6);
}

/* All entries that were copied ahead are consumed before the rest is copied. */
static void carry_ahead_for_nothing(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, RING_ENTRIES);
	bool completion = row->completion;
	u32 copied;

	put_all(test, from, completion, 0, 5);
	copied = weft_ring_carry_ahead(to, from, true);
	get_all(test, from, completion, 0, 5);
	put_all(test, from, completion, 5, 8);
	get_all(test, from, completion, 5, 2);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, completion, copied), 0);
	get_all(test, to, completion, 7, 6);
}

/* Copying ahead stops if the indexes are too far apart for the new ring. */
static void carry_ahead_too_much(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *from = ring_for_row(test);
	struct weft_ring *to = ring_new(test, RING_ENTRIES / 2);
	u32 copied;

	put_all(test, from, row->completion, 0, RING_ENTRIES / 2 + 1);
	copied = weft_ring_carry_ahead(to, from, true);
	KUNIT_EXPECT_TRUE(test, ring_untouched(to));
	/* now the entries fit */
	get_all(test, from, row->completion, 0, 1);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, row->completion, copied), 0);
	get_all(test, to, row->completion, 1, RING_ENTRIES / 2);
}

/* A large ring full of completions, but its client makes both indexes claim that it is empty. */
static void carry_hidden(struct kunit *test, u32 index)
{
	struct weft_ring *from = ring_new(test, RING_LARGE);
	struct weft_ring *to = ring_new(test, RING_LARGE);
	u32 copied;

	ring_start(from, 0xfffffffd);
	put_all(test, from, true, 0, RING_LARGE);
	header(from)->producer = index;
	header(from)->consumer = index;
	copied = weft_ring_carry_ahead(to, from, true);
	/* now that nothing has been copied ahead, the client claims all completions */
	header(from)->consumer = 0xfffffffd;
	KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, true, copied), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, ring_untouched(to));
	/* for an honest client the entries are copied ahead, without the lock */
	header(from)->producer = from->device;
	copied = weft_ring_carry_ahead(to, from, true);
	KUNIT_EXPECT_EQ(test, copied, from->device);
	KUNIT_EXPECT_EQ(test, weft_ring_carry_rest(to, from, true, copied), 0);
	get_all(test, to, true, 0, RING_LARGE);
}

/* A process cannot make the kernel copy many entries with a lock held. */
static void carry_rest_is_short(struct kunit *test)
{
	/* the index of the first completion, of one in the middle, and one behind the last */
	carry_hidden(test, 0xfffffffd);
	carry_hidden(test, 5);
	carry_hidden(test, 0xfffffffd + RING_LARGE + 5);
}

/* An index that is impossible in the old ring is refused, even if the new ring is larger. */
static void carry_over_with_producer(struct kunit *test)
{
	const struct ring_index_row *row = test->param_value;
	bool possible = row->pending >= 0;
	struct weft_ring *from, *to;
	int i;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		from = ring_new(test, RING_ENTRIES);
		to = ring_new(test, 4 * RING_ENTRIES);
		ring_start(from, ring_starts[i]);
		header(from)->producer = ring_starts[i] + row->offset;
		KUNIT_EXPECT_EQ(test, weft_ring_carry_over(to, from, false),
				possible ? 0 : -EINVAL);
		if (possible)
			KUNIT_EXPECT_EQ(test, weft_ring_pending(to), row->pending);
		else
			KUNIT_EXPECT_TRUE(test, ring_untouched(to));
	}
}

static void carry_over_with_consumer(struct kunit *test)
{
	const struct ring_index_row *row = test->param_value;
	/* up to a whole ring in use, inclusive */
	bool possible = -row->offset <= RING_ENTRIES;
	struct weft_ring *from, *to;
	int i;

	for (i = 0; i < ARRAY_SIZE(ring_starts); i++) {
		from = ring_new(test, RING_ENTRIES);
		to = ring_new(test, 4 * RING_ENTRIES);
		ring_start(from, ring_starts[i]);
		header(from)->consumer = ring_starts[i] + row->offset;
		KUNIT_EXPECT_EQ(test, weft_ring_carry_over(to, from, true),
				possible ? 0 : -EINVAL);
		if (possible)
			KUNIT_EXPECT_EQ(test, header(to)->consumer,
					ring_starts[i] + row->offset);
		else
			KUNIT_EXPECT_TRUE(test, ring_untouched(to));
	}
}

/* A simple queue, to compare the ring with. */
struct ring_oracle {
	u64	value[RING_MAX];	/* oldest first */
	u32	num;
	u64	next;			/* the next value to be put */
};

static void random_put(struct kunit *test, struct weft_ring *ring,
		       struct ring_oracle *oracle)
{
	const struct ring_row *row = test->param_value;
	bool room = oracle->num < ring->entries;

	KUNIT_ASSERT_EQ(test, put(ring, row->completion, oracle->next), room);
	if (room)
		oracle->value[oracle->num++] = oracle->next;
	oracle->next++;
}

static void random_get(struct kunit *test, struct weft_ring *ring,
		       struct ring_oracle *oracle)
{
	const struct ring_row *row = test->param_value;
	u64 value;

	KUNIT_ASSERT_EQ(test, get(ring, row->completion, &value), oracle->num != 0);
	if (!oracle->num)
		return;
	KUNIT_ASSERT_EQ(test, value, oracle->value[0]);
	oracle->num--;
	memmove(oracle->value, oracle->value + 1, oracle->num * sizeof(u64));
}

static struct weft_ring *random_resize(struct kunit *test, struct weft_ring *from,
				       struct ring_oracle *oracle, u32 entries)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *to = ring_new(test, entries);
	bool fits = oracle->num <= to->entries;

	KUNIT_ASSERT_EQ(test, weft_ring_carry_over(to, from, row->completion),
			fits ? 0 : -EINVAL);
	ring_drop(test, fits ? from : to);
	return fits ? to : from;
}

/* A wrong index is refused, and has no effect after it has been corrected. */
static void random_hostile(struct kunit *test, struct weft_ring *ring, u32 junk)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring_hdr *hdr = header(ring);
	u32 *index = row->completion ? &hdr->consumer : &hdr->producer;
	u32 honest = *index;

	*index = row->completion ? ring->device + 1 + junk % 0xffff0000 :
	       ring->device + ring->entries + 1 + junk % 0xffff0000;
	if (row->completion)
		KUNIT_ASSERT_FALSE(test, cq_put(ring, 999));
	else
		KUNIT_ASSERT_EQ(test, weft_ring_pending(ring), -EPROTO);
	*index = honest;
}

static void random_operations(struct kunit *test)
{
	const struct ring_row *row = test->param_value;
	struct weft_ring *ring = ring_for_row(test);
	struct ring_oracle *oracle;
	struct rnd_state rnd;
	u32 random;
	int i;

	oracle = kunit_kzalloc(test, sizeof(*oracle), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, oracle);
	kunit_info(test, "seed %#x", RING_SEED);
	prandom_seed_state(&rnd, RING_SEED);
	for (i = 0; i < RING_ROUNDS; i++) {
		random = prandom_u32_state(&rnd);
		/* alternately more puts than gets, and more gets than puts */
		if (random % 64 == 0)
			ring = random_resize(test, ring, oracle,
					     random / 64 % RING_MAX + 1);
		else if (random % 64 == 1)
			random_hostile(test, ring, prandom_u32_state(&rnd));
		else if (random % 8 < (i & 512 ? 5 : 3))
			random_put(test, ring, oracle);
		else
			random_get(test, ring, oracle);
		KUNIT_ASSERT_EQ(test, outstanding(ring, row->completion), oracle->num);
	}
	KUNIT_EXPECT_EQ(test, row->completion ? ring->device : ring->client,
			header(ring)->producer);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(create_sizes, ring_size_row_gen_params),
	KUNIT_CASE(destroy_of_nothing),
	KUNIT_CASE_PARAM(get_from_empty, ring_row_gen_params),
	KUNIT_CASE_PARAM(put_into_full, ring_row_gen_params),
	KUNIT_CASE_PARAM(put_get_in_order, ring_row_gen_params),
	KUNIT_CASE_PARAM(put_into_slot_of_index, ring_row_gen_params),
	KUNIT_CASE_PARAM(put_get_single_slot, ring_row_gen_params),
	KUNIT_CASE_PARAM(reset_empties, ring_row_gen_params),
	KUNIT_CASE_PARAM(pending_with_producer, ring_index_row_gen_params),
	KUNIT_CASE_PARAM(push_with_consumer, ring_index_row_gen_params),
	KUNIT_CASE(release_ignores_header),
	KUNIT_CASE(push_ignores_header),
	KUNIT_CASE(set_flags_sets_and_clears),
	KUNIT_CASE_PARAM(disarm_row, ring_arm_row_gen_params),
	KUNIT_CASE(arm_again),
	KUNIT_CASE_PARAM(carry_over_goes_on, ring_row_gen_params),
	KUNIT_CASE_PARAM(carry_over_too_much, ring_row_gen_params),
	KUNIT_CASE_PARAM(carry_over_ignores_own_header, ring_row_gen_params),
	KUNIT_CASE_PARAM(carry_ahead_then_rest, ring_row_gen_params),
	KUNIT_CASE_PARAM(carry_ahead_for_nothing, ring_row_gen_params),
	KUNIT_CASE_PARAM(carry_ahead_too_much, ring_row_gen_params),
	KUNIT_CASE(carry_rest_is_short),
	KUNIT_CASE_PARAM(carry_over_with_producer, ring_index_row_gen_params),
	KUNIT_CASE_PARAM(carry_over_with_consumer, ring_index_row_gen_params),
	KUNIT_CASE_PARAM(random_operations, ring_row_gen_params),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "weft_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
