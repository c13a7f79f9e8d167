// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The speed of a RoCE port: the speed of its net device in the terms of InfiniBand.
 *
 * No notifier tells when ethtool changes the speed, and reading the speed takes locks that a
 * notifier may hold already. So a work item reads it, after any event of the net device or when a
 * query finds another speed than before.
 */
#include "verbs/speed.h"

#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "compat/port_event.h"
#include "object/dev.h"

/* Mbit/s of a net device that reports no speed, such as lo; veth reports the same. */
#define SPEED_DEFAULT_MBPS	SPEED_10000

/* The InfiniBand speed and width of Ethernet links with at least @mbps. */
struct weft_speed {
	u32	mbps;
	u16	speed;
	u8	width;
};

/* Fastest first. */
static const struct weft_speed speed_table[] = {
	{ SPEED_400000,	IB_SPEED_NDR,	IB_WIDTH_4X },
	{ SPEED_200000,	IB_SPEED_HDR,	IB_WIDTH_4X },
	{ SPEED_100000,	IB_SPEED_EDR,	IB_WIDTH_4X },
	{ SPEED_50000,	IB_SPEED_EDR,	IB_WIDTH_2X },
	{ SPEED_40000,	IB_SPEED_FDR10,	IB_WIDTH_4X },
	{ SPEED_25000,	IB_SPEED_EDR,	IB_WIDTH_1X },
	{ SPEED_20000,	IB_SPEED_DDR,	IB_WIDTH_4X },
	{ SPEED_10000,	IB_SPEED_FDR10,	IB_WIDTH_1X },
	{ SPEED_5000,	IB_SPEED_DDR,	IB_WIDTH_1X },
	/* InfiniBand has nothing slower */
	{ 0,		IB_SPEED_SDR,	IB_WIDTH_1X },
};

/*
 * ib_get_eth_speed() is not used: it writes a line to the kernel log for each query of a net
 * device that reports no speed.
 */
static u32 speed_of(struct net_device *ndev)
{
	struct ethtool_link_ksettings settings = {};
	u32 mbps = SPEED_DEFAULT_MBPS;

	rtnl_lock();
	if (ndev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(ndev, &settings) &&
	    settings.base.speed && settings.base.speed != (u32)SPEED_UNKNOWN)
		mbps = settings.base.speed;
	rtnl_unlock();
	return mbps;
}

static void speed_tell(struct ib_device *ibdev)
{
	struct ib_event event = { .device = ibdev, .element.port_num = 1 };

	compat_dispatch_speed_change(&event);
}

/* Drops the reference that weft_speed_changed() has taken. */
static void speed_worker(struct work_struct *work)
{
	struct weft_dev *dev = container_of(work, struct weft_dev, speed_work);
	u32 mbps = speed_of(dev->ndev);

	if (xchg(&dev->speed, mbps) != mbps)
		speed_tell(&dev->ibdev);
	ib_device_put(&dev->ibdev);
}

/* Before the device is registered. */
void weft_speed_init(struct weft_dev *dev)
{
	INIT_WORK(&dev->speed_work, speed_worker);
}

/* Waits for the work item. The device is not registered any more. */
void weft_speed_stop(struct weft_dev *dev)
{
	cancel_work_sync(&dev->speed_work);
}

/*
 * The speed may have changed. If it has, IB_EVENT_DEVICE_SPEED_CHANGE follows, if the core knows
 * that event. Does nothing while the device is not registered. Any context.
 */
void weft_speed_changed(struct weft_dev *dev)
{
	/* fails before and after registration, when nobody listens */
	if (ib_device_try_get(&dev->ibdev) && !schedule_work(&dev->speed_work))
		ib_device_put(&dev->ibdev);
}

/* Mbit/s of the net device, never 0. Takes RTNL. */
u32 weft_speed_mbps(struct weft_dev *dev)
{
	u32 mbps = speed_of(dev->ndev);
	u32 told = cmpxchg(&dev->speed, 0, mbps);

	/* the core's first query sets it, before anybody listens to events */
	if (told && told != mbps)
		weft_speed_changed(dev);
	return mbps;
}

/* Sets active_speed and active_width to the nearest that InfiniBand has. Takes RTNL. */
void weft_speed_query(struct weft_dev *dev, struct ib_port_attr *attr)
{
	const struct weft_speed *entry = speed_table;
	u32 mbps = weft_speed_mbps(dev);

	while (mbps < entry->mbps)
		entry++;
	attr->active_speed = entry->speed;
	attr->active_width = entry->width;
}
