/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Uplinks of a switch: by frames on a net device it finds the switches of other hosts,
 * and has a cable to each of them.
 *
 * See "Frames" in Documentation/infiniband/weft/fabric.rst for what is on the wire.
 */
#ifndef WEFT_FABRIC_UPLINK_H
#define WEFT_FABRIC_UPLINK_H

struct net_device;
struct weft_switch;
struct weft_uplinks;

/**
 * weft_uplink_init - at module load
 *
 * Return: 0 or an error.
 */
int weft_uplink_init(void);

/**
 * weft_uplink_exit - at module unload, when there are no uplinks
 */
void weft_uplink_exit(void);

/**
 * weft_uplinks_open - find other switches, and connect with them
 * @sw: a switch
 * @ndev: Ethernet, or the loopback device, on which there is nobody else; the caller
 *	keeps it
 *
 * A cable to a switch is plugged into a port when both have heard of each other, and
 * pulled out when it falls silent, starts anew, or the carrier goes.
 *
 * Context: process, RTNL is held.
 * Return: the uplinks, or an error pointer: -ENOMEM.
 */
struct weft_uplinks *weft_uplinks_open(struct weft_switch *sw, struct net_device *ndev);

/**
 * weft_uplinks_close - pull all cables out, and say good-bye
 * @uplinks: from weft_uplinks_open()
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_uplinks_close(struct weft_uplinks *uplinks);

/**
 * weft_uplinks_carrier - the net device has gone up or down
 * @uplinks: of that net device
 *
 * Context: process, RTNL is held.
 */
void weft_uplinks_carrier(struct weft_uplinks *uplinks);

#endif /* WEFT_FABRIC_UPLINK_H */
