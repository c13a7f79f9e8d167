/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory: pages of the kernel that a process reads and writes through a
 * mapping, and peers through a memory region (weft_reg_dm_mr()).
 */
#ifndef WEFT_OBJECT_DM_H
#define WEFT_OBJECT_DM_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct weft_pages;

/**
 * struct weft_dm - device memory
 *
 * The core keeps it until no region of it is left.
 *
 * @ib_dm: allocated and freed here, not by the core
 * @pages: the memory
 */
struct weft_dm {
	struct ib_dm		ib_dm;
	struct weft_pages	*pages;
};

static inline struct weft_dm *to_weft_dm(struct ib_dm *ib_dm)
{
	return container_of(ib_dm, struct weft_dm, ib_dm);
}

/* What uverbs knows of device memory beyond the core's own methods. */
extern const struct uapi_definition weft_dm_uapi[];

/**
 * weft_alloc_dm - allocate device memory
 * @ibdev: the device
 * @uctx: of the process
 * @attr: length in bytes, and log2 of the alignment
 * @attrs: of the call, for WEFT_ATTR_ALLOC_DM_RESP
 *
 * It is zeroed, charged to the caller, and aligned to a page.
 *
 * Return: the memory, or ERR_PTR(): -EINVAL: nothing, or an alignment of more than
 * a page; -ENOMEM: more than the device has left; -EFAULT.
 */
struct ib_dm *weft_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			    struct ib_dm_alloc_attr *attr,
			    struct uverbs_attr_bundle *attrs);

/**
 * weft_dealloc_dm - give device memory up
 * @ib_dm: without regions
 * @attrs: unused
 *
 * What is mapped stays mapped.
 *
 * Return: 0.
 */
int weft_dealloc_dm(struct ib_dm *ib_dm, struct uverbs_attr_bundle *attrs);

#endif /* WEFT_OBJECT_DM_H */
