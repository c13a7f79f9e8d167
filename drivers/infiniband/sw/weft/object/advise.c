// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/advise.h"

#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "mem/pins.h"
#include "mem/region.h"
#include "object/dev.h"

/**
 * struct advise_range - memory to be prefetched
 * @mm: whose, with a reference
 * @tgid: the process, with a reference
 * @start: address of the first byte in @mm
 * @length: bytes
 */
struct advise_range {
	struct mm_struct	*mm;
	struct pid		*tgid;
	u64			start;
	u64			length;
};

/**
 * struct advise_prefetch - what one call wants to be prefetched
 * @item: does it
 * @lane: where
 * @write: to be written
 * @num: entries of @range in use
 * @range: the memory
 */
struct advise_prefetch {
	struct weft_lane_item	item;
	struct weft_lane	*lane;
	bool			write;
	u32			num;
	struct advise_range	range[];
};

static int advise_check(const struct weft_region *region, const struct ib_pd *pd,
			const struct ib_sge *sge, bool write)
{
	if (region->kind != WEFT_REGION_MR)
		return -EINVAL;
	if (!region->mm)
		return -ENOENT;
	if (region->pd != pd || (write && !ib_access_writable(region->access)))
		return -EPERM;
	return weft_region_contains(region, sge->addr, sge->length) ? 0 : -EFAULT;
}

static int advise_add(struct advise_prefetch *prefetch, struct ib_pd *pd,
		      const struct ib_sge *sge)
{
	struct weft_dev *dev = to_weft_dev(pd->device);
	struct weft_region *region;
	int err;

	region = weft_region_get(&dev->regions, sge->lkey);
	if (!region)
		return -ENOENT;
	err = advise_check(region, pd, sge, prefetch->write);
	if (!err) {
		mmgrab(region->mm);
		prefetch->range[prefetch->num++] = (struct advise_range){
			.mm = region->mm,
			.tgid = get_pid(region->tgid),
			.start = sge->addr - region->base,
			.length = sge->length,
		};
		/* all that are of one protection domain have the same */
		prefetch->lane = region->lane;
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
		err = weft_pins_prefetch(range->mm, range->tgid, range->start,
					 range->length, prefetch->write);
	}
	return err;
}

static void advise_free(struct advise_prefetch *prefetch)
{
	u32 i;

	for (i = 0; i < prefetch->num; i++) {
		mmdrop(prefetch->range[i].mm);
		put_pid(prefetch->range[i].tgid);
	}
	kvfree(prefetch);
}

static void advise_worker(struct work_struct *work)
{
	struct advise_prefetch *prefetch = container_of(work, struct advise_prefetch, item.work);
	struct weft_lane *lane = prefetch->item.lane;

	/* it is too late to tell anybody */
	advise_run(prefetch);
	advise_free(prefetch);
	weft_lane_leave(lane, WEFT_LANE_PREFETCHES);
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
	prefetch->write = write;
	for (i = 0; i < num_sge; i++) {
		err = advise_add(prefetch, pd, &sg_list[i]);
		if (err) {
			advise_free(prefetch);
			return ERR_PTR(err);
		}
	}
	return prefetch;
}

int weft_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs)
{
	struct advise_prefetch *prefetch;
	int err = 0;

	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	if (!num_sge)
		return -EINVAL;
	prefetch = advise_prepare(pd, advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				  sg_list, num_sge);
	if (IS_ERR(prefetch))
		return PTR_ERR(prefetch);
	weft_dev_stats_inc(to_weft_dev(pd->device), WEFT_DEV_STAT_PREFETCHES);
	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
	    !(flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH)) {
		weft_lane_queue(prefetch->lane, WEFT_LANE_PREFETCHES, &prefetch->item,
				advise_worker);
		return 0;
	}
	if (advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		err = advise_run(prefetch);
	advise_free(prefetch);
	return err;
}
