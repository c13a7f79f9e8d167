/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Advice about memory of ODP regions.
 *
 * Nothing of an ODP region is kept, so all a prefetch can do is to make the process
 * have its pages, as they would be needed later on. That is what takes long.
 */
#ifndef WEFT_OBJECT_ADVISE_H
#define WEFT_OBJECT_ADVISE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/**
 * struct weft_advices - calls that wait until their advice has been followed
 * @lock: protects the rest
 * @waiting: the calls
 * @ended: none waits any more, the device is being removed
 */
struct weft_advices {
	spinlock_t		lock;
	struct list_head	waiting;
	bool			ended;
};

void weft_advise_init(struct weft_advices *advices);

/**
 * weft_advise_begin - the device is there, or there again
 * @advices: of the device
 */
void weft_advise_begin(struct weft_advices *advices);

/**
 * weft_advise_end - the device is being removed, which waits for all calls
 * @advices: of the device
 */
void weft_advise_end(struct weft_advices *advices);

/**
 * weft_advise_mr - prefetch memory of ODP regions
 * @pd: protection domain
 * @advice: PREFETCH, PREFETCH_WRITE, or PREFETCH_NO_FAULT, for which there is nothing
 *	to be done
 * @flags: IB_UVERBS_ADVISE_MR_FLAG_FLUSH: return when it has been done
 * @sg_list: what of which region
 * @num_sge: elements
 * @attrs: unused
 *
 * Return: 0; -EOPNOTSUPP: another advice; -ENOENT: no such key, or of a region that is
 * not ODP; -EINVAL: nothing, or a memory window; -EPERM: another protection domain, or
 * to be written and that is not granted; -EFAULT: outside the region, or (with FLUSH) of
 * the process's memory; -EINTR: the task is being killed; -EIO: the device is being removed;
 * -ENOMEM.
 */
int weft_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs);

#endif /* WEFT_OBJECT_ADVISE_H */
