/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The newest kernel's check for CAP_NET_RAW, the right to send in the name of others. */
#ifndef WEFT_COMPAT_RAW_CAP_H
#define WEFT_COMPAT_RAW_CAP_H

#include <rdma/ib_verbs.h>

#ifndef COMPAT_HAS_RAW_CAP
#include <linux/capability.h>

static inline bool rdma_dev_has_raw_cap(const struct ib_device *dev)
{
	return capable(CAP_NET_RAW);
}
#endif

#endif /* WEFT_COMPAT_RAW_CAP_H */
