// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/cord.h"

#include <linux/netdevice.h>
#include <linux/slab.h>

#include "pause.h"

/**
 * struct weft_cord - a cable between two ports of this host
 * @cable: the same for both ends
 * @ends: the ports
 * @plugged: whether it is plugged in, at both ends
 * @lock: one end at a time makes the other one follow; the locks of the ports are inside
 */
struct weft_cord {
	struct weft_cable	cable;
	struct weft_ibport	*ends[2];
	bool			plugged;
	spinlock_t		lock;
};

static struct weft_cord *cord_of_cable(struct weft_cable *cable)
{
	return container_of(cable, struct weft_cord, cable);
}

static struct weft_ibport *cord_other(const struct weft_cord *cord,
				      const struct weft_ibport *port)
{
	return cord->ends[port == cord->ends[0]];
}

/* Into the other end, which may be the channel adapter of this very QP. */
static void cord_xmit(struct weft_cable *cable, struct weft_ibport *from,
		      struct sk_buff *skb)
{
	weft_ibport_deliver(cord_other(cord_of_cable(cable), from), skb,
			    weft_hop(skb)->nested);
}

/*
 * The link is up when both ends are ready for it. When one of them has gone up, perhaps
 * after it had gone down, the other one does the same.
 */
static void cord_settle(struct weft_cord *cord, const struct weft_ibport *from)
{
	struct weft_ibport **ends = cord->ends;
	u32 events[ARRAY_SIZE(cord->ends)];
	unsigned long flags;
	bool up;
	int i;

	spin_lock_irqsave(&cord->lock, flags);
	up = weft_ibport_is_ready(ends[0]) && weft_ibport_is_ready(ends[1]);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = weft_ibport_follow(ends[i], up, from && ends[i] != from);
	spin_unlock_irqrestore(&cord->lock, flags);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		weft_ibport_tell(ends[i], events[i]);
}

static void cord_link(struct weft_cable *cable, struct weft_ibport *from)
{
	cord_settle(cord_of_cable(cable), from);
}

/* A switch first and last: a port that is up can be sent to, and its peer hears it. */
static void cord_plug(struct weft_cord *cord)
{
	cord->plugged = true;
	weft_ibport_plug(cord->ends[1], &cord->cable);
	weft_ibport_plug(cord->ends[0], &cord->cable);
	cord_settle(cord, NULL);
}

static void cord_pull(struct weft_cord *cord)
{
	cord->plugged = false;
	weft_ibport_unplug(cord->ends[0]);
	weft_ibport_unplug(cord->ends[1]);
	weft_pause(WEFT_PAUSE_IB_UNPLUGGED);
	synchronize_net();
}

void weft_cord_update(struct weft_cord *cord, bool plugged)
{
	if (plugged && !cord->plugged)
		cord_plug(cord);
	else if (!plugged && cord->plugged)
		cord_pull(cord);
}

struct weft_cord *weft_cord_create(struct weft_ibport *port, struct weft_ibport *far)
{
	struct weft_cord *cord = kzalloc(sizeof(*cord), GFP_KERNEL);

	if (!cord)
		return NULL;
	cord->cable.xmit = cord_xmit;
	cord->cable.link = cord_link;
	cord->ends[0] = port;
	cord->ends[1] = far;
	spin_lock_init(&cord->lock);
	return cord;
}

void weft_cord_destroy(struct weft_cord *cord)
{
	if (!cord)
		return;
	weft_cord_update(cord, false);
	kfree(cord);
}

struct weft_ibport *weft_cord_far_end(const struct weft_ibport *port)
{
	struct weft_cable *cable = rcu_dereference(port->cable);

	if (!cable || cable->xmit != cord_xmit)
		return NULL;
	return cord_other(cord_of_cable(cable), port);
}
WEFT_EXPORT_FOR_TEST(weft_cord_far_end);
