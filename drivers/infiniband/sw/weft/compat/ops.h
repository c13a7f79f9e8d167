/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Adaptors for members of struct ib_device_ops whose prototypes differ between kernels; the
 * driver's functions have the newest ones. Only verbs/ops.c includes this header, after the
 * declarations of these functions.
 */
#ifndef WEFT_COMPAT_OPS_H
#define WEFT_COMPAT_OPS_H

#include <rdma/uverbs_ioctl.h>

#ifdef COMPAT_HAS_CREATE_CQ_ATTRS
static int compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	return weft_create_cq(ibcq, attr, attrs ? &attrs->driver_udata : NULL);
}
#else
#define compat_create_cq weft_create_cq
#endif

#ifdef COMPAT_HAS_DMAH
/*
 * A DMA handle is a hint for a PCI device (TPH): the cache into which it should write. The core
 * checks the handle. There is nothing to do for it here, as processors copy all data.
 */
static int compat_alloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static int compat_dealloc_dmah(struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs)
{
	return 0;
}

struct compat_dmah {
	struct ib_dmah core;
};

#define COMPAT_DMAH							\
	.alloc_dmah = compat_alloc_dmah,				\
	.dealloc_dmah = compat_dealloc_dmah,				\
	INIT_RDMA_OBJ_SIZE(ib_dmah, compat_dmah, core),

#define compat_reg_user_mr weft_reg_user_mr
#else
#define COMPAT_DMAH

static struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
					u64 iova, int access, struct ib_udata *udata)
{
	return weft_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}
#endif

#ifdef COMPAT_HAS_DMAH
#define compat_reg_user_mr_dmabuf weft_reg_user_mr_dmabuf
#elif defined(COMPAT_HAS_DMABUF_ATTRS)
static struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					       int fd, int access, struct uverbs_attr_bundle *attrs)
{
	return weft_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, NULL, attrs);
}
#else
static struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova,
					       int fd, int access, struct ib_udata *udata)
{
	return weft_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, NULL, NULL);
}
#endif

#ifdef COMPAT_HAS_COUNTER_PORT
#define compat_counter_bind_qp weft_counter_bind_qp
#define compat_counter_unbind_qp weft_counter_unbind_qp

struct compat_counter {
	struct rdma_counter core;
};

/* The core calls it unconditionally. The counter is zeroed already. */
static void compat_counter_init(struct rdma_counter *counter)
{
}

#define COMPAT_COUNTER							\
	.counter_init = compat_counter_init,				\
	INIT_RDMA_OBJ_SIZE(rdma_counter, compat_counter, core),
#else
static int compat_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp)
{
	return weft_counter_bind_qp(counter, ibqp, counter->port);
}

static int compat_counter_unbind_qp(struct ib_qp *ibqp)
{
	return weft_counter_unbind_qp(ibqp, ibqp->port);
}

#define COMPAT_COUNTER
#endif

#ifdef COMPAT_HAS_RESIZE_USER_CQ
#define COMPAT_RESIZE_CQ .resize_user_cq = weft_resize_cq
#else
static int compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return weft_resize_cq(ibcq, cqe, udata);
}

#define COMPAT_RESIZE_CQ .resize_cq = compat_resize_cq
#endif

#ifdef COMPAT_HAS_ROBUST_UDATA
#define COMPAT_ROBUST_UDATA .uverbs_robust_udata = 1,
#else
#define COMPAT_ROBUST_UDATA
#endif

#ifdef COMPAT_HAS_FILL_RES_SRQ
#define COMPAT_FILL_RES_SRQ						\
	.fill_res_srq_entry = weft_fill_res_srq_entry,			\
	.fill_res_srq_entry_raw = weft_fill_res_srq_entry_raw,
#else
#define COMPAT_FILL_RES_SRQ
#endif

#endif /* WEFT_COMPAT_OPS_H */
