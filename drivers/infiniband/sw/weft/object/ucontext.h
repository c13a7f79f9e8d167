/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * User contexts, their doorbell file, and what every udata is checked for.
 */
#ifndef WEFT_OBJECT_UCONTEXT_H
#define WEFT_OBJECT_UCONTEXT_H

#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "ring/page_cache.h"

struct weft_doorbell;
struct weft_odp_queue;
struct weft_qp;

/**
 * struct weft_ucontext - an open device
 *
 * Several processes have it if one gave its command file to the others, and those
 * imported it.
 *
 * @ibuc: first, freed by the core when the last one has closed the file
 * @doorbell: what the QPs of this context can be rung by; each process has a file
 *	of its own for it
 * @page_cache: what it keeps for the rings of its QPs
 * @odp_queue: where what waits for its pages does so; made for the first ODP region
 */
struct weft_ucontext {
	struct ib_ucontext	ibuc;
	struct weft_doorbell	*doorbell;
	struct weft_page_cache	page_cache;
	struct weft_odp_queue	*odp_queue;
};

/* What uverbs knows of contexts beyond the core's own methods. */
extern const struct uapi_definition weft_ucontext_uapi[];

int weft_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void weft_dealloc_ucontext(struct ib_ucontext *ibuc);

/**
 * weft_query_ucontext - a process imports a context
 * @ibuc: the context
 * @attrs: of the call, for WEFT_ATTR_QUERY_CONTEXT_RESP
 *
 * Return: 0; -EMFILE, -ENFILE or -ENOMEM: there is no doorbell for it; -EFAULT.
 */
int weft_query_ucontext(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);

/**
 * weft_disassociate_ucontext - the device goes away under a process
 * @ibuc: of the process
 *
 * Nothing to do: each ring is marked dead when its object is destroyed, which
 * the core does next, and stays mapped, pages and all. What the context keeps goes with
 * it.
 */
void weft_disassociate_ucontext(struct ib_ucontext *ibuc);

/**
 * weft_udata_check - check a request and the room for the response
 * @udata: NULL for a kernel consumer
 * @req_size: bytes of the request this kernel knows; it begins with comp_mask
 * @resp_size: bytes of the response
 *
 * Return: 0; -EINVAL: too short, or something set that is not known here.
 */
int weft_udata_check(struct ib_udata *udata, size_t req_size, size_t resp_size);

/**
 * weft_udata_empty - check a call that has no request of ours
 * @udata: NULL for a kernel consumer
 *
 * Return: 0; -EINVAL: there is one, of a provider that knows more.
 */
int weft_udata_empty(struct ib_udata *udata);

/**
 * weft_udata_read - read a request, and check what weft_udata_check() does
 * @udata: of a process
 * @req: result, @size bytes; what the request has not is zero
 * @least: bytes that it must have
 * @size: bytes of the request this kernel knows; it begins with comp_mask
 * @resp_size: bytes of the response
 *
 * Return: 0; -EINVAL; -EFAULT.
 */
int weft_udata_read(struct ib_udata *udata, void *req, size_t least, size_t size,
		    size_t resp_size);

/**
 * weft_udata_ucontext - the user context of a call
 * @udata: NULL for a kernel consumer
 *
 * Return: the context, NULL for a kernel consumer.
 */
struct ib_ucontext *weft_udata_ucontext(struct ib_udata *udata);

/**
 * weft_udata_doorbell - the doorbell that may ring a QP made in this call
 * @udata: NULL for a kernel consumer
 *
 * Return: the doorbell, NULL for a kernel consumer. Compared only.
 */
struct weft_doorbell *weft_udata_doorbell(struct ib_udata *udata);

/**
 * weft_udata_page_cache - where the rings of a QP made in this call come from
 * @udata: NULL for a kernel consumer
 *
 * Return: the page cache, or NULL for a kernel consumer.
 */
struct weft_page_cache *weft_udata_page_cache(struct ib_udata *udata);

/**
 * weft_udata_odp_queue - where what waits for the pages of a region made in this call does so
 * @udata: NULL for a kernel consumer
 *
 * Return: the context's queue, which regions borrow; NULL for a kernel consumer; -ENOMEM.
 */
struct weft_odp_queue *weft_udata_odp_queue(struct ib_udata *udata);

/**
 * weft_user - on whose account is what the current task makes
 *
 * In a user namespace that is the maker of the outermost one, so nobody becomes many users
 * by the ids that he has there.
 *
 * Return: the user, in the initial user namespace.
 */
kuid_t weft_user(void);

/**
 * typedef weft_doorbell_fn - what a doorbell does
 * @qp: rung, referenced by the caller
 */
typedef void (*weft_doorbell_fn)(struct weft_qp *qp);

/**
 * weft_doorbell_install - say what doorbells do, at module load
 * @send: WEFT_DOORBELL_SEND
 * @recv: WEFT_DOORBELL_RECV
 */
void weft_doorbell_install(weft_doorbell_fn send, weft_doorbell_fn recv);

#endif /* WEFT_OBJECT_UCONTEXT_H */
