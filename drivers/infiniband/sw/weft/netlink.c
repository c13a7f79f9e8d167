// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "netlink.h"

#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device.h"

static struct rdma_link_ops netlink_ops = {
	.type = "weft",
	.newlink = weft_device_add,
};

void weft_netlink_init(void)
{
	rdma_link_register(&netlink_ops);
}

void weft_netlink_exit(void)
{
	rdma_link_unregister(&netlink_ops);
}

MODULE_ALIAS_RDMA_LINK("weft");
