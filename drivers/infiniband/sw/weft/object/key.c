// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/key.h"

#include <linux/errno.h>

#include "mem/fastreg.h"
#include "object/mw.h"

int weft_key_invalidate(const struct weft_accessor *who, u32 key, bool wait)
{
	int err = weft_fastreg_invalidate(who, key, wait);

	return err == -ENOENT ? weft_mw_invalidate(who, key) : err;
}
