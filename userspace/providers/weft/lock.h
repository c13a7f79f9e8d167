/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "rdmacore/driver.h"

/*
 * A spin lock that does nothing if the caller serializes: @needed is false in a
 * thread domain and for a single threaded CQ, and never changes. It is inline
 * because each post and each poll takes one, usually without contention.
 */
struct weft_lock {
	atomic_bool held;
	bool needed;
};

static inline void weft_lock_init(struct weft_lock *lock, bool needed)
{
	atomic_init(&lock->held, false);
	lock->needed = needed;
}

/* The slow path of weft_lock(). */
void weft_lock_wait(struct weft_lock *lock);

static inline bool weft_lock_try(struct weft_lock *lock)
{
	return !atomic_exchange_explicit(&lock->held, true,
					 memory_order_acquire);
}

static inline void weft_lock(struct weft_lock *lock)
{
	if (lock->needed && unlikely(!weft_lock_try(lock)))
		weft_lock_wait(lock);
}

/* An unconditional store is cheaper than a test of @needed. */
static inline void weft_unlock(struct weft_lock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif /* WEFT_LOCK_H */
