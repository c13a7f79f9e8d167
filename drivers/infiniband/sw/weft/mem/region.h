/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory that a key names, and the access check. */
#ifndef WEFT_MEM_REGION_H
#define WEFT_MEM_REGION_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

#include "params.h"

struct mm_struct;
struct pid;
struct weft_fastreg;
struct weft_layout;
struct weft_odp_queue;
struct weft_pi;
struct weft_pi_report;
struct weft_region;
struct weft_sge;

/* The keys of a device. */
struct weft_region_table {
	struct xarray	xa;	/* key index (key >> 8) to struct weft_region */
	/*
	 * where the cyclic search for a free index continues, so that the key of a freed region
	 * does not come back soon; under the lock of @xa
	 */
	u32		next;
	/*
	 * cache of the newest region for each value of the low bits of the key index; most lookups
	 * hit it. Written under the lock of @xa.
	 */
	struct weft_region __rcu *newest[WEFT_NEWEST_REGIONS];
};

/* The process that has registered a region, for reports only: it may have ended. */
struct weft_registrant {
	pid_t	tgid;		/* in the initial namespace */
	kuid_t	user;
};

/* A contiguous piece of a region's memory. */
struct weft_piece {
	u64	start;	/* offset in the region */
	void	*addr;
};

enum weft_region_kind {
	WEFT_REGION_MR		= 0,
	WEFT_REGION_MW1		= 1,	/* memory window of type 1, bound or not */
	WEFT_REGION_MW2		= 2,	/* memory window of type 2 (2B), bound or not */
	WEFT_REGION_FASTREG	= 3,	/* for fast registration, valid or not */
	WEFT_REGION_PINNED	= 4,	/* without a key: pages pinned for a message (odp_pins.h) */
	WEFT_REGION_NULL	= 5,	/* named by WEFT_NULL_KEY (null.h) */
	WEFT_REGION_MKEY	= 6,	/* memory of other regions (layout.h), or none yet */
};

/*
 * The blocks of an ODP region, and of a region of length 0. No access may get as far as the
 * blocks; a buggy one faults, instead of taking a process's address for a kernel address.
 */
#define WEFT_NO_BLOCKS		((void **)ZERO_SIZE_PTR)
#define WEFT_NO_BLOCKS_SHIFT	63

/* The pieces of a region that has a layout in their place. */
#define WEFT_NO_PIECES		((struct weft_piece *)ZERO_SIZE_PTR)

/*
 * Memory that a key names.
 *
 * Immutable after weft_region_publish(), but for @refs, @bound, @parts and @replaced. To change a
 * region its owner replaces it with a successor. A region for fast registration changes while it
 * has no reference (mem/fastreg.c). A memory window borrows @mm, @odp_queue and @blocks from the
 * memory region that it is bound to.
 */
struct weft_region {
	refcount_t		refs;		/* one for the owner, one for each access */
	u32			key;		/* index << 8 | low bits */
	u32			access;		/* the enum ib_access_flags it grants */
	u32			qpn;		/* type 2 window: the only QP that may use it */
	const void		*pd;		/* identity only, never dereferenced */
	u64			iova;		/* first address */
	u64			length;		/* 0: an unbound memory window, or empty */
	struct mm_struct	*mm;		/* ODP: has the memory; else NULL */
	/* ODP: the process that registered @mm, with a reference; not for memory windows */
	struct pid		*tgid;
	/* ODP: for work that waits for pages; NULL: the queue of kernel consumers */
	struct weft_odp_queue	*odp_queue;
	/* ODP: pages that messages waited for and that were prefetched; not for memory windows */
	atomic64_t		odp_faults;
	atomic64_t		odp_prefetches;
	/*
	 * address (modulo 2^64) of the first byte of the first block; ODP: the address within the
	 * region of address 0 in @mm
	 */
	u64			base;
	/*
	 * kernel address of each block, in pages that have a reference. NULL without @pieces:
	 * addresses are kernel addresses (DMA region).
	 */
	void			**blocks;
	u32			page_shift;	/* log2 of the size of a block */
	u32			num_pieces;	/* WEFT_REGION_MKEY: the most parts of a layout */
	/* in place of @blocks, from @iova up: for a list with gaps, or for contiguous memory */
	struct weft_piece	*pieces;
	enum weft_region_kind	kind;
	atomic_t		bound;		/* windows; negative: sealed, none can be bound */
	bool			replaced;	/* by a successor; under the lock of @table */
	bool			usual;		/* neither a window nor ODP, see mem/lookup.h */
	struct weft_region	*parent;	/* of a window or pin: has the memory; referenced */
	struct weft_fastreg	*fastreg;	/* WEFT_REGION_FASTREG: the next registration */
	/*
	 * WEFT_REGION_FASTREG or WEFT_REGION_MKEY with protection information, or NULL. Only
	 * mem/pi.c knows where the bytes of such a region are.
	 */
	struct weft_pi		*pi;
	/* WEFT_REGION_MKEY: that of @pi, also while there is none; NULL: never has signatures */
	struct weft_pi_report	*report;
	struct weft_region_table *table;
	struct completion	idle;		/* completed with the last reference */
	struct rcu_head		rcu;
	struct weft_registrant	by;
	struct weft_layout	*layout;	/* WEFT_REGION_MKEY, or NULL */
	/* the parts of published layouts that are in this region; under the lock of @table */
	struct hlist_head	parts;
};

/* A checked range of memory. Without a @region @addr is a kernel address. */
struct weft_span {
	struct weft_region	*region;	/* with a reference, or NULL */
	u64			addr;
	u64			length;
};

/* The QP on whose behalf memory is accessed. */
struct weft_accessor {
	struct weft_region_table *table;
	const void		*pd;
	u32			qpn;
	bool			kernel;	/* may use the local DMA key (0): a kernel address */
};

void weft_region_table_init(struct weft_region_table *table);
void weft_region_table_destroy(struct weft_region_table *table);
struct weft_region *weft_region_alloc(struct weft_region_table *table, gfp_t gfp);
void weft_region_publish(struct weft_region *region);
struct weft_region *weft_region_successor(const struct weft_region *old, gfp_t gfp);
bool weft_region_replace(struct weft_region *old, struct weft_region *new);
void weft_region_kill(struct weft_region *region);
struct weft_region *weft_region_withdraw(struct weft_region_table *table, u32 key);
void weft_region_retire(struct weft_region *region);
bool weft_region_bind(struct weft_region *region);
bool weft_region_seal(struct weft_region *region);
struct weft_region *weft_region_get(struct weft_region_table *table, u32 key);
struct weft_region *weft_region_get_by_index(struct weft_region_table *table, u32 key);
struct weft_region *weft_region_peek(struct weft_region_table *table, u32 key);
void weft_region_last_put(struct weft_region *region);

static inline void weft_region_put(struct weft_region *region)
{
	if (region && refcount_dec_and_test(&region->refs))
		weft_region_last_put(region);
}

/* See weft_region_seal(). */
static inline bool weft_region_is_sealed(const struct weft_region *region)
{
	return atomic_read(&region->bound) < 0;
}

/* There is no sum that could wrap: a region itself never wraps. */
static inline bool weft_region_contains(const struct weft_region *region, u64 addr, u64 length)
{
	return length <= region->length &&
	       addr - region->iova <= region->length - length;
}

int weft_region_resolve(const struct weft_accessor *who, u32 key, u64 addr,
			u64 length, u32 access, struct weft_span *span);
int weft_region_resolve_null(u32 key, u32 access, struct weft_span *span);
int weft_region_resolve_odp(const struct weft_accessor *who, u32 key, u64 addr,
			    u64 length, u32 access, struct weft_span *span);
int weft_region_resolve_all(const struct weft_accessor *who, u32 key, u32 access,
			    struct weft_span *span);
void *weft_pieces_at(const struct weft_piece *pieces, u32 num, u64 length, u64 offset,
		     u64 *contiguous);
void *weft_region_at_piece(const struct weft_region *region, u64 addr, u64 *contiguous);

/* weft_region_at() for a region that has blocks. */
static __always_inline void *weft_region_at_block(const struct weft_region *region, u64 addr,
						  u64 *contiguous)
{
	u64 offset = addr - region->base, block = 1ULL << region->page_shift;

	*contiguous = block - (offset & (block - 1));
	return region->blocks[offset >> region->page_shift] + (offset & (block - 1));
}

/*
 * The kernel address of the byte at @addr of a resolved span. @contiguous: the bytes that follow
 * contiguously, which may exceed the span.
 */
static inline void *weft_region_at(const struct weft_span *span, u64 addr, u64 *contiguous)
{
	const struct weft_region *region = span->region;

	if (region && region->blocks)
		return weft_region_at_block(region, addr, contiguous);
	if (region && region->pieces)
		return weft_region_at_piece(region, addr, contiguous);
	*contiguous = U64_MAX;
	return (void *)(uintptr_t)addr;
}

#endif /* WEFT_MEM_REGION_H */
