/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets for a requester or responder that cannot be processed now: another task owns its turn, or
 * the first packet waits for ODP memory.
 *
 * The memory is charged to nobody: who sends the packets does not own it, and who receives them has
 * not asked for them yet. So each backlog has a little room of its own, which is in proportion to
 * the memory that its QP is charged for, and all share the rest, of which one gets at most a part.
 */
#ifndef WEFT_OBJECT_BACKLOG_H
#define WEFT_OBJECT_BACKLOG_H

#include <linux/skbuff.h>

/**
 * struct weft_backlog - packets in the order in which they came
 * @queue: the packets
 * @bytes: of memory in use; under the lock of @queue
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

/* A racy answer is harmless: a task that queues a packet posts an event afterwards. */
static inline bool weft_backlog_is_empty(const struct weft_backlog *backlog)
{
	return skb_queue_empty_lockless(&backlog->queue);
}

/* When the module is loaded. Return: 0 or -errno. */
int weft_backlog_setup(void);
void weft_backlog_exit(void);

/* Put a packet at the end. Return: false: there is no room, and it stays the caller's. */
bool weft_backlog_add(struct weft_backlog *backlog, struct sk_buff *skb);

/* Put a packet at the head, without a limit: so it is never lost. */
void weft_backlog_push(struct weft_backlog *backlog, struct sk_buff *skb);

/* Take the first packet out. Return: NULL: there is none. */
struct sk_buff *weft_backlog_take(struct weft_backlog *backlog);

/* Free all packets. */
void weft_backlog_purge(struct weft_backlog *backlog);

#endif /* WEFT_OBJECT_BACKLOG_H */
