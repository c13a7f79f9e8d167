/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* RSS QPs, which spread what they receive over the WQs of an indirection table. */
#ifndef WEFT_VERBS_RSS_H
#define WEFT_VERBS_RSS_H

#include <rdma/ib_verbs.h>

struct weft_dev;
struct weft_qp;

/* The hash fields that work. */
#define WEFT_RSS_FIELDS	((u64)(WEFT_RX_HASH_FIELDS | WEFT_RX_HASH_INNER))

int weft_rss_check(const struct weft_dev *dev, const struct ib_qp_init_attr *init);
int weft_rss_read(struct weft_qp *qp, const struct ib_qp_init_attr *init, struct ib_udata *udata);

struct weft_rwq_ind_table {
	struct ib_rwq_ind_table	ibtable;	/* freed by the core */
};

/* Members of struct ib_device_ops. */
int weft_create_rwq_ind_table(struct ib_rwq_ind_table *ibtable,
			      struct ib_rwq_ind_table_init_attr *init, struct ib_udata *udata);
int weft_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtable);

#endif /* WEFT_VERBS_RSS_H */
