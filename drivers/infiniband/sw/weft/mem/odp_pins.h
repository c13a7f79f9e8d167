/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Pages of ODP regions (on-demand paging), pinned for a message. */
#ifndef WEFT_MEM_ODP_PINS_H
#define WEFT_MEM_ODP_PINS_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "mem/odp_queue.h"
#include "mem/odp_room.h"
#include "mem/region.h"

struct weft_odp_pins;

/* Consecutive pages. The first @num of the first @good of the @wanted pages are pinned. */
struct weft_odp_pin {
	struct weft_region	region;	/* for an attached span; else without references */
	struct weft_odp_pins	*pins;	/* that the pin is part of */
	struct mm_struct	*mm;
	u64			start;	/* address of the first page in @mm */
	u32			wanted;	/* pages that were requested */
	u32			good;	/* pages that can be accessed */
	u32			num;	/* pages that are pinned */
	int			err;	/* why pages are missing, if any are */
	bool			write;	/* the pages can be written */
	void			**blocks;	/* kernel address of each page */
};

/*
 * All pages that a message needs at a time. The owner of the holder's turn writes all of it, but
 * for @state, and for @pin while a work item has the pins (PENDING or EXPIRED).
 */
struct weft_odp_pins {
	atomic_t		state;		/* enum pins_state */
	/* where the holder has its pointer to the pins; NULL after they have been forgotten */
	struct weft_odp_pins	**holder;
	struct weft_odp_work	item;		/* pins or unpins */
	struct weft_odp_queue	*odp_queue;	/* referenced; NULL: of kernel consumers */
	struct list_head	list;		/* of all pins with pinned pages, oldest first */
	struct list_head	mine;		/* of those of the same user */
	u32			charged;	/* pages taken from the user's room */
	enum weft_odp_line	line;		/* set before the request */
	bool			in_line;	/* for a thread, or for room */
	bool			seen_fresh;	/* private to pins_make_room() */
	bool			used;		/* an access has come to the pages */
	unsigned long		until;		/* jiffies at which the pins are old */
	bool			seen_old;	/* private to pins_expire_worker() */
	/*
	 * called in a work item when the pages have been pinned, or will not be, even if the pins
	 * have been forgotten; they may have been freed then
	 */
	void			(*done)(void *arg);
	void			*arg;
	u32			users;		/* spans that are attached */
	bool			keep;		/* keep the pages after the last span is detached */
	u32			max;		/* entries of @pin */
	u32			num;		/* entries in use */
	struct weft_odp_pin	pin[];
};

struct weft_odp_pins *weft_odp_pins_alloc(u32 max);
void weft_odp_pins_add(struct weft_odp_pins *pins, struct weft_region *region, u64 addr,
		       u64 length, bool write);
void weft_odp_pins_request(struct weft_odp_pins *pins, struct weft_odp_pins **holder,
			   void (*done)(void *arg), void *arg);
int weft_odp_pins_attach(struct weft_odp_pins *pins, struct weft_span *span, u64 addr, u64 length,
			 bool write);
void weft_odp_pins_detach(struct weft_region *region);
void weft_odp_pins_forget(struct weft_odp_pins *pins);
bool weft_odp_pins_pending(const struct weft_odp_pins *pins);
bool weft_odp_pins_in_line(const struct weft_odp_pins *pins);
int weft_odp_pins_init(void);
void weft_odp_pins_exit(void);

#endif /* WEFT_MEM_ODP_PINS_H */
