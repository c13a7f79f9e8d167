// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "netlink.h"

#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device.h"

static struct rdma_link_ops netlink_ops = {
	.type = "weft",
	.newlink = weft_device_add,
};

static struct rdma_link_ops netlink_ib_ops = {
	.type = "weft_ib",
	.newlink = weft_device_add_ib,
};

static struct rdma_link_ops netlink_rxe_ops = {
	.type = "weft_rxe",
	.newlink = weft_device_add_rxe,
};

void weft_netlink_init(void)
{
	rdma_link_register(&netlink_ops);
	rdma_link_register(&netlink_rxe_ops);
	rdma_link_register(&netlink_ib_ops);
}

/* Waits for calls of weft_device_add() and weft_device_add_ib(). */
void weft_netlink_exit(void)
{
	rdma_link_unregister(&netlink_ib_ops);
	rdma_link_unregister(&netlink_rxe_ops);
	rdma_link_unregister(&netlink_ops);
}

MODULE_ALIAS_RDMA_LINK("weft");
MODULE_ALIAS_RDMA_LINK("weft_ib");
MODULE_ALIAS_RDMA_LINK("weft_rxe");
