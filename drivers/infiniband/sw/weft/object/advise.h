/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Advice about memory of ODP regions: prefetch. */
#ifndef WEFT_OBJECT_ADVISE_H
#define WEFT_OBJECT_ADVISE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

/* The calls on a device that wait for their prefetch to be done. */
struct weft_advices {
	spinlock_t		lock;		/* protects the rest */
	struct list_head	waiting;
	bool			ended;		/* the device is being removed: no call waits */
};

void weft_advise_init(struct weft_advices *advices);

/* The device is registered, or is back after a move to another namespace. */
void weft_advise_begin(struct weft_advices *advices);
void weft_advise_end(struct weft_advices *advices);

int weft_advise_mr(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		   struct ib_sge *sg_list, u32 num_sge, struct uverbs_attr_bundle *attrs);

#endif /* WEFT_OBJECT_ADVISE_H */
