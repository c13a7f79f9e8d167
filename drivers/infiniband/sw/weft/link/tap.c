// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Frames are taken by netfilter hooks of the net device. Other ways are taken (the rx_handler is a
 * bridge's or a bond's), or give copies only (packet handlers). A hook has no cost while it is not
 * registered.
 *
 * It sees a frame before VLAN devices, bridges and bonds on the net device do, and before
 * firewalls: its priority is the first.
 */
#include "link/tap.h"

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>

#include "link/steer.h"

/* Do frames of the net device have Ethernet headers, and has the kernel hooks for them? */
bool weft_tap_supports(const struct net_device *ndev)
{
	return IS_ENABLED(CONFIG_NETFILTER_INGRESS) && IS_ENABLED(CONFIG_NETFILTER_EGRESS) &&
	       (ndev->type == ARPHRD_ETHER || ndev->type == ARPHRD_LOOPBACK);
}

static unsigned int tap_in(void *arg, struct sk_buff *skb, const struct nf_hook_state *state)
{
	/* a driver may have given a packet without the header of Ethernet */
	if (!skb_mac_header_was_set(skb) || skb->data - skb_mac_header(skb) != ETH_HLEN)
		return NF_ACCEPT;
	if (!weft_steer_in(arg, skb, ETH_HLEN))
		return NF_ACCEPT;
	consume_skb(skb);
	return NF_STOLEN;
}

static unsigned int tap_out(void *arg, struct sk_buff *skb, const struct nf_hook_state *state)
{
	if (!weft_steer_out(arg, skb))
		return NF_ACCEPT;
	/* not NF_DROP: the sender must not take it for a full queue */
	kfree_skb(skb);
	return NF_STOLEN;
}

#if IS_ENABLED(CONFIG_NETFILTER)
static int tap_register(struct weft_tap *tap, const struct nf_hook_ops *ops)
{
	return nf_register_net_hook(tap->net, ops);
}

static void tap_unregister(struct weft_tap *tap, const struct nf_hook_ops *ops)
{
	nf_unregister_net_hook(tap->net, ops);
}
#else
static int tap_register(struct weft_tap *tap, const struct nf_hook_ops *ops)
{
	return -EOPNOTSUPP;
}

static void tap_unregister(struct weft_tap *tap, const struct nf_hook_ops *ops)
{
}
#endif

void weft_tap_init(struct weft_tap *tap, struct net_device *ndev, struct weft_steering *steering)
{
	*tap = (struct weft_tap){
		.ndev = ndev,
		.in = {
			.hook = tap_in,
			.dev = ndev,
			.priv = steering,
			.pf = NFPROTO_NETDEV,
			.hooknum = NF_NETDEV_INGRESS,
			.priority = INT_MIN,
		},
	};
	tap->out = tap->in;
	tap->out.hook = tap_out;
	tap->out.hooknum = NF_NETDEV_EGRESS;
}

/* Take frames that arrive and, with @out, look at those that leave. Returns 0 or -ENOMEM. */
int weft_tap_open(struct weft_tap *tap, bool out)
{
	int ret;

	ASSERT_RTNL();
	if (!tap->has_in) {
		tap->net = dev_net(tap->ndev);
		ret = tap_register(tap, &tap->in);
		if (ret)
			return ret;
		tap->has_in = true;
		/* an adapter must not make one frame of several in a way that cannot be undone */
		dev_disable_lro(tap->ndev);
	}
	if (!out || tap->has_out)
		return 0;
	ret = tap_register(tap, &tap->out);
	tap->has_out = !ret;
	return ret;
}

/* Undo weft_tap_open(): the looking at frames that leave and, with @in, the rest. */
void weft_tap_close(struct weft_tap *tap, bool in)
{
	ASSERT_RTNL();
	if (tap->has_out)
		tap_unregister(tap, &tap->out);
	tap->has_out = false;
	if (!in || !tap->has_in)
		return;
	tap_unregister(tap, &tap->in);
	tap->has_in = false;
}

int weft_tap_add_filter(struct weft_tap *tap, const struct weft_tap_filter *filter)
{
	struct net_device *ndev = tap->ndev;

	ASSERT_RTNL();
	switch (filter->want) {
	case WEFT_TAP_UNICAST:
		return dev_uc_add(ndev, filter->mac);
	case WEFT_TAP_MULTICAST:
		return dev_mc_add(ndev, filter->mac);
	case WEFT_TAP_GROUPS:
		return dev_set_allmulti(ndev, 1);
	case WEFT_TAP_ALL:
		return dev_set_promiscuity(ndev, 1);
	default:
		return 0;
	}
}

void weft_tap_remove_filter(struct weft_tap *tap, const struct weft_tap_filter *filter)
{
	struct net_device *ndev = tap->ndev;

	ASSERT_RTNL();
	switch (filter->want) {
	case WEFT_TAP_UNICAST:
		dev_uc_del(ndev, filter->mac);
		break;
	case WEFT_TAP_MULTICAST:
		dev_mc_del(ndev, filter->mac);
		break;
	case WEFT_TAP_GROUPS:
		dev_set_allmulti(ndev, -1);
		break;
	case WEFT_TAP_ALL:
		dev_set_promiscuity(ndev, -1);
		break;
	default:
		break;
	}
}
