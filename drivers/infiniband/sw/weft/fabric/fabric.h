/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The fabrics of this host: for each net device that has InfiniBand ports a switch, the
 * local cables from those ports to it, and its uplinks; or, without a switch, a back-to-back link.
 */
#ifndef WEFT_FABRIC_FABRIC_H
#define WEFT_FABRIC_FABRIC_H

#include "fabric/port.h"

struct net_device;
struct weft_fabric;
struct weft_underlay_addrs;
struct weft_violation;

/**
 * weft_fabric_attach - connect the port of a channel adapter with the fabric
 * @ndev: the underlying net device; the caller keeps it
 * @port: nothing is plugged in; stays until weft_fabric_detach()
 * @guid: if there has to be a new fabric: node GUID of its switch; 0: a back-to-back link
 * @peers: of a new fabric: hosts that it extends to, by UDP; none: those on the same
 *	Ethernet
 *
 * The cable is plugged in when the net device is up (IFF_UP), see
 * weft_fabric_update(), and there is somebody at its other end, as a switch always is.
 *
 * Context: process, RTNL is held, may sleep.
 * Return: the fabric, or an error pointer: -ENOMEM; -ENOSPC: the switch has no port left,
 * or the back-to-back link no end; of a new fabric with @peers what its sockets say.
 */
struct weft_fabric *weft_fabric_attach(struct net_device *ndev, struct weft_ibport *port,
				       __be64 guid, const struct weft_underlay_addrs *peers);

/**
 * weft_fabric_detach - pull the cable out
 * @fabric: from weft_fabric_attach()
 * @port: of the same call
 *
 * Nothing is sent to, and nothing comes from, the port any more. The fabric goes with
 * the last port.
 *
 * Context: process, RTNL is held, sleeps.
 */
void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port);

/**
 * weft_fabric_update - the net device has gone up or down, or has another speed
 * @ndev: any
 *
 * Context: process, RTNL is held.
 */
void weft_fabric_update(struct net_device *ndev);

/**
 * weft_fabric_speed - how fast the ports of a net device's fabric are
 * @ndev: the net device
 *
 * The width is 4X, so that 1 is 10 Gb/s, less than which InfiniBand does not know. A net
 * device that knows no speed is taken for one of 10 Gb/s.
 *
 * Context: process, RTNL is held.
 * Return: see weft_ibport_param.speed.
 */
u8 weft_fabric_speed(struct net_device *ndev);

/**
 * weft_fabric_leads - whether what leaves one port for a LID comes to another one
 * @fabric: of both
 * @lid: destination
 * @port: of a channel adapter of this host
 *
 * Context: any; @port is attached to @fabric.
 * Return: true when the forwarding table of this host's switch says so, or they are at the
 * ends of one cable.
 */
bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid,
		       const struct weft_ibport *port);

/**
 * weft_fabric_filter - whether the switch lets what leaves one port get to another one
 * @from: of a channel adapter of this host
 * @to: likewise, on the same fabric
 * @pkey: of what is sent
 *
 * Context: any.
 * Return: 0: it does. WEFT_IBPORT_PKEY_IN: the switch's port that @from is plugged into
 * does not; WEFT_IBPORT_PKEY_OUT: the one of @to does not.
 */
u8 weft_fabric_filter(const struct weft_ibport *from, const struct weft_ibport *to, u16 pkey);

/**
 * weft_fabric_refused - that has not passed: it is counted and told as of a packet
 * @fabric: to which @port is attached, unless it has been detached
 * @port: of a channel adapter, the one that the switch's port is of that has refused it
 * @filter: from weft_fabric_filter()
 * @violation: what would have been in the headers
 *
 * Context: any.
 */
void weft_fabric_refused(const struct weft_fabric *fabric, const struct weft_ibport *port,
			 u8 filter, const struct weft_violation *violation);

/**
 * weft_fabric_set_peers - hosts that a fabric extends to from now on
 * @fabric: one that was made with some
 * @peers: them
 *
 * Context: process, RTNL is held, sleeps.
 * Return: 0 or -ENOMEM; -EOPNOTSUPP: it extends to those on the same Ethernet.
 */
int weft_fabric_set_peers(struct weft_fabric *fabric, const struct weft_underlay_addrs *peers);

/**
 * weft_fabric_get_peers - hosts that a fabric extends to by UDP
 * @fabric: any
 * @peers: result
 *
 * Context: process, RTNL is held.
 */
void weft_fabric_get_peers(const struct weft_fabric *fabric, struct weft_underlay_addrs *peers);

/**
 * weft_fabric_strangers - datagrams that came from somebody who is no peer
 * @fabric: any
 *
 * Context: process, RTNL is held.
 * Return: their number.
 */
u64 weft_fabric_strangers(const struct weft_fabric *fabric);

#endif /* WEFT_FABRIC_FABRIC_H */
