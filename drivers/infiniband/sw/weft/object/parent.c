// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/parent.h"

#include <linux/device.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "object/dev.h"

/* The parent's driver data is the name of the link, empty: there is none. */

static int parent_link(struct weft_dev *dev)
{
	char *link = dev_get_drvdata(dev->parent);
	int ret;

	strscpy(link, dev->ndev->name, IFNAMSIZ);
	ret = sysfs_create_link(dev->net_dir, &dev->ndev->dev.kobj, link);
	if (ret)
		link[0] = '\0';
	return ret;
}

static void parent_unlink(struct weft_dev *dev)
{
	char *link = dev_get_drvdata(dev->parent);

	if (link[0])
		sysfs_remove_link(dev->net_dir, link);
	link[0] = '\0';
}

int weft_parent_create(struct weft_dev *dev)
{
	char name[sizeof("weft-") + 10];
	struct device *parent;
	char *link;
	int ret;

	ASSERT_RTNL();
	link = kzalloc(IFNAMSIZ, GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	snprintf(name, sizeof(name), "weft-%u", dev->id);
	parent = root_device_register(name);
	if (IS_ERR(parent)) {
		ret = PTR_ERR(parent);
		goto err_free_link;
	}
	dev_set_drvdata(parent, link);
	/* below one with an InfiniBand port are the net devices of IPoIB */
	if (!dev->hca) {
		dev->net_dir = kobject_create_and_add("net", &parent->kobj);
		if (!dev->net_dir) {
			ret = -ENOMEM;
			goto err_unregister;
		}
	}
	dev->parent = parent;
	dev->ibdev.dev.parent = parent;
	ret = dev->net_dir ? parent_link(dev) : 0;
	if (ret)
		weft_parent_destroy(dev);
	return ret;

err_unregister:
	root_device_unregister(parent);
err_free_link:
	kfree(link);
	return ret;
}

void weft_parent_rename(struct weft_dev *dev)
{
	int ret;

	ASSERT_RTNL();
	if (!dev->parent)
		return;
	/* sysfs_rename_link() wants both ends in the same namespace */
	parent_unlink(dev);
	ret = parent_link(dev);
	if (ret)
		ibdev_warn(&dev->ibdev, "no link to %s in sysfs: %d\n",
			   dev->ndev->name, ret);
}

void weft_parent_destroy(struct weft_dev *dev)
{
	struct device *parent = dev->parent;
	char *link;

	ASSERT_RTNL();
	if (!parent)
		return;
	link = dev_get_drvdata(parent);
	parent_unlink(dev);
	kobject_put(dev->net_dir);
	dev->ibdev.dev.parent = NULL;
	dev->parent = NULL;
	root_device_unregister(parent);
	kfree(link);
}
