// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Advice about memory of ODP regions: prefetch.
 *
 * An ODP region keeps no pages, so a prefetch can only fault pages of the process in, which is
 * the slow part of a later access.
 */
#include "object/advise.h"

#include <linux/completion.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mem/odp_prefetch.h"
#include "mem/odp_queue.h"
#include "mem/region.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/refuse.h"
#include "pause.h"

struct advise_range {
	struct mm_struct	*mm;	/* referenced */
	struct pid		*tgid;	/* referenced */
	u64			start;	/* address in @mm */
	u64			length;
};

/*
 * The prefetch of one advise_mr call. A work item does it even if the caller waits: a page fault
 * may never end, and neither the exit of the caller nor the removal of the device may depend
 * on it.
 */
struct advise_prefetch {
	struct weft_odp_work	item;
	struct weft_odp_queue	*odp_queue;
	refcount_t		refs;		/* of the work item and of the caller */
	struct list_head	list;		/* in weft_advices.waiting */
	struct completion	done;		/* prefetched, or the device is being removed */
	int			err;		/* result; -EIO until there is one */
	bool			write;
	u32			num;		/* of @range */
	struct advise_range	range[];
};

#define advise_refuse(_pd, _sge, _err, _rule) \
	weft_refuse((_pd)->device, _err, "advise MR: lkey %#x, addr %#llx, length %u: %s", \
		    (_sge)->lkey, (_sge)->addr, (_sge)->length, _rule)

static int advise_check(const struct weft_region *region, const struct ib_pd *pd,
			const struct ib_sge *sge, bool write)
{
	if (region->kind != WEFT_REGION_MR)
		return advise_refuse(pd, sge, -EINVAL, "is no MR");
	if (!region->mm)
		return advise_refuse(pd, sge, -ENOENT, "has no on-demand paging");
	if (region->pd != pd)
		return advise_refuse(pd, sge, -EPERM, "is of another PD");
	if (write && !ib_access_writable(region->access))
		return advise_refuse(pd, sge, -EPERM, "is not writable");
	if (!weft_region_contains(region, sge->addr, sge->length))
		return advise_refuse(pd, sge, -EFAULT, "does not have that range");
	return 0;
}

static int advise_add(struct advise_prefetch *prefetch, struct ib_pd *pd,
		      const struct ib_sge *sge)
{
	struct weft_dev *dev = to_weft_dev(pd->device);
	struct weft_region *region;
	int err;

	region = weft_region_get(&dev->regions, sge->lkey);
	if (!region)
		return advise_refuse(pd, sge, -ENOENT, "does not exist");
	weft_pause(WEFT_PAUSE_ADVISE_FOUND);
	err = advise_check(region, pd, sge, prefetch->write);
	if (!err) {
		mmgrab(region->mm);
		prefetch->range[prefetch->num++] = (struct advise_range){
			.mm = region->mm,
			.tgid = get_pid(region->tgid),
			.start = sge->addr - region->base,
			.length = sge->length,
		};
		atomic64_add(DIV_ROUND_UP(offset_in_page(sge->addr - region->base) + sge->length,
					  PAGE_SIZE), &region->odp_prefetches);
		/* the same for all regions of a protection domain */
		prefetch->odp_queue = region->odp_queue;
	}
	weft_region_put(region);
	return err;
}

static int advise_run(const struct advise_prefetch *prefetch)
{
	const struct advise_range *range;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < prefetch->num; i++) {
		range = &prefetch->range[i];
		err = weft_odp_prefetch(range->mm, range->tgid, range->start, range->length,
					prefetch->write);
	}
	return err;
}

static void advise_put(struct advise_prefetch *prefetch)
{
	u32 i;

	if (!refcount_dec_and_test(&prefetch->refs))
		return;
	for (i = 0; i < prefetch->num; i++) {
		mmdrop(prefetch->range[i].mm);
		put_pid(prefetch->range[i].tgid);
	}
	kvfree(prefetch);
}

static void advise_worker(struct work_struct *work)
{
	struct advise_prefetch *prefetch = container_of(work, struct advise_prefetch, item.work);
	struct weft_odp_queue *queue = prefetch->item.odp_queue;

	weft_pause(WEFT_PAUSE_ADVISE_RUN);
	WRITE_ONCE(prefetch->err, advise_run(prefetch));
	complete(&prefetch->done);
	advise_put(prefetch);
	weft_odp_queue_leave(queue, WEFT_ODP_WORK_PREFETCHES);
}

/* The work item gets a reference of its own. */
static void advise_queue(struct advise_prefetch *prefetch)
{
	refcount_inc(&prefetch->refs);
	weft_odp_queue_add(prefetch->odp_queue, WEFT_ODP_WORK_PREFETCHES, &prefetch->item,
			   advise_worker);
}

static bool advise_enter(struct weft_advices *advices, struct advise_prefetch *prefetch)
{
	bool ended;

	spin_lock(&advices->lock);
	ended = advices->ended;
	if (!ended)
		list_add(&prefetch->list, &advices->waiting);
	spin_unlock(&advices->lock);
	return !ended;
}

static int advise_wait(struct weft_advices *advices, struct advise_prefetch *prefetch)
{
	int err;

	if (!advise_enter(advices, prefetch))
		return -EIO;
	advise_queue(prefetch);
	err = wait_for_completion_killable(&prefetch->done);
	spin_lock(&advices->lock);
	list_del(&prefetch->list);
	spin_unlock(&advices->lock);
	return err ? -EINTR : READ_ONCE(prefetch->err);
}

void weft_advise_init(struct weft_advices *advices)
{
	spin_lock_init(&advices->lock);
	INIT_LIST_HEAD(&advices->waiting);
	advices->ended = false;
}

void weft_advise_begin(struct weft_advices *advices)
{
	spin_lock(&advices->lock);
	advices->ended = false;
	spin_unlock(&advices->lock);
}

/* The device is being removed: end all waits, as the removal waits for the calls. */
void weft_advise_end(struct weft_advices *advices)
{
	struct advise_prefetch *prefetch;

	spin_lock(&advices->lock);
	advices->ended = true;
	list_for_each_entry(prefetch, &advices->waiting, list)
		complete(&prefetch->done);
	spin_unlock(&advices->lock);
}

static struct advise_prefetch *advise_prepare(struct ib_pd *pd, bool write,
					      const struct ib_sge *sg_list, u32 num_sge)
{
	struct advise_prefetch *prefetch;
	u32 i;
	int err;

	/* no warning: the size is the user's choice */
	prefetch = kvzalloc(struct_size(prefetch, range, num_sge),
			    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!prefetch)
		return ERR_PTR(-ENOMEM);
	refcount_set(&prefetch->refs, 1);
	init_completion(&prefetch->done);
	prefetch->err = -EIO;
	prefetch->write = write;
	for (i = 0; i < num_sge; i++) {
		err = advise_add(prefetch, pd, &sg_list[i]);
		if (err) {
			advise_put(prefetch);
			return ERR_PTR(err);
		}
	}
	return prefetch;
}

/*
 * ib_device_ops.advise_mr. PREFETCH_NO_FAULT is checked and does nothing. With
 * IB_UVERBS_ADVISE_MR_FLAG_FLUSH the call waits until the prefetch is done.
 *
 * Return: 0; -EOPNOTSUPP: unknown advice; -ENOENT: no such key, or not an ODP region; -EINVAL:
 * empty list, or a memory window; -EPERM: other protection domain, or write access not granted;
 * -EFAULT: outside the region, or (with FLUSH) not mapped by the process; -EINTR: the task is
 * being killed; -EIO: the device is being removed; -ENOMEM.
 */
int weft_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct weft_dev *dev = to_weft_dev(pd->device);
	struct advise_prefetch *prefetch;
	int err = weft_inject_verb(pd->device, WEFT_VERB_ADVISE_MR);

	if (err)
		return err;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return weft_refuse(pd->device, -EOPNOTSUPP,
				   "advise MR: advice %u is not supported", advice);
	if (!num_sge)
		return weft_refuse(pd->device, -EINVAL, "advise MR: num_sge is 0");
	prefetch = advise_prepare(pd, advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				  sg_list, num_sge);
	if (IS_ERR(prefetch))
		return PTR_ERR(prefetch);
	weft_dev_stats_inc(dev, WEFT_DEV_STAT_PREFETCHES);
	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
		if (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
			err = advise_wait(&dev->advices, prefetch);
		else
			advise_queue(prefetch);
	}
	advise_put(prefetch);
	return err;
}
