// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "fabric/ether.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "fabric/port.h"
#include "fabric/underlay_addr.h"

/* Destination of HELLOs to all nodes: a locally administered multicast address. */
static const u8 ether_group[ETH_ALEN] = { 0x03, 0x57, 0x45, 0x46, 0x54, 0x01 };

struct ether {
	struct weft_underlay	underlay;
	struct packet_type	packets;
	bool			joined;	/* the net device has ether_group; under RTNL */
};

static struct ether *ether_of(struct weft_underlay *underlay)
{
	return container_of(underlay, struct ether, underlay);
}

static bool ether_is_for_us(const struct sk_buff *skb)
{
	return skb->pkt_type != PACKET_OTHERHOST && skb->pkt_type != PACKET_LOOPBACK &&
	       skb_mac_header_was_set(skb) && is_valid_ether_addr(eth_hdr(skb)->h_source);
}

/* Soft interrupt, RCU read side. */
static int ether_rcv(struct sk_buff *skb, struct net_device *ndev,
		     struct packet_type *packets, struct net_device *orig_ndev)
{
	struct ether *ether = container_of(packets, struct ether, packets);
	struct weft_underlay_addr from = {};

	if (!ether_is_for_us(skb)) {
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	ether_addr_copy(from.mac, eth_hdr(skb)->h_source);
	/*
	 * the frame may be queued for long, which must not count against a sender on this host
	 * (veth)
	 */
	skb_orphan(skb);
	ether->underlay.receive(ether->underlay.context, &from, skb);
	return NET_RX_SUCCESS;
}

/*
 * A net device is down when it moves to another namespace, and loses its multicast addresses then.
 * So the address is added only while the net device is up.
 */
static int ether_join(struct ether *ether)
{
	struct net_device *ndev = ether->underlay.ndev;
	bool up = ndev->flags & IFF_UP;
	int ret = 0;

	ASSERT_RTNL();
	if (up == ether->joined)
		return 0;
	if (up)
		ret = dev_mc_add(ndev, ether_group);
	else
		dev_mc_del(ndev, ether_group);
	if (!ret)
		ether->joined = up;
	return ret;
}

/* After an error the next update tries again. */
static void ether_update(struct weft_underlay *underlay)
{
	if (ether_join(ether_of(underlay)))
		netdev_warn(underlay->ndev, "weft: no memory to hear new hosts\n");
}

static int ether_open(struct weft_underlay *underlay)
{
	struct ether *ether = ether_of(underlay);
	int ret;

	ret = ether_join(ether);
	if (ret)
		return ret;
	ether->packets.type = htons(WEFT_IB_ETHERTYPE);
	ether->packets.dev = underlay->ndev;
	ether->packets.func = ether_rcv;
	dev_add_pack(&ether->packets);
	return 0;
}

static void ether_close(struct weft_underlay *underlay)
{
	struct ether *ether = ether_of(underlay);

	/* waits until ether_rcv() has returned on all CPUs */
	dev_remove_pack(&ether->packets);
	if (ether->joined)
		dev_mc_del(underlay->ndev, ether_group);
	ether->joined = false;
}

static void ether_xmit(struct weft_underlay *underlay, const u8 *mac, struct sk_buff *skb)
{
	skb->dev = underlay->ndev;
	if (dev_hard_header(skb, skb->dev, WEFT_IB_ETHERTYPE, mac, NULL, skb->len) < 0)
		kfree_skb(skb);
	else
		dev_queue_xmit(skb);
}

static void ether_send(struct weft_underlay *underlay, const struct weft_underlay_addr *to,
		       struct sk_buff *skb)
{
	ether_xmit(underlay, to->mac, skb);
}

static void ether_send_all(struct weft_underlay *underlay, struct sk_buff *skb)
{
	ether_xmit(underlay, ether_group, skb);
}

static u32 ether_max_frame(struct weft_underlay *underlay, const struct weft_underlay_addr *to)
{
	return READ_ONCE(underlay->ndev->mtu);
}

static void ether_destroy(struct weft_underlay *underlay)
{
	kfree(ether_of(underlay));
}

static const struct weft_underlay_ops ether_ops = {
	.open = ether_open,
	.close = ether_close,
	.update = ether_update,
	.send = ether_send,
	.send_all = ether_send_all,
	.max_frame = ether_max_frame,
	.destroy = ether_destroy,
};

/* NULL without memory; idle on the loopback device and on net devices that are not Ethernet. */
struct weft_underlay *weft_ether_create(struct net_device *ndev)
{
	struct ether *ether = kzalloc(sizeof(*ether), GFP_KERNEL);

	if (!ether)
		return NULL;
	ether->underlay.ops = &ether_ops;
	ether->underlay.ndev = ndev;
	ether->underlay.idle = ndev->flags & IFF_LOOPBACK || ndev->type != ARPHRD_ETHER;
	return &ether->underlay;
}
