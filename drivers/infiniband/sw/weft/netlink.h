/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * "rdma link add NAME type weft netdev IFACE". For "rdma link del" the core unregisters the device
 * without the driver.
 */
#ifndef WEFT_NETLINK_H
#define WEFT_NETLINK_H

void weft_netlink_init(void);
void weft_netlink_exit(void);

#endif /* WEFT_NETLINK_H */
