/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Binary attributes of sysfs, which are const on newer kernels. */
#ifndef WEFT_COMPAT_BIN_ATTRIBUTE_H
#define WEFT_COMPAT_BIN_ATTRIBUTE_H

#ifdef COMPAT_HAS_BIN_ATTRIBUTE_CONST
#define COMPAT_BIN_CONST const
#else
#define COMPAT_BIN_CONST
#endif

#endif /* WEFT_COMPAT_BIN_ATTRIBUTE_H */
