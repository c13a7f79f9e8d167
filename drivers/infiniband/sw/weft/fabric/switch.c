// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A switch in software, one for each underlying net device. It forwards packets by the tables
 * that the subnet manager sets and along directed routes. Its port 0 has the management agents.
 */
#include "fabric/switch.h"

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "fabric/agent.h"
#include "fabric/fdb.h"
#include "fabric/filter.h"
#include "fabric/mad.h"
#include "params.h"

/* The vendor ID is an OUI that is not assigned; we choose device ID and revision. */
#define SWITCH_VENDOR_ID	0xffffff
#define SWITCH_DEVICE_ID	2
#define SWITCH_REVISION		1

/* Ports, including port 0. */
#define SWITCH_ALL_PORTS	(WEFT_SWITCH_PORTS + 1)

struct switch_port {
	struct weft_ibport	ib;
	struct weft_switch	*sw;
};

struct weft_switch {
	struct weft_ibnode	node;
	struct weft_fdb		*fdb;
	struct weft_agent	agent;
	char			desc[IB_SMP_DATA_SIZE];
	DECLARE_BITMAP(taken, SWITCH_ALL_PORTS);	/* reserved ports; atomic, without a lock */
	struct switch_port	port[SWITCH_ALL_PORTS];
};

static struct weft_switch *switch_of_port(struct weft_ibport *port)
{
	return container_of(port, struct switch_port, ib)->sw;
}

static void switch_no_way(struct weft_ibport *in, struct sk_buff *skb)
{
	weft_ibport_count(in, WEFT_IBC_RELAY_ERRORS);
	kfree_skb(skb);
}

static void switch_xmit(struct weft_switch *sw, u8 port, struct sk_buff *skb)
{
	weft_filter_xmit(&sw->agent.traps, sw->node.port[port], skb);
}

static void switch_unicast(struct weft_switch *sw, struct weft_ibport *in, u16 dlid,
			   struct sk_buff *skb)
{
	u8 port = 0;

	if (!weft_ibport_has_lid(sw->node.port[0], dlid))
		port = weft_fdb_port(sw->fdb, dlid);
	if (!port)
		weft_agent_receive(&sw->agent, in, skb);
	else if (port == WEFT_FDB_NONE || port == in->num)
		switch_no_way(in, skb);
	else
		switch_xmit(sw, port, skb);
}

/* A copy shares the data of the packet; no receiver writes to it. */
static void switch_copy(struct weft_switch *sw, u8 port, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);

	if (copy)
		switch_xmit(sw, port, copy);
	else
		weft_ibport_count(sw->node.port[port], WEFT_IBC_XMIT_DISCARDS);
}

static void switch_multicast(struct weft_switch *sw, struct weft_ibport *in, u16 dlid,
			     struct sk_buff *skb)
{
	u64 ports = weft_fdb_ports(sw->fdb, dlid);

	if (!ports) {
		switch_no_way(in, skb);
		return;
	}
	/* a base switch port 0 is a member of no group */
	ports &= ~(BIT_ULL(in->num) | BIT_ULL(0));
	if (!ports) {
		consume_skb(skb);
		return;
	}
	for (; ports & (ports - 1); ports &= ports - 1)
		switch_copy(sw, __ffs64(ports), skb);
	switch_xmit(sw, __ffs64(ports), skb);
}

/* Tables that are wrong or out of date may send a packet in a loop, which nothing else ends. */
static bool switch_is_circling(struct sk_buff *skb)
{
	return weft_hop(skb)->hops > WEFT_MAX_HOPS;
}

static void switch_receive(struct weft_ibport *in, struct sk_buff *skb, bool nested)
{
	struct weft_switch *sw = switch_of_port(in);
	struct weft_lrh lrh;

	/* the port has done so, too, so it does not fail */
	weft_lrh_decode(&lrh, skb->data, skb->len);
	if (switch_is_circling(skb))
		switch_no_way(in, skb);
	else if (!weft_filter_admits(&sw->agent.traps, in, WEFT_IBPORT_PKEY_IN, skb))
		kfree_skb(skb);
	else if (lrh.dlid < WEFT_LID_MCAST)
		switch_unicast(sw, in, lrh.dlid, skb);
	else if (lrh.vl == WEFT_VL_SMP && lrh.dlid == WEFT_LID_PERMISSIVE)
		weft_agent_receive(&sw->agent, in, skb);
	else if (lrh.vl == WEFT_VL_SMP || lrh.dlid == WEFT_LID_PERMISSIVE)
		switch_no_way(in, skb);
	else
		switch_multicast(sw, in, lrh.dlid, skb);
}

static void switch_event(struct weft_ibport *port, u32 events)
{
	if (events & WEFT_IBPORT_LINK)
		weft_agent_link_changed(&switch_of_port(port)->agent);
}

static const struct weft_ibport_ops switch_port_ops = {
	.receive = switch_receive,
	.event = switch_event,
};

static bool switch_attribute(struct weft_ibnode *node, struct ib_smp *smp)
{
	struct weft_switch *sw = container_of(node, struct weft_switch, node);

	return weft_fdb_attribute(sw->fdb, smp, smp->method == IB_MGMT_METHOD_SET);
}

/* Port 0 has the node GUID; external ports have none. */
static void switch_init_ports(struct weft_switch *sw, __be64 guid, u8 speed)
{
	struct weft_ibport_param param = {
		.ops = &switch_port_ops,
		.guid = guid,
		.cap_mask = IB_PORT_TRAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP |
			    IB_PORT_DR_NOTICE_SUP,
		.speed = speed,
	};

	for (; param.num < SWITCH_ALL_PORTS; param.num++) {
		sw->port[param.num].sw = sw;
		sw->node.port[param.num] = &sw->port[param.num].ib;
		weft_ibport_init(sw->node.port[param.num], &param);
		param.guid = 0;
		param.cap_mask = 0;
	}
}

static void switch_init_node(struct weft_switch *sw, __be64 guid, const char *name)
{
	struct weft_ibnode *node = &sw->node;

	snprintf(sw->desc, sizeof(sw->desc), "weft switch %s", name);
	node->type = WEFT_NODE_SWITCH;
	node->num_ports = WEFT_SWITCH_PORTS;
	node->guid = guid;
	node->vendor_id = SWITCH_VENDOR_ID;
	node->device_id = SWITCH_DEVICE_ID;
	node->revision = SWITCH_REVISION;
	node->desc = sw->desc;
	node->switch_attribute = switch_attribute;
}

static void switch_free(struct weft_switch *sw)
{
	weft_agent_exit(&sw->agent);
	weft_fdb_destroy(sw->fdb);
	kvfree(sw);
}

/*
 * Make a switch with all external ports down; its NodeDescription is "weft switch NAME", @speed is
 * as in weft_ibport_param. May sleep; returns an error pointer without memory.
 */
struct weft_switch *weft_switch_create(__be64 guid, const char *name, u8 speed)
{
	struct weft_switch *sw = kvzalloc(sizeof(*sw), GFP_KERNEL);

	if (!sw)
		return ERR_PTR(-ENOMEM);
	sw->fdb = weft_fdb_create();
	if (!sw->fdb || weft_agent_init(&sw->agent, &sw->node, sw->fdb)) {
		switch_free(sw);
		return ERR_PTR(-ENOMEM);
	}
	switch_init_node(sw, guid, name);
	switch_init_ports(sw, guid, speed);
	set_bit(0, sw->taken);
	return sw;
}
WEFT_EXPORT_FOR_TEST(weft_switch_create);

/* All ports have been given back. Sleeps until packets inside the switch are gone. */
void weft_switch_destroy(struct weft_switch *sw)
{
	/* wait until packets that came before the cables were pulled out are in the queue */
	synchronize_rcu();
	switch_free(sw);
}
WEFT_EXPORT_FOR_TEST(weft_switch_destroy);

struct weft_ibnode *weft_switch_node(struct weft_switch *sw)
{
	return &sw->node;
}
WEFT_EXPORT_FOR_TEST(weft_switch_node);

/* Is an external port free now? */
bool weft_switch_has_port(const struct weft_switch *sw)
{
	return find_next_zero_bit(sw->taken, SWITCH_ALL_PORTS, 1) < SWITCH_ALL_PORTS;
}
WEFT_EXPORT_FOR_TEST(weft_switch_has_port);

/*
 * Reserve the highest (@upper) or lowest free external port. Returns NULL if none is free.
 *
 * Cables to other switches get the upper ports, channel adapters of this host the lower ones.
 */
struct weft_ibport *weft_switch_take_port(struct weft_switch *sw, bool upper)
{
	u8 num, i;

	for (i = 1; i < SWITCH_ALL_PORTS; i++) {
		num = upper ? SWITCH_ALL_PORTS - i : i;
		if (!test_and_set_bit(num, sw->taken))
			return sw->node.port[num];
	}
	return NULL;
}
WEFT_EXPORT_FOR_TEST(weft_switch_take_port);

/* Free a reserved port, whose cable has been pulled out. */
void weft_switch_give_port(struct weft_switch *sw, struct weft_ibport *port)
{
	clear_bit(port->num, sw->taken);
}
WEFT_EXPORT_FOR_TEST(weft_switch_give_port);

/* The number of the port for a unicast LID, or WEFT_FDB_NONE, which is not a port. */
u8 weft_switch_way(const struct weft_switch *sw, u16 lid)
{
	return weft_fdb_port(sw->fdb, lid);
}
WEFT_EXPORT_FOR_TEST(weft_switch_way);

/* weft_filter_refused() for data that bypassed the switch and is not in a packet. Any context. */
void weft_switch_refused(struct weft_switch *sw, struct weft_ibport *port, u8 filter,
			 const struct weft_violation *violation)
{
	weft_filter_refused(&sw->agent.traps, port, filter, violation);
}
