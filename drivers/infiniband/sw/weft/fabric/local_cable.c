// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/local_cable.h"

#include <linux/netdevice.h>
#include <linux/slab.h>

#include "pause.h"

struct weft_local_cable {
	struct weft_cable	cable;	/* the same for both ends */
	struct weft_ibport	*ends[2];
	bool			plugged;	/* at both ends */
	/* serializes local_cable_settle(); taken before the locks of ports */
	spinlock_t		lock;
};

static struct weft_local_cable *local_cable_of(struct weft_cable *cable)
{
	return container_of(cable, struct weft_local_cable, cable);
}

static struct weft_ibport *local_cable_other(const struct weft_local_cable *local,
					     const struct weft_ibport *port)
{
	return local->ends[port == local->ends[0]];
}

/* The other end may be the port of the sending QP itself, whose turn the caller may own. */
static void local_cable_xmit(struct weft_cable *cable, struct weft_ibport *from,
			     struct sk_buff *skb)
{
	weft_ibport_deliver(local_cable_other(local_cable_of(cable), from), skb,
			    weft_hop(skb)->nested);
}

/*
 * The link is up while both ends are ready. If management has changed the end @from, the other end
 * goes down before it goes up, as @from may have done.
 */
static void local_cable_settle(struct weft_local_cable *local, const struct weft_ibport *from)
{
	struct weft_ibport **ends = local->ends;
	u32 events[ARRAY_SIZE(local->ends)];
	unsigned long flags;
	bool up;
	int i;

	spin_lock_irqsave(&local->lock, flags);
	up = weft_ibport_is_ready(ends[0]) && weft_ibport_is_ready(ends[1]);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = weft_ibport_follow(ends[i], up, from && ends[i] != from);
	spin_unlock_irqrestore(&local->lock, flags);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		weft_ibport_tell(ends[i], events[i]);
}

static void local_cable_link(struct weft_cable *cable, struct weft_ibport *from)
{
	local_cable_settle(local_cable_of(cable), from);
}

/*
 * The far end, as a rule a switch, is plugged in first and pulled out last, so that a channel
 * adapter whose port is up is heard.
 */
static void local_cable_plug(struct weft_local_cable *local)
{
	local->plugged = true;
	weft_ibport_plug(local->ends[1], &local->cable);
	weft_ibport_plug(local->ends[0], &local->cable);
	local_cable_settle(local, NULL);
}

static void local_cable_pull(struct weft_local_cable *local)
{
	local->plugged = false;
	weft_ibport_unplug(local->ends[0]);
	weft_ibport_unplug(local->ends[1]);
	weft_pause(WEFT_PAUSE_IB_UNPLUGGED);
	synchronize_net();
}

/* Plug a cable in at both ends, or pull it out. Serialized by the caller. Sleeps. */
void weft_local_cable_update(struct weft_local_cable *local, bool plugged)
{
	if (plugged && !local->plugged)
		local_cable_plug(local);
	else if (!plugged && local->plugged)
		local_cable_pull(local);
}

/*
 * Make a cable, not plugged in, from the port of a channel adapter to a port of a switch or of
 * another channel adapter. Both ports must exist until weft_local_cable_destroy(). Returns NULL
 * without memory.
 */
struct weft_local_cable *weft_local_cable_create(struct weft_ibport *port, struct weft_ibport *far)
{
	struct weft_local_cable *local = kzalloc(sizeof(*local), GFP_KERNEL);

	if (!local)
		return NULL;
	local->cable.xmit = local_cable_xmit;
	local->cable.link = local_cable_link;
	local->ends[0] = port;
	local->ends[1] = far;
	spin_lock_init(&local->lock);
	return local;
}

/* Pull the cable out and free it, if there is one. Sleeps; RTNL may be held. */
void weft_local_cable_destroy(struct weft_local_cable *local)
{
	if (!local)
		return;
	weft_local_cable_update(local, false);
	kfree(local);
}

/* The other end of the local cable in a port; NULL without one. RCU read side. */
struct weft_ibport *weft_local_cable_far_end(const struct weft_ibport *port)
{
	struct weft_cable *cable = rcu_dereference(port->cable);

	if (!cable || cable->xmit != local_cable_xmit)
		return NULL;
	return local_cable_other(local_cable_of(cable), port);
}
WEFT_EXPORT_FOR_TEST(weft_local_cable_far_end);
