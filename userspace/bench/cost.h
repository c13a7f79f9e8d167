/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the programs of this directory measure. In a guest whose clock counts
 * instructions a nanosecond is one.
 */
#ifndef BENCH_COST_H
#define BENCH_COST_H

#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ends the program with @what and errno's text */
void die(const char *what) __attribute__((noreturn));

/* nanoseconds of CLOCK_MONOTONIC */
uint64_t now(void);

/* the median of @num times, which get sorted */
uint64_t median(uint64_t *t, int num);

/*
 * measure - print "NAME,SIZE,MIN,MEDIAN" of what @one() takes
 * @before: called before each, outside of the time, or NULL
 *
 * The cost of reading the clock is subtracted.
 */
void measure(const char *name, uint64_t size, int iterations, void (*before)(void),
	     void (*one)(void));

#endif /* BENCH_COST_H */
