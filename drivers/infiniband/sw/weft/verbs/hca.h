/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The life of a channel adapter: its port in a fabric, and what the core is told of it.
 */
#ifndef WEFT_VERBS_HCA_H
#define WEFT_VERBS_HCA_H

#include <linux/types.h>

struct weft_dev;
struct weft_underlay_addrs;

/**
 * weft_hca_create - give a device an InfiniBand port
 * @dev: with its GUID; @dev->hca is set
 *
 * Return: 0 or -ENOMEM.
 */
int weft_hca_create(struct weft_dev *dev);

/**
 * weft_hca_attach - connect the port with the fabric of the net device
 * @dev: with a port
 *
 * Context: process, RTNL is held.
 * Return: 0 or what weft_fabric_attach() says.
 */
int weft_hca_attach(struct weft_dev *dev);

/**
 * weft_hca_detach - undo weft_hca_attach(), if it was done
 * @dev: with a port
 *
 * Context: process, RTNL is held, sleeps.
 */
void weft_hca_detach(struct weft_dev *dev);

/**
 * weft_hca_destroy - free what weft_hca_create() has made
 * @dev: detached; nobody finds it any more, and a grace period has passed
 */
void weft_hca_destroy(struct weft_dev *dev);

/**
 * weft_hca_get_peers - hosts that the fabric extends to by UDP
 * @dev: with a port, attached
 * @peers: result
 *
 * Context: process, takes RTNL.
 */
void weft_hca_get_peers(struct weft_dev *dev, struct weft_underlay_addrs *peers);

/**
 * weft_hca_set_peers - the same from now on
 * @dev: with a port, attached
 * @peers: them
 *
 * Context: process, takes RTNL.
 * Return: 0 or what weft_fabric_set_peers() says.
 */
int weft_hca_set_peers(struct weft_dev *dev, const struct weft_underlay_addrs *peers);

/**
 * weft_hca_strangers - datagrams that came to the fabric from others
 * @dev: with a port, attached
 *
 * Context: process, takes RTNL.
 * Return: their number.
 */
u64 weft_hca_strangers(struct weft_dev *dev);

#endif /* WEFT_VERBS_HCA_H */
