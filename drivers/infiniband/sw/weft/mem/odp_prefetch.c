// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Prefetches of ODP regions (ibv_advise_mr()). */
#include "mem/odp_prefetch.h"

#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>

#include "mem/odp_get.h"

/* Pages that a prefetch pins at a time. */
#define PREFETCH_BATCH	256U

struct prefetch {
	struct mm_struct	*mm;
	struct pid		*tgid;
	bool			write;
	struct page		**pages;	/* room for PREFETCH_BATCH */
};

/*
 * Does the process still use the mm, and is it not exiting? The reference count of the mm does not
 * tell, as all remaining references may be those of work items.
 */
static bool prefetch_is_lived_in(const struct mm_struct *mm, struct pid *tgid)
{
	struct task_struct *leader, *thread;
	bool found = false;

	rcu_read_lock();
	leader = pid_task(tgid, PIDTYPE_TGID);
	if (leader && !(READ_ONCE(leader->signal->flags) & SIGNAL_GROUP_EXIT)) {
		/* any thread will do: the leader may have exited */
		list_for_each_entry_rcu(thread, &leader->signal->thread_head, thread_node) {
			found = READ_ONCE(thread->mm) == mm;
			if (found)
				break;
		}
	}
	rcu_read_unlock();
	return found;
}

static long prefetch_batch(const struct prefetch *prefetch, u64 start, u32 num)
{
	struct weft_odp_visit visit;
	long got;

	if (!prefetch_is_lived_in(prefetch->mm, prefetch->tgid) ||
	    !weft_odp_visit(&visit, prefetch->mm))
		return -EFAULT;
	got = weft_odp_get(prefetch->mm, start, num, prefetch->write, prefetch->pages);
	weft_odp_visit_end(&visit);
	if (got > 0)
		unpin_user_pages(prefetch->pages, got);
	return got;
}

static int prefetch_all(const struct prefetch *prefetch, u64 start, u64 length)
{
	u64 left = (offset_in_page(start) + length + PAGE_SIZE - 1) >> PAGE_SHIFT;
	long got;

	start &= PAGE_MASK;
	while (left) {
		got = prefetch_batch(prefetch, start, min_t(u64, left, PREFETCH_BATCH));
		if (got < 0)
			return -EFAULT;
		left -= got;
		start += (u64)got << PAGE_SHIFT;
		cond_resched();
	}
	return 0;
}

/*
 * Fault pages in, without keeping them pinned, in a work item of a queue. @start is an address in
 * @mm. It ends early if the process @tgid ends or gets another mm. Returns 0; -EFAULT: some pages
 * cannot be accessed; -ENOMEM.
 */
int weft_odp_prefetch(struct mm_struct *mm, struct pid *tgid, u64 start, u64 length, bool write)
{
	struct prefetch prefetch = { .mm = mm, .tgid = tgid, .write = write };
	int err;

	prefetch.pages = kvmalloc_array(PREFETCH_BATCH, sizeof(*prefetch.pages), GFP_KERNEL);
	if (!prefetch.pages)
		return -ENOMEM;
	err = prefetch_all(&prefetch, start, length);
	kvfree(prefetch.pages);
	return err;
}
