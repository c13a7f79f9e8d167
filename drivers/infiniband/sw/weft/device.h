/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The life of a device.
 *
 * It begins with weft_device_add(), asked for by "rdma link add", and ends
 * when the core unregisters it: by "rdma link del", because its net device
 * goes away, or because the module is unloaded. In between the notifier of
 * net devices keeps the port's state and the link in sysfs right.
 */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

struct net_device;

/**
 * weft_device_add - make a device on a net device and register it
 * @name: of the RDMA device
 * @ndev: the net device, borrowed
 *
 * A net device may have several. The GIDs of a device on a VLAN interface
 * are those of the interface below and of all its VLANs.
 *
 * Context: process, may sleep; takes RTNL.
 * Return: 0; -EEXIST: the name is taken; -EOPNOTSUPP: @ndev carries no IP;
 * -ENODEV: @ndev is going away; -ENOMEM or what the core returned.
 */
int weft_device_add(const char *name, struct net_device *ndev);

/**
 * weft_device_add_ib - make a device with an InfiniBand port and register it
 * @name: of the RDMA device
 * @ndev: the net device below, borrowed: Ethernet or the loopback device
 *
 * Its port is connected with the ports of all such devices on the same net device, and
 * with those of other hosts on the same Ethernet.
 *
 * Context: process, may sleep; takes RTNL.
 * Return: as of weft_device_add(); -ENOSPC: there are too many on the net device.
 */
int weft_device_add_ib(const char *name, struct net_device *ndev);

/**
 * weft_device_init - start to watch net devices
 *
 * Return: 0 or -ENOMEM.
 */
int weft_device_init(void);

/**
 * weft_device_exit - remove all devices, stop to watch net devices
 *
 * Nobody calls weft_device_add() any more.
 *
 * Context: process, may sleep; takes RTNL.
 */
void weft_device_exit(void);

#endif /* WEFT_DEVICE_H */
