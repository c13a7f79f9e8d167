/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters, which older cores lack. There no QP has one, and the compiler drops the code
 * that counts.
 */
#ifndef WEFT_COMPAT_COMP_CNTR_H
#define WEFT_COMPAT_COMP_CNTR_H

#include <rdma/ib_verbs.h>

#ifdef COMPAT_HAS_COMP_CNTR
#define COMPAT_COMP_CNTR	true
#define COMPAT_COMP_CNTR_OPS						\
	.create_comp_cntr = weft_create_comp_cntr,			\
	.destroy_comp_cntr = weft_destroy_comp_cntr,			\
	.modify_comp_cntr = weft_modify_comp_cntr,			\
	.qp_attach_comp_cntr = weft_qp_attach_comp_cntr,		\
	.query_comp_cntr_caps = weft_query_comp_cntr_caps,		\
	.read_comp_cntr = weft_read_comp_cntr,				\
	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, weft_comp_cntr, ibcc),
#define COMPAT_COMP_CNTR_UAPI	UAPI_DEF_CHAIN(weft_comp_cntr_uapi),
#else
#define COMPAT_COMP_CNTR	false
#define COMPAT_COMP_CNTR_OPS
#define COMPAT_COMP_CNTR_UAPI
#endif

#endif /* WEFT_COMPAT_COMP_CNTR_H */
