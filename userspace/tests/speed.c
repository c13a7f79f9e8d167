// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The speed of a port of $WEFT_DEVICE, as the kernel has it for ibv_query_port_speed(),
 * which older libraries do not have.
 *
 *	speed PORT
 *
 * It says a number, of 100 Mbit/s, or the name of the errno.
 */
#include "lib.h"

#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/weft-abi.h>

/* as older headers do not have them, either */
enum {
	METHOD_QUERY_PORT_SPEED	= 7,
	ATTR_PORT_NUM		= 0,
	ATTR_RESP		= 1,
};

static int query_port_speed(uint64_t port_num, uint64_t *speed)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[2];
	} cmd = {
		.hdr.length = sizeof(cmd),
		.hdr.object_id = UVERBS_OBJECT_DEVICE,
		.hdr.method_id = METHOD_QUERY_PORT_SPEED,
		.hdr.num_attrs = 2,
		.hdr.driver_id = RDMA_DRIVER_WEFT,
		.attrs[0] = {
			.attr_id = ATTR_PORT_NUM,
			.len = sizeof(port_num),
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = port_num,
		},
		.attrs[1] = {
			.attr_id = ATTR_RESP,
			.len = sizeof(*speed),
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = (uintptr_t)speed,
		},
	};

	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd.hdr) ? errno : 0;
}

int main(int argc, char **argv)
{
	uint64_t speed = UINT64_MAX;
	int error;

	if (argc != 2)
		return 2;
	open_context();
	error = query_port_speed(strtoull(argv[1], NULL, 0), &speed);
	if (error)
		printf("%s\n", strerrorname_np(error));
	else
		printf("%llu\n", (unsigned long long)speed);
	return 0;
}
