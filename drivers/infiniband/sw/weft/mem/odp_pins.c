// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Pages of ODP regions (on-demand paging), pinned for a message.
 *
 * An ODP region has no memory, it only refers to an address space. It keeps no pages, so there is
 * nothing to invalidate: an access first pins its pages, as O_DIRECT does, and releases them when
 * its message is done. The effects of munmap(), fork(), mremap() and truncated files follow from
 * that.
 *
 * Such pins are short, so no limit of locked memory counts them, and no process may be able to
 * make them long. Therefore no page stays pinned while others are waited for (pins_get_all()).
 * When all of them are pinned, they stay for a good second, or until a copy that is then in
 * progress has ended. After that pins_expire_worker() releases them, whatever the message is
 * waiting for; or earlier, if other messages of the user find no room (mem/odp_room.h). When the
 * message continues, it finds no pages and requests them again.
 *
 * Pinning may take for ever (userfaultfd), so the owner of a turn never does it. The owner writes
 * down the pages that it needs, passes that to a work item, and gives the turn back:
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
 *	the last one releases the pins
 *						unpins, frees
 *
 * The holder (the requester or responder that has requested the pages) can forget them at any
 * time, and waits for nobody. A work item that is pinning frees them when it is done; one that has
 * not begun is canceled, and another one frees the pins. The work item has a reference to the mm
 * only, not to the region, so ib_dereg_mr() does not wait for it. An access has references to
 * both: while a span is attached, the pinned pages are a region of their own, whose parent is the
 * ODP region.
 *
 * The work items, those that release pages included, run in queues (mem/odp_queue.c).
 */
#include "mem/odp_pins.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "mem/odp_get.h"
#include "pause.h"

/* Pages that are pinned at a time while waiting for the pages of a message. */
#define PINS_STEP	16U
/*
 * How often, and how long, a work item waits for free memory: time for the kernel to reclaim some,
 * or to kill a process.
 */
#define PINS_RESTS	5
#define PINS_REST_MS	20
/* A search for pins whose pages are to go looks at that many. */
#define PINS_LOOKS	256
/* How often to retry if pages are gone again before all of them are pinned. */
#define PINS_TRIES	20
/* Pages are released after this time if no span is attached to them. */
#define PINS_AGE	msecs_to_jiffies(1000)
/* New pages stay for this time even if others need room: the holder is about to use them. */
#define PINS_FRESH	msecs_to_jiffies(250)

/**
 * enum pins_state - who owns the pins
 * @PINS_PENDING: pins_get_worker() is to pin the pages; the holder can only forget the pins
 * @PINS_READY: the holder; and the work items that look for old pins, or for used ones when others
 *	need room
 * @PINS_FORGOTTEN: the work item, which frees the pins
 * @PINS_USED: the holder only, as spans are attached
 * @PINS_EXPIRED: pins_expired_worker(), which releases the pages; the holder can only forget them
 */
enum pins_state {
	PINS_PENDING,
	PINS_READY,
	PINS_FORGOTTEN,
	PINS_USED,
	PINS_EXPIRED,
};

/* All pins with pinned pages, oldest first. The lock also protects weft_odp_room.pins. */
static DEFINE_SPINLOCK(pins_lock);
static LIST_HEAD(pins_list);

static void pins_expire_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(pins_expire, pins_expire_worker);

/* Allocate pins for up to @max pieces, in any context. NULL: no memory. */
struct weft_odp_pins *weft_odp_pins_alloc(u32 max)
{
	struct weft_odp_pins *pins;

	/*
	 * Not charged to a memory cgroup, as the current process may be the peer's. pin->blocks
	 * are charged to the owner of the memory.
	 */
	pins = kzalloc(struct_size(pins, pin, max), GFP_ATOMIC | __GFP_NOWARN);
	if (!pins)
		return NULL;
	INIT_LIST_HEAD(&pins->list);
	INIT_LIST_HEAD(&pins->mine);
	pins->max = max;
	return pins;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_alloc);

/* Translate an address within the region to an address of the process. */
static u64 pins_address(const struct weft_region *region, u64 addr)
{
	return addr - region->base;
}

/*
 * Add a piece of an ODP region, 1 to WEFT_ODP_CHUNK bytes. The caller keeps its reference to the
 * region until weft_odp_pins_request(), and may then drop it.
 */
void weft_odp_pins_add(struct weft_odp_pins *pins, struct weft_region *region, u64 addr,
		       u64 length, bool write)
{
	struct weft_odp_pin *pin = &pins->pin[pins->num++];
	u64 start = pins_address(region, addr);

	/* all regions of a protection domain have the same queue */
	if (!pins->odp_queue)
		pins->odp_queue = weft_odp_queue_hold(region->odp_queue);
	pin->pins = pins;
	pin->mm = region->mm;
	mmgrab(pin->mm);
	pin->start = start & PAGE_MASK;
	pin->wanted = (offset_in_page(start) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	pin->err = -EACCES;
	pin->write = write;
	/* an access by a window is one to its region */
	atomic64_add(pin->wanted, &(region->parent ?: region)->odp_faults);
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_add);

static bool pins_wanted(const atomic_t *state)
{
	return atomic_read(state) == PINS_PENDING;
}

/* Wait for free memory. Returns false if the pins are forgotten, or no rests are left. */
static bool pins_rest(const atomic_t *state, u32 *rests)
{
	if (!*rests || !pins_wanted(state))
		return false;
	--*rests;
	msleep(PINS_REST_MS);
	return true;
}

/* @blocks has pointers to the pages until pins_convert() replaces them by addresses. */
static struct page **pin_pages(struct weft_odp_pin *pin)
{
	BUILD_BUG_ON(sizeof(struct page *) != sizeof(*pin->blocks));
	return (struct page **)pin->blocks;
}

/* Allocate room for all pages. Returns false without memory, or if the process has ended. */
static bool pin_prepare(struct weft_odp_pin *pin)
{
	struct weft_odp_visit visit;

	if (!weft_odp_visit(&visit, pin->mm))
		return false;
	pin->blocks = kvmalloc_array(pin->wanted, sizeof(*pin->blocks), GFP_KERNEL_ACCOUNT);
	weft_odp_visit_end(&visit);
	pin->err = pin->blocks ? -EACCES : -ENOMEM;
	return pin->blocks;
}

/*
 * Fault all pages in. None stays pinned, as a process may make us wait for the others for ever.
 * Only the pages before the first error remain good.
 */
static void pin_await(struct weft_odp_pin *pin, const atomic_t *state, u32 *rests)
{
	struct page **pages = pin_pages(pin);
	u64 start = pin->start;
	u32 left = pin->good;
	long got;

	while (left && pins_wanted(state)) {
		got = weft_odp_get(pin->mm, start, min(left, PINS_STEP), pin->write, pages);
		if (got == -ENOMEM && pins_rest(state, rests))
			continue;
		if (got < 0) {
			pin->err = got == -ENOMEM ? -ENOMEM : -EACCES;
			break;
		}
		unpin_user_pages(pages, got);
		left -= got;
		start += (u64)got << PAGE_SHIFT;
		cond_resched();
	}
	pin->good -= left;
}

/* Pin all good pages without waiting. Returns 0 or the error of weft_odp_get_now(). */
static int pin_take(struct weft_odp_pin *pin)
{
	long got;

	while (pin->num < pin->good) {
		got = weft_odp_get_now(pin->mm, pin->start + ((u64)pin->num << PAGE_SHIFT),
				       pin->good - pin->num, pin->write,
				       pin_pages(pin) + pin->num);
		if (got < 0)
			return got;
		pin->num += got;
	}
	return 0;
}

static int pins_take(struct weft_odp_pins *pins)
{
	struct weft_odp_visit visit;
	struct weft_odp_pin *pin;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < pins->num; i++) {
		pin = &pins->pin[i];
		/* a process that has ended has no pages */
		if (!pin->good || !weft_odp_visit(&visit, pin->mm)) {
			pin->good = 0;
			continue;
		}
		err = pin_take(pin);
		weft_odp_visit_end(&visit);
	}
	return err;
}

static void pins_drop(struct weft_odp_pins *pins)
{
	struct weft_odp_pin *pin;
	u32 i;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		if (pin->num)
			unpin_user_pages(pin_pages(pin), pin->num);
		pin->num = 0;
	}
}

static void pins_await(struct weft_odp_pins *pins, u32 *rests)
{
	struct weft_odp_visit visit;
	struct weft_odp_pin *pin;
	u32 i;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		if (!pin->good || !weft_odp_visit(&visit, pin->mm))
			continue;
		pin_await(pin, &pins->state, rests);
		weft_odp_visit_end(&visit);
	}
}

/* Pages are gone again as soon as they are there: memory is too short. */
static void pins_give_up(struct weft_odp_pins *pins)
{
	u32 i;

	for (i = 0; i < pins->num; i++)
		if (pins->pin[i].good)
			pins->pin[i].err = -ENOMEM;
}

/* Replace the pages in @blocks by their addresses. */
static void pins_convert(struct weft_odp_pins *pins)
{
	struct weft_odp_pin *pin;
	u32 i, page;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		for (page = 0; page < pin->num; page++) {
			/* the word with the section of a page has flags, too, which change */
			pin->blocks[page] = data_race(page_address(pin_pages(pin)[page]));
		}
	}
}

static void pin_release(struct weft_odp_pin *pin)
{
	struct page **pages = pin_pages(pin);
	u32 i;

	for (i = 0; i < pin->num; i++)
		pages[i] = virt_to_page(pin->blocks[i]);
	if (pin->num)
		unpin_user_pages_dirty_lock(pages, pin->num, pin->write);
	pin->num = 0;
	/* pin_failed() must be false: an access requests the pages again */
	pin->wanted = 0;
}

/* The pages are not pinned any more. */
static void pins_discharge(struct weft_odp_pins *pins)
{
	u32 pages = pins->charged;

	pins->charged = 0;
	if (pages)
		weft_odp_room_give(weft_odp_queue_room(pins->odp_queue), pins->line, pages);
}

/*
 * Queue @worker to release the pages. The caller may be atomic, and releasing locks dirty pages and
 * may free the mm.
 */
static void pins_release(struct weft_odp_pins *pins, work_func_t worker)
{
	weft_odp_queue_add(pins->odp_queue, WEFT_ODP_WORK_RELEASES, &pins->item, worker);
}

/* Start to age. */
static void pins_watch(struct weft_odp_pins *pins)
{
	unsigned long flags;

	pins->until = jiffies + PINS_AGE;
	spin_lock_irqsave(&pins_lock, flags);
	list_add_tail(&pins->list, &pins_list);
	list_add_tail(&pins->mine, &weft_odp_queue_room(pins->odp_queue)->pins);
	spin_unlock_irqrestore(&pins_lock, flags);
	schedule_delayed_work(&pins_expire, PINS_AGE);
}

static void pins_unwatch(struct weft_odp_pins *pins)
{
	unsigned long flags;

	spin_lock_irqsave(&pins_lock, flags);
	list_del_init(&pins->list);
	list_del_init(&pins->mine);
	spin_unlock_irqrestore(&pins_lock, flags);
}

static void pins_free(struct weft_odp_pins *pins)
{
	struct weft_odp_pin *pin;
	u32 i;

	pins_unwatch(pins);
	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		pin_release(pin);
		kvfree(pin->blocks);
		mmdrop(pin->mm);
	}
	pins_discharge(pins);
	weft_odp_queue_put(pins->odp_queue);
	kfree(pins);
}

static bool pins_is_old(const struct weft_odp_pins *pins)
{
	return time_after_eq(jiffies, pins->until);
}

/*
 * Take old pins that are not in use away from their holder and return them, or NULL. Old pins that
 * stay move to @used, to be checked again; usually weft_odp_pins_detach() finds that they are old
 * before that.
 *
 * Old pins stay at the first check. A virtual machine whose CPUs were paused finds all pins old
 * when it resumes, before their holders, which have been notified but wait for a CPU as well, have
 * used them. If these pins were released, a message of several windows might never complete.
 */
static struct weft_odp_pins *pins_next_old(struct list_head *used)
{
	struct weft_odp_pins *pins, *next, *old = NULL;

	spin_lock_irq(&pins_lock);
	list_for_each_entry_safe(pins, next, &pins_list, list) {
		if (!pins_is_old(pins))
			break;
		if (pins->seen_old &&
		    atomic_cmpxchg(&pins->state, PINS_READY, PINS_EXPIRED) == PINS_READY) {
			list_del_init(&pins->list);
			list_del_init(&pins->mine);
			old = pins;
			break;
		}
		pins->seen_old = true;
		list_move_tail(&pins->list, used);
	}
	spin_unlock_irq(&pins_lock);
	return old;
}

static void pins_expired_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;
	u32 i;

	for (i = 0; i < pins->num; i++)
		pin_release(&pins->pin[i]);
	pins_discharge(pins);
	weft_pause(WEFT_PAUSE_PINS_EXPIRED);
	/* the holder finds the pins empty, unless it has forgotten them */
	if (atomic_cmpxchg(&pins->state, PINS_EXPIRED, PINS_READY) == PINS_FORGOTTEN)
		pins_free(pins);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_RELEASES);
}

static void pins_expire_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins;
	LIST_HEAD(used);
	bool more;

	while ((pins = pins_next_old(&used)))
		pins_release(pins, pins_expired_worker);
	spin_lock_irq(&pins_lock);
	list_splice_tail(&used, &pins_list);
	more = !list_empty(&pins_list);
	spin_unlock_irq(&pins_lock);
	if (more)
		schedule_delayed_work(&pins_expire, PINS_AGE / 4);
}

/*
 * Could an access have come to the pages by now? They stay until then: otherwise messages could
 * take them from each other for ever. Like old pins they stay at the first check.
 */
static bool pins_had_time(struct weft_odp_pins *pins)
{
	bool seen = pins->seen_fresh;

	lockdep_assert_held(&pins_lock);
	if (READ_ONCE(pins->used))
		return true;
	if (time_before(jiffies, pins->until - PINS_AGE + PINS_FRESH))
		return false;
	pins->seen_fresh = true;
	return seen;
}

/* Release @pages of messages of the user in that line which had time to use them, oldest first. */
static void pins_make_room(struct weft_odp_room *room, enum weft_odp_line line, u32 pages)
{
	u32 found = 0, looks = PINS_LOOKS;
	struct weft_odp_pins *pins, *next;
	LIST_HEAD(away);

	spin_lock_irq(&pins_lock);
	list_for_each_entry_safe(pins, next, &room->pins, mine) {
		if (found >= pages || !looks--)
			break;
		if (pins->line != line || !pins_had_time(pins) ||
		    atomic_cmpxchg(&pins->state, PINS_READY, PINS_EXPIRED) != PINS_READY)
			continue;
		list_del_init(&pins->list);
		list_move_tail(&pins->mine, &away);
		found += pins->charged;
	}
	spin_unlock_irq(&pins_lock);
	list_for_each_entry_safe(pins, next, &away, mine) {
		list_del_init(&pins->mine);
		pins_release(pins, pins_expired_worker);
	}
}

/*
 * Take room for all good pages, and say whether it was waited for. The pins have no pages
 * meanwhile, so nobody waits for them. Return: false: they have been forgotten.
 */
static bool pins_charge(struct weft_odp_pins *pins, bool *waited)
{
	struct weft_odp_room *room = weft_odp_queue_room(pins->odp_queue);
	struct weft_odp_ticket ticket;
	u32 i, pages = 0;
	bool taken, next;

	for (i = 0; i < pins->num; i++)
		pages += pins->pin[i].good;
	weft_odp_ticket_init(&ticket, pins->line, pages);
	taken = !pages || weft_odp_room_take(room, &ticket);
	*waited = !taken;
	while (!taken && pins_wanted(&pins->state)) {
		next = weft_odp_room_is_next(room, &ticket);
		if (next)
			pins_make_room(room, pins->line, weft_odp_room_lacks(room, &ticket));
		wait_event_idle_timeout(ticket.wait,
					(taken = weft_odp_room_take(room, &ticket)) ||
					(!next && weft_odp_room_is_next(room, &ticket)),
					PINS_AGE / 8);
	}
	WRITE_ONCE(pins->in_line, false);
	if (taken)
		pins->charged = pages;
	else
		weft_odp_room_leave(room, &ticket);
	return taken;
}

/*
 * Pin all pages without waiting. If some are missing, unpin the others, wait until all have been
 * faulted in, and try again. So a process that delays a page cannot keep others pinned.
 */
static void pins_get_all(struct weft_odp_pins *pins)
{
	u32 i, rests = PINS_RESTS, tries = PINS_TRIES;
	struct weft_odp_pin *pin;
	bool waited;
	int err;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		while (!pin_prepare(pin) && pin->err == -ENOMEM && pins_rest(&pins->state, &rests))
			;
		pin->good = pin->blocks ? pin->wanted : 0;
	}
	while (pins_wanted(&pins->state) && pins_charge(pins, &waited)) {
		err = pins_take(pins);
		if (!err)
			break;
		pins_drop(pins);
		pins_discharge(pins);
		/* what was present before a long wait need not be any more */
		if (err != -EAGAIN && !waited && !tries--) {
			pins_give_up(pins);
			break;
		}
		pins_await(pins, &rests);
	}
}

/* The work that the pins are requested as. */
static enum weft_odp_work_kind pins_kind(const struct weft_odp_pins *pins)
{
	return pins->line == WEFT_ODP_SECOND ? WEFT_ODP_WORK_SECONDS : WEFT_ODP_WORK_MESSAGES;
}

static void pins_get_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;
	void (*done)(void *arg) = pins->done;
	enum weft_odp_work_kind kind = pins_kind(pins);
	void *arg = pins->arg;

	pins_get_all(pins);
	pins_convert(pins);
	weft_pause(WEFT_PAUSE_PINS_TAKEN);
	pins_watch(pins);
	/* the cmpxchg orders the results before READY; from then on the holder owns the pins */
	if (atomic_cmpxchg(&pins->state, PINS_PENDING, PINS_READY) == PINS_FORGOTTEN)
		pins_free(pins);
	weft_pause(WEFT_PAUSE_PINS_READY);
	done(arg);
	weft_odp_queue_leave(queue, kind);
}

static void pins_put_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;

	pins_free(pins);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_RELEASES);
}

/* Runs in place of pins_get_worker(), which was canceled. */
static void pins_cancel_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;
	void (*done)(void *arg) = pins->done;
	void *arg = pins->arg;

	pins_free(pins);
	done(arg);
	/* the references of the canceled item, and of this one */
	weft_odp_queue_drop(queue);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_RELEASES);
}

/*
 * Have the pages pinned by a work item, and set *@holder. @done is called in process context, even
 * if the pins have been forgotten before.
 */
void weft_odp_pins_request(struct weft_odp_pins *pins, struct weft_odp_pins **holder,
			   void (*done)(void *arg), void *arg)
{
	pins->holder = holder;
	pins->done = done;
	pins->arg = arg;
	*holder = pins;
	pins->in_line = true;
	weft_odp_queue_add(pins->odp_queue, pins_kind(pins), &pins->item, pins_get_worker);
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_request);

/*
 * The holder does not need the pins any more; no span is attached. @pins may be NULL. Any context.
 */
void weft_odp_pins_forget(struct weft_odp_pins *pins)
{
	int state;

	if (!pins)
		return;
	*pins->holder = NULL;
	/* cancel before the state is FORGOTTEN: after that the work item may free the pins */
	if (weft_odp_pins_pending(pins) && weft_odp_queue_cancel(&pins->item, pins_kind(pins))) {
		pins_release(pins, pins_cancel_worker);
		return;
	}
	weft_pause(WEFT_PAUSE_PINS_FORGET);
	state = atomic_xchg(&pins->state, PINS_FORGOTTEN);
	if (state == PINS_READY || state == PINS_USED)
		pins_release(pins, pins_put_worker);
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_forget);

bool weft_odp_pins_pending(const struct weft_odp_pins *pins)
{
	return pins && atomic_read(&pins->state) == PINS_PENDING;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_pending);

/* Do the pages still wait for a thread, or for room? */
bool weft_odp_pins_in_line(const struct weft_odp_pins *pins)
{
	return weft_odp_pins_pending(pins) && READ_ONCE(pins->in_line);
}

/* The memory that a span needs, in addresses of the process; @end is exclusive. */
struct pins_need {
	struct mm_struct	*mm;
	u64			start;
	u64			end;
	bool			write;
};

/* Does the need begin in the first @num pages? */
static bool pin_begins(const struct weft_odp_pin *pin, const struct pins_need *need, u32 num)
{
	return pin->mm == need->mm && pin->write >= need->write &&
	       need->start - pin->start < (u64)num << PAGE_SHIFT;
}

/* Is the need within the first @num pages? */
static bool pin_covers(const struct weft_odp_pin *pin, const struct pins_need *need, u32 num)
{
	return pin_begins(pin, need, num) &&
	       need->end - pin->start <= (u64)num << PAGE_SHIFT;
}

static int pins_look_pending(const struct weft_odp_pins *pins, const struct pins_need *need)
{
	u32 i;

	for (i = 0; i < pins->num; i++)
		if (pin_covers(&pins->pin[i], need, pins->pin[i].wanted))
			return -EINPROGRESS;
	return -EFAULT;
}

/* Was the pin requested for this need, and has it failed to get all pages? */
static bool pin_failed(const struct weft_odp_pin *pin, const struct pins_need *need)
{
	return pin->num < pin->wanted && pin_covers(pin, need, pin->wanted) &&
	       pin->start == (need->start & PAGE_MASK);
}

/*
 * Find a pin that covers the need and has no span attached, as a pin takes one span at a time.
 * Returns its error if the pages were requested and could not be pinned, else -EFAULT.
 */
static struct weft_odp_pin *pins_look(struct weft_odp_pins *pins, const struct pins_need *need)
{
	struct weft_odp_pin *pin;
	int err = -EFAULT;
	u32 i;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		if (refcount_read(&pin->region.refs))
			continue;
		if (pin_covers(pin, need, pin->num))
			return pin;
		if (pin_failed(pin, need))
			err = pin->err;
	}
	return ERR_PTR(err);
}

/*
 * Make the pinned pages the region of @span, until the reference of the span is dropped. The ODP
 * region becomes its parent, and the reference to that moves along.
 */
static void pin_open(struct weft_odp_pin *pin, struct weft_span *span, u64 addr, u64 length)
{
	struct weft_region *region = &pin->region;

	region->kind = WEFT_REGION_PINNED;
	region->parent = span->region;
	region->iova = addr;
	region->length = length;
	region->base = pin->start + span->region->base;
	region->blocks = pin->blocks;
	region->page_shift = PAGE_SHIFT;
	refcount_set(&region->refs, 1);
	span->region = region;
	pin->pins->users++;
	/* has to be set again for each access */
	pin->pins->keep = false;
}

/* Keep the pages from expiring until pins_unuse(). Returns false if they have expired. */
static bool pins_use(struct weft_odp_pins *pins)
{
	return pins->users ||
	       atomic_cmpxchg(&pins->state, PINS_READY, PINS_USED) == PINS_READY;
}

static void pins_unuse(struct weft_odp_pins *pins)
{
	if (!pins->users)
		atomic_set_release(&pins->state, PINS_READY);
}

/*
 * Give a span of an ODP region access to its pages, for @length (at least 1) bytes from @addr on
 * and no others. @pins: requested before, or NULL. After success the region of @span is the pinned
 * pages.
 *
 * Returns 0; -EFAULT: the pages are not pinned (any more) and have to be requested; -EINPROGRESS:
 * they are being pinned; -EACCES: the process may not access them; -ENOMEM: there was no memory for
 * them. After an error @span is unchanged.
 */
int weft_odp_pins_attach(struct weft_odp_pins *pins, struct weft_span *span, u64 addr, u64 length,
			 bool write)
{
	struct pins_need need = {
		.mm = span->region->mm,
		.start = pins_address(span->region, addr),
		.end = pins_address(span->region, addr) + length,
		.write = write,
	};
	struct weft_odp_pin *pin;

	if (!pins)
		return -EFAULT;
	/* acquire: see the results of the work item that made the pins READY */
	if (atomic_read_acquire(&pins->state) == PINS_PENDING)
		return pins_look_pending(pins, &need);
	if (!pins_use(pins))
		return -EFAULT;
	weft_pause(WEFT_PAUSE_PINS_USE);
	pin = pins_look(pins, &need);
	if (IS_ERR(pin)) {
		pins_unuse(pins);
		return PTR_ERR(pin);
	}
	pin_open(pin, span, addr, length);
	WRITE_ONCE(pins->used, true);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_attach);

/* The last reference to @region, of a pin, is gone. Called by the owner of the holder's turn. */
void weft_odp_pins_detach(struct weft_region *region)
{
	struct weft_odp_pins *pins = container_of(region, struct weft_odp_pin, region)->pins;

	weft_region_put(region->parent);
	if (--pins->users)
		return;
	if (pins->keep && !pins_is_old(pins))
		pins_unuse(pins);
	else
		weft_odp_pins_forget(pins);
}

int weft_odp_pins_init(void)
{
	return weft_odp_queue_init();
}

/* At module unload. No QP is left. */
void weft_odp_pins_exit(void)
{
	cancel_delayed_work_sync(&pins_expire);
	weft_odp_queue_exit();
}
