// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys, access checks and memory windows.
 */
#include "mem/region.h"
#include "compat/placement.h"
#include "mem/copy.h"
#include "object/dev.h"
#include "object/mr.h"
#include "object/mw.h"

#include <linux/slab.h>
#include <linux/workqueue.h>

#include <kunit/test.h>
#include <rdma/weft-abi.h>

#define PAGES	4
#define IOVA	0x10000ULL
#define LENGTH	((u64)PAGES * PAGE_SIZE)
#define ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
		 IB_ACCESS_MW_BIND)

/* A device with one memory region. */
struct fixture {
	struct weft_dev		*dev;		/* only @regions is used */
	struct ib_pd		pd;		/* of all objects */
	struct ib_pd		other_pd;
	void			*memory;	/* PAGES pages */
	void			*blocks[PAGES];	/* of @region: @memory in reverse order */
	struct weft_region	*region;	/* LENGTH bytes from IOVA on, all rights */
	struct weft_accessor	who;		/* a user QP of @pd */
};

static struct weft_region *add_region(struct kunit *test, u64 iova, u32 access)
{
	struct fixture *fixture = test->priv;
	struct weft_region *region;

	region = weft_region_alloc(&fixture->dev->regions, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	region->pd = &fixture->pd;
	region->access = access;
	region->iova = iova;
	region->base = iova;
	region->length = LENGTH;
	region->blocks = fixture->blocks;
	region->page_shift = PAGE_SHIFT;
	weft_region_publish(region);
	return region;
}

static int region_test_init(struct kunit *test)
{
	struct fixture *fixture;
	int i;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture);
	fixture->dev = kunit_kzalloc(test, sizeof(*fixture->dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->dev);
	fixture->memory = (void *)__get_free_pages(GFP_KERNEL, ilog2(PAGES));
	KUNIT_ASSERT_NOT_NULL(test, fixture->memory);
	for (i = 0; i < PAGES; i++)
		fixture->blocks[i] = fixture->memory + (PAGES - 1 - i) * PAGE_SIZE;
	fixture->pd.device = &fixture->dev->ibdev;
	fixture->other_pd.device = &fixture->dev->ibdev;
	weft_region_table_init(&fixture->dev->regions);
	fixture->who.table = &fixture->dev->regions;
	fixture->who.pd = &fixture->pd;
	fixture->who.qpn = 17;
	test->priv = fixture;
	fixture->region = add_region(test, IOVA, ALL);
	return 0;
}

static void region_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	if (!fixture)
		return;
	if (fixture->region)
		weft_region_kill(fixture->region);
	weft_region_table_destroy(&fixture->dev->regions);
	free_pages((unsigned long)fixture->memory, ilog2(PAGES));
}

/* Resolve the memory, and drop the reference. */
static int try_access(const struct weft_accessor *who, u32 key, u64 addr,
		      u64 length, u32 access)
{
	struct weft_span span;
	int err;

	err = weft_region_resolve(who, key, addr, length, access, &span);
	if (!err)
		weft_region_put(span.region);
	return err;
}

/* The byte that @addr refers to, as an offset in the region. */
static u64 resolved_offset(struct kunit *test, u32 key, u64 addr)
{
	struct fixture *fixture = test->priv;
	struct weft_span span;
	u64 contiguous;
	void *at;
	int i;

	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, key, addr, 1,
						     IB_ACCESS_REMOTE_READ, &span));
	at = weft_region_at(&span, addr, &contiguous);
	weft_region_put(span.region);
	KUNIT_EXPECT_EQ(test, contiguous, (u64)PAGE_SIZE - offset_in_page(at));
	for (i = 0; i < PAGES; i++)
		if (at - offset_in_page(at) == fixture->blocks[i])
			return i * PAGE_SIZE + offset_in_page(at);
	KUNIT_FAIL(test, "outside of the region's memory");
	return U64_MAX;
}

struct access_case {
	const char	*name;
	u32		granted;
	u32		asked;
	u64		iova;
	u64		addr;
	u64		length;
	int		expected;
};

static const struct access_case access_cases[] = {
	{ "local read needs no right", 0, 0, IOVA, IOVA, 1, 0 },
	{ "local write", IB_ACCESS_LOCAL_WRITE, IB_ACCESS_LOCAL_WRITE,
	  IOVA, IOVA, LENGTH, 0 },
	{ "local write not granted", IB_ACCESS_REMOTE_READ, IB_ACCESS_LOCAL_WRITE,
	  IOVA, IOVA, 1, -EACCES },
	{ "remote read not granted", IB_ACCESS_LOCAL_WRITE, IB_ACCESS_REMOTE_READ,
	  IOVA, IOVA, 1, -EACCES },
	{ "remote write not granted", IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	  IB_ACCESS_REMOTE_WRITE, IOVA, IOVA, 1, -EACCES },
	{ "atomic not granted", ALL & ~IB_ACCESS_REMOTE_ATOMIC,
	  IB_ACCESS_REMOTE_ATOMIC, IOVA, IOVA, 8, -EACCES },
	{ "all of several rights", ALL & ~IB_ACCESS_REMOTE_READ,
	  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE, IOVA, IOVA, 1, -EACCES },
	{ "last byte", ALL, 0, IOVA, IOVA + LENGTH - 1, 1, 0 },
	{ "before the region", ALL, 0, IOVA, IOVA - 1, 1, -ERANGE },
	{ "across the begin", ALL, 0, IOVA, IOVA - 1, 2, -ERANGE },
	{ "across the end", ALL, 0, IOVA, IOVA + LENGTH - 1, 2, -ERANGE },
	{ "after the region", ALL, 0, IOVA, IOVA + LENGTH, 1, -ERANGE },
	{ "longer than the region", ALL, 0, IOVA, IOVA, LENGTH + 1, -ERANGE },
	{ "sum wraps", ALL, 0, IOVA, IOVA, U64_MAX, -ERANGE },
	{ "sum wraps to the begin", ALL, 0, IOVA, IOVA + 1, U64_MAX, -ERANGE },
	{ "zero-based", ALL, 0, 0, 0, LENGTH, 0 },
	{ "before a zero-based one", ALL, 0, 0, U64_MAX, 1, -ERANGE },
	{ "region at the end of all", ALL, 0, -LENGTH, U64_MAX, 1, 0 },
	{ "beyond the end of all", ALL, 0, -LENGTH, U64_MAX, 2, -ERANGE },
	{ "at 0, region at the end", ALL, 0, -LENGTH, 0, 1, -ERANGE },
};

static void access_describe(const struct access_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(access, access_cases, access_describe);

static void resolve_access(struct kunit *test)
{
	const struct access_case *param = test->param_value;
	struct fixture *fixture = test->priv;
	struct weft_region *region;

	region = add_region(test, param->iova, param->granted);
	KUNIT_EXPECT_EQ(test, param->expected,
			try_access(&fixture->who, region->key, param->addr,
				   param->length, param->asked));
	weft_region_kill(region);
}

static void resolve_length_zero(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, 0xdead, 1, 0, ALL));
}

static void resolve_wrong_key(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = fixture->region->key;

	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, key, IOVA, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, key ^ 1, IOVA, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, key + 256, IOVA, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, U32_MAX, IOVA, 1, 0));
	fixture->who.pd = &fixture->other_pd;
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, key, IOVA, 1, 0));
}

static void resolve_local_dma_key(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, 0, IOVA, 1, 0));
	fixture->who.kernel = true;
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, 0, IOVA, 1,
					    IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, 0, IOVA, 1,
						  IB_ACCESS_REMOTE_READ));
}

static void get_dma_mr_is_all_memory(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span span;
	struct ib_mr *mr;
	u64 contiguous;

	mr = weft_get_dma_mr(&fixture->pd, ALL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, mr->rkey,
						     (uintptr_t)fixture->memory, 8,
						     IB_ACCESS_REMOTE_WRITE, &span));
	KUNIT_EXPECT_PTR_EQ(test, fixture->memory,
			    weft_region_at(&span, span.addr, &contiguous));
	weft_region_put(span.region);
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, mr->rkey, 0, 1,
						  IB_ACCESS_MW_BIND));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void alloc_does_not_reuse_keys(struct kunit *test)
{
	struct weft_region *region;
	u32 last = 0;
	int i;

	for (i = 0; i < 100; i++) {
		region = add_region(test, IOVA, ALL);
		KUNIT_EXPECT_GT(test, region->key >> 8, last);
		last = region->key >> 8;
		weft_region_kill(region);
	}
}

static void alloc_is_invisible(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_region *region;

	region = weft_region_alloc(&fixture->dev->regions, GFP_KERNEL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	KUNIT_EXPECT_NULL(test, weft_region_get(&fixture->dev->regions, region->key));
	weft_region_kill(region);
}

struct late_put {
	struct delayed_work	work;
	struct weft_region	*region;
	bool			done;
};

static void late_put_worker(struct work_struct *work)
{
	struct late_put *late = container_of(work, struct late_put, work.work);

	WRITE_ONCE(late->done, true);
	weft_region_put(late->region);
}

static void kill_waits_for_users(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u32 key = fixture->region->key;
	struct late_put late = { };

	late.region = weft_region_get(&fixture->dev->regions, key);
	KUNIT_ASSERT_PTR_EQ(test, fixture->region, late.region);
	INIT_DELAYED_WORK_ONSTACK(&late.work, late_put_worker);
	schedule_delayed_work(&late.work, 2);
	weft_region_kill(fixture->region);
	fixture->region = NULL;
	KUNIT_EXPECT_TRUE(test, READ_ONCE(late.done));
	KUNIT_EXPECT_NULL(test, weft_region_get(&fixture->dev->regions, key));
	flush_delayed_work(&late.work);
	destroy_delayed_work_on_stack(&late.work);
}

static void replace_keeps_the_key(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_region *old = fixture->region, *new, *late;
	u32 key = old->key;

	new = weft_region_successor(old, GFP_KERNEL);
	late = weft_region_successor(old, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, new);
	KUNIT_ASSERT_NOT_NULL(test, late);
	new->access = IB_ACCESS_REMOTE_READ;
	KUNIT_EXPECT_TRUE(test, weft_region_replace(old, new));
	KUNIT_EXPECT_FALSE(test, weft_region_replace(old, late));
	kfree(late);
	weft_region_kill(old);
	fixture->region = new;
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, key, IOVA, LENGTH,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, key, IOVA, 1,
						  IB_ACCESS_LOCAL_WRITE));
}

static void at_follows_the_blocks(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u64 offset;

	for (offset = 0; offset < LENGTH; offset += 509)
		KUNIT_EXPECT_EQ(test, offset,
				resolved_offset(test, fixture->region->key,
						IOVA + offset));
}

static void add_window(struct kunit *test, struct weft_mw *mw, enum ib_mw_type type)
{
	struct fixture *fixture = test->priv;

	*mw = (struct weft_mw){
		.ib_mw = {
			.device = &fixture->dev->ibdev,
			.pd = &fixture->pd,
			.type = type,
		},
	};
	KUNIT_ASSERT_EQ(test, 0, weft_alloc_mw(&mw->ib_mw, NULL));
}

/* A request to bind @mw to 100 bytes in the middle of the region, for reading. */
static struct weft_mw_request bind_request(struct kunit *test, const struct weft_mw *mw)
{
	struct fixture *fixture = test->priv;

	return (struct weft_mw_request) {
		.rkey = mw->ib_mw.rkey,
		.new_rkey = ib_inc_rkey(mw->ib_mw.rkey),
		.lkey = fixture->region->key,
		.access = IB_ACCESS_REMOTE_READ,
		.addr = IOVA + PAGE_SIZE - 50,
		.length = 100,
	};
}

static void bind_type_1(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor *who = &fixture->who;
	struct weft_mw_request request;
	struct weft_mw mw;
	u32 rkey;

	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	rkey = request.new_rkey;
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(who, mw.ib_mw.rkey, request.addr, 1,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(who, mw.ib_mw.rkey, request.addr, 1,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(who, rkey, request.addr, 1, 0));
	KUNIT_EXPECT_EQ(test, 0, try_access(who, rkey, request.addr, 100,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(who, rkey, request.addr - 1, 100,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(who, rkey, request.addr, 1,
						  IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE + 49,
			resolved_offset(test, rkey, request.addr + 99));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(who, rkey, GFP_KERNEL));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
}

/* The region must have the FLUSH rights, and a FLUSH of a whole window covers its range. */
static void bind_flush(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor *who = &fixture->who;
	struct weft_mw_request request;
	struct weft_span span;
	struct weft_mw mw;
	u32 rkey;

	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	request.access = IB_ACCESS_FLUSH_GLOBAL;
	rkey = request.new_rkey;
	KUNIT_EXPECT_EQ(test, -EACCES, weft_mw_bind(who, &request, GFP_KERNEL));
	fixture->region->access |= IB_ACCESS_FLUSH_GLOBAL;
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EACCES, weft_region_resolve_all(who, rkey, COMPAT_ACCESS_FLUSH,
							       &span));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_region_resolve_all(who, mw.ib_mw.rkey,
							       IB_ACCESS_FLUSH_GLOBAL, &span));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve_all(who, rkey, IB_ACCESS_FLUSH_GLOBAL,
							 &span));
	KUNIT_EXPECT_EQ(test, request.addr, span.addr);
	KUNIT_EXPECT_EQ(test, request.length, span.length);
	weft_region_put(span.region);
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
}

static void bind_type_1_again(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor *who = &fixture->who;
	struct weft_mw_request request;
	struct weft_mw mw;

	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	/* an old key still names the window, as only its index matters */
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&fixture->region->bound));

	/* any QP of the PD may use it, and bind it elsewhere */
	who->qpn++;
	request.rkey = request.new_rkey;
	request.new_rkey = ib_inc_rkey(request.rkey);
	request.addr = IOVA;
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, try_access(who, request.new_rkey, IOVA, 1,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&fixture->region->bound));

	/* unbind, without a region */
	request.rkey = request.new_rkey;
	request.length = 0;
	request.lkey = 0;
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(who, request.rkey, IOVA, 1,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
	weft_dealloc_mw(&mw.ib_mw);
}

static void bind_type_2(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor other = fixture->who;
	struct weft_accessor *who = &fixture->who;
	struct weft_mw_request request;
	struct weft_mw mw;
	u32 rkey;

	other.qpn++;
	add_window(test, &mw, IB_MW_TYPE_2);
	request = bind_request(test, &mw);
	rkey = request.new_rkey;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(who, mw.ib_mw.rkey, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, try_access(who, rkey, request.addr, 1,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&other, rkey, request.addr, 1,
						  IB_ACCESS_REMOTE_READ));

	request.rkey = rkey;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(&other, rkey, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(who, rkey ^ 1, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, weft_mw_invalidate(who, rkey, GFP_KERNEL));
	KUNIT_EXPECT_NE(test, 0, try_access(who, rkey, request.addr, 1,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(who, rkey, GFP_KERNEL));

	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(&other, &request, GFP_KERNEL));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
}

static void bind_zero_based(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_mw_request request;
	struct weft_mw mw;
	u32 rkey;

	add_window(test, &mw, IB_MW_TYPE_2);
	request = bind_request(test, &mw);
	rkey = request.new_rkey;
	request.access |= IB_ZERO_BASED | IB_ACCESS_REMOTE_ATOMIC;
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, rkey, 0, 100,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, rkey, request.addr, 1,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE - 50, resolved_offset(test, rkey, 0));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE + 49, resolved_offset(test, rkey, 99));
	/* no atomics, as an aligned address is not aligned in memory */
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, rkey, 0, 8,
						  IB_ACCESS_REMOTE_ATOMIC));
	weft_dealloc_mw(&mw.ib_mw);
}

static void dealloc_mw_spares_accesses(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_mw_request request;
	struct weft_span span;
	struct weft_mw mw;

	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, request.new_rkey,
						     request.addr, 1,
						     IB_ACCESS_REMOTE_READ, &span));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
	/* one reference of the owner, one of the window, which is still in use */
	KUNIT_EXPECT_EQ(test, 2u, refcount_read(&fixture->region->refs));
	weft_region_put(span.region);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&fixture->region->refs));
}

static void dereg_mr_refuses_bound_windows(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_mw_request request;
	struct weft_mr *mr;
	struct weft_mw mw;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mr);
	mr->dev = fixture->dev;
	mr->region = fixture->region;
	mr->region->blocks = NULL;
	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EBUSY, weft_dereg_mr(&mr->ib_mr, NULL));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(&mr->ib_mr, NULL));
	fixture->region = NULL;
}

static void bind_to_a_sealed_region(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_mw_request request;
	struct weft_mw mw;

	add_window(test, &mw, IB_MW_TYPE_1);
	request = bind_request(test, &mw);
	KUNIT_EXPECT_TRUE(test, weft_region_seal(fixture->region));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	weft_dealloc_mw(&mw.ib_mw);
}

struct bind_case {
	const char	*name;
	enum ib_mw_type	type;
	u32		granted;
	u32		access;
	u64		addr;
	u64		length;
	int		expected;
};

static const struct bind_case bind_cases[] = {
	{ "C10-73 no bind right", IB_MW_TYPE_1, ALL & ~IB_ACCESS_MW_BIND,
	  IB_ACCESS_REMOTE_READ, IOVA, 1, -EACCES },
	{ "C10-74 write, region not", IB_MW_TYPE_1, IB_ACCESS_MW_BIND,
	  IB_ACCESS_REMOTE_WRITE, IOVA, 1, -EACCES },
	{ "C10-74 atomic, region not", IB_MW_TYPE_2, IB_ACCESS_MW_BIND,
	  IB_ACCESS_REMOTE_ATOMIC, IOVA, 1, -EACCES },
	{ "local write is enough", IB_MW_TYPE_2,
	  IB_ACCESS_MW_BIND | IB_ACCESS_LOCAL_WRITE,
	  IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC, IOVA, LENGTH, 0 },
	{ "read needs nothing", IB_MW_TYPE_1, IB_ACCESS_MW_BIND,
	  IB_ACCESS_REMOTE_READ, IOVA, LENGTH, 0 },
	{ "C10-75 before the region", IB_MW_TYPE_1, ALL, 0, IOVA - 1, 1, -ERANGE },
	{ "C10-75 beyond the region", IB_MW_TYPE_2, ALL, 0, IOVA + 1, LENGTH, -ERANGE },
	{ "C10-75 sum wraps", IB_MW_TYPE_2, ALL, 0, IOVA + 1, U64_MAX, -ERANGE },
	{ "o10-36.2.2 zero-based type 1", IB_MW_TYPE_1, ALL, IB_ZERO_BASED, IOVA, 1,
	  -EINVAL },
	{ "zero-based region", IB_MW_TYPE_2, ALL | IB_ZERO_BASED, 0, IOVA, 1, -EINVAL },
	{ "o10-37.2.40 type 2, length 0", IB_MW_TYPE_2, ALL, 0, IOVA, 0, -EINVAL },
	{ "local write is taken no notice of", IB_MW_TYPE_1, IB_ACCESS_MW_BIND,
	  IB_ACCESS_LOCAL_WRITE, IOVA, 1, 0 },
	{ "no windows onto windows", IB_MW_TYPE_1, ALL,
	  IB_ACCESS_MW_BIND, IOVA, 1, -EINVAL },
};

static void bind_describe(const struct bind_case *param, char *desc)
{
	strscpy(desc, param->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(bind, bind_cases, bind_describe);

static void bind_rules(struct kunit *test)
{
	const struct bind_case *param = test->param_value;
	struct fixture *fixture = test->priv;
	struct weft_mw_request request;
	struct weft_region *region;
	struct weft_mw mw;

	region = add_region(test, IOVA, param->granted);
	add_window(test, &mw, param->type);
	request = bind_request(test, &mw);
	request.lkey = region->key;
	request.access = param->access;
	request.addr = param->addr;
	request.length = param->length;
	KUNIT_EXPECT_EQ(test, param->expected, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, 1u, refcount_read(&region->refs));
	weft_region_kill(region);
}

static void bind_wrong_objects(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor other = fixture->who;
	struct weft_mw_request request;
	struct weft_mw mw;

	other.pd = &fixture->other_pd;
	add_window(test, &mw, IB_MW_TYPE_2);
	request = bind_request(test, &mw);
	/* wrong PD of the window (C10-72) */
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&other, &request, GFP_KERNEL));
	/* right PD of the window, wrong PD of the region */
	fixture->region->pd = &fixture->other_pd;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	fixture->region->pd = &fixture->pd;
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&fixture->region->bound));
	request.lkey ^= 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	request.lkey = mw.ib_mw.rkey;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	request.lkey = fixture->region->key;
	request.rkey = fixture->region->key;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(&fixture->who, request.rkey, GFP_KERNEL));
	/* another index; a different low byte would still name the window */
	request.rkey = mw.ib_mw.rkey ^ 0x80000000;
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	weft_dealloc_mw(&mw.ib_mw);
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_mw_invalidate(&fixture->who, mw.ib_mw.rkey,
							  GFP_KERNEL));
}

/* The null key works in any PD and at any address, and reads do not return what was written. */
static void null_key(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_accessor who = fixture->who;
	struct weft_span from, to;
	struct weft_iter src, dst;
	u64 contiguous, word = ~0ULL;
	struct weft_span memory = { .addr = (uintptr_t)&word, .length = sizeof(word) };

	who.pd = &fixture->other_pd;
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&who, WEFT_NULL_KEY, U64_MAX - 2, 1ULL << 31,
						     IB_ACCESS_LOCAL_WRITE, &to));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&who, WEFT_NULL_KEY, 5, 1ULL << 31, 0, &from));
	KUNIT_EXPECT_PTR_NE(test, weft_region_at(&to, 0, &contiguous),
			    weft_region_at(&from, 0, &contiguous));
	/* across the end of the address space, and across many pages */
	weft_span_iter(&memory, &src);
	weft_span_iter(&to, &dst);
	weft_copy(&dst, &src, sizeof(word));
	weft_span_iter(&from, &src);
	weft_copy(&dst, &src, 10 * PAGE_SIZE + 1);
	KUNIT_EXPECT_EQ(test, 10ULL * PAGE_SIZE + 9, dst.offset);
	weft_iter_skip(&src, (1ULL << 31) - src.offset - sizeof(word));
	weft_span_iter(&memory, &dst);
	weft_copy(&dst, &src, sizeof(word));
	KUNIT_EXPECT_EQ(test, 0ULL, word);
	weft_region_put(to.region);
	weft_region_put(from.region);
}

static void null_key_is_local(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_span span;
	u32 bit;

	for (bit = 1; bit < 256; bit <<= 1)
		KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, WEFT_NULL_KEY ^ bit,
							  0, 8, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, WEFT_NULL_KEY, 0, 8,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, WEFT_NULL_KEY, 0, 8,
						  IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, WEFT_NULL_KEY, 0, 8,
						  IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, -EINVAL, weft_region_resolve_all(&fixture->who, WEFT_NULL_KEY,
							       IB_ACCESS_REMOTE_READ, &span));
	KUNIT_EXPECT_NULL(test, weft_region_get(&fixture->dev->regions, WEFT_NULL_KEY));
}

static struct kunit_case region_test_cases[] = {
	KUNIT_CASE_PARAM(resolve_access, access_gen_params),
	KUNIT_CASE(resolve_length_zero),
	KUNIT_CASE(resolve_wrong_key),
	KUNIT_CASE(resolve_local_dma_key),
	KUNIT_CASE(get_dma_mr_is_all_memory),
	KUNIT_CASE(alloc_does_not_reuse_keys),
	KUNIT_CASE(alloc_is_invisible),
	KUNIT_CASE(kill_waits_for_users),
	KUNIT_CASE(replace_keeps_the_key),
	KUNIT_CASE(at_follows_the_blocks),
	KUNIT_CASE(bind_type_1),
	KUNIT_CASE(bind_flush),
	KUNIT_CASE(bind_type_1_again),
	KUNIT_CASE(bind_type_2),
	KUNIT_CASE(bind_zero_based),
	KUNIT_CASE(dealloc_mw_spares_accesses),
	KUNIT_CASE(dereg_mr_refuses_bound_windows),
	KUNIT_CASE(bind_to_a_sealed_region),
	KUNIT_CASE_PARAM(bind_rules, bind_gen_params),
	KUNIT_CASE(bind_wrong_objects),
	KUNIT_CASE(null_key),
	KUNIT_CASE(null_key_is_local),
	{ }
};

static struct kunit_suite region_test_suite = {
	.name = "weft_region",
	.init = region_test_init,
	.exit = region_test_exit,
	.test_cases = region_test_cases,
};

kunit_test_suite(region_test_suite);
