/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Builders of work requests that configure mkeys. They are for programs that use
 * libweft, between ibv_wr_start() and ibv_wr_complete() of post.c.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "sge.h"
#include "weft.h"
#include "weft-abi.h"

/* The setters of an mkey that a builder has called, struct weft_sq.set. */
enum {
	MKEY_SET_ACCESS	= 1 << 0,
	MKEY_SET_LAYOUT	= 1 << 1,
};

/*
 * Begin to configure @mkey, with @setters setters to come. The setters fill in
 * the rest. The kernel checks what depends on other objects when it executes
 * the work request.
 */
static struct weft_sqe *wr_begin_mkey(struct weftdv_qp_ex *dv,
				      const struct weftdv_mkey *mkey,
				      uint8_t setters)
{
	struct weft_qp *qp = to_weft_qp_dv(dv);
	struct weft_sqe *sqe;

	sqe = weft_wr_begin(qp, WEFT_SQE_MKEY);
	if (unlikely(!sqe))
		return NULL;
	memset(&sqe->mkey, 0, sizeof(sqe->mkey));
	sqe->mkey.key = mkey->lkey;
	qp->sq.setters = setters;
	qp->sq.set = 0;
	qp->sq.unfinished = true;
	return sqe;
}

/* The mkey that is being configured, for the setter @set; NULL: none, or it has had that one. */
static struct weft_sqe *wr_mkey(struct weft_sq *sq, uint8_t set)
{
	struct weft_sqe *sqe = sq->sqe;

	if (unlikely(!sqe || sqe->opcode != WEFT_SQE_MKEY || !sq->setters ||
		     sq->set & set))
		return weft_wr_fail(sq, EINVAL);
	sq->set |= set;
	if (!--sq->setters) {
		/* without a layout there would be no memory */
		if (!(sq->set & MKEY_SET_LAYOUT))
			return weft_wr_fail(sq, EINVAL);
		sq->unfinished = false;
	}
	return sqe;
}

static void wr_set_mkey_access_flags(struct weftdv_qp_ex *dv, uint32_t access)
{
	const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			       IBV_ACCESS_REMOTE_WRITE;
	struct weft_sq *sq = &to_weft_qp_dv(dv)->sq;
	struct weft_sqe *sqe = wr_mkey(sq, MKEY_SET_ACCESS);

	if (unlikely(!sqe))
		return;
	if (access & ~known)
		weft_wr_fail(sq, EINVAL);
	else
		sqe->mkey.access = access;
}

static void wr_set_mkey_layout_list(struct weftdv_qp_ex *dv, uint16_t num,
				    const struct ibv_sge *sge)
{
	struct weft_sq *sq = &to_weft_qp_dv(dv)->sq;
	struct weft_sqe *sqe = wr_mkey(sq, MKEY_SET_LAYOUT);

	if (unlikely(!sqe))
		return;
	if (!num || num > sq->max_entries) {
		weft_wr_fail(sq, EINVAL);
		return;
	}
	sqe->mkey.passes = 1;
	sqe->num_sge = num;
	put_sges((struct weft_sge *)(sqe + 1), sge, num);
}

static void
wr_set_mkey_layout_interleaved(struct weftdv_qp_ex *dv, uint32_t repeat,
			       uint16_t num,
			       const struct weftdv_mr_interleaved *data)
{
	struct weft_sq *sq = &to_weft_qp_dv(dv)->sq;
	struct weft_sqe *sqe = wr_mkey(sq, MKEY_SET_LAYOUT);
	struct weft_sge *to;

	if (unlikely(!sqe))
		return;
	if (!repeat || !num || num > sq->max_entries / 2) {
		weft_wr_fail(sq, EINVAL);
		return;
	}
	sqe->mkey.passes = repeat;
	sqe->mkey.flags |= WEFT_MKEY_INTERLEAVED;
	sqe->num_sge = 2 * num;
	for (to = (struct weft_sge *)(sqe + 1); num; num--, data++) {
		*to++ = (struct weft_sge){
			.addr = data->addr,
			.length = data->bytes_count,
			.lkey = data->lkey,
		};
		*to++ = (struct weft_sge){ .addr = data->bytes_skip };
	}
}

static void wr_mkey_configure(struct weftdv_qp_ex *dv, struct weftdv_mkey *mkey,
			      uint8_t num_setters,
			      struct weftdv_mkey_conf_attr *attr)
{
	if (unlikely(!wr_begin_mkey(dv, mkey, num_setters)))
		return;
	if (!num_setters || attr->conf_flags || attr->comp_mask)
		weft_wr_fail(&to_weft_qp_dv(dv)->sq, EINVAL);
}

static void wr_mr_list(struct weftdv_qp_ex *dv, struct weftdv_mkey *mkey,
		       uint32_t access, uint16_t num, struct ibv_sge *sge)
{
	if (unlikely(!wr_begin_mkey(dv, mkey, 2)))
		return;
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_list(dv, num, sge);
}

static void wr_mr_interleaved(struct weftdv_qp_ex *dv, struct weftdv_mkey *mkey,
			      uint32_t access, uint32_t repeat, uint16_t num,
			      struct weftdv_mr_interleaved *data)
{
	if (unlikely(!wr_begin_mkey(dv, mkey, 2)))
		return;
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_interleaved(dv, repeat, num, data);
}

static_assert(WEFT_WC_MKEY == WEFTDV_WC_MKEY,
	      "the opcode of a completion is passed on");

void weft_set_mkey_ops(struct weft_qp *qp, uint64_t ops)
{
	const uint32_t stride = qp->sq.queue.ring.stride;

	if (!ops)
		return;
	qp->dv_ops = ops;
	qp->sq.max_entries = (stride - sizeof(struct weft_sqe)) /
			     sizeof(struct weft_sge);
	if (qp->sq.max_entries > WEFT_MKEY_ENTRIES)
		qp->sq.max_entries = WEFT_MKEY_ENTRIES;
	if (ops & WEFTDV_QP_EX_WITH_MR_LIST)
		qp->dv.wr_mr_list = wr_mr_list;
	if (ops & WEFTDV_QP_EX_WITH_MR_INTERLEAVED)
		qp->dv.wr_mr_interleaved = wr_mr_interleaved;
	if (ops & WEFTDV_QP_EX_WITH_MKEY_CONFIGURE) {
		qp->dv.wr_mkey_configure = wr_mkey_configure;
		qp->dv.wr_set_mkey_access_flags = wr_set_mkey_access_flags;
		qp->dv.wr_set_mkey_layout_list = wr_set_mkey_layout_list;
		qp->dv.wr_set_mkey_layout_interleaved =
			wr_set_mkey_layout_interleaved;
	}
}
