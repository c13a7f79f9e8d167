/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabrics of this host. Each net device with InfiniBand ports has one: a switch with local
 * cables to those ports and with uplinks to other hosts, or a back-to-back link.
 *
 * A fabric carries its frames to other hosts in UDP if it was made with peers, and on Ethernet
 * otherwise. Peers are the hosts that a fabric in UDP extends to.
 */
#ifndef WEFT_FABRIC_FABRIC_H
#define WEFT_FABRIC_FABRIC_H

#include "fabric/port.h"

struct net_device;
struct weft_fabric;
struct weft_underlay_addrs;
struct weft_violation;

/*
 * Connect the port of a channel adapter, which has no cable, with the fabric of a net device. If
 * the net device has no fabric yet, a new one is made: with a switch of node GUID @guid, or a
 * back-to-back link if @guid is 0; @peers may be empty. The caller keeps @ndev and @port until
 * weft_fabric_detach(). The cable is plugged in while the net device is up (IFF_UP) and a node is
 * at the other end, as a switch always is.
 *
 * RTNL is held; sleeps. Errors: -ENOMEM; -ENOSPC if the switch has no free port or both ends of
 * the back-to-back link are taken; an error of a socket if the new fabric has peers.
 */
struct weft_fabric *weft_fabric_attach(struct net_device *ndev, struct weft_ibport *port,
				       __be64 guid, const struct weft_underlay_addrs *peers);

/* After this nothing is sent to or delivered by the port any more. RTNL is held; sleeps. */
void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port);

/* The net device went up or down, or its carrier or speed changed. RTNL is held. */
void weft_fabric_update(struct net_device *ndev);

/* The speed of ports on a net device, as in weft_ibport_param.speed. RTNL is held. */
u8 weft_fabric_speed(struct net_device *ndev);

/* Does a packet for @lid that leaves any other port of this host reach @port? Any context. */
bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid,
		       const struct weft_ibport *port);

/*
 * Apply partition enforcement of the switch to data between two ports of a fabric that bypass it.
 * Returns 0 if a packet with this P_Key would pass; WEFT_IBPORT_PKEY_IN if the switch port that
 * @from is connected to would drop it; WEFT_IBPORT_PKEY_OUT if the one of @to would. Any context.
 */
u8 weft_fabric_filter(const struct weft_ibport *from, const struct weft_ibport *to, u16 pkey);

/*
 * Count data that weft_fabric_filter() refused, and raise a trap. @port is the end, @from or @to,
 * whose switch port refused it; the fabric need not exist any more if @port has been detached.
 * @violation has what the headers of a packet would have had. Any context.
 */
void weft_fabric_refused(const struct weft_fabric *fabric, const struct weft_ibport *port,
			 u8 filter, const struct weft_violation *violation);

/* RTNL is held; sleeps. -ENOMEM; -EOPNOTSUPP if the fabric was made without peers. */
int weft_fabric_set_peers(struct weft_fabric *fabric, const struct weft_underlay_addrs *peers);

/* RTNL is held. */
void weft_fabric_get_peers(const struct weft_fabric *fabric, struct weft_underlay_addrs *peers);

/* Number of datagrams that did not come from a peer. RTNL is held. */
u64 weft_fabric_strangers(const struct weft_fabric *fabric);

#endif /* WEFT_FABRIC_FABRIC_H */
