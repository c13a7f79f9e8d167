/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Commands and methods of uverbs that no library sends. Both return an errno. */
#ifndef TESTS_UVERBS_H
#define TESTS_UVERBS_H

#include "lib.h"

#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/weft-abi.h>

static inline int command(int fd, int number, const void *body, size_t in, size_t out)
{
	struct ib_uverbs_cmd_hdr hdr = {
		.command = number,
		.in_words = (sizeof(hdr) + in) / 4,
		.out_words = out / 4,
	};
	uint8_t buf[1024];

	CHECK(sizeof(hdr) + in <= sizeof(buf));
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), body, in);
	errno = 0;
	return write(fd, buf, sizeof(hdr) + in) < 0 ? errno : 0;
}

/* All attributes have to be known; new handles are written to them. */
static inline int method(int object, int id, struct ib_uverbs_attr *attrs, int num)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[8];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd.hdr) + num * sizeof(*attrs), .object_id = object,
			.method_id = id, .num_attrs = num, .driver_id = RDMA_DRIVER_WEFT,
		},
	};
	int i, ret;

	CHECK(num <= ARRAY_SIZE(cmd.attrs));
	memcpy(cmd.attrs, attrs, num * sizeof(*attrs));
	for (i = 0; i < num; i++)
		cmd.attrs[i].flags = UVERBS_ATTR_F_MANDATORY;
	ret = ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
	memcpy(attrs, cmd.attrs, num * sizeof(*attrs));
	return ret;
}

#endif /* TESTS_UVERBS_H */
