/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Settings of a device, below /sys/class/infiniband/NAME.
 */
#ifndef WEFT_VERBS_ATTRIBUTES_H
#define WEFT_VERBS_ATTRIBUTES_H

#include <linux/sysfs.h>

struct weft_underlay_addrs;

/*
 * local_link: whether peers on this host are reached without packets. For paths
 * that are set from now on: a QP keeps its link, an address handle likewise.
 *
 * icrc: whether RoCEv2 packets for one QP are sent with an ICRC, and checked by it.
 */
extern const struct attribute_group weft_attribute_group;

/*
 * Of a device with an InfiniBand port: local_link, and ib_peers, hosts that its fabric extends
 * to by UDP; ib_strangers, datagrams that came from others.
 */
extern const struct attribute_group weft_attribute_ib_group;

/**
 * weft_attribute_local_link - local_link of a new device
 *
 * Return: the module's parameter of this name.
 */
bool weft_attribute_local_link(void);

/**
 * weft_attribute_ib_switch - whether the fabric of a net device has a switch
 *
 * Return: the module's parameter of this name; the fabrics that there are keep theirs.
 */
bool weft_attribute_ib_switch(void);

/**
 * weft_attribute_ib_peers - hosts that a new fabric extends to by UDP
 * @peers: result: the module's parameter of this name; none: frames go on Ethernet
 */
void weft_attribute_ib_peers(struct weft_underlay_addrs *peers);

#endif /* WEFT_VERBS_ATTRIBUTES_H */
