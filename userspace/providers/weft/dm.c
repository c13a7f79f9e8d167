/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Device memory is kernel memory that the process maps, so memcpy() copies to
 * and from it.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "weft.h"
#include "weft-abi.h"

/* Offset and length of a copy are multiples of this. */
#define DM_ALIGNMENT	4

/*
 * Check like hardware does: a program that works with weft must not fail on
 * hardware.
 */
static int dm_check(const struct weft_dm *dm, uint64_t offset, size_t length)
{
	if (offset > dm->length || length > dm->length - offset)
		return EFAULT;
	if (offset % DM_ALIGNMENT || length % DM_ALIGNMENT)
		return EINVAL;
	return 0;
}

static int dm_memcpy_to(struct ibv_dm *ibdm, uint64_t offset,
			const void *host_addr, size_t length)
{
	struct weft_dm *dm = to_weft_dm(ibdm);
	int ret;

	ret = dm_check(dm, offset, length);
	if (!ret)
		memcpy(dm->map + offset, host_addr, length);
	return ret;
}

static int dm_memcpy_from(void *host_addr, struct ibv_dm *ibdm,
			  uint64_t offset, size_t length)
{
	struct weft_dm *dm = to_weft_dm(ibdm);
	int ret;

	ret = dm_check(dm, offset, length);
	if (!ret)
		memcpy(host_addr, dm->map + offset, length);
	return ret;
}

/* Map the memory that the kernel has described. Returns 0 or an errno. */
static int dm_map(struct weft_dm *dm, struct ibv_context *context,
		  const struct weft_dm_resp *where)
{
	void *map;

	map = mmap(NULL, where->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   context->cmd_fd, where->mmap_key);
	if (map == MAP_FAILED)
		return errno;

	dm->map = map;
	dm->map_size = where->mmap_size;
	dm->length = where->length;
	dm->vdm.dm.memcpy_to_dm = dm_memcpy_to;
	dm->vdm.dm.memcpy_from_dm = dm_memcpy_from;
	return 0;
}

static void dm_release(struct weft_dm *dm)
{
	munmap(dm->map, dm->map_size);
	free(dm);
}

struct ibv_dm *weft_alloc_dm(struct ibv_context *context,
			     struct ibv_alloc_dm_attr *attr)
{
	struct weft_dm_resp resp = {};
	union verbs_command cmd;
	struct weft_dm *dm;
	int ret;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}

	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;

	verbs_command_init(&cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC);
	verbs_command_add_out(&cmd, WEFT_ATTR_ALLOC_DM_RESP, &resp,
			      sizeof(resp));
	ret = ibv_cmd_alloc_dm(context, attr, &dm->vdm, &cmd.buffer);
	if (ret)
		goto err_free_dm;
	ret = dm_map(dm, context, &resp);
	if (ret)
		goto err_dealloc;
	return &dm->vdm.dm;

err_dealloc:
	ibv_cmd_free_dm(&dm->vdm);
err_free_dm:
	free(dm);
	errno = ret;
	return NULL;
}

int weft_free_dm(struct ibv_dm *ibdm)
{
	struct weft_dm *dm = to_weft_dm(ibdm);
	int ret;

	ret = ibv_cmd_free_dm(&dm->vdm);
	if (ret)
		return ret;

	dm_release(dm);
	return 0;
}

struct ibv_dm *weft_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct weft_dm_resp resp = {};
	union verbs_command cmd;
	struct weft_dm *dm;
	int ret;

	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;

	verbs_command_init(&cmd, UVERBS_OBJECT_DM, WEFT_METHOD_DM_QUERY);
	verbs_command_add_obj(&cmd, WEFT_ATTR_QUERY_DM_HANDLE, handle);
	verbs_command_add_out(&cmd, WEFT_ATTR_QUERY_DM_RESP, &resp,
			      sizeof(resp));
	ret = execute_ioctl(context, &cmd.buffer);
	if (ret)
		goto err_free_dm;
	ret = dm_map(dm, context, &resp);
	if (ret)
		goto err_free_dm;

	verbs_dm_set_handle(&dm->vdm, handle);
	dm->vdm.dm.context = context;
	return &dm->vdm.dm;

err_free_dm:
	free(dm);
	errno = ret;
	return NULL;
}

void weft_unimport_dm(struct ibv_dm *ibdm)
{
	dm_release(to_weft_dm(ibdm));
}

struct ibv_mr *weft_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			      uint64_t offset, size_t length,
			      unsigned int access)
{
	struct weft_dm *dm = to_weft_dm(ibdm);
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_dm_mr(pd, &dm->vdm, offset, length, access, vmr,
				NULL);
	return weft_new_mr(vmr, ret);
}
