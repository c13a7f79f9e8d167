/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion counters (ibv_create_comp_cntr(3)). */
#ifndef WEFT_OBJECT_COMP_CNTR_H
#define WEFT_OBJECT_COMP_CNTR_H

#include <rdma/uverbs_ioctl.h>

#include "compat/comp_cntr.h"
#include "object/qp.h"

/* Kinds of completions that are counted: one more than the bit of IB_QP_ATTACH_COMP_CNTR_OP_x. */
enum weft_counted {
	WEFT_COUNTED_NOT,
	WEFT_COUNTED_SEND,
	WEFT_COUNTED_RECV,
	WEFT_COUNTED_READ,
	WEFT_COUNTED_REMOTE_READ,
	WEFT_COUNTED_WRITE,
	WEFT_COUNTED_REMOTE_WRITE,
	WEFT_COUNTED_NUM,
};

/*
 * The counters of a QP, by enum weft_counted, or NULL. Written under modify_lock. A counter exists
 * until its QPs are destroyed.
 */
struct weft_comp_cntrs {
	struct weft_comp_cntr	*of[WEFT_COUNTED_NUM];
};

#ifdef COMPAT_HAS_COMP_CNTR
struct weft_comp_cntr {
	struct ib_comp_cntr	ibcc;		/* freed by the core */
	bool			bytes;		/* counts bytes, else work requests */
	atomic64_t		completed;
	atomic64_t		failed;		/* always work requests */
};

int weft_create_comp_cntr(struct ib_comp_cntr *ibcc, struct uverbs_attr_bundle *attrs);
int weft_destroy_comp_cntr(struct ib_comp_cntr *ibcc);
int weft_modify_comp_cntr(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value);
int weft_read_comp_cntr(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry, u64 *value);
int weft_query_comp_cntr_caps(struct ib_device *ibdev, struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs);
int weft_qp_attach_comp_cntr(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			     struct ib_qp_attach_comp_cntr_attr *attr);
extern const struct uapi_definition weft_comp_cntr_uapi[];
#endif

/* only called where the core has counters */
void weft_comp_cntr_add(const struct weft_qp *qp, enum weft_counted what, u32 status, u64 bytes);

/* A work request is complete, or a remote one has been executed. One of the turns is owned. */
static __always_inline void weft_comp_cntr_count(const struct weft_qp *qp, enum weft_counted what,
						 u32 status, u64 bytes)
{
	if (COMPAT_COMP_CNTR && unlikely(READ_ONCE(qp->cntrs)))
		weft_comp_cntr_add(qp, what, status, bytes);
}

#endif /* WEFT_OBJECT_COMP_CNTR_H */
