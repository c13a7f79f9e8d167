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

/* After this nothing is sent to or delivered by the port any more. RTNL is held; sleeps. */
void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port);

/* The net device went up or down, or its carrier or speed changed. RTNL is held. */
void weft_fabric_update(struct net_device *ndev);

/* The speed of ports on a net device, as in weft_ibport_param.speed. RTNL is held. */
u8 weft_fabric_speed(struct net_device *ndev);

/* Does a packet for @lid that leaves any other port of this host reach @port? Any context. */
bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid, const struct weft_ibport *port);

u8 weft_fabric_filter(const struct weft_ibport *from, const struct weft_ibport *to, u16 pkey);
void weft_fabric_refused(const struct weft_fabric *fabric, const struct weft_ibport *port,
			 u8 filter, const struct weft_violation *violation);

/* RTNL is held; sleeps. -ENOMEM; -EOPNOTSUPP if the fabric was made without peers. */
int weft_fabric_set_peers(struct weft_fabric *fabric, const struct weft_underlay_addrs *peers);

/* RTNL is held. */
void weft_fabric_get_peers(const struct weft_fabric *fabric, struct weft_underlay_addrs *peers);

/* Number of datagrams that did not come from a peer. RTNL is held. */
u64 weft_fabric_strangers(const struct weft_fabric *fabric);

#endif /* WEFT_FABRIC_FABRIC_H */
