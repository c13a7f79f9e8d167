/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What one half of a QP has of paged memory.
 */
#ifndef WEFT_OBJECT_PAGING_H
#define WEFT_OBJECT_PAGING_H

#include <linux/types.h>

struct weft_pins;

/**
 * struct weft_paging - paged memory of a message
 *
 * Written by the owner of the half's turn only.
 *
 * @pins: being pinned, or pinned and perhaps used; NULL: none
 * @parked: a message waits for @pins, or has them: they are not outdated
 */
struct weft_paging {
	struct weft_pins	*pins;
	bool			parked;
};

#endif /* WEFT_OBJECT_PAGING_H */
