// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many pages the messages of a user may have pinned at a time.
 *
 * Pinned pages cannot be reclaimed or moved, and no limit of locked memory counts those of
 * messages. A process may have any number of QPs whose peers stop in the middle of a message, and
 * send again when the pages have been released. So there is a limit for all users, and no user has
 * more pages than it leaves to the others: one alone has at most half, two have a third each. Only
 * a user without pages gets those of one message as long as there are any.
 *
 * A message that finds no room waits in a work item, without pages. Meanwhile it has other pages of
 * the user released that have been used, or could have been (see pins_make_room()). So it does not
 * wait for a peer that stops. Messages of a user get room in the order in which they ask for it.
 *
 * On the local link a message may need pages of both ends. It asks for those of the second end when
 * it has those of the first. If the second ends had to wait for room that the first ends have, none
 * of them would go on. So they do not line up, and have as much room again as all others.
 */
#include "mem/odp_room.h"

#include <linux/mm.h>
#include <linux/spinlock.h>

#include "compat/compat.h"
#include "params.h"

/* Protects all counts of pages, and the lists of those that wait. Process context. */
static DEFINE_SPINLOCK(room_lock);

u32 weft_odp_room_most;
WEFT_EXPORT_FOR_TEST(weft_odp_room_most);

/* The pages of all users. */
static u32 room_all[WEFT_ODP_LINES];

void weft_odp_room_init(struct weft_odp_room *room)
{
	int line;

	for (line = 0; line < WEFT_ODP_LINES; line++) {
		room->pages[line] = 0;
		INIT_LIST_HEAD(&room->line[line]);
	}
	INIT_LIST_HEAD(&room->pins);
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_init);

void weft_odp_ticket_init(struct weft_odp_ticket *ticket, enum weft_odp_line line, u32 pages)
{
	ticket->line = line;
	ticket->pages = pages;
	INIT_LIST_HEAD(&ticket->node);
	init_waitqueue_head(&ticket->wait);
}
WEFT_EXPORT_FOR_TEST(weft_odp_ticket_init);

/*
 * How many pages has the user to give back before the message finds room? A hint, unless room_lock
 * is held.
 */
u32 weft_odp_room_lacks(const struct weft_odp_room *room, const struct weft_odp_ticket *ticket)
{
	u64 own = READ_ONCE(room->pages[ticket->line]), all = READ_ONCE(room_all[ticket->line]);
	u64 sum = own + all + 2ULL * ticket->pages;

	if (!own)
		return all < weft_odp_room_most ? 0 : ticket->pages;
	/* each of them is in both counts */
	return sum > weft_odp_room_most ? DIV_ROUND_UP(sum - weft_odp_room_most, 2) : 0;
}

static void room_change(struct weft_odp_room *room, enum weft_odp_line line, int pages)
{
	lockdep_assert_held(&room_lock);
	WRITE_ONCE(room->pages[line], room->pages[line] + pages);
	WRITE_ONCE(room_all[line], room_all[line] + pages);
}

/* The first message of each line may find room, or has to make some. */
static void room_wake(struct weft_odp_room *room)
{
	struct weft_odp_ticket *ticket;
	int line;

	lockdep_assert_held(&room_lock);
	for (line = 0; line < WEFT_ODP_LINES; line++) {
		ticket = list_first_entry_or_null(&room->line[line], struct weft_odp_ticket, node);
		if (ticket)
			wake_up(&ticket->wait);
	}
}

/*
 * Take pages for a message, or line it up, if it has not done so. Return: false: the message has to
 * wait, and then try again or leave.
 */
bool weft_odp_room_take(struct weft_odp_room *room, struct weft_odp_ticket *ticket)
{
	struct list_head *line = &room->line[ticket->line];
	bool has;

	spin_lock(&room_lock);
	has = !weft_odp_room_lacks(room, ticket) &&
	      (list_empty(line) || weft_odp_room_is_next(room, ticket));
	if (has) {
		room_change(room, ticket->line, ticket->pages);
		list_del_init(&ticket->node);
		room_wake(room);
	} else if (list_empty(&ticket->node)) {
		list_add_tail(&ticket->node, line);
	}
	spin_unlock(&room_lock);
	return has;
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_take);

/* Is the message the first one of its line? */
bool weft_odp_room_is_next(const struct weft_odp_room *room, const struct weft_odp_ticket *ticket)
{
	return READ_ONCE(room->line[ticket->line].next) == &ticket->node;
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_is_next);

/* The message does not wait any more. */
void weft_odp_room_leave(struct weft_odp_room *room, struct weft_odp_ticket *ticket)
{
	spin_lock(&room_lock);
	list_del_init(&ticket->node);
	room_wake(room);
	spin_unlock(&room_lock);
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_leave);

/* The pages are not pinned any more. */
void weft_odp_room_give(struct weft_odp_room *room, enum weft_odp_line line, u32 pages)
{
	spin_lock(&room_lock);
	room_change(room, line, -pages);
	room_wake(room);
	spin_unlock(&room_lock);
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_give);

/* Is most of what the user may have taken? Then its messages pin little ahead. */
bool weft_odp_room_is_short(const struct weft_odp_room *room)
{
	u64 own = READ_ONCE(room->pages[WEFT_ODP_FIRST]), all = READ_ONCE(room_all[WEFT_ODP_FIRST]);

	return 2 * own + all > weft_odp_room_most;
}
WEFT_EXPORT_FOR_TEST(weft_odp_room_is_short);

void weft_odp_rooms_init(void)
{
	weft_odp_room_most = min_t(unsigned long, totalram_pages() / WEFT_ODP_MEMORY_PART,
				   S32_MAX / 2);
}
