// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended reliable connections (IBA A14): XRC domains, and SRQs by number.
 *
 * A request to an XRC target QP contains the number of an SRQ. The object that a target finds by
 * the number is not part of the SRQ, which the core frees as soon as destroy_srq returns. A
 * target holds a reference for the time of one request or packet only, and destroy_srq waits
 * for these references.
 */
#include "object/xrc.h"

#include <linux/slab.h>
#include <linux/xarray.h>

#include "object/cq.h"
#include "object/inject.h"
#include "object/recv.h"
#include "object/refuse.h"
#include "object/srq.h"
#include "object/ucontext.h"
#include "pause.h"

/* SRQ number to struct weft_xrc_name */
static DEFINE_XARRAY_FLAGS(xrc_names, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
static u32 xrc_next_srqn;

int weft_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	int ret = weft_inject_verb(ibxrcd->device, WEFT_VERB_ALLOC_XRCD);

	if (ret)
		return ret;
	ret = weft_udata_empty(udata);
	return ret ? weft_refuse_request(ibxrcd->device, ret, "allocate XRCD", udata) : 0;
}

int weft_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	return 0;
}

/* Give an initialized XRC SRQ its number. Return: ERR_PTR(): -ENOMEM. */
struct weft_xrc_name *weft_xrc_publish(struct weft_srq *srq)
{
	struct weft_xrc_name *name = kzalloc(sizeof(*name), GFP_KERNEL_ACCOUNT);

	if (!name)
		return ERR_PTR(-ENOMEM);
	refcount_set(&name->refs, 1);
	init_completion(&name->idle);
	name->srq = srq;
	/* set the number before the SRQ can be found: requests read it */
	if (xa_alloc_cyclic(&xrc_names, &name->srqn, NULL, XA_LIMIT(1, 0xffffff),
			    &xrc_next_srqn, GFP_KERNEL_ACCOUNT) < 0) {
		kfree(name);
		return ERR_PTR(-ENOMEM);
	}
	srq->srqn = name->srqn;
	xa_store(&xrc_names, name->srqn, name, GFP_KERNEL);
	weft_pause(WEFT_PAUSE_XRC_PUBLISHED);
	return name;
}

static void xrc_put(struct weft_xrc_name *name)
{
	if (refcount_dec_and_test(&name->refs))
		complete(&name->idle);
}

/*
 * Undo weft_xrc_publish(), and wait until nobody uses the SRQ. The number is not reused soon.
 * Process context, may sleep.
 */
void weft_xrc_unpublish(struct weft_xrc_name *name)
{
	xa_erase(&xrc_names, name->srqn);
	weft_pause(WEFT_PAUSE_XRC_UNPUBLISHED);
	xrc_put(name);
	wait_for_completion(&name->idle);
	kfree_rcu(name, rcu);
}

/* Look an XRC SRQ up by its number. Return: referenced; NULL: none. */
static struct weft_xrc_name *xrc_get(u32 srqn)
{
	struct weft_xrc_name *name;

	rcu_read_lock();
	name = xa_load(&xrc_names, srqn);
	weft_pause(WEFT_PAUSE_XRC_FOUND);
	if (name && !refcount_inc_not_zero(&name->refs))
		name = NULL;
	rcu_read_unlock();
	return name;
}

/*
 * Bind an XRC target to the SRQ with number @srqn, until weft_xrc_leave(). The receive turn is
 * owned. Return: false: there is no such SRQ.
 */
bool weft_xrc_enter(struct weft_recv *recv, u32 srqn)
{
	recv->name = xrc_get(srqn);
	if (!recv->name)
		return false;
	weft_pause(WEFT_PAUSE_XRC_ENTERED);
	recv->srq = recv->name->srq;
	recv->cq = to_weft_cq(recv->srq->ibsrq.ext.cq);
	recv->who.pd = recv->srq->ibsrq.pd;
	recv->taker.pd = recv->who.pd;
	return true;
}

void weft_xrc_leave(struct weft_recv *recv)
{
	xrc_put(recv->name);
	recv->name = NULL;
	recv->srq = NULL;
	recv->cq = NULL;
	recv->who.pd = NULL;
	recv->taker.pd = NULL;
}
