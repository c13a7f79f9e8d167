// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/backlog.h"

#include <linux/mm.h>
#include <linux/percpu_counter.h>

#include "params.h"

/* Bytes that a CPU counts by itself: most packets write no memory that CPUs share. */
#define BACKLOG_BATCH	SZ_256K

/* Bytes of memory of all packets in backlogs, and how many they may be. */
static struct percpu_counter backlog_total;
static s64 backlog_most;

int weft_backlog_setup(void)
{
	backlog_most = min_t(u64, WEFT_QUEUE_TOTAL_BYTES,
			     ((u64)totalram_pages() << PAGE_SHIFT) / WEFT_QUEUE_MEMORY_PART);
	return percpu_counter_init(&backlog_total, 0, GFP_KERNEL);
}

void weft_backlog_exit(void)
{
	percpu_counter_destroy(&backlog_total);
}

static void backlog_count(struct weft_backlog *backlog, s64 bytes)
{
	lockdep_assert_held(&backlog->queue.lock);
	backlog->bytes += bytes;
	percpu_counter_add_batch(&backlog_total, bytes, BACKLOG_BATCH);
}

static bool backlog_has_room(const struct weft_backlog *backlog, u32 bytes)
{
	s64 left = backlog_most - percpu_counter_read_positive(&backlog_total);
	s64 most = clamp_t(s64, left / WEFT_QUEUE_PART, WEFT_QUEUE_OWN_BYTES, WEFT_QUEUE_BYTES);

	/* one packet fits in any case, however large it is */
	return skb_queue_len(&backlog->queue) < WEFT_QUEUE_PACKETS &&
	       (!backlog->bytes || backlog->bytes + bytes <= most);
}

bool weft_backlog_add(struct weft_backlog *backlog, struct sk_buff *skb)
{
	struct sk_buff_head *queue = &backlog->queue;
	unsigned long flags;
	bool fits;

	spin_lock_irqsave(&queue->lock, flags);
	fits = backlog_has_room(backlog, skb->truesize);
	if (fits) {
		backlog_count(backlog, skb->truesize);
		__skb_queue_tail(queue, skb);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return fits;
}
WEFT_EXPORT_FOR_TEST(weft_backlog_add);

void weft_backlog_push(struct weft_backlog *backlog, struct sk_buff *skb)
{
	struct sk_buff_head *queue = &backlog->queue;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	backlog_count(backlog, skb->truesize);
	__skb_queue_head(queue, skb);
	spin_unlock_irqrestore(&queue->lock, flags);
}
WEFT_EXPORT_FOR_TEST(weft_backlog_push);

struct sk_buff *weft_backlog_take(struct weft_backlog *backlog)
{
	struct sk_buff_head *queue = &backlog->queue;
	struct sk_buff *skb;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	skb = __skb_dequeue(queue);
	if (skb)
		backlog_count(backlog, -(s64)skb->truesize);
	spin_unlock_irqrestore(&queue->lock, flags);
	return skb;
}
WEFT_EXPORT_FOR_TEST(weft_backlog_take);

void weft_backlog_purge(struct weft_backlog *backlog)
{
	struct sk_buff_head packets;
	unsigned long flags;

	__skb_queue_head_init(&packets);
	spin_lock_irqsave(&backlog->queue.lock, flags);
	skb_queue_splice_init(&backlog->queue, &packets);
	backlog_count(backlog, -(s64)backlog->bytes);
	spin_unlock_irqrestore(&backlog->queue.lock, flags);
	__skb_queue_purge(&packets);
}
WEFT_EXPORT_FOR_TEST(weft_backlog_purge);
