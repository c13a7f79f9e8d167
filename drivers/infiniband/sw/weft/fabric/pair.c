// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/pair.h"

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/underlay.h"
#include "fabric/local_cable.h"
#include "fabric/node.h"
#include "fabric/uplink.h"

/* Bit of weft_pair.taken */
#define PAIR_FAR_END	0

/**
 * struct weft_pair - a fabric that is one cable
 *
 * RTNL protects it, but for what the uplinks are told by.
 *
 * @underlay: to other hosts
 * @ports: of this host; [0] alone, or both at the ends of @local_cable
 * @local_cable: between them
 * @uplinks: of [0], while it is alone; NULL: they could not be opened
 * @node: who it is for them
 * @taken: the other end is, by @uplinks or by [1]: first come, first served
 */
struct weft_pair {
	struct weft_underlay	*underlay;
	struct weft_ibport	*ports[2];
	struct weft_local_cable	*local_cable;
	struct weft_uplinks	*uplinks;
	struct weft_uplink_node	node;
	unsigned long		taken;
};

static bool pair_has(struct weft_uplink_node *node)
{
	return !test_bit(PAIR_FAR_END, &container_of(node, struct weft_pair, node)->taken);
}

/* There is nobody at the other end, so it stays until the uplinks are closed. */
static struct weft_ibport *pair_take(struct weft_uplink_node *node)
{
	struct weft_pair *pair = container_of(node, struct weft_pair, node);

	return test_and_set_bit(PAIR_FAR_END, &pair->taken) ? NULL : pair->ports[0];
}

static void pair_give(struct weft_uplink_node *node, struct weft_ibport *port)
{
	clear_bit_unlock(PAIR_FAR_END, &container_of(node, struct weft_pair, node)->taken);
}

static const struct weft_uplink_ops pair_uplink_ops = {
	.has = pair_has,
	.take = pair_take,
	.give = pair_give,
};

/* One whose net device is about to go need not find anybody. */
static int pair_listen(struct weft_pair *pair)
{
	struct weft_uplinks *uplinks;

	if (pair->underlay->ndev->reg_state != NETREG_REGISTERED)
		return 0;
	pair->node.guid = pair->ports[0]->guid;
	uplinks = weft_uplinks_open(&pair->node, pair->underlay);
	if (IS_ERR(uplinks))
		return PTR_ERR(uplinks);
	pair->uplinks = uplinks;
	return 0;
}

static void pair_stop_listening(struct weft_pair *pair)
{
	if (pair->uplinks)
		weft_uplinks_close(pair->uplinks);
	pair->uplinks = NULL;
}

static void pair_update_cable(struct weft_pair *pair)
{
	weft_local_cable_update(pair->local_cable, pair->underlay->ndev->flags & IFF_UP);
}

static int pair_attach_first(struct weft_pair *pair, struct weft_ibport *port)
{
	int ret;

	pair->ports[0] = port;
	ret = pair_listen(pair);
	if (ret)
		pair->ports[0] = NULL;
	return ret;
}

static int pair_attach_second(struct weft_pair *pair, struct weft_ibport *port)
{
	struct weft_local_cable *local_cable = weft_local_cable_create(port, pair->ports[0]);

	if (!local_cable)
		return -ENOMEM;
	if (test_and_set_bit(PAIR_FAR_END, &pair->taken)) {
		weft_local_cable_destroy(local_cable);
		return -ENOSPC;
	}
	pair_stop_listening(pair);
	pair->ports[1] = port;
	pair->local_cable = local_cable;
	pair_update_cable(pair);
	return 0;
}

int weft_pair_attach(struct weft_pair *pair, struct weft_ibport *port)
{
	ASSERT_RTNL();
	if (weft_pair_is_empty(pair))
		return pair_attach_first(pair, port);
	return pair_attach_second(pair, port);
}

/* One that stays is the first one from now on. */
static void pair_part(struct weft_pair *pair, const struct weft_ibport *port)
{
	weft_local_cable_destroy(pair->local_cable);
	pair->local_cable = NULL;
	if (port == pair->ports[0])
		pair->ports[0] = pair->ports[1];
	pair->ports[1] = NULL;
	clear_bit_unlock(PAIR_FAR_END, &pair->taken);
	if (pair_listen(pair))
		netdev_warn(pair->underlay->ndev, "weft: cannot look for other hosts\n");
}

void weft_pair_detach(struct weft_pair *pair, struct weft_ibport *port)
{
	ASSERT_RTNL();
	if (WARN_ON(port != pair->ports[0] && port != pair->ports[1]))
		return;
	if (pair->local_cable) {
		pair_part(pair, port);
		return;
	}
	pair_stop_listening(pair);
	pair->ports[0] = NULL;
}

void weft_pair_update(struct weft_pair *pair)
{
	ASSERT_RTNL();
	if (pair->local_cable)
		pair_update_cable(pair);
	else if (pair->uplinks)
		weft_uplinks_update(pair->uplinks);
	else if (pair->ports[0])
		/* it is tried again: if it is in vain it stays as it is */
		pair_listen(pair);
}

bool weft_pair_is_empty(const struct weft_pair *pair)
{
	return !pair->ports[0];
}

struct weft_pair *weft_pair_create(struct weft_underlay *underlay)
{
	struct weft_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL);

	if (!pair)
		return NULL;
	pair->underlay = underlay;
	pair->node.ops = &pair_uplink_ops;
	pair->node.type = WEFT_NODE_CA;
	return pair;
}

void weft_pair_destroy(struct weft_pair *pair)
{
	kfree(pair);
}
