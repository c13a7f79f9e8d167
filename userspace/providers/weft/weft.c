/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "weft.h"
#include "weft-abi.h"

#define SIZE_IS(_name, _size) (sizeof(struct _name) == (_size))
static_assert(WEFT_ABI_SIZES(SIZE_IS), "the ABI");

/*
 * libibverbs matches by name if the kernel does not report the driver id.
 * If it does, the id comes first: so this provider takes a device of the type
 * weft_rxe, too, whose name begins with "rxe".
 */
static const struct verbs_match_ent match_table[] = {
	{ .kind = VERBS_MATCH_DRIVER_ID, .u.driver_id = RDMA_DRIVER_WEFT },
	{ .kind = VERBS_MATCH_MODALIAS, .u.modalias = "rdma_device:*Nweft*" },
	{},
};

int weft_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct uweft_query_device_ex_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(context, input, attr, attr_size,
				       &resp.ibv_resp, &resp_size);
	if (ret)
		return ret;

	if (attr_size >= offsetofend(struct ibv_device_attr_ex, rss_caps)) {
		attr->rss_caps.rx_hash_fields_mask = resp.drv.rx_hash_fields;
		attr->rss_caps.rx_hash_function = resp.drv.rx_hash_functions;
	}
	if (attr_size >=
	    offsetofend(struct ibv_device_attr_ex, packet_pacing_caps)) {
		attr->packet_pacing_caps.qp_rate_limit_min =
			resp.drv.qp_rate_limit_min;
		attr->packet_pacing_caps.qp_rate_limit_max =
			resp.drv.qp_rate_limit_max;
		attr->packet_pacing_caps.supported_qpts =
			resp.drv.supported_qpts;
	}

	if (attr_size >= offsetofend(struct ibv_device_attr_ex, tso_caps)) {
		attr->tso_caps.max_tso = resp.drv.max_tso;
		attr->tso_caps.supported_qpts = resp.drv.tso_qpts;
	}

	version = resp.ibv_resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32) & 0xffff,
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);
	return 0;
}

int weft_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port_num, attr, &cmd, sizeof(cmd));
}

/*
 * The device clock is CLOCK_MONOTONIC_RAW in nanoseconds. The whole value is in
 * tv_nsec, where programs expect the counter of a device clock.
 */
int weft_query_rt_values(struct ibv_context *context,
			 struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (!values->comp_mask)
		return 0;

	if (clock_gettime(CLOCK_MONOTONIC_RAW, &now))
		return errno;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = now.tv_sec * 1000000000LL + now.tv_nsec;
	return 0;
}

static const weft_word not_asked;

static void delete_context(struct weft_context *context)
{
	verbs_uninit_context(weft_vctx(context));
	free(context);
}

void weft_free_context(struct ibv_context *ibctx)
{
	struct weft_context *context = to_weft_context(ibctx);

	weft_map_cache_destroy(&context->maps);
	if (context->posting != &not_asked)
		munmap((void *)context->posting, getpagesize());
	close(context->doorbell_fd);
	delete_context(context);
}

/*
 * The kernel refuses an ioctl with another id than that of the device. A device of the type
 * weft_rxe has rdma_rxe's, see rdma/weft-abi.h.
 */
static uint32_t ioctl_driver_id(const struct ibv_device *device)
{
	char path[sizeof(device->dev_path) + sizeof("/abi_version")];
	unsigned int version = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/abi_version", device->dev_path);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%u", &version) != 1)
			version = 0;
		fclose(file);
	}
	return version == WEFT_RXE_ABI_VERSION ? RDMA_DRIVER_RXE :
						 RDMA_DRIVER_WEFT;
}

/*
 * Allocate a context, of which libibverbs initializes its part. Closes @cmd_fd, frees all and
 * sets errno if it fails.
 */
static struct weft_context *new_context(struct ibv_device *device, int cmd_fd)
{
	struct weft_context *context;
	int ret;

	static_assert(!offsetof(struct weft_context, vctx), "NULL is its offset");
	context = _verbs_init_and_alloc_context(device, cmd_fd, sizeof(*context),
						NULL, ioctl_driver_id(device));
	if (!context)
		return NULL;

	ret = weft_set_ops(context, device);
	if (ret) {
		delete_context(context);
		errno = ret;
		return NULL;
	}
	return context;
}

static const weft_word *map_posting(int doorbell_fd)
{
	const struct weft_posting *posting;

	posting = mmap(NULL, getpagesize(), PROT_READ, MAP_SHARED,
		       doorbell_fd, 0);
	/* without it posts are not refused on purpose, and all else works */
	return posting == MAP_FAILED ? &not_asked : (const weft_word *)&posting->ask;
}

static void set_up_context(struct weft_context *context, int doorbell_fd,
			   uint64_t comp_mask)
{
	context->doorbell_fd = doorbell_fd;
	context->posting = comp_mask & WEFT_UCONTEXT_POSTING ?
				  map_posting(doorbell_fd) : &not_asked;
	weft_map_cache_init(&context->maps);
	context->placement = comp_mask & WEFT_UCONTEXT_PLACEMENT;
	context->ip_csum = comp_mask & WEFT_UCONTEXT_IP_CSUM;
	context->null_key = comp_mask & WEFT_UCONTEXT_NULL_KEY;
	context->mkeys = comp_mask & WEFT_UCONTEXT_MKEY;
	context->signatures = comp_mask & WEFT_UCONTEXT_SIGNATURES;
	context->packet_credits = comp_mask & WEFT_UCONTEXT_PACKET_CREDITS;
	context->dc = comp_mask & WEFT_UCONTEXT_DC;
}

static struct verbs_context *alloc_context(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	struct uweft_get_context_resp resp = {};
	struct uweft_get_context cmd = {};
	struct weft_context *context;
	int ret;

	context = new_context(device, cmd_fd);
	if (!context)
		return NULL;

	cmd.drv.abi_version = WEFT_ABI_VERSION;
	ret = ibv_cmd_get_context(weft_vctx(context), &cmd.ibv_cmd, sizeof(cmd),
#if VERBS_PABI >= 57
				  NULL,
#endif
				  &resp.ibv_resp, sizeof(resp));
	if (ret) {
		delete_context(context);
		errno = ret;
		return NULL;
	}

	set_up_context(context, resp.drv.doorbell_fd, resp.drv.comp_mask);
	return weft_vctx(context);
}

/*
 * Only handles can be imported: the rings of objects that another process has
 * created in this context stay with that process.
 */
static struct verbs_context *import_context(struct ibv_device *device,
					    int cmd_fd)
{
	struct weft_alloc_ucontext_resp resp = {};
	struct weft_context *context;
	union verbs_command cmd;
	int ret;

	context = new_context(device, cmd_fd);
	if (!context)
		return NULL;

	verbs_command_init(&cmd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	verbs_command_add_out(&cmd, WEFT_ATTR_QUERY_CONTEXT_RESP, &resp,
			      sizeof(resp));
	ret = ibv_cmd_query_context(context->context, &cmd.buffer);
	if (ret) {
		delete_context(context);
		errno = ret;
		return NULL;
	}

	set_up_context(context, resp.doorbell_fd, resp.comp_mask);
	return weft_vctx(context);
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

static const struct verbs_device_ops weft_device_ops = {
	.name			= "weft",
	.match_min_abi_version	= WEFT_RXE_ABI_VERSION,
	.match_max_abi_version	= WEFT_ABI_VERSION,
	.match_table		= match_table,
	.alloc_device		= alloc_device,
	.uninit_device		= uninit_device,
	.alloc_context		= alloc_context,
	.import_context		= import_context,
};

bool weft_is_own(const struct ibv_device *device)
{
	return container_of(device, struct verbs_device, device)->ops ==
	       &weft_device_ops;
}

/* libibverbs loads the provider to have it register itself. */
static __attribute__((constructor)) void register_driver(void)
{
	verbs_register_driver(&weft_device_ops);
}
