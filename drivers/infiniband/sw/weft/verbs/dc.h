/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Creation of DC QPs. */
#ifndef WEFT_VERBS_DC_H
#define WEFT_VERBS_DC_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* The method that ends the error of a stream. */
extern const struct uapi_definition weft_dc_uapi[];

struct weft_create_dc_req;
struct weft_dc;
struct weft_dev;

int weft_dc_read(const struct weft_dev *dev, struct ib_qp_init_attr *init, struct ib_udata *udata,
		 struct weft_create_dc_req *req);
int weft_dc_check(const struct weft_dev *dev, const struct ib_qp_init_attr *init);
struct weft_dc *weft_dc_alloc(const struct weft_create_dc_req *req);
void weft_dc_reset(struct weft_dc *dc);

#endif /* WEFT_VERBS_DC_H */
