/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Protection domains. The address of the struct ib_pd is the identity that objects compare. */
#ifndef WEFT_OBJECT_PD_H
#define WEFT_OBJECT_PD_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

struct weft_pd {
	struct ib_pd	ibpd;
};

/* The driver's own uverbs methods of protection domains. */
extern const struct uapi_definition weft_pd_uapi[];

int weft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int weft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

#endif /* WEFT_OBJECT_PD_H */
