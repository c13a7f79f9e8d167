/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames on Ethernet, of an EtherType of their own: to all that is on the segment.
 */
#ifndef WEFT_FABRIC_ETHER_H
#define WEFT_FABRIC_ETHER_H

#include "fabric/underlay.h"

/**
 * weft_ether_create - make an underlay
 * @ndev: any; if it is not Ethernet, or is the loopback device, there is nobody else
 *
 * Return: the underlay, or NULL: no memory.
 */
struct weft_underlay *weft_ether_create(struct net_device *ndev);

#endif /* WEFT_FABRIC_ETHER_H */
