/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: pinned user memory, ODP (on-demand paging) user memory, dma-bufs, device
 * memory, the kernel's DMA region, and kernel memory for fast registration.
 *
 * Most of the functions are methods of ib_device_ops; the comments say what is particular here.
 */
#ifndef WEFT_OBJECT_MR_H
#define WEFT_OBJECT_MR_H

#include <rdma/ib_verbs.h>

#include "mem/region.h"

struct ib_dm_mr_attr;
struct ib_dmah;
struct ib_umem;
struct scatterlist;
struct uverbs_attr_bundle;
struct weft_dev;
struct weft_dmabuf;

/*
 * A memory region. Needs no lock: the core makes no other call for an MR while it registers,
 * reregisters or deregisters it.
 */
struct weft_mr {
	struct ib_mr		ib_mr;		/* allocated and freed here, not by the core */
	struct weft_dev		*dev;
	struct weft_region	*region;	/* that the keys name */
	struct ib_umem		*umem;		/* pinned memory, or NULL */
	bool			user;		/* pinned, ODP or empty; may be reregistered */
	struct weft_dmabuf	*dmabuf;	/* or NULL */
	struct weft_piece	piece;		/* the memory of @dmabuf, for @region */
	u64			iova;		/* as the consumer gave it, even if IB_ZERO_BASED */
	int			access;		/* enum ib_access_flags, likewise */
};

static inline struct weft_mr *to_weft_mr(struct ib_mr *ib_mr)
{
	return container_of(ib_mr, struct weft_mr, ib_mr);
}

/* All kernel memory. Memory windows cannot be bound to it. Return: ERR_PTR(): -ENOMEM. */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access);

/*
 * A region for fast registration of up to @max_num_sg blocks (IB_MR_TYPE_MEM_REG), or pieces
 * (IB_MR_TYPE_SG_GAPS, which grants no atomics).
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: other type; -EINVAL: too many blocks; -ENOMEM.
 */
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);

/*
 * See ib_map_mr_sg(). Prepares what the next REG_MR work request registers; what is registered
 * now stays.
 */
int weft_map_mr_sg(struct ib_mr *ib_mr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);

/*
 * Pin user memory and make a region of it; with IB_ACCESS_ON_DEMAND, make a region of an
 * address range, whatever is mapped there at the time of an access.
 *
 * Length 0: only accesses of 0 bytes succeed, and @start is ignored. An ODP region with @start
 * 0 and @length U64_MAX is the whole address space (implicit ODP). @dmah must be NULL, as there
 * is no DMA to steer. @iova counts as 0 with IB_ZERO_BASED. Atomics are not granted if addresses
 * and memory differ in the low three bits (IB_ZERO_BASED with unaligned memory), as no aligned
 * address would be an aligned word.
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: access flags or @dmah; -EINVAL: beyond the end of the address
 * space, implicit region not at 0, or IB_ACCESS_FLUSH_PERSISTENT for ODP or for memory that is
 * not persistent; -ENOMEM, or that of ib_umem_get().
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);

/*
 * @offset is in bytes from the start of the dma-buf; @dmah must be NULL. The region cannot be
 * reregistered or ODP, and has no memory windows or FLUSH. Packets never refer to its pages, as
 * the exporter may not be able to free them one by one.
 *
 * Return: ERR_PTR(): -EINVAL: not within the dma-buf; -EOPNOTSUPP: access flags or @dmah; or that
 * of weft_dmabuf_get().
 */
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);

/*
 * The core has checked offset and length, and requires IB_ZERO_BASED. Atomics are not granted if
 * the offset is not a multiple of eight.
 *
 * Return: ERR_PTR(): -EOPNOTSUPP: access flags (there are no memory windows); -ENOMEM.
 */
struct ib_mr *weft_reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm,
			     struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);

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
				 struct ib_pd *pd, struct ib_udata *udata);

/* Waits for accesses to end. Return: 0; -EBUSY: memory windows are bound, nothing is changed. */
int weft_dereg_mr(struct ib_mr *ib_mr, struct ib_udata *udata);

#endif /* WEFT_OBJECT_MR_H */
