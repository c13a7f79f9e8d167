/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How many objects of a kind a device has: not more than ibv_query_device() says.
 */
#ifndef WEFT_OBJECT_COUNT_H
#define WEFT_OBJECT_COUNT_H

#include <linux/atomic.h>
#include <linux/errno.h>

/**
 * weft_count_take - count one more
 * @num: how many there are
 * @max: how many there may be
 *
 * Return: 0, undone by weft_count_give(); or -ENOMEM.
 */
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
