// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mkeys: keys of a process whose memory is a layout of other regions (mem/layout.h).
 *
 * Like a memory window an mkey is a region, and each work request that changes it publishes a
 * successor: a copy in progress goes on with the layout that it found. A memory window is for
 * the peer, an mkey for local access, too, and any QP of the protection domain may use it.
 */
#include "object/mkey.h"

#include <linux/err.h>

#include <rdma/ib_verbs.h>

#include "mem/layout.h"
#include "mem/region.h"

/* Atomics would need words that are contiguous in a leaf. */
#define MKEY_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/* Make an mkey without memory of @mkey, which is not published yet. */
void weft_mkey_init(struct weft_region *mkey, u32 max_entries)
{
	mkey->kind = WEFT_REGION_MKEY;
	mkey->pieces = WEFT_NO_PIECES;
	mkey->num_pieces = max_entries;
}

/* Find the mkey by all of its key, in the accessor's protection domain. NULL: there is none. */
static struct weft_region *mkey_get(const struct weft_accessor *who, u32 key)
{
	struct weft_region *mkey = weft_region_get(who->table, key);

	if (!mkey || (mkey->kind == WEFT_REGION_MKEY && mkey->pd == who->pd))
		return mkey;
	weft_region_put(mkey);
	return NULL;
}

/* Let @layout, or nothing, be the memory of @mkey. Takes over @layout. */
static int mkey_replace(struct weft_region *mkey, struct weft_layout *layout, u32 access, gfp_t gfp)
{
	struct weft_region *new = weft_region_successor(mkey, gfp);
	int err = 0;

	if (!new) {
		if (layout) {
			weft_layout_unbind(layout);
			weft_layout_free(layout);
		}
		return -ENOMEM;
	}
	weft_mkey_init(new, mkey->num_pieces);
	new->access = access;
	new->length = layout ? layout->length : 0;
	new->layout = layout;
	/* of several changes at the same time only one succeeds, the others try again */
	if (!weft_region_replace(mkey, new))
		err = -ESTALE;
	weft_region_retire(err ? new : mkey);
	return err;
}

/*
 * Give an mkey the memory and the rights of @request, from any context; the first byte has the
 * address 0. @request is not trusted.
 *
 * Return: 0; -EINVAL: no such mkey, other PD, or rights that an mkey cannot have;
 * -EACCES: REMOTE_WRITE without LOCAL_WRITE (IBA 10.6.3.2); else see weft_layout_create().
 * A failure changes nothing.
 */
int weft_mkey_configure(const struct weft_accessor *who, u32 key,
			const struct weft_layout_request *request, gfp_t gfp)
{
	struct weft_layout *layout;
	struct weft_region *mkey;
	int err;

	if (request->access & ~MKEY_ACCESS)
		return -EINVAL;
	if (request->access & IB_ACCESS_REMOTE_WRITE && !(request->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	do {
		mkey = mkey_get(who, key);
		if (!mkey)
			return -EINVAL;
		layout = weft_layout_create(who, request, mkey->num_pieces, gfp);
		err = IS_ERR(layout) ? PTR_ERR(layout) :
				       mkey_replace(mkey, layout, request->access, gfp);
		weft_region_put(mkey);
	} while (err == -ESTALE);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_mkey_configure);

/*
 * Take the memory of an mkey away, from any context; it keeps its key. Return: 0; -ENOENT: the key
 * is not that of an mkey of the PD; -ENOMEM.
 */
int weft_mkey_invalidate(const struct weft_accessor *who, u32 key, gfp_t gfp)
{
	struct weft_region *mkey;
	int err;

	do {
		mkey = mkey_get(who, key);
		if (!mkey)
			return -ENOENT;
		err = mkey->layout ? mkey_replace(mkey, NULL, 0, gfp) : 0;
		weft_region_put(mkey);
	} while (err == -ESTALE);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_mkey_invalidate);
