// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/parent.h"

#include <linux/device.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "object/dev.h"

struct weft_parent {
	struct device *dev;
	/* net/, if there is one, and the link's name there; empty: it is not there */
	struct kobject *net_dir;
	char link[IFNAMSIZ];
	struct list_head left;
};

/* Under RTNL: those whose device has gone, but not all that others put below it. */
static LIST_HEAD(parents_left);

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

static bool parent_is_empty(const struct weft_parent *parent)
{
	struct device *child = device_find_any_child(parent->dev);

	put_device(child);
	return !child;
}

static void parent_free(struct weft_parent *parent)
{
	list_del(&parent->left);
	root_device_unregister(parent->dev);
	kfree(parent);
}

static void parents_sweep(void)
{
	struct weft_parent *parent, *next;

	list_for_each_entry_safe(parent, next, &parents_left, left)
		if (parent_is_empty(parent))
			parent_free(parent);
}

int weft_parent_create(struct weft_dev *dev)
{
	char name[sizeof("weft-") + 10];
	struct weft_parent *parent;
	int ret;

	ASSERT_RTNL();
	parents_sweep();
	parent = kzalloc(sizeof(*parent), GFP_KERNEL);
	if (!parent)
		return -ENOMEM;
	snprintf(name, sizeof(name), "weft-%u", dev->id);
	parent->dev = root_device_register(name);
	if (IS_ERR(parent->dev)) {
		ret = PTR_ERR(parent->dev);
		kfree(parent);
		return ret;
	}
	INIT_LIST_HEAD(&parent->left);
	dev->parent = parent;
	dev->ibdev.dev.parent = parent->dev;
	/* below one with an InfiniBand port are the net devices of IPoIB */
	if (dev->hca)
		return 0;
	parent->net_dir = kobject_create_and_add("net", &parent->dev->kobj);
	ret = parent->net_dir ? parent_link(parent, dev->ndev) : -ENOMEM;
	if (ret)
		weft_parent_destroy(dev);
	return ret;
}

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

void weft_parent_destroy(struct weft_dev *dev)
{
	struct weft_parent *parent = dev->parent;

	ASSERT_RTNL();
	if (!parent)
		return;
	parent_unlink(parent);
	kobject_put(parent->net_dir);
	parent->net_dir = NULL;
	dev->ibdev.dev.parent = NULL;
	dev->parent = NULL;
	list_add(&parent->left, &parents_left);
	parents_sweep();
}

void weft_parents_exit(void)
{
	struct weft_parent *parent, *next;

	rtnl_lock();
	list_for_each_entry_safe(parent, next, &parents_left, left)
		parent_free(parent);
	rtnl_unlock();
}
