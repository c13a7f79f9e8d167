/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The life of a channel adapter: its port in a fabric, and the port events for the core. */
#ifndef WEFT_VERBS_HCA_H
#define WEFT_VERBS_HCA_H

#include <linux/types.h>

struct weft_dev;
struct weft_underlay_addrs;

int weft_hca_create(struct weft_dev *dev);
int weft_hca_attach(struct weft_dev *dev);
void weft_hca_detach(struct weft_dev *dev);
void weft_hca_destroy(struct weft_dev *dev);

void weft_hca_get_peers(struct weft_dev *dev, struct weft_underlay_addrs *peers);
int weft_hca_set_peers(struct weft_dev *dev, const struct weft_underlay_addrs *peers);
void weft_hca_fail(struct weft_dev *dev, bool failed);
u64 weft_hca_strangers(struct weft_dev *dev);

#endif /* WEFT_VERBS_HCA_H */
