/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Access to the rings shared with the kernel.
 *
 * Ordering between the two sides exists in this file and nowhere else. Every
 * barrier carries the letter it has in the proof at the top of
 * rdma/weft-abi.h. The process owns these mappings: it can only harm itself
 * with them, so what is read here is not checked.
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
 * @entries: power of two, 0 when there is no ring
 * @mask: @entries - 1
 * @stride: bytes from one entry to the next
 * @map: its memory, NULL when it has none
 */
struct weft_ring {
	struct weft_ring_hdr *hdr;
	uint8_t *slots;
	uint32_t entries;
	uint32_t mask;
	uint32_t stride;
	struct weft_map *map;
};

/**
 * weft_ring_place - a ring in memory that is mapped
 * @ring: takes a reference to @map, unless it is absent
 * @map: the memory
 * @where: what the kernel said; a ring of size 0 becomes an absent one
 */
void weft_ring_place(struct weft_ring *ring, struct weft_map *map,
		     const struct weft_ring_resp *where);

/**
 * weft_ring_map - map a ring that has memory of its own
 * @ring: written on success only
 * @fd: command file descriptor of the context
 * @where: what the kernel said; a ring of size 0 becomes an absent one
 *
 * Return: 0, ENOMEM, or the errno of mmap().
 */
int weft_ring_map(struct weft_ring *ring, int fd,
		  const struct weft_ring_resp *where);

/**
 * weft_ring_replace - map a ring in place of another one
 * @ring: unmapped in any case; lost when the new one cannot be mapped
 * @fd: command file descriptor of the context
 * @where: the new ring
 *
 * Return: 0, ENOMEM, or the errno of mmap().
 */
int weft_ring_replace(struct weft_ring *ring, int fd,
		      const struct weft_ring_resp *where);

/**
 * weft_ring_absent - make a ring that has no entries
 * @ring: receive queue of a QP that uses an SRQ, for instance
 */
void weft_ring_absent(struct weft_ring *ring);

/**
 * weft_ring_lost - make a ring without entries that looks dead
 * @ring: the kernel can no longer be reached through it
 */
void weft_ring_lost(struct weft_ring *ring);

/**
 * weft_ring_unmap - undo weft_ring_map()
 * @ring: absent afterwards
 */
void weft_ring_unmap(struct weft_ring *ring);

/* The uapi header has plain words; nothing but this file touches them. */
typedef _Atomic(uint32_t) weft_word;

static_assert(sizeof(weft_word) == sizeof(__u32), "a shared word has no lock");

static inline void *weft_ring_slot(const struct weft_ring *ring, uint32_t index)
{
	return ring->slots + (size_t)(index & ring->mask) * ring->stride;
}

/**
 * weft_ring_producer - index behind the last entry
 * @ring: completion queue; of the others, what this side published itself
 *
 * A, pairs with B: whoever sees the index sees the entries before it.
 */
static inline uint32_t weft_ring_producer(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->producer,
				    memory_order_acquire);
}

/**
 * weft_ring_publish - give entries to the kernel
 * @ring: send or receive queue
 * @producer: index behind the last one
 *
 * B, pairs with A: the entries are complete before the index says so.
 */
static inline void weft_ring_publish(const struct weft_ring *ring,
				     uint32_t producer)
{
	atomic_store_explicit((weft_word *)&ring->hdr->producer, producer,
			      memory_order_release);
}

/**
 * weft_ring_release - give slots back to the kernel
 * @ring: completion queue
 * @consumer: index of the next entry to be read
 *
 * C, pairs with D: the entries have been read before their slots are free.
 */
static inline void weft_ring_release(const struct weft_ring *ring,
				     uint32_t consumer)
{
	atomic_store_explicit((weft_word *)&ring->hdr->consumer, consumer,
			      memory_order_release);
}

/**
 * weft_ring_consumer - index of the next entry the kernel will read
 * @ring: receive queue of an SRQ; of a CQ, what this side released itself
 *
 * D, pairs with C: the kernel is done with the slots before they are reused.
 */
static inline uint32_t weft_ring_consumer(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->consumer,
				    memory_order_acquire);
}

/**
 * weft_ring_flags_after_publish - what the kernel wants to be told
 * @ring: that was published to
 *
 * F, pairs with G: either the kernel finds the entries, or its flag is found
 * here. B alone is not enough, the load of the flags would be free to pass it.
 */
static inline uint32_t
weft_ring_flags_after_publish(const struct weft_ring *ring)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_relaxed);
}

/**
 * weft_ring_flags - what the kernel has said so far
 * @ring: any
 *
 * Relaxed: DEAD stays set once it is, and nothing that the kernel wrote before
 * is read because of it.
 */
static inline uint32_t weft_ring_flags(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_relaxed);
}

/**
 * weft_ring_flags_final - flags, before a last look at the ring
 * @ring: completion queue
 *
 * The kernel stores DEAD and OVERRUN after the last index that it publishes:
 * who finds one here and then no entry will never find one.
 */
static inline uint32_t weft_ring_flags_final(const struct weft_ring *ring)
{
	return atomic_load_explicit((weft_word *)&ring->hdr->flags,
				    memory_order_acquire);
}

/**
 * weft_ring_arm - ask for an event
 * @ring: completion queue
 * @how: which completions raise it
 *
 * H, pairs with I: either the kernel finds the ring armed, or the caller's next
 * poll finds the completion. A request for solicited completions leaves one for
 * any completion standing; only the kernel clears the word, by an exchange.
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

/**
 * weft_word_release - slots of a QP's queue are free again
 * @word: private to the process
 * @index: no slot before it is in use
 *
 * C and D of the queues of a QP. Their slots are free when the completion has
 * been polled, as on hardware, and not when the kernel has read the entry. The
 * kernel read it before it published the completion (B of the completion
 * queue); the poller acquired that (A) and hands it on by this pair.
 */
static inline void weft_word_release(weft_word *word, uint32_t index)
{
	atomic_store_explicit(word, index, memory_order_release);
}

/**
 * weft_word_acquire - see weft_word_release()
 * @word: the same
 */
static inline uint32_t weft_word_acquire(weft_word *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

#endif /* WEFT_RING_H */
