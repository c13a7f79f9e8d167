// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/attributes.h"

#include <linux/kstrtox.h>
#include <linux/moduleparam.h>

#include "object/dev.h"
#include "params.h"

static bool attr_local_link = true;
module_param_named(local_link, attr_local_link, bool, 0644);
MODULE_PARM_DESC(local_link, "Reach peers on this host without packets (of new devices)");

bool weft_attribute_local_link(void)
{
	return READ_ONCE(attr_local_link);
}

static bool attr_ib_switch = true;
module_param_named(ib_switch, attr_ib_switch, bool, 0644);
MODULE_PARM_DESC(ib_switch, "InfiniBand ports hang on a switch, not on one cable (of new fabrics)");

bool weft_attribute_ib_switch(void)
{
	return READ_ONCE(attr_ib_switch);
}

static ssize_t local_link_show(struct device *device, struct device_attribute *attr,
			       char *buf)
{
	const struct weft_dev *dev =
		rdma_device_to_drv_device(device, struct weft_dev, ibdev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(dev->local_link));
}

static ssize_t local_link_store(struct device *device, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct weft_dev *dev =
		rdma_device_to_drv_device(device, struct weft_dev, ibdev);
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return ret;
	WRITE_ONCE(dev->local_link, value);
	return count;
}

static DEVICE_ATTR_RW(local_link);

/* What ibstat and others show of an adapter. */
static ssize_t hca_type_show(struct device *device, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "weft\n");
}

static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", WEFT_HW_VER);
}

static DEVICE_ATTR_RO(hw_rev);

static struct attribute *attr_attributes[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_local_link.attr,
	NULL
};

const struct attribute_group weft_attribute_group = {
	.attrs = attr_attributes,
};
