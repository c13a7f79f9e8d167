// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "mem/odp_pins.h"

#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "compat/gup.h"
#include "pause.h"

/* Pages that are pinned in one go for a prefetch; and while others of a message are waited for. */
#define PINS_BATCH	256U
#define PINS_STEP	16U
/*
 * How often a work item rests when there is no memory for pages, and how long: the time in
 * which the kernel makes room, by ending a process if need be.
 */
#define PINS_RESTS	5
#define PINS_REST_MS	20
/* How often pages come, and are gone before all of them are pinned. */
#define PINS_TRIES	20
/* Pages that no span is attached to are let go of after that time. */
#define PINS_AGE	msecs_to_jiffies(1000)

/**
 * enum pins_state - whose they are
 * @PINS_PENDING: of the work item and of the half
 * @PINS_READY: of the half; and of pins_expire_worker() once they are old
 * @PINS_FORGOTTEN: of the work item
 * @PINS_USED: of the half, spans are attached
 * @PINS_EXPIRED: of pins_expired_worker(), which lets go of the pages, and of the half
 */
enum pins_state {
	PINS_PENDING,
	PINS_READY,
	PINS_FORGOTTEN,
	PINS_USED,
	PINS_EXPIRED,
};

/* Pages that are pinned, the oldest first. */
static DEFINE_SPINLOCK(pins_lock);
static LIST_HEAD(pins_list);

static void pins_expire_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(pins_expire, pins_expire_worker);

struct weft_odp_pins *weft_odp_pins_alloc(u32 max)
{
	struct weft_odp_pins *pins;

	/* charged to nobody, as the peer's process may be here; its pin->blocks are */
	pins = kzalloc(struct_size(pins, pin, max), GFP_ATOMIC | __GFP_NOWARN);
	if (!pins)
		return NULL;
	INIT_LIST_HEAD(&pins->list);
	pins->max = max;
	return pins;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_alloc);

/* What the process calls an address within the region. */
static u64 pins_address(const struct weft_region *region, u64 addr)
{
	return addr - region->base;
}

void weft_odp_pins_add(struct weft_odp_pins *pins, const struct weft_region *region, u64 addr,
		       u64 length, bool write)
{
	struct weft_odp_pin *pin = &pins->pin[pins->num++];
	u64 start = pins_address(region, addr);

	/* all that are of one protection domain have the same */
	if (!pins->odp_queue)
		pins->odp_queue = weft_odp_queue_hold(region->odp_queue);
	pin->pins = pins;
	pin->mm = region->mm;
	mmgrab(pin->mm);
	pin->start = start & PAGE_MASK;
	pin->wanted = (offset_in_page(start) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	pin->err = -EACCES;
	pin->write = write;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_add);

/**
 * struct pins_visit - what takes memory of a process
 * @mm: its memory
 * @before: the memory cgroup that paid before
 */
struct pins_visit {
	struct mm_struct	*mm;
	struct mem_cgroup	*before;
};

/* The process's memory cgroup pays until pins_visit_end(). Return: false: it is gone. */
static bool pins_visit(struct pins_visit *visit, struct mm_struct *mm)
{
	if (!mmget_not_zero(mm))
		return false;
	visit->mm = mm;
	visit->before = set_active_memcg(get_mem_cgroup_from_mm(mm));
	return true;
}

static void pins_visit_end(const struct pins_visit *visit)
{
	mem_cgroup_put(set_active_memcg(visit->before));
	mmput(visit->mm);
}

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

/*
 * The same without waiting for a process, neither for a page nor for the lock, which another
 * thread that faults may hold. Return: -EFAULT: the first is not there; -EAGAIN: the lock.
 */
static long pins_get_now(struct mm_struct *mm, u64 start, u32 num, bool write,
			 struct page **pages)
{
	int locked = 1;
	long got;

	if (!mmap_read_trylock(mm))
		return -EAGAIN;
	got = pin_user_pages_remote(mm, start, num, FOLL_NOFAULT | (write ? FOLL_WRITE : 0),
				    pages, &locked);
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

/* Where pages are becomes where their memory is, in place. */
static struct page **pin_pages(struct weft_odp_pin *pin)
{
	BUILD_BUG_ON(sizeof(struct page *) != sizeof(*pin->blocks));
	return (struct page **)pin->blocks;
}

/* Room for all pages. Return: false: there is none, or no process. */
static bool pin_prepare(struct weft_odp_pin *pin)
{
	struct pins_visit visit;

	if (!pins_visit(&visit, pin->mm))
		return false;
	pin->blocks = kvmalloc_array(pin->wanted, sizeof(*pin->blocks), GFP_KERNEL_ACCOUNT);
	pins_visit_end(&visit);
	if (!pin->blocks)
		pin->err = -ENOMEM;
	return pin->blocks;
}

/*
 * Let the pages come, and keep none while others are waited for: a process may let us wait
 * for ever.
 */
static void pin_await(struct weft_odp_pin *pin, const atomic_t *state, u32 *rests)
{
	struct page **pages = pin_pages(pin);
	u64 start = pin->start;
	u32 left = pin->good;
	long got;

	while (left && pins_wanted(state)) {
		got = pins_get(pin->mm, start, min(left, PINS_STEP), pin->write, pages);
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

/* Return: 0: all that can be had are pinned; or why not. */
static int pin_take(struct weft_odp_pin *pin)
{
	long got;

	while (pin->num < pin->good) {
		got = pins_get_now(pin->mm, pin->start + ((u64)pin->num << PAGE_SHIFT),
				   pin->good - pin->num, pin->write, pin_pages(pin) + pin->num);
		if (got < 0)
			return got;
		pin->num += got;
	}
	return 0;
}

static int pins_take(struct weft_odp_pins *pins)
{
	struct pins_visit visit;
	struct weft_odp_pin *pin;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < pins->num; i++) {
		pin = &pins->pin[i];
		/* without a process there is no memory */
		if (!pin->good || !pins_visit(&visit, pin->mm)) {
			pin->good = 0;
			continue;
		}
		err = pin_take(pin);
		pins_visit_end(&visit);
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
	struct pins_visit visit;
	struct weft_odp_pin *pin;
	u32 i;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		if (!pin->good || !pins_visit(&visit, pin->mm))
			continue;
		pin_await(pin, &pins->state, rests);
		pins_visit_end(&visit);
	}
}

/* Pages that come are gone again at once. */
static void pins_give_up(struct weft_odp_pins *pins)
{
	u32 i;

	for (i = 0; i < pins->num; i++)
		if (pins->pin[i].good)
			pins->pin[i].err = -ENOMEM;
}

/* All that is there is pinned at once; if something is missing, it is waited for before. */
static void pins_get_all(struct weft_odp_pins *pins)
{
	u32 i, rests = PINS_RESTS, tries = PINS_TRIES;
	int err;

	for (i = 0; i < pins->num; i++)
		pins->pin[i].good = pin_prepare(&pins->pin[i]) ? pins->pin[i].wanted : 0;
	while (pins_wanted(&pins->state)) {
		err = pins_take(pins);
		if (!err)
			break;
		pins_drop(pins);
		if (err != -EAGAIN && !tries--) {
			pins_give_up(pins);
			break;
		}
		pins_await(pins, &rests);
	}
}

/* Where the memory of the pages is. */
static void pins_convert(struct weft_odp_pins *pins)
{
	struct weft_odp_pin *pin;
	u32 i, page;

	for (i = 0; i < pins->num; i++) {
		pin = &pins->pin[i];
		for (page = 0; page < pin->num; page++)
			pin->blocks[page] = page_address(pin_pages(pin)[page]);
	}
}

/* Let go of the pages. */
static void pin_release(struct weft_odp_pin *pin)
{
	struct page **pages = pin_pages(pin);
	u32 i;

	for (i = 0; i < pin->num; i++)
		pages[i] = virt_to_page(pin->blocks[i]);
	if (pin->num)
		unpin_user_pages_dirty_lock(pages, pin->num, pin->write);
	pin->num = 0;
	/* nor has anything failed: what needs them asks anew */
	pin->wanted = 0;
}

/* Dirty pages are locked for that, and an mm may go with it: not here. */
static void pins_release(struct weft_odp_pins *pins, work_func_t worker)
{
	weft_odp_queue_add(pins->odp_queue, WEFT_ODP_WORK_RELEASES, &pins->item, worker);
}

/* From now on they get old. */
static void pins_watch(struct weft_odp_pins *pins)
{
	unsigned long flags;

	pins->until = jiffies + PINS_AGE;
	spin_lock_irqsave(&pins_lock, flags);
	list_add_tail(&pins->list, &pins_list);
	spin_unlock_irqrestore(&pins_lock, flags);
	schedule_delayed_work(&pins_expire, PINS_AGE);
}

static void pins_unwatch(struct weft_odp_pins *pins)
{
	unsigned long flags;

	spin_lock_irqsave(&pins_lock, flags);
	list_del_init(&pins->list);
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
	weft_odp_queue_put(pins->odp_queue);
	kfree(pins);
}

static bool pins_is_old(const struct weft_odp_pins *pins)
{
	return time_after_eq(jiffies, pins->until);
}

/*
 * Return: pins that are old, and that the half does not use; or NULL. It has those that it
 * uses looked at again, though it may see by itself how old they are when it is done.
 *
 * Old pins go at the second look. A guest whose processors stood still finds all pins old when
 * it goes on: before their halves, which have been told and wait for a processor as well, have
 * used any. If they went then, a message of several windows would never end.
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
	weft_pause(WEFT_PAUSE_PINS_EXPIRED);
	/* they are empty, which the half sees by itself; unless it wants none of them any more */
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

static void pins_get_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;
	void (*done)(void *arg) = pins->done;
	void *arg = pins->arg;

	pins_get_all(pins);
	pins_convert(pins);
	weft_pause(WEFT_PAUSE_PINS_TAKEN);
	pins_watch(pins);
	/* what was pinned is seen before it is ready; then it is the half's */
	if (atomic_cmpxchg(&pins->state, PINS_PENDING, PINS_READY) == PINS_FORGOTTEN)
		pins_free(pins);
	weft_pause(WEFT_PAUSE_PINS_READY);
	done(arg);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_MESSAGES);
}

static void pins_put_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;

	pins_free(pins);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_RELEASES);
}

/* In place of pins_get_worker(), which has not begun. */
static void pins_cancel_worker(struct work_struct *work)
{
	struct weft_odp_pins *pins = container_of(work, struct weft_odp_pins, item.work);
	struct weft_odp_queue *queue = pins->item.odp_queue;
	void (*done)(void *arg) = pins->done;
	void *arg = pins->arg;

	pins_free(pins);
	done(arg);
	/* as the item that has not begun, and as this one */
	weft_odp_queue_drop(queue);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_RELEASES);
}

void weft_odp_pins_request(struct weft_odp_pins *pins, struct weft_odp_pins **holder,
			   void (*done)(void *arg), void *arg)
{
	pins->holder = holder;
	pins->done = done;
	pins->arg = arg;
	*holder = pins;
	weft_odp_queue_add(pins->odp_queue, WEFT_ODP_WORK_MESSAGES, &pins->item, pins_get_worker);
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_request);

void weft_odp_pins_forget(struct weft_odp_pins *pins)
{
	int state;

	if (!pins)
		return;
	*pins->holder = NULL;
	/* before it is forgotten: once it is, the work item may free it */
	if (weft_odp_pins_pending(pins) && weft_odp_queue_cancel(&pins->item)) {
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
static bool pin_begins(const struct weft_odp_pin *pin, const struct pins_need *need, u32 num)
{
	return pin->mm == need->mm && pin->write >= need->write &&
	       need->start - pin->start < (u64)num << PAGE_SHIFT;
}

/* And does it end there? */
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

/* Was it for this very page that a pin was made, and are not all there? */
static bool pin_failed(const struct weft_odp_pin *pin, const struct pins_need *need)
{
	return pin->num < pin->wanted && pin_covers(pin, need, pin->wanted) &&
	       pin->start == (need->start & PAGE_MASK);
}

/* Each pin is for one span. */
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

/* The pages become a region for the time of an access. */
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
	/* whoever keeps them has to say so again */
	pin->pins->keep = false;
}

/* Nobody else lets go of them until pins_unuse(). Return: false: somebody does. */
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
	/* the result of what was done before it was ready is seen */
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
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_odp_pins_attach);

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
	struct pins_visit visit;
	long got;

	if (!pins_is_lived_in(advice->mm, advice->tgid) || !pins_visit(&visit, advice->mm))
		return -EFAULT;
	got = pins_get(advice->mm, start, num, advice->write, advice->pages);
	pins_visit_end(&visit);
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
		got = pins_prefetch_batch(advice, start, min_t(u64, left, PINS_BATCH));
		if (got < 0)
			return -EFAULT;
		left -= got;
		start += (u64)got << PAGE_SHIFT;
		cond_resched();
	}
	return 0;
}

int weft_odp_pins_prefetch(struct mm_struct *mm, struct pid *tgid, u64 start, u64 length,
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

int weft_odp_pins_init(void)
{
	return weft_odp_queue_init();
}

void weft_odp_pins_exit(void)
{
	cancel_delayed_work_sync(&pins_expire);
	weft_odp_queue_exit();
}
