/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The uplinks of a node, which are its cables to nodes of other hosts. */
#ifndef WEFT_FABRIC_UPLINK_H
#define WEFT_FABRIC_UPLINK_H

#include <linux/types.h>

struct weft_underlay;
struct weft_ibport;
struct weft_uplink_node;
struct weft_uplinks;

/* How uplinks get ports from their node. Process context; the functions do not take RTNL. */
struct weft_uplink_ops {
	/* Would take() return a port now? */
	bool (*has)(struct weft_uplink_node *node);
	/* Reserve a port without a cable. NULL: there is no free port now. */
	struct weft_ibport *(*take)(struct weft_uplink_node *node);
	/* Return a port, whose cable has been pulled out. */
	void (*give)(struct weft_uplink_node *node, struct weft_ibport *port);
};

struct weft_uplink_node {
	const struct weft_uplink_ops	*ops;
	__be64				guid;	/* node GUID */
	/* WEFT_NODE_*; a channel adapter has only one port */
	u8				type;
};

int weft_uplink_init(void);
void weft_uplink_exit(void);
struct weft_uplinks *weft_uplinks_open(struct weft_uplink_node *node,
				       struct weft_underlay *underlay);
void weft_uplinks_close(struct weft_uplinks *uplinks);
void weft_uplinks_update(struct weft_uplinks *uplinks);

#endif /* WEFT_FABRIC_UPLINK_H */
