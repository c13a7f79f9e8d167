/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Pages of ODP regions (on-demand paging), pinned for a message.
 *
 * A ODP region has no memory, it only says whose memory it names. Nothing of it is
 * kept anywhere, so there is nothing to invalidate: an access pins its pages first,
 * as O_DIRECT does, and lets go of them when its message is done. What munmap(),
 * fork(), mremap() or a truncated file mean for it follows from that.
 *
 * Such pins are short ones, which no limit of locked memory counts, so no process may make
 * them long. Pages that are pinned already are not kept while others are waited for
 * (pins_get_all()). Once all are, they stay for a good second, or until a copy that is under
 * way then has ended: after that pins_expire_worker() lets go of them, wherever the message
 * is. If the message goes on it finds none, and asks for them anew.
 *
 * To pin may take for ever (userfaultfd), so the owner of a turn never does it. It
 * writes down what it needs, hands that to a work item, and gives the turn back:
 *
 *	owner of the turn			work item
 *
 *	weft_odp_pins_alloc(), weft_odp_pins_add()
 *	weft_odp_pins_request()
 *						pins; PENDING becomes READY
 *						@done(): posts an event
 *	weft_odp_pins_attach()
 *	copy
 *	weft_region_put() of the spans:
 *	the last one lets go of the pins
 *						unpins, frees
 *
 * Who does not want the pages any more forgets them at any time and waits for nobody:
 * if the work item has begun, and is PENDING, it frees the pins when it is done; otherwise
 * another one is queued that does, and the first one never begins. The work item holds a
 * reference to the mm only, not to the region: ib_dereg_mr() does not wait for it. An
 * access refers to both, the region by way of the pinned pages, which are a region of
 * their own for as long as a span is attached.
 *
 * As it may take for ever, the work items run in queues (mem/odp_queue.h), those that let go of
 * pages as well.
 */
#ifndef WEFT_MEM_ODP_PINS_H
#define WEFT_MEM_ODP_PINS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "mem/odp_queue.h"
#include "mem/region.h"

struct weft_odp_pins;

/**
 * struct weft_odp_pin - pages that follow each other
 * @region: what a span that is attached refers to; without references when none is
 * @pins: which it is one of
 * @mm: whose pages
 * @start: address of the first page in @mm
 * @wanted: pages that are needed
 * @good: of these, pages that can be there, the first ones
 * @num: pages that are pinned, the first ones
 * @err: why not all are pinned, if some are missing
 * @write: may be written
 * @blocks: kernel address of each page
 */
struct weft_odp_pin {
	struct weft_region	region;
	struct weft_odp_pins	*pins;
	struct mm_struct	*mm;
	u64			start;
	u32			wanted;
	u32			good;
	u32			num;
	int			err;
	bool			write;
	void			**blocks;
};

/**
 * struct weft_odp_pins - all the pages that a message needs at a time
 *
 * Written by the owner of the turn, but @state; and @pin by the work item as long as it
 * is pending, or has expired.
 *
 * @state: enum pins_state
 * @holder: where the half keeps them; NULL is written there when they go
 * @item: pins, or unpins
 * @odp_queue: where it does, with a reference; NULL: where it is done for kernel consumers
 * @list: of all that are pinned, the oldest first
 * @until: when they are old, in jiffies
 * @seen_old: pins_expire_worker() has found them old before; its own
 * @done: called in a work item when it has pinned, or will not, whether somebody still
 *	wants it or not; @pins may be gone then
 * @arg: of @done
 * @users: spans that are attached
 * @keep: when no span is attached any more they are needed again
 * @max: entries of @pin
 * @num: entries in use
 * @pin: the pages
 */
struct weft_odp_pins {
	atomic_t		state;
	struct weft_odp_pins	**holder;
	struct weft_odp_work	item;
	struct weft_odp_queue	*odp_queue;
	struct list_head	list;
	unsigned long		until;
	bool			seen_old;
	void			(*done)(void *arg);
	void			*arg;
	u32			users;
	bool			keep;
	u32			max;
	u32			num;
	struct weft_odp_pin	pin[];
};

/**
 * weft_odp_pins_alloc - begin to write down what is needed
 * @max: pieces it may be
 *
 * Context: any.
 * Return: pins, not requested; or NULL.
 */
struct weft_odp_pins *weft_odp_pins_alloc(u32 max);

/**
 * weft_odp_pins_add - write a piece down
 * @pins: from weft_odp_pins_alloc(), with room
 * @region: ODP, referenced by the caller, who may drop it after weft_odp_pins_request()
 * @addr: first byte, within @region
 * @length: bytes, at least 1, at most WEFT_ODP_CHUNK
 * @write: to be written
 */
void weft_odp_pins_add(struct weft_odp_pins *pins, const struct weft_region *region, u64 addr,
		       u64 length, bool write);

/**
 * weft_odp_pins_request - have them pinned
 * @pins: written down
 * @holder: becomes @pins
 * @done: called when it has been done, or forgotten before, in process context
 * @arg: of @done
 */
void weft_odp_pins_request(struct weft_odp_pins *pins, struct weft_odp_pins **holder,
			   void (*done)(void *arg), void *arg);

/**
 * weft_odp_pins_attach - let a span have its pages
 * @pins: requested; NULL: none have been
 * @span: of an ODP region; refers to the pages afterwards
 * @addr: first byte that will be accessed, within the span
 * @length: bytes that will be, at least 1; no others may
 * @write: they will be written
 *
 * Return: 0; -EFAULT: these are not pinned, or not any more, and have not been asked for;
 * -EINPROGRESS: they have; it was tried, and they may not be accessed (-EACCES) or there was
 * no memory for them (-ENOMEM). @span is what it was unless 0.
 */
int weft_odp_pins_attach(struct weft_odp_pins *pins, struct weft_span *span, u64 addr, u64 length,
			 bool write);

/**
 * weft_odp_pins_detach - the last reference of a span to pinned pages is gone
 * @region: of a pin
 */
void weft_odp_pins_detach(struct weft_region *region);

/**
 * weft_odp_pins_forget - nobody wants them any more
 * @pins: requested, no span attached; NULL: nothing happens
 *
 * Context: any.
 */
void weft_odp_pins_forget(struct weft_odp_pins *pins);

/**
 * weft_odp_pins_pending - is it not known yet whether they can be pinned?
 * @pins: requested, or NULL
 *
 * Return: true: they are being pinned.
 */
bool weft_odp_pins_pending(const struct weft_odp_pins *pins);

/**
 * weft_odp_pins_prefetch - make pages come, and let go of them
 * @mm: whose
 * @tgid: the process; when it ends, or has another mm, no more pages come
 * @start: address of the first byte
 * @length: bytes
 * @write: they will be written
 *
 * Context: work item of a queue.
 * Return: 0; -EFAULT: some cannot be accessed; -ENOMEM.
 */
int weft_odp_pins_prefetch(struct mm_struct *mm, struct pid *tgid, u64 start, u64 length,
			   bool write);

/**
 * weft_odp_pins_init - at module load
 *
 * Return: 0 or -ENOMEM.
 */
int weft_odp_pins_init(void);

/**
 * weft_odp_pins_exit - at module unload, when no QP is left
 */
void weft_odp_pins_exit(void);

#endif /* WEFT_MEM_ODP_PINS_H */
