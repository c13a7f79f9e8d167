// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

#include "engine/window.h"

#include <linux/log2.h>
#include <linux/mm.h>

#include "engine/sendq.h"
#include "object/dev.h"
#include "params.h"
#include "stats.h"

int weft_window_prepare(struct weft_window *larger, const struct weft_qp *qp, u32 entries)
{
	u32 num = roundup_pow_of_two(min_t(u32, entries, WEFT_WINDOW_WQES));
	const struct weft_window *window = &qp->send.window;

	*larger = (struct weft_window){
		.stride = sizeof(struct weft_flight) +
			  qp->cap.max_send_sge * sizeof(struct weft_sge),
		.mask = num - 1,
	};
	/* only holders of modify_lock replace the memory */
	if (window->flights && larger->mask <= window->mask)
		return 0;
	larger->flights = kvcalloc(num, larger->stride, GFP_KERNEL_ACCOUNT);
	return larger->flights ? 0 : -ENOMEM;
}
WEFT_EXPORT_FOR_TEST(weft_window_prepare);

void weft_window_install(struct weft_qp *qp, struct weft_window *larger)
{
	struct weft_window *window = &qp->send.window;
	u32 i;

	if (!larger->flights)
		return;
	for (i = window->head; i != window->tail; i++)
		memcpy(weft_window_at(larger, i), weft_window_at(window, i), larger->stride);
	swap(window->flights, larger->flights);
	window->stride = larger->stride;
	window->mask = larger->mask;
}
WEFT_EXPORT_FOR_TEST(weft_window_install);

void weft_window_destroy(struct weft_window *window)
{
	kvfree(window->flights);
	window->flights = NULL;
}

void weft_window_reset(struct weft_qp *qp)
{
	struct weft_window *window = &qp->send.window;

	window->head = 0;
	window->cur = 0;
	window->tail = 0;
	window->una = qp->send.psn;
	window->next = qp->send.psn;
	window->sent = qp->send.psn;
	window->reads = 0;
	window->retried = false;
}

void weft_window_follow(struct weft_qp *qp)
{
	struct weft_window *window = &qp->send.window;
	struct weft_flight *flight;
	u32 i;

	for (i = window->head; i != window->tail; i++) {
		flight = weft_window_at(window, i);
		flight->inline_data = weft_sq_inline(qp->send.ring, flight->index);
	}
}

/* A READ in parts is several requests to the peer. */
static void window_count(struct weft_qp *qp, struct weft_flight *flight, u32 length)
{
	struct weft_window *window = &qp->send.window;
	bool read = flight->sqe.opcode == WEFT_SQE_READ;

	flight->psns = weft_rules_psn_count(length, qp->mtu);
	window->ssn = weft_psn_add(window->ssn,
				   read ? DIV_ROUND_UP(flight->psns, WEFT_READ_PACKETS) : 1);
	flight->ssn = window->ssn;
}

void weft_window_push(struct weft_qp *qp, u32 length, enum weft_fault fault)
{
	struct weft_window *window = &qp->send.window;
	struct weft_flight *flight = weft_window_at(window, window->tail);
	const struct weft_swqe *wqe = &qp->send.wqe;

	flight->sqe = wqe->sqe;
	flight->inline_data = wqe->inline_data;
	flight->index = wqe->index;
	flight->length = length;
	flight->fault = fault;
	flight->executed = false;
	flight->first_psn = qp->send.psn;
	flight->psns = 0;
	flight->ssn = window->ssn;
	if (!fault && !weft_sendq_is_local(wqe->sqe.opcode))
		window_count(qp, flight, length);
	if (!fault && !(wqe->sqe.flags & WEFT_SQE_INLINE))
		memcpy(flight->sge, wqe->sge, wqe->sqe.num_sge * sizeof(wqe->sge[0]));
	qp->send.psn = weft_psn_add(qp->send.psn, flight->psns);
	window->tail++;
}

/* A flight whose packets all have been sent: is there nothing to wait for? */
static bool window_is_done(const struct weft_window *window,
			   const struct weft_flight *flight)
{
	return !weft_psn_before(window->una, weft_flight_end(flight));
}

static void window_complete(struct weft_qp *qp, const struct weft_flight *flight)
{
	struct weft_window *window = &qp->send.window;

	window->head++;
	if (flight->psns)
		weft_stats_message(qp->stats, WEFT_STAT_SENT_MESSAGES, flight->length);
	weft_sendq_complete(qp, &flight->sqe, flight->index, IB_WC_SUCCESS,
			    WEFT_FAULT_NONE, flight->length);
}

void weft_window_fail(struct weft_qp *qp, enum ib_wc_status status,
		      enum weft_fault fault)
{
	struct weft_window *window = &qp->send.window;
	const struct weft_flight *flight = weft_window_at(window, window->head);

	/* what comes behind it is flushed, or (UC, in RTS again) begins where it ends */
	window->head++;
	window->cur = window->head;
	window->una = weft_flight_end(flight);
	window->next = window->una;
	window->sent = window->una;
	weft_sendq_fail(qp, &flight->sqe, flight->index, status, fault);
}

void weft_window_retire(struct weft_qp *qp)
{
	struct weft_window *window = &qp->send.window;
	const struct weft_flight *flight;

	while (window->head != window->cur) {
		flight = weft_window_at(window, window->head);
		if (!window_is_done(window, flight))
			return;
		window_complete(qp, flight);
	}
	if (window->head == window->tail)
		return;
	flight = weft_window_at(window, window->head);
	if (unlikely(flight->fault))
		weft_window_fail(qp, weft_rules_status(flight->fault), flight->fault);
}

void weft_window_rewind(struct weft_qp *qp, u32 psn)
{
	struct weft_window *window = &qp->send.window;
	const struct weft_flight *flight;

	window->reads = 0;
	window->next = psn;
	for (window->cur = window->head; window->cur != window->tail; window->cur++) {
		flight = weft_window_at(window, window->cur);
		if (flight->psns && weft_psn_before(psn, weft_flight_end(flight)))
			return;
	}
}
