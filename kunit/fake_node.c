// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fake_node.h"

#include <linux/string.h>

static struct fake_port *to_fake_port(struct weft_ibport *port)
{
	return container_of(port, struct fake_port, ib);
}

static void fake_xmit(struct weft_cable *cable, struct weft_ibport *from,
		      struct sk_buff *skb)
{
	to_fake_port(from)->sent++;
	to_fake_port(from)->length = skb->len;
	kfree_skb(skb);
}

static void fake_link(struct weft_cable *cable, struct weft_ibport *from)
{
	lockdep_assert_not_held(&from->lock);
	to_fake_port(from)->links++;
}

static void fake_receive(struct weft_ibport *port, struct sk_buff *skb, bool nested)
{
	to_fake_port(port)->received++;
	to_fake_port(port)->length = skb->len;
	kfree_skb(skb);
}

static void fake_event(struct weft_ibport *port, u32 events)
{
	lockdep_assert_not_held(&port->lock);
	to_fake_port(port)->events |= events;
}

static const struct weft_ibport_ops fake_ops = {
	.receive = fake_receive,
	.event = fake_event,
};

static bool fake_switch_attribute(struct weft_ibnode *node, struct ib_smp *smp)
{
	if (smp->attr_id != IB_SMP_ATTR_SWITCH_INFO)
		return false;
	container_of(node, struct fake_node, node)->switch_calls++;
	return true;
}

static void fake_port_init(struct fake_node *fake, u8 num)
{
	struct weft_ibport_param param = {
		.ops = &fake_ops,
		.num = num,
		.guid = cpu_to_be64(FAKE_GUID + num),
		.cap_mask = IB_PORT_CLIENT_REG_SUP | IB_PORT_SYS_IMAGE_GUID_SUP,
		.speed = 4,
	};

	weft_ibport_init(&fake->port[num].ib, &param);
	fake->port[num].cable.xmit = fake_xmit;
	fake->port[num].cable.link = fake_link;
	fake->node.port[num] = &fake->port[num].ib;
}

struct fake_node *fake_node_create(struct kunit *test, u8 type)
{
	bool is_switch = type == WEFT_NODE_SWITCH;
	struct fake_node *fake;
	int i;

	fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake);
	strscpy(fake->desc, "a fake", sizeof(fake->desc));
	fake->node.type = type;
	fake->node.num_ports = FAKE_PORTS;
	fake->node.guid = cpu_to_be64(FAKE_GUID);
	fake->node.vendor_id = FAKE_VENDOR;
	fake->node.desc = fake->desc;
	if (is_switch)
		fake->node.switch_attribute = fake_switch_attribute;
	for (i = is_switch ? 0 : 1; i <= FAKE_PORTS; i++)
		fake_port_init(fake, i);
	return fake;
}

void fake_node_plug(struct fake_node *fake)
{
	int i;

	for (i = 1; i <= FAKE_PORTS; i++)
		weft_ibport_plug(&fake->port[i].ib, &fake->port[i].cable);
}
