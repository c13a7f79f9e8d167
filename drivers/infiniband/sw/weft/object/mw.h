/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory windows of type 1 and 2B. */
#ifndef WEFT_OBJECT_MW_H
#define WEFT_OBJECT_MW_H

#include <rdma/ib_verbs.h>

struct weft_accessor;
struct weft_pi_report;

/*
 * The core's handle; ib_mw.rkey is the first key of the window. The window itself is the struct
 * weft_region of the key: the core frees ib_mw while others may still use what they have found
 * by the key.
 */
struct weft_mw {
	struct ib_mw	ib_mw;
	struct weft_pi_report *report;	/* of an mkey for signatures, with a reference; or NULL */
};

static inline struct weft_mw *to_weft_mw(struct ib_mw *ib_mw)
{
	return container_of(ib_mw, struct weft_mw, ib_mw);
}

/* A BIND_MW work request. */
struct weft_mw_request {
	u32	rkey;		/* current key of the window */
	u32	new_rkey;	/* low eight bits of the next key; the rest is ignored */
	u32	lkey;		/* key of the region; ignored if @length is 0 */
	u32	access;		/* enum ib_access_flags */
	u64	addr;		/* first byte within the region */
	u64	length;		/* 0: unbind (type 1) */
};

int weft_alloc_mw(struct ib_mw *ib_mw, struct ib_udata *udata);
int weft_dealloc_mw(struct ib_mw *ib_mw);
int weft_mw_bind(const struct weft_accessor *who, const struct weft_mw_request *request, gfp_t gfp);
int weft_mw_invalidate(const struct weft_accessor *who, u32 rkey, gfp_t gfp);

#endif /* WEFT_OBJECT_MW_H */
