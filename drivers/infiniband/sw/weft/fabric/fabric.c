// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/fabric.h"

#include <linux/err.h>
#include <linux/ethtool.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/switch.h"
#include "fabric/uplink.h"

/* Mbit/s of a net device that knows none, such as lo. */
#define FABRIC_DEFAULT_MBPS	SPEED_10000

/**
 * struct fabric_link - from a port of a channel adapter to one of the switch
 * @list: of weft_fabric.links
 * @cable: the same for both ends
 * @port: of the channel adapter
 * @switch_port: at the other end
 * @plugged: whether it is plugged in, at both ends
 * @lock: one end at a time makes the other one follow; the locks of the ports are inside
 */
struct fabric_link {
	struct list_head	list;
	struct weft_cable	cable;
	struct weft_ibport	*port;
	struct weft_ibport	*switch_port;
	bool			plugged;
	spinlock_t		lock;
};

/**
 * struct weft_fabric - the fabric of a net device
 * @list: of fabrics
 * @ndev: the net device
 * @sw: its switch
 * @uplinks: of the switch
 * @links: to it
 */
struct weft_fabric {
	struct list_head	list;
	struct net_device	*ndev;
	struct weft_switch	*sw;
	struct weft_uplinks	*uplinks;
	struct list_head	links;
};

/* RTNL protects it, and all that it leads to. */
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

u8 weft_fabric_speed(struct net_device *ndev)
{
	u32 mbps;

	ASSERT_RTNL();
	mbps = fabric_mbps(ndev);
	if (mbps >= SPEED_40000)
		return 4;
	return mbps >= SPEED_20000 ? 2 : 1;
}

/* Into the other end, which may be the channel adapter of this very QP. */
static void link_xmit(struct weft_cable *cable, struct weft_ibport *from,
		      struct sk_buff *skb)
{
	struct fabric_link *link = container_of(cable, struct fabric_link, cable);

	weft_ibport_deliver(from == link->port ? link->switch_port : link->port, skb,
			    weft_hop(skb)->nested);
}

/*
 * The link is up when both ends are ready for it. When one of them has gone up, perhaps
 * after it had gone down, the other one does the same.
 */
static void link_settle(struct fabric_link *link, const struct weft_ibport *from)
{
	struct weft_ibport *ends[] = { link->port, link->switch_port };
	u32 events[ARRAY_SIZE(ends)];
	unsigned long flags;
	bool up;
	int i;

	spin_lock_irqsave(&link->lock, flags);
	up = weft_ibport_is_ready(ends[0]) && weft_ibport_is_ready(ends[1]);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		events[i] = weft_ibport_follow(ends[i], up, from && ends[i] != from);
	spin_unlock_irqrestore(&link->lock, flags);
	for (i = 0; i < ARRAY_SIZE(ends); i++)
		weft_ibport_tell(ends[i], events[i]);
}

static void link_link(struct weft_cable *cable, struct weft_ibport *from)
{
	link_settle(container_of(cable, struct fabric_link, cable), from);
}

/* The switch first and last: a port that is up can be sent to, and its peer hears it. */
static void link_plug(struct fabric_link *link)
{
	if (link->plugged)
		return;
	link->plugged = true;
	weft_ibport_plug(link->switch_port, &link->cable);
	weft_ibport_plug(link->port, &link->cable);
	link_settle(link, NULL);
}

/* Another cable may be plugged in at once: nobody sends by this one any more. */
static void link_unplug(struct fabric_link *link)
{
	if (!link->plugged)
		return;
	link->plugged = false;
	weft_ibport_unplug(link->port);
	weft_ibport_unplug(link->switch_port);
	synchronize_net();
}

static void link_update(struct fabric_link *link, const struct net_device *ndev)
{
	if (ndev->flags & IFF_UP)
		link_plug(link);
	else
		link_unplug(link);
}

bool weft_fabric_leads(const struct weft_fabric *fabric, u16 lid,
		       const struct weft_ibport *port)
{
	const struct weft_cable *cable;
	bool leads = false;

	rcu_read_lock();
	cable = rcu_dereference(port->cable);
	if (cable)
		leads = weft_switch_way(fabric->sw, lid) ==
			container_of(cable, struct fabric_link, cable)->switch_port->num;
	rcu_read_unlock();
	return leads;
}

static int link_create(struct weft_fabric *fabric, struct weft_ibport *port)
{
	struct fabric_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return -ENOMEM;
	link->switch_port = weft_switch_take_port(fabric->sw, false);
	if (!link->switch_port) {
		kfree(link);
		return -ENOSPC;
	}
	link->cable.xmit = link_xmit;
	link->cable.link = link_link;
	spin_lock_init(&link->lock);
	link->port = port;
	list_add_tail(&link->list, &fabric->links);
	link_update(link, fabric->ndev);
	return 0;
}

static void link_destroy(struct weft_fabric *fabric, struct fabric_link *link)
{
	link_unplug(link);
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

static int fabric_open(struct weft_fabric *fabric, __be64 guid)
{
	struct net_device *ndev = fabric->ndev;

	fabric->sw = weft_switch_create(guid, ndev->name, weft_fabric_speed(ndev));
	if (IS_ERR(fabric->sw))
		return PTR_ERR(fabric->sw);
	fabric->uplinks = weft_uplinks_open(fabric->sw, ndev);
	if (!IS_ERR(fabric->uplinks))
		return 0;
	weft_switch_destroy(fabric->sw);
	return PTR_ERR(fabric->uplinks);
}

static struct weft_fabric *fabric_create(struct net_device *ndev, __be64 guid)
{
	struct weft_fabric *fabric = kzalloc(sizeof(*fabric), GFP_KERNEL);
	int ret;

	if (!fabric)
		return ERR_PTR(-ENOMEM);
	fabric->ndev = ndev;
	INIT_LIST_HEAD(&fabric->links);
	ret = fabric_open(fabric, guid);
	if (ret) {
		kfree(fabric);
		return ERR_PTR(ret);
	}
	list_add_tail(&fabric->list, &fabrics);
	return fabric;
}

/* Unless a port uses it yet. */
static void fabric_release(struct weft_fabric *fabric)
{
	if (!list_empty(&fabric->links))
		return;
	list_del(&fabric->list);
	weft_uplinks_close(fabric->uplinks);
	weft_switch_destroy(fabric->sw);
	kfree(fabric);
}

struct weft_fabric *weft_fabric_attach(struct net_device *ndev, struct weft_ibport *port,
				       __be64 guid)
{
	struct weft_fabric *fabric;
	int ret;

	ASSERT_RTNL();
	fabric = fabric_find(ndev) ?: fabric_create(ndev, guid);
	if (IS_ERR(fabric))
		return fabric;
	ret = link_create(fabric, port);
	if (ret) {
		fabric_release(fabric);
		return ERR_PTR(ret);
	}
	return fabric;
}
WEFT_EXPORT_FOR_TEST(weft_fabric_attach);

void weft_fabric_detach(struct weft_fabric *fabric, struct weft_ibport *port)
{
	struct fabric_link *link;

	ASSERT_RTNL();
	link = link_find(fabric, port);
	if (WARN_ON(!link))
		return;
	link_destroy(fabric, link);
	fabric_release(fabric);
}
WEFT_EXPORT_FOR_TEST(weft_fabric_detach);

void weft_fabric_update(struct net_device *ndev)
{
	struct weft_fabric *fabric;
	struct fabric_link *link;

	ASSERT_RTNL();
	fabric = fabric_find(ndev);
	if (!fabric)
		return;
	list_for_each_entry(link, &fabric->links, list)
		link_update(link, ndev);
	weft_uplinks_carrier(fabric->uplinks);
}
WEFT_EXPORT_FOR_TEST(weft_fabric_update);
