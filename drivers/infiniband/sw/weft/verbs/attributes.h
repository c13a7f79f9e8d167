/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Settings of a device, below /sys/class/infiniband/NAME. */
#ifndef WEFT_VERBS_ATTRIBUTES_H
#define WEFT_VERBS_ATTRIBUTES_H

#include <linux/sysfs.h>

struct weft_underlay_addrs;

/*
 * local_link: peers on this host are reached without packets. A change applies to paths that are
 * set later; QPs and address handles keep their link.
 *
 * cc: what QPs do about congestion, enum weft_cc_mode.
 *
 * icrc: RoCEv2 packets for one QP are sent with an ICRC, and checked by it.
 */
extern const struct attribute_group weft_attribute_group;

/*
 * For InfiniBand ports: local_link; ib_peers, the hosts that the fabric extends to by UDP;
 * ib_strangers, the number of datagrams from other hosts.
 */
extern const struct attribute_group weft_attribute_ib_group;

/* The module parameters, which are the settings of new devices and new fabrics. */
bool weft_attribute_local_link(void);
bool weft_attribute_ib_switch(void);
void weft_attribute_ib_peers(struct weft_underlay_addrs *peers);

#endif /* WEFT_VERBS_ATTRIBUTES_H */
