// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a key names, and the access check.
 *
 * A region lives apart from its ib_mr or ib_mw, so that a key from the wire or from a ring can be
 * looked up under RCU and pinned by a reference, without any lock. The owner calls
 * weft_region_alloc(), fills the region in, and calls weft_region_publish(). After
 * weft_region_kill() returns nobody accesses the memory any more.
 *
 * A memory window is a region that borrows the blocks of its parent. Each bind, unbind or
 * invalidation publishes a new region in place of the old one, so accesses in progress continue
 * with the rights that they were granted. If two QPs bind one window at the same time,
 * weft_region_replace() fails for one of them.
 */
#include "mem/region.h"

#include <linux/cred.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <rdma/ib_verbs.h>
#include <rdma/weft-abi.h>

#include "mem/layout.h"
#include "mem/lookup.h"
#include "mem/null.h"
#include "mem/odp_pins.h"
#include "mem/pi.h"
#include "pause.h"

static void region_insert(struct weft_region *region)
{
	struct weft_region_table *table = region->table;

	region->usual = !region->mm && !weft_lookup_is_window(region);
	/* allocates nothing: the entry is reserved, or has the region's predecessor */
	__xa_store(&table->xa, weft_lookup_index(region->key), region, 0);
	rcu_assign_pointer(*weft_lookup_newest(table, region->key), region);
}

static struct weft_region *region_erase(struct weft_region_table *table, u32 key)
{
	struct weft_region __rcu **newest = weft_lookup_newest(table, key);
	struct weft_region *region = __xa_erase(&table->xa, weft_lookup_index(key));

	if (region && rcu_access_pointer(*newest) == region)
		RCU_INIT_POINTER(*newest, NULL);
	return region;
}

/* The region has one reference, the owner's. */
static struct weft_region *region_new(struct weft_region_table *table, gfp_t gfp)
{
	struct weft_region *region;

	region = kzalloc(sizeof(*region), gfp);
	if (!region)
		return NULL;
	refcount_set(&region->refs, 1);
	init_completion(&region->idle);
	region->table = table;
	return region;
}

void weft_region_table_init(struct weft_region_table *table)
{
	xa_init_flags(&table->xa, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	table->next = 0;
}
WEFT_EXPORT_FOR_TEST(weft_region_table_init);

/* The table is empty. */
void weft_region_table_destroy(struct weft_region_table *table)
{
	WARN_ON(!xa_empty(&table->xa));
	xa_destroy(&table->xa);
}
WEFT_EXPORT_FOR_TEST(weft_region_table_destroy);

/*
 * Allocate a region and reserve a key. The key index is new, and the low eight bits are random.
 * The region is a memory region without rights, and lookups do not find it before
 * weft_region_publish(). Returns the region or ERR_PTR(-ENOMEM). Interrupts are enabled.
 */
struct weft_region *weft_region_alloc(struct weft_region_table *table, gfp_t gfp)
{
	struct weft_region *region;
	u32 index;

	region = region_new(table, gfp);
	if (!region)
		return ERR_PTR(-ENOMEM);
	/* the entry stays reserved, and invisible, until it is published */
	if (xa_alloc_cyclic_irq(&table->xa, &index, NULL,
				XA_LIMIT(1, WEFT_MAX_KEY_INDEX), &table->next,
				gfp) < 0) {
		kfree(region);
		return ERR_PTR(-ENOMEM);
	}
	region->key = index << 8 | get_random_u8();
	region->by = (struct weft_registrant){ task_tgid_nr(current), current_euid() };
	return region;
}
WEFT_EXPORT_FOR_TEST(weft_region_alloc);

void weft_region_publish(struct weft_region *region)
{
	struct xarray *xa = &region->table->xa;
	unsigned long flags;

	xa_lock_irqsave(xa, flags);
	region_insert(region);
	xa_unlock_irqrestore(xa, flags);
}
WEFT_EXPORT_FOR_TEST(weft_region_publish);

/*
 * Make a copy of @old that can take over its key. It has no references but the caller's, no
 * windows and no parent, and can be changed until weft_region_replace(). NULL: no memory.
 */
struct weft_region *weft_region_successor(const struct weft_region *old, gfp_t gfp)
{
	struct weft_region *region;

	region = region_new(old->table, gfp);
	if (!region)
		return NULL;
	region->key = old->key;
	region->access = old->access;
	region->qpn = old->qpn;
	region->pd = old->pd;
	region->iova = old->iova;
	region->length = old->length;
	region->mm = old->mm;
	region->tgid = old->tgid;
	region->odp_queue = old->odp_queue;
	region->base = old->base;
	region->blocks = old->blocks;
	region->page_shift = old->page_shift;
	region->kind = old->kind;
	region->by = old->by;
	return region;
}
WEFT_EXPORT_FOR_TEST(weft_region_successor);

/*
 * Publish the successor @new in place of @old, to which the caller has a reference. The low eight
 * bits of the keys may differ. Only one of several concurrent callers succeeds; it then owns @old
 * and drops it by weft_region_kill() or weft_region_retire(). Returns false if @old is not
 * published any more, or a part of @new is sealed. Any context.
 */
bool weft_region_replace(struct weft_region *old, struct weft_region *new)
{
	struct xarray *xa = &old->table->xa;
	unsigned long flags;
	bool found;

	xa_lock_irqsave(xa, flags);
	found = xa_load(xa, weft_lookup_index(old->key)) == old &&
		(!new->layout || weft_layout_publish(new));
	if (found) {
		region_insert(new);
		old->replaced = true;
		if (old->layout)
			weft_layout_unpublish(old);
	}
	xa_unlock_irqrestore(xa, flags);
	return found;
}
WEFT_EXPORT_FOR_TEST(weft_region_replace);

static void region_free(struct weft_region *region)
{
	/* a lookup may still be looking at it */
	kfree_rcu(region, rcu);
}

/*
 * Unpublish a memory region (if it is still published), wait for the last access to end, and free
 * the region, but not its blocks. May sleep.
 */
void weft_region_kill(struct weft_region *region)
{
	struct xarray *xa = &region->table->xa;
	unsigned long flags;

	xa_lock_irqsave(xa, flags);
	if (!region->replaced)
		region_erase(region->table, region->key);
	xa_unlock_irqrestore(xa, flags);
	weft_pause(WEFT_PAUSE_REGION_ERASED);

	/* fastreg_end() has already dropped the owner's reference of the others */
	if (region->kind != WEFT_REGION_FASTREG)
		weft_region_put(region);
	wait_for_completion(&region->idle);
	region_free(region);
}
WEFT_EXPORT_FOR_TEST(weft_region_kill);

/*
 * Unpublish a memory window or mkey and give up its key, of which the low eight bits may be
 * outdated. Returns the published region, which the caller then owns, or NULL. Any context.
 */
struct weft_region *weft_region_withdraw(struct weft_region_table *table, u32 key)
{
	struct weft_region *region;
	unsigned long flags;

	xa_lock_irqsave(&table->xa, flags);
	region = region_erase(table, key);
	if (region && region->layout)
		weft_layout_unpublish(region);
	xa_unlock_irqrestore(&table->xa, flags);
	return region;
}
WEFT_EXPORT_FOR_TEST(weft_region_withdraw);

/*
 * Drop the region of a memory window or mkey that the caller owns (replaced, withdrawn, or an
 * unused successor), without waiting. A window no longer counts as bound. The last access frees the
 * region and drops the references to its parent or leaves. Any context.
 */
void weft_region_retire(struct weft_region *region)
{
	if (region->parent)
		atomic_dec(&region->parent->bound);
	weft_region_put(region);
}
WEFT_EXPORT_FOR_TEST(weft_region_retire);

/*
 * Count one more memory window as bound to the memory region, until weft_region_retire() of the
 * window. Returns false after weft_region_seal().
 */
bool weft_region_bind(struct weft_region *region)
{
	return atomic_inc_unless_negative(&region->bound);
}
WEFT_EXPORT_FOR_TEST(weft_region_bind);

/*
 * Prevent further binds and layouts, before the region goes or changes. Returns false if windows
 * are bound.
 */
bool weft_region_seal(struct weft_region *region)
{
	return atomic_cmpxchg(&region->bound, 0, INT_MIN) == 0;
}
WEFT_EXPORT_FOR_TEST(weft_region_seal);

/*
 * weft_region_get_by_index() without taking a reference. The caller holds rcu_read_lock() as long
 * as it uses the region, which may have no references left.
 */
struct weft_region *weft_region_peek(struct weft_region_table *table, u32 key)
{
	return weft_lookup_find(table, key);
}

/* Look up a key, all 32 bits of it. Returns the region with a reference, or NULL. */
struct weft_region *weft_region_get(struct weft_region_table *table, u32 key)
{
	return weft_lookup_get(table, key, U32_MAX);
}
WEFT_EXPORT_FOR_TEST(weft_region_get);

/* weft_region_get() without the low eight bits of the key, which the consumer chooses. */
struct weft_region *weft_region_get_by_index(struct weft_region_table *table,
					     u32 key)
{
	return weft_lookup_get(table, key, 0);
}

/* The last reference is gone: see weft_region_put(). */
void weft_region_last_put(struct weft_region *region)
{
	if (region->kind == WEFT_REGION_PINNED) {
		weft_odp_pins_detach(region);
		return;
	}
	/* weft_region_kill() waits for a memory region and frees it, nobody waits for others */
	if (!weft_lookup_is_window(region) && region->kind != WEFT_REGION_MKEY) {
		complete_all(&region->idle);
		return;
	}
	weft_region_put(region->parent);
	if (region->layout)
		weft_layout_free(region->layout);
	weft_pi_free(region->pi);
	weft_pi_report_put(region->report);
	region_free(region);
}
WEFT_EXPORT_FOR_TEST(weft_region_last_put);

/*
 * The kernel address of the byte at @offset of a list of pieces, which has @length bytes.
 * @contiguous: the bytes that follow contiguously.
 */
void *weft_pieces_at(const struct weft_piece *pieces, u32 num, u64 length, u64 offset,
		     u64 *contiguous)
{
	u32 low = 0, high = num, middle;
	const struct weft_piece *piece;

	/* the piece that contains @offset is in [low, high) */
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	piece = &pieces[low];
	*contiguous = (high < num ? piece[1].start : length) - offset;
	return piece->addr + (offset - piece->start);
}

/* weft_region_at() for a region that has pieces. */
void *weft_region_at_piece(const struct weft_region *region, u64 addr, u64 *contiguous)
{
	if (region->kind == WEFT_REGION_NULL)
		return weft_null_at(region, addr, contiguous);
	if (region->layout)
		return weft_layout_at(region->layout, addr - region->iova, contiguous);
	return weft_pieces_at(region->pieces, region->num_pieces, region->length,
			      addr - region->iova, contiguous);
}
WEFT_EXPORT_FOR_TEST(weft_region_at_piece);

/* The part of weft_region_resolve() for a key that no region has. */
int weft_region_resolve_null(u32 key, u32 access, struct weft_span *span)
{
	if (key != WEFT_NULL_KEY || access & WEFT_LOOKUP_REMOTE)
		return -EINVAL;
	span->region = weft_null_get(access & IB_ACCESS_LOCAL_WRITE);
	return 0;
}

/*
 * Check an access by the QP @who, with the lkey or rkey @key, and pin the memory. @access has all
 * the enum ib_access_flags that the access needs; 0: a local read. A @length of 0 always succeeds,
 * and the key is not checked (IBA o9-37). The caller drops the reference by
 * weft_region_put(span->region).
 *
 * Local access (without a REMOTE flag in @access) through a memory window is refused, and so is
 * access through a window of type 2 by another QP than the one it is bound to. The local DMA key
 * and WEFT_NULL_KEY are refused for remote access.
 *
 * ib_dereg_mr() waits for the reference, so hold it during a copy, but not while waiting for a
 * peer.
 *
 * Any context. Returns 0; -EINVAL: no such key, wrong protection domain, or wrong QP for a window;
 * -EACCES: right not granted; -ERANGE: outside the region; -EFAULT: the access is allowed, but the
 * region is ODP: use weft_region_resolve_odp() and mem/odp_pins.h.
 */
int weft_region_resolve(const struct weft_accessor *who, u32 key, u64 addr,
			u64 length, u32 access, struct weft_span *span)
{
	return weft_lookup_resolve(who, key, addr, length, access, false, span);
}
WEFT_EXPORT_FOR_TEST(weft_region_resolve);

/*
 * weft_region_resolve() of memory that may be ODP; never -EFAULT. If the region of @span has an
 * @mm, its memory cannot be accessed before weft_odp_pins_attach().
 */
int weft_region_resolve_odp(const struct weft_accessor *who, u32 key, u64 addr,
			    u64 length, u32 access, struct weft_span *span)
{
	return weft_lookup_resolve(who, key, addr, length, access, true, span);
}
WEFT_EXPORT_FOR_TEST(weft_region_resolve_odp);

/*
 * weft_region_resolve_odp() for all memory that the rkey names. If the region has an @mm, the
 * memory cannot be accessed. Returns 0, -EINVAL or -EACCES, as weft_region_resolve().
 */
int weft_region_resolve_all(const struct weft_accessor *who, u32 key, u32 access,
			    struct weft_span *span)
{
	struct weft_region *region = weft_lookup_get(who->table, key, U32_MAX);
	int err;

	span->region = NULL;
	if (!region)
		return -EINVAL;
	err = weft_lookup_check(region, who, region->iova, region->length, access, false);
	if (err) {
		weft_region_put(region);
		return err;
	}
	span->region = region;
	span->addr = region->iova;
	span->length = region->length;
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_region_resolve_all);
