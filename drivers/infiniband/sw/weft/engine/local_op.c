// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/local_op.h"

#include <rdma/weft-abi.h>

#include "mem/fastreg.h"
#include "mem/layout.h"
#include "object/key.h"
#include "object/mkey.h"
#include "object/mw.h"
#include "ring/sqe.h"

int weft_local_invalidate(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp)
{
	return weft_key_invalidate(who, wqe->sqe.ex, true);
}

int weft_local_bind(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp)
{
	const struct weft_sqe *sqe = &wqe->sqe;
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
int weft_local_register(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp)
{
	const struct weft_sqe *sqe = &wqe->sqe;
	struct weft_fastreg_request request = {
		.key = sqe->mw.rkey,
		.new_key = sqe->mw.new_rkey,
		.access = sqe->mw.access,
		.iova = sqe->mw.addr,
	};

	return weft_fastreg_register(who, &request);
}

int weft_local_configure(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp)
{
	struct weft_layout_request request = {
		.sge = wqe->sge,
		.num_sge = wqe->sqe.num_sge,
		.passes = wqe->sqe.mkey.passes,
		.access = wqe->sqe.mkey.access,
		.interleaved = wqe->sqe.mkey.flags & WEFT_MKEY_INTERLEAVED,
	};

	if (wqe->sqe.mkey.flags & ~WEFT_MKEY_INTERLEAVED)
		return -EINVAL;
	return weft_mkey_configure(who, wqe->sqe.mkey.key, &request, gfp);
}
