/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual device that is the parent of a weft device in sysfs.
 *
 * All functions are called in process context with RTNL held.
 */
#ifndef WEFT_OBJECT_PARENT_H
#define WEFT_OBJECT_PARENT_H

struct weft_dev;

/*
 * Create the parent, with its net/ directory for RoCE. @dev->id and @dev->ndev are set, and the
 * device is not registered yet. Return: 0; -ENOMEM, or an error of sysfs.
 */
int weft_parent_create(struct weft_dev *dev);

/* The net device was renamed: replace the link. @dev may have no parent. */
void weft_parent_rename(struct weft_dev *dev);

/*
 * Undo weft_parent_create(). The device is not registered, and may have no parent. The parent
 * stays in sysfs as long as other devices are below it (see object/parent.c).
 */
void weft_parent_destroy(struct weft_dev *dev);

#endif /* WEFT_OBJECT_PARENT_H */
