/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"
#include "weft-abi.h"

struct ibv_mr *weft_new_mr(struct verbs_mr *vmr, int ret)
{
	if (!ret)
		return &vmr->ibv_mr;

	free(vmr);
	errno = ret;
	return NULL;
}

struct ibv_mr *weft_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			   uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	return weft_new_mr(vmr, ret);
}

struct ibv_mr *weft_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				  size_t length, uint64_t iova, int fd,
				  int access)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				    NULL);
	return weft_new_mr(vmr, ret);
}

#if VERBS_PABI >= 59
/*
 * A registration with a DMA handle takes a command that only kernels with such handles have. All
 * others are translated, so that they work on every kernel; the first releases with ibv_reg_mr_ex()
 * leave that to the provider.
 */
struct ibv_mr *weft_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *ibattr)
{
	const struct verbs_mr_init_attr *attr = (void *)ibattr;
	const uint64_t mask = attr->comp_mask;
	const uint64_t buffer = VERBS_REG_MR_MASK_FD |
				VERBS_REG_MR_MASK_FD_OFFSET |
				VERBS_REG_MR_MASK_IOVA;
	struct verbs_mr *vmr;

	if (!check_comp_mask(mask, buffer | VERBS_REG_MR_MASK_ADDR |
					   VERBS_REG_MR_MASK_DMAH)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (mask & VERBS_REG_MR_MASK_DMAH) {
		vmr = calloc(1, sizeof(*vmr));
		if (!vmr)
			return NULL;
		return weft_new_mr(vmr, ibv_cmd_reg_mr_ex(pd, vmr, ibattr));
	}
	if (mask == buffer)
		return weft_reg_dmabuf_mr(pd, attr->fd_offset, attr->length,
					  attr->iova, attr->fd, attr->access);
	if ((mask & ~VERBS_REG_MR_MASK_IOVA) != VERBS_REG_MR_MASK_ADDR) {
		errno = EINVAL;
		return NULL;
	}
	return weft_reg_mr(pd, attr->addr, attr->length,
			   mask & VERBS_REG_MR_MASK_IOVA ?
				   attr->iova : (uintptr_t)attr->addr,
			   attr->access);
}

struct ibv_dmah *weft_alloc_dmah(struct ibv_context *context,
				 struct ibv_dmah_init_attr *attr)
{
	struct verbs_dmah *dmah;
	int ret;

	dmah = calloc(1, sizeof(*dmah));
	if (!dmah)
		return NULL;

	ret = ibv_cmd_alloc_dmah(context, dmah, attr);
	if (ret)
		goto err_free;
	return (struct ibv_dmah *)dmah;

err_free:
	free(dmah);
	errno = ret;
	return NULL;
}

int weft_dealloc_dmah(struct ibv_dmah *ibdmah)
{
	struct verbs_dmah *dmah = (struct verbs_dmah *)ibdmah;
	int ret;

	ret = ibv_cmd_free_dmah(dmah);
	if (ret)
		return ret;

	free(dmah);
	return 0;
}
#endif

/*
 * The kernel has only a key, and no object, for a null MR. The handle is
 * invalid, so that it cannot import another MR.
 */
struct ibv_mr *weft_alloc_null_mr(struct ibv_pd *pd)
{
	struct verbs_mr *vmr;

	if (!to_weft_context(pd->context)->null_key) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.handle = UINT32_MAX;
	vmr->ibv_mr.lkey = WEFT_NULL_KEY;
	vmr->mr_type = IBV_MR_TYPE_NULL_MR;
	atomic_fetch_add(&to_weft_pd(pd)->users, 1);
	return &vmr->ibv_mr;
}

int weft_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		  void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;
	int ret;

	ret = ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
			       access, pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret)
		return ret;

	/* ibv_dereg_mr() looks here for IBV_ACCESS_ON_DEMAND */
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		vmr->access = access;
	return 0;
}

int weft_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge)
{
	return ibv_cmd_advise_mr(pd, advice, flags, sg_list, num_sge);
}

int weft_dereg_mr(struct verbs_mr *vmr)
{
	int ret = 0;

	if (vmr->mr_type == IBV_MR_TYPE_NULL_MR)
		atomic_fetch_sub(&to_weft_pd(vmr->ibv_mr.pd)->users, 1);
	else
		ret = ibv_cmd_dereg_mr(vmr);
	if (ret)
		return ret;

	free(vmr);
	return 0;
}

struct ibv_mr *weft_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_query_mr(pd, vmr, handle);
	return weft_new_mr(vmr, ret);
}

void weft_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}

struct ibv_mw *weft_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret)
		goto err_free_mw;
	return mw;

err_free_mw:
	free(mw);
	errno = ret;
	return NULL;
}

int weft_dealloc_mw(struct ibv_mw *mw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(mw);
	if (ret)
		return ret;

	free(mw);
	return 0;
}
