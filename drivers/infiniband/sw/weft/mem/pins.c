// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "mem/pins.h"

#include <linux/delay.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/gup.h"

/* Pages that are pinned in one go for a prefetch. */
#define PINS_BATCH	256U
/*
 * How often a work item rests when there is no memory for pages, and how long: the time in
 * which the kernel makes room, by ending a process if need be.
 */
#define PINS_RESTS	5
#define PINS_REST_MS	20

/**
 * enum pins_state - whose they are
 * @PINS_PENDING: of the work item and of the half
 * @PINS_READY: of the half
 * @PINS_FORGOTTEN: of the work item
 */
enum pins_state {
	PINS_PENDING,
	PINS_READY,
	PINS_FORGOTTEN,
};

/* For what waits for no process: to unpin. */
static struct workqueue_struct *pins_workqueue;

struct weft_pins *weft_pins_alloc(u32 max)
{
	struct weft_pins *pins;

	pins = kzalloc(struct_size(pins, pin, max), GFP_ATOMIC | __GFP_NOWARN);
	if (pins)
		pins->max = max;
	return pins;
}
WEFT_EXPORT_FOR_TEST(weft_pins_alloc);

/* What the process calls an address within the region. */
static u64 pins_address(const struct weft_region *region, u64 addr)
{
	return addr - region->base;
}

void weft_pins_add(struct weft_pins *pins, const struct weft_region *region, u64 addr,
		   u64 length, bool write)
{
	struct weft_pin *pin = &pins->pin[pins->num++];
	u64 start = pins_address(region, addr);

	/* all that are of one protection domain have the same */
	pins->lane = region->lane;
	pin->pins = pins;
	pin->mm = region->mm;
	mmgrab(pin->mm);
	pin->start = start & PAGE_MASK;
	pin->wanted = (offset_in_page(start) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	pin->err = -EACCES;
	pin->write = write;
}
WEFT_EXPORT_FOR_TEST(weft_pins_add);

/* Return: pages, at most @num; or why there is none. No lock is held meanwhile. */
static long pins_get(struct mm_struct *mm, u64 start, u32 num, bool write,
		     struct page **pages)
{
	int locked = 1;
	long got;

	mmap_read_lock(mm);
	got = pin_user_pages_remote(mm, start, num, write ? FOLL_WRITE : 0, pages, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return got ?: -EFAULT;
}

static bool pins_wanted(const atomic_t *state)
{
	return atomic_read(state) == PINS_PENDING;
}

/* Return: false: no more of that. */
static bool pins_rest(const atomic_t *state, u32 *rests)
{
	if (!*rests || !pins_wanted(state))
		return false;
	--*rests;
	msleep(PINS_REST_MS);
	return true;
}

/* Pin the pages that are missing. Return: 0, also when nobody wants them; or why not. */
static int pin_try(struct weft_pin *pin, const atomic_t *state)
{
	struct page **pages;
	long got;

	if (!pin->blocks)
		pin->blocks = kvmalloc_array(pin->wanted, sizeof(*pin->blocks), GFP_KERNEL);
	if (!pin->blocks)
		return -ENOMEM;
	/* where pages are becomes where their memory is, in place */
	BUILD_BUG_ON(sizeof(*pages) != sizeof(*pin->blocks));
	pages = (struct page **)pin->blocks;
	while (pin->num < pin->wanted && pins_wanted(state)) {
		got = pins_get(pin->mm, pin->start + ((u64)pin->num << PAGE_SHIFT),
			       pin->wanted - pin->num, pin->write, pages + pin->num);
		if (got < 0)
			return got == -ENOMEM ? -ENOMEM : -EACCES;
		pin->num += got;
	}
	return 0;
}

static void pin_get(struct weft_pin *pin, const atomic_t *state, u32 *rests)
{
	struct page **pages;
	u32 i;

	do
		pin->err = pin_try(pin, state);
	while (pin->err == -ENOMEM && pins_rest(state, rests));
	pages = (struct page **)pin->blocks;
	for (i = 0; i < pin->num; i++)
		pin->blocks[i] = page_address(pages[i]);
}

static void pin_put(struct weft_pin *pin)
{
	struct page **pages = (struct page **)pin->blocks;
	u32 i;

	for (i = 0; i < pin->num; i++)
		pages[i] = virt_to_page(pin->blocks[i]);
	if (pin->num)
		unpin_user_pages_dirty_lock(pages, pin->num, pin->write);
	kvfree(pin->blocks);
	mmdrop(pin->mm);
}

static void pins_free(struct weft_pins *pins)
{
	u32 i;

	for (i = 0; i < pins->num; i++)
		pin_put(&pins->pin[i]);
	kfree(pins);
}

static void pins_get_worker(struct work_struct *work)
{
	struct weft_pins *pins = container_of(work, struct weft_pins, item.work);
	struct weft_lane *lane = pins->item.lane;
	void (*done)(void *arg) = pins->done;
	void *arg = pins->arg;
	u32 i, rests = PINS_RESTS;
	struct weft_pin *pin;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		/* without a process there is no memory */
		if (!mmget_not_zero(pin->mm))
			continue;
		pin_get(pin, &pins->state, &rests);
		mmput(pin->mm);
	}
	/* what was pinned is seen before it is ready; then it is the half's */
	if (atomic_cmpxchg(&pins->state, PINS_PENDING, PINS_READY) == PINS_FORGOTTEN)
		pins_free(pins);
	done(arg);
	weft_lane_leave(lane, WEFT_LANE_MESSAGES);
}

static void pins_put_worker(struct work_struct *work)
{
	pins_free(container_of(work, struct weft_pins, item.work));
}

/* In place of pins_get_worker(), which has not begun. */
static void pins_cancel_worker(struct work_struct *work)
{
	struct weft_pins *pins = container_of(work, struct weft_pins, item.work);
	struct weft_lane *lane = pins->item.lane;
	void (*done)(void *arg) = pins->done;
	void *arg = pins->arg;

	pins_free(pins);
	done(arg);
	weft_lane_drop(lane);
}

/* Dirty pages are locked for that, and an mm may go with it: not here. */
static void pins_end(struct weft_pins *pins, work_func_t worker)
{
	INIT_WORK(&pins->item.work, worker);
	queue_work(pins_workqueue, &pins->item.work);
}

void weft_pins_request(struct weft_pins *pins, struct weft_pins **holder,
		       void (*done)(void *arg), void *arg)
{
	pins->holder = holder;
	pins->done = done;
	pins->arg = arg;
	*holder = pins;
	weft_lane_queue(pins->lane, WEFT_LANE_MESSAGES, &pins->item, pins_get_worker);
}
WEFT_EXPORT_FOR_TEST(weft_pins_request);

void weft_pins_forget(struct weft_pins *pins)
{
	if (!pins)
		return;
	*pins->holder = NULL;
	/* before it is forgotten: once it is, the work item may free it */
	if (weft_pins_pending(pins) && weft_lane_cancel(&pins->item))
		pins_end(pins, pins_cancel_worker);
	else if (atomic_xchg(&pins->state, PINS_FORGOTTEN) == PINS_READY)
		pins_end(pins, pins_put_worker);
}
WEFT_EXPORT_FOR_TEST(weft_pins_forget);

bool weft_pins_pending(const struct weft_pins *pins)
{
	return pins && atomic_read(&pins->state) == PINS_PENDING;
}
WEFT_EXPORT_FOR_TEST(weft_pins_pending);

/**
 * struct pins_need - what a span needs, in the terms of the process
 * @mm: whose memory
 * @start: address of the first byte
 * @end: one after the last byte
 * @write: to be written
 */
struct pins_need {
	struct mm_struct	*mm;
	u64			start;
	u64			end;
	bool			write;
};

/* Does it begin among so many of the pages? */
static bool pin_begins(const struct weft_pin *pin, const struct pins_need *need, u32 num)
{
	return pin->mm == need->mm && pin->write >= need->write &&
	       need->start - pin->start < (u64)num << PAGE_SHIFT;
}

/* And does it end there? */
static bool pin_covers(const struct weft_pin *pin, const struct pins_need *need, u32 num)
{
	return pin_begins(pin, need, num) &&
	       need->end - pin->start <= (u64)num << PAGE_SHIFT;
}

static int pins_look_pending(const struct weft_pins *pins, const struct pins_need *need)
{
	u32 i;

	for (i = 0; i < pins->num; i++)
		if (pin_covers(&pins->pin[i], need, pins->pin[i].wanted))
			return -EINPROGRESS;
	return -EFAULT;
}

/* Was it for this very page that a pin was made, and are not all there? */
static bool pin_failed(const struct weft_pin *pin, const struct pins_need *need)
{
	return pin->num < pin->wanted && pin_covers(pin, need, pin->wanted) &&
	       pin->start == (need->start & PAGE_MASK);
}

/* Each pin is for one span. */
static struct weft_pin *pins_look(struct weft_pins *pins, const struct pins_need *need)
{
	struct weft_pin *pin;
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

/* The pages become a region for the time of an access. */
static void pin_open(struct weft_pin *pin, struct weft_span *span, u64 addr, u64 length)
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
	/* whoever keeps them has to say so again */
	pin->pins->keep = false;
}

int weft_pins_attach(struct weft_pins *pins, struct weft_span *span, u64 addr, u64 length,
		     bool write)
{
	struct pins_need need = {
		.mm = span->region->mm,
		.start = pins_address(span->region, addr),
		.end = pins_address(span->region, addr) + length,
		.write = write,
	};
	struct weft_pin *pin;

	if (!pins)
		return -EFAULT;
	/* the result of what was done before it was ready is seen */
	if (atomic_read_acquire(&pins->state) == PINS_PENDING)
		return pins_look_pending(pins, &need);
	pin = pins_look(pins, &need);
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	pin_open(pin, span, addr, length);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_pins_attach);

void weft_pins_detach(struct weft_region *region)
{
	struct weft_pins *pins = container_of(region, struct weft_pin, region)->pins;

	weft_region_put(region->parent);
	if (!--pins->users && !pins->keep)
		weft_pins_forget(pins);
}

/**
 * struct pins_advice - what a prefetch is for
 * @mm: whose memory
 * @tgid: the process
 * @write: to be written
 * @pages: room for PINS_BATCH
 */
struct pins_advice {
	struct mm_struct	*mm;
	struct pid		*tgid;
	bool			write;
	struct page		**pages;
};

/*
 * Does the process still have the memory, and does it go on? A reference to the mm does
 * not tell: work items may have those that are left.
 */
static bool pins_is_lived_in(const struct mm_struct *mm, struct pid *tgid)
{
	struct task_struct *leader, *thread;
	bool found = false;

	rcu_read_lock();
	leader = pid_task(tgid, PIDTYPE_TGID);
	if (leader && !(READ_ONCE(leader->signal->flags) & SIGNAL_GROUP_EXIT)) {
		/* any of its threads: the first one may have ended */
		list_for_each_entry_rcu(thread, &leader->signal->thread_head, thread_node) {
			found = READ_ONCE(thread->mm) == mm;
			if (found)
				break;
		}
	}
	rcu_read_unlock();
	return found;
}

static long pins_prefetch_batch(const struct pins_advice *advice, u64 start, u32 num)
{
	long got;

	if (!pins_is_lived_in(advice->mm, advice->tgid) || !mmget_not_zero(advice->mm))
		return -EFAULT;
	got = pins_get(advice->mm, start, num, advice->write, advice->pages);
	mmput(advice->mm);
	if (got > 0)
		unpin_user_pages(advice->pages, got);
	return got;
}

static int pins_prefetch(const struct pins_advice *advice, u64 start, u64 length)
{
	u64 left = (offset_in_page(start) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	long got;

	start &= PAGE_MASK;
	while (left) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pins_prefetch_batch(advice, start, min_t(u64, left, PINS_BATCH));
		if (got < 0)
			return fatal_signal_pending(current) ? -EINTR : -EFAULT;
		left -= got;
		start += (u64)got << PAGE_SHIFT;
		cond_resched();
	}
	return 0;
}

int weft_pins_prefetch(struct mm_struct *mm, struct pid *tgid, u64 start, u64 length,
		       bool write)
{
	struct pins_advice advice = { .mm = mm, .tgid = tgid, .write = write };
	int err;

	advice.pages = kvmalloc_array(PINS_BATCH, sizeof(*advice.pages), GFP_KERNEL);
	if (!advice.pages)
		return -ENOMEM;
	err = pins_prefetch(&advice, start, length);
	kvfree(advice.pages);
	return err;
}

int weft_pins_init(void)
{
	int ret;

	pins_workqueue = alloc_workqueue("weft_unpin", WQ_UNBOUND, 0);
	if (!pins_workqueue)
		return -ENOMEM;
	ret = weft_lane_init();
	if (ret)
		destroy_workqueue(pins_workqueue);
	return ret;
}

void weft_pins_exit(void)
{
	destroy_workqueue(pins_workqueue);
	weft_lane_exit();
}
