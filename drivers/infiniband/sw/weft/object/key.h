/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A key, whatever it names.
 */
#ifndef WEFT_OBJECT_KEY_H
#define WEFT_OBJECT_KEY_H

#include <linux/types.h>

struct weft_accessor;

/**
 * weft_key_invalidate - take the memory of a key away, keep the key
 * @who: of the QP: of the LOCAL_INV work request, or that received the SEND with
 *	invalidate
 * @key: current key of a type 2 memory window or of a region for fast
 *	registration
 * @wait: for accesses to end: process context, may sleep
 *
 * Return: 0; -EBUSY: without @wait, to be tried again; else see
 * weft_mw_invalidate() and weft_fastreg_invalidate().
 */
int weft_key_invalidate(const struct weft_accessor *who, u32 key, bool wait);

#endif /* WEFT_OBJECT_KEY_H */
