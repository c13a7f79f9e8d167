/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/cmd_write.h>
#include <util/util.h>

#include "compat.h"
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
	VERBS_DRIVER_ID(RDMA_DRIVER_WEFT),
	VERBS_NAME_MATCH("weft", NULL),
	{},
};

static int query_device_ex(struct ibv_context *context,
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

	if (attr_size >=
	    offsetofend(struct ibv_device_attr_ex, packet_pacing_caps)) {
		attr->packet_pacing_caps.qp_rate_limit_min =
			resp.qp_rate_limit_min;
		attr->packet_pacing_caps.qp_rate_limit_max =
			resp.qp_rate_limit_max;
		attr->packet_pacing_caps.supported_qpts = resp.supported_qpts;
	}

	version = resp.ibv_resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32) & 0xffff,
		 (unsigned int)(version >> 16) & 0xffff,
		 (unsigned int)version & 0xffff);
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port_num,
		      struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(context, port_num, attr, &cmd, sizeof(cmd));
}

/*
 * The device clock is CLOCK_MONOTONIC_RAW in nanoseconds. The whole value is in
 * tv_nsec, where programs expect the counter of a device clock.
 */
static int query_rt_values(struct ibv_context *context,
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

static void free_context(struct ibv_context *ibctx)
{
	struct weft_context *context = to_weft_context(ibctx);

	weft_map_cache_destroy(&context->maps);
	close(context->doorbell_fd);
	verbs_uninit_context(&context->vctx);
	free(context);
}

static const struct verbs_context_ops context_ops = {
	.advise_mr		= weft_advise_mr,
	.alloc_dm		= weft_alloc_dm,
	.alloc_mw		= weft_alloc_mw,
	.alloc_null_mr		= weft_alloc_null_mr,
	.alloc_parent_domain	= weft_alloc_parent_domain,
	.alloc_pd		= weft_alloc_pd,
	.alloc_td		= weft_alloc_td,
	.attach_mcast		= ibv_cmd_attach_mcast,
	.bind_mw		= weft_bind_mw,
	.close_xrcd		= weft_close_xrcd,
	.create_ah		= weft_create_ah,
	.create_cq		= weft_create_cq,
	.create_cq_ex		= weft_create_cq_ex,
	.create_qp		= weft_create_qp,
	.create_qp_ex		= weft_create_qp_ex,
	.create_srq		= weft_create_srq,
	.create_srq_ex		= weft_create_srq_ex,
	.dealloc_mw		= weft_dealloc_mw,
	.dealloc_pd		= weft_dealloc_pd,
	.dealloc_td		= weft_dealloc_td,
	.dereg_mr		= weft_dereg_mr,
	.destroy_ah		= weft_destroy_ah,
	.destroy_cq		= weft_destroy_cq,
	.destroy_qp		= weft_destroy_qp,
	.destroy_srq		= weft_destroy_srq,
	.detach_mcast		= ibv_cmd_detach_mcast,
	.free_context		= free_context,
	.free_dm		= weft_free_dm,
	.get_srq_num		= weft_get_srq_num,
	.import_dm		= weft_import_dm,
	.import_mr		= weft_import_mr,
	.import_pd		= weft_import_pd,
	.modify_cq		= weft_modify_cq,
	.modify_qp		= weft_modify_qp,
	.modify_qp_rate_limit	= weft_modify_qp_rate_limit,
	.modify_srq		= weft_modify_srq,
	.open_qp		= weft_open_qp,
	.open_xrcd		= weft_open_xrcd,
	.poll_cq		= weft_poll_cq,
	.post_recv		= weft_post_recv,
	.post_send		= weft_post_send,
	.post_srq_recv		= weft_post_srq_recv,
	.query_device_ex	= query_device_ex,
	.query_port		= query_port,
	WEFT_QUERY_PORT_SPEED
	.query_qp		= weft_query_qp,
	.query_rt_values	= query_rt_values,
	.query_srq		= weft_query_srq,
	.reg_dm_mr		= weft_reg_dm_mr,
	.reg_dmabuf_mr		= weft_reg_dmabuf_mr,
	.reg_mr			= weft_reg_mr,
	.req_notify_cq		= weft_req_notify_cq,
	.rereg_mr		= weft_rereg_mr,
	.resize_cq		= weft_resize_cq,
	.unimport_dm		= weft_unimport_dm,
	.unimport_mr		= weft_unimport_mr,
	.unimport_pd		= weft_unimport_pd,
};

static void set_up_context(struct weft_context *context, int doorbell_fd,
			   uint64_t comp_mask)
{
	context->doorbell_fd = doorbell_fd;
	weft_map_cache_init(&context->maps);
	context->placement = comp_mask & WEFT_UCONTEXT_PLACEMENT;
	context->ip_csum = comp_mask & WEFT_UCONTEXT_IP_CSUM;
	context->null_key = comp_mask & WEFT_UCONTEXT_NULL_KEY;
	verbs_set_ops(&context->vctx, &context_ops);
}

/* The kernel refuses an ioctl with another id than that of the device. */
static uint32_t ioctl_driver_id(struct ibv_device *device)
{
	return verbs_get_device(device)->sysfs->abi_ver == WEFT_RXE_ABI_VERSION ?
	       RDMA_DRIVER_RXE : RDMA_DRIVER_WEFT;
}

static struct verbs_context *alloc_context(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	struct uweft_get_context_resp resp = {};
	struct uweft_get_context cmd = {};
	struct weft_context *context;
	int ret;

	context = verbs_init_and_alloc_context(device, cmd_fd, context, vctx,
					       ioctl_driver_id(device));
	if (!context)
		return NULL;

	cmd.abi_version = WEFT_ABI_VERSION;
	ret = weft_cmd_get_context(&context->vctx, &cmd.ibv_cmd, sizeof(cmd),
				   &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_uninit_context;

	set_up_context(context, resp.doorbell_fd, resp.comp_mask);
	return &context->vctx;

err_uninit_context:
	verbs_uninit_context(&context->vctx);
	free(context);
	errno = ret;
	return NULL;
}

/*
 * Only handles can be imported: the rings of objects that another process has
 * created in this context stay with that process.
 */
static struct verbs_context *import_context(struct ibv_device *device,
					    int cmd_fd)
{
	DECLARE_COMMAND_BUFFER_LINK(driver, UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_QUERY_CONTEXT, 1, NULL);
	struct weft_alloc_ucontext_resp resp = {};
	struct weft_context *context;
	int ret;

	context = verbs_init_and_alloc_context(device, cmd_fd, context, vctx,
					       ioctl_driver_id(device));
	if (!context)
		return NULL;

	fill_attr_out_ptr(driver, WEFT_ATTR_QUERY_CONTEXT_RESP, &resp);
	ret = ibv_cmd_query_context(&context->vctx.context, driver);
	if (ret)
		goto err_uninit_context;

	set_up_context(context, resp.doorbell_fd, resp.comp_mask);
	return &context->vctx;

err_uninit_context:
	verbs_uninit_context(&context->vctx);
	free(context);
	errno = ret;
	return NULL;
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
PROVIDER_DRIVER(weft, weft_device_ops);
