/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets for a requester or responder that cannot be processed now: another task owns its turn, or
 * the first packet waits for ODP memory. engine/pkt.h fills and empties a backlog.
 */
#ifndef WEFT_OBJECT_BACKLOG_H
#define WEFT_OBJECT_BACKLOG_H

#include <linux/skbuff.h>

struct weft_backlog {
	struct sk_buff_head	queue;
	u32			bytes;	/* of memory in use; under the lock of @queue */
};

static inline void weft_backlog_init(struct weft_backlog *backlog)
{
	skb_queue_head_init(&backlog->queue);
	backlog->bytes = 0;
}

/* A racy answer is harmless: a task that queues a packet posts an event afterwards. */
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
