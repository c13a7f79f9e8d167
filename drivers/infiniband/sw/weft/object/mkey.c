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
#include <rdma/weft-abi.h>

#define UVERBS_MODULE_NAME weft
#include <rdma/uverbs_named_ioctl.h>

#include "mem/layout.h"
#include "mem/pi.h"
#include "mem/region.h"
#include "object/mw.h"
#include "object/refuse.h"
#include "pause.h"

/* Atomics would need words that are contiguous in a leaf. */
#define MKEY_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ)

/* Make an mkey without memory of @mkey, which is not published yet. */
void weft_mkey_init(struct weft_region *mkey, u32 max_entries)
{
	mkey->kind = WEFT_REGION_MKEY;
	mkey->pieces = WEFT_NO_PIECES;
	mkey->num_pieces = max_entries;
}
WEFT_EXPORT_FOR_TEST(weft_mkey_init);

/* Find the mkey by all of its key, in the accessor's protection domain. NULL: there is none. */
static struct weft_region *mkey_get(const struct weft_accessor *who, u32 key)
{
	struct weft_region *mkey = weft_region_get(who->table, key);

	if (!mkey || (mkey->kind == WEFT_REGION_MKEY && mkey->pd == who->pd))
		return mkey;
	weft_region_put(mkey);
	return NULL;
}

/* A successor of @mkey, not published yet, without memory. NULL: no memory. */
static struct weft_region *mkey_successor(const struct weft_region *mkey, gfp_t gfp)
{
	struct weft_region *new = weft_region_successor(mkey, gfp);

	if (!new)
		return NULL;
	weft_mkey_init(new, mkey->num_pieces);
	new->access = 0;
	new->length = 0;
	new->report = weft_pi_report_get(mkey->report);
	return new;
}

/* Let @new take the place of @mkey, or fail with @err. Takes over @new. */
static int mkey_replace(struct weft_region *mkey, struct weft_region *new, int err)
{
	if (!err)
		weft_pause(WEFT_PAUSE_MKEY_REPLACE);
	/* of several changes at the same time only one succeeds, the others try again */
	if (!err && !weft_region_replace(mkey, new))
		err = -ESTALE;
	weft_region_retire(err ? new : mkey);
	return err;
}

/* Fill in @new, which has neither memory nor rights. */
static int mkey_fill(struct weft_region *new, const struct weft_accessor *who,
		     const struct weft_layout_request *request,
		     const struct weft_pi_request *signatures, gfp_t gfp)
{
	struct weft_layout *layout = weft_layout_create(who, request, new->num_pieces, gfp);

	if (IS_ERR(layout))
		return PTR_ERR(layout);
	new->access = request->access;
	new->length = layout->length;
	new->layout = layout;
	return signatures ? weft_pi_sign(new, signatures, gfp) : 0;
}

/*
 * Give an mkey the memory and the rights of @request, from any context; the first byte has the
 * address 0. @signatures: what is behind each block, or NULL: nothing. Neither is trusted.
 *
 * Return: 0; -EINVAL: no such mkey, other PD, or rights that an mkey cannot have;
 * -EACCES: REMOTE_WRITE without LOCAL_WRITE (IBA 10.6.3.2); else see weft_layout_create() and
 * weft_pi_sign(). A failure changes nothing.
 */
int weft_mkey_configure(const struct weft_accessor *who, u32 key,
			const struct weft_layout_request *request,
			const struct weft_pi_request *signatures, gfp_t gfp)
{
	struct weft_region *mkey, *new;
	int err;

	if (request->access & ~MKEY_ACCESS)
		return -EINVAL;
	if (request->access & IB_ACCESS_REMOTE_WRITE && !(request->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	do {
		mkey = mkey_get(who, key);
		if (!mkey)
			return -EINVAL;
		new = mkey_successor(mkey, gfp);
		err = new ? mkey_replace(mkey, new,
					 mkey_fill(new, who, request, signatures, gfp)) : -ENOMEM;
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
	struct weft_region *mkey, *new;
	int err;

	do {
		mkey = mkey_get(who, key);
		if (!mkey)
			return -ENOENT;
		err = 0;
		if (mkey->layout) {
			new = mkey_successor(mkey, gfp);
			err = new ? mkey_replace(mkey, new, 0) : -ENOMEM;
		}
		weft_region_put(mkey);
	} while (err == -ESTALE);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_mkey_invalidate);

/*
 * A region is about to go or to change, and is sealed: take the memory of the mkeys that it is a
 * part of. An access in progress goes on, with a reference to the region. May sleep.
 */
void weft_mkey_part_ends(struct weft_region *leaf)
{
	struct weft_region *mkey, *new;

	while ((mkey = weft_layout_user(leaf))) {
		/* deregistration cannot fail for lack of memory */
		new = mkey_successor(mkey, GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
		/* an mkey that somebody else has changed or freed meanwhile has no such part now */
		mkey_replace(mkey, new, 0);
		weft_region_put(mkey);
		cond_resched();
	}
}
WEFT_EXPORT_FOR_TEST(weft_mkey_part_ends);

static u32 mkey_error_type(enum ib_sig_err_type type)
{
	switch (type) {
	case IB_SIG_BAD_GUARD:
		return WEFT_MKEY_BAD_GUARD;
	case IB_SIG_BAD_REFTAG:
		return WEFT_MKEY_BAD_REF_TAG;
	default:
		return WEFT_MKEY_BAD_APP_TAG;
	}
}

static int UVERBS_HANDLER(WEFT_METHOD_MW_CHECK)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mw *ib_mw = uverbs_attr_get_obj(attrs, WEFT_ATTR_MW_CHECK_HANDLE);
	struct weft_pi_report *report = to_weft_mw(ib_mw)->report;
	struct weft_mkey_error resp = {};
	struct weft_pi_error error;
	bool failed;
	int ret;

	if (!report)
		return weft_refuse(ib_mw->device, -EINVAL,
				   "check mkey: key %#x was not created for signatures",
				   ib_mw->rkey);
	failed = weft_pi_report_take(report, &error);
	if (failed) {
		resp.computed = error.computed;
		resp.found = error.found;
		resp.offset = error.offset;
		resp.type = mkey_error_type(error.type);
	}
	ret = uverbs_copy_to_struct_or_zero(attrs, WEFT_ATTR_MW_CHECK_RESP, &resp, sizeof(resp));
	/* if there is another one by now, that one waits */
	if (ret && failed)
		weft_pi_report_keep(report, &error);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(WEFT_METHOD_MW_CHECK,
			    UVERBS_ATTR_IDR(WEFT_ATTR_MW_CHECK_HANDLE,
					    UVERBS_OBJECT_MW,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(WEFT_ATTR_MW_CHECK_RESP,
						UVERBS_ATTR_STRUCT(struct weft_mkey_error,
								   type),
						UA_MANDATORY));

ADD_UVERBS_METHODS(mkey_methods, UVERBS_OBJECT_MW, &UVERBS_METHOD(WEFT_METHOD_MW_CHECK));

const struct uapi_definition weft_mkey_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MW, &mkey_methods),
	{ }
};
