/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queues that the consumer posts to: the send and the receive queue of a QP and
 * the receive queue of an SRQ.
 */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <util/compiler.h>

#include "ring.h"

/**
 * struct weft_lock - a lock that is left out when the caller serialises
 * @held: only set when @needed
 * @needed: immutable; false in a thread domain or a single threaded CQ
 *
 * It spins, and is inline: a post and a poll take one each, as a rule without
 * anybody else there.
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

/**
 * weft_lock_wait - take a lock that somebody has
 * @lock: is needed
 */
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

/* One store is less than to ask whether it is needed. */
static inline void weft_unlock(struct weft_lock *lock)
{
	atomic_store_explicit(&lock->held, false, memory_order_release);
}

/**
 * struct weft_doorbell - how to reach the kernel
 * @fd: file descriptor of the context
 * @cmd: WEFT_DOORBELL_SEND or WEFT_DOORBELL_RECV
 * @qpn: number of the QP
 */
struct weft_doorbell {
	int fd;
	unsigned long cmd;
	unsigned long qpn;
};

/**
 * struct weft_queue - a queue that the consumer posts to
 * @ring: shared with the kernel; changed and looked at with @lock held
 * @lock: protects @producer, @limit and the slots from @producer on
 * @producer: next index to write; published when a post is complete
 * @limit: no slot is free from here on, as far as is known
 * @max_sge: of a work request; immutable
 * @released: no slot before this index is in use; stored by the poller of the
 *	completions. Not used by an SRQ, whose kernel side says so in the ring.
 * @doorbell: not used by an SRQ; immutable
 */
struct weft_queue {
	struct weft_ring ring;
	struct weft_lock lock;
	uint32_t producer;
	uint32_t limit;
	uint32_t max_sge;
	weft_word released;
	struct weft_doorbell doorbell;
};

/**
 * weft_queue_init - prepare a queue
 * @queue: zeroed but for its ring and its doorbell
 * @max_sge: of a work request
 * @locked: several threads may post
 */
void weft_queue_init(struct weft_queue *queue, uint32_t max_sge, bool locked);

/**
 * weft_queue_restart - take the position from the ring
 * @queue: its lock is held, or nobody else knows it
 *
 * All slots of the queue of a QP are free afterwards.
 */
void weft_queue_restart(struct weft_queue *queue);

/**
 * weft_queue_replace - go on in another ring
 * @queue: of a QP, locked
 * @cmd_fd: of the context
 * @where: ring with all that is in the old one and not complete, and with as
 *	many entries as there are slots in use; of size 0: the old one stays
 *
 * Return: 0, or the errno of mmap(): the queue is lost.
 */
int weft_queue_replace(struct weft_queue *queue, int cmd_fd,
		       const struct weft_ring_resp *where);

/**
 * weft_queue_destroy - undo weft_queue_init(), and give the ring up
 * @queue: nobody uses it any more
 */
void weft_queue_destroy(struct weft_queue *queue);

/**
 * weft_queue_ring - ring the doorbell
 * @queue: its lock is not held: the kernel may execute what was posted
 */
void weft_queue_ring(struct weft_queue *queue);

/**
 * weft_queue_full - whether a queue of a QP has no free slot
 * @queue: locked
 *
 * The word that the poller stores to is only looked at when room runs out.
 */
static inline bool weft_queue_full(struct weft_queue *queue)
{
	if (likely(queue->producer != queue->limit))
		return false;

	queue->limit = weft_word_acquire(&queue->released) +
		       queue->ring.entries;
	return queue->producer == queue->limit;
}

/**
 * weft_queue_full_srq - whether the queue of an SRQ has no free slot
 * @queue: locked
 *
 * Its entries are taken in any QP's favour: the kernel says how far.
 */
static inline bool weft_queue_full_srq(struct weft_queue *queue)
{
	if (likely(queue->producer != queue->limit))
		return false;

	queue->limit = weft_ring_consumer(&queue->ring) + queue->ring.entries;
	return queue->producer == queue->limit;
}

/**
 * weft_queue_used - slots of a queue of a QP that are in use
 * @queue: locked
 */
static inline uint32_t weft_queue_used(struct weft_queue *queue)
{
	return queue->producer - weft_word_acquire(&queue->released);
}

/**
 * weft_queue_dead - whether nothing posted is ever executed
 * @queue: any
 */
static inline bool weft_queue_dead(const struct weft_queue *queue)
{
	return unlikely(weft_ring_flags(&queue->ring) & WEFT_RING_DEAD);
}

/**
 * weft_queue_commit - publish what was written, unlock, and tell the kernel
 * @queue: of a QP, locked; not any more afterwards
 * @first: index of the first entry that is not published yet
 *
 * This does not fail. If the device dies from here on, the work requests were
 * posted to one that died: there is no completion, as there would be none a
 * moment later, and the CQ and the asynchronous event say why. An error now
 * would say that they were not executed, and that nobody knows.
 */
static inline void weft_queue_commit(struct weft_queue *queue, uint32_t first)
{
	uint32_t last = queue->producer;
	uint32_t flags;

	if (unlikely(first == last)) {
		weft_unlock(&queue->lock);
		return;
	}

	weft_ring_publish(&queue->ring, last);
	/* with the lock held: without it a resize may take the ring away */
	flags = weft_ring_flags_after_publish(&queue->ring);
	weft_unlock(&queue->lock);

	if (flags & WEFT_RING_NEED_DOORBELL && !(flags & WEFT_RING_DEAD))
		weft_queue_ring(queue);
}

#endif /* WEFT_QUEUE_H */
