/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory regions: pinned user memory, ODP (on-demand paging) user memory, dma-bufs, device
 * memory, the kernel's DMA region, and kernel memory for fast registration.
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
	bool			user;		/* user memory or empty; may be reregistered */
	struct weft_dmabuf	*dmabuf;	/* or NULL */
	struct weft_piece	piece;		/* the memory of @dmabuf, for @region */
	u64			iova;		/* as the consumer gave it, even if IB_ZERO_BASED */
	int			access;		/* enum ib_access_flags, likewise */
};

static inline struct weft_mr *to_weft_mr(struct ib_mr *ib_mr)
{
	return container_of(ib_mr, struct weft_mr, ib_mr);
}

struct ib_mr *weft_mr_alloc_fastreg(struct ib_pd *pd, u32 max, u32 max_meta, bool gaps);
u32 weft_mr_add_pieces(struct weft_piece *pieces, u32 max, struct scatterlist *sgl, int sg_nents,
		       unsigned int *sg_offset, u64 *length);

/* methods of ib_device_ops */
struct ib_mr *weft_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *weft_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int weft_map_mr_sg(struct ib_mr *ib_mr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
struct ib_mr *weft_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *weft_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);
struct ib_mr *weft_reg_dm_mr(struct ib_pd *pd, struct ib_dm *dm, struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);
struct ib_mr *weft_rereg_user_mr(struct ib_mr *ib_mr, int flags, u64 start, u64 length, u64 iova,
				 int access, struct ib_pd *pd, struct ib_udata *udata);
int weft_dereg_mr(struct ib_mr *ib_mr, struct ib_udata *udata);

#endif /* WEFT_OBJECT_MR_H */
