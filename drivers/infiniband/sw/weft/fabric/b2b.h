/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A back-to-back link: a fabric without a switch, which is one cable. The first channel
 * adapter of the net device is at one end. At the other end is a second channel adapter, or a
 * node of another host, whichever comes first.
 *
 * Context of all of it, unless it is said: process, RTNL is held, may sleep.
 */
#ifndef WEFT_FABRIC_B2B_H
#define WEFT_FABRIC_B2B_H

#include "fabric/port.h"

struct weft_underlay;
struct weft_b2b;

/**
 * weft_b2b_create - make a cable, nothing at either end
 * @underlay: to other hosts; the caller keeps it
 *
 * Return: the back-to-back link, or NULL: no memory.
 */
struct weft_b2b *weft_b2b_create(struct weft_underlay *underlay);

/**
 * weft_b2b_destroy - free a back-to-back link
 * @b2b: has no port
 */
void weft_b2b_destroy(struct weft_b2b *b2b);

/**
 * weft_b2b_is_empty - whether no port of this host is at either end
 * @b2b: the back-to-back link
 *
 * Return: true when there is none.
 */
bool weft_b2b_is_empty(const struct weft_b2b *b2b);

/**
 * weft_b2b_attach - give a port an end of the cable
 * @b2b: the back-to-back link
 * @port: of a channel adapter, its GUID is that of the node, too; nothing is plugged in
 *
 * Return: 0 or -ENOMEM; -ENOSPC: both ends are taken; or why no frames can come.
 */
int weft_b2b_attach(struct weft_b2b *b2b, struct weft_ibport *port);

/**
 * weft_b2b_detach - undo weft_b2b_attach()
 * @b2b: the back-to-back link
 * @port: of it
 *
 * Nothing is sent to, and nothing comes from, the port any more. One that stays looks for
 * another host.
 */
void weft_b2b_detach(struct weft_b2b *b2b, struct weft_ibport *port);

/**
 * weft_b2b_update - the net device has gone up or down
 * @b2b: of that net device
 */
void weft_b2b_update(struct weft_b2b *b2b);

#endif /* WEFT_FABRIC_B2B_H */
