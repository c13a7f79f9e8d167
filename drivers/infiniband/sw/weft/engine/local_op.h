/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The operations that a requester executes without its peer. They return 0 or an errno; with an
 * errno the request completes as IB_WC_MW_BIND_ERR. With -ENOMEM nothing has changed: if @gfp may
 * not sleep, a work item tries again with one that may.
 */
#ifndef WEFT_ENGINE_LOCAL_OP_H
#define WEFT_ENGINE_LOCAL_OP_H

#include <linux/types.h>

struct weft_accessor;
struct weft_swqe;

/* LOCAL_INV; sleeps until all accesses by the key have ended */
int weft_local_invalidate(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);
/* BIND_MW */
int weft_local_bind(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);
int weft_local_register(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);
/* MKEY */
int weft_local_configure(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);
/* NOP */
int weft_local_nothing(const struct weft_accessor *who, const struct weft_swqe *wqe, gfp_t gfp);

#endif /* WEFT_ENGINE_LOCAL_OP_H */
