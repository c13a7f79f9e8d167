/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A local cable connects two ports of this host. */
#ifndef WEFT_FABRIC_LOCAL_CABLE_H
#define WEFT_FABRIC_LOCAL_CABLE_H

#include "fabric/port.h"

struct weft_local_cable;

/*
 * Make a cable, not plugged in, from the port of a channel adapter to a port of a switch or of
 * another channel adapter. Both ports must exist until weft_local_cable_destroy(). Returns NULL
 * without memory.
 */
struct weft_local_cable *weft_local_cable_create(struct weft_ibport *port, struct weft_ibport *far);

/*
 * Pull a cable out and free it; NULL is allowed. When it returns, nothing is sent by this cable
 * any more, and the ports may get another one. Sleeps; RTNL may be held.
 */
void weft_local_cable_destroy(struct weft_local_cable *local_cable);

/*
 * Plug a cable in at both ends, where no other cable may be, or pull it out. The caller
 * serializes calls. Sleeps; RTNL may be held.
 */
void weft_local_cable_update(struct weft_local_cable *local_cable, bool plugged);

/*
 * The port at the other end of the local cable that is plugged into a port, or NULL if the port
 * has no cable or another kind of cable. RCU read side, which also limits how long the result may
 * be used.
 */
struct weft_ibport *weft_local_cable_far_end(const struct weft_ibport *port);

#endif /* WEFT_FABRIC_LOCAL_CABLE_H */
