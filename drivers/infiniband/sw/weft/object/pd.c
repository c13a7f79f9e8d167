// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/pd.h"

#include <rdma/weft-abi.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/count.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "params.h"

int weft_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	int ret = weft_udata_empty(udata);

	if (ret)
		return weft_refuse_request(ibpd->device, ret, "allocate PD", udata);
	ret = weft_inject_verb(ibpd->device, WEFT_VERB_ALLOC_PD);
	if (ret)
		return ret;
	return weft_count_take(&to_weft_dev(ibpd->device)->num_pd, WEFT_MAX_PD);
}

int weft_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	weft_count_give(&to_weft_dev(ibpd->device)->num_pd);
	return 0;
}

/* Succeeds for any protection domain: the core has checked that the handle exists. */
static int UVERBS_HANDLER(WEFT_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(WEFT_ATTR_QUERY_PD_HANDLE,
					    UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY));

ADD_UVERBS_METHODS(pd_methods, UVERBS_OBJECT_PD, &UVERBS_METHOD(WEFT_METHOD_PD_QUERY));

const struct uapi_definition weft_pd_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &pd_methods),
	{ }
};
