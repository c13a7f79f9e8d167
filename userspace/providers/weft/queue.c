/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */

#include "queue.h"

#include <errno.h>
#include <sys/ioctl.h>

/* Leave the core to its other hardware threads, which may include the holder of the lock. */
static inline void weft_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

void weft_lock_wait(struct weft_lock *lock)
{
	do {
		/* loads only: exchanges would take the cache line from the holder */
		while (atomic_load_explicit(&lock->held, memory_order_relaxed))
			weft_cpu_relax();
	} while (!weft_lock_try(lock));
}

void weft_queue_init(struct weft_queue *queue, uint32_t max_sge, bool locked)
{
	queue->max_sge = max_sge;
	weft_lock_init(&queue->lock, locked);
	weft_queue_restart(queue);
}

void weft_queue_restart(struct weft_queue *queue)
{
	queue->producer = weft_ring_producer(&queue->ring);
	queue->limit = queue->producer;
	weft_word_release(&queue->released, queue->producer);
}

int weft_queue_replace(struct weft_queue *queue, int cmd_fd,
		       const struct weft_ring_resp *where)
{
	int ret;

	if (!where->mmap_size)
		return 0;

	ret = weft_ring_replace(&queue->ring, cmd_fd, where);
	/* the index continues; weft_queue_full() computes the limit again */
	queue->limit = queue->producer;
	return ret;
}

void weft_queue_destroy(struct weft_queue *queue)
{
	weft_ring_unmap(&queue->ring);
}

/*
 * The kernel does not have the QP any more, because the device is going away or
 * the program has closed the doorbell descriptor. The published work requests
 * may have been executed in part, so they count as posted. No others will be
 * accepted.
 */
static void queue_cut_off(struct weft_queue *queue)
{
	weft_lock(&queue->lock);
	weft_ring_lost(&queue->ring);
	weft_unlock(&queue->lock);
}

int weft_queue_ask(const struct weft_queue *queue)
{
	const struct weft_doorbell *doorbell = &queue->doorbell;
	int ret = ioctl(doorbell->fd, doorbell->ask, doorbell->qpn);

	/* what is wrong with the doorbell weft_queue_ring() finds out */
	return ret > 0 ? ret : 0;
}

void weft_queue_ring(struct weft_queue *queue)
{
	const struct weft_doorbell *doorbell = &queue->doorbell;
	int ret;

	do
		ret = ioctl(doorbell->fd, doorbell->cmd, doorbell->qpn);
	while (unlikely(ret) && errno == EINTR);

	if (unlikely(ret))
		queue_cut_off(queue);
}
