/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Allocations that fail, for kernels with CONFIG_FAILSLAB. By itself the kernel lets none fail that
 * may sleep, and writes a stack trace for each: scripts/tests/kunit/001-all changes that.
 */
#ifndef WEFT_KUNIT_NOMEM_H
#define WEFT_KUNIT_NOMEM_H

#include <linux/sched.h>
#include <linux/types.h>

/* The @nth allocation of this thread from now on fails. */
static inline void fail_nth(u32 nth)
{
	WRITE_ONCE(current->fail_nth, nth);
}

/* Has it failed? From now on none does. */
static inline bool has_failed(void)
{
	bool failed = !READ_ONCE(current->fail_nth);

	WRITE_ONCE(current->fail_nth, 0);
	return failed;
}

/* For each allocation of the block that follows, which ends with @_failed = has_failed(). */
#define for_each_failure(_nth, _failed) \
	for ((_nth) = 1, (_failed) = true; (_failed) && (_nth) < 1000; (_nth)++)

#endif /* WEFT_KUNIT_NOMEM_H */
