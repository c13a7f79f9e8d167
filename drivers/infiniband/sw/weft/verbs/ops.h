/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The verbs table.
 */
#ifndef WEFT_VERBS_OPS_H
#define WEFT_VERBS_OPS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops weft_device_ops;

#endif /* WEFT_VERBS_OPS_H */
