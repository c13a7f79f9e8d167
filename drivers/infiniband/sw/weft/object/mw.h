/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memory windows of type 1 and 2B.
 */
#ifndef WEFT_OBJECT_MW_H
#define WEFT_OBJECT_MW_H

#include <rdma/ib_verbs.h>

struct weft_accessor;

/**
 * struct weft_mw - a memory window
 *
 * A name and nothing more: the core frees it under the feet of whoever found
 * the window by its key. The window is the struct weft_region of that key.
 *
 * @ib_mw: allocated and freed by the core; its rkey is the first one
 */
struct weft_mw {
	struct ib_mw	ib_mw;
};

/**
 * struct weft_mw_request - a BIND_MW work request
 * @rkey: current key of the window
 * @new_rkey: its key from now on; only the low eight bits are used, for
 *	either type
 * @lkey: key of the region; not looked at when @length is 0
 * @access: enum ib_access_flags: REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC; of
 *	a type 2 window also IB_ZERO_BASED
 * @addr: first byte within the region
 * @length: bytes; 0 unbinds a type 1 window
 */
struct weft_mw_request {
	u32	rkey;
	u32	new_rkey;
	u32	lkey;
	u32	access;
	u64	addr;
	u64	length;
};

/**
 * weft_alloc_mw - make a window that is not bound
 * @ib_mw: with device, PD and type; its rkey is set
 * @udata: unused
 *
 * Return: 0 or -ENOMEM.
 */
int weft_alloc_mw(struct ib_mw *ib_mw, struct ib_udata *udata);

/**
 * weft_dealloc_mw - unbind and free a window
 * @ib_mw: from weft_alloc_mw()
 *
 * Accesses in flight are carried through.
 *
 * Return: 0.
 */
int weft_dealloc_mw(struct ib_mw *ib_mw);

/**
 * weft_mw_bind - carry a BIND_MW work request out
 * @who: of the QP
 * @request: untrusted
 *
 * Nothing changes on failure. The caller has to see to it that the QP's
 * service type knows windows (RC, UC).
 *
 * Context: any.
 * Return: 0; -EINVAL: no such window or region, another PD, a type 2 window
 * that is bound or would be unbound, zero-based type 1 window or region, the
 * window or the region is just being changed by somebody else; -EACCES: the
 * region does not allow windows, or not this one; -ERANGE: outside the
 * region; -ENOMEM.
 */
int weft_mw_bind(const struct weft_accessor *who,
		 const struct weft_mw_request *request);

/**
 * weft_mw_invalidate - unbind a type 2 window, keep its key
 * @who: of the QP: of the LOCAL_INV work request, or that received the SEND
 *	with invalidate
 * @rkey: current key of the window
 *
 * Context: any.
 * Return: 0; -EINVAL: not a type 2 window, not bound, or not bound to this QP;
 * -ENOMEM.
 */
int weft_mw_invalidate(const struct weft_accessor *who, u32 rkey);

#endif /* WEFT_OBJECT_MW_H */
