/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A cord: a cable between two ports of this host.
 */
#ifndef WEFT_FABRIC_CORD_H
#define WEFT_FABRIC_CORD_H

#include "fabric/port.h"

struct weft_cord;

/**
 * weft_cord_create - make a cord, not plugged in yet
 * @port: one end, of a channel adapter; stays until weft_cord_destroy()
 * @far: the other end, of a switch or of another channel adapter; the same
 *
 * Return: the cord, or NULL: no memory.
 */
struct weft_cord *weft_cord_create(struct weft_ibport *port, struct weft_ibport *far);

/**
 * weft_cord_destroy - pull a cord out, and free it
 * @cord: the cord; NULL: nothing is done
 *
 * Another cable may be plugged in at once: nobody sends by this one any more.
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_cord_destroy(struct weft_cord *cord);

/**
 * weft_cord_update - plug a cord in, or pull it out, at both ends
 * @cord: the cord; there are no two calls at a time
 * @plugged: whether it is to be plugged in; the ports have no other cable then
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_cord_update(struct weft_cord *cord, bool plugged);

/**
 * weft_cord_far_end - what a port is connected with on this host
 * @port: any
 *
 * Context: RCU read side; for as long the result is valid.
 * Return: the other end of the cord that is plugged in; NULL: nothing is, or another
 * cable.
 */
struct weft_ibport *weft_cord_far_end(const struct weft_ibport *port);

#endif /* WEFT_FABRIC_CORD_H */
