// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions of kernel consumers with protection information of T10.
 *
 * A consumer maps a list of data and one of tuples (ib_map_mr_sg_pi()), sets ib_mr.sig_attrs, and
 * posts REG_MR_INTEGRITY. After the transfer it asks for the status, which it must do before the
 * next registration. mem/pi.c does the work.
 */
#include "object/integrity.h"

#include "mem/fastreg.h"
#include "mem/pi.h"
#include "object/inject.h"
#include "object/mr.h"
#include "object/refuse.h"
#include "params.h"

/* Return: ERR_PTR(): -EINVAL: too many elements; -ENOMEM. */
struct ib_mr *weft_alloc_mr_integrity(struct ib_pd *pd, u32 max_num_data_sg, u32 max_num_meta_sg)
{
	static const char verb[] = "allocate MR with integrity";
	int err;

	err = weft_inject_verb(pd->device, WEFT_VERB_ALLOC_MR) ?:
	      weft_check_range(pd->device, verb, "max_num_data_sg", max_num_data_sg, 1,
			       WEFT_MAX_FASTREG_BLOCKS) ?:
	      weft_check_range(pd->device, verb, "max_num_meta_sg", max_num_meta_sg, 1,
			       WEFT_MAX_FASTREG_BLOCKS);
	if (err)
		return ERR_PTR(err);
	return weft_mr_alloc_fastreg(pd, max_num_data_sg, max_num_meta_sg, true);
}
WEFT_EXPORT_FOR_TEST(weft_alloc_mr_integrity);

/*
 * See ib_map_mr_sg_pi(). Prepares what the next registration registers; what is registered now
 * stays. Return: 0; -ENOMEM: the MR has too little room for one of the lists.
 */
int weft_map_mr_sg_pi(struct ib_mr *ib_mr, struct scatterlist *data_sg, int data_sg_nents,
		      unsigned int *data_sg_offset, struct scatterlist *meta_sg, int meta_sg_nents,
		      unsigned int *meta_sg_offset)
{
	const struct weft_region *region = to_weft_mr(ib_mr)->region;
	struct weft_fastreg *fastreg = region->fastreg;
	struct weft_pi *pi = region->pi;
	struct weft_pi_terms *next = &pi->next;

	fastreg->num = 0;
	if (data_sg_nents > pi->max_data || meta_sg_nents > pi->max_meta)
		return -ENOMEM;
	next->num_data = weft_mr_add_pieces(fastreg->pieces, pi->max_data, data_sg, data_sg_nents,
					    data_sg_offset, &next->data);
	next->num_meta = weft_mr_add_pieces(fastreg->pieces + next->num_data, pi->max_meta, meta_sg,
					    meta_sg_nents, meta_sg_offset, &next->meta);
	fastreg->num = next->num_data;
	fastreg->length = next->data + next->meta;
	ib_mr->iova = 0;
	ib_mr->length = next->data + next->meta;
	ib_mr->sig_attrs->meta_length = next->meta;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_map_mr_sg_pi);

/*
 * See ib_check_mr_status(). The error is the first one since the registration; reading it forgets
 * it. Return: 0; -EINVAL: a check that does not exist, or no protection information.
 */
int weft_check_mr_status(struct ib_mr *ib_mr, u32 check_mask, struct ib_mr_status *status)
{
	struct weft_pi *pi = to_weft_mr(ib_mr)->region->pi;

	if (check_mask & ~IB_MR_CHECK_SIG_STATUS)
		return weft_refuse(ib_mr->device, -EINVAL, "check MR status: mask %#x is unknown",
				   check_mask);
	status->fail_status = 0;
	if (!(check_mask & IB_MR_CHECK_SIG_STATUS))
		return 0;
	if (!pi)
		return weft_refuse(ib_mr->device, -EINVAL,
				   "check MR status: lkey %#x has no protection information",
				   ib_mr->lkey);
	if (weft_pi_status(pi, &status->sig_err))
		status->fail_status = IB_MR_CHECK_SIG_STATUS;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_check_mr_status);
