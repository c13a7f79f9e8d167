/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queues that the consumer posts to: the send and the receive queue of a
 * QP, and the receive queue of an SRQ.
 */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"
#include "rdmacore/driver.h"
#include "ring.h"

/* The arguments of the doorbell ioctl, and of that which asks before a post. */
struct weft_doorbell {
	int fd;
	unsigned long cmd;
	unsigned long qpn;
	unsigned long ask;
};

/**
 * struct weft_queue - a queue that the consumer posts to
 * @ring: shared with the kernel; used and changed with @lock held
 * @posting: ask before each post, unless it is 0; see struct weft_posting
 * @lock: protects @producer, @limit and the slots from @producer on
 * @producer: next index to write; published when a post is complete
 * @limit: the queue is full at this index, unless @released has moved on
 * @max_sge: elements of a work request; immutable
 * @released: the slots before this index are free. The thread that polls the
 *	completions stores it. An SRQ uses the kernel's index in the ring instead.
 * @doorbell: not used by an SRQ; immutable
 */
struct weft_queue {
	struct weft_ring ring;
	const weft_word *posting;
	struct weft_lock lock;
	uint32_t producer;
	uint32_t limit;
	uint32_t max_sge;
	weft_word released;
	struct weft_doorbell doorbell;
};

/* The caller has set the ring, @posting and the doorbell. @locked: several threads may post. */
void weft_queue_init(struct weft_queue *queue, uint32_t max_sge, bool locked);

/*
 * Take the producer index from the header of the ring, and consider all slots of
 * a QP's queue free. The queue is locked, or no other thread knows it.
 */
void weft_queue_restart(struct weft_queue *queue);

/*
 * Continue in another ring, to which the kernel has copied all work requests
 * that are not complete. It has at least as many entries as there are slots in
 * use. If its size is 0, the old ring stays. The queue is of a QP, and locked.
 * Returns 0, or the errno of mmap(): the ring is lost then.
 */
int weft_queue_replace(struct weft_queue *queue, int cmd_fd,
		       const struct weft_ring_resp *where);

/* Unmap the ring of a queue that is not used any more. */
void weft_queue_destroy(struct weft_queue *queue);

/*
 * Ring the doorbell. The queue is not locked, as the kernel may execute the
 * work requests before the ioctl returns.
 */
void weft_queue_ring(struct weft_queue *queue);

/*
 * Has a queue of a QP no free slot? The queue is locked. The word that the
 * poller stores to is only read when the known room is used up.
 */
static inline bool weft_queue_full(struct weft_queue *queue)
{
	if (likely(queue->producer != queue->limit))
		return false;

	queue->limit = weft_word_acquire(&queue->released) +
		       queue->ring.entries;
	return queue->producer == queue->limit;
}

/*
 * Has the queue of an SRQ no free slot? Its work requests complete on several QPs,
 * in any order, so the kernel's index in the ring tells which slots are free.
 */
static inline bool weft_queue_full_srq(struct weft_queue *queue)
{
	if (likely(queue->producer != queue->limit))
		return false;

	queue->limit = weft_ring_consumer(&queue->ring) + queue->ring.entries;
	return queue->producer == queue->limit;
}

/* The slots in use of a QP's queue, which is locked. */
static inline uint32_t weft_queue_used(struct weft_queue *queue)
{
	return queue->producer - weft_word_acquire(&queue->released);
}

/* Is the device gone, so that no further work request is ever executed? */
static inline bool weft_queue_dead(const struct weft_queue *queue)
{
	return unlikely(weft_ring_flags(&queue->ring) & WEFT_RING_DEAD);
}

/* Does a rule of weft-inject(8) for posts exist? */
static inline bool weft_queue_asks(const struct weft_queue *queue)
{
	return unlikely(atomic_load_explicit((weft_word *)queue->posting,
					     memory_order_relaxed));
}

/* The errno that a rule makes a post to the queue of a QP return, or 0. The queue is locked. */
int weft_queue_ask(const struct weft_queue *queue);

/*
 * Publish the entries from index @first on, unlock the queue of a QP, and ring
 * the doorbell if the kernel needs it.
 *
 * This does not fail. If the device dies from here on, the work requests have no
 * completions, just as if it had died a moment later, and the CQ and the
 * asynchronous event tell the reason. An error would mean that the work requests
 * were not executed, which is not known.
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
	/* before unlocking: afterwards a resize may unmap the ring */
	flags = weft_ring_flags_after_publish(&queue->ring);
	weft_unlock(&queue->lock);

	if (flags & WEFT_RING_NEED_DOORBELL && !(flags & WEFT_RING_DEAD))
		weft_queue_ring(queue);
}

#endif /* WEFT_QUEUE_H */
