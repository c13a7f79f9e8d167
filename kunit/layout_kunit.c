// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Layouts of mkeys: where each byte is, compared with a naive model that writes all of them down
 * one after the other; ranges of mkeys; and requests that are refused. signature_kunit.c has the
 * signatures, userspace/tests/mkeys.c the verbs.
 */
#include "mem/copy.h"
#include "mem/layout.h"
#include "mem/region.h"
#include "object/mkey.h"

#include <linux/prandom.h>
#include <linux/slab.h>

#include <kunit/test.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#define SEED		20261130
#define ROUNDS		300
#define RANGES		20
#define IOVA		0x7003ULL
#define BLOCK_SHIFT	8
#define BLOCK		(1U << BLOCK_SHIFT)
#define BLOCKS		6
#define MEMORY		(BLOCKS * BLOCK)
#define PIECES		8
#define MAX_PARTS	8
#define MAX_PASSES	6
#define MAX_BYTES	(MAX_PARTS * MEMORY)
#define LEAVES		4

/* A region with memory of its own, which it shares with another leaf. */
struct leaf {
	struct weft_region	*region;
	void			*blocks[BLOCKS];
	struct weft_piece	pieces[PIECES];
	u8			*bytes[MEMORY];	/* the address of each of its bytes */
	u32			num;		/* of them */
};

struct fixture {
	struct rnd_state	random;		/* with a constant seed */
	struct weft_region_table table;
	struct weft_accessor	who;
	int			pd, other_pd;	/* only their addresses are used */
	u8			*pool;		/* the memory of all leaves, 2 * MEMORY bytes */
	u8			*shadow;	/* what @pool should have */
	u8			*data;		/* MAX_BYTES */
	u8			**model;	/* the address of each byte of a layout */
	u32			num;		/* of them */
	struct leaf		leaves[LEAVES];
	struct weft_sge		sge[2 * MAX_PARTS];
	struct weft_layout_request request;	/* with @sge */
};

static u32 below(struct fixture *fixture, u32 end)
{
	return prandom_u32_state(&fixture->random) % end;
}

static void *memory_alloc(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

/* A permutation of the numbers below @num. */
static void shuffle(struct fixture *fixture, u32 *order, u32 num)
{
	u32 i, other;

	for (i = 0; i < num; i++) {
		other = below(fixture, i + 1);
		order[i] = order[other];
		order[other] = i;
	}
}

/* The region begins and ends within a block. */
static void make_blocks(struct fixture *fixture, struct leaf *leaf, u8 *memory)
{
	u32 head = below(fixture, BLOCK), tail = below(fixture, BLOCK), order[BLOCKS], i, j;

	shuffle(fixture, order, BLOCKS);
	for (i = 0; i < BLOCKS; i++) {
		leaf->blocks[i] = memory + order[i] * BLOCK;
		for (j = i ? 0 : head; j < (i == BLOCKS - 1 ? BLOCK - tail : BLOCK); j++)
			leaf->bytes[leaf->num++] = leaf->blocks[i] + j;
	}
	leaf->region->base = IOVA - head;
	leaf->region->blocks = leaf->blocks;
	leaf->region->page_shift = BLOCK_SHIFT;
}

/* There is a gap behind each piece. */
static void make_pieces(struct fixture *fixture, struct leaf *leaf, u8 *memory)
{
	u32 room = MEMORY / PIECES, order[PIECES], size, i, j;

	shuffle(fixture, order, PIECES);
	for (i = 0; i < PIECES; i++) {
		size = 1 + below(fixture, room - 1);
		leaf->pieces[i].start = leaf->num;
		leaf->pieces[i].addr = memory + order[i] * room + below(fixture, room - size);
		for (j = 0; j < size; j++)
			leaf->bytes[leaf->num++] = leaf->pieces[i].addr + j;
	}
	leaf->region->pieces = leaf->pieces;
	leaf->region->num_pieces = PIECES;
}

static void make_leaf(struct kunit *test, u32 index)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[index];
	u8 *memory = fixture->pool + index % 2 * MEMORY;
	struct weft_region *region = weft_region_alloc(&fixture->table, GFP_KERNEL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	leaf->region = region;
	region->pd = &fixture->pd;
	region->iova = IOVA;
	region->access = IB_ACCESS_LOCAL_WRITE;
	if (index < LEAVES / 2)
		make_blocks(fixture, leaf, memory);
	else
		make_pieces(fixture, leaf, memory);
	region->length = leaf->num;
	weft_region_publish(region);
}

static int layout_init(struct kunit *test)
{
	struct fixture *fixture = memory_alloc(test, sizeof(*fixture));
	u32 i;

	kunit_info(test, "seed %d\n", SEED);
	prandom_seed_state(&fixture->random, SEED);
	fixture->pool = memory_alloc(test, 2 * MEMORY);
	fixture->shadow = memory_alloc(test, 2 * MEMORY);
	fixture->data = memory_alloc(test, MAX_BYTES);
	fixture->model = memory_alloc(test, MAX_BYTES * sizeof(*fixture->model));
	fixture->request.sge = fixture->sge;
	weft_region_table_init(&fixture->table);
	fixture->who = (struct weft_accessor){ .table = &fixture->table, .pd = &fixture->pd };
	test->priv = fixture;
	for (i = 0; i < LEAVES; i++)
		make_leaf(test, i);
	return 0;
}

static void layout_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 i;

	for (i = 0; fixture && i < LEAVES; i++)
		if (fixture->leaves[i].region)
			weft_region_kill(fixture->leaves[i].region);
	if (fixture)
		weft_region_table_destroy(&fixture->table);
}

/* Nobody has a leaf any more: neither a layout that was refused, nor one that is gone. */
static void expect_free(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 i;

	for (i = 0; i < LEAVES; i++) {
		if (!fixture->leaves[i].region)
			continue;
		KUNIT_EXPECT_TRUE(test, hlist_empty(&fixture->leaves[i].region->parts));
		KUNIT_EXPECT_EQ(test, 1, refcount_read(&fixture->leaves[i].region->refs));
	}
}

/*
 * ---- The model ----
 */

/* Draw a part that lies within its leaf, often at one of the ends. */
static void draw_part(struct fixture *fixture, struct weft_sge *sge)
{
	struct weft_layout_request *request = &fixture->request;
	struct leaf *leaf = &fixture->leaves[below(fixture, LEAVES)];
	u32 skip = request->interleaved ? below(fixture, 60) : 0, extent, room;

	sge->length = 1 + below(fixture, 200);
	extent = (sge->length + skip) * (request->passes - 1) + sge->length;
	if (extent > leaf->num) {
		sge->length = 1;
		skip = 0;
		extent = request->passes;
	}
	room = leaf->num - extent;
	sge->lkey = leaf->region->key;
	sge->addr = IOVA + (below(fixture, 2) ? below(fixture, room + 1) :
						below(fixture, 2) * room);
	if (request->interleaved)
		sge[1] = (struct weft_sge){ .addr = skip };
}

static void draw_request(struct fixture *fixture)
{
	struct weft_layout_request *request = &fixture->request;
	u32 parts = 1 + below(fixture, MAX_PARTS), i;

	request->interleaved = below(fixture, 2);
	request->passes = 1 + below(fixture, below(fixture, 2) ? MAX_PASSES : 1);
	request->access = IB_ACCESS_LOCAL_WRITE;
	request->num_sge = request->interleaved ? 2 * parts : parts;
	for (i = 0; i < request->num_sge; i += request->num_sge / parts)
		draw_part(fixture, &fixture->sge[i]);
}

static struct leaf *model_leaf(struct fixture *fixture, u32 key)
{
	struct leaf *leaf = fixture->leaves;

	while (!leaf->region || leaf->region->key != key)
		leaf++;
	return leaf;
}

/* Write down the address of each byte of the request. */
static void model_make(struct fixture *fixture)
{
	const struct weft_layout_request *request = &fixture->request;
	const struct weft_sge *sge;
	struct leaf *leaf;
	u32 pass, i, at;

	fixture->num = 0;
	for (pass = 0; pass < request->passes; pass++) {
		for (i = 0; i < request->num_sge; i += request->interleaved ? 2 : 1) {
			sge = &request->sge[i];
			leaf = model_leaf(fixture, sge->lkey);
			at = sge->addr - IOVA + pass * sge->length;
			if (request->interleaved)
				at += pass * sge[1].addr;
			memcpy(fixture->model + fixture->num, leaf->bytes + at,
			       sge->length * sizeof(*leaf->bytes));
			fixture->num += sge->length;
		}
	}
}

/* Are the @contiguous bytes from @at on those of the model? */
static bool model_has(struct fixture *fixture, u32 offset, u8 *at, u64 contiguous)
{
	u64 i;

	if (!contiguous || contiguous > fixture->num - offset)
		return false;
	for (i = 0; i < contiguous; i++)
		if (fixture->model[offset + i] != at + i)
			return false;
	return true;
}

static void each_byte(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_layout *layout;
	u64 contiguous = 0;
	u32 i, offset;
	void *at;

	for (i = 0; i < ROUNDS && !test->status; i++) {
		draw_request(fixture);
		model_make(fixture);
		layout = weft_layout_create(&fixture->who, &fixture->request, MAX_PARTS,
					    GFP_KERNEL);
		KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(layout), "round %u", i);
		KUNIT_EXPECT_EQ_MSG(test, (u64)fixture->num, layout->length, "round %u", i);
		for (offset = 0; offset < fixture->num; offset++) {
			at = weft_layout_at(layout, offset, &contiguous);
			if (!model_has(fixture, offset, at, contiguous))
				break;
		}
		KUNIT_EXPECT_EQ_MSG(test, fixture->num, offset, "round %u, %llu bytes", i,
				    contiguous);
		weft_layout_free(layout);
	}
	expect_free(test);
}

/*
 * ---- Mkeys ----
 */

static struct weft_region *make_mkey(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_region *mkey = weft_region_alloc(&fixture->table, GFP_KERNEL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(mkey));
	weft_mkey_init(mkey, MAX_PARTS);
	mkey->pd = &fixture->pd;
	weft_region_publish(mkey);
	return mkey;
}

static void end_mkey(struct kunit *test, u32 key)
{
	struct fixture *fixture = test->priv;
	struct weft_region *mkey = weft_region_withdraw(&fixture->table, key);

	KUNIT_EXPECT_NOT_NULL(test, mkey);
	if (mkey)
		weft_region_retire(mkey);
	expect_free(test);
}

static int configure(struct fixture *fixture, u32 key)
{
	return weft_mkey_configure(&fixture->who, key, &fixture->request, NULL, GFP_KERNEL);
}

static int try_access(struct fixture *fixture, u32 key, u64 addr, u64 length, u32 access)
{
	struct weft_span span;
	int err = weft_region_resolve(&fixture->who, key, addr, length, access, &span);

	if (!err)
		weft_region_put(span.region);
	return err;
}

/* Copy between a part of an mkey and @data, in pieces of any length. */
static void copy_range(struct fixture *fixture, const struct weft_span *span, bool write)
{
	struct weft_span plain = { .addr = (uintptr_t)fixture->data, .length = span->length };
	struct weft_iter memory, data;
	u64 left, piece;

	weft_span_iter(span, &memory);
	weft_span_iter(&plain, &data);
	for (left = span->length; left; left -= piece) {
		piece = 1 + below(fixture, left);
		if (write)
			weft_copy(&memory, &data, piece);
		else
			weft_copy(&data, &memory, piece);
	}
}

/* Parts may overlap; a copy ascends, so the last one of them counts. */
static void check_write(struct kunit *test, const struct weft_span *span)
{
	struct fixture *fixture = test->priv;
	u64 i;

	prandom_bytes_state(&fixture->random, fixture->data, span->length);
	for (i = 0; i < span->length; i++)
		fixture->shadow[fixture->model[span->addr + i] - fixture->pool] = fixture->data[i];
	copy_range(fixture, span, true);
	KUNIT_EXPECT_EQ(test, 0, memcmp(fixture->shadow, fixture->pool, 2 * MEMORY));
}

static void check_read(struct kunit *test, const struct weft_span *span)
{
	struct fixture *fixture = test->priv;
	u64 i;

	memset(fixture->data, 0, span->length);
	copy_range(fixture, span, false);
	for (i = 0; i < span->length; i++)
		if (fixture->data[i] != *fixture->model[span->addr + i])
			break;
	KUNIT_EXPECT_EQ(test, span->length, i);
	KUNIT_EXPECT_EQ(test, 0, memcmp(fixture->shadow, fixture->pool, 2 * MEMORY));
}

static void check_range(struct kunit *test, u32 key, u64 addr, u64 length)
{
	struct fixture *fixture = test->priv;
	bool inside = addr < fixture->num && length <= fixture->num - addr;
	struct weft_span span;
	int err;

	err = weft_region_resolve(&fixture->who, key, addr, length, IB_ACCESS_LOCAL_WRITE, &span);
	KUNIT_EXPECT_EQ_MSG(test, inside ? 0 : -ERANGE, err, "%llu bytes at %llu of %u", length,
			    addr, fixture->num);
	if (err)
		return;
	if (inside) {
		check_write(test, &span);
		check_read(test, &span);
	}
	weft_region_put(span.region);
}

static void check_ranges(struct kunit *test, u32 key)
{
	struct fixture *fixture = test->priv;
	u32 num = fixture->num, i;

	check_range(test, key, 0, 1);
	check_range(test, key, num - 1, 1);
	check_range(test, key, 0, num);
	check_range(test, key, 0, num + 1);
	check_range(test, key, num, 1);
	check_range(test, key, num - 1, 2);
	check_range(test, key, U64_MAX, 1);
	check_range(test, key, U64_MAX, 2);
	check_range(test, key, 0, U64_MAX);
	check_range(test, key, num - 1, U64_MAX - num + 2);
	for (i = 0; i < RANGES; i++)
		check_range(test, key, below(fixture, num + 2), 1 + below(fixture, num + 2));
}

static void ranges_of_mkeys(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = make_mkey(test)->key, i;

	for (i = 0; i < ROUNDS && !test->status; i++) {
		draw_request(fixture);
		model_make(fixture);
		KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
		check_ranges(test, key);
	}
	end_mkey(test, key);
}

/* The request is one byte of a leaf, and its model has that byte. */
static void request_byte(struct fixture *fixture, struct leaf *leaf, u64 offset)
{
	fixture->sge[0] = (struct weft_sge){ IOVA + offset, 1, leaf->region->key };
	fixture->request = (struct weft_layout_request){
		.sge = fixture->sge, .num_sge = 1, .passes = 1,
	};
	model_make(fixture);
}

/* An access goes on with the layout that it found; only deregistration waits for it. */
static void access_keeps_its_layout(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *old = &fixture->leaves[0], *new = &fixture->leaves[3];
	u32 key = make_mkey(test)->key;
	struct weft_span span;
	u64 contiguous;

	request_byte(fixture, old, 5);
	KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
	KUNIT_EXPECT_FALSE(test, hlist_empty(&old->region->parts));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, key, 0, 1, 0, &span));
	request_byte(fixture, new, 0);
	KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
	KUNIT_EXPECT_PTR_EQ(test, (void *)old->bytes[5],
			    weft_region_at(&span, span.addr, &contiguous));
	KUNIT_EXPECT_TRUE(test, hlist_empty(&old->region->parts));
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&old->region->refs));
	KUNIT_EXPECT_FALSE(test, hlist_empty(&new->region->parts));
	weft_region_put(span.region);
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&old->region->refs));
	end_mkey(test, key);
}

/*
 * A region that ends takes the memory of all mkeys that it is a part of, but not of others. It
 * waits for accesses in progress.
 */
static void part_ends(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[0], *other = &fixture->leaves[3];
	struct weft_span span;
	u64 contiguous;
	u32 keys[3], i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		keys[i] = make_mkey(test)->key;
		request_byte(fixture, i < 2 ? leaf : other, 5);
		KUNIT_EXPECT_EQ(test, 0, configure(fixture, keys[i]));
	}
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, keys[1], 0, 1, 0, &span));
	KUNIT_ASSERT_TRUE(test, weft_region_seal(leaf->region));
	weft_mkey_part_ends(leaf->region);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		KUNIT_EXPECT_EQ(test, i < 2 ? -ERANGE : 0,
				try_access(fixture, keys[i], 0, 1, 0));
	request_byte(fixture, leaf, 5);
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, keys[0]));
	KUNIT_EXPECT_PTR_EQ(test, (void *)leaf->bytes[5],
			    weft_region_at(&span, span.addr, &contiguous));
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&leaf->region->refs));
	weft_region_put(span.region);
	weft_region_kill(leaf->region);
	leaf->region = NULL;
	/* the keys have other memory then */
	request_byte(fixture, other, 5);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		KUNIT_EXPECT_EQ(test, 0, configure(fixture, keys[i]));
		KUNIT_EXPECT_EQ(test, 0, try_access(fixture, keys[i], 0, 1, 0));
		KUNIT_EXPECT_EQ(test, 0, weft_mkey_invalidate(&fixture->who, keys[i], GFP_KERNEL));
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		end_mkey(test, keys[i]);
}

/* A region ends between the making of a layout and its publication: the mkey stays as it was. */
static void part_ends_first(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[0], *other = &fixture->leaves[3];
	u32 key = make_mkey(test)->key;
	struct weft_region *mkey, *new;

	request_byte(fixture, other, 0);
	KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
	mkey = weft_region_get(&fixture->table, key);
	KUNIT_ASSERT_NOT_NULL(test, mkey);
	new = weft_region_successor(mkey, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, new);
	weft_mkey_init(new, MAX_PARTS);
	fixture->sge[1] = (struct weft_sge){ IOVA, 1, leaf->region->key };
	fixture->request.num_sge = 2;
	new->layout = weft_layout_create(&fixture->who, &fixture->request, MAX_PARTS, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(new->layout));
	KUNIT_ASSERT_TRUE(test, weft_region_seal(leaf->region));
	weft_mkey_part_ends(leaf->region);
	KUNIT_EXPECT_FALSE(test, weft_region_replace(mkey, new));
	weft_region_retire(new);
	KUNIT_EXPECT_EQ(test, 0, try_access(fixture, key, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, 1, refcount_read(&leaf->region->refs));
	atomic_set(&leaf->region->bound, 0);
	KUNIT_EXPECT_EQ(test, 0, weft_mkey_invalidate(&fixture->who, key, GFP_KERNEL));
	weft_region_put(mkey);
	end_mkey(test, key);
}

static void invalidation_takes_the_memory(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[1];
	u32 key = make_mkey(test)->key, i;

	/* the second time there is nothing to take */
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, weft_mkey_invalidate(&fixture->who, key, GFP_KERNEL));
		KUNIT_EXPECT_EQ(test, -ERANGE, try_access(fixture, key, 0, 1, 0));
		KUNIT_EXPECT_EQ(test, -EACCES, try_access(fixture, key, 0, 1,
							  IB_ACCESS_LOCAL_WRITE));
		request_byte(fixture, leaf, 0);
		fixture->request.access = IB_ACCESS_LOCAL_WRITE;
		KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
		KUNIT_EXPECT_EQ(test, 0, try_access(fixture, key, 0, 1, IB_ACCESS_LOCAL_WRITE));
		KUNIT_EXPECT_EQ(test, 0, weft_mkey_invalidate(&fixture->who, key, GFP_KERNEL));
		expect_free(test);
	}
	KUNIT_EXPECT_EQ(test, -ENOENT, weft_mkey_invalidate(&fixture->who, key ^ 1, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -ENOENT, weft_mkey_invalidate(&fixture->who, leaf->region->key,
							    GFP_KERNEL));
	fixture->who.pd = &fixture->other_pd;
	KUNIT_EXPECT_EQ(test, -ENOENT, weft_mkey_invalidate(&fixture->who, key, GFP_KERNEL));
	end_mkey(test, key);
}

/* IBA 10.6.3.2, and the words of atomics, which might not be contiguous */
static const struct rights {
	u32	access;
	int	err;
} rights[] = {
	{ 0, 0 },
	{ IB_ACCESS_LOCAL_WRITE, 0 },
	{ IB_ACCESS_REMOTE_READ, 0 },
	{ IB_ACCESS_REMOTE_WRITE, -EACCES },
	{ IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, -EACCES },
	{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, 0 },
	{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC, -EINVAL },
	{ IB_ACCESS_MW_BIND, -EINVAL },
	{ IB_ZERO_BASED, -EINVAL },
	{ IB_ACCESS_ON_DEMAND, -EINVAL },
	{ 1U << 31, -EINVAL },
};

/* A key whose change is refused keeps the layout and the rights that it had. */
static void rights_of_mkeys(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[2];
	u32 key = make_mkey(test)->key, i, bit;
	bool granted;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		request_byte(fixture, leaf, 0);
		KUNIT_EXPECT_EQ(test, 0, configure(fixture, key));
		fixture->request.access = rights[i].access;
		KUNIT_EXPECT_EQ_MSG(test, rights[i].err, configure(fixture, key), "rights %#x",
				    rights[i].access);
		KUNIT_EXPECT_EQ(test, 0, try_access(fixture, key, 0, 1, 0));
		for (bit = 1; bit <= IB_ACCESS_REMOTE_ATOMIC; bit <<= 1) {
			granted = !rights[i].err && rights[i].access & bit;
			KUNIT_EXPECT_EQ_MSG(test, granted ? 0 : -EACCES,
					    try_access(fixture, key, 0, 1, bit), "rights %#x, %#x",
					    rights[i].access, bit);
		}
	}
	end_mkey(test, key);
}

static void keys_of_mkeys(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct leaf *leaf = &fixture->leaves[2];
	u32 key = make_mkey(test)->key;

	request_byte(fixture, leaf, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, key ^ 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, key + 256));
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, leaf->region->key));
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, WEFT_NULL_KEY));
	fixture->who.pd = &fixture->other_pd;
	KUNIT_EXPECT_EQ(test, -EINVAL, configure(fixture, key));
	end_mkey(test, key);
}

/*
 * ---- Requests that are refused ----
 */

/* How the leaf of a case differs from others. */
enum oddity {
	USUAL,
	OTHER_PD,
	ON_DEMAND,
	ALL_MEMORY,
	WINDOW,
	FASTREG,
	MKEY,
	SEALED,
	READ_ONLY,
	HUGE,		/* as long as an address space; nobody accesses it */
};

/* The key of the leaf of the case; any other number is used as it is. */
#define KEY	1
#define AT	IOVA
#define END	(IOVA + 100)

static const struct layout_case {
	const char	*name;
	struct weft_sge	sge[4];
	u32		num;
	u32		passes;
	bool		interleaved;
	u32		access;
	enum oddity	oddity;
	int		err;
	u64		length;		/* of the layout */
} layout_cases[] = {
	{ "first byte", { { AT, 1, KEY } }, 1, 1, .length = 1 },
	{ "last byte", { { END - 1, 1, KEY } }, 1, 1, .length = 1 },
	{ "all bytes, twice", { { AT, 100, KEY }, { AT, 100, KEY } }, 2, 1, .length = 200 },
	{ "as many as there may be", { { AT, 1, KEY }, { AT, 1, KEY }, { AT, 1, KEY } }, 3, 1,
	  .length = 3 },
	{ "skips do not count", { { AT, 1, KEY }, { 1 }, { AT, 1, KEY }, { 2 } }, 4, 2, true,
	  .length = 4 },
	{ "one more", { { AT, 1, KEY }, { AT, 1, KEY }, { AT, 1, KEY }, { AT, 1, KEY } }, 4, 1,
	  .err = -EINVAL },
	{ "no element", {}, 0, 1, .err = -EINVAL },
	{ "no element, interleaved", {}, 0, 1, true, .err = -EINVAL },
	{ "no pass", { { AT, 1, KEY } }, 1, 0, .err = -EINVAL },
	{ "no skip", { { AT, 1, KEY } }, 1, 1, true, .err = -EINVAL },
	{ "no second skip", { { AT, 1, KEY }, {}, { AT, 1, KEY } }, 3, 1, true, .err = -EINVAL },
	{ "no byte", { { AT, 0, KEY } }, 1, 1, .err = -EINVAL },
	{ "no byte, behind others", { { AT, 1, KEY }, { AT, 0, KEY } }, 2, 1, .err = -EINVAL },
	{ "skip with a length", { { AT, 1, KEY }, { 1, 1 } }, 2, 1, true, .err = -EINVAL },
	{ "skip with a key", { { AT, 1, KEY }, { 1, 0, KEY } }, 2, 1, true, .err = -EINVAL },
	{ "longest skip", { { AT, 1, KEY }, { U32_MAX } }, 2, 1, true, .length = 1 },
	{ "longer skip", { { AT, 1, KEY }, { 1ULL << 32 } }, 2, 1, true, .err = -EINVAL },
	{ "no key", { { AT, 1, 0 } }, 1, 1, .err = -EINVAL },
	{ "key of nothing", { { AT, 1, WEFT_NULL_KEY } }, 1, 1, .err = -EINVAL },
	{ "unknown key, behind others", { { AT, 1, KEY }, { AT, 1, U32_MAX } }, 2, 1,
	  .err = -EINVAL },
	{ "before the leaf", { { AT - 1, 1, KEY } }, 1, 1, .err = -ERANGE },
	{ "across its begin", { { AT - 1, 2, KEY } }, 1, 1, .err = -ERANGE },
	{ "across its end", { { END - 1, 2, KEY } }, 1, 1, .err = -ERANGE },
	{ "behind it", { { END, 1, KEY } }, 1, 1, .err = -ERANGE },
	{ "beyond all addresses", { { U64_MAX, 2, KEY } }, 1, 1, .err = -ERANGE },
	{ "passes up to its end", { { AT, 20, KEY } }, 1, 5, .length = 100 },
	{ "one pass more", { { AT, 20, KEY } }, 1, 6, .err = -ERANGE },
	{ "skips up to its end", { { AT + 1, 9, KEY }, { 36 } }, 2, 3, true, .length = 27 },
	{ "skip beyond it", { { AT + 2, 9, KEY }, { 36 } }, 2, 3, true, .err = -ERANGE },
	{ "no skip behind the last pass", { { AT, 100, KEY }, { 99 } }, 2, 1, true,
	  .length = 100 },
	{ "most passes", { { AT, 1, KEY }, { 1 } }, 2, U32_MAX, true, .err = -ERANGE },
	{ "other PD", { { AT, 1, KEY } }, 1, 1, .oddity = OTHER_PD, .err = -EINVAL },
	{ "on-demand paging", { { AT, 1, KEY } }, 1, 1, .oddity = ON_DEMAND, .err = -EINVAL },
	{ "all memory", { { AT, 1, KEY } }, 1, 1, .oddity = ALL_MEMORY, .err = -EINVAL },
	{ "window", { { AT, 1, KEY } }, 1, 1, .oddity = WINDOW, .err = -EINVAL },
	{ "fast registration", { { AT, 1, KEY } }, 1, 1, .oddity = FASTREG, .err = -EINVAL },
	{ "mkey of an mkey", { { AT, 1, KEY } }, 1, 1, .oddity = MKEY, .err = -EINVAL },
	{ "deregistered", { { AT, 1, KEY } }, 1, 1, .oddity = SEALED, .err = -EINVAL },
	{ "read-only", { { AT, 1, KEY } }, 1, 1, false, IB_ACCESS_REMOTE_READ, READ_ONLY,
	  .length = 1 },
	{ "write to read-only", { { AT, 1, KEY } }, 1, 1, false, IB_ACCESS_LOCAL_WRITE, READ_ONLY,
	  -EACCES },
	{ "remote write to read-only", { { AT, 1, KEY } }, 1, 1, false,
	  IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, READ_ONLY, -EACCES },
	/* the product of stride and passes: 2^33 * 2^32 */
	{ "product wraps", { { AT, U32_MAX, KEY }, { U32_MAX } }, 2, U32_MAX, true, 0, HUGE,
	  -ERANGE },
	/* (2^32 + 2) * (2^32 - 2) is 2^64 - 4 */
	{ "up to the end of all", { { AT, 3, KEY }, { U32_MAX } }, 2, U32_MAX, true, 0, HUGE, 0,
	  3ULL * U32_MAX },
	{ "sum wraps", { { AT, 4, KEY }, { U32_MAX - 1 } }, 2, U32_MAX, true, 0, HUGE, -ERANGE },
	{ "longest part", { { AT, U32_MAX, KEY } }, 1, U32_MAX, false, 0, HUGE, 0,
	  (u64)U32_MAX * U32_MAX },
	{ "longest part, twice", { { AT, U32_MAX, KEY }, { AT, U32_MAX, KEY } }, 2, U32_MAX,
	  false, 0, HUGE, -ERANGE },
};

static void layout_case_name(const struct layout_case *row, char *name)
{
	strscpy(name, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(layout_case, layout_cases, layout_case_name);

static void make_odd(struct fixture *fixture, struct weft_region *region, enum oddity oddity)
{
	region->length = oddity == HUGE ? U64_MAX : END - AT;
	switch (oddity) {
	case OTHER_PD:
		region->pd = &fixture->other_pd;
		break;
	case ON_DEMAND:
		region->mm = (struct mm_struct *)fixture;
		break;
	case ALL_MEMORY:
		region->blocks = NULL;
		break;
	case WINDOW:
		region->kind = WEFT_REGION_MW2;
		break;
	case FASTREG:
		region->kind = WEFT_REGION_FASTREG;
		break;
	case MKEY:
		region->kind = WEFT_REGION_MKEY;
		break;
	case SEALED:
		weft_region_seal(region);
		break;
	case READ_ONLY:
		region->access = 0;
		break;
	case USUAL:
	case HUGE:
		break;
	}
}

static void layout_of_case(struct kunit *test)
{
	const struct layout_case *row = test->param_value;
	struct fixture *fixture = test->priv;
	struct weft_region *region = fixture->leaves[0].region;
	struct weft_layout *layout;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(row->sge); i++) {
		fixture->sge[i] = row->sge[i];
		if (row->sge[i].lkey == KEY)
			fixture->sge[i].lkey = region->key;
	}
	make_odd(fixture, region, row->oddity);
	fixture->request = (struct weft_layout_request){
		.sge = fixture->sge, .num_sge = row->num, .passes = row->passes,
		.access = row->access, .interleaved = row->interleaved,
	};
	layout = weft_layout_create(&fixture->who, &fixture->request, 3, GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, row->err, PTR_ERR_OR_ZERO(layout));
	if (!IS_ERR(layout)) {
		KUNIT_EXPECT_EQ(test, row->length, layout->length);
		KUNIT_EXPECT_EQ(test, layout->num + 1, refcount_read(&region->refs));
		weft_layout_free(layout);
	}
	region->kind = WEFT_REGION_MR;
	region->mm = NULL;
	if (row->oddity == SEALED)
		atomic_set(&region->bound, 0);
	expect_free(test);
}

static struct kunit_case layout_test_cases[] = {
	KUNIT_CASE(each_byte),
	KUNIT_CASE(ranges_of_mkeys),
	KUNIT_CASE(access_keeps_its_layout),
	KUNIT_CASE(part_ends),
	KUNIT_CASE(part_ends_first),
	KUNIT_CASE(invalidation_takes_the_memory),
	KUNIT_CASE(rights_of_mkeys),
	KUNIT_CASE(keys_of_mkeys),
	KUNIT_CASE_PARAM(layout_of_case, layout_case_gen_params),
	{}
};

static struct kunit_suite layout_suite = {
	.name = "weft_layout",
	.init = layout_init,
	.exit = layout_exit,
	.test_cases = layout_test_cases,
};

kunit_test_suite(layout_suite);
