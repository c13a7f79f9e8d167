/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The implementation of the lookups and the access check of mem/region.h. It is inline because
 * every message needs it for each element of its lists. Outside of mem/ only weft_lookup_usual()
 * is used.
 *
 * rcu_read_lock_sched() protects the lookups: disabling preemption needs no function call.
 */
#ifndef WEFT_MEM_LOOKUP_H
#define WEFT_MEM_LOOKUP_H

#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "compat/placement.h"
#include "mem/region.h"
#include "pause.h"

/* An access that needs any of these rights is remote, any other one is local. */
#define WEFT_LOOKUP_REMOTE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
				 IB_ACCESS_REMOTE_ATOMIC | COMPAT_ACCESS_FLUSH)

static inline unsigned long weft_lookup_index(u32 key)
{
	return key >> 8;
}

static inline struct weft_region __rcu **weft_lookup_newest(struct weft_region_table *table,
							    u32 key)
{
	return &table->newest[weft_lookup_index(key) % WEFT_NEWEST_REGIONS];
}

/*
 * The region with the index of @key, or NULL. It may have no references left, so RCU protects it.
 */
static __always_inline struct weft_region *
weft_lookup_find(struct weft_region_table *table, u32 key)
{
	struct weft_region *region = rcu_dereference_check(*weft_lookup_newest(table, key),
							   rcu_read_lock_sched_held());

	if (unlikely(!region || weft_lookup_index(region->key ^ key)))
		region = xa_load(&table->xa, weft_lookup_index(key));
	return region;
}

/* The same with a reference. The bits in @mask of the key have to match, too. */
static __always_inline struct weft_region *
weft_lookup_get(struct weft_region_table *table, u32 key, u32 mask)
{
	struct weft_region *region;

	rcu_read_lock_sched();
	region = weft_lookup_find(table, key);
	weft_pause(WEFT_PAUSE_KEY_FOUND);
	if (region && !refcount_inc_not_zero(&region->refs))
		region = NULL;
	rcu_read_unlock_sched();
	if (unlikely(!region))
		return NULL;
	/*
	 * A region for fast registration may have become valid again, with another key: pairs with
	 * the barrier of fastreg_register().
	 */
	smp_acquire__after_ctrl_dep();
	if (unlikely((region->key ^ key) & mask)) {
		weft_region_put(region);
		return NULL;
	}
	return region;
}

/*
 * Look up the whole @key in the cache of the newest regions. Returns a usual region, with a
 * reference, or NULL: then weft_lookup_get() may still find one.
 */
static __always_inline struct weft_region *
weft_lookup_get_newest(struct weft_region_table *table, u32 key)
{
	struct weft_region *region;

	rcu_read_lock_sched();
	region = rcu_dereference_sched(*weft_lookup_newest(table, key));
	weft_pause(WEFT_PAUSE_KEY_FOUND);
	if (region && (region->key != key || !region->usual ||
		       !refcount_inc_not_zero(&region->refs)))
		region = NULL;
	rcu_read_unlock_sched();
	if (unlikely(!region))
		return NULL;
	/* see weft_lookup_get() */
	smp_acquire__after_ctrl_dep();
	if (unlikely(region->key != key)) {
		weft_region_put(region);
		return NULL;
	}
	return region;
}

static inline bool weft_lookup_is_window(const struct weft_region *region)
{
	return region->kind == WEFT_REGION_MW1 || region->kind == WEFT_REGION_MW2;
}

static inline bool weft_lookup_window_open(const struct weft_region *region,
					   const struct weft_accessor *who, u32 access)
{
	return access & WEFT_LOOKUP_REMOTE &&
	       (!region->qpn || region->qpn == who->qpn);
}

/*
 * The access check. @usual: the region is known to be no window. Returns an error of
 * weft_region_resolve_odp().
 */
static __always_inline int weft_lookup_check(const struct weft_region *region,
					     const struct weft_accessor *who, u64 addr,
					     u64 length, u32 access, bool usual)
{
	if (unlikely(region->pd != who->pd))
		return -EINVAL;
	if (!usual && unlikely(weft_lookup_is_window(region)) &&
	    !weft_lookup_window_open(region, who, access))
		return -EINVAL;
	if (unlikely(access & ~region->access))
		return -EACCES;
	if (unlikely(!weft_region_contains(region, addr, length)))
		return -ERANGE;
	return 0;
}

/*
 * The fast path of weft_region_resolve(), with a @length that is not 0. Returns false if the region
 * is not in the cache of the newest regions, or is a window or ODP, or if the access is wrong.
 * @span is unchanged then, and weft_region_resolve() gives the answer.
 */
static __always_inline bool weft_lookup_usual(const struct weft_accessor *who, u32 key, u64 addr,
					      u64 length, u32 access, struct weft_span *span)
{
	struct weft_region *region = weft_lookup_get_newest(who->table, key);

	if (unlikely(!region))
		return false;
	if (unlikely(weft_lookup_check(region, who, addr, length, access, true))) {
		weft_region_put(region);
		return false;
	}
	weft_pause(WEFT_PAUSE_KEY_RESOLVED);
	span->region = region;
	span->addr = addr;
	span->length = length;
	return true;
}

/* weft_region_resolve(); with @odp weft_region_resolve_odp(). */
static __always_inline int weft_lookup_resolve(const struct weft_accessor *who, u32 key,
					       u64 addr, u64 length, u32 access, bool odp,
					       struct weft_span *span)
{
	struct weft_region *region;
	int err;

	span->region = NULL;
	span->addr = addr;
	span->length = length;
	if (!length)
		return 0;
	if (!key && who->kernel && !(access & WEFT_LOOKUP_REMOTE))
		return 0;
	region = weft_lookup_get(who->table, key, U32_MAX);
	if (unlikely(!region))
		return weft_region_resolve_null(key, access, span);
	err = weft_lookup_check(region, who, addr, length, access, false);
	if (unlikely(!err && region->mm) && !odp)
		err = -EFAULT;
	if (unlikely(err)) {
		weft_region_put(region);
		return err;
	}
	weft_pause(WEFT_PAUSE_KEY_RESOLVED);
	span->region = region;
	return 0;
}

#endif /* WEFT_MEM_LOOKUP_H */
