// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The module of the unit tests. Each suite registers itself. */
#include <linux/module.h>

#include "fuzz.h"

unsigned int fuzz_times = 1, fuzz_seed;

module_param_named(times, fuzz_times, uint, 0444);
MODULE_PARM_DESC(times, "Tests of random input test so many times as much");
module_param_named(seed, fuzz_seed, uint, 0444);
MODULE_PARM_DESC(seed, "Choose other random input");

MODULE_DESCRIPTION("Unit tests of weft");
MODULE_LICENSE("Dual BSD/GPL");
WEFT_IMPORT_FOR_TEST();
