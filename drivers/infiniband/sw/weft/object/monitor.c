// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/monitor.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <net/rtnetlink.h>

#include "compat/addrconf.h"
#include "fabric/port.h"
#include "object/dev.h"
#include "object/inject.h"
#include "pause.h"
#include "wire/codec.h"
#include "wire/headers.h"
#include "wire/icrc.h"

/* Bytes behind the ICRC of an InfiniBand packet. */
#define MONITOR_VCRC	2U

/* The private part of a monitor. */
struct monitor {
	struct weft_dev	*dev;		/* its device, which exists at least as long */
	atomic64_t	packets;	/* shown */
	atomic64_t	bytes;
	atomic64_t	dropped;	/* not shown: no memory, or no time */
};

DEFINE_STATIC_KEY_FALSE(weft_monitor_key);

static const u8 monitor_address[ETH_ALEN] = { 0x02, 'w', 'e', 'f', 't', 0 };

static int monitor_open(struct net_device *ndev)
{
	compat_no_addrconf(ndev);
	static_branch_inc(&weft_monitor_key);
	return 0;
}

static int monitor_change_mtu(struct net_device *ndev, int mtu)
{
	if (!compat_may_change_mtu(ndev, mtu))
		return -EBUSY;
	WRITE_ONCE(ndev->mtu, mtu);
	return 0;
}

static int monitor_stop(struct net_device *ndev)
{
	static_branch_dec(&weft_monitor_key);
	return 0;
}

/* Packet sockets have seen the packet before. */
static netdev_tx_t monitor_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	dev_core_stats_tx_dropped_inc(ndev);
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static void monitor_stats(struct net_device *ndev, struct rtnl_link_stats64 *stats)
{
	const struct monitor *monitor = netdev_priv(ndev);

	stats->rx_packets = atomic64_read(&monitor->packets);
	stats->rx_bytes = atomic64_read(&monitor->bytes);
	stats->rx_dropped = atomic64_read(&monitor->dropped);
}

/* The device forgets the monitor; a grace period passes before the monitor is freed. */
static void monitor_uninit(struct net_device *ndev)
{
	const struct monitor *monitor = netdev_priv(ndev);

	weft_pause(WEFT_PAUSE_MONITOR_UNINIT);
	if (rcu_access_pointer(monitor->dev->monitor) == ndev)
		RCU_INIT_POINTER(monitor->dev->monitor, NULL);
}

static const struct net_device_ops monitor_ops = {
	.ndo_open = monitor_open,
	.ndo_stop = monitor_stop,
	.ndo_change_mtu = monitor_change_mtu,
	.ndo_start_xmit = monitor_xmit,
	.ndo_get_stats64 = monitor_stats,
	.ndo_uninit = monitor_uninit,
};

/*
 * For "ip link delete", and so that a monitor ends with its namespace. Without a setup function
 * "ip link add" is refused: a monitor is made by its device's attribute.
 */
static struct rtnl_link_ops monitor_link_ops = {
	.kind = "weftmon",
	.dellink = unregister_netdevice_queue,
};

static void monitor_setup(struct net_device *ndev)
{
	ndev->type = ARPHRD_ETHER;
	ndev->hard_header_len = ETH_HLEN;
	ndev->min_header_len = ETH_HLEN;
	ndev->addr_len = ETH_ALEN;
	eth_hw_addr_set(ndev, monitor_address);
	eth_broadcast_addr(ndev->broadcast);
	ndev->flags = IFF_NOARP;
	ndev->priv_flags |= IFF_NO_QUEUE | COMPAT_NO_ADDRCONF;
	ndev->mtu = ETH_MAX_MTU;
	ndev->min_mtu = ETH_MIN_MTU;
	ndev->max_mtu = ETH_MAX_MTU;
	ndev->netdev_ops = &monitor_ops;
	ndev->rtnl_link_ops = &monitor_link_ops;
	ndev->needs_free_netdev = true;
}

/*
 * Give a device a monitor, in the namespace of the caller. Returns 0; -EBUSY: it has one; -EINVAL:
 * no name for a net device; -EEXIST: the name is in use; -ENOMEM. Takes RTNL.
 */
int weft_monitor_add(struct weft_dev *dev, const char *name)
{
	struct net_device *ndev;
	struct monitor *monitor;
	int ret = -EBUSY;

	if (!dev_valid_name(name))
		return -EINVAL;
	ndev = alloc_netdev(sizeof(*monitor), name, NET_NAME_USER, monitor_setup);
	if (!ndev)
		return -ENOMEM;
	monitor = netdev_priv(ndev);
	monitor->dev = dev;
	dev_net_set(ndev, current->nsproxy->net_ns);
	weft_pause(WEFT_PAUSE_MONITOR_ADD);
	rtnl_lock();
	if (!rcu_access_pointer(dev->monitor))
		ret = register_netdevice(ndev);
	if (!ret)
		rcu_assign_pointer(dev->monitor, ndev);
	rtnl_unlock();
	if (ret)
		free_netdev(ndev);
	return ret;
}

/* Context: RTNL. The monitor is freed when the caller gives it back. */
void weft_monitor_remove(struct weft_dev *dev)
{
	struct net_device *ndev = rtnl_dereference(dev->monitor);

	if (ndev)
		unregister_netdevice(ndev);
}

/* Print the name and a line end, or only that, into a page. Takes RTNL. */
int weft_monitor_name(struct weft_dev *dev, char *buf)
{
	const struct net_device *ndev;
	int length;

	rtnl_lock();
	ndev = rtnl_dereference(dev->monitor);
	length = sysfs_emit(buf, "%s\n", ndev ? ndev->name : "");
	rtnl_unlock();
	return length;
}

bool weft_monitor_is(const struct net_device *ndev)
{
	return ndev->rtnl_link_ops == &monitor_link_ops;
}

/* The monitor of a device if it is up, or NULL. RCU read side. */
static struct net_device *monitor_of(const struct weft_dev *dev)
{
	struct net_device *ndev = rcu_dereference(dev->monitor);

	return ndev && netif_running(ndev) ? ndev : NULL;
}

/* The bytes that are shown of a packet; 0: the device has no monitor that is up. Context: any. */
u32 weft_monitor_snap(const struct weft_dev *dev)
{
	const struct net_device *ndev;
	u32 snap;

	rcu_read_lock();
	ndev = monitor_of(dev);
	snap = ndev ? READ_ONCE(ndev->mtu) : 0;
	rcu_read_unlock();
	return snap;
}

/* Count packets that could not be shown. Context: any. */
void weft_monitor_miss(const struct weft_dev *dev, u32 packets)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = monitor_of(dev);
	if (ndev)
		atomic64_add(packets, &((struct monitor *)netdev_priv(ndev))->dropped);
	rcu_read_unlock();
}

/*
 * A buffer for a packet to be shown, with @room bytes in front, or NULL: no memory, which is
 * counted.
 */
struct sk_buff *weft_monitor_alloc(const struct weft_dev *dev, u32 room, u32 length)
{
	struct sk_buff *skb = weft_inject_no_memory(dev, NULL, WEFT_ALLOC_MONITOR) ? NULL :
			      alloc_skb(ETH_HLEN + room + length + MONITOR_VCRC,
					GFP_ATOMIC | __GFP_NOWARN);

	if (skb)
		skb_reserve(skb, ETH_HLEN + room);
	else
		weft_monitor_miss(dev, 1);
	return skb;
}

/*
 * Copy @length bytes of a packet from its network header on, as far as they are shown. Returns
 * NULL if the device has no monitor, or there is no memory.
 */
struct sk_buff *weft_monitor_copy(const struct weft_dev *dev, const struct sk_buff *skb, u32 length)
{
	u32 snap = weft_monitor_snap(dev);
	struct sk_buff *copy;

	length = min(length, snap);
	copy = snap ? weft_monitor_alloc(dev, 0, length) : NULL;
	if (!copy)
		return NULL;
	copy->protocol = skb->protocol;
	skb_reset_network_header(copy);
	skb_copy_bits(skb, skb_network_offset(skb), skb_put(copy, length), length);
	return copy;
}

/*
 * weft computes no checksums inside of a fabric, see fabric/port.h. Add those that a cable would
 * have carried, if the packet is whole.
 */
static void monitor_seal_ib(struct sk_buff *skb)
{
	const struct weft_wire_lrh *lrh = (const void *)skb->data;
	const struct weft_wire_grh *grh = NULL;
	const u8 *bth = skb->data + sizeof(*lrh);
	struct weft_lrh decoded;
	u8 *trailer;
	u32 crc;

	if (weft_lrh_decode(&decoded, skb->data, skb->len) || decoded.length != skb->len)
		return;
	if (decoded.lnh == WEFT_LNH_GRH) {
		grh = (const void *)bth;
		bth += sizeof(*grh);
	}
	trailer = skb_tail_pointer(skb) - WEFT_ICRC_LENGTH;
	crc = weft_icrc_begin_ib(lrh, grh, (const void *)bth);
	bth += sizeof(struct weft_wire_bth);
	weft_icrc_store(trailer, weft_icrc_update(crc, bth, trailer - bth));
	crc = weft_vcrc_update(WEFT_VCRC_INIT, skb->data, skb->len);
	weft_vcrc_store(skb_put(skb, MONITOR_VCRC), crc);
}

static void monitor_put(struct net_device *ndev, struct sk_buff *skb, enum weft_monitor_kind kind)
{
	struct monitor *monitor = netdev_priv(ndev);
	struct ethhdr *eth;

	if (skb->protocol == cpu_to_be16(WEFT_IB_ETHERTYPE))
		monitor_seal_ib(skb);
	skb_trim(skb, READ_ONCE(ndev->mtu));
	eth = skb_push(skb, ETH_HLEN);
	ether_addr_copy(eth->h_dest, monitor_address);
	ether_addr_copy(eth->h_source, monitor_address);
	eth->h_source[ETH_ALEN - 1] = kind;
	eth->h_proto = skb->protocol;
	skb_reset_mac_header(skb);
	skb->dev = ndev;
	atomic64_inc(&monitor->packets);
	atomic64_add(skb->len, &monitor->bytes);
	local_bh_disable();
	dev_queue_xmit_nit(skb, ndev);
	local_bh_enable();
}

/*
 * Show a packet, which belongs to the callee: its data begin with the header of IP or with the LRH.
 * Context: any but hard interrupts.
 */
void weft_monitor_show(const struct weft_dev *dev, struct sk_buff *skb,
		       enum weft_monitor_kind kind)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = monitor_of(dev);
	if (ndev) {
		weft_pause(WEFT_PAUSE_MONITOR_FOUND);
		monitor_put(ndev, skb, kind);
	}
	rcu_read_unlock();
	consume_skb(skb);
}

/* The same for a copy of a packet in one buffer, from its network header on. */
void weft_monitor_show_copy(const struct weft_dev *dev, const struct sk_buff *skb,
			    enum weft_monitor_kind kind)
{
	struct sk_buff *copy = weft_monitor_copy(dev, skb, skb->len - skb_network_offset(skb));

	if (copy)
		weft_monitor_show(dev, copy, kind);
}

/* At module load, before there is a device. */
int weft_monitor_init(void)
{
	return rtnl_link_register(&monitor_link_ops);
}

/* At module unload, when no device is left. Waits for monitors that are being freed. */
void weft_monitor_exit(void)
{
	rtnl_link_unregister(&monitor_link_ops);
}
