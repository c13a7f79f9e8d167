/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory: kernel pages, which processes access through a mapping, and peers through a
 * memory region (weft_reg_dm_mr()).
 */
#ifndef WEFT_OBJECT_DM_H
#define WEFT_OBJECT_DM_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct weft_pages;

/* The core keeps it until no region of it is left. */
struct weft_dm {
	struct ib_dm		ib_dm;	/* allocated and freed here, not by the core */
	struct weft_pages	*pages;
};

static inline struct weft_dm *to_weft_dm(struct ib_dm *ib_dm)
{
	return container_of(ib_dm, struct weft_dm, ib_dm);
}

/* The driver's own uverbs methods and attributes of device memory. */
extern const struct uapi_definition weft_dm_uapi[];

struct ib_dm *weft_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			    struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int weft_dealloc_dm(struct ib_dm *ib_dm, struct uverbs_attr_bundle *attrs);

#endif /* WEFT_OBJECT_DM_H */
