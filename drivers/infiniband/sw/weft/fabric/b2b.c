// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A back-to-back link: a fabric without a switch that is a single cable. The first channel
 * adapter on the net device has one end. The other end belongs to a second channel adapter on it
 * or to a node of another host, whichever comes first.
 *
 * Context of all functions: process, RTNL is held, may sleep.
 */
#include "fabric/b2b.h"

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/underlay.h"
#include "fabric/local_cable.h"
#include "fabric/node.h"
#include "fabric/uplink.h"

/* Bit of weft_b2b.taken */
#define B2B_FAR_END	0

/*
 * RTNL protects a back-to-back link. The callbacks of the uplinks run without RTNL: they change
 * @taken atomically, and read @ports[0], which does not change while the uplinks are open.
 */
struct weft_b2b {
	struct weft_underlay	*underlay;
	struct weft_ibport	*ports[2];	/* of this host; [0] alone, or both */
	struct weft_local_cable	*local_cable;	/* between both ports */
	struct weft_uplinks	*uplinks;	/* of [0] while it is alone; NULL: opening failed */
	struct weft_uplink_node	node;
	unsigned long		taken;	/* the other end has been taken by @uplinks or [1] */
};

static bool b2b_has(struct weft_uplink_node *node)
{
	return !test_bit(B2B_FAR_END, &container_of(node, struct weft_b2b, node)->taken);
}

/*
 * The other end is free, so there is no second port, and the first one stays until the uplinks are
 * closed.
 */
static struct weft_ibport *b2b_take(struct weft_uplink_node *node)
{
	struct weft_b2b *b2b = container_of(node, struct weft_b2b, node);

	return test_and_set_bit(B2B_FAR_END, &b2b->taken) ? NULL : b2b->ports[0];
}

static void b2b_give(struct weft_uplink_node *node, struct weft_ibport *port)
{
	clear_bit_unlock(B2B_FAR_END, &container_of(node, struct weft_b2b, node)->taken);
}

static const struct weft_uplink_ops b2b_uplink_ops = {
	.has = b2b_has,
	.take = b2b_take,
	.give = b2b_give,
};

/* A net device that is being unregistered gets no uplinks. */
static int b2b_listen(struct weft_b2b *b2b)
{
	struct weft_uplinks *uplinks;

	if (b2b->underlay->ndev->reg_state != NETREG_REGISTERED)
		return 0;
	b2b->node.guid = b2b->ports[0]->guid;
	uplinks = weft_uplinks_open(&b2b->node, b2b->underlay);
	if (IS_ERR(uplinks))
		return PTR_ERR(uplinks);
	b2b->uplinks = uplinks;
	return 0;
}

static void b2b_stop_listening(struct weft_b2b *b2b)
{
	if (b2b->uplinks)
		weft_uplinks_close(b2b->uplinks);
	b2b->uplinks = NULL;
}

static void b2b_update_cable(struct weft_b2b *b2b)
{
	weft_local_cable_update(b2b->local_cable, b2b->underlay->ndev->flags & IFF_UP);
}

static int b2b_attach_first(struct weft_b2b *b2b, struct weft_ibport *port)
{
	int ret;

	b2b->ports[0] = port;
	ret = b2b_listen(b2b);
	if (ret)
		b2b->ports[0] = NULL;
	return ret;
}

static int b2b_attach_second(struct weft_b2b *b2b, struct weft_ibport *port)
{
	struct weft_local_cable *local_cable = weft_local_cable_create(port, b2b->ports[0]);

	if (!local_cable)
		return -ENOMEM;
	if (test_and_set_bit(B2B_FAR_END, &b2b->taken)) {
		weft_local_cable_destroy(local_cable);
		return -ENOSPC;
	}
	b2b_stop_listening(b2b);
	b2b->ports[1] = port;
	b2b->local_cable = local_cable;
	b2b_update_cable(b2b);
	return 0;
}

/*
 * Give one end to a port of a channel adapter, which has no cable and whose GUID is that of its
 * node. Returns 0, -ENOMEM, -ENOSPC if both ends are taken, or the error of opening the underlay.
 */
int weft_b2b_attach(struct weft_b2b *b2b, struct weft_ibport *port)
{
	ASSERT_RTNL();
	if (weft_b2b_is_empty(b2b))
		return b2b_attach_first(b2b, port);
	return b2b_attach_second(b2b, port);
}

/* Detach one of two ports. The other one becomes the first port. */
static void b2b_part(struct weft_b2b *b2b, const struct weft_ibport *port)
{
	weft_local_cable_destroy(b2b->local_cable);
	b2b->local_cable = NULL;
	if (port == b2b->ports[0])
		b2b->ports[0] = b2b->ports[1];
	b2b->ports[1] = NULL;
	clear_bit_unlock(B2B_FAR_END, &b2b->taken);
	if (b2b_listen(b2b))
		netdev_warn(b2b->underlay->ndev, "weft: cannot look for other hosts\n");
}

/* After this nothing is sent to or delivered by the port any more. */
void weft_b2b_detach(struct weft_b2b *b2b, struct weft_ibport *port)
{
	ASSERT_RTNL();
	if (WARN_ON(port != b2b->ports[0] && port != b2b->ports[1]))
		return;
	if (b2b->local_cable) {
		b2b_part(b2b, port);
		return;
	}
	b2b_stop_listening(b2b);
	b2b->ports[0] = NULL;
}

/* The net device went up or down. */
void weft_b2b_update(struct weft_b2b *b2b)
{
	ASSERT_RTNL();
	if (b2b->local_cable)
		b2b_update_cable(b2b);
	else if (b2b->uplinks)
		weft_uplinks_update(b2b->uplinks);
	else if (b2b->ports[0])
		/* opening failed before: retry, and leave it if it fails again */
		b2b_listen(b2b);
}

/* Is no port of this host attached? */
bool weft_b2b_is_empty(const struct weft_b2b *b2b)
{
	return !b2b->ports[0];
}

/* Make a link with two free ends. The caller keeps the underlay. Returns NULL without memory. */
struct weft_b2b *weft_b2b_create(struct weft_underlay *underlay)
{
	struct weft_b2b *b2b = kzalloc(sizeof(*b2b), GFP_KERNEL);

	if (!b2b)
		return NULL;
	b2b->underlay = underlay;
	b2b->node.ops = &b2b_uplink_ops;
	b2b->node.type = WEFT_NODE_CA;
	return b2b;
}

/* No port may be attached. */
void weft_b2b_destroy(struct weft_b2b *b2b)
{
	kfree(b2b);
}
