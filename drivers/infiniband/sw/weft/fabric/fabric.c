// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The fabrics of this host. Each net device with InfiniBand ports has one: a switch with local
 * cables to those ports and with uplinks to other hosts, or a back-to-back link.
 *
 * A fabric carries its frames to other hosts in UDP if it was made with peers, and on Ethernet
 * otherwise. Peers are the hosts that a fabric in UDP extends to.
 */
#include "fabric/fabric.h"

#include <linux/err.h>
#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/local_cable.h"
#include "fabric/ether.h"
#include "fabric/filter.h"
#include "fabric/b2b.h"
#include "fabric/underlay_addr.h"
#include "fabric/switch.h"
#include "fabric/tunnel.h"
#include "fabric/uplink.h"
#include "pause.h"

/* Mbit/s of a net device that reports no speed, such as lo. */
#define FABRIC_DEFAULT_MBPS	SPEED_10000

/* A port of a channel adapter, and the local cable from it to the switch. */
struct fabric_link {
	struct list_head	list;
	struct weft_local_cable	*local_cable;
	struct weft_ibport	*port;
	struct weft_ibport	*switch_port;
};

/* The fabric of a net device. */
struct weft_fabric {
	struct list_head	list;
	struct net_device	*ndev;
	struct weft_underlay	*underlay;
	struct weft_b2b		*b2b;	/* NULL: the members below are valid */
	struct weft_switch	*sw;
	struct weft_uplink_node	node;	/* @sw as a node, for @uplinks */
	struct weft_uplinks	*uplinks;
	struct list_head	links;	/* struct fabric_link */
};

/* RTNL protects the list and everything that is reached through it. */
static LIST_HEAD(fabrics);

static u32 fabric_mbps(struct net_device *ndev)
{
	struct ethtool_link_ksettings settings = {};

	if (ndev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(ndev, &settings) &&
	    settings.base.speed && settings.base.speed != (u32)SPEED_UNKNOWN)
		return settings.base.speed;
	return FABRIC_DEFAULT_MBPS;
}

/*
 * The speed of ports on a net device, as in weft_ibport_param.speed. RTNL is held.
 *
 * With the width of 4X LinkSpeed 1 is 10 Gb/s, which is the least that InfiniBand has.
 */
u8 weft_fabric_speed(struct net_device *ndev)
{
	u32 mbps;

	ASSERT_RTNL();
	mbps = fabric_mbps(ndev);
	if (mbps >= SPEED_40000)
		return 4;
	return mbps >= SPEED_20000 ? 2 : 1;
}

static void link_update(struct fabric_link *link, const struct net_device *ndev)
{
	weft_local_cable_update(link->local_cable, ndev->flags & IFF_UP);
}

/* Does a packet for @lid that leaves any other port of this host reach @port? Any context. */
bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid,
		       const struct weft_ibport *port)
{
	const struct weft_ibport *far_end;
	bool leads;

	rcu_read_lock();
	far_end = weft_local_cable_far_end(port);
	weft_pause(WEFT_PAUSE_IB_FAR_END);
	/* on a back-to-back link the local cable leads to its other end */
	leads = far_end && (fabric->b2b || weft_switch_way(fabric->sw, lid) == far_end->num);
	rcu_read_unlock();
	return leads;
}
WEFT_EXPORT_FOR_TEST(weft_fabric_leads);

/*
 * Apply partition enforcement of the switch to data between two ports of a fabric that bypass it.
 * Returns 0 if a packet with this P_Key would pass; WEFT_IBPORT_PKEY_IN if the switch port that
 * @from is connected to would drop it; WEFT_IBPORT_PKEY_OUT if the one of @to would. Any context.
 */
u8 weft_fabric_filter(const struct weft_ibport *from, const struct weft_ibport *to, u16 pkey)
{
	const struct weft_ibport *in, *out;
	u8 filter = 0;

	if (from == to)
		return 0;
	rcu_read_lock();
	/* on a back-to-back link these are ports of channel adapters, which have no filters */
	in = weft_local_cable_far_end(from);
	out = weft_local_cable_far_end(to);
	if (in && !weft_filter_passes(in, WEFT_IBPORT_PKEY_IN, pkey))
		filter = WEFT_IBPORT_PKEY_IN;
	else if (out && !weft_filter_passes(out, WEFT_IBPORT_PKEY_OUT, pkey))
		filter = WEFT_IBPORT_PKEY_OUT;
	rcu_read_unlock();
	return filter;
}
WEFT_EXPORT_FOR_TEST(weft_fabric_filter);

/*
 * Count data that weft_fabric_filter() refused, and raise a trap. @port is the end, @from or @to,
 * whose switch port refused it; the fabric need not exist any more if @port has been detached.
 * @violation has what the headers of a packet would have had. Any context.
 */
void weft_fabric_refused(const struct weft_fabric *fabric, const struct weft_ibport *port,
			 u8 filter, const struct weft_violation *violation)
{
	struct weft_ibport *far_end;

	rcu_read_lock();
	far_end = weft_local_cable_far_end(port);
	/* the fabric exists while the port has a local cable */
	if (far_end && !fabric->b2b)
		weft_switch_refused(fabric->sw, far_end, filter, violation);
	rcu_read_unlock();
}
WEFT_EXPORT_FOR_TEST(weft_fabric_refused);

static struct fabric_link *link_alloc(struct weft_ibport *port,
				      struct weft_ibport *switch_port)
{
	struct fabric_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->local_cable = weft_local_cable_create(port, switch_port);
	if (!link->local_cable) {
		kfree(link);
		return NULL;
	}
	link->port = port;
	link->switch_port = switch_port;
	return link;
}

static int link_create(struct weft_fabric *fabric, struct weft_ibport *port)
{
	struct weft_ibport *switch_port = weft_switch_take_port(fabric->sw, false);
	struct fabric_link *link;

	if (!switch_port)
		return -ENOSPC;
	link = link_alloc(port, switch_port);
	if (!link) {
		weft_switch_give_port(fabric->sw, switch_port);
		return -ENOMEM;
	}
	list_add_tail(&link->list, &fabric->links);
	link_update(link, fabric->ndev);
	return 0;
}

static void link_destroy(struct weft_fabric *fabric, struct fabric_link *link)
{
	weft_local_cable_destroy(link->local_cable);
	list_del(&link->list);
	weft_switch_give_port(fabric->sw, link->switch_port);
	kfree(link);
}

static struct fabric_link *link_find(struct weft_fabric *fabric,
				     const struct weft_ibport *port)
{
	struct fabric_link *link;

	list_for_each_entry(link, &fabric->links, list)
		if (link->port == port)
			return link;
	return NULL;
}

static struct weft_fabric *fabric_find(const struct net_device *ndev)
{
	struct weft_fabric *fabric;

	list_for_each_entry(fabric, &fabrics, list)
		if (fabric->ndev == ndev)
			return fabric;
	return NULL;
}

static bool fabric_has(struct weft_uplink_node *node)
{
	return weft_switch_has_port(container_of(node, struct weft_fabric, node)->sw);
}

static struct weft_ibport *fabric_take(struct weft_uplink_node *node)
{
	return weft_switch_take_port(container_of(node, struct weft_fabric, node)->sw, true);
}

static void fabric_give(struct weft_uplink_node *node, struct weft_ibport *port)
{
	weft_switch_give_port(container_of(node, struct weft_fabric, node)->sw, port);
}

static const struct weft_uplink_ops fabric_uplink_ops = {
	.has = fabric_has,
	.take = fabric_take,
	.give = fabric_give,
};

static int fabric_open_switch(struct weft_fabric *fabric, __be64 guid)
{
	struct net_device *ndev = fabric->ndev;

	fabric->sw = weft_switch_create(guid, ndev->name, weft_fabric_speed(ndev));
	if (IS_ERR(fabric->sw))
		return PTR_ERR(fabric->sw);
	fabric->node = (struct weft_uplink_node) {
		.ops = &fabric_uplink_ops, .guid = guid, .type = WEFT_NODE_SWITCH,
	};
	fabric->uplinks = weft_uplinks_open(&fabric->node, fabric->underlay);
	if (!IS_ERR(fabric->uplinks))
		return 0;
	weft_switch_destroy(fabric->sw);
	return PTR_ERR(fabric->uplinks);
}

static int fabric_open_b2b(struct weft_fabric *fabric)
{
	fabric->b2b = weft_b2b_create(fabric->underlay);
	return fabric->b2b ? 0 : -ENOMEM;
}

static struct weft_fabric *fabric_alloc(struct net_device *ndev,
					const struct weft_underlay_addrs *peers)
{
	struct weft_fabric *fabric = kzalloc(sizeof(*fabric), GFP_KERNEL);

	if (!fabric)
		return NULL;
	fabric->ndev = ndev;
	INIT_LIST_HEAD(&fabric->links);
	fabric->underlay = peers->num ? weft_tunnel_create(ndev, peers) : weft_ether_create(ndev);
	if (fabric->underlay)
		return fabric;
	kfree(fabric);
	return NULL;
}

static void fabric_free(struct weft_fabric *fabric)
{
	fabric->underlay->ops->destroy(fabric->underlay);
	kfree(fabric);
}

static struct weft_fabric *fabric_create(struct net_device *ndev, __be64 guid,
					 const struct weft_underlay_addrs *peers)
{
	struct weft_fabric *fabric = fabric_alloc(ndev, peers);
	int ret;

	if (!fabric)
		return ERR_PTR(-ENOMEM);
	ret = guid ? fabric_open_switch(fabric, guid) : fabric_open_b2b(fabric);
	if (ret) {
		fabric_free(fabric);
		return ERR_PTR(ret);
	}
	list_add_tail(&fabric->list, &fabrics);
	return fabric;
}

static bool fabric_is_empty(const struct weft_fabric *fabric)
{
	return fabric->b2b ? weft_b2b_is_empty(fabric->b2b) : list_empty(&fabric->links);
}

/* Free the fabric if no port uses it. */
static void fabric_release(struct weft_fabric *fabric)
{
	if (!fabric_is_empty(fabric))
		return;
	list_del(&fabric->list);
	if (fabric->b2b) {
		weft_b2b_destroy(fabric->b2b);
	} else {
		weft_uplinks_close(fabric->uplinks);
		weft_switch_destroy(fabric->sw);
	}
	fabric_free(fabric);
}

/*
 * Connect the port of a channel adapter, which has no cable, with the fabric of a net device. If
 * the net device has no fabric yet, a new one is made: with a switch of node GUID @guid, or a
 * back-to-back link if @guid is 0; @peers may be empty. The caller keeps @ndev and @port until
 * weft_fabric_detach(). The cable is plugged in while the net device is up (IFF_UP) and a node is
 * at the other end, as a switch always is.
 *
 * RTNL is held; sleeps. Errors: -ENOMEM; -ENOSPC if the switch has no free port or both ends of
 * the back-to-back link are taken; an error of a socket if the new fabric has peers.
 */
struct weft_fabric *weft_fabric_attach(struct net_device *ndev, struct weft_ibport *port,
				       __be64 guid, const struct weft_underlay_addrs *peers)
{
	struct weft_fabric *fabric;
	int ret;

	ASSERT_RTNL();
	fabric = fabric_find(ndev) ?: fabric_create(ndev, guid, peers);
	if (IS_ERR(fabric))
		return fabric;
	ret = fabric->b2b ? weft_b2b_attach(fabric->b2b, port) : link_create(fabric, port);
	if (ret) {
		fabric_release(fabric);
		return ERR_PTR(ret);
	}
	return fabric;
}
WEFT_EXPORT_FOR_TEST(weft_fabric_attach);

static void fabric_cut_off(struct weft_fabric *fabric, const struct weft_ibport *port)
{
	struct fabric_link *link = link_find(fabric, port);

	if (!WARN_ON(!link))
		link_destroy(fabric, link);
}

/* After this nothing is sent to or delivered by the port any more. RTNL is held; sleeps. */
void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port)
{
	ASSERT_RTNL();
	if (fabric->b2b)
		weft_b2b_detach(fabric->b2b, port);
	else
		fabric_cut_off(fabric, port);
	fabric_release(fabric);
}
WEFT_EXPORT_FOR_TEST(weft_fabric_detach);

static void fabric_update_switch(struct weft_fabric *fabric)
{
	struct fabric_link *link;

	list_for_each_entry(link, &fabric->links, list)
		link_update(link, fabric->ndev);
	weft_uplinks_update(fabric->uplinks);
}

/* The net device went up or down, or its carrier or speed changed. RTNL is held. */
void weft_fabric_update(struct net_device *ndev)
{
	struct weft_fabric *fabric;

	ASSERT_RTNL();
	fabric = fabric_find(ndev);
	if (!fabric)
		return;
	if (fabric->b2b)
		weft_b2b_update(fabric->b2b);
	else
		fabric_update_switch(fabric);
}
WEFT_EXPORT_FOR_TEST(weft_fabric_update);

/* RTNL is held; sleeps. -ENOMEM; -EOPNOTSUPP if the fabric was made without peers. */
int weft_fabric_set_peers(struct weft_fabric *fabric, const struct weft_underlay_addrs *peers)
{
	ASSERT_RTNL();
	if (!weft_underlay_is_tunnel(fabric->underlay))
		return -EOPNOTSUPP;
	return weft_tunnel_set_peers(fabric->underlay, peers);
}

/* RTNL is held. */
void weft_fabric_get_peers(const struct weft_fabric *fabric, struct weft_underlay_addrs *peers)
{
	ASSERT_RTNL();
	peers->num = 0;
	if (weft_underlay_is_tunnel(fabric->underlay))
		weft_tunnel_get_peers(fabric->underlay, peers);
}

/* Number of datagrams that did not come from a peer. RTNL is held. */
u64 weft_fabric_strangers(const struct weft_fabric *fabric)
{
	ASSERT_RTNL();
	return weft_underlay_is_tunnel(fabric->underlay) ?
	       weft_tunnel_strangers(fabric->underlay) : 0;
}
