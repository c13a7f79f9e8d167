// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fast registration: regions whose memory is registered and invalidated by work requests (IBA
 * 10.6.4, ib_map_mr_sg()).
 *
 * Such a region stays published. It is free, valid, or ending: no access begins any more, but one
 * may not have ended yet. Lookups find only a valid region, because a free one has no reference
 * that they could add to. So a work request allocates nothing and does not write to the key
 * table. The next registration is prepared aside, possibly while the region is still valid.
 */
#include "mem/fastreg.h"

#include <linux/mm.h>
#include <linux/slab.h>

#include <rdma/ib_verbs.h>

#include "compat/placement.h"
#include "mem/pi.h"
#include "mem/region.h"

#define FASTREG_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_FLUSH_GLOBAL)
/* Rights that require local write access. */
#define FASTREG_WRITE	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

enum fastreg_state {
	FASTREG_FREE,		/* no references; can be registered */
	FASTREG_CHANGING,	/* being registered */
	FASTREG_VALID,		/* can be accessed; has the owner's reference */
	FASTREG_ENDING,		/* the owner's reference is gone, others may be left */
};

/* Allocate arrays for the current and for the next registration, which fastreg_fill() swaps. */
static bool fastreg_alloc(struct weft_region *region, struct weft_fastreg *fastreg,
			  bool gaps)
{
	if (gaps) {
		fastreg->pieces = kvcalloc(fastreg->max, sizeof(*fastreg->pieces), GFP_KERNEL);
		region->pieces = kvcalloc(fastreg->max, sizeof(*region->pieces), GFP_KERNEL);
		return fastreg->pieces && region->pieces;
	}
	fastreg->blocks = kvcalloc(fastreg->max, sizeof(*fastreg->blocks), GFP_KERNEL);
	region->blocks = kvcalloc(fastreg->max, sizeof(*region->blocks), GFP_KERNEL);
	return fastreg->blocks && region->blocks;
}

static void fastreg_free(struct weft_fastreg *fastreg, void *blocks, void *pieces)
{
	kvfree(blocks);
	kvfree(pieces);
	kvfree(fastreg->blocks);
	kvfree(fastreg->pieces);
	kfree_rcu(fastreg, rcu);
}

/*
 * Prepare an unpublished region for fast registration of up to @max blocks, or pieces if @gaps.
 * Returns 0 or -ENOMEM.
 */
int weft_fastreg_create(struct weft_region *region, const void *pd, u32 max, bool gaps)
{
	struct weft_fastreg *fastreg = kzalloc(sizeof(*fastreg), GFP_KERNEL);

	if (!fastreg)
		return -ENOMEM;
	fastreg->pd = pd;
	fastreg->max = max;
	if (!fastreg_alloc(region, fastreg, gaps)) {
		fastreg_free(fastreg, region->blocks, region->pieces);
		return -ENOMEM;
	}
	atomic_set(&fastreg->state, FASTREG_FREE);
	region->kind = WEFT_REGION_FASTREG;
	region->fastreg = fastreg;
	weft_region_put(region);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_fastreg_create);

/* Returns the state before; the region has changed to state @to if that was @from. */
static int fastreg_move(struct weft_region *region, enum fastreg_state from,
			enum fastreg_state to)
{
	return atomic_cmpxchg(&region->fastreg->state, from, to);
}

/* Without a protection domain the region fails the access check, so no access begins. */
static void fastreg_end(struct weft_region *region)
{
	if (fastreg_move(region, FASTREG_VALID, FASTREG_ENDING) != FASTREG_VALID)
		return;
	WRITE_ONCE(region->pd, NULL);
	/*
	 * A lookup that gets a reference either sees the NULL above, or keeps @idle from being
	 * completed until its access has ended.
	 */
	weft_region_put(region);
}

/*
 * Unpublish the region, wait for the last access to end, and free it after a grace period. May
 * sleep.
 */
void weft_fastreg_destroy(struct weft_region *region)
{
	struct weft_fastreg *fastreg = region->fastreg;
	struct weft_pi *pi = region->pi;
	void *blocks, *pieces;

	fastreg_end(region);
	blocks = region->blocks;
	pieces = region->pieces;
	weft_region_kill(region);
	fastreg_free(fastreg, blocks, pieces);
	weft_pi_free(pi);
}
WEFT_EXPORT_FOR_TEST(weft_fastreg_destroy);

static int fastreg_check(const struct weft_region *region,
			 const struct weft_fastreg_request *request)
{
	const struct weft_fastreg *fastreg = region->fastreg;

	if (!fastreg->num || (region->key ^ request->new_key) >> 8 ||
	    request->access & ~FASTREG_ACCESS ||
	    fastreg->length - 1 > U64_MAX - request->iova)
		return -EINVAL;
	if (request->access & FASTREG_WRITE && !(request->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	return 0;
}

static void fastreg_fill(struct weft_region *region,
			 const struct weft_fastreg_request *request)
{
	struct weft_fastreg *fastreg = region->fastreg;

	swap(region->blocks, fastreg->blocks);
	swap(region->pieces, fastreg->pieces);
	region->num_pieces = fastreg->num;
	fastreg->num = 0;
	region->pd = fastreg->pd;
	region->key = request->new_key;
	region->access = request->access;
	region->iova = request->iova;
	region->length = fastreg->length;
	region->page_shift = fastreg->page_shift;
	region->base = request->iova - fastreg->offset;
	if (region->pi)
		weft_pi_register(region);
	/* an aligned address is not aligned in memory if the low bits of the two differ */
	if (region->pieces || !IS_ALIGNED(region->base, sizeof(u64)))
		region->access &= ~IB_ACCESS_REMOTE_ATOMIC;
}

static int fastreg_register(struct weft_region *region,
			    const struct weft_fastreg_request *request)
{
	int err;

	if (fastreg_move(region, FASTREG_FREE, FASTREG_CHANGING) != FASTREG_FREE)
		return -EINVAL;
	err = fastreg_check(region, request);
	if (err) {
		atomic_set_release(&region->fastreg->state, FASTREG_FREE);
		return err;
	}
	fastreg_fill(region, request);
	reinit_completion(&region->idle);
	/* a lookup that gets a reference sees the new key and rights: see weft_lookup_get() */
	smp_wmb();
	refcount_set(&region->refs, 1);
	atomic_set_release(&region->fastreg->state, FASTREG_VALID);
	return 0;
}

/* Find the region for fast registration, in the accessor's PD. The caller holds RCU. */
static struct weft_region *fastreg_find(const struct weft_accessor *who, u32 key)
{
	struct weft_region *region = weft_region_peek(who->table, key);

	if (!region || region->kind != WEFT_REGION_FASTREG)
		return ERR_PTR(-ENOENT);
	return region->fastreg->pd == who->pd ? region : ERR_PTR(-EINVAL);
}

/*
 * Execute a REG_MR work request of the QP @who. Returns 0; -EINVAL: no such region, wrong
 * protection domain, another index, not free, nothing prepared, or memory beyond the end of the
 * address space; -EACCES: remote write or atomic access without local write access (IBA 10.6.3.2).
 * Any context.
 */
int weft_fastreg_register(const struct weft_accessor *who,
			  const struct weft_fastreg_request *request)
{
	struct weft_region *region;
	int err = -EINVAL;

	rcu_read_lock();
	region = fastreg_find(who, request->key);
	if (!IS_ERR(region))
		err = fastreg_register(region, request);
	rcu_read_unlock();
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_fastreg_register);

static int fastreg_invalidate(struct weft_region *region, u32 key)
{
	if (region->key != key)
		return -EINVAL;
	fastreg_end(region);
	if (!completion_done(&region->idle))
		return -EBUSY;
	fastreg_move(region, FASTREG_ENDING, FASTREG_FREE);
	return 0;
}

/*
 * Take the memory of a region away. @who is the QP that executes LOCAL_INV or has received a SEND
 * with invalidate; @key is the current key of the region. With @wait, sleep until all accesses have
 * ended. A free region stays free. After success nobody accesses the memory any more.
 *
 * Returns 0; -ENOENT: the key does not name a region for fast registration; -EINVAL: wrong
 * protection domain or outdated key; -EBUSY (without @wait): an access has not ended yet, the
 * caller tries again. No access begins any more.
 */
int weft_fastreg_invalidate(const struct weft_accessor *who, u32 key, bool wait)
{
	struct weft_region *region;
	int err;

	rcu_read_lock();
	region = fastreg_find(who, key);
	err = IS_ERR(region) ? PTR_ERR(region) : fastreg_invalidate(region, key);
	rcu_read_unlock();
	if (err != -EBUSY || !wait)
		return err;
	/* safe without RCU: the consumer keeps the MR until the work request is complete */
	wait_for_completion(&region->idle);
	return fastreg_invalidate(region, key);
}
WEFT_EXPORT_FOR_TEST(weft_fastreg_invalidate);
