/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The life of a device.
 *
 * "rdma link add" creates it by a weft_device_add function. It ends when the core
 * unregisters it: because of "rdma link del", because its net device goes away, or because the
 * module is unloaded. In between, the notifier of net devices updates the port's state and the
 * link in sysfs.
 */
#ifndef WEFT_DEVICE_H
#define WEFT_DEVICE_H

struct net_device;
struct weft_dev;

int weft_device_add(const char *name, struct net_device *ndev);
int weft_device_add_rxe(const char *name, struct net_device *ndev);
int weft_device_add_ib(const char *name, struct net_device *ndev);
struct weft_dev *weft_device_get(const char *name);
int weft_device_port_down(struct weft_dev *dev, bool down);
int weft_device_port_flap(struct weft_dev *dev, u64 down, u64 up, u32 times);
int weft_device_fatal(struct weft_dev *dev);
int weft_device_recover(struct weft_dev *dev);
int weft_device_init(void);
void weft_device_exit(void);

#endif /* WEFT_DEVICE_H */
