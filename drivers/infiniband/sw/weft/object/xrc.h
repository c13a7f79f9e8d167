/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Extended reliable connections (IBA A14): XRC domains, and SRQs by number. */
#ifndef WEFT_OBJECT_XRC_H
#define WEFT_OBJECT_XRC_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>

struct weft_recv;
struct weft_srq;

/* The address of the struct ib_xrcd is the identity that objects compare. */
struct weft_xrcd {
	struct ib_xrcd	ibxrcd;
};

int weft_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);
int weft_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata);

struct weft_xrc_name {
	struct rcu_head		rcu;
	refcount_t		refs;	/* of the SRQ, and of requests being executed */
	struct completion	idle;	/* no reference is left */
	struct weft_srq		*srq;
	u32			srqn;
};

struct weft_xrc_name *weft_xrc_publish(struct weft_srq *srq);
void weft_xrc_unpublish(struct weft_xrc_name *name);
bool weft_xrc_enter(struct weft_recv *recv, u32 srqn);
void weft_xrc_leave(struct weft_recv *recv);

#endif /* WEFT_OBJECT_XRC_H */
