// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/local_op.h"

#include <rdma/weft-abi.h>

#include "mem/fastreg.h"
#include "object/key.h"
#include "object/mw.h"

int weft_local_invalidate(const struct weft_accessor *who, const struct weft_sqe *sqe, gfp_t gfp)
{
	return weft_key_invalidate(who, sqe->ex, true);
}

int weft_local_bind(const struct weft_accessor *who, const struct weft_sqe *sqe, gfp_t gfp)
{
	struct weft_mw_request request = {
		.rkey = sqe->mw.rkey,
		.new_rkey = sqe->mw.new_rkey,
		.lkey = sqe->mw.lkey,
		.access = sqe->mw.access,
		.addr = sqe->mw.addr,
		.length = sqe->mw.length,
	};

	return weft_mw_bind(who, &request, gfp);
}

/* REG_MR */
int weft_local_register(const struct weft_accessor *who, const struct weft_sqe *sqe, gfp_t gfp)
{
	struct weft_fastreg_request request = {
		.key = sqe->mw.rkey,
		.new_key = sqe->mw.new_rkey,
		.access = sqe->mw.access,
		.iova = sqe->mw.addr,
	};

	return weft_fastreg_register(who, &request);
}
