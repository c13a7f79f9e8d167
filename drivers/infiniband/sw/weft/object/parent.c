// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The virtual device that is the parent of a weft device in sysfs.
 *
 * All functions are called in process context with RTNL held.
 *
 * Programs look for the net device of a port in /sys/class/infiniband/NAME/device/net/. If the
 * parent of the weft device were the parent of the net device, udev would take weft for that
 * hardware and rename it. So each weft device has a parent of its own, whose net/ directory
 * has a link to the net device.
 */
#include "object/parent.h"

#include <linux/device.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "object/dev.h"

/* Platform devices of this name get a unique number. No driver binds to them. */
#define PARENT_NAME	"weft"

/*
 * The driver data of a parent in use.
 *
 * Other modules may put devices below a parent, such as the SCSI hosts of iSER, which outlive
 * the weft device. They would disappear from sysfs together with their parent, and the
 * administrator could not find them there to remove them. So a parent without a weft device
 * (its driver data is NULL) stays until nothing is below it; parents_sweep() looks for that
 * whenever a device is added or removed. The module may have been unloaded and loaded again
 * meanwhile, so a parent has no pointers to code of this module.
 */
struct weft_parent {
	struct platform_device	*dev;
	struct kobject		*net_dir;	/* net/; NULL: InfiniBand */
	char			link[IFNAMSIZ];	/* name of the link there; empty: no link */
};

static int parent_link(struct weft_parent *parent, struct net_device *ndev)
{
	int ret;

	strscpy(parent->link, ndev->name, IFNAMSIZ);
	ret = sysfs_create_link(parent->net_dir, &ndev->dev.kobj, parent->link);
	if (ret)
		parent->link[0] = '\0';
	return ret;
}

static void parent_unlink(struct weft_parent *parent)
{
	if (parent->link[0])
		sysfs_remove_link(parent->net_dir, parent->link);
	parent->link[0] = '\0';
}

/* Whether a device is a parent without a weft device, and without other devices below it. */
static int parent_is_over(struct device *dev, const void *data)
{
	struct device *child;

	if (strcmp(to_platform_device(dev)->name, PARENT_NAME) || dev_get_drvdata(dev))
		return 0;
	child = device_find_any_child(dev);
	put_device(child);
	return !child;
}

/* Remove parents that are no longer needed, also those left by a module unloaded since. */
static void parents_sweep(void)
{
	struct device *dev;

	ASSERT_RTNL();
	while ((dev = bus_find_device(&platform_bus_type, NULL, NULL, parent_is_over))) {
		platform_device_unregister(to_platform_device(dev));
		put_device(dev);
	}
}

/* The driver data is set first, so parents_sweep() leaves the parent alone. */
static struct platform_device *parent_register(struct weft_parent *parent, int node)
{
	struct platform_device *dev;
	int ret;

	dev = platform_device_alloc(PARENT_NAME, PLATFORM_DEVID_AUTO);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	platform_set_drvdata(dev, parent);
	/* sysfs shows it as that of an adapter, and the weft device inherits it */
	set_dev_node(&dev->dev, node);
	ret = platform_device_add(dev);
	if (!ret)
		return dev;
	platform_device_put(dev);
	return ERR_PTR(ret);
}

/*
 * Create the parent, with its net/ directory for RoCE. @dev->id and @dev->ndev are set, and the
 * device is not registered yet. Return: 0; -ENOMEM, or an error of sysfs.
 */
int weft_parent_create(struct weft_dev *dev)
{
	struct weft_parent *parent;
	int ret;

	ASSERT_RTNL();
	parents_sweep();
	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return -ENOMEM;
	parent->dev = parent_register(parent, dev_to_node(&dev->ndev->dev));
	if (IS_ERR(parent->dev)) {
		ret = PTR_ERR(parent->dev);
		kfree(parent);
		return ret;
	}
	dev->parent = parent;
	dev->ibdev.dev.parent = &parent->dev->dev;
	/* with an InfiniBand port, net/ has the net devices of IPoIB */
	if (dev->hca)
		return 0;
	parent->net_dir = kobject_create_and_add("net", &parent->dev->dev.kobj);
	ret = parent->net_dir ? parent_link(parent, dev->ndev) : -ENOMEM;
	if (ret)
		weft_parent_destroy(dev);
	return ret;
}

/* The net device was renamed: replace the link. @dev may have no parent. */
void weft_parent_rename(struct weft_dev *dev)
{
	int ret;

	ASSERT_RTNL();
	if (!dev->parent)
		return;
	/* sysfs_rename_link() wants both ends in the same namespace */
	parent_unlink(dev->parent);
	ret = parent_link(dev->parent, dev->ndev);
	if (ret)
		ibdev_warn(&dev->ibdev, "no link to %s in sysfs: %d\n",
			   dev->ndev->name, ret);
}

/*
 * Undo weft_parent_create(). The device is not registered, and may have no parent. The parent
 * stays in sysfs as long as other devices are below it (see object/parent.c).
 */
void weft_parent_destroy(struct weft_dev *dev)
{
	struct weft_parent *parent = dev->parent;

	ASSERT_RTNL();
	if (!parent)
		return;
	parent_unlink(parent);
	kobject_put(parent->net_dir);
	platform_set_drvdata(parent->dev, NULL);
	dev->ibdev.dev.parent = NULL;
	dev->parent = NULL;
	kfree(parent);
	parents_sweep();
}
