// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests to uverbs that no library sends: answers that have no place to go, unknown values. */
#include "uverbs.h"

#include <fcntl.h>

static uint32_t response[256];

/* A resized SRQ has a new ring, and the request says where to put the answer. */
static void srq_requests(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);
	struct {
		struct ib_uverbs_modify_srq core;
		struct weft_modify_srq_req weft;
	} cmd = {
		.core = { .attr_mask = IBV_SRQ_MAX_WR, .max_wr = 32 },
	};
	const int number = IB_USER_VERBS_CMD_MODIFY_SRQ;
	struct ibv_srq_attr now;

	CHECK(srq);
	cmd.core.srq_handle = srq->handle;
	note("no address");
	SAME(command(ctx->cmd_fd, number, &cmd, sizeof(cmd.core) + 8, 0), EINVAL);
	note("an address of nothing");
	cmd.weft.ring_addr = 8;
	SAME(command(ctx->cmd_fd, number, &cmd, sizeof(cmd), 0), EFAULT);
	note("a bit that nobody knows");
	cmd.weft.ring_addr = (uintptr_t)response;
	cmd.weft.comp_mask = 1;
	SAME(command(ctx->cmd_fd, number, &cmd, sizeof(cmd), 0), EINVAL);
	SAME(ibv_query_srq(srq, &now), 0);
	SAME(now.max_wr, 16);
	cmd.weft.comp_mask = 0;
	SAME(command(ctx->cmd_fd, number, &cmd, sizeof(cmd), 0), 0);
	SAME(((struct weft_ring_resp *)response)->entries, 32);
	SAME(ibv_destroy_srq(srq), 0);
}

/* Methods whose answer has no place to go leave nothing behind. */
static void methods(void)
{
	struct ib_uverbs_attr alloc_dm[] = {
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_HANDLE },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_LENGTH, .len = 8, .data = 4096 },
		{ .attr_id = UVERBS_ATTR_ALLOC_DM_ALIGNMENT, .len = 4 },
		{ .attr_id = WEFT_ATTR_ALLOC_DM_RESP, .len = sizeof(struct weft_dm_resp),
		  .data = 8 },
	};
	struct ib_uverbs_attr context = {
		.attr_id = WEFT_ATTR_QUERY_CONTEXT_RESP,
		.len = sizeof(struct weft_alloc_ucontext_resp), .data = 8,
	};
	struct weft_mkey_error error;
	struct ib_uverbs_attr check[] = {
		{ .attr_id = WEFT_ATTR_MW_CHECK_HANDLE },
		{ .attr_id = WEFT_ATTR_MW_CHECK_RESP, .len = sizeof(error),
		  .data = (uintptr_t)&error },
	};
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	SAME(method(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, alloc_dm, 4), EFAULT);
	alloc_dm[3].data = (uintptr_t)response;
	SAME(method(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, alloc_dm, 4), 0);
	SAME(method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, &context, 1), EFAULT);
	/* no file descriptor is left */
	SAME(open("/dev/null", O_RDONLY), fd);
	close(fd);
	/* a window that is no mkey has no signatures to check */
	CHECK(mw);
	check[0].data = mw->handle;
	SAME(method(UVERBS_OBJECT_MW, WEFT_METHOD_MW_CHECK, check, 2), EINVAL);
	SAME(ibv_dealloc_mw(mw), 0);
}

/* what libweft would not ask for */
static int tag_operation(struct ibv_srq *where, const struct weft_tag_op *op, void *resp)
{
	struct ib_uverbs_attr attrs[] = {
		{ .attr_id = WEFT_ATTR_SRQ_TAG_HANDLE, .data = where->handle },
		{ .attr_id = WEFT_ATTR_SRQ_TAG_OP, .len = sizeof(*op), .data = (uintptr_t)op },
		{ .attr_id = WEFT_ATTR_SRQ_TAG_RESP, .len = sizeof(uint32_t),
		  .data = (uintptr_t)resp },
	};

	return method(UVERBS_OBJECT_SRQ, WEFT_METHOD_SRQ_TAG, attrs, 3);
}

static void tag_operations(void)
{
	const int num_tags = 4;
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 64, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = cq,
		.tm_cap = { .max_num_tags = num_tags, .max_ops = 16 },
	};
	struct weft_tag_op op = { .opcode = WEFT_TAG_SYNC };
	struct ibv_srq *other = ibv_create_srq(pd, &plain);
	struct ibv_srq *srq = ibv_create_srq_ex(ctx, &attr);
	uint32_t handle;
	int i;

	CHECK(other && cq && srq);
	SAME(tag_operation(other, &op, &handle), EINVAL);
	op.opcode = 3;
	SAME(tag_operation(srq, &op, &handle), EINVAL);
	op.opcode = WEFT_TAG_SYNC;
	op.flags = 4;
	SAME(tag_operation(srq, &op, &handle), EINVAL);
	op.flags = 0;
	op.reserved_3a[5] = 1;
	SAME(tag_operation(srq, &op, &handle), EINVAL);
	op.reserved_3a[5] = 0;
	/* the entry is free again, or the list would be full */
	op.opcode = WEFT_TAG_ADD;
	for (i = 0; i <= num_tags; i++)
		SAME(tag_operation(srq, &op, (void *)8), EFAULT);
	SAME(tag_operation(srq, &op, &handle), 0);
	expect_no_wc(cq);
}

TESTS(TEST(srq_requests), TEST(methods), TEST(tag_operations))
