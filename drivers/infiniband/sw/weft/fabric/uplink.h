/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Uplinks of a node: by frames that an underlay takes it finds the nodes of other hosts, and has
 * a cable to each of them as long as it has ports. Nodes are switches, or channel adapters
 * that hang on none.
 *
 * See "Frames" in Documentation/infiniband/weft/fabric.rst for what is on the wire.
 */
#ifndef WEFT_FABRIC_UPLINK_H
#define WEFT_FABRIC_UPLINK_H

#include <linux/types.h>

struct weft_underlay;
struct weft_ibport;
struct weft_uplink_node;
struct weft_uplinks;

/**
 * struct weft_uplink_ops - what a node does for its uplinks
 *
 * Context of all: process. They do not take RTNL.
 *
 * @has: is there a port that could be taken, as things are?
 * @take: a port for a cable, nothing is plugged in; NULL: there is none, for now
 * @give: back, nothing is plugged in any more
 */
struct weft_uplink_ops {
	bool (*has)(struct weft_uplink_node *node);
	struct weft_ibport *(*take)(struct weft_uplink_node *node);
	void (*give)(struct weft_uplink_node *node, struct weft_ibport *port);
};

/**
 * struct weft_uplink_node - whose uplinks they are
 * @ops: what it does for them
 * @guid: node GUID
 * @type: WEFT_NODE_SWITCH, or WEFT_NODE_CA, which has one port: once a cable is plugged in
 *	it looks for nobody else
 */
struct weft_uplink_node {
	const struct weft_uplink_ops	*ops;
	__be64				guid;
	u8				type;
};

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
 * weft_uplinks_open - find other nodes, and connect with them
 * @node: one of this host; stays until weft_uplinks_close()
 * @underlay: of the net device; the caller keeps it, and nobody else has it open
 *
 * A cable to another node is plugged into a port when both have heard of each other, and
 * pulled out when it falls silent, says good-bye, or the net device loses its carrier.
 *
 * Context: process, RTNL is held.
 * Return: the uplinks, or an error pointer: -ENOMEM, or why the underlay cannot be opened.
 */
struct weft_uplinks *weft_uplinks_open(struct weft_uplink_node *node,
				       struct weft_underlay *underlay);

/**
 * weft_uplinks_close - pull all cables out, and say good-bye
 * @uplinks: from weft_uplinks_open()
 *
 * Context: process, sleeps. RTNL may be held.
 */
void weft_uplinks_close(struct weft_uplinks *uplinks);

/**
 * weft_uplinks_update - the net device has gone up or down
 * @uplinks: of that net device
 *
 * Context: process, RTNL is held.
 */
void weft_uplinks_update(struct weft_uplinks *uplinks);

#endif /* WEFT_FABRIC_UPLINK_H */
