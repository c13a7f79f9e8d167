/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A node of a fabric that has ports and agents, and cables that lead nowhere.
 */
#ifndef KUNIT_FAKE_NODE_H
#define KUNIT_FAKE_NODE_H

#include <kunit/test.h>

#include "fabric/node.h"

#define FAKE_PORTS	3
#define FAKE_GUID	0x0002c90300000100ULL
#define FAKE_VENDOR	0x0002c9

/**
 * struct fake_port - a port
 * @ib: the port; the node owns it
 * @cable: for it
 * @events: what it was told since that was last set to zero
 * @links: times that @cable was told that its link has changed
 * @sent: packets that have left by @cable
 * @received: packets that came in
 * @length: bytes of the last packet, either way
 */
struct fake_port {
	struct weft_ibport	ib;
	struct weft_cable	cable;
	u32			events;
	u32			links;
	u32			sent;
	u32			received;
	u32			length;
};

/**
 * struct fake_node - a node
 * @node: what the agents see
 * @desc: its description
 * @port: by number; [0] is a switch's
 * @switch_calls: how often weft_ibnode.switch_attribute was called
 */
struct fake_node {
	struct weft_ibnode	node;
	char			desc[64];
	struct fake_port	port[FAKE_PORTS + 1];
	u32			switch_calls;
};

/**
 * fake_node_create - make a node, nothing plugged in
 * @test: the test, which frees it
 * @type: WEFT_NODE_CA or WEFT_NODE_SWITCH; that knows SwitchInfo, all zeros
 *
 * Return: the node.
 */
struct fake_node *fake_node_create(struct kunit *test, u8 type);

/**
 * fake_node_plug - plug cables into all ports
 * @fake: the node
 */
void fake_node_plug(struct fake_node *fake);

#endif /* KUNIT_FAKE_NODE_H */
