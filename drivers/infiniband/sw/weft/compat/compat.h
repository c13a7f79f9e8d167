/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The differences between the supported kernels, as capabilities. The rest of the driver is
 * written for the newest kernel and tests no version. The compiler's command line includes this
 * header before everything else.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(8, 0, 0)
#error "weft supports Linux 6.1 to 7.x"
#endif

#ifndef CONFIG_64BIT
#error "weft needs a 64 bit kernel: it keeps memory regions mapped"
#endif

/* The core supports FLUSH and ATOMIC WRITE. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define COMPAT_HAS_PLACEMENT
#endif
/* A network namespace has a table of its UDP sockets, which may be the global one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define COMPAT_HAS_NETNS_UDP_TABLE
#endif
/* The core has ODP capabilities for FLUSH and ATOMIC WRITE. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define COMPAT_HAS_ODP_PLACEMENT
#endif
/* pin_user_pages_remote() has no argument for VMAs. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define COMPAT_GUP_WITHOUT_VMAS
#endif
/* ib_device_ops has fill_res_srq_entry. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
#define COMPAT_HAS_FILL_RES_SRQ
#endif
/* ib_device_ops.create_cq and friends take the attribute bundle. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define COMPAT_HAS_CREATE_CQ_ATTRS
#endif
/*
 * The core knows the net device of a port by itself. Older kernels do not export that knowledge,
 * so SMC asks the driver, and ignores devices without ib_device_ops.get_netdev.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define COMPAT_WANTS_GET_NETDEV true
#else
#define COMPAT_WANTS_GET_NETDEV false
#endif
/* ib_device_ops.reg_user_mr_dmabuf takes the attribute bundle. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define COMPAT_HAS_DMABUF_ATTRS
#endif
/* The operations of a dma-buf are called with its lock held. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define COMPAT_HAS_DMABUF_LOCKING
#endif
/* The move_notify callback of a dma-buf importer is optional. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define COMPAT_HAS_DMABUF_OPTIONAL_MOVE
#endif
/*
 * ib_device_ops.reg_user_mr takes a DMA handle, and CAP_NET_RAW is checked in the network
 * namespace of the device.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define COMPAT_HAS_DMAH
#define COMPAT_HAS_RAW_CAP
#endif
/* Per-CPU workqueues need a flag. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define COMPAT_WQ_PERCPU	WQ_PERCPU
#else
#define COMPAT_WQ_PERCPU	0
#endif
/* crc32_le() is as fast as the processor allows. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define COMPAT_HAS_FAST_CRC32
#endif
/* Symbol namespaces are strings. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define COMPAT_HAS_NAMESPACE_STRINGS
#endif
/* The core turns netdev events into port events. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define COMPAT_HAS_CORE_PORT_EVENTS
#endif
/*
 * ib_device_ops.counter_bind_qp and .counter_unbind_qp take a port, and the driver defines the
 * size of a counter.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define COMPAT_HAS_COUNTER_PORT
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
/* ib_device_ops.resize_cq became resize_user_cq. */
#define COMPAT_HAS_RESIZE_USER_CQ
/* ib_umem_get() became ib_umem_get_va(). */
#define COMPAT_HAS_UMEM_GET_VA
/* The core has ib_device_ops.query_port_speed and IB_EVENT_DEVICE_SPEED_CHANGE. */
#define COMPAT_HAS_PORT_SPEED
#endif

#include <linux/hrtimer.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* Exports for the KUnit module. */
#include <linux/export.h>
#if !IS_ENABLED(CONFIG_KUNIT)
#define WEFT_EXPORT_FOR_TEST(sym)
#elif defined(COMPAT_HAS_NAMESPACE_STRINGS)
#define WEFT_EXPORT_FOR_TEST(sym) EXPORT_SYMBOL_NS_GPL(sym, "WEFT_KUNIT")
#define WEFT_IMPORT_FOR_TEST() MODULE_IMPORT_NS("WEFT_KUNIT")
#else
#define WEFT_EXPORT_FOR_TEST(sym) EXPORT_SYMBOL_NS_GPL(sym, WEFT_KUNIT)
#define WEFT_IMPORT_FOR_TEST() MODULE_IMPORT_NS(WEFT_KUNIT)
#endif

#endif /* WEFT_COMPAT_H */
