// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows, and the life of mkeys (object/mkey.h). The rules are those of IBA 10.6.7.
 */
#include "object/mw.h"

#include <linux/slab.h>
#include <linux/string.h>

#include <rdma/weft-abi.h>

#include "compat/placement.h"
#include "compat/signature.h"
#include "mem/pi.h"
#include "mem/region.h"
#include "object/count.h"
#include "object/dev.h"
#include "object/inject.h"
#include "object/mkey.h"
#include "object/refuse.h"
#include "object/ucontext.h"
#include "pause.h"

#define MW_KEY_MASK	0xff
#define MW_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | \
			 IB_ACCESS_REMOTE_ATOMIC | COMPAT_ACCESS_FLUSH)
/* Local access never uses a window, but programs request it; it is ignored. */
#define MW_ACCEPTED	(MW_ACCESS | IB_ACCESS_LOCAL_WRITE)
/* Rights that need local write access to the region (C10-74). */
#define MW_WRITE_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* The provider sends a request only if it wants an mkey. */
static int mw_read_request(struct ib_mw *ib_mw, struct ib_udata *udata,
			   struct weft_alloc_mw_req *req)
{
	int ret;

	memset(req, 0, sizeof(*req));
	if (!weft_udata_empty(udata))
		return 0;
	ret = weft_udata_rxe(udata) ? -EINVAL :
	      weft_udata_read(udata, req, sizeof(*req), sizeof(*req), 0);
	if (!ret && (req->flags & ~(COMPAT_SIGNATURES ? WEFT_MKEY_SIGNATURES : 0) ||
		     ib_mw->type != IB_MW_TYPE_2))
		ret = -EINVAL;
	if (ret)
		return weft_refuse_request(ib_mw->device, ret, "allocate MW", udata);
	return weft_check_range(ib_mw->device, "allocate mkey", "max_entries", req->max_entries, 1,
				WEFT_MKEY_ENTRIES);
}

/* ERR_PTR(): -ENOMEM. */
static struct weft_region *mw_alloc(struct weft_mw *mw, const struct weft_alloc_mw_req *req)
{
	struct weft_region *window;

	if (req->flags & WEFT_MKEY_SIGNATURES) {
		mw->report = weft_pi_report_create(GFP_KERNEL_ACCOUNT);
		if (!mw->report)
			return ERR_PTR(-ENOMEM);
	}
	window = weft_region_alloc(&to_weft_dev(mw->ib_mw.device)->regions, GFP_KERNEL_ACCOUNT);
	if (IS_ERR(window))
		weft_pi_report_put(mw->report);
	else
		window->report = weft_pi_report_get(mw->report);
	return window;
}

int weft_alloc_mw(struct ib_mw *ib_mw, struct ib_udata *udata)
{
	struct weft_dev *dev = to_weft_dev(ib_mw->device);
	struct weft_alloc_mw_req req;
	struct weft_region *window;
	int ret = mw_read_request(ib_mw, udata, &req);

	if (ret)
		return ret;
	ret = weft_inject_verb(ib_mw->device, WEFT_VERB_ALLOC_MW);
	if (ret)
		return ret;
	if (weft_count_take(&dev->num_mw, WEFT_MAX_MW))
		return -ENOMEM;
	window = mw_alloc(to_weft_mw(ib_mw), &req);
	if (IS_ERR(window)) {
		weft_count_give(&dev->num_mw);
		return PTR_ERR(window);
	}
	window->kind = ib_mw->type == IB_MW_TYPE_1 ? WEFT_REGION_MW1 :
						     WEFT_REGION_MW2;
	if (req.max_entries)
		weft_mkey_init(window, req.max_entries);
	window->pd = ib_mw->pd;
	ib_mw->rkey = window->key;
	weft_region_publish(window);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_alloc_mw);

/* Unbind and free a window or mkey. Accesses in progress complete. */
int weft_dealloc_mw(struct ib_mw *ib_mw)
{
	struct weft_dev *dev = to_weft_dev(ib_mw->device);
	struct weft_region *window;

	window = weft_region_withdraw(&dev->regions, ib_mw->rkey);
	weft_pause(WEFT_PAUSE_MW_DEALLOC);
	if (!WARN_ON(!window))
		weft_region_retire(window);
	weft_pi_report_put(to_weft_mw(ib_mw)->report);
	weft_count_give(&dev->num_mw);
	return 0;
}
WEFT_EXPORT_FOR_TEST(weft_dealloc_mw);

/* A successor of @window that is not bound. */
static struct weft_region *mw_unbound(const struct weft_region *window, gfp_t gfp)
{
	struct weft_region *new;

	new = weft_region_successor(window, gfp);
	if (!new)
		return NULL;
	new->access = 0;
	new->qpn = 0;
	new->iova = 0;
	new->length = 0;
	new->mm = NULL;
	new->base = 0;
	new->blocks = NULL;
	new->page_shift = 0;
	return new;
}

/* Let @new take the place of @window. */
static int mw_replace(struct weft_region *window, struct weft_region *new)
{
	if (!weft_region_replace(window, new)) {
		weft_region_retire(new);
		return -EINVAL;
	}
	weft_region_retire(window);
	return 0;
}

static int mw_check_window(const struct weft_region *window,
			   const struct weft_accessor *who,
			   const struct weft_mw_request *request)
{
	/* C10-72 */
	if (window->pd != who->pd)
		return -EINVAL;
	switch (window->kind) {
	case WEFT_REGION_MW1:
		/* o10-36.2.2: no zero-based windows of type 1 */
		return request->access & ~MW_ACCEPTED ? -EINVAL : 0;
	case WEFT_REGION_MW2:
		/* o10-37.2.30: not bound yet; o10-37.2.40: a bind of length 0 is no unbind */
		if (window->parent || !request->length)
			return -EINVAL;
		return request->access & ~(MW_ACCEPTED | IB_ZERO_BASED) ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
}

static int mw_check_region(const struct weft_region *region,
			   const struct weft_accessor *who,
			   const struct weft_mw_request *request)
{
	if (region->kind != WEFT_REGION_MR || region->pd != who->pd ||
	    region->access & IB_ZERO_BASED)
		return -EINVAL;
	/* C10-73 */
	if (!(region->access & IB_ACCESS_MW_BIND))
		return -EACCES;
	/* C10-74 */
	if (request->access & MW_WRITE_ACCESS &&
	    !(region->access & IB_ACCESS_LOCAL_WRITE))
		return -EACCES;
	/* FLUSH depends on the kind of memory, which only the region knows */
	if (request->access & ~region->access & COMPAT_ACCESS_FLUSH)
		return -EACCES;
	/* C10-75 */
	if (!weft_region_contains(region, request->addr, request->length))
		return -ERANGE;
	return 0;
}

/* Fill in @new, a window of @region. */
static void mw_open(struct weft_region *new, struct weft_region *region,
		    const struct weft_accessor *who,
		    const struct weft_mw_request *request)
{
	new->parent = region;
	new->access = request->access & MW_ACCESS;
	new->qpn = new->kind == WEFT_REGION_MW2 ? who->qpn : 0;
	new->iova = request->access & IB_ZERO_BASED ? 0 : request->addr;
	new->length = request->length;
	new->mm = region->mm;
	new->odp_queue = region->odp_queue;
	new->base = region->base + (new->iova - request->addr);
	new->blocks = region->blocks;
	new->page_shift = region->page_shift;
	/* no atomics if no aligned address is an aligned word of memory */
	if (!IS_ALIGNED(new->base, sizeof(u64)))
		new->access &= ~IB_ACCESS_REMOTE_ATOMIC;
}

/* Bind @new, not published yet, to the region of @request. */
static int mw_attach(struct weft_region *new, const struct weft_accessor *who,
		     const struct weft_mw_request *request)
{
	struct weft_region *region;
	int err;

	region = weft_region_get(who->table, request->lkey);
	if (!region)
		return -EINVAL;
	err = mw_check_region(region, who, request);
	if (!err && !weft_region_bind(region))
		err = -EINVAL;
	if (err) {
		weft_region_put(region);
		return err;
	}
	/* the window owns the reference from now on */
	mw_open(new, region, who, request);
	return 0;
}

static int mw_rebind(struct weft_region *window, const struct weft_accessor *who,
		     const struct weft_mw_request *request, gfp_t gfp)
{
	struct weft_region *new;
	int err;

	err = mw_check_window(window, who, request);
	if (err)
		return err;
	new = mw_unbound(window, gfp);
	if (!new)
		return -ENOMEM;
	new->key = (window->key & ~MW_KEY_MASK) | (request->new_rkey & MW_KEY_MASK);
	if (request->length) {
		err = mw_attach(new, who, request);
		if (err) {
			weft_region_retire(new);
			return err;
		}
	}
	weft_pause(WEFT_PAUSE_MW_BIND_OPEN);
	return mw_replace(window, new);
}

/*
 * Execute a BIND_MW work request of the QP of @who, from any context. @request is not trusted,
 * but the caller has checked the service type of the QP (RC or UC).
 *
 * Return: 0; -EINVAL: no such window or region, other PD, type 2 window that is bound or would
 * be unbound, zero-based type 1 window, zero-based region, or a concurrent change of the window
 * or region; -EACCES: rights that the region does not grant, or no windows; -ERANGE: outside the
 * region; -ENOMEM. A failure changes nothing.
 */
int weft_mw_bind(const struct weft_accessor *who, const struct weft_mw_request *request, gfp_t gfp)
{
	struct weft_region *window;
	int err;

	/* earlier binds of the queue may have changed the low bits of the key */
	window = weft_region_get_by_index(who->table, request->rkey);
	if (!window)
		return -EINVAL;
	weft_pause(WEFT_PAUSE_MW_BIND_FOUND);
	err = mw_rebind(window, who, request, gfp);
	weft_region_put(window);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_mw_bind);

static int mw_detach(struct weft_region *window, const struct weft_accessor *who, gfp_t gfp)
{
	struct weft_region *new;

	/* o10-37.2.26: a type 1 window is never invalidated */
	if (window->kind != WEFT_REGION_MW2 || window->pd != who->pd ||
	    !window->parent || window->qpn != who->qpn)
		return -EINVAL;
	new = mw_unbound(window, gfp);
	if (!new)
		return -ENOMEM;
	return mw_replace(window, new);
}

/*
 * Unbind a type 2 window and keep its key, from any context. @who is the QP of the LOCAL_INV
 * work request, or the receiver of the SEND with Invalidate.
 *
 * Return: 0; -EINVAL: not a type 2 window that is bound to this QP; -ENOMEM.
 */
int weft_mw_invalidate(const struct weft_accessor *who, u32 rkey, gfp_t gfp)
{
	struct weft_region *window;
	int err;

	window = weft_region_get(who->table, rkey);
	if (!window)
		return -EINVAL;
	err = mw_detach(window, who, gfp);
	weft_region_put(window);
	return err;
}
WEFT_EXPORT_FOR_TEST(weft_mw_invalidate);
