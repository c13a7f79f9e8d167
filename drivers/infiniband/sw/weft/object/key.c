// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "object/key.h"

#include <linux/errno.h>
#include <linux/gfp.h>

#include "mem/fastreg.h"
#include "object/mkey.h"
#include "object/mw.h"

/*
 * Invalidate @key, the current key of a type 2 memory window, of a region for fast registration,
 * or, not by a peer, of an mkey. @who is the QP of the LOCAL_INV work request, or the receiver of
 * the SEND with Invalidate. With @wait, wait for accesses to end (process context, may sleep).
 *
 * Return: 0; -EBUSY and -ENOMEM: without @wait, try again; else see weft_mw_invalidate() and
 * weft_fastreg_invalidate().
 */
int weft_key_invalidate(const struct weft_accessor *who, u32 key, bool wait)
{
	gfp_t gfp = (wait ? GFP_NOIO : GFP_ATOMIC) | __GFP_NOWARN;
	int err = weft_fastreg_invalidate(who, key, wait);

	/* only LOCAL_INV waits */
	if (err == -ENOENT && wait)
		err = weft_mkey_invalidate(who, key, gfp);
	if (err != -ENOENT)
		return err;
	return weft_mw_invalidate(who, key, gfp);
}
