/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The table of verbs, and the driver's methods and attributes of the uverbs ioctl interface. */
#ifndef WEFT_VERBS_OPS_H
#define WEFT_VERBS_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

extern const struct ib_device_ops weft_device_ops;
extern const struct uapi_definition weft_device_uapi[];

#endif /* WEFT_VERBS_OPS_H */
