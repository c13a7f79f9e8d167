// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of fabric/fabric.c: ports of channel adapters on the loopback device, with a switch or back
 * to back (fabric/b2b.c).
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>

#include "fabric/local_cable.h"
#include "fabric/fabric.h"
#include "fabric/notice.h"
#include "fabric/underlay_addr.h"
#include "switch_model.h"

#define FABRIC_GUID	0x0200ff00fe000020ULL
#define FABRIC_ENDS	2
/* The ends of a back-to-back link, and one too many. */
#define PAIR_ENDS	3
#define FABRIC_MANY	WEFT_SWITCH_PORTS

/* A port of a channel adapter. */
struct fabric_end {
	struct weft_ibport	port;
	struct weft_fabric	*fabric;
	struct sk_buff_head	queue;
	u32			events;
};

static void end_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	skb_queue_tail(&container_of(port, struct fabric_end, port)->queue, skb);
}

static void end_event(struct weft_ibport *port, u32 events)
{
	container_of(port, struct fabric_end, port)->events |= events;
}

static const struct weft_ibport_ops end_ops = {
	.receive = end_receive,
	.event = end_event,
};

/* No peers. */
static const struct weft_underlay_addrs end_peers;

static void end_attach_to(struct fabric_end *end, u64 guid, u64 switch_guid)
{
	const struct weft_ibport_param param = {
		.ops = &end_ops, .num = 1, .guid = cpu_to_be64(guid), .speed = 4,
	};

	skb_queue_head_init(&end->queue);
	memset(&end->port, 0, sizeof(end->port));
	weft_ibport_init(&end->port, &param);
	rtnl_lock();
	end->fabric = weft_fabric_attach(init_net.loopback_dev, &end->port,
					 cpu_to_be64(switch_guid), &end_peers);
	rtnl_unlock();
}

static void end_attach(struct fabric_end *end, u64 guid)
{
	end_attach_to(end, guid, FABRIC_GUID);
}

static void end_detach(struct fabric_end *end)
{
	if (!IS_ERR(end->fabric)) {
		rtnl_lock();
		weft_fabric_detach(end->fabric, &end->port);
		rtnl_unlock();
	}
	skb_queue_purge(&end->queue);
}

static void end_send(struct fabric_end *end, const struct model_mad *mad)
{
	struct sk_buff *skb = weft_mad_build(&mad->address, &mad->mad, GFP_KERNEL);

	if (!skb)
		return;
	local_bh_disable();
	rcu_read_lock();
	weft_ibport_xmit(&end->port, skb);
	rcu_read_unlock();
	local_bh_enable();
}

static bool loopback_is_up(void)
{
	return READ_ONCE(init_net.loopback_dev->flags) & IFF_UP;
}

static void cable_follows_netdev(struct kunit *test)
{
	struct fabric_end *end = kunit_kzalloc(test, sizeof(*end), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, end);
	end_attach(end, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(end->fabric));
	KUNIT_EXPECT_EQ(test, end->port.state, loopback_is_up() ? IB_PORT_INIT : IB_PORT_DOWN);
	end_detach(end);
	KUNIT_EXPECT_EQ(test, end->port.state, IB_PORT_DOWN);
	KUNIT_EXPECT_NULL(test, rcu_access_pointer(end->port.cable));
	if (loopback_is_up())
		KUNIT_EXPECT_TRUE(test, end->events & WEFT_IBPORT_LINK);
}

/* Send a request through the switch to each of its ports: one of them leads to the other end. */
static void ports_reach_each_other(struct kunit *test)
{
	struct fabric_end *end = kunit_kcalloc(test, FABRIC_ENDS, sizeof(*end), GFP_KERNEL);
	struct model_mad mad;
	u8 port, i;

	KUNIT_ASSERT_NOT_NULL(test, end);
	if (!loopback_is_up())
		kunit_skip(test, "the loopback device is down");
	for (i = 0; i < FABRIC_ENDS; i++)
		end_attach(&end[i], i + 1);
	KUNIT_EXPECT_PTR_EQ(test, end[0].fabric, end[1].fabric);
	for (port = 1; port <= WEFT_SWITCH_PORTS; port++) {
		model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, &port, 1);
		end_send(&end[0], &mad);
	}
	for (i = 0; i < 200 && skb_queue_empty(&end[1].queue); i++)
		usleep_range(10000, 11000);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&end[1].queue), 1);
	for (i = 0; i < FABRIC_ENDS; i++)
		end_detach(&end[i]);
}

/* Get or Set an attribute of the switch. */
static bool end_ask(struct fabric_end *end, struct model_mad *mad, u8 method, __be16 attr,
		    u32 mod)
{
	u8 data[IB_SMP_DATA_SIZE];
	struct sk_buff *skb;
	bool valid;
	u32 i;

	memcpy(data, mad->smp.data, sizeof(data));
	model_directed(mad, attr, mod, NULL, 0);
	memcpy(mad->smp.data, data, sizeof(data));
	mad->smp.method = method;
	end_send(end, mad);
	for (i = 0; i < 200 && skb_queue_empty(&end->queue); i++)
		usleep_range(10000, 11000);
	skb = skb_dequeue(&end->queue);
	valid = skb && weft_mad_parse(skb, &mad->address, &mad->mad) &&
		mad->smp.method == IB_MGMT_METHOD_GET_RESP;
	kfree_skb(skb);
	return valid;
}

/* PortPhysicalState and PortState of a switch port, a hexadecimal digit each. */
static u32 switch_state(struct kunit *test, struct fabric_end *end, u8 num)
{
	const struct ib_port_info *info;
	struct model_mad mad = {};

	KUNIT_EXPECT_TRUE(test, end_ask(end, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PORT_INFO,
					num));
	info = (const struct ib_port_info *)mad.smp.data;
	return info->portphysstate_linkdown >> 4 << 4 | (info->linkspeed_portstate & 15);
}

/* The number of the switch port that an end is connected to. */
static u8 switch_port_of(struct kunit *test, struct fabric_end *end)
{
	struct model_mad mad = {};

	KUNIT_EXPECT_TRUE(test, end_ask(end, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_NODE_INFO,
					0));
	return ((const struct ib_node_info *)mad.smp.data)->local_port_num;
}

/* Set PortPhysicalState to Polling or Disabled, as a subnet manager would. */
static void end_set_phys(struct fabric_end *end, u8 phys)
{
	unsigned long flags;
	u32 events;

	spin_lock_irqsave(&end->port.lock, flags);
	if (phys == IB_PORT_PHYS_STATE_DISABLED)
		events = weft_ibport_move(&end->port, phys, IB_PORT_DOWN);
	else
		events = weft_ibport_retrain(&end->port, phys);
	spin_unlock_irqrestore(&end->port.lock, flags);
	weft_ibport_event(&end->port, events);
}

static void switch_set_phys(struct kunit *test, struct fabric_end *end, u8 num, u8 phys)
{
	struct model_mad mad = {};
	struct ib_port_info *info = (struct ib_port_info *)mad.smp.data;

	KUNIT_EXPECT_TRUE(test, end_ask(end, &mad, IB_MGMT_METHOD_GET, IB_SMP_ATTR_PORT_INFO,
					num));
	info->portphysstate_linkdown = (info->portphysstate_linkdown & 15) | phys << 4;
	info->linkspeed_portstate &= 0xf0;
	KUNIT_EXPECT_TRUE(test, end_ask(end, &mad, IB_MGMT_METHOD_SET, IB_SMP_ATTR_PORT_INFO,
					num));
	/*
	 * the other end follows after the response to the Set, and before the response to this
	 * request
	 */
	switch_state(test, end, num);
}

static u32 end_state(const struct fabric_end *end)
{
	return end->port.info.portphysstate_linkdown >> 4 << 4 | READ_ONCE(end->port.state);
}

#define POLLING		(IB_PORT_PHYS_STATE_POLLING << 4 | IB_PORT_DOWN)
#define DISABLED	(IB_PORT_PHYS_STATE_DISABLED << 4 | IB_PORT_DOWN)
#define LINK_UP		(IB_PORT_PHYS_STATE_LINK_UP << 4 | IB_PORT_INIT)

static void link_has_two_ends(struct kunit *test)
{
	struct fabric_end *end = kunit_kcalloc(test, FABRIC_ENDS, sizeof(*end), GFP_KERNEL);
	u8 num, i;

	KUNIT_ASSERT_NOT_NULL(test, end);
	if (!loopback_is_up())
		kunit_skip(test, "the loopback device is down");
	for (i = 0; i < FABRIC_ENDS; i++)
		end_attach(&end[i], i + 1);
	num = switch_port_of(test, &end[0]);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), LINK_UP);

	end_set_phys(&end[0], IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), DISABLED);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), POLLING);
	/* the link needs both ends */
	switch_set_phys(test, &end[1], num, IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), DISABLED);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), POLLING);
	end_set_phys(&end[0], IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), LINK_UP);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), LINK_UP);

	switch_set_phys(test, &end[1], num, IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), POLLING);
	end_set_phys(&end[0], IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), POLLING);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), DISABLED);
	switch_set_phys(test, &end[1], num, IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), LINK_UP);
	KUNIT_EXPECT_EQ(test, switch_state(test, &end[1], num), LINK_UP);

	/* retraining one end takes both down and up */
	model_activate(&end[0].port);
	end[0].events = 0;
	switch_set_phys(test, &end[1], num, IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), LINK_UP);
	KUNIT_EXPECT_EQ(test, end[0].events, WEFT_IBPORT_LINK | WEFT_IBPORT_ERR);
	for (i = 0; i < FABRIC_ENDS; i++)
		end_detach(&end[i]);
}

static void switch_gets_full(struct kunit *test)
{
	struct fabric_end *end = kunit_kcalloc(test, FABRIC_MANY + 1, sizeof(*end), GFP_KERNEL);
	u32 i, attached = 0;

	KUNIT_ASSERT_NOT_NULL(test, end);
	for (i = 0; i <= FABRIC_MANY; i++) {
		end_attach(&end[i], i + 1);
		if (!IS_ERR(end[i].fabric))
			attached++;
		else
			KUNIT_EXPECT_EQ(test, PTR_ERR(end[i].fabric), -ENOSPC);
	}
	KUNIT_EXPECT_LE(test, attached, FABRIC_MANY);
	KUNIT_EXPECT_GT(test, attached, 0);
	for (i = 0; i <= FABRIC_MANY; i++)
		end_detach(&end[i]);
}

/* Attach three ends without a switch. Returns false if the loopback device is in use. */
static bool b2b_begin(struct fabric_end *end)
{
	u8 i;

	for (i = 0; i < PAIR_ENDS; i++)
		end_attach_to(&end[i], i + 1, 0);
	return !IS_ERR(end[0].fabric) && !IS_ERR(end[1].fabric) &&
	       PTR_ERR_OR_ZERO(end[2].fabric) == -ENOSPC;
}

static void b2b_end(struct fabric_end *end)
{
	u8 i;

	for (i = 0; i < PAIR_ENDS; i++)
		end_detach(&end[i]);
}

static struct fabric_end *b2b_init(struct kunit *test)
{
	struct fabric_end *end = kunit_kcalloc(test, PAIR_ENDS, sizeof(*end), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, end);
	if (!loopback_is_up())
		kunit_skip(test, "the loopback device is down");
	if (!b2b_begin(end)) {
		b2b_end(end);
		kunit_skip(test, "the loopback device is in use");
	}
	return end;
}

static bool end_leads(const struct fabric_end *end)
{
	return weft_fabric_leads(end->fabric, 1, &end->port);
}

static void b2b_has_two_ends(struct kunit *test)
{
	struct fabric_end *end = b2b_init(test);

	KUNIT_EXPECT_PTR_EQ(test, end[0].fabric, end[1].fabric);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), LINK_UP);
	KUNIT_EXPECT_EQ(test, end_state(&end[1]), LINK_UP);
	KUNIT_EXPECT_EQ(test, end_state(&end[2]), POLLING);
	KUNIT_EXPECT_TRUE(test, end_leads(&end[0]) && end_leads(&end[1]));

	end_set_phys(&end[0], IB_PORT_PHYS_STATE_DISABLED);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), DISABLED);
	KUNIT_EXPECT_EQ(test, end_state(&end[1]), POLLING);
	end_set_phys(&end[1], IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[1]), POLLING);
	end_set_phys(&end[0], IB_PORT_PHYS_STATE_POLLING);
	KUNIT_EXPECT_EQ(test, end_state(&end[0]), LINK_UP);
	KUNIT_EXPECT_EQ(test, end_state(&end[1]), LINK_UP);
	b2b_end(end);
}

/* Every packet that leaves one end comes out of the other, whatever its destination. */
static void b2b_carries(struct kunit *test)
{
	struct fabric_end *end = b2b_init(test);
	struct model_mad mad;
	u8 i;

	model_directed(&mad, IB_SMP_ATTR_NODE_INFO, 0, NULL, 0);
	for (i = 0; i < 2; i++) {
		end_send(&end[i], &mad);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&end[i].queue), i);
		KUNIT_EXPECT_EQ(test, skb_queue_len(&end[!i].queue), 1);
	}
	KUNIT_EXPECT_TRUE(test, skb_queue_empty(&end[2].queue));
	b2b_end(end);
}

/* After either port is detached its end is free for another one. */
static void b2b_changes(struct kunit *test)
{
	struct fabric_end *end = b2b_init(test);
	u8 i;

	for (i = 0; i < 2; i++) {
		end_detach(&end[i]);
		KUNIT_EXPECT_EQ(test, end_state(&end[i]), POLLING);
		KUNIT_EXPECT_EQ(test, end_state(&end[!i]), POLLING);
		KUNIT_EXPECT_FALSE(test, end_leads(&end[!i]));
		end_attach_to(&end[2], 3, 0);
		KUNIT_EXPECT_PTR_EQ(test, end[2].fabric, end[!i].fabric);
		KUNIT_EXPECT_EQ(test, end_state(&end[2]), LINK_UP);
		KUNIT_EXPECT_EQ(test, end_state(&end[!i]), LINK_UP);
		/* the fabric stays without a switch although this asks for one */
		end_attach(&end[i], i + 1);
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(end[i].fabric), -ENOSPC);
		end_detach(&end[2]);
		end_attach(&end[i], i + 1);
		KUNIT_EXPECT_PTR_EQ(test, end[i].fabric, end[!i].fabric);
		KUNIT_EXPECT_EQ(test, end_state(&end[i]), LINK_UP);
	}
	for (i = 0; i < 2; i++)
		end_detach(&end[i]);
}

static u8 end_filter(const struct fabric_end *from, const struct fabric_end *to, u16 pkey)
{
	return weft_fabric_filter(&from->port, &to->port, pkey);
}

/* Data that bypass the switch are filtered and counted as packets would be. */
static void filters_without_packets(struct kunit *test)
{
	struct fabric_end *end = kunit_kcalloc(test, FABRIC_ENDS, sizeof(*end), GFP_KERNEL);
	const struct weft_violation violation = { .key = 0x8001 };
	struct weft_ibport *far_end;

	KUNIT_ASSERT_NOT_NULL(test, end);
	if (!loopback_is_up())
		kunit_skip(test, "the loopback device is down");
	end_attach(&end[0], 1);
	end_attach(&end[1], 2);
	KUNIT_EXPECT_EQ(test, end_filter(&end[0], &end[1], 0x8001), 0);
	rcu_read_lock();
	far_end = weft_local_cable_far_end(&end[0].port);
	rcu_read_unlock();
	KUNIT_EXPECT_NOT_NULL(test, far_end);
	if (far_end) {
		WRITE_ONCE(far_end->filters, WEFT_IBPORT_PKEY_IN | WEFT_IBPORT_PKEY_OUT);
		KUNIT_EXPECT_EQ(test, end_filter(&end[0], &end[1], 0x8001),
				WEFT_IBPORT_PKEY_IN);
		KUNIT_EXPECT_EQ(test, end_filter(&end[1], &end[0], 0x8001),
				WEFT_IBPORT_PKEY_OUT);
		KUNIT_EXPECT_EQ(test, end_filter(&end[0], &end[1], 0xffff), 0);
		KUNIT_EXPECT_EQ(test, end_filter(&end[0], &end[0], 0x8001), 0);
		weft_fabric_refused(end[0].fabric, &end[0].port, WEFT_IBPORT_PKEY_IN,
				    &violation);
		KUNIT_EXPECT_EQ(test, atomic64_read(&far_end->counters[WEFT_IBC_RCV_CONSTRAINT]),
				1);
		WRITE_ONCE(far_end->filters, 0);
	}
	end_detach(&end[0]);
	end_detach(&end[1]);
}

static struct kunit_case fabric_cases[] = {
	KUNIT_CASE(cable_follows_netdev),
	KUNIT_CASE(ports_reach_each_other),
	KUNIT_CASE(link_has_two_ends),
	KUNIT_CASE(switch_gets_full),
	KUNIT_CASE(filters_without_packets),
	KUNIT_CASE(b2b_has_two_ends),
	KUNIT_CASE(b2b_carries),
	KUNIT_CASE(b2b_changes),
	{}
};

static struct kunit_suite fabric_suite = {
	.name = "weft_fabric",
	.test_cases = fabric_cases,
};

kunit_test_suite(fabric_suite);
