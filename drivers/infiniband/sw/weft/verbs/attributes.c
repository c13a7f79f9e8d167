// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "verbs/attributes.h"

#include <linux/capability.h>
#include <linux/kstrtox.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/string.h>

#include "fabric/underlay_addr.h"
#include "compat/bin_attribute.h"
#include "object/cc.h"
#include "object/dev.h"
#include "object/inject_own.h"
#include "object/latency.h"
#include "object/monitor.h"
#include "object/profile.h"
#include "object/refuse.h"
#include "object/strict.h"
#include "params.h"
#include "verbs/hca.h"
#include "verbs/top.h"

static bool attr_local_link = true;
module_param_named(local_link, attr_local_link, bool, 0644);
MODULE_PARM_DESC(local_link, "Reach peers on this host without packets (for new devices)");

bool weft_attribute_local_link(void)
{
	return READ_ONCE(attr_local_link);
}

static bool attr_ib_switch = true;
module_param_named(ib_switch, attr_ib_switch, bool, 0644);
MODULE_PARM_DESC(ib_switch, "Connect InfiniBand ports by a switch, not by one cable (for new fabrics)");

bool weft_attribute_ib_switch(void)
{
	return READ_ONCE(attr_ib_switch);
}

static struct weft_underlay_addrs attr_ib_peers;
static DEFINE_MUTEX(attr_ib_peers_lock);

static int attr_ib_peers_set(const char *text, const struct kernel_param *param)
{
	int ret;

	mutex_lock(&attr_ib_peers_lock);
	ret = weft_underlay_addrs_parse(&attr_ib_peers, text);
	mutex_unlock(&attr_ib_peers_lock);
	if (ret)
		pr_debug("weft: parameter ib_peers: no list of at most %d addresses (%d)\n",
			 WEFT_UPLINK_PEERS, ret);
	return ret;
}

static int attr_ib_peers_get(char *buf, const struct kernel_param *param)
{
	struct weft_underlay_addrs peers;

	weft_attribute_ib_peers(&peers);
	return weft_underlay_addrs_print(&peers, buf, PAGE_SIZE);
}

static const struct kernel_param_ops attr_ib_peers_ops = {
	.set = attr_ib_peers_set,
	.get = attr_ib_peers_get,
};

module_param_cb(ib_peers, &attr_ib_peers_ops, NULL, 0644);
MODULE_PARM_DESC(ib_peers, "Addresses of hosts that new InfiniBand fabrics extend to over UDP");

/* With an empty list, frames go on Ethernet. */
void weft_attribute_ib_peers(struct weft_underlay_addrs *peers)
{
	mutex_lock(&attr_ib_peers_lock);
	*peers = attr_ib_peers;
	mutex_unlock(&attr_ib_peers_lock);
}

static struct weft_dev *attr_dev(struct device *device)
{
	return rdma_device_to_drv_device(device, struct weft_dev, ibdev);
}

static ssize_t attr_set_bool(const struct weft_dev *dev, const char *name, bool *attribute,
			     const char *buf, size_t count)
{
	bool value;
	int ret = kstrtobool(buf, &value);

	if (ret)
		return weft_refuse(&dev->ibdev, ret, "write %s: not 0 or 1", name);
	WRITE_ONCE(*attribute, value);
	return count;
}

static ssize_t local_link_show(struct device *device, struct device_attribute *attr,
			       char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->local_link));
}

static ssize_t local_link_store(struct device *device, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);

	return attr_set_bool(dev, "local_link", &dev->local_link, buf, count);
}

static DEVICE_ATTR_RW(local_link);

static ssize_t icrc_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->icrc));
}

static ssize_t icrc_store(struct device *device, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);

	return attr_set_bool(dev, "icrc", &dev->icrc, buf, count);
}

static DEVICE_ATTR_RW(icrc);

static const char *const attr_cc_modes[] = {
	[WEFT_CC_OFF] = "off",
	[WEFT_CC_AUTO] = "auto",
	[WEFT_CC_DCQCN] = "dcqcn",
};

static ssize_t cc_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", attr_cc_modes[READ_ONCE(attr_dev(device)->cc)]);
}

static ssize_t cc_store(struct device *device, struct device_attribute *attr, const char *buf,
			size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	int mode = sysfs_match_string(attr_cc_modes, buf);

	if (mode < 0)
		return weft_refuse(&dev->ibdev, mode, "write cc: not off, auto or dcqcn");
	WRITE_ONCE(dev->cc, mode);
	return count;
}

static DEVICE_ATTR_RW(cc);

static ssize_t uso_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->uso));
}

static ssize_t uso_store(struct device *device, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);

	return attr_set_bool(dev, "uso", &dev->uso, buf, count);
}

static DEVICE_ATTR_RW(uso);

static ssize_t latency_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->latency));
}

static ssize_t latency_store(struct device *device, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	bool on = false;
	ssize_t ret = attr_set_bool(dev, "latency", &on, buf, count);

	if (ret > 0)
		weft_latency_set(dev, on);
	return ret;
}

static DEVICE_ATTR_RW(latency);

static ssize_t strict_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(attr_dev(device)->strict.mode));
}

static ssize_t strict_store(struct device *device, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	u8 mode;

	/* root of a container is not the administrator */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (kstrtou8(buf, 10, &mode) || mode >= WEFT_STRICT_MODES)
		return weft_refuse(&dev->ibdev, -EINVAL, "write strict: not 0, 1 or 2");
	weft_strict_set(dev, mode);
	return count;
}

static DEVICE_ATTR_RW(strict);

static ssize_t strict_profile_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return weft_profile_show(attr_dev(device), buf);
}

static ssize_t strict_profile_store(struct device *device, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	int ret;

	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	ret = weft_profile_set(dev, buf);
	if (ret)
		return weft_refuse(&dev->ibdev, ret, "write strict_profile: no such profile");
	return count;
}

static DEVICE_ATTR_RW(strict_profile);

static ssize_t monitor_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return weft_monitor_name(attr_dev(device), buf);
}

/* An empty name removes the monitor. */
static ssize_t monitor_store(struct device *device, struct device_attribute *attr,
			     const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	size_t length = strcspn(buf, "\n");
	char name[IFNAMSIZ] = "";
	int ret;

	/* the payload of every process is to be seen there */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (length >= sizeof(name))
		return weft_refuse(&dev->ibdev, -EINVAL, "write monitor: the name is too long");
	memcpy(name, buf, length);
	if (!length) {
		rtnl_lock();
		weft_monitor_remove(dev);
		rtnl_unlock();
		return count;
	}
	ret = weft_monitor_add(dev, name);
	if (ret)
		return weft_refuse(&dev->ibdev, ret, "write monitor: no net device %s (%d)", name,
				   ret);
	return count;
}

static DEVICE_ATTR_RW(monitor);

static ssize_t ib_peers_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct weft_underlay_addrs peers;

	weft_hca_get_peers(attr_dev(device), &peers);
	return weft_underlay_addrs_print(&peers, buf, PAGE_SIZE);
}

static ssize_t ib_peers_store(struct device *device, struct device_attribute *attr,
			      const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	struct weft_underlay_addrs peers;
	int ret = weft_underlay_addrs_parse(&peers, buf);

	if (ret)
		return weft_refuse(&dev->ibdev, ret,
				   "write ib_peers: no list of at most %d addresses (%d)",
				   WEFT_UPLINK_PEERS, ret);
	ret = weft_hca_set_peers(dev, &peers);
	if (ret == -EOPNOTSUPP)
		return weft_refuse(&dev->ibdev, ret,
				   "write ib_peers: the fabric was created without addresses");
	return ret ?: count;
}

static DEVICE_ATTR_RW(ib_peers);

static ssize_t ib_strangers_show(struct device *device, struct device_attribute *attr,
				 char *buf)
{
	return sysfs_emit(buf, "%llu\n", weft_hca_strangers(attr_dev(device)));
}

static DEVICE_ATTR_RO(ib_strangers);

/* ibstat and similar tools show the type of an adapter. */
static ssize_t hca_type_show(struct device *device, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "weft\n");
}

static DEVICE_ATTR_RO(hca_type);

/* Some metrics collectors fail on a device without a board_id (prometheus-node-exporter 1.5). */
static ssize_t board_id_show(struct device *device, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "weft\n");
}

static DEVICE_ATTR_RO(board_id);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", WEFT_HW_VER);
}

static DEVICE_ATTR_RO(hw_rev);

/* The newest records of failures and states, as far as the reader may see them. */
static ssize_t why_read(struct file *file, struct kobject *kobj,
			COMPAT_BIN_CONST struct bin_attribute *attr, char *buf, loff_t from,
			size_t size)
{
	return weft_why_read(&attr_dev(kobj_to_dev(kobj))->why, file, buf, from, size);
}

static COMPAT_BIN_CONST BIN_ATTR_RO(why, WEFT_WHY_BYTES);

static ssize_t inject_users_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(attr_dev(device)->inject.allowed));
}

static ssize_t inject_users_store(struct device *device, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	struct weft_dev *dev = attr_dev(device);
	bool allow;
	int ret;

	/* root of a container is not the administrator */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	ret = kstrtobool(buf, &allow);
	if (ret)
		return weft_refuse(&dev->ibdev, ret, "write inject_users: not 0 or 1");
	ret = weft_inject_allow(dev, allow);
	return ret ?: count;
}

static DEVICE_ATTR_RW(inject_users);

/* Injection rules of the user who reads or writes. */
static ssize_t inject_own_read(struct file *file, struct kobject *kobj,
			       COMPAT_BIN_CONST struct bin_attribute *attr, char *buf, loff_t from,
			       size_t size)
{
	return weft_inject_read_own(attr_dev(kobj_to_dev(kobj)), file, buf, from, size);
}

static ssize_t inject_own_write(struct file *file, struct kobject *kobj,
				COMPAT_BIN_CONST struct bin_attribute *attr, char *buf, loff_t from,
				size_t size)
{
	return weft_inject_write_own(attr_dev(kobj_to_dev(kobj)), file, buf, from, size);
}

static COMPAT_BIN_CONST struct bin_attribute bin_attr_inject_own =
	__BIN_ATTR(inject_own, 0644, inject_own_read, inject_own_write, 0);

/* Records of the QPs that the reader may see. */
static ssize_t top_read(struct file *file, struct kobject *kobj,
			COMPAT_BIN_CONST struct bin_attribute *attr, char *buf, loff_t from,
			size_t size)
{
	return weft_top_read(attr_dev(kobj_to_dev(kobj)), file, buf, from, size);
}

static COMPAT_BIN_CONST BIN_ATTR_RO(top, 0);

static COMPAT_BIN_CONST struct bin_attribute *COMPAT_BIN_CONST attr_binaries[] = {
	&bin_attr_inject_own,
	&bin_attr_top,
	&bin_attr_why,
	NULL
};

static struct attribute *attr_attributes[] = {
	&dev_attr_board_id.attr,
	&dev_attr_cc.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_icrc.attr,
	&dev_attr_inject_users.attr,
	&dev_attr_latency.attr,
	&dev_attr_local_link.attr,
	&dev_attr_monitor.attr,
	&dev_attr_strict.attr,
	&dev_attr_strict_profile.attr,
	&dev_attr_uso.attr,
	NULL
};

const struct attribute_group weft_attribute_group = {
	.attrs = attr_attributes,
	.bin_attrs = attr_binaries,
};

static struct attribute *attr_ib_attributes[] = {
	&dev_attr_board_id.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_ib_peers.attr,
	&dev_attr_ib_strangers.attr,
	&dev_attr_inject_users.attr,
	&dev_attr_latency.attr,
	&dev_attr_local_link.attr,
	&dev_attr_monitor.attr,
	&dev_attr_strict.attr,
	&dev_attr_strict_profile.attr,
	NULL
};

const struct attribute_group weft_attribute_ib_group = {
	.attrs = attr_ib_attributes,
	.bin_attrs = attr_binaries,
};
