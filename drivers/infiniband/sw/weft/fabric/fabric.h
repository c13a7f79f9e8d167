/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fabrics of this host, one for each net device with InfiniBand ports. */
#ifndef WEFT_FABRIC_FABRIC_H
#define WEFT_FABRIC_FABRIC_H

#include "fabric/port.h"

struct net_device;
struct weft_fabric;
struct weft_underlay_addrs;
struct weft_violation;

struct weft_fabric *weft_fabric_attach(struct net_device *ndev, struct weft_ibport *port,
				       __be64 guid, const struct weft_underlay_addrs *peers);
void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port);
void weft_fabric_update(struct net_device *ndev);
u8 weft_fabric_speed(struct net_device *ndev);
bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid, const struct weft_ibport *port);
u8 weft_fabric_filter(const struct weft_ibport *from, const struct weft_ibport *to, u16 pkey);
void weft_fabric_refused(const struct weft_fabric *fabric, const struct weft_ibport *port,
			 u8 filter, const struct weft_violation *violation);
int weft_fabric_set_peers(struct weft_fabric *fabric, const struct weft_underlay_addrs *peers);
void weft_fabric_get_peers(const struct weft_fabric *fabric, struct weft_underlay_addrs *peers);
u64 weft_fabric_strangers(const struct weft_fabric *fabric);

#endif /* WEFT_FABRIC_FABRIC_H */
