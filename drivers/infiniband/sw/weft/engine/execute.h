/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The operations of a responder that move no payload. */
#ifndef WEFT_ENGINE_EXECUTE_H
#define WEFT_ENGINE_EXECUTE_H

#include <linux/types.h>

struct weft_iter;
struct weft_qp;
struct weft_request;

/* weft_opdef.execute */
u64 weft_execute_cmp_swp(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io);
u64 weft_execute_fetch_add(struct weft_qp *qp, const struct weft_request *req,
			   struct weft_iter *io);
u64 weft_execute_masked_cmp_swp(struct weft_qp *qp, const struct weft_request *req,
				struct weft_iter *io);
u64 weft_execute_masked_fetch_add(struct weft_qp *qp, const struct weft_request *req,
				  struct weft_iter *io);
u64 weft_execute_atomic_write(struct weft_qp *qp, const struct weft_request *req,
			      struct weft_iter *io);
u64 weft_execute_flush(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io);

#endif /* WEFT_ENGINE_EXECUTE_H */
