/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A net device that IPv6 leaves alone. */
#ifndef WEFT_COMPAT_ADDRCONF_H
#define WEFT_COMPAT_ADDRCONF_H

#include <linux/netdevice.h>
#include <net/addrconf.h>

#ifdef COMPAT_HAS_NO_ADDRCONF
#define COMPAT_NO_ADDRCONF IFF_NO_ADDRCONF

static inline void compat_no_addrconf(struct net_device *ndev)
{
}

static inline bool compat_may_change_mtu(const struct net_device *ndev, int mtu)
{
	return true;
}
#else
#define COMPAT_NO_ADDRCONF 0

/* Call it before the device is up. RTNL is held. */
static inline void compat_no_addrconf(struct net_device *ndev)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *idev = __in6_dev_get(ndev);

	if (idev)
		idev->cnf.disable_ipv6 = 1;
#endif
}

/* When an MTU that was too small for IPv6 no longer is, IPv6 begins anew with the device. */
static inline bool compat_may_change_mtu(const struct net_device *ndev, int mtu)
{
	return !netif_running(ndev) || ndev->mtu >= IPV6_MIN_MTU || mtu < IPV6_MIN_MTU;
}
#endif

#endif /* WEFT_COMPAT_ADDRCONF_H */
