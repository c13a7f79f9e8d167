/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries of a device and of its RoCE port, and the few attributes that can be modified. Members
 * of struct ib_device_ops.
 */
#ifndef WEFT_VERBS_QUERY_H
#define WEFT_VERBS_QUERY_H

#include <rdma/ib_verbs.h>

int weft_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
void weft_get_dev_fw_str(struct ib_device *ibdev, char *str);
int weft_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *modify);
int weft_query_port(struct ib_device *ibdev, u32 port_num, struct ib_port_attr *attr);
int weft_query_port_speed(struct ib_device *ibdev, u32 port_num, u64 *speed);
int weft_modify_port(struct ib_device *ibdev, u32 port_num, int mask,
		     struct ib_port_modify *modify);
int weft_get_port_immutable(struct ib_device *ibdev, u32 port_num,
			    struct ib_port_immutable *immutable);
int weft_get_numa_node(struct ib_device *ibdev);
enum rdma_link_layer weft_get_link_layer(struct ib_device *ibdev, u32 port_num);
int weft_query_pkey(struct ib_device *ibdev, u32 port_num, u16 index, u16 *pkey);
int weft_query_gid(struct ib_device *ibdev, u32 port_num, int index, union ib_gid *gid);

/* The core holds the lock of its table. -ENODEV: the namespace of the net device ends. */
int weft_add_gid(const struct ib_gid_attr *attr, void **context);
int weft_del_gid(const struct ib_gid_attr *attr, void **context);

#endif /* WEFT_VERBS_QUERY_H */
