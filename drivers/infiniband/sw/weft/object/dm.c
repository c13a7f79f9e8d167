// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/dm.h"

#include <linux/slab.h>
#include <rdma/weft-abi.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "object/dev.h"
#include "object/inject.h"
#include "object/refuse.h"
#include "params.h"
#include "ring/pages.h"

static int dm_reserve(struct weft_dev *dev, u64 size)
{
	u64 all = atomic64_add_return(size, &dev->dm_size);

	if (all <= WEFT_MAX_DM_SIZE)
		return 0;
	atomic64_sub(size, &dev->dm_size);
	return weft_refuse(&dev->ibdev, -ENOMEM,
			   "allocate DM: %llu bytes of all device memory are above %u",
			   all, WEFT_MAX_DM_SIZE);
}

/* Tell the process how to map the memory. */
static int dm_describe(const struct weft_dm *dm, struct uverbs_attr_bundle *attrs,
		       u16 attr)
{
	const struct weft_dm_resp resp = {
		.mmap_key = weft_pages_key(dm->pages),
		.mmap_size = dm->pages->size,
		.length = dm->ib_dm.length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, attr, &resp, sizeof(resp));
}

/*
 * The memory is zeroed, charged to the caller, and page-aligned.
 *
 * Return: ERR_PTR(): -EINVAL: length 0, or alignment of more than a page; -ENOMEM: no memory, or
 * more than the device has left; -EFAULT.
 */
struct ib_dm *weft_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			    struct ib_dm_alloc_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	struct weft_dev *dev = to_weft_dev(ibdev);
	struct weft_dm *dm;
	int ret = weft_inject_verb(ibdev, WEFT_VERB_ALLOC_DM);

	if (ret)
		return ERR_PTR(ret);
	if (!attr->length)
		return ERR_PTR(weft_refuse(ibdev, -EINVAL, "allocate DM: length is 0"));
	if (weft_check_max(ibdev, "allocate DM", "log_align_req", attr->alignment, PAGE_SHIFT))
		return ERR_PTR(-EINVAL);
	if (weft_check_max(ibdev, "allocate DM", "length", attr->length, WEFT_MAX_DM_SIZE) ||
	    dm_reserve(dev, PAGE_ALIGN(attr->length)))
		return ERR_PTR(-ENOMEM);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm) {
		ret = -ENOMEM;
		goto err_unreserve;
	}
	dm->ib_dm.length = attr->length;
	dm->pages = weft_pages_alloc(attr->length, uctx);
	if (IS_ERR(dm->pages)) {
		ret = PTR_ERR(dm->pages);
		goto err_free_dm;
	}
	ret = dm_describe(dm, attrs, WEFT_ATTR_ALLOC_DM_RESP);
	if (ret)
		goto err_free_pages;
	return &dm->ib_dm;

err_free_pages:
	weft_pages_put(dm->pages);
err_free_dm:
	kfree(dm);
err_unreserve:
	atomic64_sub(PAGE_ALIGN(attr->length), &dev->dm_size);
	return ERR_PTR(ret);
}

/* Mappings of the memory stay valid. */
int weft_dealloc_dm(struct ib_dm *ib_dm, struct uverbs_attr_bundle *attrs)
{
	struct weft_dev *dev = to_weft_dev(ib_dm->device);
	struct weft_dm *dm = to_weft_dm(ib_dm);

	atomic64_sub(dm->pages->size, &dev->dm_size);
	weft_pages_put(dm->pages);
	kfree(dm);
	return 0;
}

static int UVERBS_HANDLER(WEFT_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ib_dm = uverbs_attr_get_obj(attrs, WEFT_ATTR_QUERY_DM_HANDLE);

	return dm_describe(to_weft_dm(ib_dm), attrs, WEFT_ATTR_QUERY_DM_RESP);
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(WEFT_ATTR_QUERY_DM_HANDLE,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(WEFT_ATTR_QUERY_DM_RESP,
						UVERBS_ATTR_STRUCT(struct weft_dm_resp,
								   length),
						UA_MANDATORY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(dm_alloc, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(WEFT_ATTR_ALLOC_DM_RESP,
						 UVERBS_ATTR_STRUCT(struct weft_dm_resp,
								    length),
						 UA_MANDATORY));

ADD_UVERBS_METHODS(dm_methods, UVERBS_OBJECT_DM, &UVERBS_METHOD(WEFT_METHOD_DM_QUERY));

const struct uapi_definition weft_dm_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &dm_alloc),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &dm_methods),
	{ }
};
