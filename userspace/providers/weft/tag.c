/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tag matching: operations on the tag list of an SRQ. */

#include <errno.h>

#include "weft.h"
#include "weft-abi.h"

static_assert((int)WEFT_TAG_ADD == IBV_WR_TAG_ADD &&
	      (int)WEFT_TAG_DEL == IBV_WR_TAG_DEL &&
	      (int)WEFT_TAG_SYNC == IBV_WR_TAG_SYNC &&
	      (int)WEFT_TAG_SIGNALED == IBV_OPS_SIGNALED &&
	      (int)WEFT_TAG_COUNT == IBV_OPS_TM_SYNC &&
	      (int)WEFT_WC_TM_SYNC_REQ == IBV_WC_TM_SYNC_REQ &&
	      (int)WEFT_WC_TM_MATCH == IBV_WC_TM_MATCH &&
	      (int)WEFT_WC_TM_DATA_VALID == IBV_WC_TM_DATA_VALID &&
	      (int)WEFT_WC_TM_ADD == IBV_WC_TM_ADD &&
	      (int)WEFT_WC_TM_DEL == IBV_WC_TM_DEL &&
	      (int)WEFT_WC_TM_SYNC == IBV_WC_TM_SYNC &&
	      (int)WEFT_WC_TM_RECV == IBV_WC_TM_RECV &&
	      (int)WEFT_WC_TM_NO_TAG == IBV_WC_TM_NO_TAG &&
	      (int)WEFT_WC_TM_ERR == IBV_WC_TM_ERR &&
	      (int)WEFT_WC_TM_RNDV_INCOMPLETE == IBV_WC_TM_RNDV_INCOMPLETE,
	      "the values of verbs.h");

/* Each operation is a system call, which is done with it when it returns. */
static int tag_execute(struct ibv_srq *srq, struct ibv_ops_wr *wr)
{
	struct weft_tag_op op = {
		.wr_id = wr->wr_id,
		.unexpected = wr->tm.unexpected_cnt,
		.opcode = wr->opcode,
		.flags = wr->flags,
	};
	union verbs_command cmd;
	uint32_t handle;
	int ret;

	if (wr->opcode > IBV_WR_TAG_SYNC ||
	    wr->flags & ~(IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC))
		return EINVAL;
	if (wr->opcode == IBV_WR_TAG_ADD) {
		if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > 1)
			return EINVAL;
		op.recv_wr_id = wr->tm.add.recv_wr_id;
		op.tag = wr->tm.add.tag;
		op.mask = wr->tm.add.mask;
		if (wr->tm.add.num_sge) {
			op.sge.addr = wr->tm.add.sg_list->addr;
			op.sge.length = wr->tm.add.sg_list->length;
			op.sge.lkey = wr->tm.add.sg_list->lkey;
		}
	} else if (wr->opcode == IBV_WR_TAG_DEL) {
		op.handle = wr->tm.handle;
	}

	verbs_command_init(&cmd, UVERBS_OBJECT_SRQ, WEFT_METHOD_SRQ_TAG);
	verbs_command_add_obj(&cmd, WEFT_ATTR_SRQ_TAG_HANDLE, srq->handle);
	verbs_command_add_in(&cmd, WEFT_ATTR_SRQ_TAG_OP, &op, sizeof(op));
	verbs_command_add_out(&cmd, WEFT_ATTR_SRQ_TAG_RESP, &handle,
			      sizeof(handle));
	ret = execute_ioctl(srq->context, &cmd.buffer);
	if (!ret && wr->opcode == IBV_WR_TAG_ADD)
		wr->tm.handle = handle;
	return ret;
}

int weft_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr)
{
	int ret;

	for (; wr; wr = wr->next) {
		ret = to_weft_srq(srq)->vsrq.srq_type == IBV_SRQT_TM ?
			      tag_execute(srq, wr) : EINVAL;
		if (ret) {
			*bad_wr = wr;
			return ret;
		}
	}
	return 0;
}
