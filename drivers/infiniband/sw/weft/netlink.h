/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * "rdma link add NAME type weft netdev IFACE".
 *
 * "rdma link del" needs nothing from the driver: the core unregisters the
 * device.
 */
#ifndef WEFT_NETLINK_H
#define WEFT_NETLINK_H

/**
 * weft_netlink_init - let users add devices
 */
void weft_netlink_init(void);

/**
 * weft_netlink_exit - let users add no more devices
 *
 * Waits for those that are being added.
 *
 * Context: process, may sleep.
 */
void weft_netlink_exit(void);

#endif /* WEFT_NETLINK_H */
