/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs of an InfiniBand port. They replace those of verbs/query.h, which describe a RoCE
 * port.
 */
#ifndef WEFT_VERBS_IB_PORT_H
#define WEFT_VERBS_IB_PORT_H

#include <rdma/ib_verbs.h>

/* To be set before weft_device_ops, because ib_set_device_ops() does not replace a verb. */
extern const struct ib_device_ops weft_ib_port_ops;

#endif /* WEFT_VERBS_IB_PORT_H */
