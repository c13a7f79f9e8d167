/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters: the kernel counts, and each read is a system call.
 */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

#if VERBS_PABI >= 65
struct ibv_comp_cntr *
weft_create_comp_cntr(struct ibv_context *context,
		      struct ibv_comp_cntr_init_attr *ibattr)
{
	const struct verbs_comp_cntr_init_attr *attr = (const void *)ibattr;
	struct verbs_comp_cntr *cntr;
	union verbs_command cmd;
	int ret;

	if (!check_comp_mask(attr->comp_mask, 0) || attr->flags ||
	    attr->type > VERBS_COMP_CNTR_TYPE_BYTES) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return NULL;

	verbs_command_init(&cmd, VERBS_OBJECT_COMP_CNTR,
			   VERBS_METHOD_COMP_CNTR_CREATE);
	verbs_command_add(&cmd, WEFT_ATTR_CREATE_COMP_CNTR_TYPE, attr->type,
			  sizeof(uint32_t));
	ret = ibv_cmd_create_comp_cntr(context, (struct ibv_comp_cntr *)cntr,
				       &cmd.buffer);
	if (ret)
		goto err_free;
	return (struct ibv_comp_cntr *)cntr;

err_free:
	free(cntr);
	errno = ret;
	return NULL;
}

int weft_destroy_comp_cntr(struct ibv_comp_cntr *ibcntr)
{
	int ret;

	ret = ibv_cmd_destroy_comp_cntr(ibcntr);
	if (ret)
		return ret;

	free(ibcntr);
	return 0;
}

/* libibverbs drops the bits of op_mask that it does not know. */
int weft_qp_attach_comp_cntr(struct ibv_qp *qp, struct ibv_comp_cntr *ibcntr,
			     struct ibv_qp_attach_comp_cntr_attr *ibattr)
{
	const struct verbs_qp_attach_comp_cntr_attr *attr =
		(const void *)ibattr;

	if (!check_comp_mask(attr->comp_mask, 0) ||
	    attr->op_mask & ~VERBS_QP_ATTACH_COMP_CNTR_OPS)
		return EOPNOTSUPP;
	return ibv_cmd_qp_attach_comp_cntr(qp, ibcntr, ibattr);
}
#endif
