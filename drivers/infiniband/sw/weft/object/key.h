/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Invalidation of a memory key of either kind. */
#ifndef WEFT_OBJECT_KEY_H
#define WEFT_OBJECT_KEY_H

#include <linux/types.h>

struct weft_accessor;

int weft_key_invalidate(const struct weft_accessor *who, u32 key, bool wait);

#endif /* WEFT_OBJECT_KEY_H */
