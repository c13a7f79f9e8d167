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
	MKEY_SET_SIG	= 1 << 2,
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
	qp->sq.sign = container_of(mkey, struct weft_mkey, dv)->sign;
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

/* Returns false: no device has that. */
static bool put_t10dif(struct weft_signature *to,
		       const struct weftdv_sig_t10dif *dif)
{
	const uint16_t remap = WEFTDV_SIG_T10DIF_FLAG_REF_REMAP,
		       app = WEFTDV_SIG_T10DIF_FLAG_APP_ESCAPE,
		       app_ref = WEFTDV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;

	to->type = dif->bg_type == WEFTDV_SIG_T10DIF_CSUM ?
			   WEFT_SIGNATURE_DIF_CSUM :
			   WEFT_SIGNATURE_DIF_CRC;
	to->app_tag = dif->app_tag;
	to->ref_tag = dif->ref_tag;
	if (dif->bg)
		to->flags |= WEFT_SIGNATURE_SEED;
	if (dif->flags & remap)
		to->flags |= WEFT_SIGNATURE_REF_REMAP;
	if (dif->flags & app)
		to->flags |= WEFT_SIGNATURE_APP_ESCAPE;
	if (dif->flags & app_ref)
		to->flags |= WEFT_SIGNATURE_REF_ESCAPE;
	return (!dif->bg || dif->bg == UINT16_MAX) &&
	       (dif->bg_type == WEFTDV_SIG_T10DIF_CRC ||
		dif->bg_type == WEFTDV_SIG_T10DIF_CSUM) &&
	       !(dif->flags & ~(remap | app | app_ref));
}

static bool put_crc(struct weft_signature *to, const struct weftdv_sig_crc *crc)
{
	uint64_t ones = UINT32_MAX;

	switch (crc->type) {
	case WEFTDV_SIG_CRC_TYPE_CRC32:
		to->type = WEFT_SIGNATURE_CRC32;
		break;
	case WEFTDV_SIG_CRC_TYPE_CRC32C:
		to->type = WEFT_SIGNATURE_CRC32C;
		break;
	case WEFTDV_SIG_CRC_TYPE_CRC64_XP10:
		to->type = WEFT_SIGNATURE_CRC64;
		ones = UINT64_MAX;
		break;
	default:
		return false;
	}
	if (crc->seed & ones)
		to->flags |= WEFT_SIGNATURE_SEED;
	return !(crc->seed & ones) || (crc->seed & ones) == ones;
}

/* @to is zero. */
static bool put_domain(struct weft_signature *to,
		       const struct weftdv_sig_block_domain *domain)
{
	if (!domain)
		return true;
	if (domain->comp_mask || domain->block_size > WEFTDV_BLOCK_SIZE_4160)
		return false;
	switch (domain->sig_type) {
	case WEFTDV_SIG_TYPE_T10DIF:
		return put_t10dif(to, domain->sig.dif);
	case WEFTDV_SIG_TYPE_CRC:
		return put_crc(to, domain->sig.crc);
	default:
		return false;
	}
}

static bool is_dif(const struct weft_signature *signature)
{
	return signature->type == WEFT_SIGNATURE_DIF_CRC ||
	       signature->type == WEFT_SIGNATURE_DIF_CSUM;
}

/* Have the signatures of both domains the same structure? */
static bool same_structure(const struct weft_signature *a,
			   const struct weft_signature *b)
{
	return a->type == b->type || (is_dif(a) && is_dif(b));
}

/* 0, or an errno: EINVAL what makes no sense, EOPNOTSUPP what the device does not have. */
static int put_signatures(struct weft_sqe *sqe,
			  const struct weftdv_sig_block_attr *attr)
{
	const struct weftdv_sig_block_domain *mem = attr->mem, *wire = attr->wire;
	const bool copy = attr->flags & WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK;

	if ((!mem && !wire) || attr->comp_mask ||
	    attr->flags & ~WEFTDV_SIG_BLOCK_ATTR_FLAG_COPY_MASK ||
	    !put_domain(&sqe->mkey.memory, mem) ||
	    !put_domain(&sqe->mkey.wire, wire))
		return EINVAL;
	if (copy && !same_structure(&sqe->mkey.memory, &sqe->mkey.wire))
		return EINVAL;
	if (mem && wire && mem->block_size != wire->block_size)
		return EOPNOTSUPP;
	sqe->mkey.flags |= WEFT_MKEY_SIGNED | attr->check_mask << 8 |
			   (mem ? mem : wire)->block_size << 24;
	if (copy)
		sqe->mkey.flags |= WEFT_MKEY_COPY | attr->copy_mask << 16;
	return 0;
}

static void wr_set_mkey_sig_block(struct weftdv_qp_ex *dv,
				  const struct weftdv_sig_block_attr *attr)
{
	struct weft_sq *sq = &to_weft_qp_dv(dv)->sq;
	struct weft_sqe *sqe = wr_mkey(sq, MKEY_SET_SIG);
	int ret;

	if (unlikely(!sqe))
		return;
	ret = sq->sign ? put_signatures(sqe, attr) : EINVAL;
	if (unlikely(ret))
		weft_wr_fail(sq, ret);
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
		qp->dv.wr_set_mkey_sig_block = wr_set_mkey_sig_block;
	}
}
