/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The core's constants for the memory placement extensions (IBA annex A19): FLUSH and
 * ATOMIC WRITE. If the core lacks them, weft does not report the extensions to consumers.
 */
#ifndef WEFT_COMPAT_PLACEMENT_H
#define WEFT_COMPAT_PLACEMENT_H

#include <rdma/ib_verbs.h>

#ifdef COMPAT_HAS_PLACEMENT
/* The capabilities of a device; persistence needs a CPU that can write back its caches. */
#define COMPAT_PLACEMENT_CAPS						\
	(IB_DEVICE_ATOMIC_WRITE | IB_DEVICE_FLUSH_GLOBAL |		\
	 (IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API) ? IB_DEVICE_FLUSH_PERSISTENT : 0))
#define COMPAT_ODP_PLACEMENT_CAPS	(IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE)
#else
#define COMPAT_PLACEMENT_CAPS		0
#define COMPAT_ODP_PLACEMENT_CAPS	0

/* Values from later kernels. */
enum {
	IB_UVERBS_WR_FLUSH		= 14,
	IB_WC_FLUSH			= 8,
	IB_WC_ATOMIC_WRITE		= 9,
	IB_WR_ATOMIC_WRITE		= 15,
	IB_ACCESS_FLUSH_GLOBAL		= 1 << 8,
	IB_ACCESS_FLUSH_PERSISTENT	= 1 << 9,
};
#endif

#ifndef COMPAT_HAS_ODP_PLACEMENT
/* Likewise; the core passes these bits on from the device without knowing them. */
enum {
	IB_ODP_SUPPORT_FLUSH		= 1 << 6,
	IB_ODP_SUPPORT_ATOMIC_WRITE	= 1 << 7,
};
#endif

/* The access rights for a FLUSH. */
#define COMPAT_ACCESS_FLUSH	(IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

#endif /* WEFT_COMPAT_PLACEMENT_H */
