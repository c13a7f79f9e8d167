/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The differences between the supported kernels, as capabilities. The rest of the driver is
 * written for the newest kernel and tests no version. The compiler's command line includes this
 * header before everything else, and defines COMPAT_HAS_... as the table "probes" says.
 */
#ifndef WEFT_COMPAT_H
#define WEFT_COMPAT_H

#include <linux/export.h>
#include <linux/hrtimer.h>

#ifndef COMPAT_PROBED
#error "compat/Kbuild.probe has not asked the kernel's headers"
#endif

/*
 * Kernels that do not export the net device of a port: SMC asks the driver there, and ignores
 * devices without ib_device_ops.get_netdev.
 */
#ifdef COMPAT_HAS_GET_NETDEV
#define COMPAT_WANTS_GET_NETDEV false
#else
#define COMPAT_WANTS_GET_NETDEV true
#endif

#ifdef COMPAT_HAS_WQ_PERCPU
#define COMPAT_WQ_PERCPU	WQ_PERCPU
#else
#define COMPAT_WQ_PERCPU	0
#endif

#ifndef COMPAT_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* Exports for the KUnit module. */
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
