/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory a key names, and the access check.
 *
 * A region lives apart from the ib_mr or ib_mw it belongs to, so that a key
 * from the wire or from a ring is looked up under RCU and pinned by a
 * reference without any lock. Owner's life: weft_region_alloc(), fill in,
 * weft_region_publish(), weft_region_kill(). After kill returns nobody uses
 * the memory any more.
 *
 * A memory window is a region that borrows the blocks of its parent. Each
 * bind, unbind or invalidation publishes a new one in place of the old one,
 * so that accesses in flight go on with what they were granted. Two QPs that
 * bind one window at a time race in weft_region_replace(): one fails.
 */
#ifndef WEFT_MEM_REGION_H
#define WEFT_MEM_REGION_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include "params.h"

struct mm_struct;
struct pid;
struct weft_fastreg;
struct weft_odp_queue;
struct weft_region;
struct weft_sge;

/**
 * struct weft_region_table - the keys of a device
 * @xa: key index (key >> 8) to struct weft_region
 * @next: where the cyclic search for a free index goes on; a key that was
 *	just freed must not come back soon. Under the lock of @xa.
 * @newest: the newest region for each value of the low bits of the key index:
 *	most lookups end here. Written under the lock of @xa.
 */
struct weft_region_table {
	struct xarray	xa;
	u32		next;
	struct weft_region __rcu *newest[WEFT_NEWEST_REGIONS];
};

/**
 * struct weft_piece - a piece of a region's memory
 * @start: bytes of the region before it
 * @addr: kernel address
 */
struct weft_piece {
	u64	start;
	void	*addr;
};

/**
 * enum weft_region_kind - what a key belongs to
 * @WEFT_REGION_MR: a memory region
 * @WEFT_REGION_MW1: a memory window of type 1, bound or not
 * @WEFT_REGION_MW2: a memory window of type 2 (2B), bound or not
 * @WEFT_REGION_FASTREG: a memory region for fast registration, valid or not
 * @WEFT_REGION_PINNED: no key's: pages of an ODP region, for a message (mem/odp_pins.h)
 * @WEFT_REGION_NULL: what WEFT_NULL_KEY names (mem/null.h)
 */
enum weft_region_kind {
	WEFT_REGION_MR		= 0,
	WEFT_REGION_MW1		= 1,
	WEFT_REGION_MW2		= 2,
	WEFT_REGION_FASTREG	= 3,
	WEFT_REGION_PINNED	= 4,
	WEFT_REGION_NULL	= 5,
};

/*
 * The blocks of an ODP region, or of one without a byte. There are none, and no access may get
 * so far; one that did would fault instead of taking a process's address for the kernel's.
 */
#define WEFT_NO_BLOCKS		((void **)ZERO_SIZE_PTR)
#define WEFT_NO_BLOCKS_SHIFT	63

/**
 * struct weft_region - memory that a key names
 *
 * Immutable from weft_region_publish() on, but @refs, @bound and @replaced.
 * To change a region its owner makes a successor and replaces it. One for fast
 * registration changes while it has no reference (mem/fastreg.h).
 *
 * @refs: one for the owner, one for each user in flight
 * @key: index << 8 | low bits
 * @access: enum ib_access_flags granted
 * @qpn: a type 2 memory window: the only QP that may use it; else 0
 * @pd: identity of the protection domain, never dereferenced
 * @iova: first address
 * @length: bytes from @iova; 0: a memory window that is not bound, or a region of nothing
 * @mm: ODP (on-demand paging): whose memory it is; kept by the memory region, a
 *	memory window borrows it; NULL: the memory is always there
 * @tgid: ODP: the process that had @mm then, with a reference of the memory region's;
 *	a memory window has none
 * @odp_queue: ODP: where what waits for pages does so, of the process's context; NULL: where
 *	all do that have no context
 * @base: address (modulo 2^64) of the first byte of the first block; of an ODP region
 *	what the process calls address 0
 * @blocks: kernel address of each block of 1 << @page_shift bytes, of pages that
 *	a reference keeps; NULL without @pieces: an address is a kernel address as
 *	it is (DMA region). Belongs to the memory region, a memory window borrows it.
 * @page_shift: log2 of the size of a block
 * @num_pieces: number of @pieces
 * @pieces: in place of @blocks, ascending, the first one from @iova on; for a list
 *	with gaps, or memory that is in one piece
 * @kind: what @key belongs to
 * @bound: memory windows bound to it; negative: no more may be
 * @replaced: a successor has the key; under the lock of @table
 * @parent: a bound memory window: the region it opens, with a reference; the same of
 *	pinned pages
 * @fastreg: WEFT_REGION_FASTREG: what is registered next
 * @table: where it is published
 * @idle: completed when the last reference is gone
 * @rcu: freed after a grace period
 */
struct weft_region {
	refcount_t		refs;
	u32			key;
	u32			access;
	u32			qpn;
	const void		*pd;
	u64			iova;
	u64			length;
	struct mm_struct	*mm;
	struct pid		*tgid;
	struct weft_odp_queue	*odp_queue;
	u64			base;
	void			**blocks;
	u32			page_shift;
	u32			num_pieces;
	struct weft_piece	*pieces;
	enum weft_region_kind	kind;
	atomic_t		bound;
	bool			replaced;
	struct weft_region	*parent;
	struct weft_fastreg	*fastreg;
	struct weft_region_table *table;
	struct completion	idle;
	struct rcu_head		rcu;
};

/**
 * struct weft_span - a checked piece of memory
 * @region: referenced; NULL: @addr is a kernel address that needs no reference
 * @addr: address within @region
 * @length: bytes
 */
struct weft_span {
	struct weft_region	*region;
	u64			addr;
	u64			length;
};

/**
 * struct weft_accessor - on whose behalf memory is accessed
 * @table: keys of the device
 * @pd: protection domain of the QP
 * @qpn: the QP, for type 2 memory windows
 * @kernel: may use the local DMA key (0), an address being a kernel address
 */
struct weft_accessor {
	struct weft_region_table *table;
	const void		*pd;
	u32			qpn;
	bool			kernel;
};

/**
 * weft_region_table_init - make an empty table
 * @table: of a device
 */
void weft_region_table_init(struct weft_region_table *table);

/**
 * weft_region_table_destroy - free what an empty table holds
 * @table: of a device, without regions
 */
void weft_region_table_destroy(struct weft_region_table *table);

/**
 * weft_region_alloc - make a region and reserve a key for it
 * @table: of the device
 * @gfp: allocation flags
 *
 * The index is new, the low eight bits are arbitrary. The rest is 0: a memory
 * region without rights. Lookups do not find it before weft_region_publish().
 *
 * Context: process, interrupts enabled.
 * Return: the region, or ERR_PTR(-ENOMEM).
 */
struct weft_region *weft_region_alloc(struct weft_region_table *table, gfp_t gfp);

/**
 * weft_region_publish - let lookups find a region
 * @region: from weft_region_alloc(), filled in
 */
void weft_region_publish(struct weft_region *region);

/**
 * weft_region_successor - make a region that can take a key over
 * @old: referenced
 * @gfp: allocation flags
 *
 * The copy has neither users nor windows nor a parent. Whoever made it may
 * change it until weft_region_replace().
 *
 * Return: the region, or NULL.
 */
struct weft_region *weft_region_successor(const struct weft_region *old, gfp_t gfp);

/**
 * weft_region_replace - let lookups find a successor in place of a region
 * @old: referenced
 * @new: from weft_region_successor(@old), filled in; the low eight bits of
 *	its key may differ
 *
 * At most one of several callers replaces @old. It then owns @old and drops
 * it by weft_region_kill() or weft_region_retire().
 *
 * Context: any.
 * Return: true; false: @old is not published any more.
 */
bool weft_region_replace(struct weft_region *old, struct weft_region *new);

/**
 * weft_region_kill - unpublish, wait for the last access to end, free
 * @region: a memory region that the caller owns: published, or replaced, or
 *	never published, or ended (mem/fastreg.h); freed after a grace period
 *
 * Does not free @region->blocks.
 *
 * Context: process, may sleep.
 */
void weft_region_kill(struct weft_region *region);

/**
 * weft_region_withdraw - unpublish a memory window, give up its key
 * @table: of the device
 * @key: a key the window had; the low eight bits may be outdated
 *
 * Context: any.
 * Return: the region that was published, now owned by the caller, or NULL.
 */
struct weft_region *weft_region_withdraw(struct weft_region_table *table, u32 key);

/**
 * weft_region_retire - drop a memory window without waiting
 * @region: of a window, owned by the caller: replaced, withdrawn, or a
 *	successor that was not used
 *
 * The window no longer counts as bound. The memory goes when the last access
 * ends, and with it the reference to the parent.
 *
 * Context: any.
 */
void weft_region_retire(struct weft_region *region);

/**
 * weft_region_bind - count a memory window as bound
 * @region: a memory region, referenced
 *
 * Undone by weft_region_retire() of the window.
 *
 * Return: true; false: the region is about to go or to change.
 */
bool weft_region_bind(struct weft_region *region);

/**
 * weft_region_seal - keep memory windows from being bound from now on
 * @region: a memory region
 *
 * Return: true; false: windows are bound.
 */
bool weft_region_seal(struct weft_region *region);

/**
 * weft_region_get - look a key up
 * @table: of the device
 * @key: all 32 bits must match
 *
 * Return: the region with a reference, or NULL.
 */
struct weft_region *weft_region_get(struct weft_region_table *table, u32 key);

/**
 * weft_region_get_by_index - look up what a key once named
 * @table: of the device
 * @key: the low eight bits, which the consumer chooses, do not matter
 *
 * Return: the region with a reference, or NULL.
 */
struct weft_region *weft_region_get_by_index(struct weft_region_table *table,
					     u32 key);

/**
 * weft_region_peek - the same without a reference
 * @table: of the device
 * @key: see weft_region_get_by_index()
 *
 * Context: rcu_read_lock() is held, for as long as the result is used.
 * Return: the region, which may be without references, or NULL.
 */
struct weft_region *weft_region_peek(struct weft_region_table *table, u32 key);

/* The last reference is gone: see weft_region_put(). */
void weft_region_last_put(struct weft_region *region);

/**
 * weft_region_put - drop a reference
 * @region: may be NULL
 */
static inline void weft_region_put(struct weft_region *region)
{
	if (region && refcount_dec_and_test(&region->refs))
		weft_region_last_put(region);
}

/**
 * weft_region_contains - whether a piece of memory is inside a region
 * @region: any
 * @addr: first byte
 * @length: bytes
 *
 * Return: true when it is, down to the last byte. No sum is made, so nothing
 * can wrap: a region never does.
 */
static inline bool weft_region_contains(const struct weft_region *region,
					u64 addr, u64 length)
{
	return length <= region->length &&
	       addr - region->iova <= region->length - length;
}

/**
 * weft_region_resolve - check an access and pin what it needs
 * @who: on whose behalf
 * @key: lkey or rkey
 * @addr: first byte
 * @length: bytes; 0 always succeeds, without a look at the key (IBA o9-37)
 * @access: all the enum ib_access_flags the access needs; 0 for a local read
 * @span: result; weft_region_put(span->region) when done
 *
 * A memory window is refused for local access (@access without a REMOTE flag)
 * and, when it is of type 2, for every QP but the one it is bound to. The
 * local DMA key is refused for remote access, and so is WEFT_NULL_KEY.
 *
 * The reference keeps ib_dereg_mr() waiting: hold it for a copy, never while
 * waiting for a peer.
 *
 * Context: any.
 * Return: 0; -EINVAL: no such key, wrong protection domain, wrong QP of a
 * window; -EACCES: right not granted; -ERANGE: outside the region; -EFAULT: none of
 * these, but the region is ODP: weft_region_resolve_odp() and then mem/odp_pins.h.
 */
int weft_region_resolve(const struct weft_accessor *who, u32 key, u64 addr,
			u64 length, u32 access, struct weft_span *span);

/* The part of weft_region_resolve() that is about keys that no region has. */
int weft_region_resolve_null(u32 key, u32 access, struct weft_span *span);

/**
 * weft_region_resolve_odp - check an access to a region that may be odp
 * @who: see weft_region_resolve()
 * @key: see weft_region_resolve()
 * @addr: see weft_region_resolve()
 * @length: see weft_region_resolve()
 * @access: see weft_region_resolve()
 * @span: result. When its region has an @mm, nothing is there to be accessed until
 *	weft_odp_pins_attach().
 *
 * Context: any.
 * Return: see weft_region_resolve(), but never -EFAULT.
 */
int weft_region_resolve_odp(const struct weft_accessor *who, u32 key, u64 addr,
			    u64 length, u32 access, struct weft_span *span);

/**
 * weft_region_resolve_all - the same for all that a key names
 * @who: on whose behalf
 * @key: rkey
 * @access: all the enum ib_access_flags the access needs
 * @span: result; weft_region_put(span->region) when done. When its region has an @mm,
 *	nothing is there to be accessed.
 *
 * Context: any.
 * Return: 0; -EINVAL, -EACCES: see weft_region_resolve().
 */
int weft_region_resolve_all(const struct weft_accessor *who, u32 key, u32 access,
			    struct weft_span *span);

/**
 * weft_region_at_piece - weft_region_at() of a region that is made of pieces
 * @region: the region
 * @addr: address within the region
 * @contiguous: result: bytes that follow in one piece
 *
 * Return: kernel address.
 */
void *weft_region_at_piece(const struct weft_region *region, u64 addr, u64 *contiguous);

/**
 * weft_region_at_block - weft_region_at() of a region that is made of blocks
 * @region: the region
 * @addr: address within the region
 * @contiguous: result: bytes that follow in one piece
 *
 * Return: kernel address.
 */
static __always_inline void *weft_region_at_block(const struct weft_region *region, u64 addr,
						  u64 *contiguous)
{
	u64 offset = addr - region->base, block = 1ULL << region->page_shift;

	*contiguous = block - (offset & (block - 1));
	return region->blocks[offset >> region->page_shift] + (offset & (block - 1));
}

/**
 * weft_region_at - where a byte of a span's memory is
 * @span: resolved
 * @addr: address within the span
 * @contiguous: result: bytes that follow in one piece, may exceed the span
 *
 * Return: kernel address.
 */
static inline void *weft_region_at(const struct weft_span *span, u64 addr,
				   u64 *contiguous)
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
