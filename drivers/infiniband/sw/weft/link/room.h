/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The room that a flow has on the wire: it may have WEFT_TX_BYTES of packets under
 * way.
 */
#ifndef WEFT_LINK_ROOM_H
#define WEFT_LINK_ROOM_H

#include <linux/types.h>

struct sk_buff;
struct weft_flow;
struct weft_run;

/**
 * weft_room_init - at module load, before there is a device
 *
 * Return: 0 or -ENOMEM.
 */
int weft_room_init(void);

/**
 * weft_room_exit - at module unload, when no QP is left
 *
 * Waits until the last packet has been freed: that is done by code of ours,
 * and may post an event to a turn.
 *
 * Context: process, sleeps as long as some queue keeps a packet.
 */
void weft_room_exit(void);

/**
 * weft_room_take - a packet takes room until it is freed
 * @flow: of the half that sends it, its turn is owned
 * @skb: ours; its destructor is set
 */
void weft_room_take(struct weft_flow *flow, struct sk_buff *skb);

/**
 * weft_room_left - whether there is room for a packet
 * @run: about to be sent, its turn is owned
 *
 * Return: false: there is none, and the turn will get WEFT_EV_RUN.
 */
bool weft_room_left(const struct weft_run *run);

/**
 * weft_room_forget - what a flow waits for is of a path that it leaves
 * @flow: its turn is owned or stopped; gets WEFT_EV_RUN if it has waited
 */
void weft_room_forget(struct weft_flow *flow);

/**
 * weft_room_is_used - whether something is under way
 * @run: about to be sent, its turn is owned
 *
 * Return: true: there may be; false: nothing is.
 */
bool weft_room_is_used(const struct weft_run *run);

/**
 * weft_room_wait - wait until half of what is under way has left
 * @run: could not be sent for another reason than want of room; its turn is owned
 *
 * Return: true: the turn will get WEFT_EV_RUN; false: nothing is.
 */
bool weft_room_wait(const struct weft_run *run);

/**
 * weft_room_hope - wait a moment for others to make room
 * @run: could not be sent, though nothing is under way; its turn is owned
 *
 * Return: true: the turn will get WEFT_EV_RUN; false: that was often enough.
 */
bool weft_room_hope(const struct weft_run *run);

#endif /* WEFT_LINK_ROOM_H */
