/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The virtual device that is the parent of a weft device in sysfs.
 *
 * /sys/class/infiniband/NAME/device/net/ is where programs look for the net
 * device of a port. With the net device's own parent there, udev would take
 * weft for that hardware and rename it. So each weft device has a parent of
 * its own whose net/ directory has a link to the net device.
 *
 * Others put devices below it, too, as the SCSI hosts of iSER, which outlive
 * the weft device. In sysfs they would go with their parent, and nobody could
 * find them there to end them: the parent stays until they are gone. That is
 * looked for when the next device comes or goes. It may be after weft was
 * unloaded and loaded again, so nothing of a parent is code of ours.
 */
#ifndef WEFT_OBJECT_PARENT_H
#define WEFT_OBJECT_PARENT_H

struct weft_dev;

/**
 * weft_parent_create - make the parent of a device and its net/ directory
 * @dev: with @dev->id and @dev->ndev set, not yet registered
 *
 * Context: process, holds RTNL.
 * Return: 0; -ENOMEM or what sysfs returned.
 */
int weft_parent_create(struct weft_dev *dev);

/**
 * weft_parent_rename - let the link have the net device's name again
 * @dev: the device; may have no parent
 *
 * Context: process, holds RTNL.
 */
void weft_parent_rename(struct weft_dev *dev);

/**
 * weft_parent_destroy - undo weft_parent_create(), when nothing is below it any more
 * @dev: not or no longer registered; may have no parent
 *
 * Context: process, holds RTNL.
 */
void weft_parent_destroy(struct weft_dev *dev);

#endif /* WEFT_OBJECT_PARENT_H */
