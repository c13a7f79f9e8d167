/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * IP multicast: a net device has to take the frames of a group, and routers
 * and switches have to be told (IGMP, MLD).
 */
#ifndef WEFT_OBJECT_GROUP_H
#define WEFT_OBJECT_GROUP_H

struct net_device;
union ib_gid;

/**
 * weft_group_join - a net device shall receive a group's packets
 * @ndev: the net device
 * @mgid: IPv6 multicast address, or a mapped IPv4 one (what rdma_cm makes of
 *	an IPv4 group for RoCEv2)
 *
 * Undone by weft_group_leave(). IP counts: others may join the same group.
 *
 * Context: process, takes RTNL.
 * Return: 0; -EINVAL: no multicast address, or there is no IPv6; -ENODEV: the
 * net device has no addresses of that family; -ENOMEM.
 */
int weft_group_join(struct net_device *ndev, const union ib_gid *mgid);

/**
 * weft_group_leave - undo weft_group_join()
 * @ndev: the net device; it may have lost its membership meanwhile, as it does
 *	when it is unregistered
 * @mgid: as for weft_group_join()
 *
 * Context: process, takes RTNL.
 */
void weft_group_leave(struct net_device *ndev, const union ib_gid *mgid);

#endif /* WEFT_OBJECT_GROUP_H */
