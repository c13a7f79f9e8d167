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
#endif

#endif /* WEFT_COMPAT_ADDRCONF_H */
