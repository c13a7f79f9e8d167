// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Registration of user memory and of device memory, and what changes it.
 */
#include "mem/odp_pins.h"
#include "mem/region.h"
#include "compat/placement.h"
#include "object/dev.h"
#include "object/dm.h"
#include "object/mr.h"
#include "object/mw.h"
#include "ring/pages.h"
#include "user_memory.h"

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <kunit/test.h>

#include <rdma/ib_umem.h>

#define SIZE	(64 * PAGE_SIZE)
/* of the memory in its first page */
#define OFFSET	104
#define LENGTH	(5 * PAGE_SIZE + 77)
#define IOVA	(0x123456789000ULL + OFFSET)
#define ALL	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
		 IB_ACCESS_MW_BIND)

/* A device and a process. */
struct fixture {
	/* only @dev->regions is used, and @dev->ibdev must have no DMA device */
	struct weft_dev		*dev;
	struct ib_pd		pd;
	struct ib_pd		other_pd;
	unsigned long		start;
	struct weft_accessor	who;
};

static u8 expected_byte(unsigned long offset)
{
	return (offset >> PAGE_SHIFT) + offset;
}

static int mr_test_init(struct kunit *test)
{
	struct fixture *fixture;
	unsigned long i;
	u8 *page;

	fixture = kunit_kzalloc(test, sizeof(*fixture), GFP_KERNEL);
	page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture);
	KUNIT_ASSERT_NOT_NULL(test, page);
	fixture->dev = kunit_kzalloc(test, sizeof(*fixture->dev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fixture->dev);
	weft_region_table_init(&fixture->dev->regions);
	fixture->pd.device = &fixture->dev->ibdev;
	fixture->other_pd.device = &fixture->dev->ibdev;
	fixture->who.table = &fixture->dev->regions;
	fixture->who.pd = &fixture->pd;

	fixture->start = map_user_memory(test, SIZE);
	for (i = 0; i < SIZE; i++) {
		page[offset_in_page(i)] = expected_byte(i);
		if (offset_in_page(i) == PAGE_SIZE - 1)
			KUNIT_ASSERT_EQ(test, 0UL,
					copy_to_user((void __user *)(fixture->start +
								     i + 1 - PAGE_SIZE),
						     page, PAGE_SIZE));
	}
	test->priv = fixture;
	return 0;
}

static void mr_test_exit(struct kunit *test)
{
	struct fixture *fixture = test->priv;

	if (fixture)
		weft_region_table_destroy(&fixture->dev->regions);
}

/* Register a region, and set the members of the MR that uverbs sets. */
static struct ib_mr *reg(struct kunit *test, u64 offset, u64 length, u64 iova,
			 int access)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = weft_reg_user_mr(&fixture->pd, fixture->start + offset, length, iova,
			      access, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, mr->lkey, mr->rkey);
	mr->device = fixture->pd.device;
	mr->pd = &fixture->pd;
	return mr;
}

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

/* Whether [@iova, @iova + @length) of the region has the content of the memory at @offset. */
static bool shows(struct kunit *test, u32 key, u64 iova, u64 length, u64 offset)
{
	struct fixture *fixture = test->priv;
	struct weft_span span;
	u64 contiguous, i;

	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve(&fixture->who, key, iova, length,
						     0, &span));
	for (i = 0; i < length; i++)
		if (*(u8 *)weft_region_at(&span, iova + i, &contiguous) !=
		    expected_byte(offset + i))
			break;
	weft_region_put(span.region);
	return i == length;
}

static void reg_user_mr_any_length(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u64 length, offset;
	struct ib_mr *mr;

	for (offset = 0; offset < 3 * PAGE_SIZE; offset += PAGE_SIZE / 4 - 25) {
		for (length = 1; length < SZ_128K; length += 39999) {
			mr = reg(test, offset, length, fixture->start + offset, 0);
			KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey,
						      fixture->start + offset, length,
						      offset));
			KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
		}
	}
}

static void reg_user_mr_other_iova(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = reg(test, OFFSET, LENGTH, IOVA, ALL);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->lkey, IOVA,
						  LENGTH + 1, 0));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->rkey, IOVA, 8,
					    IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void reg_user_mr_zero_based(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = reg(test, OFFSET, LENGTH, IOVA, ALL | IB_ZERO_BASED);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, 0, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->rkey, 8, 8,
					    IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));

	/* no aligned address is an aligned word of memory: no atomics */
	mr = reg(test, OFFSET + 4, LENGTH, IOVA, ALL | IB_ZERO_BASED);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, 0, LENGTH, OFFSET + 4));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, mr->rkey, 8, 8,
						  IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static int reg_error(struct kunit *test, u64 start, u64 length, u64 iova, int access)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = weft_reg_user_mr(&fixture->pd, start, length, iova, access, NULL, NULL);
	KUNIT_ASSERT_TRUE(test, IS_ERR(mr));
	return PTR_ERR(mr);
}

/* @mr has no memory, and only accesses of 0 bytes succeed. */
static void check_empty(struct kunit *test, struct ib_mr *mr)
{
	struct fixture *fixture = test->priv;
	struct weft_region *region = to_weft_mr(mr)->region;

	KUNIT_EXPECT_NULL(test, to_weft_mr(mr)->umem);
	KUNIT_EXPECT_PTR_EQ(test, region->blocks, WEFT_NO_BLOCKS);
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->rkey, region->iova, 0, ALL));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->lkey, region->iova, 1, 0));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->lkey, region->iova - 1,
						  1, 0));
}

/* From length 0 to memory and back, which libibverbs does not let a program do. */
static void rereg_user_mr_empty(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u64 start = fixture->start + OFFSET;
	struct ib_mr *mr;
	int odp;

	for (odp = 0; odp <= IB_ACCESS_ON_DEMAND; odp += IB_ACCESS_ON_DEMAND) {
		mr = reg(test, OFFSET, 0, IOVA, ALL | odp);
		check_empty(test, mr);
		KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS, start, LENGTH,
							   IOVA, 0, NULL, NULL));
		KUNIT_EXPECT_EQ(test, odp ? -EFAULT : 0,
				try_access(&fixture->who, mr->lkey, IOVA, LENGTH, ALL));
		KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS, U64_MAX, 0,
							   IOVA, 0, NULL, NULL));
		check_empty(test, mr);
		KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS, 0, 0, 0, 0,
							   NULL, NULL));
		check_empty(test, mr);
		KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
	}
}

/* New terms for a region of length 0, which stays empty. */
static void rereg_user_mr_empty_terms(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr = reg(test, OFFSET, 0, IOVA, 0);

	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, ALL,
						   NULL, NULL));
	check_empty(test, mr);
	KUNIT_EXPECT_EQ(test, ALL, (int)to_weft_mr(mr)->region->access & ALL);
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						     IB_ACCESS_ON_DEMAND, NULL, NULL),
			    ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_PD | IB_MR_REREG_ACCESS,
						   0, 0, 0, IB_ACCESS_FLUSH_PERSISTENT,
						   &fixture->other_pd, NULL));
	KUNIT_EXPECT_PTR_EQ(test, to_weft_mr(mr)->region->pd,
			    (const void *)&fixture->other_pd);
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void reg_user_mr_refuses(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	u64 start = fixture->start;

	/* not implicit ODP: not at address 0 */
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, start, U64_MAX, start,
						 IB_ACCESS_ON_DEMAND));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, 0, U64_MAX, 0,
						 IB_ACCESS_ON_DEMAND | IB_ZERO_BASED));
	/* this memory is not persistent */
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, start, 1, start,
						 IB_ACCESS_FLUSH_PERSISTENT));
	/* ODP memory is not known yet */
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, start, 1, start,
						 IB_ACCESS_FLUSH_PERSISTENT |
						 IB_ACCESS_ON_DEMAND));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, start, U64_MAX, start, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, reg_error(test, start, 2, U64_MAX, 0));
	KUNIT_EXPECT_EQ(test, -EFAULT, reg_error(test, 0, PAGE_SIZE, 0, 0));
}

static void pinned(void *arg)
{
	complete(arg);
}

/* An access to an ODP region gets the pages that the process has at that time. */
static void reg_user_mr_paged(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *holder, *pins = weft_odp_pins_alloc(1);
	DECLARE_COMPLETION_ONSTACK(done);
	struct weft_span span;
	u64 contiguous;
	struct ib_mr *mr;
	u8 *at;

	KUNIT_ASSERT_NOT_NULL(test, pins);
	mr = reg(test, OFFSET, LENGTH, IOVA, ALL | IB_ACCESS_ON_DEMAND);
	KUNIT_EXPECT_NULL(test, to_weft_mr(mr)->umem);
	KUNIT_EXPECT_EQ(test, -EFAULT, try_access(&fixture->who, mr->lkey, IOVA, 1, 0));
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->lkey, IOVA, LENGTH + 1, 0));
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve_odp(&fixture->who, mr->lkey, IOVA,
							 LENGTH, 0, &span));
	weft_odp_pins_add(pins, span.region, IOVA, LENGTH, true);
	weft_odp_pins_request(pins, &holder, pinned, &done);
	wait_for_completion(&done);
	KUNIT_ASSERT_EQ(test, 0, weft_odp_pins_attach(pins, &span, IOVA + PAGE_SIZE, 1, true));
	at = weft_region_at(&span, IOVA + PAGE_SIZE, &contiguous);
	KUNIT_EXPECT_EQ(test, expected_byte(OFFSET + PAGE_SIZE), *at);
	weft_region_put(span.region);
	KUNIT_EXPECT_NULL(test, holder);
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, ALL,
						     NULL, NULL), ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						   IB_ACCESS_ON_DEMAND, NULL, NULL));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, mr->lkey, IOVA, 1,
						  IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

/* A mapping of a page whose first page faults fail. */
struct barren {
	vm_fault_t	says;		/* result of failed faults */
	int		refused;	/* number of faults that fail */
	atomic_t	faults;		/* number of all faults */
	struct page	*page;		/* mapped by later faults */
};

static vm_fault_t barren_fault(struct vm_fault *vmf)
{
	struct barren *barren = vmf->vma->vm_file->private_data;

	if (atomic_inc_return(&barren->faults) <= barren->refused)
		return barren->says;
	get_page(barren->page);
	vmf->page = barren->page;
	return 0;
}

static const struct vm_operations_struct barren_vm_ops = { .fault = barren_fault };

static int barren_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &barren_vm_ops;
	return 0;
}

static const struct file_operations barren_fops = {
	.owner = THIS_MODULE,
	.mmap = barren_mmap,
};

static unsigned long barren_map(struct kunit *test, struct barren *barren)
{
	struct file *file = anon_inode_getfile("[weft_barren]", &barren_fops, barren, O_RDWR);
	unsigned long start;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	start = vm_mmap(file, 0, PAGE_SIZE, PROT_READ, MAP_PRIVATE, 0);
	fput(file);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(start));
	return start;
}

/* Pin the page for an access through an ODP region. Return: that of weft_odp_pins_attach(). */
static int barren_attach(struct kunit *test, unsigned long start)
{
	struct fixture *fixture = test->priv;
	struct weft_odp_pins *holder, *pins = weft_odp_pins_alloc(1);
	DECLARE_COMPLETION_ONSTACK(done);
	struct weft_span span;
	struct ib_mr *mr;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, pins);
	mr = reg(test, start - fixture->start, PAGE_SIZE, start, IB_ACCESS_ON_DEMAND);
	KUNIT_ASSERT_EQ(test, 0, weft_region_resolve_odp(&fixture->who, mr->lkey, start,
							 1, 0, &span));
	weft_odp_pins_add(pins, span.region, start, 1, false);
	weft_odp_pins_request(pins, &holder, pinned, &done);
	wait_for_completion(&done);
	err = weft_odp_pins_attach(pins, &span, start, 1, false);
	weft_region_put(span.region);
	if (err)
		weft_odp_pins_forget(pins);
	KUNIT_EXPECT_NULL(test, holder);
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
	return err;
}

struct barren_row {
	const char	*name;
	vm_fault_t	says;
	int		refused;
	int		err;		/* expected result of barren_attach() */
	int		min;		/* expected number of faults */
	int		max;
};

static const struct barren_row barren_rows[] = {
	{ "there is memory", VM_FAULT_OOM, 0, 0, 1, 1 },
	{ "there is at the second time", VM_FAULT_OOM, 1, 0, 2, 2 },
	{ "there is none", VM_FAULT_OOM, INT_MAX, -ENOMEM, 2, 20 },
	{ "it may not be accessed", VM_FAULT_SIGBUS, INT_MAX, -EACCES, 1, 1 },
};

static void barren_row_desc(const struct barren_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(barren_row, barren_rows, barren_row_desc);

/* A fault that fails for lack of memory is retried a few times; one that is forbidden is not. */
static void pages_refused(struct kunit *test)
{
	const struct barren_row *row = test->param_value;
	struct barren barren = { .says = row->says, .refused = row->refused };
	unsigned long start;

	barren.page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, barren.page);
	start = barren_map(test, &barren);
	KUNIT_EXPECT_EQ(test, row->err, barren_attach(test, start));
	KUNIT_EXPECT_GE(test, atomic_read(&barren.faults), row->min);
	KUNIT_EXPECT_LE(test, atomic_read(&barren.faults), row->max);
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(start, PAGE_SIZE));
	/* drop the last reference to the file, which has a reference to this module */
	flush_delayed_fput();
	put_page(barren.page);
}

static void rereg_user_mr_access(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;
	u32 key;

	mr = reg(test, OFFSET, LENGTH, IOVA, 0);
	key = mr->rkey;
	KUNIT_EXPECT_FALSE(test, to_weft_mr(mr)->umem->writable);
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, key, IOVA, 1,
						  IB_ACCESS_LOCAL_WRITE));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, ALL,
						   NULL, NULL));
	KUNIT_EXPECT_EQ(test, key, mr->rkey);
	KUNIT_EXPECT_TRUE(test, to_weft_mr(mr)->umem->writable);
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, key, IOVA, LENGTH, ALL));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						   IB_ACCESS_REMOTE_READ, NULL, NULL));
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, key, IOVA, 1,
						  IB_ACCESS_REMOTE_WRITE));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						   IB_ZERO_BASED, NULL, NULL));
	KUNIT_EXPECT_TRUE(test, shows(test, key, 0, LENGTH, OFFSET));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0,
						   NULL, NULL));
	KUNIT_EXPECT_TRUE(test, shows(test, key, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void rereg_user_mr_pd(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = reg(test, OFFSET, LENGTH, IOVA, 0);
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_PD, 0, 0, 0, 0,
						   &fixture->other_pd, NULL));
	KUNIT_EXPECT_EQ(test, -EINVAL, try_access(&fixture->who, mr->lkey, IOVA, 1, 0));
	fixture->who.pd = &fixture->other_pd;
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void rereg_user_mr_all(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct ib_mr *mr;

	mr = reg(test, OFFSET, LENGTH, IOVA, 0);
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS,
						   fixture->start + 7 * PAGE_SIZE,
						   LENGTH + 1, 0, 0, NULL, NULL));
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, 0, LENGTH + 1, 7 * PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, weft_rereg_user_mr(mr, IB_MR_REREG_SUPPORTED,
						   fixture->start + OFFSET, LENGTH,
						   IOVA, ALL, &fixture->other_pd, NULL));
	fixture->who.pd = &fixture->other_pd;
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->lkey, IOVA, LENGTH, ALL));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void rereg_user_mr_failure_changes_nothing(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_region *region;
	struct ib_mr *mr;

	mr = reg(test, OFFSET, LENGTH, IOVA, IB_ACCESS_REMOTE_READ);
	region = to_weft_mr(mr)->region;
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS, 0, PAGE_SIZE,
						     0, 0, NULL, NULL),
			    ERR_PTR(-EFAULT));
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0,
						     IB_ACCESS_ON_DEMAND, NULL, NULL),
			    ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_PTR_EQ(test, region, to_weft_mr(mr)->region);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->lkey, IOVA, LENGTH,
					    IB_ACCESS_REMOTE_READ));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

static void rereg_user_mr_refuses_bound_windows(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_mw_request request = { .addr = IOVA, .length = LENGTH };
	struct weft_mw window = { .ib_mw.type = IB_MW_TYPE_1 };
	struct ib_mw *mw = &window.ib_mw;
	struct ib_mr *mr;
	u64 start = fixture->start;

	mr = reg(test, OFFSET, LENGTH, IOVA, ALL);
	mw->device = &fixture->dev->ibdev;
	mw->pd = &fixture->pd;
	KUNIT_ASSERT_EQ(test, 0, weft_alloc_mw(mw, NULL));
	request.rkey = mw->rkey;
	request.lkey = mr->lkey;
	KUNIT_EXPECT_EQ(test, 0, weft_mw_bind(&fixture->who, &request, GFP_KERNEL));
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0,
						     NULL, NULL),
			    ERR_PTR(-EBUSY));
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_TRANS, start, 1,
						     start, 0, NULL, NULL),
			    ERR_PTR(-EBUSY));
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_SUPPORTED + 1, 0, 0, 0, 0,
						     NULL, NULL),
			    ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_EQ(test, -EBUSY, weft_dereg_mr(mr, NULL));
	weft_dealloc_mw(mw);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, IOVA, LENGTH, OFFSET));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
}

/* SIZE bytes of device memory, with the content of the user memory. */
static struct weft_dm *make_dm(struct kunit *test)
{
	struct weft_dm *dm = kunit_kzalloc(test, sizeof(*dm), GFP_KERNEL);
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, dm);
	dm->pages = weft_pages_alloc(SIZE, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dm->pages));
	for (i = 0; i < SIZE; i++)
		((u8 *)dm->pages->mem)[i] = expected_byte(i);
	return dm;
}

static struct ib_mr *try_dm_mr(struct kunit *test, struct weft_dm *dm, u64 offset,
			       u64 length, int access)
{
	struct fixture *fixture = test->priv;
	struct ib_dm_mr_attr attr = {
		.offset = offset,
		.length = length,
		.access_flags = access | IB_ZERO_BASED,
	};
	struct ib_mr *mr = weft_reg_dm_mr(&fixture->pd, &dm->ib_dm, &attr, NULL);

	if (!IS_ERR(mr)) {
		mr->device = fixture->pd.device;
		mr->pd = &fixture->pd;
	}
	return mr;
}

static struct ib_mr *reg_dm(struct kunit *test, struct weft_dm *dm, u64 offset,
			    u64 length, int access)
{
	struct ib_mr *mr = try_dm_mr(test, dm, offset, length, access);

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	return mr;
}

static void reg_dm_mr_any_place(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_dm *dm = make_dm(test);
	u64 length, offset;
	struct ib_mr *mr;

	for (offset = 0; offset < 3 * PAGE_SIZE; offset += PAGE_SIZE / 4 - 25) {
		for (length = 1; length < SZ_128K; length += 39999) {
			mr = reg_dm(test, dm, offset, length, 0);
			KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, 0, length, offset));
			KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->lkey,
								  0, length + 1, 0));
			KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
		}
	}
	mr = reg_dm(test, dm, 0, SIZE, 0);
	KUNIT_EXPECT_TRUE(test, shows(test, mr->lkey, 0, SIZE, 0));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
	weft_pages_put(dm->pages);
}

static void reg_dm_mr_access(struct kunit *test)
{
	struct fixture *fixture = test->priv;
	struct weft_dm *dm = make_dm(test);
	int all = ALL & ~IB_ACCESS_MW_BIND;
	struct ib_mr *mr;

	mr = reg_dm(test, dm, OFFSET, LENGTH, all);
	KUNIT_EXPECT_EQ(test, 0, try_access(&fixture->who, mr->rkey, 8, 8, all));
	KUNIT_EXPECT_PTR_EQ(test, weft_rereg_user_mr(mr, IB_MR_REREG_ACCESS, 0, 0, 0, 0,
						     NULL, NULL),
			    ERR_PTR(-EINVAL));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));

	/* no aligned address is an aligned word of memory: no atomics */
	mr = reg_dm(test, dm, OFFSET + 4, LENGTH, all);
	KUNIT_EXPECT_EQ(test, -EACCES, try_access(&fixture->who, mr->rkey, 8, 8,
						  IB_ACCESS_REMOTE_ATOMIC));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));

	KUNIT_EXPECT_PTR_EQ(test, try_dm_mr(test, dm, 0, 1, IB_ACCESS_MW_BIND),
			    (struct ib_mr *)ERR_PTR(-EOPNOTSUPP));
	KUNIT_EXPECT_PTR_EQ(test, try_dm_mr(test, dm, 0, 1, IB_ACCESS_ON_DEMAND),
			    (struct ib_mr *)ERR_PTR(-EOPNOTSUPP));

	mr = reg_dm(test, dm, OFFSET, 0, all);
	KUNIT_EXPECT_EQ(test, -ERANGE, try_access(&fixture->who, mr->rkey, 0, 1, all));
	KUNIT_EXPECT_EQ(test, 0, weft_dereg_mr(mr, NULL));
	weft_pages_put(dm->pages);
}

static struct kunit_case mr_test_cases[] = {
	KUNIT_CASE(reg_user_mr_any_length),
	KUNIT_CASE(rereg_user_mr_empty),
	KUNIT_CASE(rereg_user_mr_empty_terms),
	KUNIT_CASE(reg_user_mr_other_iova),
	KUNIT_CASE(reg_user_mr_zero_based),
	KUNIT_CASE(reg_user_mr_refuses),
	KUNIT_CASE(reg_user_mr_paged),
	KUNIT_CASE_PARAM(pages_refused, barren_row_gen_params),
	KUNIT_CASE(rereg_user_mr_access),
	KUNIT_CASE(rereg_user_mr_pd),
	KUNIT_CASE(rereg_user_mr_all),
	KUNIT_CASE(rereg_user_mr_failure_changes_nothing),
	KUNIT_CASE(rereg_user_mr_refuses_bound_windows),
	KUNIT_CASE(reg_dm_mr_any_place),
	KUNIT_CASE(reg_dm_mr_access),
	{ }
};

static struct kunit_suite mr_test_suite = {
	.name = "weft_mr",
	.init = mr_test_init,
	.exit = mr_test_exit,
	.test_cases = mr_test_cases,
};

kunit_test_suite(mr_test_suite);
