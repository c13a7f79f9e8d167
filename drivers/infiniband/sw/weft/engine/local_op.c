// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/local_op.h"

#include <linux/bitfield.h>
#include <rdma/weft-abi.h>

#include "mem/fastreg.h"
#include "mem/layout.h"
#include "mem/pi.h"
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
	const struct weft_sqe *sqe = &wqe->sqe;
	const u32 flags = sqe->mkey.flags;
	struct weft_layout_request layout = {
		.sge = wqe->sge,
		.num_sge = sqe->num_sge,
		.passes = sqe->mkey.passes,
		.access = sqe->mkey.access,
		.interleaved = flags & WEFT_MKEY_INTERLEAVED,
	};
	struct weft_pi_request signatures = {
		.mem = &sqe->mkey.memory,
		.wire = &sqe->mkey.wire,
		.block = FIELD_GET(WEFT_MKEY_BLOCK, flags),
		.check_mask = FIELD_GET(WEFT_MKEY_CHECK_MASK, flags),
		.copy_mask = FIELD_GET(WEFT_MKEY_COPY_MASK, flags),
		.copy = flags & WEFT_MKEY_COPY,
	};

	if (flags & ~(flags & WEFT_MKEY_SIGNED ? WEFT_MKEY_FLAGS : WEFT_MKEY_INTERLEAVED))
		return -EINVAL;
	return weft_mkey_configure(who, sqe->mkey.key, &layout,
				   flags & WEFT_MKEY_SIGNED ? &signatures : NULL, gfp);
}

int weft_local_nothing(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp)
{
	return 0;
}
