/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The life of a channel adapter: its port in a fabric, and the port events for the core. */
#ifndef WEFT_VERBS_HCA_H
#define WEFT_VERBS_HCA_H

#include <linux/types.h>

struct weft_dev;
struct weft_underlay_addrs;

/* Sets dev->hca. The device has its GUID already. */
int weft_hca_create(struct weft_dev *dev);

/* The caller holds RTNL. Returns the errors of weft_fabric_attach(). */
int weft_hca_attach(struct weft_dev *dev);

/* The caller holds RTNL. Sleeps. Harmless if the port is not attached. */
void weft_hca_detach(struct weft_dev *dev);

/* For a detached port that nobody finds any more, after a grace period. */
void weft_hca_destroy(struct weft_dev *dev);

/*
 * The hosts that the fabric extends to by UDP, and the number of datagrams that came from other
 * hosts. The port is attached. All three take RTNL.
 */
void weft_hca_get_peers(struct weft_dev *dev, struct weft_underlay_addrs *peers);
int weft_hca_set_peers(struct weft_dev *dev, const struct weft_underlay_addrs *peers);
u64 weft_hca_strangers(struct weft_dev *dev);

#endif /* WEFT_VERBS_HCA_H */
