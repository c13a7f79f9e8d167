/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An underlay that sends frames on Ethernet, with an EtherType of their own. */
#ifndef WEFT_FABRIC_ETHER_H
#define WEFT_FABRIC_ETHER_H

#include "fabric/underlay.h"

struct weft_underlay *weft_ether_create(struct net_device *ndev);

#endif /* WEFT_FABRIC_ETHER_H */
