/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Extended reliable connections (IBA A14): XRC domains, and SRQs by number.
 *
 * A request that comes to an XRC target QP names the SRQ it is for. What a
 * target finds by that number lives apart from the SRQ, which the core frees as
 * soon as destroy_srq returns: destroy waits for those who use it, and a
 * reference is held for the time of one request or packet only.
 */
#ifndef WEFT_OBJECT_XRC_H
#define WEFT_OBJECT_XRC_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct weft_srq;

/**
 * struct weft_xrcd - an XRC domain
 * @ibxrcd: first, freed by the core; its address is the identity
 */
struct weft_xrcd {
	struct ib_xrcd	ibxrcd;
};

int weft_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int weft_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

/**
 * struct weft_xrc_name - what XRC target QPs know of an SRQ
 * @rcu: freed after a grace period
 * @refs: one for the SRQ, one for each request that is executed
 * @idle: completed when the last reference is gone
 * @srq: the SRQ
 * @srqn: its number
 */
struct weft_xrc_name {
	struct rcu_head		rcu;
	refcount_t		refs;
	struct completion	idle;
	struct weft_srq		*srq;
	u32			srqn;
};

/**
 * weft_xrc_publish - give an XRC SRQ a number
 * @srq: complete
 *
 * Return: what targets find by the number, or ERR_PTR(-ENOMEM).
 */
struct weft_xrc_name *weft_xrc_publish(struct weft_srq *srq);

/**
 * weft_xrc_unpublish - let nobody find an XRC SRQ any more
 * @name: from weft_xrc_publish()
 *
 * Returns when nobody uses the SRQ. The number does not come again soon.
 *
 * Context: process, may sleep.
 */
void weft_xrc_unpublish(struct weft_xrc_name *name);

/**
 * weft_xrc_get - look an XRC SRQ up
 * @srqn: its number
 *
 * Return: with a reference, or NULL.
 */
struct weft_xrc_name *weft_xrc_get(u32 srqn);

/**
 * weft_xrc_put - drop a reference
 * @name: from weft_xrc_get()
 */
void weft_xrc_put(struct weft_xrc_name *name);

#endif /* WEFT_OBJECT_XRC_H */
