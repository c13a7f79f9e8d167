/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The newest kernel's interface to pinned user memory. */
#ifndef WEFT_COMPAT_UMEM_H
#define WEFT_COMPAT_UMEM_H

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#ifndef COMPAT_HAS_UMEM_GET_VA
static inline struct ib_umem *ib_umem_get_va(struct ib_device *device, unsigned long addr,
					     size_t size, int access)
{
	return ib_umem_get(device, addr, size, access);
}
#endif

#endif /* WEFT_COMPAT_UMEM_H */
