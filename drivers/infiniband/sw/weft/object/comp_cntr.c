// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters: two numbers that grow with the completions of QPs, whether or not there is
 * an entry in a CQ. The core counts the QPs of a counter, knows which operations of a QP have one,
 * and forgets both when the QP is destroyed.
 */
#include "object/comp_cntr.h"

#include <linux/slab.h>

#ifdef COMPAT_HAS_COMP_CNTR
#include <rdma/weft-attrs.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/count.h"
#include "object/dev.h"
#include "object/refuse.h"
#include "params.h"

#define CNTR_OPS	GENMASK(WEFT_COUNTED_NUM - 2, 0)

static_assert(1 << (WEFT_COUNTED_RECV - 1) == IB_QP_ATTACH_COMP_CNTR_OP_RECV);
static_assert(1 << (WEFT_COUNTED_REMOTE_WRITE - 1) ==
	      IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE);

static struct weft_comp_cntr *to_comp_cntr(struct ib_comp_cntr *ibcc)
{
	return container_of(ibcc, struct weft_comp_cntr, ibcc);
}

int weft_create_comp_cntr(struct ib_comp_cntr *ibcc, struct uverbs_attr_bundle *attrs)
{
	u32 type = WEFT_COMP_CNTR_WRS;
	int ret = 0;

	if (uverbs_attr_is_valid(attrs, WEFT_ATTR_CREATE_COMP_CNTR_TYPE))
		ret = uverbs_copy_from(&type, attrs, WEFT_ATTR_CREATE_COMP_CNTR_TYPE);
	if (!ret && type > WEFT_COMP_CNTR_BYTES)
		ret = weft_refuse(ibcc->device, -EOPNOTSUPP,
				  "create completion counter: type %u is unknown", type);
	to_comp_cntr(ibcc)->bytes = type == WEFT_COMP_CNTR_BYTES;
	return ret ?: weft_count_take(&to_weft_dev(ibcc->device)->num_comp_cntr,
				      WEFT_MAX_COMP_CNTR);
}

/* No QP has the counter any more. */
int weft_destroy_comp_cntr(struct ib_comp_cntr *ibcc)
{
	weft_count_give(&to_weft_dev(ibcc->device)->num_comp_cntr);
	return 0;
}

static atomic64_t *cntr_entry(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry)
{
	switch (entry) {
	case IB_COMP_CNTR_ENTRY_COMP:
		return &to_comp_cntr(ibcc)->completed;
	case IB_COMP_CNTR_ENTRY_ERR:
		return &to_comp_cntr(ibcc)->failed;
	}
	return NULL;
}

int weft_modify_comp_cntr(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry,
			  enum ib_comp_cntr_modify_op op, u64 value)
{
	atomic64_t *count = cntr_entry(ibcc, entry);

	if (!count)
		return -EINVAL;
	switch (op) {
	case IB_COMP_CNTR_MODIFY_OP_SET:
		atomic64_set(count, value);
		return 0;
	case IB_COMP_CNTR_MODIFY_OP_INC:
		atomic64_add(value, count);
		return 0;
	}
	return -EINVAL;
}

int weft_read_comp_cntr(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry, u64 *value)
{
	atomic64_t *count = cntr_entry(ibcc, entry);

	if (!count)
		return -EINVAL;
	*value = atomic64_read(count);
	return 0;
}

int weft_query_comp_cntr_caps(struct ib_device *ibdev, struct ib_comp_cntr_caps *caps,
			      struct uverbs_attr_bundle *attrs)
{
	*caps = (struct ib_comp_cntr_caps){
		.max_value = U64_MAX,
		.max_counters = WEFT_MAX_COMP_CNTR,
		.supported_qp_attach_ops = CNTR_OPS,
	};
	return 0;
}

/* The core has checked that these operations have no counter, and serializes calls for a QP. */
int weft_qp_attach_comp_cntr(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			     struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct weft_qp *qp = to_weft_qp(ibqp);
	unsigned long mask = attr->op_mask;
	struct weft_comp_cntrs *cntrs;
	enum ib_qp_state state;
	int bit, ret = 0;

	mutex_lock(&qp->modify_lock);
	state = weft_qp_state(qp);
	cntrs = qp->cntrs ?: kzalloc(sizeof(*cntrs), GFP_KERNEL_ACCOUNT);
	if (state != IB_QPS_RESET && state != IB_QPS_INIT) {
		ret = weft_refuse(ibqp->device, -EINVAL,
				  "attach completion counter to QP %u: its state is neither RESET nor INIT",
				  qp->qpn);
	} else if (mask & ~CNTR_OPS) {
		ret = weft_refuse(ibqp->device, -EOPNOTSUPP,
				  "attach completion counter to QP %u: op_mask %#lx is unknown",
				  qp->qpn, mask);
	} else if (!cntrs) {
		ret = -ENOMEM;
	}
	if (ret) {
		if (cntrs != qp->cntrs)
			kfree(cntrs);
		goto out_unlock;
	}
	for_each_set_bit(bit, &mask, WEFT_COUNTED_NUM - 1)
		WRITE_ONCE(cntrs->of[bit + 1], to_comp_cntr(ibcc));
	/* a CPU that sees the pointer sees zeros or counters behind it */
	smp_store_release(&qp->cntrs, cntrs);

out_unlock:
	mutex_unlock(&qp->modify_lock);
	return ret;
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(comp_cntr_create, UVERBS_OBJECT_COMP_CNTR,
			     UVERBS_METHOD_COMP_CNTR_CREATE,
			     UVERBS_ATTR_PTR_IN(WEFT_ATTR_CREATE_COMP_CNTR_TYPE,
						UVERBS_ATTR_TYPE(u32),
						UA_OPTIONAL));

const struct uapi_definition weft_comp_cntr_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_COMP_CNTR, &comp_cntr_create),
	{ }
};

/* Slow path of weft_comp_cntr_count(). @status: enum ib_wc_status; @bytes: of a success */
void weft_comp_cntr_add(const struct weft_qp *qp, enum weft_counted what, u32 status, u64 bytes)
{
	struct weft_comp_cntr *cntr = READ_ONCE(qp->cntrs->of[what]);

	if (!cntr)
		return;
	if (status)
		atomic64_inc(&cntr->failed);
	else
		atomic64_add(cntr->bytes ? bytes : 1, &cntr->completed);
}
#endif
