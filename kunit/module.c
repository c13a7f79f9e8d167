// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The module of the unit tests. Each suite registers itself. */
#include <linux/module.h>

MODULE_DESCRIPTION("Unit tests of weft");
MODULE_LICENSE("Dual BSD/GPL");
WEFT_IMPORT_FOR_TEST();
