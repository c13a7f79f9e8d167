/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The differences between the supported versions of libibverbs. The provider
 * is written for the newest one; CMakeLists.txt detects which one is present.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <infiniband/driver.h>

static inline int
weft_cmd_get_context(struct verbs_context *vctx, struct ibv_get_context *cmd,
		     size_t cmd_size, struct ib_uverbs_get_context_resp *resp,
		     size_t resp_size)
{
#ifdef WEFT_HAVE_GET_CONTEXT_FD_ARR
	return ibv_cmd_get_context(vctx, cmd, cmd_size, NULL, resp, resp_size);
#else
	return ibv_cmd_get_context(vctx, cmd, cmd_size, resp, resp_size);
#endif
}

static inline int
weft_cmd_create_cq_ex(struct ibv_context *context,
		      const struct ibv_cq_init_attr_ex *attr,
		      struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
		      size_t cmd_size, struct ib_uverbs_ex_create_cq_resp *resp,
		      size_t resp_size)
{
#ifdef WEFT_HAVE_CREATE_CQ_PROV_ATTR
	return ibv_cmd_create_cq_ex(context, attr, NULL, vcq, cmd, cmd_size,
				    resp, resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(context, attr, vcq, cmd, cmd_size, resp,
				    resp_size, 0);
#endif
}

static inline int
weft_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *vqp,
		       struct ibv_qp_init_attr_ex *attr,
		       struct ibv_create_qp_ex *cmd, size_t cmd_size,
		       struct ib_uverbs_ex_create_qp_resp *resp,
		       size_t resp_size)
{
#ifdef WEFT_HAVE_CREATE_QP_DRIVER
	return ibv_cmd_create_qp_ex2(context, vqp, attr, cmd, cmd_size, resp,
				     resp_size, NULL);
#else
	return ibv_cmd_create_qp_ex2(context, vqp, attr, cmd, cmd_size, resp,
				     resp_size);
#endif
}

/* ibv_wr_flush() */
#ifdef WEFT_HAVE_WR_FLUSH
#define WEFT_QP_EX_WITH_FLUSH	IBV_QP_EX_WITH_FLUSH
#else
#define WEFT_QP_EX_WITH_FLUSH	0
#endif

/* a parent domain for buffers of a confidential guest, see weft_alloc_parent_domain() */
#ifdef WEFT_HAVE_CC_UNPROTECTED_ALLOC
#define WEFT_ALLOW_CC_UNPROTECTED_ALLOC \
	IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC
#else
#define WEFT_ALLOW_CC_UNPROTECTED_ALLOC	0
#endif

/* ibv_query_port_speed(), a member of struct verbs_context_ops */
#ifdef WEFT_HAVE_QUERY_PORT_SPEED
#define WEFT_QUERY_PORT_SPEED	.query_port_speed = ibv_cmd_query_port_speed,
#else
#define WEFT_QUERY_PORT_SPEED
#endif

static inline int
weft_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
		       uint64_t iova, int fd, int access, struct verbs_mr *vmr)
{
#ifdef WEFT_HAVE_REG_DMABUF_MR_DRIVER
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				     NULL);
#else
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr);
#endif
}

#endif /* WEFT_COMPAT_H */
