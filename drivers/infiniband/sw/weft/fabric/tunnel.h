/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Frames in UDP, over IPv4 and IPv6: to hosts whose addresses are known, and that may be
 * behind routers.
 *
 * What comes from elsewhere is dropped, and counted.
 */
#ifndef WEFT_FABRIC_TUNNEL_H
#define WEFT_FABRIC_TUNNEL_H

#include "fabric/underlay.h"

struct weft_underlay_addrs;

/* Source and destination, of those that IANA gives to nobody. */
#define WEFT_TUNNEL_PORT	61453

/**
 * weft_tunnel_create - make an underlay
 * @ndev: by which its frames come and go, the loopback device: there is nobody else
 * @peers: other hosts; our own address may be among them
 *
 * Its sockets are open while the net device is up: so none is left when that moves to
 * another namespace.
 *
 * Context: process, may sleep.
 * Return: the underlay, or NULL: no memory.
 */
struct weft_underlay *weft_tunnel_create(struct net_device *ndev,
					 const struct weft_underlay_addrs *peers);

/**
 * weft_underlay_is_tunnel - what kind it is
 * @underlay: any
 *
 * Return: true when it is one of weft_tunnel_create().
 */
bool weft_underlay_is_tunnel(const struct weft_underlay *underlay);

/**
 * weft_tunnel_set_peers - other hosts from now on
 * @underlay: a tunnel
 * @peers: them
 *
 * Who is not there any more is not heard.
 *
 * Context: process, RTNL is held, sleeps.
 * Return: 0 or -ENOMEM.
 */
int weft_tunnel_set_peers(struct weft_underlay *underlay, const struct weft_underlay_addrs *peers);

/**
 * weft_tunnel_get_peers - the other hosts
 * @underlay: a tunnel
 * @peers: result
 *
 * Context: process, RTNL is held.
 */
void weft_tunnel_get_peers(struct weft_underlay *underlay, struct weft_underlay_addrs *peers);

/**
 * weft_tunnel_strangers - datagrams that came from elsewhere
 * @underlay: a tunnel
 *
 * Return: their number.
 */
u64 weft_tunnel_strangers(struct weft_underlay *underlay);

#endif /* WEFT_FABRIC_TUNNEL_H */
