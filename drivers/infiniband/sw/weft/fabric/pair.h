/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A pair: a fabric without a switch, which is one cable. The first channel adapter of the
 * net device is at one end of it. At the other one is a second one, or a node of another
 * host, whichever is there first.
 *
 * Context of all of it, unless it is said: process, RTNL is held, may sleep.
 */
#ifndef WEFT_FABRIC_PAIR_H
#define WEFT_FABRIC_PAIR_H

#include "fabric/port.h"

struct weft_underlay;
struct weft_pair;

/**
 * weft_pair_create - make a cable, nothing at either end
 * @underlay: to other hosts; the caller keeps it
 *
 * Return: the pair, or NULL: no memory.
 */
struct weft_pair *weft_pair_create(struct weft_underlay *underlay);

/**
 * weft_pair_destroy - free a pair
 * @pair: has no port
 */
void weft_pair_destroy(struct weft_pair *pair);

/**
 * weft_pair_is_empty - whether no port of this host is at either end
 * @pair: the pair
 *
 * Return: true when there is none.
 */
bool weft_pair_is_empty(const struct weft_pair *pair);

/**
 * weft_pair_attach - give a port an end of the cable
 * @pair: the pair
 * @port: of a channel adapter, its GUID is that of the node, too; nothing is plugged in
 *
 * Return: 0 or -ENOMEM; -ENOSPC: both ends are taken; or why no frames can come.
 */
int weft_pair_attach(struct weft_pair *pair, struct weft_ibport *port);

/**
 * weft_pair_detach - undo weft_pair_attach()
 * @pair: the pair
 * @port: of it
 *
 * Nothing is sent to, and nothing comes from, the port any more. One that stays looks for
 * another host.
 */
void weft_pair_detach(struct weft_pair *pair, struct weft_ibport *port);

/**
 * weft_pair_update - the net device has gone up or down
 * @pair: of that net device
 */
void weft_pair_update(struct weft_pair *pair);

#endif /* WEFT_FABRIC_PAIR_H */
