/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device and its port are: queries, and the few things that can be
 * modified. Members of struct ib_device_ops.
 */
#ifndef WEFT_VERBS_QUERY_H
#define WEFT_VERBS_QUERY_H

#include <rdma/ib_verbs.h>

/**
 * weft_query_device - ib_device_ops.query_device
 * @ibdev: the device
 * @attr: result
 * @udata: may be NULL; struct weft_query_device_resp is written to it
 *
 * Return: 0; -EINVAL: the provider sent something; -EFAULT.
 */
int weft_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata);

/**
 * weft_get_dev_fw_str - ib_device_ops.get_dev_fw_str
 * @ibdev: the device
 * @str: result, IB_FW_VERSION_NAME_MAX bytes: the version of the driver
 */
void weft_get_dev_fw_str(struct ib_device *ibdev, char *str);

/**
 * weft_modify_device - ib_device_ops.modify_device
 * @ibdev: the device
 * @mask: enum ib_device_modify_flags
 * @modify: new values
 *
 * Return: 0; -EOPNOTSUPP: something else than the node description.
 */
int weft_modify_device(struct ib_device *ibdev, int mask,
		       struct ib_device_modify *modify);

/**
 * weft_query_port - ib_device_ops.query_port
 * @ibdev: the device
 * @port_num: 1
 * @attr: zeroed by the core; result
 *
 * Context: process, takes RTNL.
 * Return: 0; -EINVAL: no such port.
 */
int weft_query_port(struct ib_device *ibdev, u32 port_num,
		    struct ib_port_attr *attr);

/**
 * weft_query_port_speed - ib_device_ops.query_port_speed
 * @ibdev: the device
 * @port_num: 1
 * @speed: result, in units of 100 Mbit/s: of the net device, as it is and not as near as
 *	InfiniBand has it; 0 when the port is down
 *
 * Context: process, takes RTNL.
 * Return: 0; -EINVAL: no such port.
 */
int weft_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);

/**
 * weft_modify_port - ib_device_ops.modify_port
 * @ibdev: the device
 * @port_num: 1
 * @mask: enum ib_port_modify_flags
 * @modify: new values
 *
 * Return: 0; -EINVAL: no such port; -EOPNOTSUPP: something else than saying
 * whether there is a communication manager.
 */
int weft_modify_port(struct ib_device *ibdev, u32 port_num, int mask,
		     struct ib_port_modify *modify);

/**
 * weft_get_port_immutable - ib_device_ops.get_port_immutable
 * @ibdev: the device
 * @port_num: 1
 * @immutable: result
 *
 * Return: 0; -EINVAL: no such port.
 */
int weft_get_port_immutable(struct ib_device *ibdev, u32 port_num,
			    struct ib_port_immutable *immutable);

/**
 * weft_get_link_layer - ib_device_ops.get_link_layer
 * @ibdev: the device
 * @port_num: 1
 *
 * Return: IB_LINK_LAYER_ETHERNET.
 */
enum rdma_link_layer weft_get_link_layer(struct ib_device *ibdev, u32 port_num);

/**
 * weft_query_pkey - ib_device_ops.query_pkey
 * @ibdev: the device
 * @port_num: 1
 * @index: into the table
 * @pkey: result
 *
 * Return: 0; -EINVAL: no such port or index.
 */
int weft_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey);

/**
 * weft_query_gid - ib_device_ops.query_gid
 * @ibdev: the device
 * @port_num: 1
 * @index: into the table
 * @gid: result, zero if the entry is free
 *
 * Return: 0; -EINVAL: no such port or index.
 */
int weft_query_gid(struct ib_device *ibdev, u32 port_num, int index,
		   union ib_gid *gid);

/**
 * weft_add_gid - ib_device_ops.add_gid
 * @attr: the new entry
 * @context: not used
 *
 * Context: process, holds the lock of the core's table.
 * Return: 0; -EINVAL: no such index.
 */
int weft_add_gid(const struct ib_gid_attr *attr, void **context);

/**
 * weft_del_gid - ib_device_ops.del_gid
 * @attr: the entry
 * @context: not used
 *
 * Context: process, holds the lock of the core's table.
 * Return: 0; -EINVAL: no such index.
 */
int weft_del_gid(const struct ib_gid_attr *attr, void **context);

#endif /* WEFT_VERBS_QUERY_H */
