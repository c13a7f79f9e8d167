// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Pages of a process: faulting in and pinning. */
#include "mem/odp_get.h"

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>

#include "compat/gup.h"

/*
 * Keep the memory of a process alive, and charge allocations to its memory cgroup, until
 * weft_odp_visit_end(). Returns false if the process has ended.
 */
bool weft_odp_visit(struct weft_odp_visit *visit, struct mm_struct *mm)
{
	if (!mmget_not_zero(mm))
		return false;
	visit->mm = mm;
	visit->before = set_active_memcg(get_mem_cgroup_from_mm(mm));
	return true;
}

void weft_odp_visit_end(const struct weft_odp_visit *visit)
{
	mem_cgroup_put(set_active_memcg(visit->before));
	mmput(visit->mm);
}

/*
 * Pin up to @num pages. Returns their number, at least 1, or an error. A process may let this wait
 * for a page for ever, but the mmap lock is not held meanwhile.
 */
long weft_odp_get(struct mm_struct *mm, u64 start, u32 num, bool write,
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
 * The same without waiting for a process: neither for a page nor for the mmap lock, which may be
 * held by another thread that waits for a page. Returns -EFAULT if the first page is not present,
 * -EAGAIN if the lock is taken.
 */
long weft_odp_get_now(struct mm_struct *mm, u64 start, u32 num, bool write,
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
