/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: user memory that stays pinned, user memory that is odp
 * (on-demand odp), the kernel's DMA region, and kernel memory for fast registration.
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

/**
 * struct weft_mr - a memory region
 *
 * The core calls nothing else for an MR while it registers, reregisters or
 * deregisters it, so no lock is needed.
 *
 * @ib_mr: allocated and freed here, not by the core
 * @dev: the device, which counts it
 * @region: what the keys name; owns the blocks
 * @umem: the memory that is pinned, or NULL
 * @user: of user memory: pinned, ODP, or of length 0; can be reregistered
 * @dmabuf: the memory, if it is that of a dma-buf, or NULL
 * @piece: what the region of a dma-buf is made of
 * @iova: as the consumer gave it, IB_ZERO_BASED or not
 * @access: enum ib_access_flags as the consumer gave them
 */
struct weft_mr {
	struct ib_mr		ib_mr;
	struct weft_dev		*dev;
	struct weft_region	*region;
	struct ib_umem		*umem;
	bool			user;
	struct weft_dmabuf	*dmabuf;
	struct weft_piece	piece;
	u64			iova;
	int			access;
};

static inline struct weft_mr *to_weft_mr(struct ib_mr *ib_mr)
{
	return container_of(ib_mr, struct weft_mr, ib_mr);
}

/**
 * weft_get_dma_mr - make a region of all kernel memory
 * @pd: of a kernel consumer
 * @access: enum ib_access_flags; memory windows cannot be bound to it
 *
 * Return: the MR, or ERR_PTR(-ENOMEM).
 */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access);

/**
 * weft_alloc_mr - make a region for fast registration
 * @pd: of a kernel consumer
 * @type: IB_MR_TYPE_MEM_REG or IB_MR_TYPE_SG_GAPS
 * @max_num_sg: blocks, or elements, it has room for
 *
 * Of a list with gaps no atomics are granted.
 *
 * Return: the MR, or ERR_PTR(): -EOPNOTSUPP: another type; -EINVAL: too many blocks;
 * -ENOMEM.
 */
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);

/**
 * weft_map_mr_sg - prepare what the next REG_MR work request registers
 * @ib_mr: from weft_alloc_mr(); its page_size is set, its iova and length are
 *	results
 * @sg: mapped by ib_dma_map_sg()
 * @sg_nents: elements
 * @sg_offset: of the first byte in the first element; result: of the first one
 *	that is left out, in its element; may be NULL
 *
 * What is registered now stays.
 *
 * Return: elements that were mapped, or -EINVAL.
 */
int weft_map_mr_sg(struct ib_mr *ib_mr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);

/**
 * weft_reg_user_mr - pin user memory and make a region of it; with IB_ACCESS_ON_DEMAND
 *	make a region of an address range, whatever is there when it is accessed
 * @pd: protection domain
 * @start: user address
 * @length: bytes; 0: only accesses of no bytes succeed, and @start is not looked at; with
 *	IB_ACCESS_ON_DEMAND and @start 0, U64_MAX is the whole address space (implicit)
 * @iova: address of the first byte for work requests; taken as 0 with
 *	IB_ZERO_BASED
 * @access: enum ib_access_flags, checked by the core against the device
 * @dmah: must be NULL: there is no DMA to steer
 * @udata: unused
 *
 * Atomics are not granted when addresses and memory differ in the low three
 * bits (an IB_ZERO_BASED region at an odd place): no word would be aligned.
 *
 * Return: the MR, or ERR_PTR(): -EOPNOTSUPP: access flags not supported, or @dmah;
 * -EINVAL: beyond the end of the address space, or an implicit region not at 0, or
 * IB_ACCESS_FLUSH_PERSISTENT for memory that is not persistent or not known yet; what
 * ib_umem_get() returned; -ENOMEM.
 */
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
			       int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);

/**
 * weft_reg_user_mr_dmabuf - make a region of a dma-buf
 * @pd: protection domain
 * @offset: bytes of the dma-buf before it
 * @length: bytes, may be 0
 * @iova: address of the first byte for work requests
 * @fd: file descriptor of the dma-buf
 * @access: enum ib_access_flags, checked by the core
 * @dmah: must be NULL: there is no DMA to steer
 * @attrs: unused
 *
 * It cannot be reregistered. Packets never refer to its pages: whoever exports
 * them may not let go of them one by one.
 *
 * Return: the MR, or ERR_PTR(): -EINVAL: not inside of the dma-buf;
 * -EOPNOTSUPP: access flags not supported (memory windows cannot be bound to it, and
 * it is neither ODP nor flushed), or @dmah; else see weft_dmabuf_get().
 */
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);

/**
 * weft_reg_dm_mr - make a region of device memory
 * @pd: protection domain
 * @dm: the memory
 * @attr: offset and length, checked by the core against @dm, and access flags,
 *	which the core has IB_ZERO_BASED in
 * @attrs: unused
 *
 * Atomics are not granted at an offset that is no multiple of eight.
 *
 * Return: the MR, or ERR_PTR(): -EOPNOTSUPP: access flags not supported (memory
 * windows cannot be bound to it); -ENOMEM.
 */
struct ib_mr *weft_reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm,
			     struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);

/**
 * weft_rereg_user_mr - change a region, keep its keys
 * @ib_mr: from weft_reg_user_mr()
 * @flags: IB_MR_REREG_TRANS: @start, @length and @iova are new;
 *	IB_MR_REREG_PD: @pd is; IB_MR_REREG_ACCESS: @access is
 * @start: see weft_reg_user_mr()
 * @length: see weft_reg_user_mr()
 * @iova: see weft_reg_user_mr()
 * @access: see weft_reg_user_mr()
 * @pd: protection domain
 * @udata: unused
 *
 * Returns when no access under the old terms is left. Memory that was pinned
 * read-only is pinned again when it becomes writable. A failure leaves the
 * region as it was.
 *
 * Return: NULL: @ib_mr goes on; ERR_PTR(): -EBUSY: memory windows are bound;
 * -EINVAL: @ib_mr is not of user memory, or belongs to another process;
 * -EOPNOTSUPP: an ODP region would become one that is not, or the other way round;
 * else see weft_reg_user_mr().
 */
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib_mr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata);

/**
 * weft_dereg_mr - wait for accesses to end and free a region
 * @ib_mr: any
 * @udata: unused
 *
 * Return: 0; -EBUSY: memory windows are bound, nothing has changed.
 */
int weft_dereg_mr(struct ib_mr *ib_mr, struct ib_udata *udata);

#endif /* WEFT_OBJECT_MR_H */
