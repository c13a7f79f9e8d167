/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Number of objects of a kind on a device, limited to what ibv_query_device() reports. */
#ifndef WEFT_OBJECT_COUNT_H
#define WEFT_OBJECT_COUNT_H

#include <linux/atomic.h>
#include <linux/errno.h>

/* Return: 0, undone by weft_count_give(); -ENOMEM: there are @max already. */
static inline int weft_count_take(atomic_t *num, int max)
{
	if (atomic_inc_return(num) <= max)
		return 0;
	atomic_dec(num);
	return -ENOMEM;
}

static inline void weft_count_give(atomic_t *num)
{
	atomic_dec(num);
}

#endif /* WEFT_OBJECT_COUNT_H */
