/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where frames of a net device are taken from the network stack, and the addresses that the net
 * device receives for it.
 */
#ifndef WEFT_LINK_TAP_H
#define WEFT_LINK_TAP_H

#include <linux/if_ether.h>
#include <linux/netfilter.h>

struct net_device;
struct weft_steering;

/* The frames that a net device must receive, beside those for the host. */
enum weft_tap_want {
	WEFT_TAP_NOTHING,
	WEFT_TAP_UNICAST,	/* to a MAC address */
	WEFT_TAP_MULTICAST,	/* to a group */
	WEFT_TAP_GROUPS,	/* to all groups */
	WEFT_TAP_ALL,
};

struct weft_tap_filter {
	enum weft_tap_want	want;
	u8			mac[ETH_ALEN];
};

/* All members are written under RTNL. */
struct weft_tap {
	struct net_device	*ndev;
	struct net		*net;		/* of the hooks */
	struct nf_hook_ops	in;
	struct nf_hook_ops	out;
	bool			has_in;		/* @in is registered */
	bool			has_out;
};

bool weft_tap_supports(const struct net_device *ndev);
void weft_tap_init(struct weft_tap *tap, struct net_device *ndev, struct weft_steering *steering);
int weft_tap_open(struct weft_tap *tap, bool out);
void weft_tap_close(struct weft_tap *tap, bool in);
int weft_tap_add_filter(struct weft_tap *tap, const struct weft_tap_filter *filter);
void weft_tap_remove_filter(struct weft_tap *tap, const struct weft_tap_filter *filter);

#endif /* WEFT_LINK_TAP_H */
