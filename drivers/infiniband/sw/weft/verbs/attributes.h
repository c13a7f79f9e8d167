/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Settings of a device, below /sys/class/infiniband/NAME.
 */
#ifndef WEFT_VERBS_ATTRIBUTES_H
#define WEFT_VERBS_ATTRIBUTES_H

#include <linux/sysfs.h>

/*
 * local_link: whether peers on this host are reached without packets. For paths
 * that are set from now on: a QP keeps its link, an address handle likewise.
 */
extern const struct attribute_group weft_attribute_group;

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

#endif /* WEFT_VERBS_ATTRIBUTES_H */
