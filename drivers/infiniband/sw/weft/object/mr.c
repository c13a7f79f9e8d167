// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions.
 */
#include "object/mr.h"

#include "compat/placement.h"
#include "compat/umem.h"
#include "mem/fastreg.h"
#include "mem/pi.h"
#include "object/count.h"
#include "object/dev.h"
#include "object/dm.h"
#include "object/dmabuf.h"
#include "object/inject.h"
#include "object/mkey.h"
#include "object/profile.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "pause.h"
#include "ring/pages.h"

#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

/* HUGETLB and OPTIONAL flags are promises and hints, which a copy by the CPU may ignore. */
#define MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED |		  \
			 IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB |	  \
			 COMPAT_ACCESS_FLUSH |				  \
			 IB_ACCESS_OPTIONAL)
#define MR_DMA_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* For dma-bufs and device memory: no windows, no ODP, no FLUSH. */
#define MR_BUFFER_ACCESS	(MR_DMA_ACCESS | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/* The terms of a registration, as the consumer gave them. */
struct mr_terms {
	const struct ib_pd	*pd;
	u64			iova;
	int			access;
};

/* Make room for @num blocks of @size bytes. */
static int mr_alloc_blocks(struct weft_region *region, size_t num, unsigned long size)
{
	/* no warning: the size is the user's choice */
	region->blocks = kvmalloc_array(num, sizeof(*region->blocks),
					GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!region->blocks)
		return -ENOMEM;
	region->page_shift = __ffs(size);
	return 0;
}

static void mr_set_no_blocks(struct weft_region *region)
{
	region->blocks = WEFT_NO_BLOCKS;
	region->page_shift = WEFT_NO_BLOCKS_SHIFT;
}

/*
 * Fill in the address of each block. The first block is that of @umem->address. Elements of the
 * scatterlist begin and end at block boundaries, but for the start of the first one and the end
 * of the last one.
 */
static int mr_map_umem(struct weft_region *region, struct ib_umem *umem)
{
	unsigned long size = ib_umem_find_best_pgsz(umem, PAGE_MASK, umem->address);
	struct scatterlist *sg;
	unsigned int i;
	void **block;
	u64 at, end;

	if (!size)
		return -EINVAL;
	if (mr_alloc_blocks(region, ib_umem_num_dma_blocks(umem, size), size))
		return -ENOMEM;

	block = region->blocks;
	for_each_sgtable_dma_sg(&umem->sgt_append.sgt, sg, i) {
		at = sg_dma_address(sg);
		end = at + sg_dma_len(sg);
		/* the device does no DMA, so a DMA address is a kernel address */
		for (at = ALIGN_DOWN(at, size); at < end; at += size)
			*block++ = (void *)(uintptr_t)at;
		cond_resched();
	}
	return 0;
}

/* @umem: from mr_pin(); NULL: no memory */
static int mr_map(struct weft_region *region, struct ib_umem *umem)
{
	if (umem)
		return mr_map_umem(region, umem);
	mr_set_no_blocks(region);
	return 0;
}

/* @first: address of the first byte, counted from the start of the first block */
static void mr_set_range(struct weft_region *region, const struct mr_terms *terms,
			 u64 first, u64 length)
{
	region->pd = terms->pd;
	region->access = terms->access;
	region->iova = terms->access & IB_ZERO_BASED ? 0 : terms->iova;
	region->length = length;
	region->base = region->iova - first;
	if (!IS_ALIGNED(region->base, sizeof(u64)))
		region->access &= ~IB_ACCESS_REMOTE_ATOMIC;
}

/* The low bits of @start are the offset of the first byte in its block. */
static void mr_set_terms(struct weft_region *region, u64 start, u64 length,
			 const struct mr_terms *terms)
{
	u64 block = 1ULL << region->page_shift;

	mr_set_range(region, terms, start & (block - 1), length);
}

/* An ODP region has no blocks and pins nothing: its memory is looked up for each access. */
static void mr_set_odp(struct weft_region *region, struct mm_struct *mm,
		       const struct mr_terms *terms, u64 start, u64 length)
{
	region->mm = mm;
	mr_set_no_blocks(region);
	mr_set_range(region, terms, start, length);
}

static int mr_check_access(const struct ib_device *ibdev, int access, int allowed)
{
	return access & ~allowed ? weft_refuse(ibdev, -EOPNOTSUPP,
					       "register MR: access %#x is not supported",
					       access & ~allowed) : 0;
}

static int mr_check_range(const struct ib_device *ibdev, const char *name, u64 start, u64 length)
{
	return length && length - 1 > U64_MAX - start ?
	       weft_refuse(ibdev, -EINVAL, "register MR: %s %#llx and length %#llx exceed 64 bits",
			   name, start, length) : 0;
}

static int mr_check(const struct ib_device *ibdev, u64 start, u64 length, u64 iova, int access)
{
	int ret;

	ret = mr_check_access(ibdev, access, MR_ACCESS) ?:
	      mr_check_range(ibdev, "addr", start, length) ?:
	      mr_check_range(ibdev, "hca_va", iova, length);
	if (ret || !(access & IB_ACCESS_ON_DEMAND))
		return ret;
	/* implicit ODP: the address 0 of the region is that of the process */
	if (length == U64_MAX && (start || iova || access & IB_ZERO_BASED))
		return weft_refuse(ibdev, -EINVAL,
				   "register MR: an implicit ODP region starts at 0, not at %#llx with hca_va %#llx",
				   start, iova);
	/* whether ODP memory is persistent is unknown until it is mapped */
	if (access & IB_ACCESS_FLUSH_PERSISTENT)
		return weft_refuse(ibdev, -EINVAL,
				   "register MR: access FLUSH_PERSISTENT excludes ON_DEMAND");
	return 0;
}

/* A process registers one more region. Returns 0, or the errno. */
static int mr_check_profile(struct ib_device *ibdev, const struct ib_udata *udata)
{
	return weft_profile_check(ibdev, udata, WEFT_PROFILE_MRS,
				  atomic_read(&to_weft_dev(ibdev)->num_mr) + 1);
}

/* LEGACY: declared by firmware that is older than the standard for persistent memory. */
static bool mr_range_is_persistent(phys_addr_t start, size_t length)
{
	static const unsigned long kinds[] = {
		IORES_DESC_PERSISTENT_MEMORY, IORES_DESC_PERSISTENT_MEMORY_LEGACY,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (region_intersects(start, length, IORESOURCE_MEM, kinds[i]) ==
		    REGION_INTERSECTS)
			return true;
	return false;
}

/* Whether the memory keeps its content without power, as a FLUSH to persistence promises. */
static bool mr_is_persistent(const struct ib_umem *umem)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		if (!mr_range_is_persistent(page_to_phys(sg_page(sg)), sg->length))
			return false;
		cond_resched();
	}
	return true;
}

static int mr_check_memory(const struct ib_umem *umem, int access)
{
	return access & IB_ACCESS_FLUSH_PERSISTENT && !mr_is_persistent(umem) ?
	       weft_refuse(umem->ibdev, -EINVAL,
			   "register MR: access FLUSH_PERSISTENT, but no persistent memory") : 0;
}

/* Return: see ib_umem_get(); NULL: @length is 0. */
static struct ib_umem *mr_pin(struct ib_device *ibdev, u64 start, u64 length, int access)
{
	struct ib_umem *umem;
	int err;

	if (!length)
		return NULL;
	umem = ib_umem_get_va(ibdev, start, length, access);
	if (IS_ERR(umem))
		return weft_refuse(ibdev, umem,
				   "register MR: cannot pin %llu bytes at %#llx (%ld)", length,
				   start, PTR_ERR(umem));
	err = mr_check_memory(umem, access);
	if (err) {
		ib_umem_release(umem);
		return ERR_PTR(err);
	}
	return umem;
}

static void mr_set_keys(struct weft_mr *mr)
{
	mr->ib_mr.lkey = mr->region->key;
	mr->ib_mr.rkey = mr->region->key;
}

/* Make an MR without memory; its region is not published. */
static struct weft_mr *mr_alloc(struct weft_dev *dev, gfp_t gfp)
{
	struct weft_region *region;
	struct weft_mr *mr;

	if (weft_count_take(&dev->num_mr, WEFT_MAX_MR))
		return ERR_PTR(-ENOMEM);
	mr = weft_inject_no_memory(dev, NULL, WEFT_ALLOC_REGION) ? NULL : kzalloc(sizeof(*mr), gfp);
	if (!mr)
		goto err_give;
	region = weft_region_alloc(&dev->regions, gfp);
	if (IS_ERR(region))
		goto err_free;
	mr->dev = dev;
	mr->region = region;
	mr_set_keys(mr);
	return mr;

err_free:
	kfree(mr);
err_give:
	weft_count_give(&dev->num_mr);
	return ERR_PTR(-ENOMEM);
}

static void mr_free(struct weft_mr *mr)
{
	weft_count_give(&mr->dev->num_mr);
	kfree(mr);
}

static void mr_publish(struct weft_mr *mr)
{
	weft_pause(WEFT_PAUSE_MR_REG_MAPPED);
	weft_region_publish(mr->region);
	weft_dev_stats_inc(mr->dev, WEFT_DEV_STAT_REGISTRATIONS);
}

/* Undo mr_alloc(). */
static void mr_discard(struct weft_mr *mr)
{
	weft_region_kill(mr->region);
	mr_free(mr);
}

/* All kernel memory. Memory windows cannot be bound to it. Return: ERR_PTR(): -ENOMEM. */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access)
{
	struct weft_mr *mr = mr_alloc(to_weft_dev(pd->device), GFP_KERNEL);

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->region->pd = pd;
	mr->region->access = access & MR_DMA_ACCESS;
	mr->region->length = U64_MAX;
	mr->access = access;
	mr_publish(mr);
	return &mr->ib_mr;
}
WEFT_EXPORT_FOR_TEST(weft_get_dma_mr);

static int mr_prepare_fastreg(struct weft_region *region, struct ib_pd *pd, u32 max, u32 max_meta,
			      bool gaps)
{
	int err = max_meta ? weft_pi_create(region, max, max_meta) : 0;

	if (err)
		return err;
	err = weft_fastreg_create(region, pd, max + max_meta, gaps);
	if (err)
		weft_pi_free(region->pi);
	return err;
}

/*
 * A region for fast registration of up to @max blocks, or pieces if @gaps. With a @max_meta of more
 * than 0 it has protection information, and @gaps: @max pieces of data and @max_meta of tuples.
 */
struct ib_mr *weft_mr_alloc_fastreg(struct ib_pd *pd, u32 max, u32 max_meta, bool gaps)
{
	struct weft_mr *mr = mr_alloc(to_weft_dev(pd->device), GFP_KERNEL);
	int err;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_prepare_fastreg(mr->region, pd, max, max_meta, gaps);
	if (err) {
		mr_discard(mr);
		return ERR_PTR(err);
	}
	mr_publish(mr);
	return &mr->ib_mr;
}

/*
 * A region for fast registration of up to @max_num_sg blocks (IB_MR_TYPE_MEM_REG), or pieces
 * (IB_MR_TYPE_SG_GAPS, which grants no atomics).
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: other type; -EINVAL: too many blocks; -ENOMEM.
 */
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	int err;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(weft_refuse(pd->device, -EOPNOTSUPP,
					   "allocate MR: type %u is not supported", type));
	err = weft_inject_verb(pd->device, WEFT_VERB_ALLOC_MR) ?:
	      weft_check_range(pd->device, "allocate MR", "max_num_sg", max_num_sg, 1,
			       WEFT_MAX_FASTREG_BLOCKS);
	if (err)
		return ERR_PTR(err);
	return weft_mr_alloc_fastreg(pd, max_num_sg, 0, type == IB_MR_TYPE_SG_GAPS);
}
WEFT_EXPORT_FOR_TEST(weft_alloc_mr);

/* The device does no DMA, so a DMA address is a kernel address. */
static int mr_add_block(struct ib_mr *ib_mr, u64 addr)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;

	if (fastreg->num == fastreg->max)
		return -ENOMEM;
	fastreg->blocks[fastreg->num++] = (void *)(uintptr_t)addr;
	return 0;
}

/*
 * Describe a list of elements, which need not be aligned, as pieces. Return: the number of elements
 * described, at most @max; @length: their bytes.
 */
u32 weft_mr_add_pieces(struct weft_piece *pieces, u32 max, struct scatterlist *sgl, int sg_nents,
		       unsigned int *sg_offset, u64 *length)
{
	u32 skip = sg_offset ? *sg_offset : 0, i;
	struct scatterlist *sg;

	*length = 0;
	for_each_sg(sgl, sg, min_t(u32, sg_nents, max), i) {
		pieces[i].start = *length;
		pieces[i].addr = (void *)(uintptr_t)sg_dma_address(sg) + skip;
		*length += sg_dma_len(sg) - skip;
		skip = 0;
	}
	if (sg_offset)
		*sg_offset = 0;
	return i;
}

/* For IB_MR_TYPE_SG_GAPS. Return: the number of elements added. */
static int mr_add_pieces(struct ib_mr *ib_mr, struct scatterlist *sgl, int sg_nents,
			 unsigned int *sg_offset)
{
	struct weft_fastreg *fastreg = to_weft_mr(ib_mr)->region->fastreg;

	ib_mr->iova = sg_dma_address(sgl) + (sg_offset ? *sg_offset : 0);
	fastreg->num = weft_mr_add_pieces(fastreg->pieces, fastreg->max, sgl, sg_nents, sg_offset,
					  &ib_mr->length);
	return fastreg->num;
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

/*
 * See ib_map_mr_sg(). Prepares what the next REG_MR work request registers; what is registered
 * now stays.
 */
int weft_map_mr_sg(struct ib_mr *ib_mr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	const struct weft_region *region = to_weft_mr(ib_mr)->region;
	struct weft_fastreg *fastreg = region->fastreg;
	int num;

	if (!fastreg || region->pi)
		return weft_refuse(ib_mr->device, -EINVAL,
				   "map MR: lkey %#x is not of ib_alloc_mr()", ib_mr->lkey);
	if (fastreg->pieces)
		num = mr_add_pieces(ib_mr, sg, sg_nents, sg_offset);
	else
		num = mr_add_blocks(ib_mr, sg, sg_nents, sg_offset);
	fastreg->length = ib_mr->length;
	return num;
}
WEFT_EXPORT_FOR_TEST(weft_map_mr_sg);

static struct ib_mr *mr_reg_odp(u64 start, u64 length, const struct mr_terms *terms,
				struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(terms->pd->device);
	struct weft_odp_queue *queue;
	struct weft_mr *mr;

	if (!current->mm)
		return ERR_PTR(weft_refuse(&dev->ibdev, -EINVAL,
					   "register MR: a kernel thread has no memory for ODP"));
	queue = weft_udata_odp_queue(udata);
	if (IS_ERR(queue))
		return ERR_CAST(queue);
	mr = mr_alloc(dev, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mmgrab(current->mm);
	mr->region->tgid = get_task_pid(current, PIDTYPE_TGID);
	mr->region->odp_queue = queue;
	mr->user = true;
	mr->iova = terms->iova;
	mr->access = terms->access;
	mr->ib_mr.length = length;
	mr_set_odp(mr->region, current->mm, terms, start, length);
	mr_publish(mr);
	return &mr->ib_mr;
}

/*
 * Pin user memory and make a region of it; with IB_ACCESS_ON_DEMAND, make a region of an
 * address range, whatever is mapped there at the time of an access.
 *
 * Length 0: only accesses of 0 bytes succeed, and @start is ignored. An ODP region with @start
 * 0 and @length U64_MAX is the whole address space (implicit ODP). The hints of @dmah have no
 * effect: processors copy all data. @iova counts as 0 with IB_ZERO_BASED. Atomics are not granted
 * if addresses and memory differ in the low three bits (IB_ZERO_BASED with unaligned memory), as no
 * aligned address would be an aligned word.
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: access flags, or @dmah for ODP; -EINVAL: beyond the end of the
 * address space, implicit region not at 0, or IB_ACCESS_FLUSH_PERSISTENT for ODP or for memory
 * that is not persistent; -ENOMEM, or that of ib_umem_get().
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata)
{
	struct mr_terms terms = { .pd = pd, .iova = iova, .access = access };
	struct weft_mr *mr;
	int err;

	if (dmah && (access & IB_ACCESS_ON_DEMAND))
		return ERR_PTR(weft_refuse(pd->device, -EOPNOTSUPP,
					   "register MR: no DMA handle with on-demand paging"));
	err = weft_udata_empty(udata);
	if (err)
		return ERR_PTR(weft_refuse_request(pd->device, err, "register MR", udata));
	err = weft_inject_verb(pd->device, WEFT_VERB_REG_MR) ?:
	      mr_check(pd->device, start, length, iova, access) ?:
	      mr_check_profile(pd->device, udata);
	if (err)
		return ERR_PTR(err);
	if (access & IB_ACCESS_ON_DEMAND)
		return mr_reg_odp(start, length, &terms, udata);

	mr = mr_alloc(to_weft_dev(pd->device), GFP_KERNEL_ACCOUNT);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->umem = weft_inject_no_memory(mr->dev, NULL, WEFT_ALLOC_PAGES) ?
		   ERR_PTR(-ENOMEM) : mr_pin(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_discard;
	}
	err = mr_map(mr->region, mr->umem);
	if (err)
		goto err_release_umem;

	mr->user = true;
	mr->iova = iova;
	mr->access = access;
	mr->ib_mr.length = length;
	mr_set_terms(mr->region, start, length, &terms);
	mr_publish(mr);
	return &mr->ib_mr;

err_release_umem:
	ib_umem_release(mr->umem);
err_discard:
	mr_discard(mr);
	return ERR_PTR(err);
}
WEFT_EXPORT_FOR_TEST(weft_reg_user_mr);

/* Map the dma-buf of @fd. Undone by weft_dmabuf_put(). */
static int mr_map_dmabuf(struct weft_mr *mr, struct device *dev, int fd, u64 offset,
			 u64 length, int access)
{
	struct weft_region *region = mr->region;
	struct weft_dmabuf *buf;

	buf = weft_dmabuf_get(dev, fd, ib_access_writable(access));
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	mr->piece.addr = weft_dmabuf_at(buf, offset, length);
	if (!mr->piece.addr) {
		weft_dmabuf_put(buf);
		return weft_refuse(&mr->dev->ibdev, -EINVAL,
				   "register dma-buf MR: offset %llu and length %llu are beyond the buffer",
				   offset, length);
	}
	mr->dmabuf = buf;
	region->pieces = &mr->piece;
	region->num_pieces = 1;
	region->page_shift = PAGE_SHIFT;
	return 0;
}

/*
 * @offset is in bytes from the start of the dma-buf. The hints of @dmah have no effect. The region
 * cannot be reregistered or ODP, and has no memory windows or FLUSH. Packets never refer to its
 * pages, as the exporter may not be able to free them one by one.
 *
 * Return: ERR_PTR(): -EINVAL: not within the dma-buf; -EOPNOTSUPP: access flags; or that of
 * weft_dmabuf_get().
 */
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	struct mr_terms terms = { .pd = pd, .iova = iova, .access = access };
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct weft_mr *mr;
	int err;

	err = weft_udata_empty(udata);
	if (err)
		return ERR_PTR(weft_refuse_request(pd->device, err, "register MR", udata));
	err = weft_inject_verb(pd->device, WEFT_VERB_REG_MR) ?:
	      mr_check_access(pd->device, access, MR_BUFFER_ACCESS) ?:
	      mr_check(pd->device, offset, length, iova, access) ?:
	      mr_check_profile(pd->device, udata);
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(to_weft_dev(pd->device), GFP_KERNEL_ACCOUNT);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_map_dmabuf(mr, &pd->device->dev, fd, offset, length, access);
	if (err) {
		mr_discard(mr);
		return ERR_PTR(err);
	}
	mr->iova = iova;
	mr->access = access;
	mr->ib_mr.length = length;
	mr_set_terms(mr->region, (uintptr_t)mr->piece.addr, length, &terms);
	mr_publish(mr);
	return &mr->ib_mr;
}

/* Fill in the address of each page of @dm from @offset on. */
static int mr_map_dm(struct weft_region *region, const struct weft_dm *dm, u64 offset,
		     u64 length)
{
	size_t first = offset >> PAGE_SHIFT, i;
	size_t num = PFN_UP(offset + length) - first;

	if (mr_alloc_blocks(region, num, PAGE_SIZE))
		return -ENOMEM;
	for (i = 0; i < num; i++)
		region->blocks[i] = weft_pages_linear(dm->pages, first + i);
	return 0;
}

/*
 * The core has checked offset and length, and requires IB_ZERO_BASED. Atomics are not granted if
 * the offset is not a multiple of eight.
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: access flags (there are no memory windows); -ENOMEM.
 */
struct ib_mr *weft_reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm,
			     struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct mr_terms terms = { .pd = pd, .access = attr->access_flags };
	struct weft_mr *mr;
	int err;

	err = weft_inject_verb(pd->device, WEFT_VERB_REG_DM_MR) ?:
	      mr_check_access(pd->device, attr->access_flags, MR_BUFFER_ACCESS) ?:
	      mr_check_profile(pd->device, attrs ? &attrs->driver_udata : NULL);
	if (err)
		return ERR_PTR(err);
	mr = mr_alloc(to_weft_dev(pd->device), GFP_KERNEL_ACCOUNT);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_map_dm(mr->region, to_weft_dm(dm), attr->offset, attr->length);
	if (err) {
		mr_discard(mr);
		return ERR_PTR(err);
	}
	mr->access = attr->access_flags;
	mr->ib_mr.length = attr->length;
	mr_set_terms(mr->region, attr->offset, attr->length, &terms);
	mr_publish(mr);
	return &mr->ib_mr;
}
WEFT_EXPORT_FOR_TEST(weft_reg_dm_mr);

/* Replace the region of @mr by @region, whose memory is @umem. */
static int mr_replace(struct weft_mr *mr, struct weft_region *region,
		      struct ib_umem *umem)
{
	struct ib_umem *old_umem = mr->umem;
	struct weft_region *old = mr->region;
	void **blocks = old->blocks;

	weft_pause(WEFT_PAUSE_MR_REREG_NEW);
	if (!weft_region_seal(old))
		return weft_refuse(&mr->dev->ibdev, -EBUSY,
				   "reregister MR: windows are bound to lkey %#x", mr->ib_mr.lkey);
	weft_mkey_part_ends(old);
	/* cannot fail: nobody else replaces or withdraws the region of an MR */
	WARN_ON(!weft_region_replace(old, region));
	mr->region = region;
	mr->umem = umem;
	weft_pause(WEFT_PAUSE_MR_REREG_REPLACED);
	weft_region_kill(old);
	if (umem != old_umem) {
		kvfree(blocks);
		ib_umem_release(old_umem);
	}
	return 0;
}

/* Change the terms of @mr but not its memory. */
static int mr_change_terms(struct weft_mr *mr, u64 start, u64 length,
			   const struct mr_terms *terms)
{
	struct weft_region *region;
	int err;

	err = mr->umem ? mr_check_memory(mr->umem, terms->access) : 0;
	if (err)
		return err;
	region = weft_region_successor(mr->region, GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	mr_set_terms(region, start, length, terms);
	err = mr_replace(mr, region, mr->umem);
	if (err)
		kfree(region);
	return err;
}

/* Change the terms of @mr and its memory. */
static int mr_change_memory(struct weft_mr *mr, u64 start, u64 length,
			    const struct mr_terms *terms)
{
	struct weft_region *region;
	struct ib_umem *umem;
	int err;

	umem = mr_pin(mr->ib_mr.device, start, length, terms->access);
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
	mr_set_terms(region, start, length, terms);
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
	return ib_access_writable(access) && mr->umem && !mr->umem->writable;
}

/* Change the terms and the address range of an ODP region. */
static int mr_change_odp(struct weft_mr *mr, u64 start, u64 length,
			 const struct mr_terms *terms)
{
	struct weft_region *region;
	int err;

	region = weft_region_successor(mr->region, GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	mr_set_odp(region, mr->region->mm, terms, start, length);
	err = mr_replace(mr, region, NULL);
	if (err)
		kfree(region);
	return err;
}

static int mr_refuse_owner(const struct weft_mr *mr)
{
	return weft_refuse(&mr->dev->ibdev, -EINVAL,
			   "reregister MR: lkey %#x is memory of another process", mr->ib_mr.lkey);
}

static int mr_change(struct weft_mr *mr, int flags, u64 start, u64 length,
		     const struct mr_terms *terms)
{
	const struct mm_struct *odp = mr->region->mm;

	if (!(terms->access & IB_ACCESS_ON_DEMAND) != !odp)
		return weft_refuse(&mr->dev->ibdev, -EOPNOTSUPP,
				   "reregister MR: access ON_DEMAND cannot change");
	if (odp && flags & IB_MR_REREG_TRANS && odp != current->mm)
		return mr_refuse_owner(mr);
	if (odp)
		return mr_change_odp(mr, start, length, terms);
	if (flags & IB_MR_REREG_TRANS)
		return mr_change_memory(mr, start, length, terms);
	if (!mr_needs_pin(mr, terms->access))
		return mr_change_terms(mr, start, length, terms);
	return mr->umem->owning_mm == current->mm ?
	       mr_change_memory(mr, start, length, terms) : mr_refuse_owner(mr);
}

/*
 * Change a region of weft_reg_user_mr(), and keep its keys. Returns when no access under the
 * old terms is left. Memory that was pinned read-only is pinned again when it becomes writable.
 * A failure leaves the region as it was.
 *
 * Return: NULL: @ib_mr has been changed; ERR_PTR(): -EBUSY: memory windows are bound; -EINVAL:
 * not user memory, or of another process; -EOPNOTSUPP: between ODP and pinned; or that of
 * weft_reg_user_mr().
 */
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib_mr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib_mr);
	struct mr_terms terms = { };
	int err;

	if (!mr->user)
		return ERR_PTR(weft_refuse(ib_mr->device, -EINVAL,
					   "reregister MR: lkey %#x is not of ibv_reg_mr()",
					   ib_mr->lkey));
	err = weft_udata_empty(udata);
	if (err)
		return ERR_PTR(weft_refuse_request(ib_mr->device, err, "reregister MR", udata));
	if (flags & ~IB_MR_REREG_SUPPORTED)
		return ERR_PTR(weft_refuse(ib_mr->device, -EOPNOTSUPP,
					   "reregister MR: flags %#x are not supported",
					   (u32)(flags & ~IB_MR_REREG_SUPPORTED)));
	if (!(flags & IB_MR_REREG_TRANS)) {
		start = mr->umem ? mr->umem->address : mr->region->iova - mr->region->base;
		length = mr->region->length;
		iova = mr->iova;
	}
	terms.pd = flags & IB_MR_REREG_PD ? pd : ib_mr->pd;
	terms.access = flags & IB_MR_REREG_ACCESS ? access : mr->access;
	terms.iova = iova;
	err = weft_inject_verb(ib_mr->device, WEFT_VERB_REREG_MR) ?:
	      mr_check(ib_mr->device, start, length, iova, terms.access);
	if (err)
		return ERR_PTR(err);

	err = mr_change(mr, flags, start, length, &terms);
	if (err)
		return ERR_PTR(err);
	mr->iova = iova;
	mr->access = terms.access;
	ib_mr->length = length;
	return NULL;
}
WEFT_EXPORT_FOR_TEST(weft_rereg_user_mr);

static int mr_end(struct weft_mr *mr)
{
	struct mm_struct *mm = mr->region->mm;
	struct pid *tgid = mr->region->tgid;
	void **blocks = mr->region->blocks;

	if (mr->region->fastreg) {
		weft_fastreg_destroy(mr->region);
		return 0;
	}
	if (!weft_region_seal(mr->region))
		return weft_refuse(&mr->dev->ibdev, -EBUSY,
				   "deregister MR: windows are bound to lkey %#x", mr->ib_mr.lkey);
	weft_mkey_part_ends(mr->region);
	weft_pause(WEFT_PAUSE_MR_DEREG_SEALED);
	weft_region_kill(mr->region);
	if (mm) {
		mmdrop(mm);
		put_pid(tgid);
		return 0;
	}
	kvfree(blocks);
	ib_umem_release(mr->umem);
	weft_dmabuf_put(mr->dmabuf);
	return 0;
}

/* Waits for accesses to end. Return: 0; -EBUSY: memory windows are bound, nothing is changed. */
int weft_dereg_mr(struct ib_mr *ib_mr, struct ib_udata *udata)
{
	struct weft_mr *mr = to_weft_mr(ib_mr);
	int err = mr_end(mr);

	if (!err)
		mr_free(mr);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_dereg_mr);
