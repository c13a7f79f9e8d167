/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A local cable: a cable between two ports of this host.
 */
#ifndef WEFT_FABRIC_LOCAL_CABLE_H
#define WEFT_FABRIC_LOCAL_CABLE_H

#include "fabric/port.h"

struct weft_local_cable;

/**
 * weft_local_cable_create - make a local cable, not plugged in yet
 * @port: one end, of a channel adapter; stays until weft_local_cable_destroy()
 * @far: the other end, of a switch or of another channel adapter; the same
 *
 * Return: the local cable, or NULL: no memory.
 */
struct weft_local_cable *weft_local_cable_create(struct weft_ibport *port, struct weft_ibport *far);

/**
 * weft_local_cable_destroy - pull a local cable out, and free it
 * @local_cable: the local cable; NULL: nothing is done
 *
 * Another cable may be plugged in at once: nobody sends by this one any more.
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_local_cable_destroy(struct weft_local_cable *local_cable);

/**
 * weft_local_cable_update - plug a local cable in, or pull it out, at both ends
 * @local_cable: the local cable; there are no two calls at a time
 * @plugged: whether it is to be plugged in; the ports have no other cable then
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_local_cable_update(struct weft_local_cable *local_cable, bool plugged);

/**
 * weft_local_cable_far_end - what a port is connected with on this host
 * @port: any
 *
 * Context: RCU read side; for as long the result is valid.
 * Return: the other end of the local cable that is plugged in; NULL: nothing is, or another
 * cable.
 */
struct weft_ibport *weft_local_cable_far_end(const struct weft_ibport *port);

#endif /* WEFT_FABRIC_LOCAL_CABLE_H */
