/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What one half of a QP has of ODP memory.
 */
#ifndef WEFT_OBJECT_ODP_H
#define WEFT_OBJECT_ODP_H

#include <linux/types.h>

struct weft_odp_pins;

/**
 * struct weft_odp - ODP memory of a message
 *
 * Written by the owner of the half's turn only.
 *
 * @pins: being pinned, or pinned and perhaps used; NULL: none
 * @parked: a message waits for @pins, or has them: they are not outdated
 */
struct weft_odp {
	struct weft_odp_pins	*pins;
	bool			parked;
};

#endif /* WEFT_OBJECT_ODP_H */
