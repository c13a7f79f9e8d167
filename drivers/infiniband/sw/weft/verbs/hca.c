// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/hca.h"

#include <linux/err.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/fabric.h"
#include "fabric/underlay_addr.h"
#include "link/ib.h"
#include "object/av.h"
#include "object/dev.h"
#include "object/hca.h"
#include "params.h"
#include "pause.h"
#include "verbs/attributes.h"

/*
 * The switch has the GUID of its first channel adapter with the universal/local bit of the
 * EUI-64 inverted.
 */
#define HCA_SWITCH_GUID		cpu_to_be64(1ULL << 57)

#define HCA_PORT_CAPS \
	(IB_PORT_TRAP_SUP | IB_PORT_SL_MAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP | \
	 IB_PORT_DR_NOTICE_SUP | IB_PORT_CAP_MASK_NOTICE_SUP | IB_PORT_CLIENT_REG_SUP)

/* In the order in which consumers shall see them. */
static const struct {
	u32			happened;
	enum ib_event_type	event;
} hca_events[] = {
	{ WEFT_IBPORT_LID,		IB_EVENT_LID_CHANGE },
	{ WEFT_IBPORT_SM,		IB_EVENT_SM_CHANGE },
	{ WEFT_IBPORT_GID,		IB_EVENT_GID_CHANGE },
	{ WEFT_IBPORT_PKEY,		IB_EVENT_PKEY_CHANGE },
	{ WEFT_IBPORT_ERR,		IB_EVENT_PORT_ERR },
	{ WEFT_IBPORT_ACTIVE,		IB_EVENT_PORT_ACTIVE },
	{ WEFT_IBPORT_REREGISTER,	IB_EVENT_CLIENT_REREGISTER },
};

/*
 * Two events may be reported at the same time. The port's lock makes sure that the last write is
 * the port's current state.
 */
static void hca_take_state(struct weft_dev *dev, struct weft_ibport *port)
{
	unsigned long flags;

	spin_lock_irqsave(&port->lock, flags);
	WRITE_ONCE(dev->port_state, port->state);
	spin_unlock_irqrestore(&port->lock, flags);
	weft_path_changed();
}

static void hca_event(struct weft_ibport *port, u32 events)
{
	struct weft_dev *dev = container_of(port, struct weft_hca, port)->dev;
	struct ib_event event = { .device = &dev->ibdev, .element.port_num = 1 };
	int i;

	hca_take_state(dev, port);
	/* fails before and after registration, when nobody listens */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	for (i = 0; i < ARRAY_SIZE(hca_events); i++) {
		if (!(events & hca_events[i].happened))
			continue;
		event.event = hca_events[i].event;
		ib_dispatch_event(&event);
	}
	ib_device_put(&dev->ibdev);
}

static void hca_send_trap(struct weft_traps *traps, u16 dlid, struct sk_buff *skb)
{
	weft_ib_send(container_of(traps, struct weft_hca, traps), dlid, skb);
}

static const struct weft_traps_ops hca_traps_ops = {
	.send = hca_send_trap,
};

static const struct weft_ibport_ops hca_port_ops = {
	.receive = weft_ib_receive,
	.event = hca_event,
};

/* Sets dev->hca. The device has its GUID already. */
int weft_hca_create(struct weft_dev *dev)
{
	struct weft_hca *hca = kzalloc(sizeof(*hca), GFP_KERNEL);

	if (!hca)
		return -ENOMEM;
	hca->dev = dev;
	hca->node = (struct weft_ibnode){
		.type = WEFT_NODE_CA,
		.num_ports = 1,
		.guid = dev->guid,
		.vendor_id = WEFT_VENDOR_ID,
		.device_id = WEFT_PART_ID,
		.revision = WEFT_HW_VER,
		.desc = dev->ibdev.node_desc,
		.port[1] = &hca->port,
	};
	weft_ib_open(hca);
	weft_traps_init(&hca->traps, &hca->node, &hca_traps_ops, system_highpri_wq);
	dev->hca = hca;
	return 0;
}

/* The caller holds RTNL. Returns the errors of weft_fabric_attach(). */
int weft_hca_attach(struct weft_dev *dev)
{
	struct weft_hca *hca = dev->hca;
	struct weft_ibport_param param = {
		.ops = &hca_port_ops,
		.num = 1,
		.guid = dev->guid,
		.cap_mask = HCA_PORT_CAPS,
		.speed = weft_fabric_speed(dev->ndev),
	};
	struct weft_underlay_addrs peers;
	struct weft_fabric *fabric;
	__be64 switch_guid = 0;

	ASSERT_RTNL();
	weft_ibport_init(&hca->port, &param);
	if (weft_attribute_ib_switch())
		switch_guid = dev->guid ^ HCA_SWITCH_GUID;
	weft_attribute_ib_peers(&peers);
	fabric = weft_fabric_attach(dev->ndev, &hca->port, switch_guid, &peers);
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);
	hca->fabric = fabric;
	return 0;
}

/* The caller holds RTNL. Sleeps. Harmless if the port is not attached. */
void weft_hca_detach(struct weft_dev *dev)
{
	struct weft_hca *hca = dev->hca;

	ASSERT_RTNL();
	if (hca->fabric)
		weft_fabric_detach(hca->fabric, &hca->port);
	weft_pause(WEFT_PAUSE_IB_DETACH);
	hca->fabric = NULL;
	/* a trap may come back to this port, so sending ends before weft_hca_destroy() */
	weft_traps_close(&hca->traps);
}

/* For a detached port that nobody finds any more, after a grace period. */
void weft_hca_destroy(struct weft_dev *dev)
{
	weft_ib_close(dev->hca);
	kfree(dev->hca);
	dev->hca = NULL;
}

/* The hosts that the fabric extends to by UDP. The port is attached. Takes RTNL. */
void weft_hca_get_peers(struct weft_dev *dev, struct weft_underlay_addrs *peers)
{
	rtnl_lock();
	weft_fabric_get_peers(dev->hca->fabric, peers);
	rtnl_unlock();
}

int weft_hca_set_peers(struct weft_dev *dev, const struct weft_underlay_addrs *peers)
{
	int ret;

	rtnl_lock();
	ret = weft_fabric_set_peers(dev->hca->fabric, peers);
	rtnl_unlock();
	return ret;
}

/*
 * The device fails, and its link is down; or recovers, and the link trains again unless management
 * has disabled the port: then the subnet manager brings it to ACTIVE.
 */
void weft_hca_fail(struct weft_dev *dev, bool failed)
{
	struct weft_ibport *port = &dev->hca->port;
	unsigned long flags;
	u32 events;

	spin_lock_irqsave(&port->lock, flags);
	events = weft_ibport_fail(port, failed);
	spin_unlock_irqrestore(&port->lock, flags);
	weft_ibport_event(port, events);
}

u64 weft_hca_strangers(struct weft_dev *dev)
{
	u64 strangers;

	rtnl_lock();
	strangers = weft_fabric_strangers(dev->hca->fabric);
	rtnl_unlock();
	return strangers;
}
