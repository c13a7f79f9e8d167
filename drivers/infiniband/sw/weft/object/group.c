// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/group.h"

#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>

static const struct in6_addr *group_address(const union ib_gid *mgid)
{
	return (const struct in6_addr *)mgid->raw;
}

static bool group_is_ipv4(const union ib_gid *mgid)
{
	const struct in6_addr *address = group_address(mgid);

	return ipv6_addr_v4mapped(address) && ipv4_is_multicast(address->s6_addr32[3]);
}

static bool group_is_ipv6(const union ib_gid *mgid)
{
	return IS_ENABLED(CONFIG_IPV6) && ipv6_addr_is_multicast(group_address(mgid));
}

static int group_join_ipv4(struct net_device *ndev, const union ib_gid *mgid)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, group_address(mgid)->s6_addr32[3]);
	return 0;
}

static void group_leave_ipv4(struct net_device *ndev, const union ib_gid *mgid)
{
	struct in_device *in_dev = __in_dev_get_rtnl(ndev);

	if (in_dev)
		ip_mc_dec_group(in_dev, group_address(mgid)->s6_addr32[3]);
}

int weft_group_join(struct net_device *ndev, const union ib_gid *mgid)
{
	int ret = -EINVAL;

	rtnl_lock();
	if (group_is_ipv4(mgid))
		ret = group_join_ipv4(ndev, mgid);
	else if (group_is_ipv6(mgid))
		ret = __in6_dev_get(ndev) ?
		      ipv6_dev_mc_inc(ndev, group_address(mgid)) : -ENODEV;
	rtnl_unlock();
	return ret;
}

void weft_group_leave(struct net_device *ndev, const union ib_gid *mgid)
{
	rtnl_lock();
	if (group_is_ipv4(mgid))
		group_leave_ipv4(ndev, mgid);
	else if (group_is_ipv6(mgid))
		/* fails when it is not a member any more */
		ipv6_dev_mc_dec(ndev, group_address(mgid));
	rtnl_unlock();
}
