/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Prints the sizes, offsets and values that the provider and libibverbs have to
 * agree on. scripts/check-rdma-core compiles it twice, with rdmacore/ and with
 * the headers of a release (VERBS_THEIRS), and compares the output.
 *
 * VERBS_RELEASE is the release, VERBS_LAYOUT the layout in rdmacore/ops.h.
 */
#include <stdio.h>

#ifdef VERBS_THEIRS
#include <infiniband/driver.h>
#include <rdma/ib_user_ioctl_cmds.h>
/* a declaration that differs does not compile */
#if VERBS_RELEASE < 54
#define VERBS_OLD_REG_DMABUF_MR
#endif
#if VERBS_RELEASE < 62
#define ibv_cmd_query_port_speed not_yet
#endif
#include "functions.h"
#define THEIRS_OR_OURS(theirs, ours)	theirs
#else
#include "ops.h"
#define THEIRS_OR_OURS(theirs, ours)	ours
#endif

#define SIZE(type) \
	printf("sizeof(%s) %zu\n", #type, sizeof(struct type))
#define MEMBER(type, member) \
	printf("%s.%s %zu, %zu bytes\n", #type, #member, \
	       offsetof(struct type, member), \
	       sizeof(((struct type *)0)->member))
#define COMMAND(type) \
	printf("%s %zu, core %zu\n", #type, sizeof(struct type), \
	       offsetof(struct type, THEIRS_OR_OURS(core_payload, core)))
#define VALUE(theirs, ours) \
	printf("%s %llu\n", #theirs, \
	       (unsigned long long)THEIRS_OR_OURS(theirs, ours))

static void print_objects(void)
{
	SIZE(verbs_match_ent);
	MEMBER(verbs_match_ent, driver_data);
	MEMBER(verbs_match_ent, u);
	MEMBER(verbs_match_ent, vendor);
	MEMBER(verbs_match_ent, device);
	MEMBER(verbs_match_ent, kind);
	VALUE(VERBS_MATCH_MODALIAS, VERBS_MATCH_MODALIAS);
	VALUE(VERBS_MATCH_DRIVER_ID, VERBS_MATCH_DRIVER_ID);

	SIZE(verbs_device);
	MEMBER(verbs_device, device);
	MEMBER(verbs_device, ops);
	MEMBER(verbs_device, refcount);
	MEMBER(verbs_device, entry);
	MEMBER(verbs_device, sysfs);
	MEMBER(verbs_device, core_support);

	SIZE(verbs_device_ops);
	MEMBER(verbs_device_ops, name);
	MEMBER(verbs_device_ops, match_min_abi_version);
	MEMBER(verbs_device_ops, match_max_abi_version);
	MEMBER(verbs_device_ops, match_table);
	MEMBER(verbs_device_ops, static_providers);
	MEMBER(verbs_device_ops, match_device);
	MEMBER(verbs_device_ops, alloc_context);
	MEMBER(verbs_device_ops, import_context);
	MEMBER(verbs_device_ops, alloc_device);
	MEMBER(verbs_device_ops, uninit_device);

	SIZE(verbs_mr);
	MEMBER(verbs_mr, ibv_mr);
	MEMBER(verbs_mr, mr_type);
	MEMBER(verbs_mr, access);
	VALUE(IBV_MR_TYPE_MR, IBV_MR_TYPE_MR);
	VALUE(IBV_MR_TYPE_NULL_MR, IBV_MR_TYPE_NULL_MR);

#if VERBS_RELEASE >= 59
#ifdef VERBS_THEIRS
#define verbs_mr_init_attr ibv_mr_init_attr
#endif
	MEMBER(verbs_mr_init_attr, length);
	MEMBER(verbs_mr_init_attr, access);
	MEMBER(verbs_mr_init_attr, comp_mask);
	MEMBER(verbs_mr_init_attr, iova);
	MEMBER(verbs_mr_init_attr, addr);
	MEMBER(verbs_mr_init_attr, fd);
	MEMBER(verbs_mr_init_attr, fd_offset);
	MEMBER(verbs_mr_init_attr, dmah);
	VALUE(IBV_REG_MR_MASK_IOVA, VERBS_REG_MR_MASK_IOVA);
	VALUE(IBV_REG_MR_MASK_ADDR, VERBS_REG_MR_MASK_ADDR);
	VALUE(IBV_REG_MR_MASK_FD, VERBS_REG_MR_MASK_FD);
	VALUE(IBV_REG_MR_MASK_FD_OFFSET, VERBS_REG_MR_MASK_FD_OFFSET);
	VALUE(IBV_REG_MR_MASK_DMAH, VERBS_REG_MR_MASK_DMAH);
	SIZE(verbs_dmah);
	MEMBER(verbs_dmah, handle);
#endif

	SIZE(verbs_xrcd);
	MEMBER(verbs_xrcd, xrcd);
	MEMBER(verbs_xrcd, comp_mask);
	MEMBER(verbs_xrcd, handle);

	SIZE(verbs_srq);
	MEMBER(verbs_srq, srq);
	MEMBER(verbs_srq, srq_type);
	MEMBER(verbs_srq, xrcd);
	MEMBER(verbs_srq, cq);
	MEMBER(verbs_srq, srq_num);

	SIZE(verbs_cq);
	MEMBER(verbs_cq, cq);
	MEMBER(verbs_cq, cq_ex);

	SIZE(verbs_dm);
	MEMBER(verbs_dm, dm);
	MEMBER(verbs_dm, handle);
}

static void print_comp_cntr(void)
{
#if VERBS_RELEASE >= 65
#ifdef VERBS_THEIRS
#define verbs_comp_cntr ibv_comp_cntr
#define verbs_comp_cntr_init_attr ibv_comp_cntr_init_attr
#define verbs_qp_attach_comp_cntr_attr ibv_qp_attach_comp_cntr_attr
#endif
	SIZE(verbs_comp_cntr);
	MEMBER(verbs_comp_cntr, context);
	MEMBER(verbs_comp_cntr, handle);
	SIZE(verbs_comp_cntr_init_attr);
	MEMBER(verbs_comp_cntr_init_attr, comp_mask);
	MEMBER(verbs_comp_cntr_init_attr, type);
	MEMBER(verbs_comp_cntr_init_attr, flags);
	SIZE(verbs_qp_attach_comp_cntr_attr);
	MEMBER(verbs_qp_attach_comp_cntr_attr, comp_mask);
	MEMBER(verbs_qp_attach_comp_cntr_attr, op_mask);
	VALUE(IBV_COMP_CNTR_TYPE_WRS, VERBS_COMP_CNTR_TYPE_WRS);
	VALUE(IBV_COMP_CNTR_TYPE_BYTES, VERBS_COMP_CNTR_TYPE_BYTES);
	VALUE((IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE << 1) - 1,
	      VERBS_QP_ATTACH_COMP_CNTR_OPS);
	VALUE(UVERBS_OBJECT_COMP_CNTR, VERBS_OBJECT_COMP_CNTR);
	VALUE(UVERBS_METHOD_COMP_CNTR_CREATE, VERBS_METHOD_COMP_CNTR_CREATE);
#endif
}

static void print_qp(void)
{
#define TAIL(theirs, index) \
	printf("verbs_qp.%s %zu\n", #theirs, \
	       offsetof(struct verbs_qp, THEIRS_OR_OURS(theirs, tail[index])))

	MEMBER(verbs_qp, qp);
	MEMBER(verbs_qp, qp_ex.wr_abort);
#if VERBS_RELEASE < 44
	TAIL(comp_mask, 0);
	TAIL(xrcd, 1);
#elif VERBS_RELEASE < 45
	TAIL(qp_ex.wr_atomic_write, VERBS_QP_ATOMIC_WRITE);
	TAIL(comp_mask, 1);
	TAIL(xrcd, 2);
#else
	TAIL(qp_ex.wr_atomic_write, VERBS_QP_ATOMIC_WRITE);
	TAIL(qp_ex.wr_flush, VERBS_QP_FLUSH);
	TAIL(comp_mask, 2);
	TAIL(xrcd, 3);
#endif
	VALUE(VERBS_QP_EX, VERBS_QP_EX);
#if VERBS_RELEASE >= 35
	VALUE(IBV_DM_MASK_HANDLE, VERBS_DM_MASK_HANDLE);
#ifdef VERBS_THEIRS
	static_assert(offsetof(struct ibv_dm, handle) ==
		      offsetof(struct ibv_dm, comp_mask) + sizeof(uint32_t),
		      "verbs_dm_set_handle()");
#endif
#endif
#if VERBS_RELEASE >= 44
	VALUE(IBV_WR_ATOMIC_WRITE, VERBS_WR_ATOMIC_WRITE);
	VALUE(IBV_QP_EX_WITH_ATOMIC_WRITE, VERBS_QP_EX_WITH_ATOMIC_WRITE);
#endif
#if VERBS_RELEASE >= 45
	VALUE(IBV_WR_FLUSH, VERBS_WR_FLUSH);
	VALUE(IBV_QP_EX_WITH_FLUSH, VERBS_QP_EX_WITH_FLUSH);
	VALUE(IBV_FLUSH_GLOBAL, VERBS_FLUSH_GLOBAL);
	VALUE(IBV_FLUSH_PERSISTENT, VERBS_FLUSH_PERSISTENT);
	VALUE(IBV_FLUSH_RANGE, VERBS_FLUSH_RANGE);
	VALUE(IBV_FLUSH_MR, VERBS_FLUSH_MR);
#endif
#if VERBS_RELEASE >= 64
	VALUE(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC,
	      VERBS_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED_ALLOC);
#endif
}

/* struct verbs_context: the provider finds what it needs by the size in front of the end */
static void print_context(void)
{
#ifdef VERBS_THEIRS
	static_assert(sizeof(struct verbs_context) <= 2048, "VERBS_CONTEXT_MAX");
#else
	static_assert(VERBS_CONTEXT_MAX == 2048, "as above");
#endif
	printf("end of verbs_context: %zu, %zu\n",
	       sizeof(struct verbs_context) - offsetof(struct verbs_context, sz),
	       sizeof(struct verbs_context) -
	       offsetof(struct verbs_context, context));
}

static void print_commands(void)
{
	COMMAND(ibv_alloc_mw);
	COMMAND(ibv_alloc_pd);
	COMMAND(ibv_create_cq_ex);
	COMMAND(ibv_create_qp_ex);
	COMMAND(ibv_create_srq);
	COMMAND(ibv_create_wq);
	COMMAND(ibv_create_xsrq);
	COMMAND(ibv_get_context);
	COMMAND(ibv_modify_cq);
	COMMAND(ibv_modify_qp);
	COMMAND(ibv_modify_qp_ex);
	COMMAND(ibv_modify_srq);
	COMMAND(ibv_modify_wq);
	COMMAND(ibv_open_qp);
	COMMAND(ibv_open_xrcd);
	COMMAND(ibv_query_port);
	COMMAND(ibv_query_qp);
	COMMAND(ibv_query_srq);
	COMMAND(ibv_reg_mr);
	COMMAND(ibv_rereg_mr);
	COMMAND(ibv_resize_cq);

	/* the driver's response follows, so the kernel's may not grow */
	SIZE(ib_uverbs_get_context_resp);
	SIZE(ib_uverbs_ex_query_device_resp);
	SIZE(ib_uverbs_ex_create_cq_resp);
	SIZE(ib_uverbs_resize_cq_resp);
	SIZE(ib_uverbs_ex_create_qp_resp);
	SIZE(ib_uverbs_ex_create_rwq_ind_table_resp);
	SIZE(ib_uverbs_ex_create_wq_resp);
	SIZE(ib_uverbs_ex_modify_qp_resp);
	SIZE(ib_uverbs_create_srq_resp);
	SIZE(ib_uverbs_create_ah_resp);
	SIZE(ib_uverbs_alloc_mw_resp);
	SIZE(ib_uverbs_alloc_pd_resp);
	SIZE(ib_uverbs_create_qp_resp);
	SIZE(ib_uverbs_open_xrcd_resp);
	SIZE(ib_uverbs_reg_mr_resp);
	SIZE(ib_uverbs_rereg_mr_resp);

	SIZE(ibv_command_buffer);
	MEMBER(ibv_command_buffer, next);
	MEMBER(ibv_command_buffer, next_attr);
	MEMBER(ibv_command_buffer, last_attr);
	MEMBER(ibv_command_buffer, uhw_in_idx);
	MEMBER(ibv_command_buffer, uhw_out_idx);
	MEMBER(ibv_command_buffer, uhw_in_headroom_dwords);
	MEMBER(ibv_command_buffer, uhw_out_headroom_dwords);
	MEMBER(ibv_command_buffer, hdr);
	SIZE(ib_uverbs_attr);
}

#include "op-list.h"

#define FN(ret, name, args)	MEMBER(verbs_context_ops, name);
#define NO(name)		MEMBER(verbs_context_ops, name);
#undef SINCE_35
#if VERBS_LAYOUT >= 35
#define SINCE_35(member)	member
#else
#define SINCE_35(member)
#endif
#undef SINCE_36
#if VERBS_LAYOUT >= 36
#define SINCE_36(member)	member
#else
#define SINCE_36(member)
#endif
#undef SINCE_59
#if VERBS_LAYOUT >= 59
#define SINCE_59(member)	member
#else
#define SINCE_59(member)
#endif
#undef SINCE_62
#if VERBS_LAYOUT >= 62
#define SINCE_62(member)	member
#else
#define SINCE_62(member)
#endif
#undef SINCE_64
#if VERBS_LAYOUT >= 64
#define SINCE_64(member)	member
#else
#define SINCE_64(member)
#endif
#undef SINCE_65
#if VERBS_LAYOUT >= 65
#define SINCE_65(member)	member
#else
#define SINCE_65(member)
#endif

static void print_ops(void)
{
#ifndef VERBS_THEIRS
#define VERBS_OPS_PASTE(layout)		verbs_context_ops_##layout
#define VERBS_OPS(layout)		VERBS_OPS_PASTE(layout)
#define verbs_context_ops		VERBS_OPS(VERBS_LAYOUT)
#endif
	printf("sizeof(ops) %zu\n", sizeof(struct verbs_context_ops));
	VERBS_CONTEXT_OPS
}

int main(void)
{
	print_objects();
	print_comp_cntr();
	print_qp();
	print_context();
	print_commands();
	print_ops();
	return 0;
}
