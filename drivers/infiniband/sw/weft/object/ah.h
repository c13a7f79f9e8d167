/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles. */
#ifndef WEFT_OBJECT_AH_H
#define WEFT_OBJECT_AH_H

#include "object/av.h"

struct weft_ah_entry;
struct weft_qp;

/* The core's handle; freed by the core. */
struct weft_ah {
	struct ib_ah		ibah;
	struct weft_ah_entry	*entry;
};

int weft_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int weft_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int weft_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int weft_destroy_ah(struct ib_ah *ibah, u32 flags);
u32 weft_ah_id(struct ib_ah *ibah);
void weft_ah_hold(struct weft_qp *qp, u32 id);
bool weft_ah_lookup(struct weft_dev *dev, u32 id, const struct ib_pd *pd, struct weft_av *av);

#endif /* WEFT_OBJECT_AH_H */
