// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions.
 */
#include "object/mr.h"

#include "compat/umem.h"
#include "mem/fastreg.h"
#include "mem/region.h"
#include "object/dev.h"

#include <linux/sched.h>
#include <linux/slab.h>

#include <rdma/iter.h>

/* What remains are promises and hints that a copy by the CPU need not use. */
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED |		  \
			 IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)
#define MR_DMA_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Blocks of a region that are looked up in one go. */
#define MR_BLOCKS_BATCH	SZ_64K

/**
 * struct mr_terms - what a region is registered for
 * @pd: protection domain
 * @iova: as the consumer gave it
 * @access: as the consumer gave it
 */
struct mr_terms {
	const struct ib_pd	*pd;
	u64			iova;
	int			access;
};

/* Look the address of each block up. Blocks are counted from @umem->address. */
static int mr_map(struct weft_region *region, struct ib_umem *umem)
{
	unsigned long size = ib_umem_find_best_pgsz(umem, PAGE_MASK, umem->address);
	struct ib_block_iter biter;
	size_t i = 0;

	if (!size)
		return -EINVAL;
	/* no warning: the size is the user's choice */
	region->blocks = kvmalloc_array(ib_umem_num_dma_blocks(umem, size),
					sizeof(*region->blocks),
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!region->blocks)
		return -ENOMEM;
	region->page_shift = __ffs(size);

	/* there is no DMA: a DMA address is a kernel address */
	rdma_umem_for_each_dma_block(umem, &biter, size) {
		region->blocks[i++] =
			(void *)(uintptr_t)rdma_block_iter_dma_address(&biter);
		if (i % MR_BLOCKS_BATCH == 0)
			cond_resched();
	}
	return 0;
}

static void mr_set_terms(struct weft_region *region, const struct ib_umem *umem,
			 const struct mr_terms *terms)
{
	u64 block = 1ULL << region->page_shift;

	region->pd = terms->pd;
	region->access = terms->access;
	region->iova = terms->access & IB_ZERO_BASED ? 0 : terms->iova;
	region->length = umem->length;
	region->base = region->iova - (umem->address & (block - 1));
	if (!IS_ALIGNED(region->base, sizeof(u64)))
		region->access &= ~IB_ACCESS_REMOTE_ATOMIC;
}

static int mr_check(u64 start, u64 length, u64 iova, int access)
{
	if (access & ~MR_ACCESS)
		return -EOPNOTSUPP;
	if (!length || length - 1 > U64_MAX - start || length - 1 > U64_MAX - iova)
		return -EINVAL;
	return 0;
}

static void mr_set_keys(struct weft_mr *mr)
{
	mr->ib_mr.lkey = mr->region->key;
	mr->ib_mr.rkey = mr->region->key;
}

/* A kernel consumer's MR, with a region that is not published. */
static struct weft_mr *mr_alloc(struct weft_dev *dev)
{
	struct weft_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	struct weft_region *region;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	region = weft_region_alloc(&dev->regions, GFP_KERNEL);
	if (IS_ERR(region)) {
		kfree(mr);
		return ERR_CAST(region);
	}
	mr->region = region;
	mr_set_keys(mr);
	return mr;
}

struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = mr_alloc(to_weft_dev(pd->device));

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->region->pd = pd;
	mr->region->access = access & MR_DMA_ACCESS;
	mr->region->length = U64_MAX;
	mr->access = access;
	weft_region_publish(mr->region);
	return &mr->ib_mr;
}
WEFT_EXPORT_FOR_TEST(weft_get_dma_mr);

struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct weft_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > WEFT_MAX_FASTREG_BLOCKS)
		return ERR_PTR(-EINVAL);
	mr = mr_alloc(to_weft_dev(pd->device));
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = weft_fastreg_create(mr->region, pd, max_num_sg, type == IB_MR_TYPE_SG_GAPS);
	if (err) {
		weft_region_kill(mr->region);
		kfree(mr);
		return ERR_PTR(err);
	}
	weft_region_publish(mr->region);
	return &mr->ib_mr;
}
WEFT_EXPORT_FOR_TEST(weft_alloc_mr);

/* There is no DMA: a DMA address is a kernel address. */
static int mr_add_block(struct ib_mr *ib_mr, u64 addr)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;

	if (fastreg->num == fastreg->max)
		return -ENOMEM;
	fastreg->blocks[fastreg->num++] = (void *)(uintptr_t)addr;
	return 0;
}

/* A list of any pieces. Return: elements that are in it. */
static int mr_add_pieces(struct ib_mr *ib_mr, struct scatterlist *sgl, int sg_nents,
			 unsigned int *sg_offset)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;
	u32 skip = sg_offset ? *sg_offset : 0;
	struct scatterlist *sg;
	int i;

	ib_mr->iova = sg_dma_address(sgl) + skip;
	ib_mr->length = 0;
	for_each_sg(sgl, sg, min_t(u32, sg_nents, fastreg->max), i) {
		fastreg->pieces[i].start = ib_mr->length;
		fastreg->pieces[i].addr = (void *)(uintptr_t)sg_dma_address(sg) + skip;
		ib_mr->length += sg_dma_len(sg) - skip;
		skip = 0;
	}
	if (sg_offset)
		*sg_offset = 0;
	fastreg->num = i;
	return i;
}

static int mr_add_blocks(struct ib_mr *ib_mr, struct scatterlist *sgl, int sg_nents,
			 unsigned int *sg_offset)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;
	int num;

	fastreg->num = 0;
	num = ib_sg_to_pages(ib_mr, sgl, sg_nents, sg_offset, mr_add_block);
	fastreg->page_shift = ilog2(ib_mr->page_size);
	fastreg->offset = ib_mr->iova & (ib_mr->page_size - 1);
	return num;
}

int weft_map_mr_sg(struct ib_mr *ib_mr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;
	int num;

	if (!fastreg)
		return -EINVAL;
	if (fastreg->pieces)
		num = mr_add_pieces(ib_mr, sg, sg_nents, sg_offset);
	else
		num = mr_add_blocks(ib_mr, sg, sg_nents, sg_offset);
	fastreg->length = ib_mr->length;
	return num;
}
WEFT_EXPORT_FOR_TEST(weft_map_mr_sg);

struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	struct mr_terms terms = { .pd = pd, .iova = iova, .access = access };
	struct weft_dev *dev = to_weft_dev(pd->device);
	struct weft_mr *mr;
	int err;

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	err = mr_check(start, length, iova, access);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ib_umem_get_va(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_free_mr;
	}
	mr->region = weft_region_alloc(&dev->regions, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(mr->region)) {
		err = PTR_ERR(mr->region);
		goto err_release_umem;
	}
	err = mr_map(mr->region, mr->umem);
	if (err)
		goto err_kill_region;

	mr->iova = iova;
	mr->access = access;
	mr_set_terms(mr->region, mr->umem, &terms);
	mr_set_keys(mr);
	weft_region_publish(mr->region);
	return &mr->ib_mr;

err_kill_region:
	weft_region_kill(mr->region);
err_release_umem:
	ib_umem_release(mr->umem);
err_free_mr:
	kfree(mr);
	return ERR_PTR(err);
}
WEFT_EXPORT_FOR_TEST(weft_reg_user_mr);

/* Put @region, with @umem, in the place of the region of @mr. */
static int mr_replace(struct weft_mr *mr, struct weft_region *region,
		      struct ib_umem *umem)
{
	struct ib_umem *old_umem = mr->umem;
	struct weft_region *old = mr->region;
	void **blocks = old->blocks;

	if (!weft_region_seal(old))
		return -EBUSY;
	/* nobody else replaces or withdraws a memory region */
	WARN_ON(!weft_region_replace(old, region));
	mr->region = region;
	mr->umem = umem;
	weft_region_kill(old);
	if (umem != old_umem) {
		kvfree(blocks);
		ib_umem_release(old_umem);
	}
	return 0;
}

/* Change the region of @mr but not the memory it is made of. */
static int mr_change_terms(struct weft_mr *mr, const struct mr_terms *terms)
{
	struct weft_region *region;
	int err;

	region = weft_region_successor(mr->region, GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	mr_set_terms(region, mr->umem, terms);
	err = mr_replace(mr, region, mr->umem);
	if (err)
		kfree(region);
	return err;
}

/* Change the region of @mr and the memory it is made of. */
static int mr_change_memory(struct weft_mr *mr, u64 start, u64 length,
			    const struct mr_terms *terms)
{
	struct weft_region *region;
	struct ib_umem *umem;
	int err;

	umem = ib_umem_get_va(mr->ib_mr.device, start, length, terms->access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	region = weft_region_successor(mr->region, GFP_KERNEL_ACCOUNT);
	if (!region) {
		err = -ENOMEM;
		goto err_release_umem;
	}
	err = mr_map(region, umem);
	if (err)
		goto err_free_region;
	mr_set_terms(region, umem, terms);
	err = mr_replace(mr, region, umem);
	if (err)
		goto err_free_blocks;
	return 0;

err_free_blocks:
	kvfree(region->blocks);
err_free_region:
	kfree(region);
err_release_umem:
	ib_umem_release(umem);
	return err;
}

/* Whether the memory of @mr has to be pinned again for @access. */
static bool mr_needs_pin(const struct weft_mr *mr, int access)
{
	return ib_access_writable(access) && !mr->umem->writable;
}

struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib_mr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib_mr);
	struct mr_terms terms = { };
	int err;

	if (!mr->umem)
		return ERR_PTR(-EINVAL);
	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem->address;
		length = mr->umem->length;
		iova = mr->iova;
	}
	terms.pd = flags & IB_MR_REREG_PD ? pd : ib_mr->pd;
	terms.access = flags & IB_MR_REREG_ACCESS ? access : mr->access;
	terms.iova = iova;
	err = mr_check(start, length, iova, terms.access);
	if (err)
		return ERR_PTR(err);

	if (flags & IB_MR_REREG_TRANS)
		err = mr_change_memory(mr, start, length, &terms);
	else if (!mr_needs_pin(mr, terms.access))
		err = mr_change_terms(mr, &terms);
	else if (mr->umem->owning_mm == current->mm)
		err = mr_change_memory(mr, start, length, &terms);
	else
		err = -EINVAL;
	if (err)
		return ERR_PTR(err);
	mr->iova = iova;
	mr->access = terms.access;
	return NULL;
}
WEFT_EXPORT_FOR_TEST(weft_rereg_user_mr);

static int mr_end(struct weft_mr *mr)
{
	void **blocks = mr->region->blocks;

	if (mr->region->fastreg) {
		weft_fastreg_destroy(mr->region);
		return 0;
	}
	if (!weft_region_seal(mr->region))
		return -EBUSY;
	weft_region_kill(mr->region);
	kvfree(blocks);
	ib_umem_release(mr->umem);
	return 0;
}

int weft_dereg_mr(struct ib_mr *ib_mr, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib_mr);
	int err = mr_end(mr);

	if (!err)
		kfree(mr);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_dereg_mr);
