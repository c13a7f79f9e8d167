/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual device that is the parent of a weft device in sysfs. RTNL is held in all functions.
 */
#ifndef WEFT_OBJECT_PARENT_H
#define WEFT_OBJECT_PARENT_H

struct weft_dev;

int weft_parent_create(struct weft_dev *dev);
void weft_parent_rename(struct weft_dev *dev);
void weft_parent_destroy(struct weft_dev *dev);

#endif /* WEFT_OBJECT_PARENT_H */
