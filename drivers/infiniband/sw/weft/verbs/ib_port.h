/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a device with an InfiniBand port says of that port, in place of what verbs/query.h
 * says of a RoCE port.
 */
#ifndef WEFT_VERBS_IB_PORT_H
#define WEFT_VERBS_IB_PORT_H

#include <rdma/ib_verbs.h>

/* To be set before the verbs that all devices have. */
extern const struct ib_device_ops weft_ib_port_ops;

#endif /* WEFT_VERBS_IB_PORT_H */
