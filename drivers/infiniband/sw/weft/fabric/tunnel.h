/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* An underlay that sends frames in UDP to a list of hosts (peers). */
#ifndef WEFT_FABRIC_TUNNEL_H
#define WEFT_FABRIC_TUNNEL_H

#include "fabric/underlay.h"

struct weft_underlay_addrs;

/* Source and destination port, from the range that IANA does not assign. */
#define WEFT_TUNNEL_PORT	61453

struct weft_underlay *weft_tunnel_create(struct net_device *ndev,
					 const struct weft_underlay_addrs *peers);
bool weft_underlay_is_tunnel(const struct weft_underlay *underlay);
int weft_tunnel_set_peers(struct weft_underlay *underlay, const struct weft_underlay_addrs *peers);
void weft_tunnel_get_peers(struct weft_underlay *underlay, struct weft_underlay_addrs *peers);
u64 weft_tunnel_strangers(struct weft_underlay *underlay);

#endif /* WEFT_FABRIC_TUNNEL_H */
