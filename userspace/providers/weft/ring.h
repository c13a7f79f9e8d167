/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access to the rings shared with the kernel.
 *
 * All ordering between the two sides is in this file. Every barrier carries the
 * letter that it has in the proof at the top of rdma/weft-abi.h. A process that
 * corrupts its own mappings can only harm itself, so values that are read here
 * are not checked.
 */
#ifndef WEFT_RING_H
#define WEFT_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/weft-abi.h>

#include "map.h"

/**
 * struct weft_ring - a mapped ring
 * @hdr: header; never NULL, see weft_ring_absent() and weft_ring_lost()
 * @slots: first entry
 * @entries: power of two, 0 if the ring is absent or lost
 * @mask: @entries - 1
 * @stride: bytes from one entry to the next
 * @map: its memory, NULL if it has none
 */
struct weft_ring {
	struct weft_ring_hdr *hdr;
	uint8_t *slots;
	uint32_t entries;
	uint32_t mask;
	uint32_t stride;
	struct weft_map *map;
};

/*
 * Set up a ring in mapped memory, as the kernel has described it in @where. The
 * ring takes a reference to @map. A ring of size 0 becomes absent.
 */
void weft_ring_place(struct weft_ring *ring, struct weft_map *map,
		     const struct weft_ring_resp *where);

/*
 * Map a ring that has memory of its own. @fd is the command file descriptor of
 * the context. A ring of size 0 becomes absent. Returns 0, ENOMEM, or the errno
 * of mmap(); after an error @ring is unchanged.
 */
int weft_ring_map(struct weft_ring *ring, int fd,
		  const struct weft_ring_resp *where);

/*
 * Unmap a ring and map another one in its place. After an error, as above, the
 * ring is lost.
 */
int weft_ring_replace(struct weft_ring *ring, int fd,
		      const struct weft_ring_resp *where);

/* Make a ring without entries, such as the receive queue of a QP with an SRQ. */
void weft_ring_absent(struct weft_ring *ring);

/* Make a ring without entries that is marked dead: it no longer reaches the kernel. */
void weft_ring_lost(struct weft_ring *ring);

/* The ring is absent afterwards. */
void weft_ring_unmap(struct weft_ring *ring);

/* The words in the uapi header are plain; only this file accesses them, as atomics. */
typedef _Atomic(uint32_t) weft_word;

static_assert(sizeof(weft_word) == sizeof(__u32), "a shared word has no lock");

static inline void *weft_ring_slot(const struct weft_ring *ring, uint32_t index)
{
	return ring->slots + (size_t)(index & ring->mask) * ring->stride;
}

/*
 * The index behind the last entry of a completion queue. (Of the other queues this
 * side itself has published it.)
 *
 * A, pairs with B: this side sees the entries before the index that it sees.
 */
static inline uint32_t weft_ring_producer(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->producer,
				    memory_order_acquire);
}

/*
 * Pass the entries of a send or receive queue before index @producer to the
 * kernel.
 *
 * B, pairs with A: the entries are complete before the kernel sees the index.
 */
static inline void weft_ring_publish(const struct weft_ring *ring,
				     uint32_t producer)
{
	atomic_store_explicit((weft_word *)&ring->hdr->producer, producer,
			      memory_order_release);
}

/*
 * Give the slots of a completion queue before index @consumer back to the
 * kernel.
 *
 * C, pairs with D: the entries have been read before their slots are free.
 */
static inline void weft_ring_release(const struct weft_ring *ring,
				     uint32_t consumer)
{
	atomic_store_explicit((weft_word *)&ring->hdr->consumer, consumer,
			      memory_order_release);
}

/*
 * The index of the next entry that the kernel will read from the queue of an
 * SRQ. (Of a CQ this side itself has published it.)
 *
 * D, pairs with C: the kernel has read the slots before they are reused.
 */
static inline uint32_t weft_ring_consumer(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->consumer,
				    memory_order_acquire);
}

/*
 * The flags, after weft_ring_publish(): does the kernel need a doorbell?
 *
 * F, pairs with G: either the kernel finds the entries, or this side finds the
 * flag. B alone is not enough, as the load of the flags could pass it.
 */
static inline uint32_t
weft_ring_flags_after_publish(const struct weft_ring *ring)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_relaxed);
}

/*
 * The flags, to check for DEAD. Relaxed: DEAD never goes away, and no data that
 * the kernel wrote before it is read because of it.
 */
static inline uint32_t weft_ring_flags(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_relaxed);
}

/*
 * The flags of a completion queue, before a last look for entries. The kernel
 * stores DEAD and OVERRUN after the last index that it publishes: if one of them
 * is set here and then there is no entry, there will never be one.
 */
static inline uint32_t weft_ring_flags_final(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_acquire);
}

/*
 * Request an event for the next completion, or the next solicited one.
 *
 * H, pairs with I: either the kernel finds the ring armed, or the caller's next
 * poll finds the completion. A request for solicited completions does not
 * replace one for any completion; only the kernel clears the word, by an
 * exchange.
 */
static inline void weft_ring_arm(const struct weft_ring *ring,
				 enum weft_ring_arm how)
{
	weft_word *arm = (weft_word *)&ring->hdr->arm;
	uint32_t unarmed = WEFT_ARM_NONE;

	if (how == WEFT_ARM_ANY)
		atomic_store_explicit(arm, how, memory_order_relaxed);
	else
		atomic_compare_exchange_strong_explicit(arm, &unarmed, how,
							memory_order_relaxed,
							memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * The slots of a QP's queue before @index are free again. @word is private to
 * the process.
 *
 * C and D for the queues of a QP. Their slots become free when the completion
 * has been polled, as on hardware, and not when the kernel has read the entry.
 * The kernel read the entry before it published the completion (B of the
 * completion queue); the poller acquired that (A), and passes it on to the
 * poster by this release and the acquire below.
 */
static inline void weft_word_release(weft_word *word, uint32_t index)
{
	atomic_store_explicit(word, index, memory_order_release);
}

static inline uint32_t weft_word_acquire(weft_word *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

#endif /* WEFT_RING_H */
