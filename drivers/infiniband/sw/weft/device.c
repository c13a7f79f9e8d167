// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a device.
 *
 * "rdma link add" creates it by weft_device_add() or weft_device_add_ib(). It ends when the core
 * unregisters it: because of "rdma link del", because its net device goes away, or because the
 * module is unloaded. In between, the notifier of net devices updates the port's state and the
 * link in sysfs.
 */
#include "device.h"

#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "compat/netns.h"
#include "compat/port_event.h"
#include "engine/inject.h"
#include "fabric/fabric.h"
#include "fabric/underlay_addr.h"
#include "link/ib.h"
#include "link/ib_port.h"
#include "link/roce.h"
#include "link/roce_port.h"
#include "link/steer.h"
#include "link/udp.h"
#include "object/advise.h"
#include "object/cc.h"
#include "object/dev.h"
#include "object/latency.h"
#include "object/monitor.h"
#include "object/parent.h"
#include "object/refuse.h"
#include "object/strict.h"
#include "object/table.h"
#include "pause.h"
#include "stats.h"
#include "verbs/attributes.h"
#include "verbs/hca.h"
#include "verbs/ib_port.h"
#include "verbs/ops.h"
#include "verbs/qp.h"
#include "verbs/speed.h"

/*
 * Maps each GUID, in CPU order, to its struct weft_dev, so that no GUID is used twice. A device
 * stays in the map until a grace period before it is freed, so RCU readers may use it.
 */
static DEFINE_XARRAY(device_guids);

/*
 * Logs why "rdma link add" fails and what to do, and evaluates to the error. The user sees only the
 * error, because rdma_link_ops.newlink gets no extended ack to put a text into. As only an
 * administrator can cause such a line, it need not be a debug message, which nobody would find.
 */
#define netdev_refuse(_ndev, _err, _fmt, ...) \
	({ pr_warn("weft: no device on %s: " _fmt "\n", (_ndev)->name, ##__VA_ARGS__); (_err); })

static bool netdev_carries_ip(const struct net_device *ndev)
{
	switch (ndev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
	case ARPHRD_RAWIP:
	case ARPHRD_PPP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		return true;
	default:
		return false;
	}
}

/* Frames go on Ethernet, nowhere (lo), or in UDP packets to the hosts in ib_peers. */
static bool netdev_carries_frames(const struct net_device *ndev)
{
	struct weft_underlay_addrs peers;

	if (ndev->type == ARPHRD_ETHER || ndev->flags & IFF_LOOPBACK)
		return true;
	weft_attribute_ib_peers(&peers);
	return peers.num && netdev_carries_ip(ndev);
}

/* Returns the net device that carries the frames of a VLAN interface, NULL for other interfaces. */
static struct net_device *netdev_below(const struct net_device *ndev)
{
	return is_vlan_dev(ndev) ? vlan_dev_real_dev(ndev) : NULL;
}

/*
 * The net device for which the core shall collect GIDs. For a VLAN interface it would find no
 * address: the core finds the addresses of VLANs when it walks the net device below them.
 */
static struct net_device *netdev_of_gids(struct net_device *ndev)
{
	return netdev_below(ndev) ?: ndev;
}

/* The state of a RoCE port. */
static u32 port_state(const struct weft_dev *dev)
{
	const struct net_device *ndev = dev->ndev;

	return netif_running(ndev) && netif_carrier_ok(ndev) &&
	       !weft_inject_is_silent(&dev->inject) ?
	       IB_PORT_ACTIVE : IB_PORT_DOWN;
}

static int guid_take(struct weft_dev *dev, u64 guid)
{
	int ret = xa_insert(&device_guids, guid, dev, GFP_KERNEL);

	if (!ret)
		dev->guid = cpu_to_be64(guid);
	return ret;
}

/*
 * The EUI-64 of the MAC address. If a GUID is in use, because a VLAN, a bond or another RDMA device
 * has the same MAC address, a number is mixed into the FFFE in its middle. No other MAC address
 * results in such a GUID.
 */
static int guid_from_mac(struct weft_dev *dev)
{
	int ret = -EBUSY;
	__be64 eui;
	u64 i;

	addrconf_addr_eui48((u8 *)&eui, dev->ndev->dev_addr);
	for (i = 0; i <= U16_MAX && ret == -EBUSY; i++)
		ret = guid_take(dev, be64_to_cpu(eui) ^ i << 24);
	return ret;
}

/* A random GUID has neither the universal bit (of a modified EUI-64) nor the group bit. */
static int guid_random(struct weft_dev *dev)
{
	int ret;

	do {
		ret = guid_take(dev, get_random_u64() & ~(3ULL << 56));
	} while (ret == -EBUSY);
	return ret;
}

static int guid_choose(struct weft_dev *dev)
{
	const struct net_device *ndev = dev->ndev;

	if (ndev->addr_len == ETH_ALEN && is_valid_ether_addr(ndev->dev_addr))
		return guid_from_mac(dev);
	return guid_random(dev);
}

/*
 * The core follows the addresses of Ethernet devices only, and on a failover it removes the
 * default GID of a bond without adding it again.
 */
static void gids_rescan_worker(struct work_struct *work)
{
	struct weft_dev *dev;
	unsigned long guid;

	rcu_read_lock();
	xa_for_each(&device_guids, guid, dev) {
		if (!ib_device_try_get(&dev->ibdev))
			continue;
		rcu_read_unlock();
		/* adds the missing GIDs and keeps the others */
		rdma_roce_rescan_device(&dev->ibdev);
		ib_device_put(&dev->ibdev);
		rcu_read_lock();
	}
	rcu_read_unlock();
}

static DECLARE_DELAYED_WORK(gids_rescan, gids_rescan_worker);

/*
 * Handles a new address of a net device that the core does not follow. An address that is removed
 * cannot be taken out of the core's table, so it stays there as long as the RDMA device exists.
 */
static int gids_address_event(const struct net_device *ndev, unsigned long event)
{
	if (event == NETDEV_UP && ndev->type != ARPHRD_ETHER)
		schedule_delayed_work(&gids_rescan, 0);
	return NOTIFY_DONE;
}

static int gids_inet_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct in_ifaddr *ifa = info;

	return gids_address_event(ifa->ifa_dev->dev, event);
}

/* IPv6 can come back to a net device by a new address, and then no other notifier is called. */
static void reach_inet6_event(const struct net_device *ndev, unsigned long event)
{
	struct weft_dev *dev;
	u32 id = 0;

	if (event != NETDEV_UP)
		return;
	rcu_read_lock();
	while ((dev = weft_reach_next(ndev, &id)))
		weft_reach_later(&dev->mcast.reach);
	rcu_read_unlock();
}

static int gids_inet6_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct inet6_ifaddr *ifa = info;

	reach_inet6_event(ifa->idev->dev, event);
	return gids_address_event(ifa->idev->dev, event);
}

static struct notifier_block gids_inet_notifier = {
	.notifier_call = gids_inet_event,
};

static struct notifier_block gids_inet6_notifier = {
	.notifier_call = gids_inet6_event,
};

static void port_update(struct weft_dev *dev)
{
	u32 state = port_state(dev);
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE :
						   IB_EVENT_PORT_ERR,
	};

	ASSERT_RTNL();
	if (state == dev->port_state)
		return;
	WRITE_ONCE(dev->port_state, state);
	/* fails before and after registration, when nobody listens */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	ibdev_dbg(&dev->ibdev, "port is %s\n",
		  state == IB_PORT_ACTIVE ? "active" : "down");
	ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
}

static void port_up(struct weft_dev *dev)
{
	port_update(dev);
	if (dev->ndev->type != ARPHRD_ETHER)
		schedule_delayed_work(&gids_rescan, 0);
}

/*
 * Let the port be down although its net device is up, or end that. Nothing arrives or leaves then.
 * A port that flaps stays in that state. -EOPNOTSUPP: an InfiniBand port, whose state is the
 * fabric's. The caller has a reference that keeps @dev registered. Takes RTNL.
 */
int weft_device_port_down(struct weft_dev *dev, bool down)
{
	if (dev->hca)
		return -EOPNOTSUPP;
	rtnl_lock();
	dev->inject.flap.left = 0;
	weft_inject_port_down(dev, down);
	port_update(dev);
	rtnl_unlock();
	return 0;
}

/*
 * The port of @dev goes down for @down ns and up for @up ns, so many @times, and stays up then. It
 * begins at once. As weft_device_port_down().
 */
int weft_device_port_flap(struct weft_dev *dev, u64 down, u64 up, u32 times)
{
	struct weft_inject_flap *flap = &dev->inject.flap;

	if (dev->hca)
		return -EOPNOTSUPP;
	rtnl_lock();
	weft_inject_port_down(dev, false);
	flap->down = max(1UL, nsecs_to_jiffies(down));
	flap->up = max(1UL, nsecs_to_jiffies(up));
	flap->left = times;
	cancel_delayed_work(&flap->work);
	schedule_delayed_work(&flap->work, 0);
	rtnl_unlock();
	return 0;
}

/* Change the state of a port that flaps. Who removes the device may have RTNL, and waits for us. */
static void port_flaps(struct work_struct *work)
{
	struct weft_inject_flap *flap = container_of(to_delayed_work(work),
						     struct weft_inject_flap, work);
	struct weft_dev *dev = container_of(flap, struct weft_dev, inject.flap);
	bool down;

	if (!rtnl_trylock()) {
		schedule_delayed_work(&flap->work, 1);
		return;
	}
	down = !dev->inject.port_down;
	if (flap->left) {
		weft_inject_port_down(dev, down);
		port_update(dev);
		flap->left -= !down;
	}
	if (flap->left)
		schedule_delayed_work(&flap->work, down ? flap->down : flap->up);
	rtnl_unlock();
}

/* From when a device fails until its QPs are in ERR, so that it cannot recover meanwhile. */
static DEFINE_MUTEX(device_fail_mutex);

/*
 * The device fails, or comes back; the port follows. Returns 0; -EALREADY: it is so. The caller
 * holds device_fail_mutex.
 */
static int device_die(struct weft_dev *dev, bool dead)
{
	int ret = -EALREADY;

	lockdep_assert_held(&device_fail_mutex);
	rtnl_lock();
	if (dev->inject.dead != dead) {
		ret = 0;
		weft_inject_die(dev, dead);
		if (dev->hca)
			weft_hca_fail(dev, dead);
		else
			port_update(dev);
	}
	rtnl_unlock();
	return ret;
}

static void device_fail_qps(struct weft_dev *dev)
{
	unsigned long index = 0;
	struct weft_qp *qp;

	while ((qp = weft_qp_next(dev->id, &index))) {
		weft_pause(WEFT_PAUSE_FATAL_QP);
		weft_qp_fail(qp);
		weft_qp_put(qp);
	}
}

/*
 * The device fails as one with an internal error: its port is down, IBV_EVENT_DEVICE_FATAL is
 * raised, all QPs are in ERR, and verbs and posts fail with EIO. Returns 0; -EALREADY: it has
 * failed before. The caller has a reference that keeps @dev registered. Takes RTNL, and sleeps.
 */
int weft_device_fatal(struct weft_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev, .element.port_num = 1, .event = IB_EVENT_DEVICE_FATAL,
	};
	int ret;

	mutex_lock(&device_fail_mutex);
	ret = device_die(dev, true);
	if (!ret) {
		weft_pause(WEFT_PAUSE_FATAL_DEAD);
		ib_dispatch_event(&event);
		device_fail_qps(dev);
	}
	mutex_unlock(&device_fail_mutex);
	return ret;
}

/*
 * The device works again, and its port comes up; the QPs of processes stay in ERR. Returns 0;
 * -EALREADY: it has not failed. As weft_device_fatal().
 */
int weft_device_recover(struct weft_dev *dev)
{
	int ret;

	mutex_lock(&device_fail_mutex);
	weft_pause(WEFT_PAUSE_FATAL_RECOVER);
	ret = device_die(dev, false);
	mutex_unlock(&device_fail_mutex);
	return ret;
}

/*
 * NETDEV_UNREGISTER has other reasons, too. The net device may move to another namespace; then the
 * RDMA device stays, as hardware would. And unregister_netdevice_notifier() calls the notifier
 * with it for each net device.
 */
static void instance_leave_netdev(struct weft_dev *dev)
{
	ASSERT_RTNL();
	if (dev->ndev->reg_state == NETREG_REGISTERED)
		return;
	/* if it is not registered yet, instance_register() will look again */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	weft_pause(WEFT_PAUSE_DEVICE_NETDEV_LEAVES);
	ib_unregister_device_queued(&dev->ibdev);
	ib_device_put(&dev->ibdev);
}

/* The fabric manages the cable and the state of an InfiniBand port. */
static void instance_ib_event(struct weft_dev *dev, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		weft_fabric_update(dev->ndev);
		break;
	case NETDEV_UNREGISTER:
		instance_leave_netdev(dev);
		break;
	default:
		break;
	}
}

static void instance_roce_event(struct weft_dev *dev, unsigned long event)
{
	switch (event) {
	case NETDEV_UP:
		port_up(dev);
		weft_speed_changed(dev);
		break;
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_update(dev);
		weft_speed_changed(dev);
		break;
	case NETDEV_REGISTER:
		weft_steer_return(dev);
		fallthrough;
	case NETDEV_CHANGENAME:
		weft_parent_rename(dev);
		break;
	case NETDEV_UNREGISTER:
		weft_steer_leave(dev);
		instance_leave_netdev(dev);
		break;
	case NETDEV_BONDING_FAILOVER:
		weft_speed_changed(dev);
		/* later, because the core removes the GID in a work item of its own */
		schedule_delayed_work(&gids_rescan, HZ);
		break;
	default:
		/* queries read the MTU and the address */
		break;
	}
}

/* Devices are published and unpublished under RTNL, so the result stays valid without RCU. */
static struct weft_dev *instance_next(const struct net_device *ndev,
				      unsigned long *index)
{
	struct weft_dev *dev;

	ASSERT_RTNL();
	rcu_read_lock();
	dev = weft_dev_on(ndev, index);
	rcu_read_unlock();
	return dev;
}

static int instance_netdev_event(struct notifier_block *nb,
				 unsigned long event, void *info)
{
	const struct net_device *ndev = netdev_notifier_info_to_dev(info);
	unsigned long index = 0;
	struct weft_dev *dev;

	weft_reach_event(ndev, event);
	while ((dev = instance_next(ndev, &index))) {
		/* e.g. a bond that becomes one of IPoIB, whose addresses have another length */
		if (event == NETDEV_PRE_TYPE_CHANGE)
			return notifier_from_errno(weft_refuse(&dev->ibdev, -EBUSY,
							       "change the type of %s: in use",
							       ndev->name));
		if (dev->hca)
			instance_ib_event(dev, event);
		else
			instance_roce_event(dev, event);
	}
	return NOTIFY_DONE;
}

static struct notifier_block instance_notifier = {
	.notifier_call = instance_netdev_event,
	/* after IP, because weft_reach_event() looks at the state that IP leaves */
	.priority = ADDRCONF_NOTIFY_PRIORITY - 1,
};

/* Frees the resources of a device, which may be incomplete. */
static void instance_dealloc(struct ib_device *ibdev)
{
	struct weft_dev *dev = to_weft_dev(ibdev);

	weft_speed_stop(dev);
	cancel_delayed_work_sync(&dev->inject.flap.work);
	rtnl_lock();
	weft_monitor_remove(dev);
	weft_parent_destroy(dev);
	if (dev->hca)
		weft_hca_detach(dev);
	weft_reach_stop(&dev->mcast.reach);
	if (dev->id)
		weft_dev_unpublish(dev);
	rtnl_unlock();
	weft_pause(WEFT_PAUSE_DEVICE_UNPUBLISHED);
	/* RCU readers that found the device or a QP may count packets or call weft_reach_later() */
	synchronize_rcu();
	weft_pause(WEFT_PAUSE_DEVICE_UNUSED);
	weft_steer_free(dev);
	weft_inject_close(dev);
	weft_why_close(&dev->why);
	weft_latency_set(dev, false);
	weft_strict_set(dev, WEFT_STRICT_OFF);
	weft_reach_exit(&dev->mcast.reach);
	if (dev->hca)
		weft_hca_destroy(dev);
	weft_region_table_destroy(&dev->regions);
	xa_destroy(&dev->ahs);
	xa_destroy(&dev->counters);
	if (dev->guid)
		xa_erase(&device_guids, be64_to_cpu(dev->guid));
	free_percpu(dev->stats);
	/* "ip link del" waits for this reference */
	dev_put(dev->ndev);
}

/* Returns the net device of ib_device_set_netdev(), with a reference. */
static struct net_device *instance_port_netdev(struct ib_device *ibdev, u32 port)
{
	const struct weft_dev *dev = to_weft_dev(ibdev);
	struct net_device *ndev;

	if (dev->hca)
		return NULL;
	ndev = netdev_of_gids(dev->ndev);
	dev_hold(ndev);
	return ndev;
}

/*
 * Calls of a provider have the driver id that uverbs copies when the core adds the device to it. To
 * copy that of rdma_rxe, the device has this id from here on until removal_add(). If it had it for
 * longer, "rmmod rdma_rxe" would unregister it.
 */
static int instance_enable(struct ib_device *ibdev)
{
	if (to_weft_dev(ibdev)->rxe)
		ibdev->ops.driver_id = RDMA_DRIVER_RXE;
	return 0;
}

/* The operations of a device's life; the verbs are in verbs/ops.c. */
static const struct ib_device_ops instance_ops = {
	.dealloc_driver = instance_dealloc,
	.enable_driver = instance_enable,
	.get_netdev = COMPAT_WANTS_GET_NETDEV ? instance_port_netdev : NULL,
	COMPAT_OWN_PORT_EVENTS
};

/*
 * Let the provider for rdma_rxe use the device, too. It rings by a call of the write() interface,
 * which the core allows only if the driver asks for it.
 *
 * rdma_rxe takes each device of its driver id for its own that the core finds on a net device. So
 * the core does not find this one (instance_attach()); it asks for the net device instead.
 */
static void instance_prepare_rxe(struct weft_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	dev->rxe = true;
	ibdev->ops.uverbs_abi_ver = WEFT_RXE_ABI_VERSION;
	ibdev->ops.get_netdev = instance_port_netdev;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
}

static void instance_prepare(struct weft_dev *dev, struct net_device *ndev, bool ib)
{
	static struct lock_class_key counters_key;
	struct ib_device *ibdev = &dev->ibdev;

	dev_hold(ndev);
	dev->ndev = ndev;
	dev->port_state = IB_PORT_DOWN;
	dev->wire = ib ? &weft_link_ib : &weft_link_roce;
	dev->port_ops = ib ? &weft_port_ib : &weft_port_roce;
	dev->local_link = weft_attribute_local_link();
	dev->icrc = true;
	dev->cc = WEFT_CC_AUTO;
	dev->uso = true;
	xa_init_flags(&dev->ahs, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	/* its own class: xa_init_flags() has one for all locks of a file */
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC1);
	lockdep_set_class(&dev->counters.xa_lock, &counters_key);
	weft_region_table_init(&dev->regions);
	weft_advise_init(&dev->advices);
	weft_mcast_init(&dev->mcast, ndev, ib);
	weft_speed_init(dev);
	weft_inject_open(dev);
	INIT_DELAYED_WORK(&dev->inject.flap.work, port_flaps);
	weft_why_open(&dev->why);
	weft_strict_open(&dev->strict);

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = 0;
	strscpy(ibdev->node_desc, "weft", sizeof(ibdev->node_desc));
	ibdev->driver_def = weft_device_uapi;
	/* ib_set_device_ops() does not replace an operation that is set */
	if (ib)
		ib_set_device_ops(ibdev, &weft_ib_port_ops);
	ib_set_device_ops(ibdev, &weft_device_ops);
	ib_set_device_ops(ibdev, &instance_ops);
}

static int instance_allocate(struct weft_dev *dev, bool ib)
{
	int ret;

	dev->stats = alloc_percpu(struct weft_stats);
	if (!dev->stats)
		return -ENOMEM;
	ret = guid_choose(dev);
	if (ret == -EBUSY)
		return netdev_refuse(dev->ndev, ret,
				     "all GUIDs of its MAC address are in use: delete a device");
	if (ret)
		return ret;
	dev->ibdev.node_guid = dev->guid;
	return ib ? weft_hca_create(dev) : 0;
}

static int instance_refuse_port(const struct net_device *ndev, int err)
{
	if (err != -ENOSPC)
		return netdev_refuse(ndev, err, "no port of the InfiniBand fabric (%pe)",
				     ERR_PTR(err));
	return netdev_refuse(ndev, err,
			     "the switch has no free port, or the cable (ib_switch=0) no free end: delete another weft_ib device, or use another interface");
}

/* Makes the device visible to the notifier. */
static int instance_attach(struct weft_dev *dev)
{
	struct net_device *ndev = dev->ndev;
	int ret;

	ASSERT_RTNL();
	if (ndev->reg_state != NETREG_REGISTERED)
		return netdev_refuse(ndev, -ENODEV, "the interface is being removed");
	ret = weft_dev_publish(dev);
	if (ret)
		return ret;
	ret = weft_parent_create(dev);
	if (ret)
		return ret;
	/* the core must not derive the state of an InfiniBand port from the net device */
	if (dev->hca) {
		ret = weft_hca_attach(dev);
		return ret ? instance_refuse_port(ndev, ret) : 0;
	}
	weft_reach_start(&dev->mcast.reach);
	dev->port_state = port_state(dev);
	return dev->rxe ? 0 : ib_device_set_netdev(&dev->ibdev, netdev_of_gids(ndev), 1);
}

static int instance_register(struct weft_dev *dev, const char *name)
{
	struct ib_device *ibdev = &dev->ibdev;
	int ret;

	/* once the device is registered, others may unregister it at any time */
	get_device(&ibdev->dev);
	ret = ib_register_device(ibdev, name, NULL);
	weft_pause(WEFT_PAUSE_DEVICE_REGISTERED);
	if (!ret) {
		rtnl_lock();
		if (ib_device_try_get(ibdev)) {
			/* the net device may have gone before the RDMA device was registered */
			instance_leave_netdev(dev);
			ib_device_put(ibdev);
		}
		rtnl_unlock();
	}
	put_device(&ibdev->dev);
	/* the core returns -ENFILE for a name that is in use */
	if (ret == -ENFILE)
		return netdev_refuse(dev->ndev, -EEXIST,
				     "an RDMA device has the name %s: choose another name, or delete that device",
				     name);
	if (ret)
		return netdev_refuse(dev->ndev, ret, "the RDMA core did not register it (%pe)",
				     ERR_PTR(ret));
	return 0;
}

static int instance_register_roce(struct weft_dev *dev, const char *name)
{
	struct net *net = dev_net(dev->ndev);
	int ret;

	/* adding a GID opens the sockets, too, but that error would not reach the user */
	ret = weft_udp_open(net);
	if (ret)
		return netdev_refuse(dev->ndev, ret, "no UDP sockets for RoCE (%pe)", ERR_PTR(ret));
	ret = instance_register(dev, name);
	weft_udp_close(net);
	return ret;
}

/*
 * In exclusive mode, a device is visible in one namespace only, so it is created in the namespace
 * of its net device.
 */
static struct weft_dev *instance_alloc(struct net *net)
{
	struct weft_dev *dev = ib_alloc_device(weft_dev, ibdev);

	if (!dev || rdma_dev_access_netns(&dev->ibdev, net))
		return dev;
	ib_dealloc_device(&dev->ibdev);
	return ib_alloc_device_with_net(weft_dev, ibdev, net);
}

static int instance_add(const char *name, struct net_device *ndev, bool ib, bool rxe)
{
	struct weft_dev *dev;
	int ret;

	if (weft_monitor_is(ndev))
		return netdev_refuse(ndev, -EOPNOTSUPP, "it is the monitor of a device");
	dev = instance_alloc(dev_net(ndev));
	if (!dev)
		return -ENOMEM;
	instance_prepare(dev, ndev, ib);
	if (rxe)
		instance_prepare_rxe(dev);
	ret = instance_allocate(dev, ib);
	if (ret)
		goto err_dealloc;
	rtnl_lock();
	ret = instance_attach(dev);
	rtnl_unlock();
	if (ret)
		goto err_dealloc;
	weft_pause(WEFT_PAUSE_DEVICE_ATTACHED);
	ret = ib ? instance_register(dev, name) : instance_register_roce(dev, name);
	if (ret)
		goto err_dealloc;
	return 0;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);
	return ret;
}

/*
 * The device of that name, with a reference that keeps it registered, or NULL. Its name may change
 * at any time. The core exports no such function any more.
 */
struct weft_dev *weft_device_get(const char *name)
{
	struct weft_dev *dev;
	unsigned long guid;

	rcu_read_lock();
	xa_for_each(&device_guids, guid, dev) {
		if (strcmp(dev->ibdev.name, name) || !ib_device_try_get(&dev->ibdev))
			continue;
		rcu_read_unlock();
		return dev;
	}
	rcu_read_unlock();
	return NULL;
}

static int instance_add_roce(const char *name, struct net_device *ndev, bool rxe)
{
	if (!netdev_carries_ip(ndev))
		return netdev_refuse(ndev, -EOPNOTSUPP,
				     "an interface of type %u carries no IP: use Ethernet, lo, tun, PPP or an IP tunnel",
				     ndev->type);
	return instance_add(name, ndev, false, rxe);
}

int weft_device_add(const char *name, struct net_device *ndev)
{
	return instance_add_roce(name, ndev, false);
}
WEFT_EXPORT_FOR_TEST(weft_device_add);

/*
 * weft_device_add(), and the provider for rdma_rxe can use the device as well as weft's own.
 * -EINVAL: @name does not begin with "rxe".
 */
int weft_device_add_rxe(const char *name, struct net_device *ndev)
{
	if (strncmp(name, "rxe", 3))
		return netdev_refuse(ndev, -EINVAL,
				     "the provider for rdma_rxe does not find %s: use a name that begins with rxe",
				     name);
	return instance_add_roce(name, ndev, true);
}

/*
 * Create and register a device with an InfiniBand port, which is connected with the ports of all
 * such devices on @ndev, and with those of other hosts. Takes RTNL. Errors as of
 * weft_device_add(), but -EOPNOTSUPP: @ndev cannot carry the frames of a fabric; -ENOSPC: the
 * fabric has no free port.
 */
int weft_device_add_ib(const char *name, struct net_device *ndev)
{
	if (!netdev_carries_frames(ndev))
		return netdev_refuse(ndev, -EOPNOTSUPP,
				     "an interface of type %u carries no InfiniBand fabric: use Ethernet or lo, or, if the interface carries IP, set the module's parameter ib_peers",
				     ndev->type);
	return instance_add(name, ndev, true, false);
}

int weft_device_init(void)
{
	int ret;

	ret = register_netdevice_notifier(&instance_notifier);
	if (ret)
		return ret;
	ret = register_inetaddr_notifier(&gids_inet_notifier);
	if (ret)
		goto err_netdevice;
	ret = register_inet6addr_notifier(&gids_inet6_notifier);
	if (ret)
		goto err_inetaddr;
	return 0;

err_inetaddr:
	unregister_inetaddr_notifier(&gids_inet_notifier);
err_netdevice:
	unregister_netdevice_notifier(&instance_notifier);
	return ret;
}

/* Removes all devices. New devices cannot be added any more. Takes RTNL. */
/*
 * ib_unregister_driver() does not find a device between instance_enable() and removal_add(), and if
 * the core could not add the device again after a change of its namespace that lasts.
 */
static void instance_reclaim_ids(void)
{
	struct weft_dev *dev;
	unsigned long guid;

	rcu_read_lock();
	xa_for_each(&device_guids, guid, dev)
		dev->ibdev.ops.driver_id = weft_device_ops.driver_id;
	rcu_read_unlock();
}

void weft_device_exit(void)
{
	unregister_inet6addr_notifier(&gids_inet6_notifier);
	unregister_inetaddr_notifier(&gids_inet_notifier);
	/* also waits for the work items that instance_leave_netdev() has queued */
	while (instance_reclaim_ids(), ib_unregister_driver(RDMA_DRIVER_WEFT),
	       !xa_empty(&device_guids))
		msleep(20);
	/* after that, because until then a net device may still leave its namespace */
	unregister_netdevice_notifier(&instance_notifier);
	cancel_delayed_work_sync(&gids_rescan);
}
