/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A local cable connects two ports of this host. */
#ifndef WEFT_FABRIC_LOCAL_CABLE_H
#define WEFT_FABRIC_LOCAL_CABLE_H

#include "fabric/port.h"

struct weft_local_cable;

struct weft_local_cable *weft_local_cable_create(struct weft_ibport *port, struct weft_ibport *far);
void weft_local_cable_destroy(struct weft_local_cable *local_cable);
void weft_local_cable_update(struct weft_local_cable *local_cable, bool plugged);
struct weft_ibport *weft_local_cable_far_end(const struct weft_ibport *port);

#endif /* WEFT_FABRIC_LOCAL_CABLE_H */
