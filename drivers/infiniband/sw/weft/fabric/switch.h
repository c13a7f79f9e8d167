/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A switch in software: one for each underlying net device. It relays by the forwarding
 * tables that the subnet manager sets, and along directed routes; its port 0 has the
 * management agents.
 */
#ifndef WEFT_FABRIC_SWITCH_H
#define WEFT_FABRIC_SWITCH_H

#include "fabric/node.h"

struct weft_switch;
struct weft_violation;

/**
 * weft_switch_create - make a switch, all ports down
 * @guid: node GUID
 * @name: for its node description, "weft switch NAME"
 * @speed: of its ports, see struct weft_ibport_param
 *
 * Context: process, may sleep.
 * Return: the switch, or an error pointer: -ENOMEM.
 */
struct weft_switch *weft_switch_create(__be64 guid, const char *name, u8 speed);

/**
 * weft_switch_destroy - free a switch
 * @sw: all its ports have been given back
 *
 * Context: process, sleeps until what is under way in it has ended.
 */
void weft_switch_destroy(struct weft_switch *sw);

/**
 * weft_switch_node - the switch as a node
 * @sw: the switch
 *
 * Return: its node.
 */
struct weft_ibnode *weft_switch_node(struct weft_switch *sw);

/**
 * weft_switch_has_port - is there a port that nobody has?
 * @sw: the switch
 *
 * Return: true when there is one, as things are.
 */
bool weft_switch_has_port(const struct weft_switch *sw);

/**
 * weft_switch_take_port - take a port that nobody has
 * @sw: the switch
 * @upper: from the upper end: for a cable to another switch; else from the lower
 *
 * Context: any but hard interrupts.
 * Return: the port, or NULL when all are taken.
 */
struct weft_ibport *weft_switch_take_port(struct weft_switch *sw, bool upper);

/**
 * weft_switch_give_port - give a port back
 * @sw: the switch
 * @port: nothing is plugged in
 */
void weft_switch_give_port(struct weft_switch *sw, struct weft_ibport *port);

/**
 * weft_switch_way - by which port packets for a LID leave
 * @sw: the switch
 * @lid: unicast
 *
 * Context: any.
 * Return: number of the port, or one that is none of a port.
 */
u8 weft_switch_way(const struct weft_switch *sw, u16 lid);

/**
 * weft_switch_refused - what would have been a packet does not pass a port
 * @sw: the switch
 * @port: of it
 * @filter: WEFT_IBPORT_PKEY_IN or WEFT_IBPORT_PKEY_OUT
 * @violation: what would have been in its headers
 *
 * See weft_filter_refused().
 *
 * Context: any.
 */
void weft_switch_refused(struct weft_switch *sw, struct weft_ibport *port, u8 filter,
			 const struct weft_violation *violation);

#endif /* WEFT_FABRIC_SWITCH_H */
