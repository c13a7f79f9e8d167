// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The operations of a send queue, one row each. Requester, responder and links take what they need
 * to know from the row, so a new operation needs a row, its packets in wire/opcode.c, and the
 * functions that the row names.
 */
#include "engine/opdef.h"

#include "compat/placement.h"
#include "engine/execute.h"
#include "engine/local_op.h"
#include "engine/message.h"
#include "engine/respond.h"
#include "engine/transmit.h"
#include "object/comp_cntr.h"
#include "params.h"
#include "stats.h"
#include "wire/headers.h"
#include "wire/operation.h"

#define RC	BIT(WEFT_SERVICE_RC)
#define UC	BIT(WEFT_SERVICE_UC)
#define UD	BIT(WEFT_SERVICE_UD)

#define PACKETS(_operation, _last, _only)			\
	.first = WEFT_OP_##_operation##_FIRST,			\
	.middle = WEFT_OP_##_operation##_MIDDLE,		\
	.last = WEFT_OP_##_operation##_##_last,			\
	.only = WEFT_OP_##_operation##_##_only
#define LENGTHS(_min, _max)	.min_length = (_min), .max_length = (_max)
#define ATOMIC(_operation)					\
	.services = RC,						\
	.response = WEFT_RESPONSE_ATOMIC,			\
	.only = WEFT_OP_##_operation,				\
	LENGTHS(sizeof(u64), sizeof(u64)),			\
	.access = IB_ACCESS_REMOTE_ATOMIC,			\
	.rcvd_stat = WEFT_STAT_RX_ATOMIC_REQUESTS,		\
	.begin = weft_begin_word,				\
	.respond = weft_respond_atomic

/* The last row is empty: packets that are no request refer to it (weft_opcode.sqe). */
const struct weft_opdef weft_opdefs[WEFT_SQE_OPCODES + 1] = {
	[WEFT_SQE_SEND] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_RECEIVE | WEFT_OPF_SEND,
		.services = RC | UC | UD,
		PACKETS(SEND, LAST, ONLY),
		LENGTHS(0, WEFT_MAX_MSG),
		.wc_opcode = IB_WC_SEND,
		.counted = WEFT_COUNTED_SEND,
		.recv_opcode = IB_WC_RECV,
	},
	[WEFT_SQE_SEND_IMM] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_RECEIVE | WEFT_OPF_SEND,
		.services = RC | UC | UD,
		PACKETS(SEND, LAST_IMM, ONLY_IMM),
		LENGTHS(0, WEFT_MAX_MSG),
		.wc_opcode = IB_WC_SEND,
		.counted = WEFT_COUNTED_SEND,
		.recv_opcode = IB_WC_RECV,
		.recv_flags = WEFT_WC_WITH_IMM,
	},
	[WEFT_SQE_SEND_INV] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_RECEIVE | WEFT_OPF_SEND | WEFT_OPF_INVALIDATE,
		.services = RC,
		PACKETS(SEND, LAST_INV, ONLY_INV),
		LENGTHS(0, WEFT_MAX_MSG),
		.wc_opcode = IB_WC_SEND,
		.counted = WEFT_COUNTED_SEND,
		.recv_opcode = IB_WC_RECV,
		.recv_flags = WEFT_WC_WITH_INV,
	},
	[WEFT_SQE_WRITE] = {
		.flags = WEFT_OPF_MOVE,
		.services = RC | UC,
		PACKETS(WRITE, LAST, ONLY),
		LENGTHS(0, WEFT_MAX_MSG),
		.access = IB_ACCESS_REMOTE_WRITE,
		.wc_opcode = IB_WC_RDMA_WRITE,
		.counted = WEFT_COUNTED_WRITE,
		.counted_remote = WEFT_COUNTED_REMOTE_WRITE,
		.rcvd_stat = WEFT_STAT_RX_WRITE_REQUESTS,
	},
	[WEFT_SQE_WRITE_IMM] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_RECEIVE,
		.services = RC | UC,
		PACKETS(WRITE, LAST_IMM, ONLY_IMM),
		LENGTHS(0, WEFT_MAX_MSG),
		.access = IB_ACCESS_REMOTE_WRITE,
		.wc_opcode = IB_WC_RDMA_WRITE,
		.counted = WEFT_COUNTED_WRITE,
		.counted_remote = WEFT_COUNTED_REMOTE_WRITE,
		.rcvd_stat = WEFT_STAT_RX_WRITE_REQUESTS,
		.recv_opcode = IB_WC_RECV_RDMA_WITH_IMM,
		.recv_flags = WEFT_WC_WITH_IMM,
	},
	[WEFT_SQE_READ] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_FETCH,
		.services = RC,
		.response = WEFT_RESPONSE_READ,
		.only = WEFT_OP_READ_REQUEST,
		LENGTHS(0, WEFT_MAX_MSG),
		.access = IB_ACCESS_REMOTE_READ,
		.wc_opcode = IB_WC_RDMA_READ,
		.counted = WEFT_COUNTED_READ,
		.counted_remote = WEFT_COUNTED_REMOTE_READ,
		.rcvd_stat = WEFT_STAT_RX_READ_REQUESTS,
		.build = weft_build_read,
		.respond = weft_respond_read,
	},
	[WEFT_SQE_CMP_SWP] = {
		.flags = WEFT_OPF_FETCH,
		ATOMIC(CMP_SWP),
		.wc_opcode = IB_WC_COMP_SWAP,
		.build = weft_build_cmp_swp,
		.execute = weft_execute_cmp_swp,
	},
	[WEFT_SQE_FETCH_ADD] = {
		.flags = WEFT_OPF_FETCH,
		ATOMIC(FETCH_ADD),
		.wc_opcode = IB_WC_FETCH_ADD,
		.build = weft_build_fetch_add,
		.execute = weft_execute_fetch_add,
	},
	[WEFT_SQE_LOCAL_INV] = {
		.flags = WEFT_OPF_LOCAL | WEFT_OPF_SLEEPS,
		.services = RC | UC,
		.wc_opcode = IB_WC_LOCAL_INV,
		.local = weft_local_invalidate,
	},
	[WEFT_SQE_BIND_MW] = {
		.flags = WEFT_OPF_LOCAL,
		.services = RC | UC,
		.wc_opcode = IB_WC_BIND_MW,
		.local = weft_local_bind,
	},
	[WEFT_SQE_REG_MR] = {
		.flags = WEFT_OPF_LOCAL,
		.services = RC | UC,
		.wc_opcode = IB_WC_REG_MR,
		.local = weft_local_register,
	},
	[WEFT_SQE_FLUSH] = {
		.flags = WEFT_OPF_PIECES,
		.services = RC,
		.response = WEFT_RESPONSE_DONE,
		.only = WEFT_OP_FLUSH,
		LENGTHS(0, 0),
		.wc_opcode = IB_WC_FLUSH,
		.build = weft_build_flush,
		/* needs the rights for the placements it names instead of .access */
		.begin = weft_begin_flush,
		.execute = weft_execute_flush,
		.respond = weft_respond_flush,
	},
	[WEFT_SQE_ATOMIC_WRITE] = {
		.services = RC,
		.response = WEFT_RESPONSE_DONE,
		.only = WEFT_OP_ATOMIC_WRITE,
		LENGTHS(WEFT_ATOMIC_WRITE_LENGTH, WEFT_ATOMIC_WRITE_LENGTH),
		.access = IB_ACCESS_REMOTE_WRITE,
		.wc_opcode = IB_WC_ATOMIC_WRITE,
		.rcvd_stat = WEFT_STAT_RX_ATOMIC_REQUESTS,
		.build = weft_build_atomic_write,
		.begin = weft_begin_word,
		.execute = weft_execute_atomic_write,
		.respond = weft_respond_atomic_write,
	},
	[WEFT_SQE_LSO] = {
		.flags = WEFT_OPF_MOVE | WEFT_OPF_RECEIVE | WEFT_OPF_SEND,
		.services = UD,
		.only = WEFT_OP_SEND_ONLY,
		.create_flag = IB_QP_CREATE_IPOIB_UD_LSO,
		LENGTHS(0, WEFT_MAX_MSG),
		.wc_opcode = IB_WC_LSO,
		.counted = WEFT_COUNTED_SEND,
	},
	[WEFT_SQE_MASKED_CMP_SWP] = {
		.flags = WEFT_OPF_FETCH | WEFT_OPF_KERNEL | WEFT_OPF_OWN,
		ATOMIC(MASKED_CMP_SWP),
		.wc_opcode = IB_WC_MASKED_COMP_SWAP,
		.build = weft_build_masked_cmp_swp,
		.execute = weft_execute_masked_cmp_swp,
	},
	[WEFT_SQE_MASKED_FETCH_ADD] = {
		.flags = WEFT_OPF_FETCH | WEFT_OPF_KERNEL | WEFT_OPF_OWN,
		ATOMIC(MASKED_FETCH_ADD),
		.wc_opcode = IB_WC_MASKED_FETCH_ADD,
		.build = weft_build_masked_fetch_add,
		.execute = weft_execute_masked_fetch_add,
	},
	[WEFT_SQE_MKEY] = {
		.flags = WEFT_OPF_LOCAL,
		.services = RC,
		.wc_opcode = WEFT_WC_MKEY,
		.local = weft_local_configure,
	},
	[WEFT_SQE_NOP] = {
		.flags = WEFT_OPF_LOCAL,
		.services = RC,
		.wc_opcode = IB_WC_SEND,
		.local = weft_local_nothing,
	},
};
WEFT_EXPORT_FOR_TEST(weft_opdefs);

/*
 * May a QP with this type, consumer and enum ib_qp_create_flags post the operation? @opcode is any
 * number.
 */
bool weft_opdef_allowed(enum ib_qp_type type, bool kernel, u32 create_flags, u32 opcode)
{
	const struct weft_opdef *op;

	if (opcode >= WEFT_SQE_OPCODES)
		return false;
	op = weft_opdef(opcode);
	/* a frame has no room for anything else */
	if (type == IB_QPT_RAW_PACKET)
		return opcode == WEFT_SQE_SEND ||
		       (opcode == WEFT_SQE_LSO && create_flags & op->create_flag);
	if (!(op->services & BIT(weft_rules_service(type))))
		return false;
	if (op->flags & WEFT_OPF_KERNEL && !(kernel && type == IB_QPT_RC))
		return false;
	return !op->create_flag || create_flags & op->create_flag;
}
WEFT_EXPORT_FOR_TEST(weft_opdef_allowed);
