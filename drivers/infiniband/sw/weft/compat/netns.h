/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Creation of a device in a network namespace. With an older core devices are created in the
 * initial one, and can be moved.
 */
#ifndef WEFT_COMPAT_NETNS_H
#define WEFT_COMPAT_NETNS_H

#include <rdma/ib_verbs.h>

#ifndef ib_alloc_device_with_net
#define ib_alloc_device_with_net(drv_struct, member, net)		\
	ib_alloc_device(drv_struct, member)
#endif

#endif /* WEFT_COMPAT_NETNS_H */
