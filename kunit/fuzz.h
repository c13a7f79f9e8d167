/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How much random input the tests of random input get, and which: the parameters "times" and "seed"
 * of weft_kunit.ko.
 */
#ifndef KUNIT_FUZZ_H
#define KUNIT_FUZZ_H

#include <linux/sched.h>
#include <linux/types.h>

extern unsigned int fuzz_times, fuzz_seed;

/* @num is what a usual run tests. */
static inline u32 fuzz_rounds(u32 num)
{
	return num * fuzz_times;
}

/* In a run that is long, RCU and the checks of the kernel have to get the CPU at times. */
#define for_each_fuzz(_i, _num) \
	for ((_i) = 0; (_i) < fuzz_rounds(_num); (_i)++, cond_resched())

#endif /* KUNIT_FUZZ_H */
