/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Rules of flow steering, which send frames of the net device to RAW_PACKET QPs. */
#ifndef WEFT_VERBS_FLOW_H
#define WEFT_VERBS_FLOW_H

#include <rdma/ib_verbs.h>

struct weft_dev;

bool weft_flow_has_raw(const struct weft_dev *dev);

/* Members of struct ib_device_ops. */
struct ib_flow *weft_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int weft_destroy_flow(struct ib_flow *ibflow);

#endif /* WEFT_VERBS_FLOW_H */
