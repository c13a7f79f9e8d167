/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A node of a fabric that has ports and agents, but whose cables lead nowhere. */
#ifndef KUNIT_FAKE_NODE_H
#define KUNIT_FAKE_NODE_H

#include <kunit/test.h>

#include "fabric/node.h"

#define FAKE_PORTS	3
#define FAKE_GUID	0x0002c90300000100ULL
#define FAKE_VENDOR	0x0002c9

struct fake_port {
	struct weft_ibport	ib;
	struct weft_cable	cable;
	u32			events;	/* that the node has been told of */
	u32			links;	/* calls of weft_cable.link */
	u32			sent;	/* packets that have left by @cable */
	u32			received;	/* packets that the port has received */
	u32			length;	/* bytes of the last packet, sent or received */
};

struct fake_node {
	struct weft_ibnode	node;
	char			desc[64];
	struct fake_port	port[FAKE_PORTS + 1];	/* by number; [0] in a switch only */
	u32			switch_calls;	/* calls of weft_ibnode.switch_attribute */
};

/*
 * Make a WEFT_NODE_CA or WEFT_NODE_SWITCH without cables, which the test frees. A switch knows
 * SwitchInfo, which is all zeros.
 */
struct fake_node *fake_node_create(struct kunit *test, u8 type);

/* Plug cables into all ports. */
void fake_node_plug(struct fake_node *fake);

#endif /* KUNIT_FAKE_NODE_H */
