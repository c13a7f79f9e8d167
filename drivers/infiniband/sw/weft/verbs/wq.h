/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Work queues: receive queues of their own. */
#ifndef WEFT_VERBS_WQ_H
#define WEFT_VERBS_WQ_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "object/qp.h"

struct weft_wq {
	struct ib_wq		ibwq;
	/* whose receive queue it is; the core does not know this QP */
	struct weft_ib_qp	half;
	struct mutex		modify_lock;
};

static inline struct weft_wq *to_weft_wq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct weft_wq, ibwq);
}

/* Members of struct ib_device_ops. */
struct ib_wq *weft_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *attr,
			     struct ib_udata *udata);
int weft_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask, struct ib_udata *udata);
int weft_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);

#endif /* WEFT_VERBS_WQ_H */
