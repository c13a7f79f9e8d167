// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A responder executes the requests that move no payload on memory: these functions are
 * weft_opdef.execute. All need the QP's receive turn.
 */
#include "engine/execute.h"

#include "compat/placement.h"
#include "engine/message.h"
#include "object/qp.h"
#include "params.h"
#include "wire/headers.h"

/*
 * Copy the value before the atomic to @io. Returns 0, as weft_opdef.execute does when it is done.
 */
static u64 execute_return(u64 before, struct weft_iter *io)
{
	struct weft_span span = { .addr = (uintptr_t)&before, .length = sizeof(before) };
	struct weft_iter from;

	weft_span_iter(&span, &from);
	weft_copy(io, &from, sizeof(before));
	return 0;
}

u64 weft_execute_cmp_swp(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io)
{
	return execute_return(weft_atomic_cmp_swp(&qp->recv.span, req->compare_add, req->swap),
				io);
}

u64 weft_execute_fetch_add(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io)
{
	return execute_return(weft_atomic_fetch_add(&qp->recv.span, req->compare_add), io);
}

u64 weft_execute_masked_cmp_swp(struct weft_qp *qp, const struct weft_request *req,
				struct weft_iter *io)
{
	return execute_return(weft_atomic_masked_cmp_swp(&qp->recv.span, req->compare_add,
							   req->compare_add_mask, req->swap,
							   req->swap_mask), io);
}

u64 weft_execute_masked_fetch_add(struct weft_qp *qp, const struct weft_request *req,
				  struct weft_iter *io)
{
	return execute_return(weft_atomic_masked_fetch_add(&qp->recv.span, req->compare_add,
							     req->compare_add_mask), io);
}

u64 weft_execute_atomic_write(struct weft_qp *qp, const struct weft_request *req,
			      struct weft_iter *io)
{
	u64 value;
	struct weft_span span = { .addr = (uintptr_t)&value, .length = sizeof(value) };
	struct weft_iter to;

	weft_span_iter(&span, &to);
	weft_copy(&to, io, sizeof(value));
	weft_atomic_write(&qp->recv.span, value);
	return 0;
}

/*
 * Global visibility needs only a barrier. Writing back to persistent memory is done in pieces of
 * WEFT_COPY_CHUNK.
 */
u64 weft_execute_flush(struct weft_qp *qp, const struct weft_request *req, struct weft_iter *io)
{
	struct weft_iter *iter = &qp->recv.iter;
	u64 left = 0, length;

	if (req->flush.placement & WEFT_PLACEMENT_PERSISTENT) {
		left = qp->recv.span.length - iter->offset;
		length = min_t(u64, left, WEFT_COPY_CHUNK);
		weft_write_back(iter, length);
		left -= length;
	}
	/*
	 * CPUs have stored all data, in this turn or an earlier one: a barrier makes them visible
	 * to every CPU.
	 */
	smp_mb();
	return left;
}
