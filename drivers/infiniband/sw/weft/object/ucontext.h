/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* User contexts, their doorbell files, and checks of udata. */
#ifndef WEFT_OBJECT_UCONTEXT_H
#define WEFT_OBJECT_UCONTEXT_H

#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "ring/page_cache.h"

struct weft_doorbell;
struct weft_odp_queue;
struct weft_ring_resp;
struct weft_qp;

/*
 * An open device. Several processes share it if one has passed its command file to the others
 * and they have imported the context; each has a doorbell file of its own.
 */
struct weft_ucontext {
	struct ib_ucontext	ibuc;		/* freed by the core */
	struct weft_doorbell	*doorbell;	/* of all its QPs */
	struct weft_page_cache	page_cache;	/* for rings of its QPs */
	struct weft_odp_queue	*odp_queue;	/* created for the first ODP region */
	bool			rxe;		/* its provider is that for rdma_rxe */
};

/* The driver's own uverbs attributes of contexts. */
extern const struct uapi_definition weft_ucontext_uapi[];

int weft_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void weft_dealloc_ucontext(struct ib_ucontext *ibuc);
int weft_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
void weft_disassociate_ucontext(struct ib_ucontext *ibuc);
int weft_udata_check(struct ib_udata *udata, size_t req_size, size_t resp_size);
int weft_udata_empty(struct ib_udata *udata);
int weft_udata_read(struct ib_udata *udata, void *req, size_t least, size_t size, size_t resp_size);
struct ib_ucontext *weft_udata_ucontext(struct ib_udata *udata);
struct weft_doorbell *weft_udata_doorbell(struct ib_udata *udata);
struct weft_page_cache *weft_udata_page_cache(struct ib_udata *udata);
bool weft_udata_rxe(struct ib_udata *udata);
int weft_udata_tell_rxe(struct ib_udata *udata, const struct weft_ring_resp *where);
struct weft_odp_queue *weft_udata_odp_queue(struct ib_udata *udata);
kuid_t weft_user(void);

/* @qp is referenced by the caller. */
typedef void (*weft_doorbell_fn)(struct weft_qp *qp);

void weft_doorbell_install(weft_doorbell_fn send, weft_doorbell_fn recv);

#endif /* WEFT_OBJECT_UCONTEXT_H */
