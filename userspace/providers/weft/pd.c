/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <errno.h>
#include <stdlib.h>

#include "weft.h"

struct weft_td {
	struct ibv_td td;
	/* parent domains that were created with it */
	atomic_uint users;
};

static struct weft_td *to_weft_td(struct ibv_td *td)
{
	return container_of(td, struct weft_td, td);
}

struct ibv_pd *weft_alloc_pd(struct ibv_context *context)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct weft_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret)
		goto err_free_pd;
	return &pd->pd;

err_free_pd:
	free(pd);
	errno = ret;
	return NULL;
}

int weft_dealloc_pd(struct ibv_pd *ibpd)
{
	struct weft_pd *pd = to_weft_pd(ibpd);
	int ret;

	if (atomic_load(&pd->users))
		return EBUSY;

	if (pd->protection) {
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
		atomic_fetch_sub(&pd->protection->users, 1);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}

	free(pd);
	return 0;
}

struct ibv_pd *weft_import_pd(struct ibv_context *context, uint32_t handle)
{
	union verbs_command cmd;
	struct weft_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	verbs_command_init(&cmd, UVERBS_OBJECT_PD, WEFT_METHOD_PD_QUERY);
	verbs_command_add_obj(&cmd, WEFT_ATTR_QUERY_PD_HANDLE, handle);
	ret = execute_ioctl(context, &cmd.buffer);
	if (ret)
		goto err_free_pd;

	pd->pd.context = context;
	pd->pd.handle = handle;
	return &pd->pd;

err_free_pd:
	free(pd);
	errno = ret;
	return NULL;
}

/* This call cannot report an error, so a PD that still has users is not freed. */
void weft_unimport_pd(struct ibv_pd *ibpd)
{
	struct weft_pd *pd = to_weft_pd(ibpd);

	if (!atomic_load(&pd->users))
		free(pd);
}

struct ibv_td *weft_alloc_td(struct ibv_context *context,
			     struct ibv_td_init_attr *attr)
{
	struct weft_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;

	td->td.context = context;
	return &td->td;
}

int weft_dealloc_td(struct ibv_td *ibtd)
{
	struct weft_td *td = to_weft_td(ibtd);

	if (atomic_load(&td->users))
		return EBUSY;

	free(td);
	return 0;
}

/*
 * The allocators of a parent domain are for buffers that a provider allocates.
 * All queues of weft are kernel memory, so the allocators are accepted and never
 * called. For the same reason weft accepts, and ignores, the flag for memory
 * that a confidential guest shares with its host.
 */
struct ibv_pd *
weft_alloc_parent_domain(struct ibv_context *context,
			 struct ibv_parent_domain_init_attr *attr)
{
	struct weft_pd *pd;

	if (!attr->pd ||
	    !check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
			     VERBS_PARENT_DOMAIN_ALLOW_CC_UNPROTECTED_ALLOC)) {
		errno = EINVAL;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->pd.context = attr->pd->context;
	pd->pd.handle = attr->pd->handle;
	pd->protection = to_weft_pd(attr->pd);
	atomic_fetch_add(&pd->protection->users, 1);
	if (attr->td) {
		pd->td = to_weft_td(attr->td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	return &pd->pd;
}
