/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Protection domains: an identity that objects are compared by.
 */
#ifndef WEFT_OBJECT_PD_H
#define WEFT_OBJECT_PD_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/**
 * struct weft_pd - a protection domain
 * @ibpd: first, freed by the core; its address is the identity
 */
struct weft_pd {
	struct ib_pd	ibpd;
};

/* What uverbs knows of protection domains beyond the core's own methods. */
extern const struct uapi_definition weft_pd_uapi[];

int weft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int weft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* WEFT_OBJECT_PD_H */
