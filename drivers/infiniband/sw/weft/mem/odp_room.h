/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How many pages the messages of a user may have pinned at a time. */
#ifndef WEFT_MEM_ODP_ROOM_H
#define WEFT_MEM_ODP_ROOM_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

/* The two lines of a user, see mem/odp_room.c. */
enum weft_odp_line {
	WEFT_ODP_FIRST,		/* most messages */
	WEFT_ODP_SECOND,	/* second ends */
	WEFT_ODP_LINES,
};

/* A message that waits for room. */
struct weft_odp_ticket {
	enum weft_odp_line	line;
	u32			pages;
	struct list_head	node;	/* in the line; empty: it has not lined up */
	wait_queue_head_t	wait;	/* until it may be its turn */
};

/* Each user has one, see mem/odp_queue.h. */
struct weft_odp_room {
	u32			pages[WEFT_ODP_LINES];	/* that messages have taken */
	struct list_head	line[WEFT_ODP_LINES];
	/* struct weft_odp_pins with pinned pages, oldest first; of mem/odp_pins.c */
	struct list_head	pins;
};

/* The most pages of all users, for each line. */
extern u32 weft_odp_room_most;

void weft_odp_room_init(struct weft_odp_room *room);
void weft_odp_ticket_init(struct weft_odp_ticket *ticket, enum weft_odp_line line, u32 pages);
bool weft_odp_room_take(struct weft_odp_room *room, struct weft_odp_ticket *ticket);
bool weft_odp_room_is_next(const struct weft_odp_room *room, const struct weft_odp_ticket *ticket);
void weft_odp_room_leave(struct weft_odp_room *room, struct weft_odp_ticket *ticket);
u32 weft_odp_room_lacks(const struct weft_odp_room *room, const struct weft_odp_ticket *ticket);
void weft_odp_room_give(struct weft_odp_room *room, enum weft_odp_line line, u32 pages);
bool weft_odp_room_is_short(const struct weft_odp_room *room);
void weft_odp_rooms_init(void);

#endif /* WEFT_MEM_ODP_ROOM_H */
