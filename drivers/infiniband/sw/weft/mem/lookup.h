/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a key names, and whether an access to it is right: the code of mem/region.h's
 * lookups. It is inline because every message does all of that for each element of its
 * lists. Outside of mem/ only weft_lookup_usual() is used.
 *
 * To disable preemption is a read side section of RCU, too, and takes no call.
 */
#ifndef WEFT_MEM_LOOKUP_H
#define WEFT_MEM_LOOKUP_H

#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

#include "compat/placement.h"
#include "mem/region.h"
#include "pause.h"

/* The rights that a peer needs; without one of them an access is local. */
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

/**
 * weft_lookup_find - the region that has the index of a key
 * @table: of the device
 * @key: the low eight bits do not matter
 *
 * Context: RCU read side.
 * Return: the region, which may be without references, or NULL.
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

/**
 * weft_lookup_get - the same with a reference
 * @table: of the device
 * @key: looked for
 * @mask: bits of it that have to match beside the index
 *
 * Return: the region, or NULL.
 */
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
	/* pairs with the barrier of fastreg_register(): it may be valid again */
	smp_acquire__after_ctrl_dep();
	if (unlikely((region->key ^ key) & mask)) {
		weft_region_put(region);
		return NULL;
	}
	return region;
}

/**
 * weft_lookup_get_newest - the same, of the newest regions only
 * @table: of the device
 * @key: looked for, all of it
 *
 * Return: the region with a reference; NULL: weft_lookup_get() may know better.
 */
static __always_inline struct weft_region *
weft_lookup_get_newest(struct weft_region_table *table, u32 key)
{
	struct weft_region *region;

	rcu_read_lock_sched();
	region = rcu_dereference_sched(*weft_lookup_newest(table, key));
	weft_pause(WEFT_PAUSE_KEY_FOUND);
	if (region && (region->key != key || !refcount_inc_not_zero(&region->refs)))
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

/**
 * weft_lookup_check - the access check
 * @region: referenced
 * @who: on whose behalf
 * @addr: first byte
 * @length: bytes
 * @access: all the enum ib_access_flags the access needs
 *
 * Return: see weft_region_resolve_odp().
 */
static __always_inline int weft_lookup_check(const struct weft_region *region,
					     const struct weft_accessor *who, u64 addr,
					     u64 length, u32 access)
{
	if (unlikely(region->pd != who->pd))
		return -EINVAL;
	if (unlikely(weft_lookup_is_window(region)) &&
	    !weft_lookup_window_open(region, who, access))
		return -EINVAL;
	if (unlikely(access & ~region->access))
		return -EACCES;
	if (unlikely(!weft_region_contains(region, addr, length)))
		return -ERANGE;
	return 0;
}

/**
 * weft_lookup_usual - weft_region_resolve() of what is accessed usually
 * @who: on whose behalf
 * @key: lkey or rkey
 * @addr: first byte
 * @length: bytes, not 0
 * @access: all the enum ib_access_flags the access needs
 * @span: result
 *
 * Return: true; false: it is none of the newest regions, or ODP, or the access is
 * wrong. weft_region_resolve() knows, and @span is as it was.
 */
static __always_inline bool weft_lookup_usual(const struct weft_accessor *who, u32 key,
					      u64 addr, u64 length, u32 access,
					      struct weft_span *span)
{
	struct weft_region *region = weft_lookup_get_newest(who->table, key);

	if (unlikely(!region))
		return false;
	if (unlikely(weft_lookup_check(region, who, addr, length, access) || region->mm)) {
		weft_region_put(region);
		return false;
	}
	weft_pause(WEFT_PAUSE_KEY_RESOLVED);
	span->region = region;
	span->addr = addr;
	span->length = length;
	return true;
}

/**
 * weft_lookup_resolve - weft_region_resolve(), or weft_region_resolve_odp()
 * @who: on whose behalf
 * @key: lkey or rkey
 * @addr: first byte
 * @length: bytes
 * @access: all the enum ib_access_flags the access needs
 * @ODP: it may be odp
 * @span: result
 *
 * Return: see there.
 */
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
	err = weft_lookup_check(region, who, addr, length, access);
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
