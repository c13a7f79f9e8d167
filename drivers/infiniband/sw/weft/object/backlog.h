/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that wait for a half: its turn is somebody else's, or the first of them waits for
 * memory. engine/pkt.h puts them in and takes them out.
 */
#ifndef WEFT_OBJECT_BACKLOG_H
#define WEFT_OBJECT_BACKLOG_H

#include <linux/skbuff.h>

/**
 * struct weft_backlog - the queue
 * @queue: the packets, in order
 * @bytes: of memory that they take; under the lock of @queue
 */
struct weft_backlog {
	struct sk_buff_head	queue;
	u32			bytes;
};

static inline void weft_backlog_init(struct weft_backlog *backlog)
{
	skb_queue_head_init(&backlog->queue);
	backlog->bytes = 0;
}

/* Racy: who puts a packet in posts an event after it. */
static inline bool weft_backlog_is_empty(const struct weft_backlog *backlog)
{
	return skb_queue_empty_lockless(&backlog->queue);
}

static inline void weft_backlog_purge(struct weft_backlog *backlog)
{
	struct sk_buff_head packets;
	unsigned long flags;

	__skb_queue_head_init(&packets);
	spin_lock_irqsave(&backlog->queue.lock, flags);
	skb_queue_splice_init(&backlog->queue, &packets);
	backlog->bytes = 0;
	spin_unlock_irqrestore(&backlog->queue.lock, flags);
	__skb_queue_purge(&packets);
}

#endif /* WEFT_OBJECT_BACKLOG_H */
